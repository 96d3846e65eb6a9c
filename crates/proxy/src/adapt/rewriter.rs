//! `url_rewrite_program`: the pool, and what holds when it gives no answer.
//!
//! | no answer because | `url_rewrite_bypass off` | `on` |
//! | --- | --- | --- |
//! | the queue is full | waits | unchanged |
//! | overloaded for long, `on-persistent-overload=ERR` | unchanged | unchanged |
//! | the same, `die`: Squid would end | error page | unchanged |
//! | later than `url_rewrite_timeout` | as `on_timeout=` says | as `on_timeout=` says |
//! | later than the pool waits; no process answers, or none can be started | error page | unchanged |
//! | the question is too long | error page | error page |

use config::rewrite::OnTimeout;
use config::{Config, Problems};
use wire::helper::{Answer, Dialect};

use crate::failure::{Failure, FailureKind, Side};
use crate::flow::Received;
use crate::helpers::{Failed, Helpers, Kind, UrlHelper, UrlHelperLines};

/// Further questions after one that timed out (`on_timeout=retry`).
const RETRIES_MAX: usize = 2;

/// See the module.
#[derive(Debug)]
pub(crate) struct Rewriter {
    helper: UrlHelper,
    bypass: bool,
    late: Late,
}

/// What becomes of a question that wasn't answered in time.
#[derive(Debug)]
enum Late {
    /// No line says: as for any other failure.
    Fail,
    /// `on_timeout=fail`.
    FailAlways,
    Bypass,
    Retry,
    Answer(Answer),
}

impl Rewriter {
    /// The rewriter of a configuration, if it has one.
    ///
    /// # Errors
    /// What can't be done.
    pub(crate) fn new(config: &Config, helpers: &Helpers) -> Result<Option<Self>, Problems> {
        let Some(program) = &config.url_rewrite_program else {
            return Ok(None);
        };
        let timeout = config.url_rewrite_timeout.as_ref();
        let lines = UrlHelperLines {
            kind: Kind::UrlRewrite,
            directive: "url_rewrite_program",
            program,
            children: &config.url_rewrite_children,
            extras: &config.url_rewrite_extras,
            timeout: timeout.map(|timeout| timeout.after),
        };
        Ok(Some(Self {
            helper: UrlHelper::new(&lines, helpers)?,
            bypass: config.url_rewrite_bypass,
            late: match timeout.map(|timeout| &timeout.action) {
                None => Late::Fail,
                Some(OnTimeout::Fail) => Late::FailAlways,
                Some(OnTimeout::Bypass) => Late::Bypass,
                Some(OnTimeout::Retry) => Late::Retry,
                // A line that says nothing means no change, as from a helper.
                Some(OnTimeout::Answer(line)) => {
                    Answer::parse(line.as_bytes(), Dialect::UrlRewrite)
                        .map_or(Late::Bypass, Late::Answer)
                }
            },
        }))
    }

    /// Asks about a request; `None`: it goes on unchanged.
    ///
    /// # Errors
    /// It can't go on.
    pub(super) async fn ask(&self, received: &Received<'_>) -> Result<Option<Answer>, Failure> {
        if self.bypass && !self.helper.has_room() {
            return Ok(None);
        }
        let mut asked = self.helper.ask(received).await;
        if matches!(self.late, Late::Retry) {
            for _ in 0..RETRIES_MAX {
                if !matches!(asked, Err(Failed::TimedOut)) {
                    break;
                }
                asked = self.helper.ask(received).await;
            }
        }
        match asked {
            Ok(answer) => Ok(Some(answer)),
            Err(Failed::BadQuestion) => Err(failure(Failed::BadQuestion).with_status(414)),
            Err(Failed::TimedOut) => self.late(),
            Err(Failed::Overloaded) if self.helper.passes_overload() => Ok(None),
            Err(_) if self.bypass => Ok(None),
            Err(failed) => Err(failure(failed)),
        }
    }

    fn late(&self) -> Result<Option<Answer>, Failure> {
        match &self.late {
            Late::Bypass => Ok(None),
            Late::Answer(answer) => Ok(Some(answer.clone())),
            Late::Fail if self.bypass => Ok(None),
            Late::Fail | Late::FailAlways | Late::Retry => Err(failure(Failed::TimedOut)),
        }
    }
}

/// 500, as Squid says it.
fn failure(failed: Failed) -> Failure {
    Failure::new(FailureKind::GatewayFailure, Side::Helper)
        .with_status(500)
        .with_detail(format!("URL rewriter: {failed}"))
}
