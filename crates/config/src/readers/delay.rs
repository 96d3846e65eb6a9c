//! Delay pools. As in Squid, a pool is counted before it has a class, and has one before it has parameters: lines
//! of others are left out.

use crate::model::delay::{DelayClass, DelayPool, Limit, Rate, ResponsePool, Scope};
use crate::read::Draft;
use crate::text::line::{Line, Outcome};

/// `COUNT`. A second line begins anew.
pub(crate) fn delay_pools(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let count = short(line)?;
    if !draft.config.delay_pools.is_empty() {
        begins_anew(line);
    }
    draft.config.delay_access.clear();
    draft.config.delay_pools.clear();
    draft.config.delay_pools.resize(usize::from(count), None);
    Ok(())
}

/// `COUNT`. A second line begins anew.
pub(crate) fn client_delay_pools(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let count = short(line)?;
    if !draft.config.client_delay_pools.is_empty() {
        begins_anew(line);
    }
    draft.config.client_delay_access.clear();
    draft.config.client_delay_pools.clear();
    let count = usize::from(count);
    draft.config.client_delay_pools.resize(count, None);
    Ok(())
}

fn begins_anew(line: &mut Line<'_>) {
    let message = format!(
        "a second {} line: the pools before it are gone",
        line.directive
    );
    line.note_error(message, "Write one line with the number of all pools.");
}

/// `POOL CLASS`
pub(crate) fn delay_class(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let (_, pool) = numbered(line, &mut draft.config.delay_pools)?;
    let class = match line.integer()? {
        1 => DelayClass::Aggregate,
        2 => DelayClass::Individual,
        3 => DelayClass::Network,
        4 => DelayClass::User,
        5 => DelayClass::Tag,
        other => return Err(line.error(format!("class {other} is not from 1 to 5"))),
    };
    let limits = Vec::new();
    *pool = Some(DelayPool { class, limits });
    Ok(())
}

/// `POOL RATE…`, as many as the class has buckets: `RESTORE/MAX`, `none` or `-1/-1`.
pub(crate) fn delay_parameters(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let (number, pool) = numbered(line, &mut draft.config.delay_pools)?;
    let Some(pool) = pool else {
        let problem = line.error(format!("delay pool {number} has no class yet"));
        return Err(Box::new(problem.hint("Write its delay_class above.")));
    };
    let mut limits = Vec::new();
    for &scope in pool.class.scopes() {
        let rate = rate(line)?;
        limits.extend(rate.map(|rate| Limit { scope, rate }));
    }
    pool.limits = limits;
    Ok(())
}

fn rate(line: &mut Line<'_>) -> Outcome<Option<Rate>> {
    let word = line.required("rate: restore/max or none")?;
    if word == "none" || word.starts_with('-') {
        return Ok(None);
    }
    let parts = word.split_once('/');
    let whole = parts.and_then(|(restore, max)| Some((restore.parse().ok()?, max)));
    let Some((restore, max)) = whole else {
        let message = format!("invalid delay rate '{word}'. Expecting restore/max or 'none'.");
        return Err(line.fatal(message));
    };
    // As Squid: what follows the digits is not looked at, and less than nothing is nothing.
    let digits = max.strip_prefix('-').unwrap_or(max);
    let end = digits.find(|c: char| !c.is_ascii_digit());
    let digits = digits
        .get(..end.unwrap_or(digits.len()))
        .unwrap_or_default();
    let Ok(size) = digits.parse::<u64>() else {
        return Err(line.fatal(format!("restore rate in '{word}' is not a number.")));
    };
    let max = if max.starts_with('-') { 0 } else { size };
    Ok(Some(Rate { restore, max }))
}

/// `POOL RESTORE MAX`; negative numbers are no limit.
pub(crate) fn client_delay_parameters(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let (_, pool) = numbered(line, &mut draft.config.client_delay_pools)?;
    let restore = u64::try_from(line.integer()?);
    let max = u64::try_from(line.integer()?);
    *pool = restore.ok().zip(max.ok()).map(|(restore, max)| Limit {
        scope: Scope::Client,
        rate: Rate { restore, max },
    });
    Ok(())
}

/// `POOL allow|deny acl…`
pub(crate) fn delay_access(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let (number, _) = numbered(line, &mut draft.config.delay_pools)?;
    let rule = draft.acls.rule(line)?;
    let lists = &mut draft.config.delay_access;
    lists.entry(number).or_default().push(rule);
    Ok(())
}

/// `POOL allow|deny acl…`
pub(crate) fn client_delay_access(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let (number, _) = numbered(line, &mut draft.config.client_delay_pools)?;
    let rule = draft.acls.rule(line)?;
    let lists = &mut draft.config.client_delay_access;
    lists.entry(number).or_default().push(rule);
    Ok(())
}

