//! The formats, and the parts of their lines.

/// A format that both log in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    pub(crate) name: &'static str,
    /// Names of the parts of a line.
    pub(crate) fields: &'static [&'static str],
    /// How a line is parted.
    pub(crate) part: fn(&str) -> Vec<String>,
}

/// Those that need no line, and one with every code.
pub(crate) const FORMATS: &[Format] = &[
    Format {
        name: "squid",
        fields: &[
            "time", "elapsed", "client", "result", "bytes", "method", "url", "user", "way", "type",
        ],
        part: by_blanks,
    },
    Format {
        name: "common",
        fields: &[
            "client", "ident", "user", "time", "request", "status", "bytes", "result",
        ],
        part: by_blanks,
    },
    Format {
        name: "combined",
        fields: &[
            "client", "ident", "user", "time", "request", "status", "bytes", "referer", "agent",
            "result",
        ],
        part: by_blanks,
    },
    Format {
        name: "referrer",
        fields: &["time", "client", "referer", "url"],
        part: by_blanks,
    },
    Format {
        name: "useragent",
        fields: &["client", "time", "agent"],
        part: by_blanks,
    },
    Format {
        name: "codes",
        fields: CODES,
        part: by_bars,
    },
];

/// What may be in a line of the format that holds all codes.
pub(crate) const CODES: &[&str] = &[
    "%>a",
    "%>A",
    "%>p",
    "%>eui",
    "%>la",
    "%>lp",
    "%la",
    "%lp",
    "%<a",
    "%<A",
    "%<p",
    "%<la",
    "%<lp",
    "%>qos",
    "%<qos",
    "%>nfmark",
    "%<nfmark",
    "%>handshake",
    "%ts",
    "%tu",
    "%tr",
    "%dt",
    "%tS",
    "%<pt",
    "%<tt",
    "%tl",
    "%tg",
    "%{%Y}tl",
    "%un",
    "%ul",
    "%ue",
    "%ui",
    "%et",
    "%ea",
    "%rm",
    "%>rm",
    "%<rm",
    "%ru",
    "%>ru",
    "%<ru",
    "%>rs",
    "%<rs",
    "%>rd",
    "%<rd",
    "%>rP",
    "%<rP",
    "%rp",
    "%>rp",
    "%<rp",
    "%rv",
    "%>rv",
    "%<rv",
    "%{User-Agent}>h",
    "%\"{User-Agent}>h",
    "%[{User-Agent}>h",
    "%#{User-Agent}>h",
    "%/{User-Agent}>h",
    "%{Referer}>h",
    "%{User-Agent}>ha",
    "%{Content-Type}<h",
    "%{ETag}<h",
    "%>Hs",
    "%<Hs",
    "%mt",
    "%st",
    "%>st",
    "%<st",
    "%>sh",
    "%<sh",
    "%<sH",
    "%<sS",
    "%<bs",
    "%Ss",
    "%Sh",
    "%sn",
    "%err_code",
    "%err_detail",
    "%note",
    "%8>a",
    "%-12>a",
    "%.3>a",
    "%012>Hs",
    "%%",
];

/// Where `%>p` stands among them.
pub(crate) const CLIENT_PORT: usize = 2;

/// The `logformat` line of all codes.
pub(crate) fn codes() -> String {
    format!("logformat codes {}\n", CODES.join("|"))
}

fn by_bars(line: &str) -> Vec<String> {
    line.split('|').map(str::to_owned).collect()
}

/// At blanks, but not between brackets or quotes.
fn by_blanks(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut end = None;
    for char in line.chars() {
        match (end, char) {
            (None, ' ') if fields.last().is_some_and(String::is_empty) => continue,
            (None, ' ') => {
                fields.push(String::new());
                continue;
            }
            (None, '[') => end = Some(']'),
            (None, '"') => end = Some('"'),
            (Some(expected), char) if expected == char => end = None,
            _ => {}
        }
        if let Some(field) = fields.last_mut() {
            field.push(char);
        }
    }
    fields
}

/// Ports that differ from run to run.
pub(crate) struct Ports {
    pub(crate) origin: u16,
    pub(crate) closed: u16,
    pub(crate) proxy: u16,
    pub(crate) client: u16,
}

/// The value without what differs from run to run.
pub(crate) fn steady(field: &str, value: &str, ports: &Ports) -> String {
    let times = [
        "time", "elapsed", "%ts", "%tu", "%tr", "%dt", "%tS", "%<pt", "%<tt", "%tl", "%tg", "%<lp",
        "%sn",
    ];
    if times.contains(&field) {
        // Their form is what can be compared.
        let digit = |char: char| if char.is_ascii_digit() { '9' } else { char };
        let form: String = value.chars().map(digit).collect();
        let short = [
            "elapsed", "%tu", "%tr", "%dt", "%<pt", "%<tt", "%<lp", "%sn",
        ]
        .contains(&field);
        return if short && form.chars().all(|char| char == '9') {
            "9".to_owned()
        } else {
            form
        };
    }
    let mut value = value.to_owned();
    for (port, name) in [
        (ports.origin, "ORIGIN"),
        (ports.closed, "CLOSED"),
        (ports.proxy, "PROXY"),
        (ports.client, "CLIENT"),
    ] {
        value = value.replace(&port.to_string(), name);
    }
    value
}
