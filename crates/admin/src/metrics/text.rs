//! The text that collectors read: Prometheus' format 0.0.4 and OpenMetrics 1.0. They differ in
//! where a counter's `_total` stands, in `UNIT` lines and in the end.

use std::fmt::Write as _;

use stats::Distribution;

use super::buckets::Buckets;

/// How the text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// What everybody understands.
    Prometheus,
    /// For who asks for it.
    OpenMetrics,
}

impl Format {
    /// The one that a collector's `Accept` asks for. A browser, or nobody in particular, gets the one
    /// that everybody understands.
    pub(super) fn of(accept: &[u8]) -> Self {
        let asks = accept.split(|&byte| byte == b',').any(|range| {
            range
                .trim_ascii()
                .starts_with(b"application/openmetrics-text")
        });
        if asks {
            Self::OpenMetrics
        } else {
            Self::Prometheus
        }
    }

    /// As `Content-Type` has it.
    pub(super) const fn media_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// What kind of numbers a family has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// Samples that share a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Family<'a> {
    /// Without `_total`.
    pub(super) name: &'a str,
    pub(super) kind: Kind,
    /// `bytes` or `seconds`, with which the name ends; empty for plain numbers.
    pub(super) unit: &'a str,
    pub(super) help: &'a str,
}

/// Names and values of a sample's labels.
pub(super) type Labels<'a> = &'a [(&'a str, &'a str)];

/// Writes families one after the other.
#[derive(Debug)]
pub(super) struct Text {
    format: Format,
    out: String,
}

impl Text {
    pub(super) const fn new(format: Format) -> Self {
        Self {
            format,
            out: String::new(),
        }
    }

    /// Begins a family: its samples follow.
    pub(super) fn family(&mut self, family: &Family<'_>) {
        let total = match (self.format, family.kind) {
            (Format::Prometheus, Kind::Counter) => "_total",
            _ => "",
        };
        let (name, kind, unit) = (family.name, family.kind.name(), family.unit);
        self.line(format_args!("# HELP {name}{total} "), |out| {
            escape(family.help, false, out)
        });
        self.line(format_args!("# TYPE {name}{total} {kind}"), |_| ());
        if self.format == Format::OpenMetrics && !unit.is_empty() {
            self.line(format_args!("# UNIT {name} {unit}"), |_| ());
        }
    }

    /// A counter's or a gauge's value.
    pub(super) fn sample(&mut self, family: &Family<'_>, labels: Labels<'_>, value: f64) {
        let suffix = match family.kind {
            Kind::Counter => "_total",
            Kind::Gauge | Kind::Histogram => "",
        };
        self.value(family.name, suffix, labels, value);
    }

    /// A family with one sample.
    pub(super) fn single(&mut self, family: &Family<'_>, value: f64) {
        self.family(family);
        self.sample(family, &[], value);
    }

    /// A histogram's buckets, sum and count.
    pub(super) fn histogram(
        &mut self,
        family: &Family<'_>,
        labels: Labels<'_>,
        buckets: Buckets,
        values: &Distribution,
    ) {
        for (bound, count) in buckets.cumulate(values) {
            let labels = [labels, &[("le", &bound)]].concat();
            self.value(family.name, "_bucket", &labels, count);
        }
        let (sum, count) = buckets.totals(values);
        self.value(family.name, "_sum", labels, sum);
        self.value(family.name, "_count", labels, count);
    }

    /// The text; nothing can follow.
    pub(super) fn finish(mut self) -> String {
        if self.format == Format::OpenMetrics {
            self.out.push_str("# EOF\n");
        }
        self.out
    }

    fn value(&mut self, name: &str, suffix: &str, labels: Labels<'_>, value: f64) {
        self.line(format_args!("{name}{suffix}"), |out| {
            for (at, (label, text)) in labels.iter().enumerate() {
                out.push(if at == 0 { '{' } else { ',' });
                out.push_str(label);
                out.push_str("=\"");
                escape(text, true, out);
                out.push('"');
            }
            if !labels.is_empty() {
                out.push('}');
            }
            out.push(' ');
            number(value, out);
        });
    }

    fn line(&mut self, start: std::fmt::Arguments<'_>, rest: impl FnOnce(&mut String)) {
        self.out
            .write_fmt(start)
            .expect("a String takes all that is written");
        rest(&mut self.out);
        self.out.push('\n');
    }
}

/// Without an exponent, and as short as it can be.
fn number(value: f64, out: &mut String) {
    let text = match value {
        _ if value.is_nan() => "NaN",
        f64::INFINITY => "+Inf",
        f64::NEG_INFINITY => "-Inf",
        _ => return write!(out, "{value}").expect("a String takes all that is written"),
    };
    out.push_str(text);
}

/// Line feeds and backslashes, and quotes in labels, keep their line whole.
fn escape(text: &str, quotes: bool, out: &mut String) {
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\\' => out.push_str("\\\\"),
            '"' if quotes => out.push_str("\\\""),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTER: Family<'static> = Family {
        name: "squall_hit_bytes",
        kind: Kind::Counter,
        unit: "bytes",
        help: "Bytes\\from \"the\" cache.\nSo it is.",
    };

    fn text(format: Format) -> String {
        let mut text = Text::new(format);
        text.family(&COUNTER);
        text.sample(&COUNTER, &[("peer", "a\\b\"c\nd"), ("kind", "ü")], 1e15);
        text.single(
            &Family {
                name: "squall_ratio",
                kind: Kind::Gauge,
                unit: "",
                help: "A share.",
            },
            0.125,
        );
        text.finish()
    }

    #[test]
    fn each_format_has_its_own_frame() {
        let expected = "\
# HELP squall_hit_bytes_total Bytes\\\\from \"the\" cache.\\nSo it is.
# TYPE squall_hit_bytes_total counter
squall_hit_bytes_total{peer=\"a\\\\b\\\"c\\nd\",kind=\"ü\"} 1000000000000000
# HELP squall_ratio A share.
# TYPE squall_ratio gauge
squall_ratio 0.125
";
        assert_eq!(text(Format::Prometheus), expected);
        let open = expected
            .replace("# HELP squall_hit_bytes_total", "# HELP squall_hit_bytes")
            .replace(
                "# TYPE squall_hit_bytes_total counter\n",
                "# TYPE squall_hit_bytes counter\n# UNIT squall_hit_bytes bytes\n",
            );
        assert_eq!(text(Format::OpenMetrics), open + "# EOF\n");
    }

    #[test]
    fn a_collector_gets_what_it_asks_for() {
        let prometheus =
            b"application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3";
        assert_eq!(Format::of(prometheus), Format::OpenMetrics);
        assert_eq!(Format::of(b"text/html, */*"), Format::Prometheus);
        assert_eq!(Format::of(b""), Format::Prometheus);
    }

    #[test]
    fn numbers_that_are_none_have_their_names() {
        let mut out = String::new();
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.5, 0.000_001] {
            number(value, &mut out);
            out.push(' ');
        }
        assert_eq!(out, "NaN +Inf -Inf -0.5 0.000001 ");
    }
}
