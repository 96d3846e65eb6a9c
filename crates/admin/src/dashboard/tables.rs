//! Which values the dashboard shows, and how: one row each. The page is written from these by `html`, and says in
//! its attributes what `static/app.js` needs to keep it up to date, so nothing is told twice.

use super::figures::Kind;

/// A column: the field of [`super::live`] that it shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) field: &'static str,
    pub(super) title: &'static str,
    pub(super) kind: Kind,
}

/// A table: a list of `Live`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    /// The field of `Live`.
    pub(super) list: &'static str,
    pub(super) title: &'static str,
    /// What its numbers are about.
    pub(super) note: &'static str,
    /// What is said in place of no rows.
    pub(super) empty: &'static str,
    /// Over the whole width?
    pub(super) wide: bool,
    pub(super) columns: &'static [Column],
}

/// A big number with a small line below, and the course of the last minutes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tile {
    pub(super) title: &'static str,
    /// A field of `Live::now`.
    pub(super) value: Value,
    /// Words and fields of the small line.
    pub(super) below: &'static [Value],
    /// The list of `Live::series` that is drawn.
    pub(super) series: &'static str,
}

/// A value with words around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub(super) before: &'static str,
    /// A JSON pointer into `Live`.
    pub(super) pointer: &'static str,
    pub(super) kind: Kind,
    pub(super) after: &'static str,
}

/// A chart of several lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chart {
    pub(super) title: &'static str,
    pub(super) kind: Kind,
    /// Are the values added on top of each other?
    pub(super) stacked: bool,
    /// Lists of `Live::series`, with the words of the legend.
    pub(super) lines: &'static [(&'static str, &'static str)],
}

const fn column(field: &'static str, title: &'static str, kind: Kind) -> Column {
    Column { field, title, kind }
}

const fn value(
    before: &'static str,
    pointer: &'static str,
    kind: Kind,
    after: &'static str,
) -> Value {
    Value {
        before,
        pointer,
        kind,
        after,
    }
}

pub(super) const TILES: &[Tile] = &[
    Tile {
        title: "Requests",
        value: value("", "/now/requests", Kind::Rate, "/s"),
        below: &[
            value("", "/now/requests_total", Kind::Count, " in all"),
            value("", "/now/active", Kind::Count, " in progress"),
        ],
        series: "requests",
    },
    Tile {
        title: "From the cache",
        value: value("", "/now/hit_share", Kind::Share, ""),
        below: &[value("", "/now/hit_byte_share", Kind::Share, " of bytes")],
        series: "hit_share",
    },
    Tile {
        title: "Median time",
        value: value("", "/now/p50_us", Kind::Time, ""),
        below: &[
            value("p95 ", "/now/p95_us", Kind::Time, ""),
            value("p99 ", "/now/p99_us", Kind::Time, ""),
        ],
        series: "p50_us",
    },
    Tile {
        title: "To clients",
        value: value("", "/now/out_bytes", Kind::ByteRate, ""),
        below: &[value("from origins ", "/now/hop_bytes", Kind::ByteRate, "")],
        series: "out_bytes",
    },
    Tile {
        title: "Failures",
        value: value("", "/now/errors", Kind::Rate, "/s"),
        below: &[value("", "/now/error_share", Kind::Share, " of requests")],
        series: "errors",
    },
    Tile {
        title: "Connections",
        value: value("", "/now/connections", Kind::Count, ""),
        below: &[
            value("", "/now/connections_idle", Kind::Count, " idle"),
            value("", "/now/hop_connections", Kind::Count, " to origins"),
            value("", "/now/tunnels", Kind::Count, " tunnels"),
        ],
        series: "connections",
    },
];

pub(super) const CHARTS: &[Chart] = &[
    Chart {
        title: "Requests per second",
        kind: Kind::Rate,
        stacked: true,
        lines: &[("hits", "from the cache"), ("misses", "others")],
    },
    Chart {
        title: "Time to answer",
        kind: Kind::Time,
        stacked: false,
        lines: &[("p99_us", "p99"), ("p95_us", "p95"), ("p50_us", "median")],
    },
];

const RANKED: &[Column] = &[
    column("key", "Name", Kind::Text),
    column("requests", "Requests", Kind::Count),
    column("bytes", "Bytes", Kind::Bytes),
    column("hit_share", "Hits", Kind::Share),
];

const TRANSACTION: &[Column] = &[
    column("id", "Id", Kind::Id),
    column("unix_ms", "Ended", Kind::Clock),
    column("elapsed_us", "Time", Kind::Time),
    column("status", "Status", Kind::Status),
    column("sent_bytes", "Sent", Kind::Bytes),
    column("result", "Result", Kind::Text),
    column("client", "Client", Kind::Text),
    column("method", "Method", Kind::Text),
    column("url", "URL", Kind::Text),
];

