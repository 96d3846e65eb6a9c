//! An error page split into literal text and codes.

use super::PageFacts;
use super::code::Code;
use super::escape::push_html;
use crate::failure::FailureKind;

/// Room for what the codes of a page show.
const SHOWN_BYTES_USUAL: usize = 256;

/// What is the same for all requests.
#[derive(Clone, Debug, Default)]
pub struct Fixed {
    /// `visible_hostname`: `%h`.
    pub hostname: String,
    /// Name and, unless suppressed, version of the program: `%s`.
    pub software: String,
    /// `cache_mgr`: `%w`.
    pub admin: String,
    /// `err_html_text`, as it is: `%L`.
    pub html_text: String,
    /// The style sheet, as it is: `%l`.
    pub stylesheet: String,
}

/// A page, ready to be filled in.
#[derive(Debug)]
pub(super) struct Template {
    pieces: Vec<Piece>,
    /// Bytes of all literal text.
    text_bytes: usize,
}

#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Text(Box<[u8]>),
    Code(Code),
}

impl Template {
    /// Splits `source`. Codes that are the same for all requests become text; what is no code
    /// stays as it is.
    pub(super) fn parse(source: &str, kind: FailureKind, fixed: &Fixed) -> Self {
        let mut maker = Maker::default();
        maker.take(source, kind, fixed);
        maker.close_text();
        let text_bytes = maker.pieces.iter().map(Piece::text_bytes).sum();
        Self {
            pieces: maker.pieces,
            text_bytes,
        }
    }

    /// Appends the page, filled in.
    pub(super) fn render(&self, facts: &PageFacts<'_>, out: &mut Vec<u8>) {
        out.reserve(self.text_bytes + SHOWN_BYTES_USUAL + facts.url.len());
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Code(code) => code.render(facts, out),
            }
        }
    }
}

impl Piece {
    fn text_bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Code(_) => 0,
        }
    }
}

#[derive(Default)]
struct Maker {
    pieces: Vec<Piece>,
    text: Vec<u8>,
}

impl Maker {
    fn take(&mut self, source: &str, kind: FailureKind, fixed: &Fixed) {
        let mut rest = source;
        while let Some((text, after)) = rest.split_once('%') {
            self.text.extend_from_slice(text.as_bytes());
            rest = self.code(after, kind, fixed);
        }
        self.text.extend_from_slice(rest.as_bytes());
    }

    /// Takes the code whose `%` was just read; returns what follows it.
    fn code<'a>(&mut self, after: &'a str, kind: FailureKind, fixed: &Fixed) -> &'a str {
        if let Some(after) = after.strip_prefix("{rule}") {
            self.push(Code::Rule);
            return after;
        }
        let mut chars = after.chars();
        let letter = chars.next().and_then(|char| u8::try_from(char).ok());
        match letter {
            Some(b'%') => self.text.push(b'%'),
            Some(b'c') => self.text.extend_from_slice(kind.page().as_bytes()),
            Some(b'h') => push_html(&mut self.text, fixed.hostname.as_bytes()),
            Some(b's') => push_html(&mut self.text, fixed.software.as_bytes()),
            Some(b'w') => push_html(&mut self.text, fixed.admin.as_bytes()),
            Some(b'l') => self.text.extend_from_slice(fixed.stylesheet.as_bytes()),
            Some(b'L') => self.text.extend_from_slice(fixed.html_text.as_bytes()),
            Some(b'S') => self.take("<p>Generated %T by %h (%s)</p>", kind, fixed),
            // FTP, mail data, and messages of authentication and external ACLs: none.
            Some(b'f' | b'F' | b'g' | b'W' | b'm' | b'o' | b'O' | b'Z') => {}
            Some(letter) if let Some(code) = Code::of(letter) => self.push(code),
            _ => {
                self.text.push(b'%');
                return after;
            }
        }
        chars.as_str()
    }

    fn push(&mut self, code: Code) {
        self.close_text();
        self.pieces.push(Piece::Code(code));
    }

    fn close_text(&mut self) {
        if !self.text.is_empty() {
            let text = std::mem::take(&mut self.text);
            self.pieces.push(Piece::Text(text.into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(source: &str) -> Vec<Piece> {
        let fixed = Fixed {
            hostname: "proxy<1>".into(),
            software: "squall".into(),
            html_text: "<b>hi</b>".into(),
            ..Fixed::default()
        };
        Template::parse(source, FailureKind::DnsFail, &fixed).pieces
    }

    fn text(text: &str) -> Piece {
        Piece::Text(text.as_bytes().into())
    }

    #[test]
    fn codes_that_are_the_same_for_all_become_text() {
        assert_eq!(
            pieces("a %h %c %% %L%W%g!"),
            [text("a proxy&lt;1&gt; ERR_DNS_FAIL % <b>hi</b>!")]
        );
    }

    #[test]
    fn codes_of_the_request_stand_between_texts() {
        assert_eq!(
            pieces("%U<br>%{rule}%i"),
            [
                Piece::Code(Code::Url),
                text("<br>"),
                Piece::Code(Code::Rule),
                Piece::Code(Code::ClientIp),
            ]
        );
    }

    #[test]
    fn the_signature_is_made_of_codes() {
        assert_eq!(
            pieces("%S"),
            [
                text("<p>Generated "),
                Piece::Code(Code::Date),
                text(" by proxy&lt;1&gt; (squall)</p>"),
            ]
        );
    }

    #[test]
    fn what_is_no_code_stays() {
        assert_eq!(pieces("100%"), [text("100%")]);
        assert_eq!(pieces("width: 5%; %ü %{x}"), [text("width: 5%; %ü %{x}")]);
    }
}
