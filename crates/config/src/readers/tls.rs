//! TLS towards origins, kept as words for the day it is spoken.

use crate::read::Draft;
use crate::text::line::{Line, Outcome};

/// `sslproxy_KEY VALUE` is `tls_outgoing_options KEY=VALUE`.
pub(crate) fn sslproxy(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let key = match line.directive {
        "sslproxy_client_certificate" => "cert",
        "sslproxy_client_key" => "key",
        other => other.strip_prefix("sslproxy_").unwrap_or(other),
    };
    let value = line.required("value")?;
    let word = format!("{key}={value}");
    draft.config.tls_outgoing_options.push(word);
    draft.not_yet(line, "tls_outgoing_options", "It belongs to TLS.");
    Ok(())
}

/// `KEY=VALUE …`: words of all lines add up.
pub(crate) fn tls_outgoing_options(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    draft.config.tls_outgoing_options.extend(line.words());
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::parse;

    #[test]
    fn old_tls_lines_are_words_of_the_new_one() {
        let config = parse(
            "sslproxy_client_key /k\nsslproxy_client_certificate /c\nsslproxy_flags DONT_VERIFY_PEER\n\
             sslproxy_version 4\ntls_outgoing_options cafile=/a min-version=1.2",
            "test",
        )
        .unwrap();
        assert_eq!(
            config.tls_outgoing_options,
            [
                "key=/k",
                "cert=/c",
                "flags=DONT_VERIFY_PEER",
                "version=4",
                "cafile=/a",
                "min-version=1.2"
            ]
        );
        let not_yet = |said: &&crate::Problem| said.message.starts_with("not yet");
        assert_eq!(config.warnings.iter().filter(not_yet).count(), 1);
    }
}
