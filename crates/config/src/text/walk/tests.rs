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
            "1:a 1x squid ${other}",
            "1!${process_number} is always 1 and ${process_name} squid-1",
        ],
    );
}

#[test]
fn conditionals_choose_lines() {
    check("if true\na\nelse\nb\nendif\nc", &["2:a", "6:c"]);
    check("if false\na\nelse\nb\nendif", &["4:b"]);
    check(
        "if ${service_name} = 1\na\nendif",
        &["1!String is not a integer number: 'squid'"],
    );
    check(
        "if 1=2\nif true\na\nelse\nb\nendif\nelse\nc\nendif",
        &["8:c"],
    );
}

#[test]
fn numbers_of_conditions_have_squids_bases() {
    for condition in [
        "1=1",
        "  010 = 8",
        "0x10 = 16",
        "-1 = -1",
        "+1 = 1",
        "true",
        "\ttrue",
    ] {
        check(&format!("if {condition}\na\nendif"), &["2:a"]);
    }
    check("if 010 = 10\na\nendif", &[]);
}

#[test]
fn words_behind_else_and_endif_are_comments() {
    check(
        "if false\nelse # c\na\nendif x\nelsewhere b",
        &["3:a", "5:elsewhere b"],
    );
}

#[test]
fn a_second_else_takes_the_first_branch_again() {
    let again = "5!a second 'else' takes the first branch again";
    check(
        "if true\na\nelse\nb\nelse\nc\nendif",
        &["2:a", again, "6:c"],
    );
}

#[test]
fn broken_conditionals_are_fatal() {
    check("else", &["1!'else' without 'if'"]);
    check("endif # c", &["1!'endif' without 'if'"]);
    for (condition, message) in [
        ("maybe", "Unable to evaluate expression 'maybe'"),
        ("", "Unable to evaluate expression ''"),
        ("TRUE", "Unable to evaluate expression 'TRUE'"),
        ("1 == 1", "String is not a integer number: '= 1'"),
        ("1 = 1 = 1", "String is not a integer number: '1 = 1'"),
        ("1 =", "String is not a integer number: ''"),
    ] {
        check(
            &format!("if {condition}\na\nendif"),
            &[&format!("1!{message}")],
        );
    }
    // Judged even where it doesn't count.
    check(
        "if false\nif x\nendif\nendif",
        &["2!Unable to evaluate expression 'x'"],
    );
    // The place is that of the `if`.
    check(
        "a\nif true\nb",
        &["1:a", "3:b", "2!if-statement without 'endif'"],
    );
}

#[test]
fn line_markers_move_the_place() {
    check("#line 40 \"other\"\nvia on", &["40:via on"]);
    check("  #line 40\nvia on\nx", &["40:via on", "41:x"]);
    check("a \\\n#line 50 \"x\" junk\n b\nc", &["1:a b", "51:c"]);
    check("#line abc\nvia on", &["2:via on"]);
    check("#line 5 x\nvia on", &["2:via on"]);
    check("#lines 5\nvia on", &["2:via on"]);
    let mut file = String::new();
    Walk::new(&Options::default(), Files::Disk, |item| {
        if let Found::Line(place, _) = item {
            file = place.to_string();
        }
    })
    .text("#line 7 \"some file\"\nvia on", "test");
    assert_eq!(file, "some file line 7");
}

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

#[test]
fn includes_take_globs_and_report_what_is_missing() {
    let dir = folder(&[
        ("a.conf", "via on"),
        ("B.conf", "via off"),
        (".c.conf", "x"),
    ]);
    std::fs::create_dir(dir.path().join("d.conf")).unwrap();
    let base = dir.path().display();
    check(
        &format!("include\t{base}/*.conf # all"),
        &["1:via off", "1:via on"],
    );
    check(
        &format!("include {base}/a.conf {base}/no*.conf {base}/B.conf"),
        &[
            "1:via on",
            &format!(
                "1!Unable to find configuration file: {base}/no*.conf: (2) No such file or directory"
            ),
            "1:via off",
        ],
    );
    check("include", &["1:include"]);
    check("include /dev/null", &[]);
}

#[test]
fn names_of_includes_may_have_blanks_in_quotes() {
    let dir = folder(&[("a b.conf", "via on")]);
    let base = dir.path().display();
    check(&format!("include \"{base}/a b.conf\""), &["1:via on"]);
    check(&format!("include {base}/\"a b\".conf"), &["1:via on"]);
    check(&format!("include \"{base}/a\\ b.conf\" #x"), &["1:via on"]);
}

#[test]
fn includes_nest_sixteen_deep_and_no_deeper() {
    let dir = folder(&[]);
    let path = dir.path().join("self.conf");
    std::fs::write(&path, format!("via on\ninclude {}", path.display())).unwrap();
    let found = walk(&format!("include {}", path.display()));
    assert_eq!(found.len(), 17);
    let expected = format!(
        "2!WARNING: can't include {}: includes are nested too deeply (>16)!",
        path.display()
    );
    assert_eq!(found[16], expected);
}

/// A file that includes itself twice would be read 2^16 times.
#[test]
fn includes_have_an_end() {
    let dir = folder(&[]);
    let path = dir.path().join("self.conf");
    std::fs::write(&path, format!("include {0} {0}", path.display())).unwrap();
    let found = walk(&format!("include {}", path.display()));
    let too_many = found.iter().filter(|text| text.ends_with("too many files"));
    assert_eq!(too_many.count(), 1);
}

#[test]
fn problems_of_includes_and_conditions_mark_what_is_wrong() {
    let mut marked = Vec::new();
    Walk::new(&Options::default(), Files::Missing, |item| {
        if let Found::Problem(problem) = item {
            marked.push(problem.text.get(problem.mark.unwrap()).unwrap().to_owned());
        }
    })
    .text("include /a  \"/b c\" # d\nif x\nelse y", "test");
    assert_eq!(marked, ["/a", "\"/b c\"", "if x", "if"]);
}
