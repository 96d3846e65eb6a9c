//! The texts with codes of a configuration.

use config::external::ExternalAclType;
use config::{Config, HeaderAdd, Place, Problem, Problems, Severity};
use rules::acl::note::Annotation;
use wire::helper::Quoting;

use super::{Dialect, Format, Scene};

/// Compiled texts, by the numbers of their lines.
#[derive(Debug)]
pub(crate) struct Formats {
    request_add: Box<[Option<Format>]>,
    reply_add: Box<[Option<Format>]>,
}

impl Formats {
    /// Compiles those of fields that are added.
    ///
    /// # Errors
    /// Those of any line that make no sense.
    pub(crate) fn compile(config: &Config) -> Result<Self, Problems> {
        check(config)?;
        let compile = |lines: &[HeaderAdd]| {
            let formats = lines.iter().map(|line| match line.quoted {
                true => Format::compile(&line.value, Dialect::Logformat).ok(),
                false => None,
            });
            formats.collect()
        };
        Ok(Self {
            request_add: compile(&config.request_header_add),
            reply_add: compile(&config.reply_header_add),
        })
    }

    /// Appends the value of a `request_header_add` line.
    pub(crate) fn request_add(&self, line: usize, scene: &Scene<'_>, out: &mut Vec<u8>) {
        if let Some(Some(format)) = self.request_add.get(line) {
            format.render(scene, out);
        }
    }

    /// Appends the value of a `reply_header_add` line.
    pub(crate) fn reply_add(&self, line: usize, scene: &Scene<'_>, out: &mut Vec<u8>) {
        if let Some(Some(format)) = self.reply_add.get(line) {
            format.render(scene, out);
        }
    }
}

/// How the texts of an external ACL are read.
pub(crate) fn dialect(class: &ExternalAclType) -> Dialect {
    Dialect::ExternalAcl(match class.shell_words {
        true => Quoting::Shell,
        false => Quoting::Url,
    })
}

/// Can all texts of a configuration be compiled?
///
/// # Errors
/// Those that can't.
pub fn check(config: &Config) -> Result<(), Problems> {
    let mut problems = Vec::new();
    let mut check = |line: String, text: &str, dialect: Dialect, place: &Place| {
        if let Err(error) = Format::compile(text, dialect) {
            let message = error.to_string();
            let mark = 0..line.len();
            let problem = Problem::new(Severity::Fatal, place, &line, mark, &message);
            problems.push(problem);
        }
    };
    for line in &config.logformats {
        let whole = format!("logformat {} {}", line.name, line.text);
        check(whole, &line.text, Dialect::Logformat, &line.place);
    }
    for (directive, lines) in [
        ("request_header_add", &config.request_header_add),
        ("reply_header_add", &config.reply_header_add),
    ] {
        for line in lines.iter().filter(|line| line.quoted) {
            let whole = format!("{directive} {} \"{}\"", line.name, line.value);
            check(whole, &line.value, Dialect::Logformat, &line.place);
        }
    }
    for line in config
        .acls
        .iter()
        .filter(|line| line.kind.starts_with("annotate_"))
    {
        for note in line.values.texts() {
            let parsed = Annotation::parse(&line.flags, &note);
            if let Some(text) = parsed.as_ref().and_then(Annotation::codes) {
                let whole = format!("acl {} {} {note}", line.name, line.kind);
                check(whole, text, Dialect::Logformat, &line.place);
            }
        }
    }
    for class in &config.external_acl_types {
        let whole = format!("external_acl_type {} {}", class.name, class.format);
        check(whole, &class.format, dialect(class), &class.place);
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(Problems(problems)),
    }
}
