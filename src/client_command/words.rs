//! The options, as squidclient has them.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{CommandFactory as _, Parser};

use super::ping::Ping;

/// Ask a proxy for a URL, or for a page of its cache manager
#[derive(Parser, Clone, Debug)]
#[command(
    name = "client",
    bin_name = "squall client",
    disable_help_flag = true,
    disable_version_flag = true,
    args_override_self = true,
    after_help = "URL may be mgr:PAGE or mgr:PAGE@password; mgr:menu names the pages.
Ends with 0: answered below 400; 1: misuse; 2: no connection; 3: answered from 400 on; 4: no answer, or a broken one."
)]
#[expect(clippy::struct_excessive_bools, reason = "a field per flag")]
pub(super) struct Words {
    /// What to ask for
    #[arg(value_name = "URL", required_unless_present = "help")]
    url: Option<String>,
    /// The proxy's host
    #[arg(short = 'h', long, value_name = "HOST", default_value = "localhost")]
    host: String,
    /// The proxy's port
    #[arg(short = 'p', long, value_name = "PORT", default_value_t = 3128)]
    pub(super) port: u16,
    /// Address to connect from
    #[arg(short = 'l', long, value_name = "ADDRESS")]
    pub(super) local: Option<IpAddr>,
    /// Longest wait for something to happen
    #[arg(short = 'T', value_name = "SECONDS", default_value_t = 120)]
    timeout: u64,
    /// Don't show the answer
    #[arg(short = 's', long = "quiet")]
    pub(super) silent: bool,
    /// Show the request on standard error
    #[arg(short = 'v', long, action = clap::ArgAction::Count)]
    pub(super) verbose: u8,
    /// Show this help
    #[arg(long)]
    help: bool,

    /// Ask again and again, and tell the times
    #[arg(long)]
    ping: bool,
    /// How often; 0: until interrupted
    #[arg(short = 'g', value_name = "COUNT")]
    count: Option<u32>,
    /// Time from one to the next
    #[arg(short = 'I', value_name = "SECONDS")]
    interval: Option<u64>,

    /// Send no Accept
    #[arg(short = 'a')]
    pub(super) no_accept: bool,
    /// User-Agent; empty: send none
    #[arg(short = 'A', value_name = "TEXT")]
    pub(super) user_agent: Option<String>,
    /// Fields to send; knows \n, \r, \t and \\
    #[arg(short = 'H', value_name = "FIELDS", allow_hyphen_values = true)]
    pub(super) fields: Option<String>,
    /// If-Modified-Since, in seconds since 1970
    #[arg(short = 'i', value_name = "SECONDS")]
    pub(super) modified_since: Option<i64>,
    /// Host
    #[arg(short = 'j', value_name = "HOST")]
    pub(super) host_field: Option<String>,
    /// Ask to keep the connection open
    #[arg(short = 'k')]
    pub(super) keep_alive: bool,
    /// Method
    #[arg(short = 'm', value_name = "METHOD")]
    pub(super) method: Option<String>,
    /// Send this file, with the method of -m
    #[arg(short = 'P', value_name = "FILE")]
    pub(super) content: Option<PathBuf>,
    /// Have the proxy ask the origin
    #[arg(short = 'r')]
    pub(super) reload: bool,
    /// TRACE over so many proxies
    #[arg(short = 't', value_name = "COUNT")]
    pub(super) hops: Option<u32>,
    /// User at the proxy
    #[arg(short = 'u', value_name = "USER")]
    pub(super) proxy_user: Option<String>,
    /// Password at the proxy
    #[arg(short = 'w', value_name = "PASSWORD")]
    pub(super) proxy_password: Option<String>,
    /// User at the origin, or of the cache manager
    #[arg(short = 'U', value_name = "USER")]
    pub(super) user: Option<String>,
    /// Password there
    #[arg(short = 'W', value_name = "PASSWORD")]
    pub(super) password: Option<String>,
    /// HTTP version; -: HTTP/0.9
    #[arg(
        short = 'V',
        value_name = "VERSION",
        default_value = "1.0",
        allow_hyphen_values = true
    )]
    pub(super) version: String,

    /// Not built: Negotiate at the proxy
    #[arg(short = 'n')]
    proxy_negotiate: bool,
    /// Not built: Negotiate at the origin
    #[arg(short = 'N')]
    negotiate: bool,
    /// Not built: TLS to the proxy
    #[arg(long)]
    https: bool,
    #[arg(long, hide = true)]
    anonymous_tls: bool,
    #[arg(long, hide = true, value_name = "FILE")]
    cert: Option<String>,
    #[arg(long, hide = true, value_name = "FILE")]
    trusted_ca: Option<String>,
    #[arg(long, hide = true, value_name = "TEXT")]
    params: Option<String>,
}

