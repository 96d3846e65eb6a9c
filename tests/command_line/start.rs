//! The lines that start a proxy: of systemd's unit, of containers, of a shell.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, kill_process, test_kill_process};
use testkit::{Client, Origin, Program, Reply, Request, Signal, WAIT, free_port, squall, until};

use super::{run, run_as};
use crate::support::client;

/// The program under Squid's name.
fn squid(dir: &Path) -> PathBuf {
    let path = dir.join("squid");
    symlink(squall(), &path).unwrap();
    path
}

/// A folder that the program may write to, whoever it becomes.
fn open_dir() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o777)).unwrap();
    dir
}

/// systemd hears when the proxy is ready, reads its configuration anew, and ends.
#[test]
fn the_unit_of_systemd() {
    let dir = open_dir();
    let path = dir.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
    socket.set_read_timeout(Some(WAIT)).unwrap();
    let told = || {
        let mut bytes = [0; 1024];
        let length = socket.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    };
    let builder = Program::builder("http_access allow all").binary(squid(dir.path()));
    let made = builder.arg("--foreground").arg("-z").run();
    assert!(made.status.success(), "{}", made.stderr);

    let builder = Program::builder("http_access allow all").binary(dir.path().join("squid"));
    let builder = builder.env("NOTIFY_SOCKET", &path);
    let mut program = builder.arg("--foreground").arg("-sYC").start();
    let ready = told();
    assert!(
        ready.starts_with("READY=1\n") && ready.contains("\nSTATUS=Ready"),
        "{ready}"
    );
    assert!(
        ready.contains(&format!("\nMAINPID={}\n", program.pid())),
        "{ready}"
    );
    program.signal(Signal::HUP);
    let reloading = told();
    assert!(
        reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="),
        "{reloading}"
    );
    assert!(told().starts_with("READY=1\n"));
    program.signal(Signal::TERM);
    assert!(told().starts_with("STOPPING=1\n"));
    assert!(program.wait().success());
    // Where there is no system log, that is said once.
    let complaints = program
        .read("cache.log")
        .matches("cannot log to syslog")
        .count();
    assert_eq!(complaints, usize::from(!Path::new("/dev/log").exists()));
}

/// A container's entry point: a port for forwarding, and one in front of a service.
#[test]
fn the_entry_point_of_a_container() {
    let service = Origin::start(|_: &Request| Reply::ok("service"));
    let dir = open_dir();
    let reverse = free_port();
    let conf = format!(
        "acl localnet src 10.0.0.0/8
acl SSL_ports port 443
acl Safe_ports port 80 443 1025-65535
acl CONNECT method CONNECT
acl allowed_domains dstdomain .packages.example
http_access allow allowed_domains
http_access deny !Safe_ports
http_access deny CONNECT !SSL_ports
http_access allow localhost manager
http_access deny manager
http_access allow localhost
http_port 127.0.0.1:{{port}}
refresh_pattern ^ftp: 1440 20% 10080
refresh_pattern -i (/cgi-bin/|\\?) 0 0% 0
refresh_pattern \\/(Packages|Sources)(|\\.bz2|\\.gz|\\.xz)$ 0 0% 0 refresh-ims
refresh_pattern \\/InRelease$ 0 0% 0 refresh-ims
refresh_pattern . 0 20% 4320
http_port 127.0.0.1:{reverse} accel vhost
cache_peer 127.0.0.1 parent {} 0 no-query originserver
acl src_all src all
http_access allow src_all
client_request_buffer_max_size 100 MB
",
        service.addr().port()
    );
    let squid = squid(dir.path());
    let made = Program::builder(&conf).binary(&squid).arg("-Nz").run();
    assert!(made.status.success(), "{}", made.stderr);
    let program = Program::builder(&conf)
        .binary(&squid)
        .arg("-NYC")
        .arg("1")
        .start();
    // As in Squid, the service is a parent for the forwarding port too.
    let forwarded = client(&program).get("http://elsewhere.example/");
    assert_eq!(forwarded.text(), "service");
    let mut visitor = Client::connect(([127, 0, 0, 1], reverse).into());
    let answer = visitor.request("GET", "/", &[("Host", "sandbox")]);
    assert_eq!(answer.text(), "service");
}

/// Ends the daemon of a test that failed.
struct Daemon(PathBuf);

impl Daemon {
    fn pid(&self) -> Option<Pid> {
        let text = fs::read_to_string(&self.0).ok()?;
        Pid::from_raw(text.trim().parse().ok()?)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(pid) = self.pid() {
            // It may be gone already.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// A bare `squid` leaves the terminal once it serves, won't start twice, and goes when it is told to.
#[test]
fn a_daemon() {
    let dir = open_dir();
    let port = free_port();
    let own = dir.path().display();
    let conf = format!(
        "http_port 127.0.0.1:{port}\nhttp_access allow all\npid_filename {own}/pid\n\
         cache_log {own}/cache.log\naccess_log none\nshutdown_lifetime 1 second\n"
    );
    let path = dir.path().join("squid.conf");
    fs::write(&path, conf).unwrap();
    let path = path.display().to_string();
    let squid = squid(dir.path());
    let daemon = Daemon(dir.path().join("pid"));
    let started = run_as(&squid, &["-f", &path]);
    assert!(started.status.success(), "{}", started.stderr);
    let pid = daemon.pid().unwrap();
    let origin = Origin::start(|_: &Request| Reply::ok("x"));
    let mut client = Client::connect(([127, 0, 0, 1], port).into());
    assert_eq!(client.get(&origin.url("/")).text(), "x");
    let again = run_as(&squid, &["-f", &path]);
    assert_eq!(again.status.code(), Some(1));
    let words = format!("already running: Found fresh instance PID file ({own}/pid) with PID ");
    assert!(again.stderr.contains(&words), "{}", again.stderr);
    assert!(run(&["-f", &path, "-k", "shutdown"]).status.success());
    until("its end", || test_kill_process(pid).is_err().then_some(()));
    assert_eq!(daemon.pid(), None);
}