/// `PERCENT`
pub(crate) fn delay_initial_bucket_level(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    draft.config.delay_initial_bucket_level = u32::from(short(line)?);
    Ok(())
}

/// `PERCENT`
pub(crate) fn client_delay_initial_bucket_level(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    draft.config.client_delay_initial_bucket_level = u32::from(short(line)?);
    Ok(())
}

/// `NAME [individual-restore=N individual-maximum=N] [aggregate-restore=N aggregate-maximum=N]
/// [initial-bucket-level=PERCENT]`; negative numbers are no limit.
pub(crate) fn response_delay_pool(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let name = line.required("pool name")?.into_owned();
    let (mut individual, mut aggregate) = ([None; 2], [None; 2]);
    let mut initial_bucket_level = 50;
    while let Some(word) = line.word() {
        let (option, value) = word.split_once('=').unwrap_or((&word, ""));
        let number: Option<i64> = value.parse().ok();
        let number = number.ok_or_else(|| line.fatal(format!("'{word}' has no number")))?;
        let [restore, max] = match option {
            "initial-bucket-level" => {
                initial_bucket_level = u32::try_from(number)
                    .map_err(|_| line.fatal(format!("'{word}' is not a percentage")))?;
                continue;
            }
            "individual-restore" | "individual-maximum" => &mut individual,
            "aggregate-restore" | "aggregate-maximum" => &mut aggregate,
            _ => return Err(line.fatal(format!("response_delay_pool unknown option '{option}'"))),
        };
        let half = if option.ends_with("-restore") {
            restore
        } else {
            max
        };
        *half = Some(number);
    }
    let mut limits = Vec::new();
    let pairs = [
        (Scope::Aggregate, aggregate, "aggregate"),
        (Scope::Response, individual, "individual"),
    ];
    for (scope, pair, kind) in pairs {
        let [Some(restore), Some(max)] = pair else {
            if pair == [None; 2] {
                continue;
            }
            return Err(line.fatal(format!(
                "must use '{kind}-restore' and '{kind}-maximum' options in conjunction"
            )));
        };
        if let (Ok(restore), Ok(max)) = (u64::try_from(restore), u64::try_from(max)) {
            let rate = Rate { restore, max };
            limits.push(Limit { scope, rate });
        }
    }
    let pools = &mut draft.config.response_delay_pool;
    if pools.iter().any(|pool| pool.name == name) {
        let problem = line.error(format!("Ignoring duplicate {name} response delay pool"));
        return Err(Box::new(problem.hint("Give it another name.")));
    }
    pools.push(ResponsePool {
        name,
        limits,
        initial_bucket_level,
    });
    Ok(())
}

/// `NAME allow|deny acl…`
pub(crate) fn response_delay_pool_access(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let name = line.required("pool name")?.into_owned();
    let rule = draft.acls.rule(line)?;
    let lists = &mut draft.config.response_delay_pool_access;
    match lists.iter_mut().find(|(known, _)| *known == name) {
        Some((_, rules)) => rules.push(rule),
        None => lists.push((name, vec![rule])),
    }
    Ok(())
}

/// The pool with the number that comes next, which must have been counted.
fn numbered<'p, T>(line: &mut Line<'_>, pools: &'p mut [T]) -> Outcome<(u16, &'p mut T)> {
    let number = short(line)?;
    let count = pools.len();
    let index = usize::from(number).checked_sub(1);
    match index.and_then(|index| pools.get_mut(index)) {
        Some(pool) => Ok((number, pool)),
        None => {
            let problem = line.error(format!("Ignoring pool {number} not in 1 .. {count}"));
            Err(Box::new(problem.hint("Write the number of pools above.")))
        }
    }
}

