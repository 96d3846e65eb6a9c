//! Directives that mark packets.

use crate::model::marks::{Flows, MarkRule};
use crate::read::Draft;
use crate::text::line::{Line, Outcome};
use crate::text::value::parse_integer;

/// The bits of the byte that are ours: the others tell of congestion (RFC 3168).
const TOS_BITS: u8 = 0xfc;

/// Where replies come from, as `qos_flows` names it.
const FLOWS: [&str; 4] = ["local-hit", "sibling-hit", "parent-hit", "miss"];

/// `TOS [acl…]`
pub(crate) fn tcp_outgoing_tos(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let rule = tos_rule(draft, line)?;
    draft.config.tcp_outgoing_tos.push(rule);
    Ok(())
}

/// `TOS [acl…]`
pub(crate) fn clientside_tos(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let rule = tos_rule(draft, line)?;
    draft.config.clientside_tos.push(rule);
    Ok(())
}

/// `MARK [acl…]`
pub(crate) fn tcp_outgoing_mark(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let rule = mark_rule(draft, line)?;
    draft.config.tcp_outgoing_mark.push(rule);
    Ok(())
}

/// `MARK [acl…]`
pub(crate) fn mark_client_packet(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let rule = mark_rule(draft, line)?;
    draft.config.mark_client_packet.push(rule);
    Ok(())
}

/// `[tos] [mark] [local-hit=N] [sibling-hit=N] [parent-hit=N] [miss=N[/MASK]] [disable-preserve-miss]`:
/// the numbers are for both kinds, or for those that are named.
pub(crate) fn qos_flows(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let words = line.words();
    let (tos, mark) = (
        words.iter().any(|word| word == "tos"),
        words.iter().any(|word| word == "mark"),
    );
    let (for_tos, for_mark) = (tos || !mark, mark || !tos);
    for word in words
        .iter()
        .filter(|word| !matches!(&***word, "tos" | "mark"))
    {
        if word == "disable-preserve-miss" {
            continue;
        }
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        if !FLOWS.contains(&name) {
            line.note_error(format!("'{word}' is no option of qos_flows"), "Remove it.");
            continue;
        }
        let number = value.split('/').next().and_then(parse_integer);
        let Some(number) = number.and_then(|number| u32::try_from(number).ok()) else {
            return Err(line.fatal(format!("'{word}' has no number")));
        };
        if for_tos {
            let Ok(byte) = u8::try_from(number) else {
                return Err(line.fatal(format!("'{value}' is no TOS value")));
            };
            let byte = adjusted(line, byte);
            set_flow(&mut draft.config.qos_flows.tos, name, byte);
        }
        if for_mark {
            set_flow(&mut draft.config.qos_flows.mark, name, number);
        }
    }
    Ok(())
}

fn set_flow<T>(flows: &mut Flows<T>, name: &str, value: T) {
    match name {
        "local-hit" => flows.local_hit = Some(value),
        "sibling-hit" => flows.sibling_hit = Some(value),
        "parent-hit" => flows.parent_hit = Some(value),
        _ => flows.miss = Some(value),
    }
}

fn tos_rule(draft: &mut Draft, line: &mut Line<'_>) -> Outcome<MarkRule<u8>> {
    let word = line.required("TOS value")?;
    let byte = parse_integer(&word).and_then(|number| u8::try_from(number).ok());
    let byte =
        byte.ok_or_else(|| line.fatal(format!("'{word}' is not a TOS value from 0 to 0xFC")))?;
    let value = adjusted(line, byte);
    rule(draft, line, value)
}

fn mark_rule(draft: &mut Draft, line: &mut Line<'_>) -> Outcome<MarkRule<u32>> {
    let word = line.required("mark")?;
    if word.contains('/') {
        let message = format!("'{}' does not support masked marks", line.directive);
        return Err(line.fatal(message));
    }
    let mark = parse_integer(&word).and_then(|number| u32::try_from(number).ok());
    let value = mark.ok_or_else(|| line.fatal(format!("'{word}' is not a mark of 32 bits")))?;
    rule(draft, line, value)
}

fn rule<T>(draft: &mut Draft, line: &mut Line<'_>, value: T) -> Outcome<MarkRule<T>> {
    Ok(MarkRule {
        value,
        acls: draft.acls.refs(line)?,
        place: line.place.clone(),
    })
}

fn adjusted(line: &mut Line<'_>, byte: u8) -> u8 {
    let value = byte & TOS_BITS;
    if value != byte {
        let message = format!("Tos value '{byte}' adjusted to '{value}'");
        line.warn(
            message,
            "The lowest two bits tell of congestion and can't be set.",
        );
    }
    value
}

#[cfg(test)]
mod tests {
    use crate::parse;

    #[test]
    fn marks_have_values_and_acls() {
        let config = parse(
            "tcp_outgoing_tos 0x20 localhost\nclientside_tos 33\ntcp_outgoing_mark 0x1f localhost\nclientside_mark 7 all",
            "test",
        )
        .unwrap();
        let first = &config.tcp_outgoing_tos[0];
        assert_eq!((first.value, &*first.acls[0].name), (0x20, "localhost"));
        assert_eq!(config.clientside_tos[0].value, 32);
        assert_eq!(
            config.warnings[0].message,
            "Tos value '33' adjusted to '32'"
        );
        assert_eq!(
            (
                config.tcp_outgoing_mark[0].value,
                config.mark_client_packet[0].value
            ),
            (31, 7)
        );
    }

    #[test]
    fn what_is_no_mark_is_fatal() {
        for line in [
            "tcp_outgoing_tos 0x100",
            "tcp_outgoing_tos default all",
            "tcp_outgoing_mark 1/2 all",
            "mark_client_packet 0x100000000",
            "clientside_tos 1 nobody",
            "qos_flows local-hit",
            "qos_flows tos local-hit=0x100",
        ] {
            assert!(parse(line, "test").is_err(), "{line}");
        }
    }

    #[test]
    fn flows_are_marked_by_where_they_come_from() {
        let text = "qos_flows tos local-hit=0x30 miss=0x20/0xF0\nqos_flows mark parent-hit=0x131 disable-preserve-miss";
        let config = parse(text, "test").unwrap();
        let tos = config.qos_flows.tos;
        assert_eq!(
            (tos.local_hit, tos.miss, tos.parent_hit),
            (Some(0x30), Some(0x20), None)
        );
        assert_eq!(config.qos_flows.mark.parent_hit, Some(0x131));
        let both = parse("qos_flows sibling-hit=8 some-hit=4", "test").unwrap();
        assert_eq!(
            both.warnings[0].message,
            "'some-hit=4' is no option of qos_flows"
        );
        assert_eq!(
            (
                both.qos_flows.tos.sibling_hit,
                both.qos_flows.mark.sibling_hit
            ),
            (Some(8), Some(8))
        );
    }
}
