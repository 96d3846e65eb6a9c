//! Directives of one or two values that don't go straight into their field.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::model::manager::{ManagerPassword, Protection};
use crate::read::Draft;
use crate::text::line::{Line, Outcome};

/// Where name servers listen.
const DNS_PORT: u16 = 53;

pub(crate) fn workers(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    draft.config.workers = Some(line.count()?);
    Ok(())
}

/// `process_numbers=1,2 cores=3,4`: pairs by position; lines add up.
pub(crate) fn cpu_affinity_map(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let processes = numbers(line, "process_numbers=")?;
    let cores = numbers(line, "cores=")?;
    if processes.len() != cores.len() {
        let problem =
            line.fatal("'cpu_affinity_map' has a different number of processes and cores");
        return Err(Box::new(problem.hint("Name a core for each process.")));
    }
    draft
        .config
        .cpu_affinity_map
        .extend(processes.into_iter().zip(cores));
    Ok(())
}

fn numbers(line: &mut Line<'_>, prefix: &str) -> Outcome<Vec<u32>> {
    let word = line.required(prefix)?;
    let parsed = word.strip_prefix(prefix).and_then(|list| {
        list.split(',')
            .map(|number| number.parse().ok().filter(|&n| n > 0))
            .collect()
    });
    parsed.ok_or_else(|| line.fatal(format!("'{word}' is not {prefix}N,N,…")))
}

/// 0 is no limit.
pub(crate) fn request_body_max_size(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    draft.config.request_body_max_size = line.size_or_none()?.filter(|&size| size > 0);
    Ok(())
}

pub(crate) fn quick_abort_max(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    draft.config.quick_abort_max = line.kilobytes_or_none()?.unwrap_or(u64::MAX);
    Ok(())
}

/// 0 is the system's.
pub(crate) fn tcp_recv_bufsize(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    draft.config.tcp_recv_bufsize = Some(line.size()?).filter(|&size| size > 0);
    Ok(())
}

/// 0 is the system's.
pub(crate) fn max_filedescriptors(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    draft.config.max_filedescriptors = Some(line.natural()?).filter(|&count| count > 0);
    Ok(())
}

/// 0 is off.
pub(crate) fn snmp_port(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    draft.config.snmp_port = Some(line.short()?).filter(|&port| port > 0);
    Ok(())
}

/// `PASSWORD action…`, with `disable` and `none` in the password's place.
pub(crate) fn cachemgr_passwd(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let protection = match &*line.required("password")? {
        "disable" => Protection::Disabled,
        "none" => Protection::Open,
        password => Protection::Password(password.to_owned()),
    };
    let actions = line.words();
    draft.config.cachemgr_passwd.push(ManagerPassword {
        protection,
        actions,
    });
    Ok(())
}

/// A domain that begins with a dot.
pub(crate) fn append_domain(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let domain = line.text_word()?;
    if !domain.starts_with('.') {
        return Err(line.fatal("append_domain must begin with a '.'"));
    }
    draft.config.append_domain = Some(domain);
    Ok(())
}

/// A whole number, or `on` (1) or `off` (0) as older Squids have it.
pub(crate) fn pipeline_prefetch(_: &mut Draft, line: &mut Line<'_>) -> Outcome {
    if matches!(line.peek().as_deref(), Some("on" | "off")) {
        line.on_off().map(drop)
    } else {
        line.integer().map(drop)
    }
}

/// `N [in TIME]`
pub(crate) fn icap_service_failure_limit(_: &mut Draft, line: &mut Line<'_>) -> Outcome {
    line.integer()?;
    match line.word().as_deref() {
        None => Ok(()),
        Some("in") => line.time().map(drop),
        Some(word) => Err(line.fatal(format!("expecting 'in', got '{word}'"))),
    }
}

pub(crate) fn collapsed_forwarding(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    draft.config.collapsed_forwarding = Some(line.on_off()?);
    Ok(())
}

pub(crate) fn hostname_aliases(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    draft.config.hostname_aliases.extend(line.words());
    Ok(())
}

