//! Who somebody is: names of users (`proxy_auth`, `ext_user`) and hardware addresses (`arp`, `eui64`).

use hashbrown::HashSet;

/// Names of users; with the word `REQUIRED`, any user.
#[derive(Clone, Debug, Default)]
pub struct UserSet {
    anyone: bool,
    names: HashSet<Box<str>>,
    /// Names are compared, and kept, in lower case (`-i`).
    ignore_case: bool,
}

impl UserSet {
    /// An empty set.
    pub fn new(ignore_case: bool) -> Self {
        Self {
            ignore_case,
            ..Self::default()
        }
    }

    /// Adds a name, or `REQUIRED`.
    pub fn insert(&mut self, name: &str) {
        if name == "REQUIRED" {
            self.anyone = true;
        } else if self.ignore_case {
            self.names.insert(name.to_lowercase().into());
        } else {
            self.names.insert(name.into());
        }
    }

    /// Is the user in the set?
    pub fn contains(&self, user: &str) -> bool {
        self.anyone
            || if self.ignore_case {
                self.names.contains(user.to_lowercase().as_str())
            } else {
                self.names.contains(user)
            }
    }
}

/// A hardware address of `N` bytes in hexadecimal, with colons or hyphens between them.
pub fn hardware<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let mut words = text.split([':', '-']);
    for byte in &mut bytes {
        let is_hex = |word: &&str| word.bytes().all(|digit| digit.is_ascii_hexdigit());
        let word = words.next().filter(is_hex).filter(|word| word.len() <= 2)?;
        *byte = u8::from_str_radix(word, 16).ok()?;
    }
    words.next().is_none().then_some(bytes)
}

/// The EUI-64 in an IPv6 address that was made from a hardware address (RFC 4291 §2.5.1).
pub fn eui64(ip: std::net::IpAddr) -> Option<[u8; 8]> {
    let std::net::IpAddr::V6(ip) = ip else {
        return None;
    };
    let own: [u8; 8] = *ip.octets().last_chunk()?;
    let [first, _, _, middle, end, ..] = own;
    (first & 2 != 0 && [middle, end] == [0xff, 0xfe]).then_some(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_as_written_unless_case_is_ignored() {
        for (ignore_case, name, user, expected) in [
            (false, "Ann", "Ann", true),
            (false, "Ann", "ann", false),
            (true, "Ann", "aNN", true),
            (true, "Ann", "bob", false),
            (false, "REQUIRED", "bob", true),
            (false, "required", "bob", false),
        ] {
            let mut set = UserSet::new(ignore_case);
            set.insert(name);
            assert_eq!(set.contains(user), expected, "{name} {user}");
        }
    }

    #[test]
    fn hardware_addresses_are_written_with_colons_or_hyphens() {
        let mac = Some([0, 0x1b, 0x21, 0xab, 0xc, 0xff]);
        assert_eq!(hardware("00:1b:21:AB:0c:ff"), mac);
        assert_eq!(hardware("0-1b-21-ab-c-ff"), mac);
        for bad in [
            "",
            "00:1b:21:ab:0c",
            "00:1b:21:ab:0c:ff:00",
            "00:1b:21:ab:0c:fg",
            "00:1b:21:ab:0c:+f",
            "001:b:21:ab:0c:ff",
        ] {
            assert_eq!(hardware::<6>(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_address_made_from_a_hardware_address_tells_it() {
        let of = |text: &str| eui64(text.parse().unwrap());
        assert_eq!(
            of("fe80::21b:21ff:feab:cff"),
            Some([2, 0x1b, 0x21, 0xff, 0xfe, 0xab, 0xc, 0xff])
        );
        assert_eq!(of("fe80::1"), None);
        assert_eq!(of("10.0.0.1"), None);
    }
}
