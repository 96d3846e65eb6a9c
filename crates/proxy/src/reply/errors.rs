//! Error pages: a page per [`FailureKind`] and what `deny_info` names, with Squid's `%` codes.
//!
//! The pages of `errors/` are built in; `error_directory` may replace any of them, and an installed
//! langpack has them in other languages. They are split into literal text and codes when they are
//! loaded, and what doesn't depend on the request is filled in then, so that a refused request costs
//! little more than a hit. Whatever comes from the client, a helper or the network is escaped; header
//! fields and credentials are never shown.

mod builtin;
mod code;
mod deny;
mod escape;
mod facts;
mod files;
mod language;
mod options;
mod problem;
mod proxy_status;
mod template;

use std::path::Path;
use std::sync::Arc;

use config::Config;
use wire::Fields;
use wire::field::FieldId;

pub use self::deny::Redirect;
use self::deny::{Info, Infos};
pub use self::facts::PageFacts;
pub use self::files::Unreadable;
use self::language::{Languages, Source};
pub use self::options::Options;
use self::proxy_status::ProxyStatus;
pub use self::template::Fixed;
use self::template::Template;
use crate::failure::{Failure, FailureKind, Refusal, Side};

/// All error pages, ready to be filled in.
#[derive(Debug)]
pub struct ErrorPages {
    /// In the order of [`FailureKind`], then those that `deny_info` names.
    pages: Vec<Page>,
    infos: Infos,
    /// `None` where all pages are the operator's, or no other language is installed.
    languages: Option<Languages>,
    proxy_status: ProxyStatus,
    /// `deny_reason`
    tells_reason: bool,
    fixed: Fixed,
}

#[derive(Debug)]
struct Page {
    /// As `X-Squid-Error` and `%c` have it: `ERR_ACCESS_DENIED`, `404:ERR_OWN`.
    name: String,
    /// File, and name of the built-in page.
    file: String,
    /// In place of the failure's.
    status: Option<u16>,
    template: Template,
    built_in: bool,
}

/// What a client gets for a failure.
#[derive(Debug)]
pub enum Answer<'p> {
    /// The page with this number.
    Page(usize),
    /// It is sent elsewhere.
    Redirect(&'p Redirect),
    /// No reply; the connection is reset.
    Reset,
}

/// In which form a client gets a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The operator's page or ours, in English.
    Plain,
    /// In this one of the installed languages.
    Language(usize),
    /// For programs: JSON.
    Problem,
}

impl ErrorPages {
    /// Loads the pages that `config` asks for. What can't be read is told to the cache log.
    pub fn load(config: &Config, hostname: &str) -> Self {
        let (pages, unreadable) = Self::read(&Options::of(config, hostname));
        for unreadable in unreadable {
            tracing::error!("{unreadable}");
        }
        pages
    }

    /// Reads all pages. What can't be read is returned beside them.
    pub fn read(options: &Options) -> (Self, Vec<Unreadable>) {
        let mut unreadable = Vec::new();
        let mut loader = Loader::new(options, &mut unreadable);
        let kinds = FailureKind::all().map(|kind| loader.page(None, kind.page()));
        let mut pages: Vec<Page> = kinds.collect();
        let infos = Infos::new(&options.deny_info, &options.fixed, |status, name| {
            pages.push(loader.page(status, name));
            pages.len() - 1
        });
        let languages = loader.languages(&pages);
        let pages = Self {
            pages,
            infos,
            languages,
            proxy_status: ProxyStatus::new(&options.fixed.hostname),
            tells_reason: options.deny_reason,
            fixed: options.fixed.clone(),
        };
        (pages, unreadable)
    }

