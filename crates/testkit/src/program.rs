//! Starts the real program with a configuration of the test's, and ends it with the test.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, kill_process};
use tempfile::TempDir;

pub use rustix::process::Signal;

use crate::ports::{free_port, is_listening};
use crate::process::{Usage, usage};
use crate::wait::{WAIT, until, until_within};

/// The program to test: where Cargo says it is, or else beside the test binary's folder.
#[must_use]
#[track_caller]
pub fn squall() -> PathBuf {
    if let Some(path) = env::var_os("CARGO_BIN_EXE_squall") {
        return path.into();
    }
    let beside = env::current_exe()
        .ok()
        .and_then(|test| Some(test.parent()?.parent()?.join("squall")));
    match beside {
        Some(path) if path.exists() => path,
        other => panic!("the program isn't built: no {other:?}; run it through `cargo test`"),
    }
}

/// How to start the program. Everything in the configuration text stays as it is, but for the names in braces:
/// `{port}` (and `{port2}` … `{port9}`) become free ports, `{dir}` the program's own folder, and others what
/// [`with`](Self::with) says.
#[derive(Debug)]
pub struct Builder {
    binary: Option<PathBuf>,
    conf: String,
    bare: bool,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    dir: TempDir,
    port: u16,
}

impl Builder {
    /// Replaces `{name}` in the configuration.
    #[must_use]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers pass numbers and temporaries"
    )]
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.conf = self
            .conf
            .replace(&format!("{{{name}}}"), &value.to_string());
        self
    }

    /// Adds no lines to the configuration. Otherwise it is given a port, an access log, a cache log and no pid file,
    /// as far as it says nothing about them.
    #[must_use]
    pub fn bare(mut self) -> Self {
        self.bare = true;
        self
    }

    /// Adds an argument; without any, the program gets `-N`.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Sets an environment variable for the program.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Starts another binary than [`squall`].
    #[must_use]
    pub fn binary(mut self, path: impl Into<PathBuf>) -> Self {
        self.binary = Some(path.into());
        self
    }

    /// The folder that `{dir}` stands for.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a file into the program's folder, so that the configuration can name it as `{dir}/name`.
    #[must_use]
    #[track_caller]
    pub fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        write(&self.dir.path().join(name), content.as_ref());
        self
    }

    /// Starts it, and returns as soon as it listens on `{port}`.
    #[must_use]
    #[track_caller]
    pub fn start(self) -> Program {
        let mut program = self.launch();
        let started = until_within(WAIT, || {
            let gone = program.try_wait().is_some();
            let listens = is_listening(program.port());
            (gone || listens).then_some(listens && !gone)
        });
        if started != Some(true) {
            let fate = program
                .try_wait()
                .map_or("didn't listen".to_owned(), |status| {
                    format!("ended: {status}")
                });
            panic!("the program {fate}\n{}", program.story());
        }
        program
    }

    /// Runs it to its end, as for `-k parse`.
    #[must_use]
    #[track_caller]
    pub fn run(self) -> Finished {
        let mut program = self.launch();
        let status = program.wait();
        Finished {
            status,
            stdout: program.stdout(),
            stderr: program.stderr(),
        }
    }

    /// Starts it without waiting for anything.
    #[must_use]
    #[track_caller]
    pub fn launch(mut self) -> Program {
        let binary = self.binary.take().unwrap_or_else(squall);
        let conf = self.render();
        let path = self.dir.path().join("squid.conf");
        write(&path, conf.as_bytes());
        if self.args.is_empty() {
            self.args.push("-N".into());
        }
        let output = |name: &str| {
            File::create(self.dir.path().join(name)).map_or_else(|_| Stdio::null(), Stdio::from)
        };
        let spawned = Command::new(&binary)
            .args(&self.args)
            .arg("-f")
            .arg(&path)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(output("stdout"))
            .stderr(output("stderr"))
            .spawn();
        match spawned {
            Ok(child) => Program {
                child,
                dir: self.dir,
                port: self.port,
                status: None,
            },
            Err(error) => panic!("cannot start {}: {error}", binary.display()),
        }
    }

    fn render(&mut self) -> String {
        let mut conf = String::new();
        let mut default = |directive: &str, value: &str| {
            let named = |line: &str| line.split_whitespace().next() == Some(directive);
            if !self.bare && !self.conf.lines().any(named) {
                conf += &format!("{directive} {value}\n");
            }
        };
        default("http_port", "127.0.0.1:{port}");
        default("pid_filename", "none");
        default("access_log", "stdio:{dir}/access.log");
        default("cache_log", "{dir}/cache.log");
        default("shutdown_lifetime", "1 second");
        conf += &self.conf;
        conf = conf.replace("{port}", &self.port.to_string());
        for number in 2..=9 {
            let name = format!("{{port{number}}}");
            if conf.contains(&name) {
                conf = conf.replace(&name, &free_port().to_string());
            }
        }
        conf.replace("{dir}", &self.dir.path().display().to_string())
    }
}

/// The program, running. Dropping it kills exactly this process, and prints its logs if the test has failed.
#[derive(Debug)]
pub struct Program {
    child: Child,
    dir: TempDir,
    port: u16,
    status: Option<ExitStatus>,
}

