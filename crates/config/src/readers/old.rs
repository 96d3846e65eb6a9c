//! Single directives of older Squids that have a successor with another grammar.

use crate::read::Draft;
use crate::text::line::{Line, Outcome};

/// Most retries of a TCP connect.
const RETRIES_MAX: u32 = 10;

/// Tries of one address: retries are one less.
pub(crate) fn maximum_single_addr_tries(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    draft.config.connect_retries = line.count()?.saturating_sub(1).min(RETRIES_MAX);
    Ok(())
}

/// The opposite of `cache_miss_revalidate`.
pub(crate) fn ignore_ims_on_miss(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    draft.config.cache_miss_revalidate = !line.on_off()?;
    Ok(())
}

/// Path MTU discovery stays the system's on the ports of today.
pub(crate) fn httpd_accel_no_pmtu_disc(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    if line.on_off()? {
        let what = "http_port disable-pmtu-discovery=always";
        draft.not_yet(line, what, "The system decides.");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::{Config, parse};

    fn config(text: &str) -> Config {
        parse(text, "test").unwrap()
    }

    #[test]
    fn tries_are_retries_and_one() {
        assert_eq!(config("maximum_single_addr_tries 1").connect_retries, 0);
        assert_eq!(config("maximum_single_addr_tries 3").connect_retries, 2);
        assert_eq!(config("maximum_single_addr_tries 255").connect_retries, 10);
    }

    #[test]
    fn to_ignore_conditions_is_not_to_revalidate() {
        assert!(!config("ignore_ims_on_miss on").cache_miss_revalidate);
        assert!(config("ignore_ims_on_miss off").cache_miss_revalidate);
        assert_eq!(config("ignore_ims_on_miss off").warnings.len(), 1);
    }

    #[test]
    fn path_mtu_discovery_is_left_to_the_system() {
        assert_eq!(config("httpd_accel_no_pmtu_disc on").warnings.len(), 2);
        assert_eq!(config("httpd_accel_no_pmtu_disc off").warnings.len(), 1);
    }
}
