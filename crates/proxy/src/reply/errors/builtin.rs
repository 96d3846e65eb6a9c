//! The pages of `errors/`, built into the program: Squid's set by name, in our words. Each holds its
//! title in its first line and its content after it; `frame.html` is around all of them.

const FRAME: &str = include_str!("../../../../../errors/frame.html");
const GENERIC: &str = include_str!("../../../../../errors/generic.html");

/// The whole page of that name.
pub(super) fn page(name: &str) -> Option<String> {
    Some(framed(source(name)?))
}

/// The page for what has none of its own.
pub(super) fn generic() -> String {
    framed(GENERIC)
}

/// What the page of that name says in a few words.
pub(super) fn title(name: &str) -> Option<&'static str> {
    source(name)?.lines().next()
}

fn framed(source: &str) -> String {
    let (title, content) = source.split_once('\n').unwrap_or_default();
    FRAME
        .replace("%{title}", title)
        .replace("%{content}", content.trim_end())
}

fn source(name: &str) -> Option<&'static str> {
    let found = PAGES.binary_search_by_key(&name, |page| page.0).ok()?;
    PAGES.get(found).map(|page| page.1)
}

macro_rules! pages {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../../../../errors/", $name, ".html")))),*]
    };
}

/// By name.
const PAGES: &[(&str, &str)] = pages! {
    "ERR_ACCESS_DENIED"
    "ERR_ACL_TIME_QUOTA_EXCEEDED"
    "ERR_AGENT_CONFIGURE"
    "ERR_AGENT_WPAD"
    "ERR_CACHE_ACCESS_DENIED"
    "ERR_CACHE_MGR_ACCESS_DENIED"
    "ERR_CANNOT_FORWARD"
    "ERR_CONFLICT_HOST"
    "ERR_CONNECT_FAIL"
    "ERR_DIR_LISTING"
    "ERR_DNS_FAIL"
    "ERR_ESI"
    "ERR_FORWARDING_DENIED"
    "ERR_FTP_DISABLED"
    "ERR_FTP_FAILURE"
    "ERR_FTP_FORBIDDEN"
    "ERR_FTP_NOT_FOUND"
    "ERR_FTP_PUT_CREATED"
    "ERR_FTP_PUT_ERROR"
    "ERR_FTP_PUT_MODIFIED"
    "ERR_FTP_UNAVAILABLE"
    "ERR_GATEWAY_FAILURE"
    "ERR_ICAP_FAILURE"
    "ERR_INVALID_REQ"
    "ERR_INVALID_RESP"
    "ERR_INVALID_URL"
    "ERR_LIFETIME_EXP"
    "ERR_NO_RELAY"
    "ERR_ONLY_IF_CACHED_MISS"
    "ERR_PRECONDITION_FAILED"
    "ERR_PROTOCOL_UNKNOWN"
    "ERR_READ_ERROR"
    "ERR_READ_TIMEOUT"
    "ERR_REQUEST_PARSE_TIMEOUT"
    "ERR_SECURE_CONNECT_FAIL"
    "ERR_SHUTTING_DOWN"
    "ERR_SOCKET_FAILURE"
    "ERR_TOO_BIG"
    "ERR_UNSUP_HTTPVERSION"
    "ERR_UNSUP_REQ"
    "ERR_URN_RESOLVE"
    "ERR_WRITE_ERROR"
    "ERR_ZERO_SIZE_OBJECT"
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_each_file_once_in_order() {
        assert!(PAGES.is_sorted_by_key(|page| page.0));
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../errors");
        let files = std::fs::read_dir(folder).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.starts_with("ERR_")).collect();
        names.sort();
        let known: Vec<String> = PAGES
            .iter()
            .map(|page| format!("{}.html", page.0))
            .collect();
        assert_eq!(known, names);
        assert_eq!(title("ERR_ACCESS_DENIED"), Some("Access denied"));
    }
}
