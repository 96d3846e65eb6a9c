//! The kinds of values: how a line is checked that nothing else reads, whether lines
//! add up, and what the documentation calls it.

use std::fmt;

use crate::model::helper::Pool;
use crate::read::Draft;
use crate::text::line::{Line, Outcome};

/// What is written after a directive's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `on` or `off`.
    OnOff,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A whole number; some directives give a meaning to negative ones.
    Number,
    /// A whole number, with or without `%`.
    Percent,
    /// A whole number from 0 to 65535.
    Short,
    /// A port number; 0 switches off.
    Port,
    /// A number with a unit of bytes.
    Size,
    /// The same, or `none`.
    SizeOrNone,
    /// The same, in kilobytes when it has no unit.
    Kilobytes,
    /// A number with a unit of time.
    Time,
    /// One word.
    Word,
    /// One word, or several in quotes.
    Quoted,
    /// The rest of the line, as it is.
    Text,
    /// A file, directory or other place; `none` where there may be none.
    File,
    /// An IP address, or a name that has one.
    Address,
    /// The size of a pool of helpers: `N [startup=N] [idle=N] [concurrency=N] …`.
    Pool,
    /// Words to the end of the line.
    Words,
    /// IP addresses to the end of the line.
    Addresses,
    /// Names of ACLs to the end of the line, `!` for not; none: always.
    Acls,
    /// `allow` or `deny`, and names of ACLs.
    AccessList,
    /// These one after the other; the last line holds.
    Once(&'static [Self]),
    /// These one after the other; lines add up.
    Lines(&'static [Self]),
    /// A grammar of its own; lines add up.
    Form,
    /// Anything; nobody reads it.
    Unread,
}

impl Kind {
    /// Do lines add up? Otherwise the last one holds.
    #[must_use]
    pub const fn repeats(self) -> bool {
        matches!(
            self,
            Self::Words
                | Self::Addresses
                | Self::Acls
                | Self::AccessList
                | Self::Lines(_)
                | Self::Form
        )
    }

    /// Reads a line as Squid does, and keeps nothing of it.
    pub(crate) fn check(self, draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
        match self {
            Self::OnOff => drop(line.on_off()?),
            Self::OneOf(words) => one_of(line, words)?,
            Self::Number => number(line)?,
            Self::Percent => drop(line.percent()?),
            Self::Short | Self::Port => drop(line.short()?),
            Self::Size | Self::SizeOrNone => drop(line.size_or_none()?),
            Self::Kilobytes => drop(line.kilobytes_or_none()?),
            Self::Time => drop(line.time()?),
            Self::Word => drop(line.required("value")?),
            Self::Quoted => {
                let word = line.quoted_word();
                drop(word.ok_or_else(|| line.fatal("missing value"))?);
            }
            Self::Text => text(line)?,
            Self::File => drop(line.required("file name")?),
            Self::Address => drop(line.host()?),
            Self::Pool => Pool::default().read(line)?,
            Self::Words => drop(line.words()),
            Self::Addresses => {
                for word in line.words() {
                    line.check_host(&word)?;
                }
            }
            Self::Acls => drop(draft.acls.unused(|acls| acls.refs(line))?),
            Self::AccessList => drop(draft.acls.unused(|acls| acls.rule(line))?),
            Self::Once(kinds) | Self::Lines(kinds) => {
                for kind in kinds {
                    kind.check(draft, line)?;
                }
            }
            Self::Form | Self::Unread => drop(line.remainder()),
        }
        Ok(())
    }
}

impl fmt::Display for Kind {
    /// As the documentation names it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Once(kinds) | Self::Lines(kinds) = self {
            for (at, kind) in kinds.iter().enumerate() {
                write!(f, "{}{kind}", if at > 0 { ", " } else { "" })?;
            }
        }
        f.write_str(match self {
            Self::OnOff => "on or off",
            Self::OneOf(_) => "choice",
            Self::Number | Self::Short => "number",
            Self::Percent => "percentage",
            Self::Port => "port",
            Self::Size => "size",
            Self::SizeOrNone => "size or none",
            Self::Kilobytes => "size in KB",
            Self::Time => "time",
            Self::Word => "word",
            Self::Quoted => "quoted text",
            Self::Text => "text",
            Self::File => "file",
            Self::Address => "address",
            Self::Pool => "size of a pool",
            Self::Words => "words",
            Self::Addresses => "addresses",
            Self::Acls => "ACLs",
            Self::AccessList => "access list",
            Self::Form => "form of its own",
            Self::Unread => "not read",
            Self::Once(_) | Self::Lines(_) => "",
        })
    }
}