    /// What the client gets for a failure.
    pub fn answer(&self, failure: &Failure) -> Answer<'_> {
        let usual = Answer::Page(failure.kind as usize);
        let info = failure.refusal.as_ref().and_then(|refusal| refusal.info);
        match info.and_then(|number| self.infos.get(number)) {
            None => usual,
            Some(Info::Page(page)) => Answer::Page(*page),
            // Who is to log in can't be sent elsewhere for it.
            Some(Info::Redirect(_) | Info::Reset) if failure.kind.asks_to_log_in() => usual,
            Some(Info::Redirect(redirect)) => Answer::Redirect(redirect),
            Some(Info::Reset) => Answer::Reset,
        }
    }

    /// The form in which who sent these fields would like a page best; `None` could not be read.
    pub fn form(&self, request: Option<&Fields>) -> Form {
        if request.is_some_and(problem::is_wanted) {
            return Form::Problem;
        }
        let Some(languages) = &self.languages else {
            return Form::Plain;
        };
        let chosen = match request.filter(|fields| fields.has(FieldId::AcceptLanguage)) {
            Some(fields) => languages.choose(fields.get_all(FieldId::AcceptLanguage)),
            None => languages.default(),
        };
        chosen.map_or(Form::Plain, Form::Language)
    }

    /// Status for the client.
    pub fn status(&self, page: usize, failure: &Failure) -> u16 {
        let own = self.pages.get(page).and_then(|page| page.status);
        // A challenge with another status would be none.
        own.filter(|_| !failure.kind.asks_to_log_in())
            .unwrap_or(failure.status())
    }

    /// Appends the page.
    pub fn render(&self, page: usize, form: Form, facts: &PageFacts<'_>, out: &mut Vec<u8>) {
        let Some(source) = self.pages.get(page) else {
            return;
        };
        if form == Form::Problem {
            let title = builtin::title(&source.file).unwrap_or_default();
            let about = (&*source.name, title, self.status(page, facts.failure));
            return problem::render(facts, about, out);
        }
        let translated = self.translated(page, form).map(|(_, template)| template);
        let template = translated.unwrap_or(&source.template);
        template.render(facts, &self.fixed, out);
    }

    /// Gives the header fields that go with the page for a failure, in order: name and value.
    pub fn fields(
        &self,
        number: usize,
        form: Form,
        failure: &Failure,
        mut give: impl FnMut(&'static str, &[u8]),
    ) {
        let Some(page) = self.pages.get(number) else {
            return;
        };
        let content_type: &[u8] = match form {
            Form::Problem => problem::CONTENT_TYPE,
            Form::Plain | Form::Language(_) => b"text/html;charset=utf-8",
        };
        give("Content-Type", content_type);
        let squid_error = format!("{} {}", page.name, failure.errno.unwrap_or(0));
        give("X-Squid-Error", squid_error.as_bytes());
        give("Proxy-Status", self.proxy_status(failure));
        give("X-Content-Type-Options", b"nosniff");
        let vary: &[u8] = match &self.languages {
            Some(_) => b"Accept, Accept-Language",
            None => b"Accept",
        };
        give("Vary", vary);
        if let Some((tag, _)) = self.translated(number, form) {
            give("Content-Language", tag.as_bytes());
        } else if page.built_in {
            give("Content-Language", b"en");
        }
    }

    /// The failure that each page is for, and all that is known of it most often.
    pub fn usual(&self) -> impl Iterator<Item = Failure> {
        let named = std::iter::repeat(FailureKind::AccessDenied);
        let kinds = FailureKind::all().chain(named).take(self.pages.len());
        kinds.map(|kind| Failure::new(kind, Side::Us))
    }

    /// Has the page for this failure the fields of its usual one?
    pub fn is_usual(&self, failure: &Failure) -> bool {
        let told = failure.refusal.as_ref();
        let told = told.is_some_and(|refusal| refusal.proxy_status.is_some());
        failure.errno.is_none() && !told && failure.side != Side::Hop
    }

    /// The URL that a client is sent to.
    pub fn location(&self, redirect: &Redirect, facts: &PageFacts<'_>, out: &mut Vec<u8>) {
        redirect.url.render(facts, &self.fixed, out);
    }

    /// `Proxy-Status` for a failure.
    pub fn proxy_status<'s>(&'s self, failure: &'s Failure) -> &'s [u8] {
        let refusal = failure.refusal.as_ref();
        let ready = refusal.and_then(|refusal| refusal.proxy_status.as_deref());
        ready.unwrap_or_else(|| self.proxy_status.of(failure))
    }

    /// Are there `deny_info` lines?
    pub fn has_infos(&self) -> bool {
        !self.infos.is_empty()
    }

    /// The `deny_info` line for an ACL.
    pub fn info_of(&self, acl: &str) -> Option<u32> {
        self.infos.of_acl(acl)
    }

    /// What is told of a rule that refused: its words and, as far as programs may know it, its place.
    pub fn refusal(&self, rule: Option<(String, &config::Place)>, info: Option<u32>) -> Refusal {
        let place = rule
            .as_ref()
            .map(|(_, place)| format!("{}:{}", place.file, place.line));
        let told_place = place.filter(|_| self.tells_reason);
        Refusal {
            rule: rule.map(|(words, _)| words.into()),
            proxy_status: told_place
                .as_deref()
                .map(|at| self.proxy_status.denied_by(at)),
            told_place: told_place.map(Into::into),
            info,
        }
    }

    fn translated(&self, page: usize, form: Form) -> Option<(&str, &Template)> {
        match (&self.languages, form) {
            (Some(languages), Form::Language(language)) => languages.template(language, page),
            _ => None,
        }
    }
}

