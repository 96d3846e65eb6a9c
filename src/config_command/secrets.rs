//! Takes passwords out of a line before it is shown.

/// What stands in their place; as a password it is a word like another.
const MASK: &str = "***";

/// Parts of the names of fields whose values let somebody in.
const SECRET_FIELDS: [&str; 6] = ["authorization", "cookie", "token", "secret", "key", "pass"];

/// The line without its passwords; blanks stay as they are.
pub(super) fn masked(line: &str) -> String {
    let mut words: Vec<String> = line
        .split_inclusive([' ', '\t'])
        .map(|word| changed(word, masked_word))
        .collect();
    let own = |place: usize| line.split_whitespace().nth(place).unwrap_or_default();
    let secret = match own(0) {
        "cachemgr_passwd" if !matches!(own(1), "none" | "disable") => Hidden::Word(1),
        "acl" if own(2) == "snmp_community" => Hidden::From(3),
        "request_header_add"
        | "reply_header_add"
        | "request_header_replace"
        | "reply_header_replace"
        | "header_replace"
            if lets_in(own(1)) =>
        {
            Hidden::From(2)
        }
        "auth_param" | "external_acl_type" => Hidden::OfOption("-w"),
        directive if directive.ends_with("_program") => Hidden::OfOption("-w"),
        _ => return words.concat(),
    };
    secret.hide(&mut words);
    words.concat()
}

/// A word with the blank behind it, and another word in its place.
fn changed(word: &str, change: impl FnOnce(&str) -> String) -> String {
    let own = word.trim_end();
    let blank = word.strip_prefix(own).unwrap_or_default();
    change(own) + blank
}

/// Which words of a line are secret.
enum Hidden {
    /// One.
    Word(usize),
    /// It and all after it.
    From(usize),
    /// What follows this option of a helper, or is a part of the same word.
    OfOption(&'static str),
}

impl Hidden {
    /// Words are counted as they are read: blanks between them don't count.
    fn hide(self, words: &mut [String]) {
        let mut before = String::new();
        let full = words.iter_mut().filter(|word| !word.trim().is_empty());
        for (number, word) in full.enumerate() {
            let own = word.trim().to_owned();
            let shown = match self {
                Self::Word(place) if number == place => "",
                Self::From(place) if number >= place => "",
                Self::OfOption(option) if before == option => "",
                Self::OfOption(option) if own.starts_with(option) && own != option => option,
                Self::Word(_) | Self::From(_) | Self::OfOption(_) => {
                    before = own;
                    continue;
                }
            };
            *word = changed(word, |_| format!("{shown}{MASK}"));
            before = own;
        }
    }
}

fn lets_in(field: &str) -> bool {
    let field = field.to_ascii_lowercase();
    SECRET_FIELDS.iter().any(|part| field.contains(part))
}

/// Passwords that are a part of a word: of options, and of URLs.
fn masked_word(word: &str) -> String {
    if let Some((key, value)) = word.split_once('=') {
        let name = key.to_ascii_lowercase();
        let user = value.split_once(':').map(|(user, _)| user);
        if let (true, Some(user)) = (name.ends_with("login"), user) {
            return format!("{key}={user}:{MASK}");
        }
        if ["passw", "secret"].iter().any(|part| name.contains(part)) {
            return format!("{key}={MASK}");
        }
    }
    if let Some((scheme, rest)) = word.split_once("://")
        && let Some((user, host)) = rest.split_once('@')
        && user.contains(':')
        && !user.contains('/')
    {
        return format!("{scheme}://{MASK}@{host}");
    }
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_masked_and_nothing_else_is() {
        let check = |line: &str, shown: &str| assert_eq!(masked(line), shown);
        check("cachemgr_passwd  hunter2 info", "cachemgr_passwd  *** info");
        check("cachemgr_passwd disable all", "cachemgr_passwd disable all");
        check(
            "cache_peer p.example parent 3128 0 login=joe:hunter2 default",
            "cache_peer p.example parent 3128 0 login=joe:*** default",
        );
        check(
            "cache_peer p.example parent 3128 0 login=PASSTHRU",
            "cache_peer p.example parent 3128 0 login=PASSTHRU",
        );
        check(
            "acl community snmp_community hunter2 x",
            "acl community snmp_community *** ***",
        );
        check(
            "auth_param basic program /x/ldap -D cn=a -w hunter2 -h host",
            "auth_param basic program /x/ldap -D cn=a -w *** -h host",
        );
        check(
            "request_header_add X-Api-Key \"hunter2 b\" all",
            "request_header_add X-Api-Key *** *** ***",
        );
        check(
            "request_header_replace User-Agent Nobody 1.0",
            "request_header_replace User-Agent Nobody 1.0",
        );
        check(
            "icap_service a reqmod_precache icap://u:p@[::1]:1344/x",
            "icap_service a reqmod_precache icap://***@[::1]:1344/x",
        );
        check(
            "wccp2_service standard 0 password=foo",
            "wccp2_service standard 0 password=***",
        );
        check(
            "cachemgr_passwd\thunter2\tinfo",
            "cachemgr_passwd\t***\tinfo",
        );
        check(
            "external_acl_type a %LOGIN /x/group -whunter2 -W /etc/file --secret=hunter2",
            "external_acl_type a %LOGIN /x/group -w*** -W /etc/file --secret=***",
        );
        check("http_port 3128 # a@b", "http_port 3128 # a@b");
    }
}
