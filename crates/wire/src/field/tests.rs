use proptest::prelude::*;

use super::*;

fn block(lines: &[(&str, &str)]) -> Fields {
    let mut fields = Fields::new();
    for (name, value) in lines {
        fields.push(name.as_bytes(), value.as_bytes());
    }
    fields
}

fn text(fields: &Fields) -> String {
    let mut out = Vec::new();
    fields.write_to(&mut out);
    String::from_utf8(out).expect("tests use ASCII")
}

#[test]
fn every_known_name_is_found_in_any_letter_case() {
    for id in FieldId::all() {
        let name = id.name();
        assert_eq!(FieldId::of(name.as_bytes()), id, "{name}");
        assert_eq!(
            FieldId::of(name.to_ascii_uppercase().as_bytes()),
            id,
            "{name}"
        );
        assert_eq!(
            FieldId::of(name.to_ascii_lowercase().as_bytes()),
            id,
            "{name}"
        );
        assert_eq!(FieldId::of(format!("{name}x").as_bytes()), FieldId::Other);
    }
    for unknown in ["", "x", "Hose", "Accept-Encodinh"] {
        assert_eq!(FieldId::of(unknown.as_bytes()), FieldId::Other, "{unknown}");
    }
}

#[test]
fn set_replaces_the_first_line_and_drops_the_others() {
    let mut fields = block(&[("A", "1"), ("vARY", "x"), ("B", "2"), ("Vary", "y")]);
    fields.set(FieldId::Vary, b"z");
    assert_eq!(text(&fields), "A: 1\r\nvARY: z\r\nB: 2\r\n");
    fields.set(FieldId::Age, b"5");
    fields.set_name(b"b", b"3");
    fields.set_name(b"c", b"4");
    assert_eq!(
        text(&fields),
        "A: 1\r\nvARY: z\r\nB: 3\r\nAge: 5\r\nc: 4\r\n"
    );
}

#[test]
fn lines_are_removed_by_id_name_and_choice() {
    let mut fields = block(&[("A", "1"), ("Host", "x"), ("a", "2"), ("B", "3")]);
    assert!(fields.remove_name(b"a") && !fields.remove_name(b"a"));
    assert!(fields.remove(FieldId::Host) && !fields.remove(FieldId::Host));
    assert_eq!(text(&fields), "B: 3\r\n");
    fields.retain(|line| line.value != b"3");
    assert!(fields.is_empty());
}

#[test]
fn values_are_found_by_id_and_by_name() {
    let fields = block(&[("X-One", "1"), ("host", "a"), ("x-one", "2")]);
    assert_eq!(fields.get(FieldId::Host), Some(&b"a"[..]));
    assert_eq!(fields.get_name(b"HOST"), Some(&b"a"[..]));
    assert_eq!(fields.all_named(b"X-ONE").collect::<Vec<_>>(), [b"1", b"2"]);
    assert_eq!(fields.get_name(b"X-Two"), None);
}

#[test]
fn what_would_split_a_message_becomes_spaces_or_is_left_out() {
    let fields = block(&[
        ("X", "\r\n a\r\nB: c\0\t"),
        ("Bad Name", "x"),
        ("", "x"),
        ("N:", "x"),
    ]);
    assert_eq!(text(&fields), "X: a  B: c\r\n");
}

#[test]
fn lists_respect_quotes_over_all_lines() {
    let check = |value: &str, expected: &[&str]| {
        let fields = block(&[("Vary", value)]);
        let found: Vec<_> = fields
            .list(FieldId::Vary)
            .map(String::from_utf8_lossy)
            .collect();
        assert_eq!(found, expected, "{value}");
    };
    check("a, b ,,\tc", &["a", "b", "c"]);
    check("", &[]);
    check(" , ", &[]);
    check(r#"a="x, y", b"#, &[r#"a="x, y""#, "b"]);
    check(r#""a\", b", c"#, &[r#""a\", b""#, "c"]);
    check(r#"a="open, no-store, "#, &[r#"a="open"#, "no-store"]);
    check(
        r#""closed, one", "open, x"#,
        &[r#""closed, one""#, r#""open"#, "x"],
    );
    let fields = block(&[("Vary", "a,b"), ("X", "y"), ("Vary", "c")]);
    assert_eq!(fields.list(FieldId::Vary).count(), 3);
    assert!(fields.has_token(FieldId::Vary, b"C") && !fields.has_token(FieldId::Vary, b"y"));
    let mut joined = Vec::new();
    fields.join_into(FieldId::Vary, &mut joined);
    assert_eq!(joined, b"a,b, c");
}

proptest! {
    #[test]
    fn a_block_behaves_like_a_list_of_lines(
        steps in prop::collection::vec((0_u8..5, "[a-cA-C]{1,2}|Host|Via", "[ -~]{0,8}"), 0..30)
    ) {
        let mut fields = Fields::new();
        let mut model: Vec<(String, String)> = Vec::new();
        for (step, name, value) in steps {
            let value = value.trim_matches(' ').to_owned();
            let same = |line: &(String, String)| line.0.eq_ignore_ascii_case(&name);
            match step {
                0 | 1 => {
                    fields.push(name.as_bytes(), value.as_bytes());
                    model.push((name, value));
                }
                2 => {
                    fields.set_name(name.as_bytes(), value.as_bytes());
                    match model.iter().position(same) {
                        None => model.push((name, value)),
                        Some(at) => {
                            model[at].1 = value;
                            let mut index = 0;
                            model.retain(|line| {
                                index += 1;
                                index - 1 <= at || !line.0.eq_ignore_ascii_case(&name)
                            });
                        }
                    }
                }
                3 => {
                    prop_assert_eq!(fields.remove_name(name.as_bytes()), model.iter().any(same));
                    model.retain(|line| !line.0.eq_ignore_ascii_case(&name));
                }
                _ => {
                    let found = fields.get_name(name.as_bytes());
                    let expected = model.iter().find(|line| same(line));
                    prop_assert_eq!(found, expected.map(|line| line.1.as_bytes()));
                }
            }
        }
        let expected: String = model.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        prop_assert_eq!(text(&fields), expected);
    }
}
