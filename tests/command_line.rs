//! What operators and their scripts type and read: orders, what `-k parse` prints, the version, and
//! what a configuration means here.

mod start;

use std::fs;
use std::path::Path;
use std::process::Command;

use testkit::{Finished, Program, Signal, squall, until};

use crate::support::forward;

/// Runs the program to its end.
fn run(args: &[&str]) -> Finished {
    run_as(&squall(), args)
}

fn run_as(program: &Path, args: &[&str]) -> Finished {
    let output = Command::new(program).args(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Finished {
        status: output.status,
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// What a shell prints, with the program as `$SQUID` and the configuration as `$CONF`.
fn shell(script: &str, conf: &Path) -> String {
    let output = Command::new("sh")
        .arg("-c")
        .arg(script)
        .env("SQUID", squall())
        .env("CONF", conf)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A configuration in a folder of its own.
fn conf(text: &str) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("squid.conf");
    let text = text.replace("{dir}", &dir.path().display().to_string());
    fs::write(&path, text).unwrap();
    (dir, path.display().to_string())
}

/// Debian's scripts learn users and folders from the lines that `-k parse` processes, included ones too, and whether
/// the configuration is good from `FATAL: `.
#[test]
fn init_scripts_read_settings() {
    let (dir, main) = conf(
        "cache_effective_user   nobody\ncache_dir\tufs  /var/spool/x 100 16 256\n\
         include {dir}/more.conf\nif false\npid_filename /not/this\nendif\nhttp_access allow all\n",
    );
    fs::write(
        dir.path().join("more.conf"),
        "pid_filename {dir}/a.pid # mine\n",
    )
    .unwrap();
    let word = |name: &str, place: u32| {
        let script = format!(
            "\"$SQUID\" -k parse -f \"$CONF\" 2>&1 | grep Processing: | sed 's/.*Processing: //' | \
             awk '$1 == \"{name}\" {{ print ${place}; exit }}'"
        );
        shell(&script, Path::new(&main))
    };
    assert_eq!(word("cache_effective_user", 2), "nobody");
    assert_eq!(word("cache_dir", 3), "/var/spool/x");
    assert_eq!(word("pid_filename", 2), "{dir}/a.pid");
    assert_eq!(word("cache_effective_group", 2), "");
    let fatal = "\"$SQUID\" -k parse -f \"$CONF\" 2>&1 | grep -o 'FATAL: .*'";
    assert_eq!(shell(fatal, Path::new(&main)), "");
    let (_broken, broken) = conf("http_access allow nobody\n");
    assert!(
        shell(fatal, Path::new(&broken)).contains("squid.conf line 1: http_access allow nobody")
    );
}

/// Lines come in their order with a stamp, findings below the line they are about, and no colours for a script.
#[test]
fn what_parse_prints() {
    let (_dir, path) = conf("http_port 1\nno_such 1\nacl x src 10.0.0.1\nhttp_access allow x\n");
    let parse = run(&["-k", "parse", "-f", &path]);
    assert_eq!(parse.status.code(), Some(1));
    let lines: Vec<&str> = parse
        .stderr
        .lines()
        .map(|line| line.split_at(19).1)
        .collect();
    let first = format!("| Processing Configuration File: {path} (depth 0)");
    assert_eq!(
        lines[..3],
        [
            &first,
            "| Processing: http_port 1",
            "| Processing: no_such 1"
        ]
    );
    assert!(
        lines[3].contains("unrecognized: 'no_such'"),
        "{}",
        parse.stderr
    );
    assert_eq!(lines[4], "| Processing: acl x src 10.0.0.1");
    assert!(!parse.stderr.contains('\x1b'));
    assert!(parse.stdout.is_empty());
}

/// Debian's own configuration and what its package adds have no fault.
#[test]
fn the_stock_configuration() {
    let stock = Path::new("/etc/squid/squid.conf");
    if !stock.exists() {
        return;
    }
    let parse = run(&["-k", "parse"]);
    assert!(parse.status.success(), "{}", parse.stderr);
    assert!(
        parse
            .stderr
            .contains("| Processing: http_access deny !Safe_ports\n")
    );
    assert!(
        parse.stderr.contains(" (depth 1)\n")
            || !Path::new("/etc/squid/conf.d/debian.conf").exists()
    );
    assert!(!parse.stderr.contains("WARNING"), "{}", parse.stderr);
}

/// No order is carried out with a broken configuration; each names file and line.
#[test]
fn a_broken_configuration_stops_every_order() {
    let mut program = forward("pid_filename {dir}/pid\n");
    let path = program.dir().join("squid.conf").display().to_string();
    let good = program.read("squid.conf");
    program.write("squid.conf", format!("{good}no_such 1\n"));
    let line = good.lines().count() + 1;
    for order in [
        "reconfigure",
        "rotate",
        "debug",
        "shutdown",
        "interrupt",
        "kill",
        "restart",
        "check",
        "parse",
    ] {
        let done = run(&["-k", order, "-f", &path]);
        assert_eq!(done.status.code(), Some(1), "{order}");
        assert!(
            done.stderr.contains(&path) && done.stderr.contains(&line.to_string()),
            "{order}: {}",
            done.stderr
        );
    }
    assert!(program.try_wait().is_none());
    program.write("squid.conf", good);
    assert!(run(&["-k", "check", "-f", &path]).status.success());
}

/// Without a process to signal, Squid's words say why, and the status is a failure.
#[test]
fn orders_to_nobody() {
    let (dir, path) = conf("pid_filename {dir}/pid\nhttp_access allow all\n");
    let pid = dir.path().join("pid");
    let said = |order: &str, words: &str| {
        let done = run(&["-k", order, "-f", &path]);
        assert_eq!(done.status.code(), Some(1), "{}", done.stderr);
        let (stamp, said) = done.stderr.split_once("| ").unwrap();
        assert!(
            stamp.len() == 19 && said.starts_with(words),
            "{}",
            done.stderr
        );
    };
    let name = pid.display();
    said(
        "reconfigure",
        &format!("FATAL: failed to open {name}: (2) No such file or directory"),
    );
    fs::write(&pid, "").unwrap();
    said(
        "check",
        &format!("FATAL: failed to read {name}: empty file"),
    );
    fs::write(&pid, "x").unwrap();
    said("rotate", &format!("FATAL: Malformed PID file ({name})"));
    fs::write(&pid, "999999999").unwrap();
    said(
        "shutdown",
        "FATAL: failed to send signal 15 to Squid instance with PID 999999999: (3) No such process",
    );
    let (_dir, none) = conf("pid_filename none\nhttp_access allow all\n");
    let done = run(&["-k", "check", "-f", &none]);
    assert!(
        done.stderr.contains("FATAL: no pid_filename configured"),
        "{}",
        done.stderr
    );
}

/// A nightly rotation prints nothing, whatever isn't done yet: cron would mail it.
#[test]
fn logrotate() {
    let program =
        forward("pid_filename {dir}/pid\nlogfile_rotate 1\nicp_port 3130\nno_cache deny all");
    let path = program.dir().join("squid.conf").display().to_string();
    let rotate = run(&["-k", "rotate", "-f", &path]);
    assert!(rotate.status.success());
    assert_eq!((rotate.stdout.as_str(), rotate.stderr.as_str()), ("", ""));
    until("a new log", || {
        program.dir().join("cache.log.0").exists().then_some(())
    });
}

/// Webmin reads the version, and reconfigures.
#[test]
fn webmin() {
    let program = forward("pid_filename {dir}/pid");
    let path = program.dir().join("squid.conf");
    let version = "\"$SQUID\" -v | sed -n 's/.*Version \\([0-9][0-9.]*\\).*/\\1/p' | head -n 1";
    let version = shell(version, &path);
    assert!(version.split('.').count() >= 2, "{version}");
    let path = path.display().to_string();
    for order in ["check", "reconfigure"] {
        assert!(run(&["-f", &path, "-k", order]).status.success());
    }
    until("the reload", || {
        program
            .read("cache.log")
            .contains("Reconfigured")
            .then_some(())
    });
}

/// `-k debug` lets everything be heard, and the next one no more.
#[test]
fn debugging() {
    let program = forward("pid_filename {dir}/pid");
    let path = program.dir().join("squid.conf").display().to_string();
    for state in ["on", "off"] {
        assert!(run(&["-k", "debug", "-f", &path]).status.success());
        until("the word", || {
            let said = format!("Full debugging is {state}");
            program.read("cache.log").contains(&said).then_some(())
        });
    }
}

/// A reload moves the cache log and changes how many old ones are kept.
#[test]
fn a_log_that_moves() {
    let program = forward("debug_options rotate=0 ALL,1");
    let moved = program
        .read("squid.conf")
        .replace("/cache.log", "/moved.log")
        .replace("rotate=0", "rotate=1");
    program.write("squid.conf", moved);
    program.signal(Signal::HUP);
    until("the new log", || {
        program.dir().join("moved.log").exists().then_some(())
    });
    program.signal(Signal::USR1);
    until("an old one", || {
        program.dir().join("moved.log.0").exists().then_some(())
    });
    assert!(!program.dir().join("cache.log.0").exists());
    assert!(program.read("cache.log").contains("Reconfigured"));
}

/// Usage and what is wrong are on standard error; the status is Squid's.
#[test]
fn misuse() {
    let help = run(&["-h"]);
    assert_eq!(help.status.code(), Some(1));
    for option in ["-k <ORDER>", "-n <NAME>", "-l <FACILITY>", "Accepted: "] {
        assert!(help.stderr.contains(option), "{}", help.stderr);
    }
    for (args, words) in [
        (
            vec!["-Q"],
            "FATAL: '-Q': unrecognized option or missing required argument",
        ),
        (
            vec!["-k", "dance"],
            "FATAL: '-k dance': not one of reconfigure",
        ),
        (
            vec!["-n", "a b", "-v"],
            "FATAL: Garbage after alphanumeric service name",
        ),
        (vec!["-l", "moon"], "unknown syslog facility 'moon'"),
    ] {
        let misuse = run(&args);
        assert_eq!(misuse.status.code(), Some(1), "{args:?}");
        assert!(misuse.stderr.contains(words), "{}", misuse.stderr);
        assert!(misuse.stderr.contains("Usage: squall"), "{}", misuse.stderr);
    }
}

/// What a configuration means here: a score, the settings that hold, and what a directive is.
#[test]
fn a_configuration_explained() {
    let (_dir, path) =
        conf("cache_mem 1 MB\ncache_mem 2 MB\nicap_enable on\nhttp_access allow all\n");
    let check = run(&["config", "check", &path]);
    assert!(check.status.success());
    assert!(
        check.stdout.contains("usable. 4 lines: 3 done,"),
        "{}",
        check.stdout
    );
    let json = run(&["config", "check", "--json", &path]);
    assert!(json.stdout.contains("\"usable\": true"), "{}", json.stdout);
    let dump = run(&["config", "dump", &path]);
    let (_again, again) = conf(&dump.stdout);
    let second = run(&["config", "dump", &again]);
    let settings = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(settings(&dump.stdout).contains(&"cache_mem 2 MB".to_owned()));
    assert!(!dump.stdout.contains("cache_mem 1 MB"));
    assert!(second.status.success(), "{}", second.stderr);
    let explain = run(&["config", "explain", "cache_mem"]);
    assert!(explain.status.success() && explain.stdout.contains("256 MB"));
    let unknown = run(&["config", "explain", "cache_men"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(unknown.stderr.contains("cache_mem"), "{}", unknown.stderr);
    let (_broken, broken) = conf("no_such 1\n");
    assert_eq!(run(&["config", "check", &broken]).status.code(), Some(1));
    assert_eq!(run(&["config", "dump", &broken]).status.code(), Some(1));
}

/// A name of its own reaches the log and the configuration.
#[test]
fn a_service_of_another_name() {
    let builder = Program::builder("http_access allow all\npid_filename {dir}/${service_name}.pid");
    let program = builder.arg("-N").arg("-n").arg("edge2").start();
    assert_eq!(program.read("edge2.pid").trim(), program.pid().to_string());
    until("its name", || {
        program
            .read("cache.log")
            .contains("Service Name: edge2")
            .then_some(())
    });
    let path = program.dir().join("squid.conf").display().to_string();
    assert!(
        run(&["-n", "edge2", "-k", "check", "-f", &path])
            .status
            .success()
    );
    assert!(!run(&["-k", "check", "-f", &path]).status.success());
}
