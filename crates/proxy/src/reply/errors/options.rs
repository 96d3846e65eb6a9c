//! What the error pages are made from.

use std::path::{Path, PathBuf};

use config::{Config, DenyInfo, FilePlace};

use super::language::PLACES;
use super::template::Fixed;

/// The style sheet that Squid's packages install.
const USUAL_STYLESHEET: &str = "/etc/squid/errorpage.css";

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Custom pages (`error_directory`).
    pub directory: Option<PathBuf>,
    /// A directory with a directory for each language; not looked at beside `error_directory`.
    pub langpack: Option<PathBuf>,
    /// `error_default_language`
    pub default_language: Option<String>,
    /// `error_log_languages`
    pub tells_languages: bool,
    /// Style sheet for all pages (`err_page_stylesheet`).
    pub stylesheet: Option<PathBuf>,
    /// Style sheet for pages from files without it, if it is there.
    pub usual_stylesheet: Option<PathBuf>,
    /// `deny_info`
    pub deny_info: Vec<DenyInfo>,
    /// `deny_reason`
    pub deny_reason: bool,
    /// What is the same for all requests.
    pub fixed: Fixed,
}

impl Options {
    /// What a configuration asks for, with what is installed here.
    pub fn of(config: &Config, hostname: &str) -> Self {
        let software = if config.httpd_suppress_version_string {
            "squall".to_owned()
        } else {
            concat!("squall/", env!("CARGO_PKG_VERSION")).to_owned()
        };
        let (stylesheet, usual_stylesheet) = match &config.err_page_stylesheet {
            FilePlace::Unset => (None, Some(USUAL_STYLESHEET.into())),
            FilePlace::None => (None, None),
            FilePlace::File(path) => (Some(path.clone()), None),
        };
        let installed = || PLACES.iter().map(Path::new).find(|place| place.is_dir());
        let negotiates = config.error_directory.is_none();
        Self {
            directory: config.error_directory.clone(),
            langpack: negotiates.then(installed).flatten().map(Into::into),
            default_language: config.error_default_language.clone(),
            tells_languages: config.error_log_languages,
            stylesheet,
            usual_stylesheet,
            deny_info: config.deny_info.clone(),
            deny_reason: config.deny_reason,
            fixed: Fixed {
                hostname: hostname.to_owned(),
                software,
                admin: config.cache_mgr.clone(),
                html_text: config.err_html_text.clone(),
                mail_data: config.email_err_data,
                strips_query: config.strip_query_terms,
            },
        }
    }
}
