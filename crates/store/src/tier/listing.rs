//! What a record of a volume is to whoever looks for responses: keys of variants lie behind forks, and some records are not
//! responses at all.

use super::record::{END, Record};
use crate::disk::{Listed, ListedContent, Survey};

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing<'l> {
    /// A response.
    Response {
        /// The key that requests ask for.
        url: &'l [u8],
        /// The values that it was selected by; empty: it has no variants.
        variant: &'l [u8],
        /// What its owner has written.
        meta: &'l [u8],
    },
    /// What there is of a response of which only parts are stored.
    Parts {
        /// The key that requests ask for.
        url: &'l [u8],
        /// The values that it was selected by; empty: it has no variants.
        variant: &'l [u8],
        /// What its owner has written.
        meta: &'l [u8],
        /// Bytes of the parts.
        bytes: u64,
    },
    /// A piece of such a part, or what is left of one.
    Piece {
        /// The key that requests ask for.
        url: &'l [u8],
    },
    /// The way to the variants of a key forks here.
    Fork {
        /// The key that requests ask for.
        url: &'l [u8],
    },
    /// A variant that nothing leads to any more.
    Lost {
        /// The key that requests asked for.
        url: &'l [u8],
    },
    /// It keeps away what was removed by a tag.
    Grave,
    /// Nothing that we wrote.
    Strange,
}

impl<'l> Listing<'l> {
    /// Of what was found; `None` unless that is sound.
    #[must_use]
    pub fn of(listed: &'l Listed, survey: &Survey) -> Option<Self> {
        let ListedContent::Sound { key, meta, .. } = &listed.content else {
            return None;
        };
        let end = key.iter().position(|byte| *byte == END);
        let (url, behind) = key.split_at(end.unwrap_or(key.len()));
        if end == Some(0) {
            return Some(Self::Grave);
        }
        let Some(record) = Record::read(meta) else {
            return Some(Self::Strange);
        };
        // The values of a variant, if a fork leads to it.
        let variant = match behind.split_first() {
            None => Some(&[][..]),
            Some((_, behind)) => behind
                .split_first_chunk()
                .filter(|(number, _)| leads(survey, url, **number))
                .map(|(_, variant)| variant),
        };
        Some(match (record, variant) {
            (Record::Fork(_), _) if behind.is_empty() => Self::Fork { url },
            (Record::Fork(_), _) => Self::Strange,
            (Record::Piece, _) => Self::Piece { url },
            (Record::Response(_) | Record::Parts(_), None) => Self::Lost { url },
            (Record::Response(meta), Some(variant)) => Self::Response { url, variant, meta },
            (Record::Parts(parts), Some(variant)) => Self::Parts {
                url,
                variant,
                meta: parts.meta,
                bytes: parts.runs.bytes(),
            },
        })
    }
}

/// Does the fork of a key have that number?
fn leads(survey: &Survey, url: &[u8], number: [u8; 8]) -> bool {
    let found = survey.find(url);
    found.is_some_and(|listed| match &listed.content {
        ListedContent::Sound { meta, .. } => match Record::read(meta) {
            Some(Record::Fork(fork)) => fork.number_bytes() == number,
            Some(Record::Response(_) | Record::Parts(_) | Record::Piece) | None => false,
        },
        ListedContent::Outlived | ListedContent::Damaged => false,
    })
}