/// The tables of the first page.
pub(super) const OVERVIEW: &[Table] = &[
    Table {
        list: "hosts",
        title: "Hosts",
        note: "last minutes",
        empty: "No request since you are looking.",
        wide: false,
        columns: RANKED,
    },
    Table {
        list: "clients",
        title: "Clients",
        note: "last minutes",
        empty: "No request since you are looking.",
        wide: false,
        columns: RANKED,
    },
    Table {
        list: "latency",
        title: "Times by outcome",
        note: "last 5 minutes",
        empty: "No request yet.",
        wide: false,
        columns: &[
            column("of", "Requests", Kind::Text),
            column("count", "Number", Kind::Count),
            column("p50_us", "Median", Kind::Time),
            column("p90_us", "p90", Kind::Time),
            column("p99_us", "p99", Kind::Time),
            column("p999_us", "p99.9", Kind::Time),
        ],
    },
    Table {
        list: "workers",
        title: "Workers",
        note: "last seconds",
        empty: "No worker.",
        wide: false,
        columns: &[
            column("name", "Thread", Kind::Text),
            column("requests", "Requests/s", Kind::Rate),
            column("connections", "Connections", Kind::Count),
            column("busy", "Busy", Kind::Bar),
        ],
    },
    Table {
        list: "store",
        title: "Store",
        note: "",
        empty: "Nothing is stored here.",
        wide: false,
        columns: &[
            column("name", "Place", Kind::Text),
            column("state", "State", Kind::Text),
            column("objects", "Responses", Kind::Count),
            column("bytes", "Size", Kind::Bytes),
            column("bytes_max", "Limit", Kind::Bytes),
            column("used", "Used", Kind::Bar),
        ],
    },
    Table {
        list: "errors",
        title: "Failures",
        note: "",
        empty: "None since the start.",
        wide: false,
        columns: &[
            column("kind", "Kind", Kind::Text),
            column("lately", "5 minutes", Kind::Count),
            column("total", "Since start", Kind::Count),
        ],
    },
    Table {
        list: "peers",
        title: "Peers",
        note: "",
        empty: "No cache_peer is configured.",
        wide: false,
        columns: &[
            column("name", "Name", Kind::Text),
            column("address", "Address", Kind::Text),
            column("state", "State", Kind::Text),
            column("open", "Open", Kind::Count),
        ],
    },
    Table {
        list: "helpers",
        title: "Helpers",
        note: "",
        empty: "No helper program is configured.",
        wide: false,
        columns: &[
            column("name", "Pool", Kind::Text),
            column("running", "Running", Kind::Count),
            column("busy", "Busy", Kind::Count),
            column("queue", "Queue", Kind::Count),
            column("failures", "Failed", Kind::Count),
            column("average_us", "Time", Kind::Time),
        ],
    },
    Table {
        list: "active",
        title: "In progress",
        note: "longest first",
        empty: "Nothing.",
        wide: true,
        columns: &[
            column("elapsed_us", "Since", Kind::Time),
            column("sent_bytes", "Sent", Kind::Bytes),
            column("client", "Client", Kind::Text),
            column("method", "Method", Kind::Text),
            column("url", "URL", Kind::Text),
        ],
    },
    Table {
        list: "recent",
        title: "Latest transactions",
        note: "a sample where there are many",
        empty: "None since you are looking.",
        wide: true,
        columns: TRANSACTION,
    },
];

/// The tables of the page of transactions.
pub(super) const TRANSACTIONS: &[Table] = &[
    Table {
        list: "slowest",
        title: "Slowest",
        note: "last minutes",
        empty: "None since you are looking.",
        wide: true,
        columns: TRANSACTION,
    },
    Table {
        list: "largest",
        title: "Largest",
        note: "last minutes",
        empty: "None since you are looking.",
        wide: true,
        columns: TRANSACTION,
    },
    Table {
        list: "recent",
        title: "Latest",
        note: "a sample where there are many",
        empty: "None since you are looking.",
        wide: true,
        columns: TRANSACTION,
    },
];

/// What is told of one transaction.
pub(super) const TRANSACTION_FACTS: &[Column] = &[
    column("method", "Method", Kind::Text),
    column("url", "URL", Kind::Text),
    column("status", "Status", Kind::Status),
    column("result", "Result", Kind::Text),
    column("media_type", "Type", Kind::Text),
    column("client", "Client", Kind::Text),
    column("user", "User", Kind::Text),
    column("unix_ms", "Ended (UTC)", Kind::Clock),
    column("elapsed_us", "Time", Kind::Time),
    column("request_bytes", "Received", Kind::Bytes),
    column("sent_bytes", "Sent", Kind::Bytes),
    column("hierarchy", "Way", Kind::Text),
    column("hop", "Hop", Kind::Text),
    column("attempts", "Connections tried", Kind::Count),
    column("hop_status", "Status of the hop", Kind::Status),
    column("error", "Failure", Kind::Text),
    column("error_detail", "Detail", Kind::Text),
];
