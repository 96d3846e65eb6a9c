//! Directives with a value and the ACLs for which it holds.

use crate::model::access::{OutgoingAddress, SizeRule, UpgradeRule};
use crate::read::Draft;
use crate::text::line::{Line, Outcome};
use crate::text::value::parse_bytes;

/// `SIZE [acl…]`
pub(crate) fn range_offset_limit(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let bytes = line.size_or_none()?;
    let acls = draft.acls.refs(line)?;
    draft.config.range_offset_limit.push(SizeRule {
        bytes,
        acls,
        place: line.place.clone(),
    });
    Ok(())
}

/// `SIZE [acl…]`, or `SIZE allow|deny acl…` as Squid 2.5 has it; 0 is no limit.
pub(crate) fn reply_body_max_size(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let is_action = |word: &str| matches!(word, "allow" | "deny");
    let bare = line
        .value()
        .split_whitespace()
        .nth(1)
        .is_some_and(is_action);
    let bytes = if bare {
        let word = line.required("size")?;
        parse_bytes(&word).ok_or_else(|| line.fatal(format!("'{word}' is not a size")))?
    } else {
        line.size_or_none()?.unwrap_or(0)
    };
    let old = line.peek().is_some_and(|word| is_action(&word));
    let acls = if old {
        let rule = draft.acls.rule(line)?;
        let denied = |draft: &mut Draft| {
            let mut all = draft.private("reply_body_max_size", "all-of", &rule.acls, line.place);
            all.negated = true;
            vec![all]
        };
        if rule.allow { rule.acls } else { denied(draft) }
    } else {
        draft.acls.refs(line)?
    };
    draft.config.reply_body_max_size.push(SizeRule {
        bytes: Some(bytes).filter(|&bytes| bytes > 0),
        acls,
        place: line.place.clone(),
    });
    Ok(())
}

/// `ADDRESS [acl…]`
pub(crate) fn tcp_outgoing_address(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let word = line.required("address")?;
    let Ok(addr) = word.trim_matches(['[', ']']).parse() else {
        return Err(line.fatal(format!("'{word}' is not an IP address")));
    };
    let acls = draft.acls.refs(line)?;
    let place = line.place.clone();
    draft
        .config
        .tcp_outgoing_address
        .push(OutgoingAddress { addr, acls, place });
    Ok(())
}

/// `PROTOCOL allow|deny acl…`
pub(crate) fn http_upgrade_request_protocols(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let protocol = line.required("protocol")?.into_owned();
    let rule = draft.acls.rule(line)?;
    draft
        .config
        .http_upgrade_request_protocols
        .push(UpgradeRule { protocol, rule });
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::parse;

    #[test]
    fn a_range_limit_has_a_size_and_acls() {
        let config = parse(
            "range_offset_limit none localhost\nrange_offset_limit 1 MB",
            "test",
        )
        .unwrap();
        assert_eq!(config.range_offset_limit[0].bytes, None);
        assert_eq!(config.range_offset_limit[0].acls[0].name, "localhost");
        assert_eq!(config.range_offset_limit[1].bytes, Some(1 << 20));
        let config = parse("range_offset_limit 0 localhost", "test").unwrap();
        assert_eq!(config.range_offset_limit[0].acls.len(), 1);
    }

    #[test]
    fn a_body_limit_may_have_the_form_of_squid_2_5() {
        let config = parse(
            "reply_body_max_size 10 MB localhost\nreply_body_max_size 0 allow localhost\n\
             reply_body_max_size 5000 deny localhost manager\nreply_body_max_size none",
            "test",
        )
        .unwrap();
        let limits = &config.reply_body_max_size;
        let sizes: Vec<_> = limits.iter().map(|limit| limit.bytes).collect();
        assert_eq!(sizes, [Some(10 << 20), None, Some(5000), None]);
        assert_eq!(limits[0].acls, limits[1].acls);
        let but = &limits[2].acls[0];
        let acl = config.acls.iter().find(|acl| acl.name == but.name).unwrap();
        assert!(but.negated);
        assert_eq!(
            (&*acl.kind, &*acl.values.to_string()),
            ("all-of", "localhost manager")
        );
        assert!(limits[3].acls.is_empty());
        assert!(parse("reply_body_max_size 5 MB allow nobody", "test").is_err());
    }

    #[test]
    fn an_outgoing_address_is_an_address() {
        let config = parse("tcp_outgoing_address 10.0.0.1 localhost", "test").unwrap();
        assert_eq!(
            config.tcp_outgoing_address[0].addr,
            "10.0.0.1".parse::<std::net::IpAddr>().unwrap()
        );
        assert!(parse("tcp_outgoing_address nowhere", "test").is_err());
    }

    #[test]
    fn protocols_to_upgrade_to_have_rules() {
        let text = "http_upgrade_request_protocols websocket allow all";
        let config = parse(text, "test").unwrap();
        assert_eq!(
            config.http_upgrade_request_protocols[0].protocol,
            "websocket"
        );
    }
}
