//! Annotations as text.

use super::Argument;
use super::scene::Scene;
use super::value::Kind;

/// The latest value of a note.
pub(super) fn push_last(scene: &Scene<'_>, name: &str, out: &mut Vec<u8>) -> Kind {
    if let Some(request) = scene.request {
        request.learnt.notes(|notes| {
            let value = notes.last(name).unwrap_or_default();
            out.extend_from_slice(value.as_bytes());
        });
    }
    Kind::Text
}

/// The values of one note, or all notes with theirs.
pub(super) fn push(scene: &Scene<'_>, argument: &Argument, out: &mut Vec<u8>) {
    let Some(request) = scene.request else { return };
    request.learnt.notes(|notes| match argument {
        Argument::Note { name, separator } if !name.is_empty() => {
            for (at, value) in notes.all(name).enumerate() {
                if at > 0 {
                    out.extend_from_slice(separator.as_bytes());
                }
                out.extend_from_slice(value.as_bytes());
            }
        }
        _ => {
            let end = match argument {
                Argument::Note { separator, .. } => separator,
                _ => "\r\n",
            };
            for (name, value) in notes.iter() {
                for part in [name, ": ", value, end] {
                    out.extend_from_slice(part.as_bytes());
                }
            }
        }
    });
}