/// What there is to say instead of doing it.
#[derive(Debug)]
pub(super) enum Said {
    /// On standard output.
    Help(String),
    /// On standard error.
    Misuse(String),
}

impl Words {
    /// Reads the arguments; the first is the program's name.
    pub(super) fn read<'w>(words: impl Iterator<Item = &'w OsString>) -> Result<Self, Said> {
        let said = |error: clap::Error| Said::Misuse(error.render().to_string());
        let words = Self::try_parse_from(words).map_err(said)?;
        if words.help {
            return Err(Said::Help(Self::command().render_help().to_string()));
        }
        match words.unbuilt() {
            Some(option) => Err(Said::Misuse(format!(
                "ERROR: {option} is not built: this client speaks neither TLS nor Kerberos; curl does"
            ))),
            None => Ok(words),
        }
    }

    fn unbuilt(&self) -> Option<&'static str> {
        let asked = [
            (self.proxy_negotiate, "-n"),
            (self.negotiate, "-N"),
            (self.https, "--https"),
            (self.anonymous_tls, "--anonymous-tls"),
            (self.cert.is_some(), "--cert"),
            (self.trusted_ca.is_some(), "--trusted-ca"),
            (self.params.is_some(), "--params"),
        ];
        let unbuilt = asked.into_iter().find(|(asked, _)| *asked);
        unbuilt.map(|(_, option)| option)
    }

    pub(super) fn url(&self) -> &str {
        self.url.as_deref().unwrap_or_default()
    }

    /// The proxy's host, without the brackets that an address may have.
    pub(super) fn host(&self) -> String {
        let bare = self.host.trim_start_matches('[').trim_end_matches(']');
        bare.to_owned()
    }

    pub(super) const fn patience(&self) -> Duration {
        Duration::from_secs(self.timeout)
    }

    /// Several requests, if that is asked for.
    pub(super) fn ping(&self) -> Option<Ping> {
        let asked = self.ping || self.count.is_some() || self.interval.is_some();
        asked.then(|| Ping {
            count: self.count.unwrap_or(0),
            interval: Duration::from_secs(self.interval.unwrap_or(1)),
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn words(line: &[&str]) -> Words {
        let all: Vec<OsString> = ["client"].iter().chain(line).map(OsString::from).collect();
        Words::read(all.iter()).unwrap_or_else(|said| panic!("{line:?}: {said:?}"))
    }

    #[test]
    fn the_options_are_consistent() {
        Words::command().debug_assert();
    }

    #[test]
    fn clusters_and_both_orders_are_understood() {
        let words = words(&["-sa", "mgr:info", "-p8080", "-h", "[::1]"]);
        assert!(words.silent && words.no_accept);
        assert_eq!((words.port, words.host().as_str()), (8080, "::1"));
        assert_eq!(words.url(), "mgr:info");
    }

    #[test]
    fn what_is_not_built_is_refused_by_its_name() {
        let all: Vec<OsString> = ["client", "--https", "http://a/"].map(Into::into).to_vec();
        let Err(Said::Misuse(text)) = Words::read(all.iter()) else {
            panic!("taken");
        };
        assert!(text.contains("--https is not built"), "{text}");
    }

    #[test]
    fn a_count_is_a_ping() {
        assert_eq!(words(&["http://a/"]).ping(), None);
        let ping = words(&["-g", "3", "http://a/"]).ping().unwrap();
        assert_eq!((ping.count, ping.interval), (3, Duration::from_secs(1)));
    }
}
