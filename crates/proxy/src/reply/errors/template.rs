//! An error page, or the URL of a redirection, split into literal text and codes.

use std::sync::Arc;

use super::code::Code;
use super::escape::Place;
use super::facts::PageFacts;

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
    /// `email_err_data`: `%W` is what there is to tell.
    pub mail_data: bool,
    /// `strip_query_terms`: `%U` is a URL without its query.
    pub strips_query: bool,
}

/// A page or URL, ready to be filled in.
#[derive(Debug)]
pub(super) struct Template {
    place: Place,
    pieces: Box<[Piece]>,
    /// Bytes of all literal text.
    text_bytes: usize,
}

#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Text(Box<[u8]>),
    /// Text of many templates: the style sheet.
    Shared(Arc<str>),
    Code(Code),
}

impl Template {
    /// Splits the page of that name. Codes that are the same for all requests become text; what is
    /// no code stays as it is. `%l` is the style sheet.
    pub(super) fn page(source: &str, name: &str, fixed: &Fixed, stylesheet: &Arc<str>) -> Self {
        let mut maker = Maker::new(Place::Html, name, fixed, Some(stylesheet));
        maker.take(source);
        maker.finish()
    }

    /// Splits the URL of a redirection.
    pub(super) fn url(source: &str, fixed: &Fixed) -> Self {
        let mut maker = Maker::new(Place::Url, "", fixed, None);
        maker.take(source);
        maker.finish()
    }

    /// Appends the text, filled in.
    pub(super) fn render(&self, facts: &PageFacts<'_>, fixed: &Fixed, out: &mut Vec<u8>) {
        out.reserve(self.text_bytes + SHOWN_BYTES_USUAL + facts.url.len());
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Shared(text) => out.extend_from_slice(text.as_bytes()),
                Piece::Code(code) => code.render(self.place, facts, fixed, out),
            }
        }
    }
}

impl Piece {
    fn text_bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Shared(text) => text.len(),
            Self::Code(_) => 0,
        }
    }
}

struct Maker<'m> {
    place: Place,
    name: &'m str,
    fixed: &'m Fixed,
    stylesheet: Option<&'m Arc<str>>,
    pieces: Vec<Piece>,
    text: Vec<u8>,
}

impl<'m> Maker<'m> {
    fn new(
        place: Place,
        name: &'m str,
        fixed: &'m Fixed,
        stylesheet: Option<&'m Arc<str>>,
    ) -> Self {
        Self {
            place,
            name,
            fixed,
            stylesheet,
            pieces: Vec::new(),
            text: Vec::new(),
        }
    }

    fn take(&mut self, source: &str) {
        let mut rest = source;
        while let Some((text, after)) = rest.split_once('%') {
            self.text.extend_from_slice(text.as_bytes());
            rest = self.code(after);
        }
        self.text.extend_from_slice(rest.as_bytes());
    }

