//! The chores: each runs a few commands in order, and stops at the first that fails.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::npm;
use crate::packages::{self, BENCH, BESIDE, TEST};

/// Installs what the tests plug in, then runs them all.
pub(crate) fn test(args: &[String]) -> Result<()> {
    packages::provide(TEST)?;
    let skipped = npm::provide(&target());
    run(cargo().args(["test", "--workspace"]).args(args))?;
    if let Some(skipped) = skipped {
        println!("xtask: {skipped}");
    }
    Ok(())
}

/// Model checkers: what each puts in the place of std's locks and atomics (`crates/store/src/sync.rs`), and what it tries.
const CHECKERS: [(&str, &str); 2] = [
    ("loom", "disk::index::orders"),
    ("shuttle", "disk::tests::schedules"),
];

/// Tries the orders in which threads may meet, in builds of their own.
pub(crate) fn models() -> Result<()> {
    for (checker, tests) in CHECKERS {
        run(cargo()
            .args(["test", "--package", "store", "--lib", tests])
            .env("RUSTFLAGS", format!("--cfg {checker}"))
            .env("CARGO_TARGET_DIR", target().join(checker)))?;
    }
    Ok(())
}

/// What CI does.
pub(crate) fn ci() -> Result<()> {
    run(cargo().args(["fmt", "--all", "--check"]))?;
    run(cargo().args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))?;
    test(&[])?;
    models()?;
    run(cargo()
        .args(["doc", "--workspace", "--no-deps"])
        .env("RUSTDOCFLAGS", "-D warnings"))
}

/// Builds the program and the load harness for release, and starts the harness.
pub(crate) fn bench(args: &[String]) -> Result<()> {
    let help = args.iter().any(|arg| arg == "--help" || arg == "-h");
    if !help {
        packages::provide(BENCH)?;
        build_squall();
    }
    let squall = target().join("release/squall");
    run(cargo()
        .args(["run", "--release", "--quiet", "--package", "bench", "--"])
        .args(args)
        .env("SQUALL", squall))
}

/// Builds the program, and puts it, or the one that `SQUALL` names, beside Squid, or through the public suite for HTTP
/// caches.
pub(crate) fn conformance(args: &[String]) -> Result<()> {
    packages::provide(TEST)?;
    if args.iter().any(|arg| arg == "cache") {
        npm::provide(&target());
    }
    if args.iter().any(|arg| arg == "--beside") {
        packages::provide(BESIDE)?;
    }
    run(cargo().args(["build", "--workspace"]))?;
    let squall = env::var_os("SQUALL").map_or_else(|| target().join("debug/squall"), PathBuf::from);
    run(cargo()
        .args(["run", "--quiet", "--package", "conformance", "--"])
        .args(args)
        .env("SQUALL", squall))
}

/// Builds the program for release. The others can be measured without it.
fn build_squall() {
    let built = run(cargo().args(["build", "--release", "--package", "squall"]));
    if let Err(error) = built {
        println!("Squall doesn't build, so the table may be without it: {error}");
    }
}

/// The Cargo that started us, working in the root of the repository.
fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    cargo
}

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

fn target() -> PathBuf {
    let elsewhere = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    root().join(elsewhere.unwrap_or_else(|| "target".into()))
}

/// Runs a command to its end; its failure is ours.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let words = [command.get_program()]
        .into_iter()
        .chain(command.get_args());
    let line = words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ");
    println!("xtask: {line}");
    let status = command
        .status()
        .with_context(|| format!("cannot start {line}"))?;
    if !status.success() {
        bail!("{line}: {status}");
    }
    Ok(())
}
