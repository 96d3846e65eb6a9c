//! Helpers of Debian's squid package that need a server or a system of their own: accounts, LDAP, Kerberos. Those that
//! need only a file are in `login.rs`, `external_acl.rs` and `rewriting.rs`; docs/helpers.md has the list.

mod account;
mod kerberos;
mod ldap;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;
use testkit::{Program, is_listening, until};

/// Everybody has to log in.
const RULES: &str = "acl user proxy_auth REQUIRED\nhttp_access allow user\n";

/// Are all there? Says which isn't.
fn installed(programs: &[&str]) -> bool {
    let missing = programs.iter().find(|path| !Path::new(path).exists());
    if let Some(path) = missing {
        println!("not installed: {path}");
    }
    missing.is_none()
}

/// A folder that others may read: helpers run as another user.
fn open_dir() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    dir
}

/// A server of ours; it ends with the test.
struct Server(Child);

impl Server {
    /// Starts it, and waits for its port.
    fn start(command: &mut Command, port: u16) -> Self {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self(child);
        until("a server that listens", || is_listening(port).then_some(()));
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let ended = self.0.kill().and_then(|()| self.0.wait());
        println!("the server: {ended:?}");
    }
}

fn run(command: &mut Command) -> Output {
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{command:?}: {ran:?}");
    ran
}

/// The status that curl gets, and all that it is told.
fn curl(url: &str, args: &[&str], env: &[(&str, String)]) -> (String, String) {
    let ran = Command::new("curl")
        .args(["-sSv", "-m", "20", "-o", "/dev/null", "-w", "%{http_code}"])
        .args(["--noproxy", ""])
        .args(args)
        .arg(url)
        .envs(env.iter().map(|(name, value)| (name, value)))
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    (text(&ran.stdout), text(&ran.stderr))
}

/// The same through the proxy, as a user with a password.
fn curl_as(program: &Program, user: &str, url: &str) -> String {
    let proxy = format!("http://{}", program.addr());
    curl(url, &["-x", &proxy, "-U", user], &[]).0
}