    /// Takes the code whose `%` was just read; returns what follows it.
    fn code<'a>(&mut self, after: &'a str) -> &'a str {
        let in_page = self.place == Place::Html;
        if in_page && let Some(after) = after.strip_prefix("{rule}") {
            self.push(Piece::Code(Code::Rule));
            return after;
        }
        let fixed = self.fixed;
        let mut chars = after.chars();
        let letter = chars.next().and_then(|char| u8::try_from(char).ok());
        match letter {
            Some(b'%') if in_page => self.text.push(b'%'),
            Some(b'c') if in_page => self.known(self.name),
            Some(b'h') => self.known(&fixed.hostname),
            Some(b's') if in_page => self.known(&fixed.software),
            // Squid's old way to say %u.
            Some(b's') => self.push(Piece::Code(Code::Url)),
            Some(b'w') => self.known(&fixed.admin),
            Some(b'l') => {
                if let Some(sheet) = self.stylesheet.filter(|sheet| !sheet.is_empty()) {
                    self.push(Piece::Shared(Arc::clone(sheet)));
                }
            }
            Some(b'L') if in_page => self.text.extend_from_slice(fixed.html_text.as_bytes()),
            Some(b'S') if in_page => self.take("<p>Generated %T by %h (%s)</p>"),
            Some(b'S') => self.known(&fixed.software),
            // There is no code for a detail yet.
            Some(b'x') if in_page => self.text.extend_from_slice(b"[Unknown Error Code]"),
            // What an FTP server was told, and said.
            Some(b'f' | b'F') if in_page => self.text.extend_from_slice(b"nothing"),
            Some(b'c' | b'f' | b'F' | b'g' | b'L' | b'x') => {}
            Some(letter) if let Some(code) = Code::of(letter) => self.push(Piece::Code(code)),
            _ => {
                // In a URL, a percent sign that begins no code has to be escaped to stand for itself.
                let sign: &[u8] = if in_page { b"%" } else { b"%25" };
                self.text.extend_from_slice(sign);
                return if letter == Some(b'%') {
                    chars.as_str()
                } else {
                    after
                };
            }
        }
        chars.as_str()
    }

    fn known(&mut self, text: &str) {
        self.place.push(&mut self.text, text.as_bytes());
    }

    fn push(&mut self, piece: Piece) {
        self.close_text();
        self.pieces.push(piece);
    }

    fn close_text(&mut self) {
        if !self.text.is_empty() {
            let text = std::mem::take(&mut self.text);
            self.pieces.push(Piece::Text(text.into()));
        }
    }

    fn finish(mut self) -> Template {
        self.close_text();
        Template {
            place: self.place,
            text_bytes: self.pieces.iter().map(Piece::text_bytes).sum(),
            pieces: self.pieces.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed() -> Fixed {
        Fixed {
            hostname: "proxy<1>".into(),
            software: "squall/1".into(),
            html_text: "<b>hi</b>".into(),
            ..Fixed::default()
        }
    }

    fn pieces(source: &str) -> Box<[Piece]> {
        Template::page(source, "ERR_DNS_FAIL", &fixed(), &"b{}".into()).pieces
    }

    fn url(source: &str) -> Box<[Piece]> {
        Template::url(source, &fixed()).pieces
    }

    fn text(text: &str) -> Piece {
        Piece::Text(text.as_bytes().into())
    }

    #[test]
    fn codes_that_are_the_same_for_all_become_text() {
        assert_eq!(
            *pieces("a %h %c %% %L%g!"),
            [text("a proxy&lt;1&gt; ERR_DNS_FAIL % <b>hi</b>!")]
        );
        assert_eq!(
            *url("http://%h/?%S%c%L%%x"),
            [text("http://proxy%3C1%3E/?squall%2F1%25x")]
        );
    }

    #[test]
    fn codes_of_the_request_stand_between_texts() {
        assert_eq!(
            *pieces("%u<br>%{rule}%l%i"),
            [
                Piece::Code(Code::Url),
                text("<br>"),
                Piece::Code(Code::Rule),
                Piece::Shared("b{}".into()),
                Piece::Code(Code::ClientIp),
            ]
        );
        assert_eq!(
            *url("http://a/?%s&%H"),
            [
                text("http://a/?"),
                Piece::Code(Code::Url),
                text("&"),
                Piece::Code(Code::Host),
            ]
        );
    }

    #[test]
    fn the_signature_is_made_of_codes() {
        assert_eq!(
            *pieces("%S"),
            [
                text("<p>Generated "),
                Piece::Code(Code::Date),
                text(" by proxy&lt;1&gt; (squall/1)</p>"),
            ]
        );
    }

    #[test]
    fn what_is_no_code_stays() {
        assert_eq!(*pieces("100%"), [text("100%")]);
        assert_eq!(*pieces("width: 5%; %ü %{x}"), [text("width: 5%; %ü %{x}")]);
        assert_eq!(
            *url("http://a/%q%{rule}%"),
            [text("http://a/%25q%25{rule}%25")]
        );
    }
}