fn one_of(line: &mut Line<'_>, words: &[&str]) -> Outcome {
    let word = line.required("value")?;
    if words.contains(&&*word) {
        return Ok(());
    }
    let problem = line.fatal(format!("'{word}' is no value of {}", line.directive));
    Err(Box::new(
        problem.hint(format!("Values are {}.", words.join(", "))),
    ))
}

/// Squid keeps these in 32 bits.
fn number(line: &mut Line<'_>) -> Outcome {
    let number = line.integer()?;
    match i32::try_from(number) {
        Ok(_) => Ok(()),
        Err(_) => Err(line.fatal(format!("{number} is out of range"))),
    }
}

fn text(line: &mut Line<'_>) -> Outcome {
    if line.remainder().is_empty() {
        return Err(line.fatal("missing value"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn good(text: &str) {
        parse(text, "test").unwrap_or_else(|problems| panic!("{text}: {problems}"));
    }

    fn fatal(text: &str, message: &str) {
        let problems = parse(text, "test").unwrap_err();
        let last = problems.0.last().unwrap();
        assert!(last.message.contains(message), "{problems}");
    }

    #[test]
    fn what_nothing_reads_yet_is_checked_by_its_kind() {
        fatal("icap_enable maybe", "can only be 'on' or 'off'");
        fatal(
            "wccp2_forwarding_method ever",
            "'ever' is no value of wccp2_forwarding_method",
        );
        fatal(
            "digest_bits_per_entry five",
            "No digits were found in the input value 'five'",
        );
        fatal("netdb_low 4294967296", "out of range");
        fatal("icp_port 65536", "65536 is not from 0 to 65535");
        fatal("digest_swapout_chunk_size 4 QB", "Unknown bytes unit 'QB'");
        fatal("authenticate_ttl 1 aeon", "unknown time unit 'aeon'");
        fatal("ftp_user", "missing value");
        fatal("udp_incoming_address ?", "'?' is not an address");
        fatal("icp_access allow nobody", "ACL not found: nobody");
        fatal(
            "delay_access one allow all",
            "No digits were found in the input value 'one'",
        );
        fatal(
            "delay_pools 1\ndelay_access 1 allow nobody",
            "ACL not found: nobody",
        );
        fatal("url_rewrite_children 5 x=1", "'x=1' is no option of a pool");
        fatal("url_rewrite_children 0", "at least one helper");
    }

    #[test]
    fn old_and_new_forms_of_what_nothing_reads_are_good() {
        good("icap_preview_size -1\nicp_port 0\nicp_hit_stale enable\nnetdb_ping_period 5");
        good("redirect_children 5\nurl_rewrite_children 5 startup=1 idle=2 concurrency=3");
        good(
            "udp_outgoing_address 10.0.0.1\nwccp_router router.example\nwccp2_router 10.0.0.2:2048",
        );
        good(
            "tcp_outgoing_tos 0x20 all\nmark_client_connection 0x1/0xff all\nclient_netmask 255.255.255.0",
        );
    }

    #[test]
    fn what_gives_nothing_a_meaning_is_not_checked() {
        good("log_fqdn whatever\nzph_local x\nident_lookup_access allow nobody");
    }

    #[test]
    fn lines_add_up_where_each_says_something_else() {
        assert!(Kind::AccessList.repeats() && Kind::Lines(&[Kind::Word]).repeats());
        assert!(!Kind::Size.repeats() && !Kind::Once(&[Kind::Number]).repeats());
    }

    #[test]
    fn kinds_in_a_line_are_named_one_after_the_other() {
        let kind = Kind::Lines(&[Kind::Number, Kind::AccessList]);
        assert_eq!(kind.to_string(), "number, access list");
    }
}