/// Reads pages.
struct Loader<'o> {
    options: &'o Options,
    /// For pages from files.
    stylesheet: Arc<str>,
    /// For ours, which have their own: what the operator adds.
    own_stylesheet: Arc<str>,
    unreadable: &'o mut Vec<Unreadable>,
}

impl<'o> Loader<'o> {
    fn new(options: &'o Options, unreadable: &'o mut Vec<Unreadable>) -> Self {
        let own: Option<String> = options.stylesheet.as_ref().and_then(|path| {
            let failed = |reason| unreadable.push(Unreadable::new(path, reason));
            files::read(path).map_err(failed).ok()
        });
        let usual = options.usual_stylesheet.as_ref().filter(|_| own.is_none());
        let usual = usual.and_then(|path| files::read_if_there(path, unreadable));
        if let Some(path) = &options.directory
            && let Err(reason) = std::fs::read_dir(path)
        {
            unreadable.push(Unreadable::new(path, reason));
        }
        let own_stylesheet: Arc<str> = own.unwrap_or_default().into();
        Self {
            options,
            stylesheet: usual.map_or_else(|| Arc::clone(&own_stylesheet), Into::into),
            own_stylesheet,
            unreadable,
        }
    }

    /// The page with that file: the operator's own, ours, or that of a refused request.
    fn page(&mut self, status: Option<u16>, file: &str) -> Page {
        let name = match status {
            Some(status) => format!("{status}:{file}"),
            None => file.to_owned(),
        };
        let fixed = &self.options.fixed;
        let (template, built_in) = if let Some(text) = self.own_text(file) {
            let template = Template::page(&text, &name, fixed, &self.stylesheet);
            (template, false)
        } else {
            let text = builtin::page(file).unwrap_or_else(|| self.missing(file));
            let template = Template::page(&text, &name, fixed, &self.own_stylesheet);
            (template, true)
        };
        Page {
            name,
            file: file.to_owned(),
            status,
            template,
            built_in,
        }
    }

    fn own_text(&mut self, file: &str) -> Option<String> {
        let directory = self.options.directory.as_deref();
        if let Some(text) = directory
            .and_then(|directory| files::read_if_there(&directory.join(file), self.unreadable))
        {
            return Some(text);
        }
        // Operators put pages of theirs beside Squid's.
        let beside = self.options.langpack.as_deref();
        let beside = beside.filter(|_| builtin::title(file).is_none() && is_page(file))?;
        files::read_if_there(&beside.join("templates").join(file), self.unreadable)
    }

    /// Ours for a page that isn't there.
    fn missing(&mut self, file: &str) -> String {
        // Nobody reads the page of a client that is gone.
        if is_page(file) {
            let directory = self.options.directory.as_deref();
            let path = directory.unwrap_or(Path::new("")).join(file);
            let reason = std::io::ErrorKind::NotFound.into();
            self.unreadable.push(Unreadable::new(&path, reason));
        }
        builtin::generic()
    }

    /// The same pages in other languages.
    fn languages(&mut self, pages: &[Page]) -> Option<Languages> {
        let source = Source {
            place: self.options.langpack.as_deref()?,
            default: self.options.default_language.as_deref(),
            tells: self.options.tells_languages,
        };
        let (fixed, sheet) = (&self.options.fixed, &self.stylesheet);
        let make = |directory: &Path, number: usize, unreadable: &mut Vec<Unreadable>| {
            let page = pages.get(number)?;
            let text = files::read_if_there(&directory.join(&page.file), unreadable)?;
            Some(Template::page(&text, &page.name, fixed, sheet))
        };
        Some(Languages::load(&source, pages.len(), self.unreadable, make))
    }
}

/// Is it a page that should be there? Kinds that nobody reads have none.
fn is_page(file: &str) -> bool {
    FailureKind::of_page(file).is_none()
}

#[cfg(test)]
mod tests;
