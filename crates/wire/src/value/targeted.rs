//! Cache directives that are meant for some caches only: `CDN-Cache-Control` (RFC 9213) and
//! `Surrogate-Control` (Edge Architecture Specification).

use std::convert::Infallible;

use sfv::visitor::{DictionaryVisitor, EntryVisitor, Ignored, InnerListVisitor};
use sfv::visitor::{ItemVisitor, ParameterVisitor};
use sfv::{BareItemFromInput, KeyRef, Parser};

use super::cache_control::CacheControl;
use crate::{FieldId, Fields, chars};

/// `CDN-Cache-Control`; `None` when there is none, or none that parses (RFC 9213 §2.1).
pub fn cdn_cache_control(fields: &Fields) -> Option<CacheControl> {
    if !fields.has(FieldId::CdnCacheControl) {
        return None;
    }
    let mut value = Vec::new();
    for line in fields.get_all(FieldId::CdnCacheControl) {
        if !value.is_empty() {
            value.extend_from_slice(b", ");
        }
        value.extend_from_slice(line);
    }
    let directives = Parser::new(&value)
        .parse_dictionary_with_visitor(Directives::default())
        .ok()?;
    let mut found = CacheControl::default();
    for (name, said) in &directives {
        match said {
            Said::True => found.add(name.as_bytes()),
            Said::Number(number) => found.add(format!("{name}={number}").as_bytes()),
            Said::Nothing => {}
        }
    }
    (!directives.is_empty()).then_some(found)
}

/// `Surrogate-Control`, as far as it is for us: a directive may name the one that it is for behind a
/// semicolon, and what names us stands above what names nobody. `far` are surrogates that stand far
/// from the origin: they heed `no-store-remote`. `None` when nothing is for us.
pub fn surrogate_control(fields: &Fields, id: &str, far: bool) -> Option<CacheControl> {
    let (mut ours, mut anyones) = (None, None);
    for element in fields.list(FieldId::SurrogateControl) {
        let (directive, target) = match chars::split_once(element, b';') {
            Some((directive, target)) => (directive, Some(chars::trim_ows(target))),
            None => (element, None),
        };
        match target {
            None => add_surrogate(&mut anyones, directive, far),
            Some(target) if target == id.as_bytes() => add_surrogate(&mut ours, directive, far),
            Some(_) => {}
        }
    }
    ours.or(anyones)
}

/// Directives that we don't know say nothing.
fn add_surrogate(found: &mut Option<CacheControl>, directive: &[u8], far: bool) {
    let directive = chars::trim_ows(directive);
    let (name, argument) = chars::split_once(directive, b'=').unwrap_or((directive, b""));
    let name = chars::trim_ows(name).to_ascii_lowercase();
    match &*name {
        b"no-store" => found.get_or_insert_default().no_store = true,
        b"no-store-remote" if far => found.get_or_insert_default().no_store = true,
        b"max-age" => {
            // `max-age=60+30`: fresh for 60 seconds, and of use for 30 more.
            let (fresh, more) = chars::split_once(argument, b'+').unwrap_or((argument, b"0"));
            let found = found.get_or_insert_default();
            found.add(&[b"max-age=", fresh].concat());
            found.add(&[b"stale-if-error=", more].concat());
        }
        _ => {}
    }
}

/// What a member of the dictionary says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    /// `name`, `name=?1`
    True,
    Number(i64),
    /// Of a type that no directive has (RFC 9213 §2.1).
    Nothing,
}

/// The members by name; of duplicates the last counts (RFC 9651 §3.2).
#[derive(Default)]
struct Directives<'de>(Vec<(&'de str, Said)>);

impl<'de> DictionaryVisitor<'de> for Directives<'de> {
    type Out = Vec<(&'de str, Said)>;
    type Error = Infallible;

    fn entry(&mut self, key: &'de KeyRef) -> Result<impl EntryVisitor<'de>, Infallible> {
        self.0.retain(|(name, _)| *name != key.as_str());
        self.0.push((key.as_str(), Said::Nothing));
        Ok(Member(self.0.last_mut().map(|(_, said)| said)))
    }

    fn finish(self) -> Result<Self::Out, Infallible> {
        Ok(self.0)
    }
}

struct Member<'d>(Option<&'d mut Said>);

