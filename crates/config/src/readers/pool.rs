//! The size of a pool of helpers, in one line or, as older Squids have it, in two.

use std::time::Duration;

use crate::model::helper::{Overload, Pool};
use crate::read::Draft;
use crate::text::line::{Line, Outcome};

pub(crate) fn url_rewrite_children(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    draft.config.url_rewrite_children.read(line)
}

pub(crate) fn store_id_children(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    draft.config.store_id_children.read(line)
}

pub(crate) fn location_rewrite_children(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    draft.config.location_rewrite_children.read(line)
}

/// `concurrency=` in a line of its own.
pub(crate) fn url_rewrite_concurrency(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    draft.config.url_rewrite_children.concurrency = line.natural()?;
    Ok(())
}

/// `concurrency=` in a line of its own.
pub(crate) fn store_id_concurrency(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    draft.config.store_id_children.concurrency = line.natural()?;
    Ok(())
}

/// `concurrency=` in a line of its own.
pub(crate) fn location_rewrite_concurrency(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    draft.config.location_rewrite_children.concurrency = line.natural()?;
    Ok(())
}

impl Pool {
    /// `N [option…]`; what a line doesn't name stays.
    pub(crate) fn read(&mut self, line: &mut Line<'_>) -> Outcome {
        self.children = line.count()?;
        if self.children == 0 {
            return Err(line.fatal("a pool has at least one helper"));
        }
        while let Some(word) = line.word() {
            if self.option(&word).is_none() {
                let problem = line.fatal(format!("'{word}' is no option of a pool"));
                let hint = "Options are startup=, idle=, concurrency=, queue-size=, \
                            on-persistent-overload= and reservation-timeout=.";
                return Err(Box::new(problem.hint(hint)));
            }
        }
        Ok(())
    }

    /// Sets one option; `None` when there is no such option or value.
    fn option(&mut self, word: &str) -> Option<()> {
        let (key, value) = word.split_once('=')?;
        let number = || value.parse::<u32>().ok();
        match key {
            "startup" => self.startup = number()?,
            "idle" => self.idle = number()?.max(1),
            "concurrency" => self.concurrency = number()?,
            "queue-size" => self.queue_size = Some(number()?),
            "on-persistent-overload" if value == "die" => self.overload = Overload::Die,
            "on-persistent-overload" if value == "ERR" => self.overload = Overload::Err,
            "reservation-timeout" => self.reservation = Duration::from_secs(value.parse().ok()?),
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn pool(text: &str) -> Pool {
        parse(text, "test").unwrap().url_rewrite_children
    }

    #[test]
    fn a_pool_has_a_size_and_options() {
        let whole = pool(
            "url_rewrite_children 5 startup=1 idle=2 concurrency=3 queue-size=4 on-persistent-overload=ERR \
             reservation-timeout=7",
        );
        let expected = Pool {
            children: 5,
            startup: 1,
            idle: 2,
            concurrency: 3,
            queue_size: Some(4),
            overload: Overload::Err,
            reservation: Duration::from_secs(7),
        };
        assert_eq!(whole, expected);
        assert_eq!(pool("redirect_children 5").children, 5);
        assert_eq!(pool(""), Pool::default());
    }

    #[test]
    fn concurrency_may_have_a_line_of_its_own() {
        for name in ["url_rewrite_concurrency", "redirect_concurrency"] {
            let both = pool(&format!("{name} 7\nurl_rewrite_children 5"));
            assert_eq!((both.children, both.concurrency), (5, 7));
        }
        let text = "storeurl_rewrite_children 5\nstoreurl_rewrite_concurrency 7";
        let both = parse(text, "test").unwrap().store_id_children;
        assert_eq!((both.children, both.concurrency), (5, 7));
    }
}