/// The rest of the line, markup and all.
pub(crate) fn err_html_text(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let text = line.remainder();
    if text.is_empty() {
        return Err(line.fatal("missing value"));
    }
    text.clone_into(&mut draft.config.err_html_text);
    Ok(())
}

pub(crate) fn quoted_values(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    draft.quoting = line.on_off()?;
    Ok(())
}

pub(crate) fn dns_nameservers(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    for word in line.list() {
        let bare = word.trim_matches(['[', ']']).parse();
        let addr = bare.map(|ip: IpAddr| SocketAddr::new(ip, DNS_PORT));
        match addr.or_else(|_| word.parse()) {
            Ok(addr) => draft.config.dns_nameservers.push(addr),
            Err(_) => line.note_error(
                format!("'{word}' is not a name server's address"),
                "Write IPv4 or IPv6 addresses, with a port if it isn't 53: 127.0.0.1:5353, [::1]:5353.",
            ),
        }
    }
    Ok(())
}

/// Below 0 is no limit.
pub(crate) fn client_ip_max_connections(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let limit = line.integer()?;
    let out_of_range = || line.fatal(format!("{limit} is out of range"));
    let limit = i32::try_from(limit).map_err(|_| out_of_range())?;
    draft.config.client_ip_max_connections = u32::try_from(limit).ok();
    Ok(())
}

/// Milliseconds.
pub(crate) fn happy_eyeballs_connect_timeout(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let millis = line.count()?;
    draft.config.happy_eyeballs_connect_timeout = Duration::from_millis(millis.into());
    Ok(())
}

pub(crate) fn cache_replacement_policy(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    draft.config.cache_replacement_policy = line.replacement()?;
    Ok(())
}

#[cfg(test)]
mod tests {

    use crate::{Config, FilePlace, ForwardedFor, Relaxed, Replacement, UriWhitespace, parse};

    fn config(text: &str) -> Config {
        parse(text, "test").unwrap()
    }

    #[test]
    fn cores_are_paired_with_workers() {
        let config = config("workers 4\ncpu_affinity_map process_numbers=1,2 cores=3,4");
        assert_eq!(config.workers, Some(4));
        assert_eq!(config.cpu_affinity_map, [(1, 3), (2, 4)]);
        assert!(parse("cpu_affinity_map process_numbers=1 cores=3,4", "test").is_err());
        assert!(parse("cpu_affinity_map cores=3 process_numbers=1", "test").is_err());
    }

    #[test]
    fn quick_abort_is_in_kilobytes_and_may_be_switched_off() {
        let config = config("quick_abort_min -1 KB\nquick_abort_max 32 KB\nquick_abort_pct 90");
        assert_eq!(
            (config.quick_abort_min, config.quick_abort_max),
            (None, 32 << 10)
        );
        assert_eq!(config.quick_abort_pct, 90);
    }

    #[test]
    fn zero_means_no_limit_where_squid_says_so() {
        let config = config("request_body_max_size 0 KB\ntcp_recv_bufsize 0 bytes\nmax_filedesc 0");
        assert_eq!(config.request_body_max_size, None);
        assert_eq!(
            (config.tcp_recv_bufsize, config.max_filedescriptors),
            (None, None)
        );
        assert!(config.warnings.is_empty());
    }

    #[test]
    fn the_snmp_agent_has_a_port_and_addresses() {
        let text = "snmp_port 3401\nsnmp_incoming_address 127.0.0.1\nsnmp_outgoing_address [::1]";
        let set = config(text);
        assert_eq!(set.snmp_port, Some(3401));
        assert_eq!(set.snmp_incoming_address.as_deref(), Some("127.0.0.1"));
        assert_eq!(set.snmp_outgoing_address.as_deref(), Some("::1"));
        assert_eq!(config("snmp_port 3401\nsnmp_port 0").snmp_port, None);
        for text in ["snmp_port 65536", "snmp_incoming_address ?"] {
            assert!(parse(text, "test").is_err(), "{text}");
        }
    }

