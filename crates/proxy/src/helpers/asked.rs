//! The questions that a child has, and which of them a line answers.

use std::time::Duration;

use slab::Slab;
use tokio::time::Instant;
use wire::helper::split_channel;

use super::question::{Failed, Question};
use stats::{Cells, Counter};

/// By channel; a child without channels has one question at most, in channel 0.
#[derive(Debug)]
pub(super) struct AskedTable {
    slots: Slab<Asked>,
    has_channels: bool,
    /// When the child last said something that was asked.
    answered: Option<Instant>,
}

#[derive(Debug)]
enum Asked {
    /// Somebody waits.
    Open { question: Question, sent: Instant },
    /// The asker was told that it took too long. The channel stays taken until the answer comes: it
    /// must not be taken for another's.
    Late { sent: Instant },
}

impl Asked {
    const fn sent(&self) -> Instant {
        match self {
            Self::Open { sent, .. } | Self::Late { sent } => *sent,
        }
    }
}

/// What a line turned out to be.
#[derive(Debug)]
pub(super) enum Matched<'a> {
    /// The answer to this question, which was sent so long ago.
    Answer(Question, &'a [u8], Duration),
    /// An answer that comes too late.
    Late,
    /// Nobody asked for it.
    Unasked,
}

impl AskedTable {
    pub(super) const fn new(has_channels: bool) -> Self {
        Self {
            slots: Slab::new(),
            has_channels,
            answered: None,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The channel of the next question, if the child has channels.
    pub(super) fn next_channel(&self) -> Option<usize> {
        self.has_channels.then(|| self.slots.vacant_key())
    }

    /// Takes a question that was sent on the next channel.
    pub(super) fn insert(&mut self, question: Question, sent: Instant) {
        self.slots.insert(Asked::Open { question, sent });
    }

    /// The question that a line answers.
    pub(super) fn take<'a>(&mut self, line: &'a [u8], now: Instant) -> Matched<'a> {
        let (channel, rest) = if self.has_channels {
            let Some(split) = split_channel(line) else {
                return Matched::Unasked;
            };
            split
        } else {
            (0, line)
        };
        let Some(asked) = self.slots.try_remove(channel) else {
            return Matched::Unasked;
        };
        self.answered = Some(now);
        match asked {
            Asked::Open { question, sent } => {
                Matched::Answer(question, rest, now.duration_since(sent))
            }
            Asked::Late { .. } => Matched::Late,
        }
    }

    /// Tells those who have waited for `wait` that it took too long; how many they were.
    pub(super) fn expire(&mut self, wait: Duration, now: Instant, cells: &Cells) -> usize {
        let mut expired = 0;
        for (_, asked) in &mut self.slots {
            let Asked::Open { question, sent } = asked else {
                continue;
            };
            if now.duration_since(question.asked) < wait {
                continue;
            }
            let late = Asked::Late { sent: *sent };
            if let Asked::Open { question, .. } = std::mem::replace(asked, late) {
                question.settle(Err(Failed::TimedOut), cells);
                cells.count(Counter::HelperTimeouts);
                expired += 1;
            }
        }
        expired
    }

    /// Has the child left off? Either it said nothing since it got a question that it has had for
    /// `wait`, or none of its `slots` is left to ask by.
    pub(super) fn is_hung(&self, wait: Duration, slots: usize, now: Instant) -> bool {
        let overdue = |asked: &Asked| now.duration_since(asked.sent()) >= wait;
        let silent = |asked: &Asked| self.answered.is_none_or(|last| last < asked.sent());
        let mut all = self.slots.iter().map(|(_, asked)| asked);
        let is_silent = all.clone().any(|asked| overdue(asked) && silent(asked));
        let is_late = |asked: &Asked| matches!(asked, Asked::Late { .. }) && overdue(asked);
        is_silent || (self.slots.len() >= slots && all.all(is_late))
    }

    /// The questions that will not be answered.
    pub(super) fn take_open(&mut self) -> Vec<Question> {
        let open = |asked| match asked {
            Asked::Open { question, .. } => Some(question),
            Asked::Late { .. } => None,
        };
        self.slots.drain().filter_map(open).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_secs(10);

    fn ask(table: &mut AskedTable, sent: Instant) -> (Option<usize>, impl Sized + use<>) {
        let (question, outcome) = Question::new(b"q");
        let channel = table.next_channel();
        table.insert(question, sent);
        (channel, outcome)
    }

    #[test]
    fn a_line_answers_the_question_of_its_channel_once() {
        let now = Instant::now();
        let mut table = AskedTable::new(true);
        let (first, _one) = ask(&mut table, now);
        let (second, _two) = ask(&mut table, now);
        assert_eq!((first, second), (Some(0), Some(1)));
        assert!(matches!(
            table.take(b"1 OK", now),
            Matched::Answer(_, b"OK", _)
        ));
        for lie in [&b"1 OK"[..], b"7 OK", b"OK", b""] {
            assert!(matches!(table.take(lie, now), Matched::Unasked));
        }
        assert!(!table.is_empty());
    }

    #[test]
    fn a_late_answer_is_nobody_elses() {
        let start = Instant::now();
        let (cells, mut table) = (Cells::new(), AskedTable::new(true));
        let (_, _one) = ask(&mut table, start);
        let later = start + WAIT + Duration::from_secs(1);
        assert_eq!(table.expire(WAIT, later, &cells), 1);
        let (next, _two) = ask(&mut table, later);
        assert_eq!(next, Some(1), "channel 0 is still taken");
        assert!(matches!(table.take(b"0 OK", later), Matched::Late));
    }

    #[test]
    fn who_is_silent_is_hung_and_who_answers_others_is_not() {
        let start = Instant::now();
        let later = start + WAIT;
        let mut table = AskedTable::new(true);
        let (_, _one) = ask(&mut table, start);
        let (_, _two) = ask(&mut table, start + WAIT / 2);
        assert!(table.is_hung(WAIT, 9, later));
        assert!(!table.is_hung(WAIT, 9, start + WAIT / 2));
        drop(table.take(b"1 OK", later));
        assert!(!table.is_hung(WAIT, 9, later));
    }

    #[test]
    fn who_has_no_channel_left_is_hung_too() {
        let start = Instant::now();
        let (cells, mut table) = (Cells::new(), AskedTable::new(true));
        let kept: Vec<_> = (0..3).map(|_| ask(&mut table, start)).collect();
        drop(table.take(b"1 OK", start));
        let later = start + WAIT + Duration::from_secs(1);
        table.expire(WAIT, later, &cells);
        assert!(!table.is_hung(WAIT, 3, later), "one channel is free");
        assert!(table.is_hung(WAIT, 2, later));
        assert_eq!(kept.len(), 3);
    }

    #[test]
    fn without_channels_there_is_one_question_at_a_time() {
        let now = Instant::now();
        let mut table = AskedTable::new(false);
        assert!(matches!(table.take(b"OK", now), Matched::Unasked));
        let (channel, _one) = ask(&mut table, now);
        assert_eq!(channel, None);
        assert!(matches!(
            table.take(b"0 OK", now),
            Matched::Answer(_, b"0 OK", _)
        ));
    }
}