fn short(line: &mut Line<'_>) -> Outcome<u16> {
    let number = line.integer()?;
    u16::try_from(number).map_err(|_| line.fatal(format!("{number} is not from 0 to 65535")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Config;
    use crate::parse;

    fn config(text: &str) -> Config {
        parse(text, "test").unwrap_or_else(|problems| panic!("{text}: {problems}"))
    }

    /// The limits of pool 1, as they are written.
    fn limits(text: &str) -> Vec<(Scope, u64, u64)> {
        let config = config(text);
        let pool = config.delay_pools.first().unwrap().as_ref().unwrap();
        let limits = pool.limits.iter();
        let limits = limits.map(|limit| (limit.scope, limit.rate.restore, limit.rate.max));
        limits.collect()
    }

    #[test]
    fn each_class_has_its_buckets() {
        for (class, rates, expected) in [
            (1, "7/9", vec![(Scope::Aggregate, 7, 9)]),
            (2, "none 1/2", vec![(Scope::Individual(8), 1, 2)]),
            (
                3,
                "-1/-1 3/4 1/2",
                vec![(Scope::Network, 3, 4), (Scope::Individual(16), 1, 2)],
            ),
            (4, "none none none 5/6", vec![(Scope::User, 5, 6)]),
            (5, "0/5kb", vec![(Scope::Tag, 0, 5)]),
            (1, "8/-5", vec![(Scope::Aggregate, 8, 0)]),
        ] {
            let text = format!("delay_pools 1\ndelay_class 1 {class}\ndelay_parameters 1 {rates}");
            assert_eq!(limits(&text), expected, "{text}");
        }
        // A class that is said again takes its parameters along.
        let again = "delay_pools 1\ndelay_class 1 1\ndelay_parameters 1 1/1\ndelay_class 1 1";
        assert!(limits(again).is_empty());
    }

    #[test]
    fn lines_of_pools_that_are_not_counted_are_left_out() {
        for (text, message) in [
            ("delay_class 1 2", "Ignoring pool 1 not in 1 .. 0"),
            (
                "delay_pools 1\ndelay_class 0 2",
                "Ignoring pool 0 not in 1 .. 1",
            ),
            (
                "delay_pools 1\ndelay_class 1 6",
                "class 6 is not from 1 to 5",
            ),
            ("delay_pools 1\ndelay_parameters 1 1/1", "has no class yet"),
            (
                "delay_pools 1\ndelay_access 2 allow nobody",
                "Ignoring pool 2",
            ),
            (
                "client_delay_parameters 1 5 5",
                "Ignoring pool 1 not in 1 .. 0",
            ),
            (
                "client_delay_pools 1\nclient_delay_access 2 allow all",
                "Ignoring pool 2",
            ),
            (
                "response_delay_pool a initial-bucket-level=1\nresponse_delay_pool a",
                "Ignoring duplicate a",
            ),
        ] {
            let told = config(text).warnings;
            assert!(told[0].message.contains(message), "{text}: {told:?}");
        }
        let anew = config("delay_pools 1\ndelay_access 1 allow all\ndelay_pools 2");
        assert!(anew.warnings[0].message.contains("a second delay_pools"));
        assert!(anew.delay_access.is_empty() && anew.delay_pools.len() == 2);
    }

    #[test]
    fn what_is_no_rate_is_fatal() {
        let pool = "delay_pools 1\ndelay_class 1 2\ndelay_parameters 1";
        for rates in ["", "8000/8000", "8000 none", "8000/x none", "8 KB/5 none"] {
            let text = format!("{pool} {rates}");
            assert!(parse(&text, "test").is_err(), "{text}");
        }
        for text in [
            "delay_pools -1",
            "client_delay_pools 1\nclient_delay_parameters 1 1000",
            "client_delay_pools 1\nclient_delay_parameters 1 1000/2000",
            "response_delay_pool",
            "response_delay_pool a individual-restore=1",
            "response_delay_pool a aggregate-restore=x aggregate-maximum=1",
            "response_delay_pool a colour=5",
            "response_delay_pool a initial-bucket-level=-2",
        ] {
            assert!(parse(text, "test").is_err(), "{text}");
        }
    }

    #[test]
    fn clients_and_responses_have_pools() {
        let config = config(
            "client_delay_pools 2\nclient_delay_parameters 1 1000 2000\nclient_delay_parameters 2 -1 -1\n\
             response_delay_pool slow individual-restore=10 individual-maximum=20 aggregate-restore=30 \
             aggregate-maximum=40 initial-bucket-level=5\ndelay_initial_bucket_level 7\n\
             response_delay_pool free individual-restore=-1 individual-maximum=-1",
        );
        let limit = |scope, restore, max| Limit {
            scope,
            rate: Rate { restore, max },
        };
        assert_eq!(
            config.client_delay_pools,
            [Some(limit(Scope::Client, 1000, 2000)), None]
        );
        let [slow, free] = &config.response_delay_pool[..] else {
            panic!("not two pools");
        };
        let both = [
            limit(Scope::Aggregate, 30, 40),
            limit(Scope::Response, 10, 20),
        ];
        assert_eq!((&*slow.limits, slow.initial_bucket_level), (&both[..], 5));
        assert!(free.limits.is_empty());
        assert_eq!(config.delay_initial_bucket_level, 7);
        assert_eq!(config.client_delay_initial_bucket_level, 50);
    }
}
