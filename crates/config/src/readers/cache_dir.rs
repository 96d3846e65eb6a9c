//! `cache_dir TYPE PATH MEGABYTES [L1 L2] [option…]`.

use crate::model::cache_dir::{CacheDir, DirChoice, DirKind, DirTuning};
use crate::read::Draft;
use crate::text::line::{Line, Outcome};

/// By name.
const KINDS: [(&str, DirKind); 6] = [
    ("ufs", DirKind::Ufs),
    ("aufs", DirKind::Aufs),
    ("diskd", DirKind::Diskd),
    ("rock", DirKind::Rock),
    ("coss", DirKind::Coss),
    ("null", DirKind::Null),
];
const MEGABYTE: u64 = 1 << 20;
/// What a block-size may be, a power of two (Squid 2.7).
const BLOCK_BYTES: std::ops::RangeInclusive<u64> = 512..=8192;

pub(crate) fn cache_dir(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let word = line.required("type")?;
    let Some((_, kind)) = KINDS.into_iter().find(|(name, _)| *name == word) else {
        let problem = line.error(format!(
            "This proxy does not support the '{word}' cache type. Ignoring."
        ));
        let hint = "Types are ufs, aufs, diskd, rock, coss and null.";
        return Err(Box::new(problem.hint(hint)));
    };
    let path = match kind {
        DirKind::Null => line.word().unwrap_or_default(), // since 3.1 it has none
        _ => line.required("path")?,
    };
    let mut dir = CacheDir {
        kind,
        path: path.as_ref().into(),
        bytes: 0,
        object_bytes_min: 0,
        object_bytes_max: None,
        read_only: false,
        tuning: DirTuning::default(),
        replacement: draft.config.cache_replacement_policy,
        place: line.place.clone(),
    };
    if kind != DirKind::Null {
        dir.bytes = u64::from(positive(line, "size in megabytes")?) * MEGABYTE;
    }
    if matches!(kind, DirKind::Ufs | DirKind::Aufs | DirKind::Diskd) {
        positive(line, "number of directories of the first level")?;
        positive(line, "number of directories of the second level")?;
    }
    while let Some(word) = line.word() {
        option(&mut dir, line, &word)?;
    }
    check(draft, &dir, line)?;
    draft.config.cache_dirs.push(dir);
    Ok(())
}

fn positive(line: &mut Line<'_>, what: &str) -> Outcome<u32> {
    if line.peek().is_none() {
        let problem = line.fatal(format!("cache_dir: the {what} is missing"));
        let hint = "Write cache_dir TYPE PATH MEGABYTES, for ufs, aufs and diskd also 16 256.";
        return Err(Box::new(problem.hint(hint)));
    }
    match line.count()? {
        0 => Err(line.fatal(format!("cache_dir: the {what} must be more than 0"))),
        number => Ok(number),
    }
}

fn option(dir: &mut CacheDir, line: &mut Line<'_>, word: &str) -> Outcome {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    let number = || number(line, name, value);
    match (dir.kind, name) {
        (_, "min-size") => dir.object_bytes_min = number()?,
        (_, "max-size") if value == "-1" => dir.object_bytes_max = None,
        (_, "max-size") => dir.object_bytes_max = Some(number()?),
        (_, "no-store" | "read-only") => dir.read_only = true,
        (DirKind::Coss, "overwrite-percent") => {
            dir.tuning.overwrite_percent = Some(small(number()?))
        }
        (DirKind::Coss, "maxfullbufs") => dir.tuning.full_buffers_max = Some(small(number()?)),
        (DirKind::Coss, "block-size") => {
            let bytes = number()?;
            if !bytes.is_power_of_two() || !BLOCK_BYTES.contains(&bytes) {
                let problem = line.fatal(format!("cache_dir: block-size={bytes} cannot be"));
                return Err(Box::new(
                    problem.hint("It is a power of two from 512 to 8192."),
                ));
            }
        }
        // They have no counterpart in the one engine.
        (DirKind::Coss, "membufs" | "max-stripe-waste")
        | (DirKind::Rock, "slot-size" | "swap-timeout" | "max-swap-rate")
        | (DirKind::Diskd, "Q1" | "Q2") => {
            number()?;
        }
        (DirKind::Ufs | DirKind::Aufs | DirKind::Diskd, "IOEngine") => {}
        _ => {
            let problem = line.fatal(format!("cache_dir: unknown option '{word}'"));
            let hint = "All types have min-size=, max-size= and no-store; coss and rock have more.";
            return Err(Box::new(problem.hint(hint)));
        }
    }
    Ok(())
}

