//! What lies on disk: a response with its metadata beside it, a fork, the head of parts of a response, a piece of those, or a
//! grave.
//!
//! | first byte | then |
//! | --- | --- |
//! | 1, a response | what its owner has written |
//! | 2, a fork | its number, 8 bytes; the selector |
//! | 3, a head of parts | its number, 8 bytes; how many runs there are, 2; each run, 16; what its owner has written |
//! | 4, a piece | |
//!
//! A grave lies under a tag, and says by the moment when it was dug that all with that tag were removed that lay there before.

use super::runs::Runs;
use crate::invalidate::Tag;
use crate::moment::Moment;

const RESPONSE: u8 = 1;
const FORK: u8 = 2;
const PARTS: u8 = 3;
/// All that lies beside the bytes of a piece.
pub(super) const PIECE: [u8; 1] = [4];
/// Between a key, which has none, and what follows.
pub(super) const END: u8 = 0;

/// See the module.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Record<'m> {
    Response(&'m [u8]),
    Fork(Fork<&'m [u8]>),
    Parts(Parts<'m>),
    Piece,
}

/// What there is of a response that lies in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parts<'m> {
    /// What stands in the places of its pieces, all of which were written since.
    pub(super) number: Moment,
    pub(super) runs: Runs,
    /// What its owner has written.
    pub(super) meta: &'m [u8],
}

/// Where the way to the variants of a key forks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fork<S> {
    number: Moment,
    /// Names the fields that variants are selected by.
    pub(super) selector: S,
}

impl<'m> Record<'m> {
    /// The beginning of a response's metadata.
    pub(super) fn response() -> Vec<u8> {
        vec![RESPONSE]
    }

    /// `None`: it isn't one that we wrote.
    pub(super) fn read(meta: &'m [u8]) -> Option<Self> {
        let (&kind, rest) = meta.split_first()?;
        match kind {
            RESPONSE => Some(Self::Response(rest)),
            FORK => {
                let (number, selector) = rest.split_first_chunk()?;
                Some(Self::Fork(Fork {
                    number: Moment::of_bytes(*number),
                    selector,
                }))
            }
            PARTS => {
                let (number, rest) = rest.split_first_chunk()?;
                let (runs, meta) = Runs::read(rest)?;
                Some(Self::Parts(Parts {
                    number: Moment::of_bytes(*number),
                    runs,
                    meta,
                }))
            }
            kind if [kind] == PIECE => Some(Self::Piece),
            _ => None,
        }
    }

    /// The beginning of the metadata of parts.
    pub(super) fn parts(number: Moment, runs: &Runs) -> Vec<u8> {
        let mut begun = vec![PARTS];
        begun.extend_from_slice(&number.to_bytes());
        runs.write(&mut begun);
        begun
    }
}

/// What the places of the pieces begin with, of parts of that number whose head lies at `head`.
pub(super) fn pieces_under(head: &[u8], number: Moment) -> Vec<u8> {
    [head, &[END], &number.to_bytes()].concat()
}

/// Where the piece lies that begins with byte `first`.
pub(super) fn piece(under: &[u8], first: u64) -> Vec<u8> {
    [under, &first.to_le_bytes()].concat()
}

impl<S: AsRef<[u8]>> Fork<S> {
    /// One that nothing lies behind.
    pub(super) fn new(selector: S) -> Self {
        Self {
            number: Moment::new(),
            selector,
        }
    }

    pub(super) fn written(&self) -> Vec<u8> {
        [&[FORK][..], &self.number.to_bytes(), self.selector.as_ref()].concat()
    }

    /// What stands between key and values in the places of its variants.
    pub(super) fn number_bytes(&self) -> [u8; 8] {
        self.number.to_bytes()
    }

    /// Where the variant lies that was selected by these values.
    pub(super) fn place(&self, key: &[u8], variant: &[u8]) -> Vec<u8> {
        [key, &[END], &self.number.to_bytes(), variant].concat()
    }
}

impl Fork<&[u8]> {
    pub(super) fn to_owned(&self) -> Fork<Vec<u8>> {
        Fork {
            number: self.number,
            selector: self.selector.to_vec(),
        }
    }
}

/// Where the grave of a tag lies. No key of a response begins so.
pub(super) fn grave(tag: Tag) -> [u8; 9] {
    let [a, b, c, d, e, f, g, h] = tag.number().to_le_bytes();
    [END, a, b, c, d, e, f, g, h]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_were_written() {
        let mut response = Record::response();
        response.extend_from_slice(b"meta");
        assert_eq!(Record::read(&response), Some(Record::Response(b"meta")));
        let fork = Fork::new(b"accept\0".to_vec());
        let written = fork.written();
        let Some(Record::Fork(read)) = Record::read(&written) else {
            panic!("{written:?}")
        };
        assert_eq!(read.to_owned(), fork);
        let mut runs = Runs::default();
        runs.add(5..9);
        let mut written = Record::parts(Moment(7), &runs);
        written.extend_from_slice(b"meta");
        let parts = Parts {
            number: Moment(7),
            runs,
            meta: b"meta",
        };
        assert_eq!(Record::read(&written), Some(Record::Parts(parts)));
        assert_eq!(Record::read(&PIECE), Some(Record::Piece));
        let cut = written.get(..20).unwrap();
        for bad in [&b""[..], b"\x03x", b"\x02short", b"\x05", cut] {
            assert_eq!(Record::read(bad), None);
        }
    }

    #[test]
    fn pieces_of_another_number_lie_elsewhere() {
        let place = |number, first| piece(&pieces_under(b"key", Moment(number)), first);
        assert_ne!(place(1, 0), place(2, 0));
        assert_ne!(place(1, 0), place(1, 1));
    }

    #[test]
    fn each_fork_has_places_of_its_own() {
        let (one, other) = (Fork::new(b"a"), Fork::new(b"a"));
        assert_ne!(one.place(b"key", b"v"), other.place(b"key", b"v"));
        assert_ne!(one.place(b"key", b"v"), one.place(b"key", b"w"));
    }
}
