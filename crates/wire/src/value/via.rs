//! `Via` (RFC 9110 §7.6.3): has this message been here before?

use crate::{FieldId, Fields, chars};

/// Does an element of `Via` name us as the recipient? In any letter case; a port in the element
/// counts only when our name has one too.
pub fn names(fields: &Fields, our_name: &[u8]) -> bool {
    fields.get_all(FieldId::Via).any(|value| {
        value.split(|&byte| byte == b',').any(|element| {
            let mut words = element
                .split(|&byte| chars::is_ows(byte))
                .filter(|word| !word.is_empty());
            let by = words.nth(1).unwrap_or_default();
            by.eq_ignore_ascii_case(our_name)
        })
    })
}

/// Any value is searched; with our own element added, we are found.
///
/// # Panics
/// When we aren't.
pub fn fuzz(data: &[u8]) {
    let mut fields = Fields::new();
    fields.push_id(FieldId::Via, data);
    names(&fields, b"proxy.example");
    fields.push_id(FieldId::Via, b"1.1 proxy.example (squall)");
    assert!(names(&fields, b"proxy.example"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_are_found_by_the_received_by_part_only() {
        let check = |value: &str, expected| {
            let mut fields = Fields::new();
            fields.push_id(FieldId::Via, value.as_bytes());
            assert_eq!(names(&fields, b"proxy.example"), expected, "{value}");
        };
        check("1.1 proxy.example (squid/6)", true);
        check("1.0 fred, 1.1 PROXY.example", true);
        check("HTTP/1.1\tproxy.example", true);
        check("1.1 other (proxy.example)", false);
        check("1.1 xproxy.example", false);
        check("1.1 proxy.example:3128", false);
        check("proxy.example", false);
        check("", false);
    }
}