impl<'de> EntryVisitor<'de> for Member<'_> {
    type Error = Infallible;

    fn item(self) -> Result<impl ItemVisitor<'de>, Infallible> {
        Ok(self)
    }

    fn inner_list(self) -> Result<impl InnerListVisitor<'de>, Infallible> {
        Ok(Ignored)
    }
}

impl<'de> ItemVisitor<'de> for Member<'_> {
    type Out = ();
    type Error = Infallible;

    fn bare_item(
        self,
        item: BareItemFromInput<'de>,
    ) -> Result<impl ParameterVisitor<'de, Out = ()>, Infallible> {
        if let Some(said) = self.0 {
            *said = match item {
                BareItemFromInput::Boolean(true) => Said::True,
                BareItemFromInput::Integer(number) => Said::Number(number.into()),
                _ => Said::Nothing,
            };
        }
        Ok(Ignored)
    }
}

/// Any value parses or not, and doesn't panic.
pub fn fuzz(data: &[u8]) {
    let mut fields = Fields::new();
    fields.push_id(FieldId::CdnCacheControl, data);
    fields.push_id(FieldId::SurrogateControl, data);
    cdn_cache_control(&fields);
    surrogate_control(&fields, "us", true);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cdn(lines: &[&str]) -> Option<CacheControl> {
        let mut fields = Fields::new();
        for line in lines {
            fields.push_id(FieldId::CdnCacheControl, line.as_bytes());
        }
        cdn_cache_control(&fields)
    }

    #[test]
    fn cdn_cache_control_is_a_dictionary() {
        // RFC 9213 §2.1, §2.2.
        let max_age = |secs| CacheControl {
            max_age: Some(secs),
            ..CacheControl::default()
        };
        assert_eq!(cdn(&["max-age=60"]), Some(max_age(60)));
        assert_eq!(
            cdn(&["max-age=60", "max-age=30"]),
            Some(max_age(30)),
            "the last"
        );
        assert_eq!(cdn(&["max-age=30;x=1, max-age=60"]), Some(max_age(60)));
        assert!(cdn(&["max-age=60, no-store"]).unwrap().no_store);
        assert!(!cdn(&["no-store=?0"]).unwrap().no_store);
        assert_eq!(cdn(&["max-age=-1"]), Some(max_age(0)));
        assert_eq!(cdn(&["max-age=\"60\""]), Some(CacheControl::default()));
        for none in [
            &[][..],
            &[""],
            &["MAX-AGE=60"],
            &["max-age=60,,x"],
            &["max-age = 60"],
            &["a b"],
        ] {
            assert_eq!(cdn(none), None, "{none:?}");
        }
    }

    fn surrogate(value: &str, far: bool) -> Option<CacheControl> {
        let mut fields = Fields::new();
        fields.push_id(FieldId::SurrogateControl, value.as_bytes());
        surrogate_control(&fields, "us", far)
    }

    #[test]
    fn surrogate_control_may_name_whom_it_is_for() {
        let max_age = |value: &str| surrogate(value, false).and_then(|found| found.max_age);
        assert_eq!(max_age("max-age=60"), Some(60));
        assert_eq!(max_age("content=\"ESI/1.0\", MaX-aGe=60"), Some(60));
        assert_eq!(max_age("max-age=60;them"), None);
        assert_eq!(max_age("max-age=60;them, max-age=5"), Some(5));
        assert_eq!(max_age("max-age=60, max-age=5; us"), Some(5));
        assert_eq!(max_age("max-age=5, max-age=60;us"), Some(60));
        assert_eq!(
            surrogate("max-age=60+30", false).unwrap().stale_if_error,
            Some(30)
        );
        assert!(surrogate("no-store", false).unwrap().no_store);
        assert!(surrogate("no-store-remote", true).unwrap().no_store);
        assert_eq!(surrogate("no-store-remote, foo", false), None);
    }
}
