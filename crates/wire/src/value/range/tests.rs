use super::*;

fn check(value: &str, expected: &[ByteRange]) {
    let ranges = parse(value.as_bytes()).unwrap_or_default();
    assert_eq!(ranges.as_slice(), expected, "{value}");
}

#[test]
fn ranges_are_read_in_order() {
    check("bytes=0-4", &[ByteRange::FromTo(0, 4)]);
    check("Bytes=5-", &[ByteRange::From(5)]);
    check("bytes=-5", &[ByteRange::Suffix(5)]);
    check(
        "bytes= 9-9 , 0-1,,-2",
        &[
            ByteRange::FromTo(9, 9),
            ByteRange::FromTo(0, 1),
            ByteRange::Suffix(2),
        ],
    );
    check(
        "bytes=0-18446744073709551616",
        &[ByteRange::FromTo(0, u64::MAX)],
    );
}

#[test]
fn an_invalid_field_is_ignored_as_a_whole() {
    for bad in [
        "",
        "bytes",
        "bytes=",
        "bytes=,",
        "bytes=-",
        "bytes=4-0",
        "bytes=a-b",
        "bytes=0 - 4",
        "bytes=0-4,x",
        "lines=0-4",
        "bytes=--5",
        "bytes=+0-4",
        "0-4",
    ] {
        check(bad, &[]);
    }
    let many = format!("bytes={}", "0-1,".repeat(RANGES_MAX + 1));
    check(&many, &[]);
}

#[test]
fn ranges_resolve_inside_the_content() {
    assert_eq!(ByteRange::FromTo(0, 99).resolve(10), Some((0, 9)));
    assert_eq!(ByteRange::FromTo(10, 11).resolve(10), None);
    assert_eq!(ByteRange::From(9).resolve(10), Some((9, 9)));
    assert_eq!(ByteRange::From(10).resolve(10), None);
    assert_eq!(ByteRange::Suffix(3).resolve(10), Some((7, 9)));
    assert_eq!(ByteRange::Suffix(30).resolve(10), Some((0, 9)));
    assert_eq!(ByteRange::Suffix(0).resolve(10), None);
    assert_eq!(ByteRange::From(0).resolve(0), None);
}
