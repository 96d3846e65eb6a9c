//! The language, line by line.

use super::*;

fn walk(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    Walk::new(&Options::default(), Files::Disk, |item| match item {
        Found::Line(place, line) => found.push(format!("{}:{line}", place.line)),
        Found::Problem(problem) => {
            found.push(format!("{}!{}", problem.place.line, problem.message));
        }
        Found::File(..) | Found::Aside(..) => {}
    })
    .text(text, "test");
    found
}

fn check(text: &str, expected: &[&str]) {
    assert_eq!(walk(text), expected, "{text:?}");
}

#[test]
fn comments_blank_lines_and_leading_blanks_are_dropped() {
    check("# a\n\n  via on\n\t# b\n", &["3:via on"]);
}

#[test]
fn a_carriage_return_ends_a_line() {
    check(
        "via on\r\nclient_db off\r\n",
        &["1:via on", "2:client_db off"],
    );
}

#[test]
fn a_last_backslash_joins_lines_and_drops_the_blanks_of_the_next() {
    check(
        "acl a src \\\n   10.0.0.1 \\\n# no\n\n\t10.0.0.2\nvia on",
        &["1:acl a src 10.0.0.1 10.0.0.2", "6:via on"],
    );
}

#[test]
fn a_backslash_at_the_end_of_the_file_joins_nothing() {
    check("via on\\", &["1:via on"]);
}

#[test]
fn macros_are_text_and_unknown_ones_stay() {
    check(
        "a ${process_number}x ${service_name} ${other}",
        &[
            "1!${process_number} is always 1 and ${process_name} squid-1",
            "1:a 1x squid ${other}",
        ],
    );
}

#[test]
fn conditionals_choose_lines() {
    check("if true\na\nelse\nb\nendif\nc", &["2:a", "6:c"]);
    check("if false\na\nelse\nb\nendif", &["4:b"]);
    check(
        "if ${service_name} = 1\na\nendif",
        &["1!invalid integer in conditional: squid "],
    );
    check(
        "if 1=2\nif true\na\nelse\nb\nendif\nelse\nc\nendif",
        &["8:c"],
    );
}

#[test]
fn broken_conditionals_are_fatal() {
    check("else", &["1!'else' without 'if'"]);
    check("endif", &["1!'endif' without 'if'"]);
    check(
        "if maybe\na\nendif",
        &["1!unsupported conditional expression: maybe"],
    );
    check(
        "if true\na",
        &["2:a", "2!if-statements must have matching endif"],
    );
}

#[test]
fn line_markers_move_the_place() {
    check("#line 40 \"other\"\nvia on", &["40:via on"]);
}

#[test]
fn includes_take_globs_and_report_what_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.conf"), "via on").unwrap();
    std::fs::write(dir.path().join("b.conf"), "via off").unwrap();
    let base = dir.path().display();
    check(
        &format!("include {base}/*.conf # all"),
        &["1:via on", "1:via off"],
    );
    let missing = format!("{base}/none.conf");
    let message =
        format!("1!Unable to find configuration file: {missing}: (2) No such file or directory");
    check(&format!("include {missing}"), &[&message]);
}

#[test]
fn includes_nest_sixteen_deep_and_no_deeper() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("self.conf");
    std::fs::write(&path, format!("via on\ninclude {}", path.display())).unwrap();
    let found = walk(&format!("include {}", path.display()));
    assert_eq!(found.len(), 17);
    assert!(found[16].contains("nested too deeply"), "{}", found[16]);
}
