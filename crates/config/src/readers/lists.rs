//! Directives with a value and the ACLs for which it holds.

use crate::model::access::{DenyInfo, OutgoingAddress, SizeRule, UpgradeRule};
use crate::read::Draft;
use crate::text::line::{Line, Outcome};

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

/// `PAGE acl…`
pub(crate) fn deny_info(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let page = line.required("page")?.into_owned();
    let acls = line.words();
    if acls.is_empty() {
        line.note_error(
            "deny_info line contains no ACL's, skipping",
            "Name the ACLs it is for.",
        );
        return Ok(());
    }
    draft.config.deny_info.push(DenyInfo {
        page,
        acls,
        place: line.place.clone(),
    });
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
    fn an_outgoing_address_is_an_address() {
        let config = parse("tcp_outgoing_address 10.0.0.1 localhost", "test").unwrap();
        assert_eq!(
            config.tcp_outgoing_address[0].addr,
            "10.0.0.1".parse::<std::net::IpAddr>().unwrap()
        );
        assert!(parse("tcp_outgoing_address nowhere", "test").is_err());
    }

    #[test]
    fn denial_pages_name_acls() {
        let config = parse(
            "deny_info 302:http://a/?url=%u one two\ndeny_info TCP_RESET",
            "test",
        )
        .unwrap();
        assert_eq!(config.deny_info[0].acls, ["one", "two"]);
        let said = config.warnings.iter().map(|said| &*said.message);
        let expected = [
            "not yet: deny_info",
            "deny_info line contains no ACL's, skipping",
        ];
        assert!(said.eq(expected), "{:?}", config.warnings);
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