    #[test]
    fn collapsing_knows_unset_on_and_off() {
        assert_eq!(config("").collapsed_forwarding, None);
        assert_eq!(
            config("collapsed_forwarding on").collapsed_forwarding,
            Some(true)
        );
        assert_eq!(
            config("collapsed_forwarding off").collapsed_forwarding,
            Some(false)
        );
    }

    #[test]
    fn policies_and_words_out_of_a_set() {
        let config = config(
            "memory_replacement_policy heap GDSF\nforwarded_for delete\nrelaxed_header_parser warn\n\
             uri_whitespace encode\numask 022",
        );
        assert_eq!(
            config.memory_replacement_policy,
            Some(Replacement::HeapGdsf)
        );
        assert_eq!(config.forwarded_for, ForwardedFor::Delete);
        assert_eq!(config.relaxed_header_parser, Relaxed::Warn);
        assert_eq!(config.uri_whitespace, UriWhitespace::Encode);
        assert_eq!(config.umask, 0o022);
        for text in ["memory_replacement_policy heap X", "uri_whitespace x"] {
            assert!(parse(text, "test").is_err(), "{text}");
        }
    }

    #[test]
    fn files_may_be_none() {
        let config = config("pid_filename none\ncache_log /var/log/cache.log\ncoredump_dir none");
        assert_eq!(config.pid_filename, FilePlace::None);
        assert_eq!(
            config.cache_log,
            FilePlace::File("/var/log/cache.log".into())
        );
        assert_eq!(
            (config.coredump_dir, config.hosts_file),
            (None, FilePlace::Unset)
        );
    }

    #[test]
    fn values_with_a_form_of_their_own_are_checked() {
        for text in [
            "append_domain example",
            "pipeline_prefetch x",
            "icap_service_failure_limit 5 x",
            "icap_service_failure_limit 5 in 3 aeons",
        ] {
            assert!(parse(text, "test").is_err(), "{text}");
        }
        let text = "append_domain .example\npipeline_prefetch on\npipeline_prefetch 4";
        assert_eq!(config(text).append_domain.as_deref(), Some(".example"));
        assert!(
            config("icap_service_failure_limit 5 in 3 minutes")
                .warnings
                .len()
                == 1
        );
    }

    #[test]
    fn below_zero_is_zero_where_squid_takes_it() {
        let config = config("logfile_rotate -1\nforward_max_tries -1\nipcache_size -1");
        let values = (
            config.logfile_rotate,
            config.forward_max_tries,
            config.ipcache_size,
        );
        assert_eq!(values, (0, 0, 0));
    }

    #[test]
    fn no_value_of_forwarded_for_leaves_it_on() {
        let config = config("forwarded_for maybe");
        assert_eq!(
            (config.forwarded_for, config.warnings.len()),
            (ForwardedFor::On, 1)
        );
    }

    #[test]
    fn name_servers_are_addresses() {
        let config = config("dns_nameservers 127.0.0.1 [::1] ::1 10.0.0.1:5353 [::1]:54 nowhere");
        let servers = [
            "127.0.0.1:53",
            "[::1]:53",
            "[::1]:53",
            "10.0.0.1:5353",
            "[::1]:54",
        ];
        let servers = servers.map(|server| server.parse().unwrap());
        assert_eq!(config.dns_nameservers, servers);
        assert_eq!(config.warnings.len(), 1);
    }

    #[test]
    fn quoted_values_are_switched_from_a_line_on() {
        let config = config(
            "configuration_includes_quoted_values on\nvisible_hostname \"a b\"\n\
             configuration_includes_quoted_values off\nunique_hostname \"c",
        );
        assert_eq!(config.visible_hostname.as_deref(), Some("a b"));
        assert_eq!(config.unique_hostname.as_deref(), Some("\"c"));
    }

    #[test]
    fn words_that_are_left_over_are_named() {
        let config = config("via on off # not me");
        assert_eq!(
            config.warnings[0].message,
            "via: nothing is done with 'off # not me'"
        );
    }
}