/// How a run to the end went.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The exit status.
    pub status: ExitStatus,
    /// All that it printed.
    pub stdout: String,
    /// All that it complained of.
    pub stderr: String,
}

impl Program {
    /// Starts the program with this configuration; see [`Builder`] for what is added and replaced.
    #[must_use]
    #[track_caller]
    pub fn start(conf: &str) -> Self {
        Self::builder(conf).start()
    }

    /// Prepares to start the program with this configuration.
    #[must_use]
    #[track_caller]
    pub fn builder(conf: &str) -> Builder {
        let dir = tempfile::Builder::new().prefix("squall-test-").tempdir();
        // Started as root, the program gives up root's rights before it opens its logs.
        let open = |dir: TempDir| {
            fs::set_permissions(dir.path(), Permissions::from_mode(0o777))?;
            Ok(dir)
        };
        match dir.and_then(open) {
            Ok(dir) => Builder {
                binary: None,
                conf: conf.to_owned(),
                bare: false,
                args: Vec::new(),
                env: Vec::new(),
                dir,
                port: free_port(),
            },
            Err(error) => panic!("cannot make a folder for the program: {error}"),
        }
    }

    /// The port that `{port}` stands for.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// That port on 127.0.0.1.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// The folder that `{dir}` stands for.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A file of the program's folder, as far as it is written.
    #[must_use]
    pub fn read(&self, name: &str) -> String {
        let bytes = fs::read(self.dir().join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Overwrites a file in the program's folder, such as `squid.conf` before a reload; no braces are replaced.
    #[track_caller]
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        write(&self.dir().join(name), content.as_ref());
    }

    /// What it printed so far.
    #[must_use]
    pub fn stdout(&self) -> String {
        self.read("stdout")
    }

    /// What it complained of so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.read("stderr")
    }

    /// The whole lines of the access log so far.
    #[must_use]
    pub fn access_log_lines(&self) -> Vec<String> {
        let log = self.read("access.log");
        let whole = log
            .split_inclusive('\n')
            .filter_map(|line| line.strip_suffix('\n'));
        whole.map(str::to_owned).collect()
    }

    /// Waits for a line of the access log, and gives it.
    #[track_caller]
    pub fn wait_for_log(&self, wanted: impl Fn(&str) -> bool) -> String {
        let found = until_within(WAIT, || {
            self.access_log_lines()
                .into_iter()
                .find(|line| wanted(line))
        });
        match found {
            Some(line) => line,
            None => panic!(
                "no such line in the access log:\n{}",
                self.access_log_lines().join("\n")
            ),
        }
    }

    /// Waits until the access log has `count` lines, and gives them all.
    #[track_caller]
    pub fn wait_for_log_lines(&self, count: usize) -> Vec<String> {
        until(&format!("{count} lines of the access log"), || {
            Some(self.access_log_lines()).filter(|lines| lines.len() >= count)
        })
    }

    /// Sends a signal.
    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw);
        let sent = pid.map(|pid| kill_process(pid, signal));
        assert!(
            matches!(sent, Some(Ok(()))),
            "cannot signal the program: {sent:?}"
        );
    }

    /// Waits for its end. Panics after [`WAIT`].
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        until("the program's end", || self.try_wait())
    }

    /// Its exit status, if it has ended.
    pub fn try_wait(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status
    }

    /// Asks it to shut down, and waits for its end.
    #[track_caller]
    pub fn stop(&mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.wait()
    }

    /// Memory and processor time so far.
    #[must_use]
    #[track_caller]
    pub fn usage(&self) -> Usage {
        match usage(self.pid()) {
            Some(usage) => usage,
            None => panic!("the program is gone\n{}", self.story()),
        }
    }

    /// Memory in use, in KiB.
    #[must_use]
    #[track_caller]
    pub fn rss_kib(&self) -> u64 {
        self.usage().rss_kib
    }

    /// Processor time so far, its own and the kernel's.
    #[must_use]
    #[track_caller]
    pub fn cpu_time(&self) -> Duration {
        let usage = self.usage();
        usage.user + usage.system
    }

    /// All that is known about this run, for a failure's message.
    fn story(&self) -> String {
        let names = ["squid.conf", "stdout", "stderr", "cache.log", "access.log"];
        let told = names.map(|name| (name, self.read(name)));
        let told = told.iter().filter(|(_, text)| !text.is_empty());
        told.map(|(name, text)| format!("──── {name}\n{}\n", tail(text)))
            .collect()
    }
}

impl Drop for Program {
    #[expect(
        clippy::print_stderr,
        reason = "the logs of a failed test belong into its output"
    )]
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{}", self.story());
        }
        if self.try_wait().is_none() {
            // It may end by itself meanwhile; either way it is gone then.
            drop(self.child.kill());
            drop(self.child.wait());
        }
    }
}

#[track_caller]
fn write(path: &Path, content: &[u8]) {
    if let Err(error) = fs::write(path, content) {
        panic!("cannot write {}: {error}", path.display());
    }
}

/// The last lines: enough to see what went wrong.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(100);
    lines.get(from..).unwrap_or_default().join("\n")
}
