//! What the client says of itself: the one field of it that counts (RFC 9110 §11.6, §11.7).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use wire::field::FieldId;

use crate::flow::Received;

/// `scheme credentials`
#[derive(Clone, Copy, Debug)]
pub(super) struct Said<'f> {
    /// The whole field value.
    pub(super) value: &'f [u8],
    pub(super) scheme: &'f [u8],
    pub(super) credentials: &'f [u8],
}

/// The field that holds credentials for us: accelerators stand in for the origin.
pub(super) fn field(received: &Received<'_>) -> FieldId {
    match received.connection.port.accel() {
        Some(_) => FieldId::Authorization,
        None => FieldId::ProxyAuthorization,
    }
}

impl<'f> Said<'f> {
    /// `None` when there is no such field, or it is empty.
    pub(super) fn of(received: &Received<'f>) -> Option<Self> {
        let value = received.head.fields.get(field(received))?.trim_ascii();
        let length = value
            .iter()
            .take_while(|b| !b.is_ascii_whitespace())
            .count();
        let (scheme, credentials) = value.split_at_checked(length)?;
        (!scheme.is_empty()).then(|| Self {
            value,
            scheme,
            credentials: credentials.trim_ascii(),
        })
    }

    /// The credentials as one Base64 token, decoded. The padding may be missing.
    pub(super) fn decoded(&self) -> Option<Vec<u8>> {
        let bare = self.credentials.trim_ascii_end();
        let bare = bare
            .strip_suffix(b"==")
            .or(bare.strip_suffix(b"="))
            .unwrap_or(bare);
        let mut padded = bare.to_vec();
        padded.resize(padded.len().next_multiple_of(4), b'=');
        STANDARD.decode(padded).ok()
    }
}

/// Bytes of a name or password as text: UTF-8, or else ISO 8859-1, as browsers have it (RFC 7617 §2).
pub(super) fn text(bytes: &[u8]) -> String {
    match str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().copied().map(char::from).collect(),
    }
}

/// What would end a line in a helper, a log or a page.
pub(super) fn has_control(bytes: &[u8]) -> bool {
    bytes.iter().any(u8::is_ascii_control)
}