fn number(line: &Line<'_>, name: &str, value: &str) -> Outcome<u64> {
    value.parse().map_err(|_| {
        let problem = line.fatal(format!("cache_dir: {name}='{value}' is not a number"));
        Box::new(problem.hint("Write the number alone; sizes are in bytes."))
    })
}

fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Does it make sense, by itself and beside the others?
fn check(draft: &Draft, dir: &CacheDir, line: &mut Line<'_>) -> Outcome {
    if dir.kind == DirKind::Coss && dir.object_bytes_max.is_none() {
        let problem = line.fatal("COSS requires max-size to be set");
        return Err(Box::new(problem.hint("Add max-size=BYTES to the line.")));
    }
    if dir
        .object_bytes_max
        .is_some_and(|max| max < dir.object_bytes_min)
    {
        line.warn(
            "no response fits: max-size is less than min-size",
            "Exchange the two.",
        );
    }
    let again = draft.config.cache_dirs.iter().find(|other| {
        other.path == dir.path && dir.kind != DirKind::Null && other.kind != DirKind::Null
    });
    if let Some(other) = again {
        let problem = line.fatal(format!(
            "cache_dir: {} has one already, in line {}",
            dir.path.display(),
            other.place.line
        ));
        return Err(Box::new(problem.hint("Each needs a path of its own.")));
    }
    Ok(())
}

pub(crate) fn store_dir_select_algorithm(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let word = line.required("algorithm")?;
    // Squid takes whatever isn't round-robin for least-load.
    draft.config.store_dir_select_algorithm = match &*word {
        "round-robin" => DirChoice::RoundRobin,
        _ => DirChoice::LeastLoad,
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Replacement, parse};

    fn config(text: &str) -> Config {
        parse(text, "test").unwrap()
    }

    fn refuses(text: &str, expected: &str) {
        let problems = parse(text, "test").unwrap_err();
        let said = problems
            .0
            .iter()
            .any(|said| said.to_string().contains(expected));
        assert!(said, "{text}: {problems:?}");
    }

    #[test]
    fn each_type_has_its_own_form() {
        let config = config(
            "cache_replacement_policy heap LFUDA\ncache_dir aufs /a 100 16 256 min-size=1\n\
             cache_dir coss /b 10 max-size=9 block-size=512 overwrite-percent=100 maxfullbufs=7 membufs=3\n\
             cache_dir rock /c 5 swap-timeout=300 max-swap-rate=200 slot-size=4096 max-size=-1\n\
             cache_dir diskd /d 1 2 3 Q1=72 Q2=64 no-store\ncache_dir null /tmp\ncache_dir null",
        );
        let [aufs, coss, rock, diskd, _, _] = &config.cache_dirs[..] else {
            panic!("{:?}", config.cache_dirs)
        };
        assert_eq!((aufs.bytes, aufs.object_bytes_min), (100 << 20, 1));
        assert_eq!(aufs.replacement, Some(Replacement::HeapLfuda));
        assert_eq!(coss.object_bytes_max, Some(9));
        assert_eq!(coss.tuning.overwrite_percent, Some(100));
        assert_eq!(coss.tuning.full_buffers_max, Some(7));
        assert!(rock.object_bytes_max.is_none() && !rock.read_only && diskd.read_only);
        assert!(config.warnings.is_empty(), "{:?}", config.warnings);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        refuses("cache_dir aufs /a", "size in megabytes");
        refuses("cache_dir aufs /a 100", "first level");
        refuses("cache_dir aufs /a 0 16 256", "more than 0");
        refuses("cache_dir ufs /a 100 16 256 max-size=x", "not a number");
        refuses(
            "cache_dir ufs /a 100 16 256 block-size=512",
            "unknown option",
        );
        refuses("cache_dir coss /a 100", "max-size");
        refuses(
            "cache_dir coss /a 100 max-size=1 block-size=1000",
            "cannot be",
        );
        refuses(
            "cache_dir rock /a 1\ncache_dir aufs /a 1 1 1",
            "one already, in line 1",
        );
    }

    #[test]
    fn a_type_that_nobody_has_is_left_out() {
        let config = config("cache_dir zfs /a 1 1 1");
        assert!(config.cache_dirs.is_empty() && config.warnings.len() == 1);
    }

    #[test]
    fn the_choice_among_directories_has_two_names() {
        let of = |text: &str| config(text).store_dir_select_algorithm;
        assert_eq!(of(""), DirChoice::LeastLoad);
        assert_eq!(
            of("store_dir_select_algorithm round-robin"),
            DirChoice::RoundRobin
        );
    }
}
