//! The house is as it says it is: crates import what `ARCHITECTURE.md` allows, examples and the
//! configurations in the documents work, generated pages are fresh.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test says what is wrong by panicking"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use config::Config;
use config::directives::{Status, rows};
use jiff::tz::TimeZone;

#[path = "../xtask/src/docs/metrics.rs"]
mod metrics;
#[path = "../xtask/src/docs/page.rs"]
mod page;

/// Imports of each crate.
type Imports = BTreeMap<String, BTreeSet<String>>;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Files of a folder with this ending, in order.
fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|have| have == ending))
        .collect();
    found.sort();
    assert!(!found.is_empty(), "no .{ending} in {folder}");
    found
}

/// Names in backquotes.
fn quoted(cell: &str) -> BTreeSet<String> {
    let words = cell.split('`').skip(1).step_by(2);
    words.map(str::to_owned).collect()
}

/// The table "Who imports whom": what each crate may import of ours.
fn allowed() -> Imports {
    let page = read("ARCHITECTURE.md");
    let (_, section) = page.split_once("## Who imports whom").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let mut allowed = Imports::new();
    for line in section.lines().filter(|line| line.starts_with("| `")) {
        let mut cells = line.trim_matches('|').split('|');
        let (crates, imports) = (cells.next().unwrap(), cells.next().unwrap());
        for name in quoted(crates) {
            allowed.insert(name, quoted(imports));
        }
    }
    allowed
}

/// What a manifest imports of `ours`, tests aside.
fn imports(manifest: &str, ours: &BTreeSet<String>) -> BTreeSet<String> {
    let mut section = "";
    let mut found = BTreeSet::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        } else if section == "[dependencies]" {
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            found.extend(ours.get(name).cloned());
        }
    }
    found
}

fn crates() -> BTreeSet<String> {
    let entries = fs::read_dir(root().join("crates")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

/// Reads a configuration as the program does, up to the compiled rules. Gives its warnings.
fn check(loaded: Result<Config, config::Problems>, name: &str) -> Vec<String> {
    let config = loaded.unwrap_or_else(|problems| panic!("{name}: {problems}"));
    let environment = rules::Environment {
        resolve: &|_| Vec::new(),
        zone: &TimeZone::UTC,
    };
    let rules = rules::Rules::compile(&config, &environment)
        .unwrap_or_else(|problems| panic!("{name}: {problems}"));
    assert!(!config.ports.is_empty(), "{name}: no port");
    let warnings = config.warnings.iter().chain(&rules.warnings);
    warnings.map(|warning| warning.message.clone()).collect()
}

#[test]
fn crates_import_what_the_architecture_allows() {
    let allowed = allowed();
    let ours = crates();
    for name in ours.iter().filter(|name| *name != "testkit") {
        let manifest = read(format!("crates/{name}/Cargo.toml"));
        let allowed = allowed
            .get(name)
            .unwrap_or_else(|| panic!("no row for {name}"));
        let beyond: Vec<_> = imports(&manifest, &ours)
            .difference(allowed)
            .cloned()
            .collect();
        assert!(beyond.is_empty(), "{name} imports {beyond:?}, and may not");
    }
    assert!(
        allowed.keys().all(|name| ours.contains(name)),
        "a row for a crate that is not there"
    );
}

#[test]
fn examples_work_without_a_warning() {
    for path in files("examples", "conf") {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let warnings = check(config::load(&path), &name);
        // That one is a configuration of Squid 2.7: it shows what is still to come.
        if name == "pictures.conf" {
            let all_named = warnings
                .iter()
                .all(|text| text.starts_with("not yet: ") || text.contains("is obsolete"));
            assert!(all_named, "{warnings:?}");
        } else {
            assert!(warnings.is_empty(), "{name}: {warnings:?}");
        }
    }
}

#[test]
fn each_page_of_the_documents_opens_with_a_configuration_that_works() {
    for path in files("docs", "md") {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name == "directives.md" {
            continue;
        }
        let page = read(&path);
        let blocks: Vec<&str> = page.split("```").skip(1).step_by(2).collect();
        let first = blocks
            .first()
            .and_then(|block| block.strip_prefix("squid.conf\n"));
        let config = first.unwrap_or_else(|| panic!("{name} opens with no configuration"));
        let warnings = check(config::parse(config, &name), &name);
        assert!(warnings.is_empty(), "{name}: {warnings:?}");
    }
}

/// Fields whose names are not those of their directives.
const FIELDS: [(&str, &str); 14] = [
    ("cache_dir", "cache_dirs"),
    ("cache_replacement_policy", "cache_dirs"),
    ("access_log", "access_logs"),
    ("acl", "acls"),
    ("cache_peer", "peers"),
    ("cache_peer_access", "peers"),
    ("client_delay_parameters", "client_delay_pools"),
    ("delay_class", "delay_pools"),
    ("delay_parameters", "delay_pools"),
    ("external_acl_type", "external_acl_types"),
    ("http_port", "ports"),
    ("logformat", "logformats"),
    ("manager_port", "ports"),
    ("refresh_pattern", "refresh_patterns"),
];

/// The program beyond `crates/config`, without tests and comments; calls that go over several
/// lines are on one.
fn program() -> String {
    let mut program = String::new();
    let mut folders = vec![
        root().join("crates/admin/src"),
        root().join("crates/admin/src"),
        root().join("crates/proxy/src"),
        root().join("crates/rules/src"),
        root().join("src"),
    ];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy();
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
                let text = read(&path);
                let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
                for line in code.lines() {
                    let line = line.split("//").next().unwrap().trim();
                    if !line.starts_with('.') {
                        program.push('\n');
                    }
                    program.push_str(line);
                }
            }
        }
    }
    program
}

/// Is there `config.FIELD` in the program, or a row in the table of access lists?
fn reads(program: &str, field: &str) -> bool {
    if program.contains(&format!(" = {field} or ")) {
        return true;
    }
    let text = format!("config.{field}");
    let mut rests = program.split(&text).skip(1);
    rests.any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// That a field is read doesn't show that it is obeyed; that it isn't shows that it can't be.
#[test]
fn each_directive_that_is_done_is_read_by_the_program() {
    let program = program();
    for row in rows().filter(|row| row.status == Status::Done) {
        // Readers heed it while the file is read.
        if row.name == "configuration_includes_quoted_values" {
            continue;
        }
        let other = FIELDS.iter().find(|(name, _)| *name == row.name);
        let field = other.map_or(row.name, |(_, field)| field);
        assert!(
            reads(&program, field),
            "{} is marked done, and nobody reads it",
            row.name
        );
    }
}

#[test]
fn the_page_of_directives_is_what_the_table_gives() {
    let written = read("docs/directives.md");
    let fresh = written == page::directives();
    assert!(fresh, "docs/directives.md is old; run `cargo xtask docs`");
}

#[test]
fn the_page_of_metrics_is_what_the_tables_give() {
    let fresh = read("docs/metrics.md") == metrics::page();
    assert!(fresh, "docs/metrics.md is old; run `cargo xtask docs`");
}
