//! The tree beside the MIB, and walks through it.

use super::super::figures::tests::figures;
use super::*;

fn oid(below: &[u32]) -> Oid {
    Oid::new(&[&ROOT, below].concat()).unwrap()
}

/// All that a walk finds, from the root of the tree.
fn walk() -> Vec<(Oid, Value)> {
    let figures = figures();
    let first = next(&figures, &oid(&[]));
    std::iter::successors(first, |(name, _)| next(&figures, name)).collect()
}

#[test]
fn columns_are_in_the_order_in_which_they_are_walked() {
    assert!(COLUMNS.iter().map(|column| column.arcs).is_sorted());
}

#[test]
fn a_walk_finds_each_value_once_and_in_order() {
    let found = walk();
    let scalars = COLUMNS
        .iter()
        .filter(|column| matches!(column.rows, Rows::One(_)));
    assert_eq!(found.len(), scalars.count() + 3 * 11 + 2 * 15 + 3 * 10);
    assert!(found.is_sorted_by(|(one, _), (other, _)| one < other));
    for (name, found) in &found {
        assert_eq!(value(&figures(), name).as_ref(), Ok(found), "{name}");
    }
}

#[test]
fn a_name_before_or_after_the_tree_is_walked_into_or_over() {
    let figures = figures();
    let first = |arcs: &[u32]| next(&figures, &Oid::new(arcs).unwrap()).map(|(name, _)| name);
    assert_eq!(first(&[0, 0]), Some(oid(&[1, 1, 0])));
    assert_eq!(first(&[1, 3, 6, 1, 4, 1, 3495]), Some(oid(&[1, 1, 0])));
    assert_eq!(first(&[1, 3, 6, 1, 4, 1, 3496]), None);
    assert_eq!(first(&[2, 0]), None);
    let last = walk().pop().unwrap();
    assert_eq!(next(&figures, &last.0), None);
}

#[test]
fn what_is_not_there_is_told_apart() {
    let figures = figures();
    let missing = |below: &[u32]| value(&figures, &oid(below)).unwrap_err();
    assert_eq!(missing(&[1, 1]), Missing::Instance);
    assert_eq!(missing(&[1, 1, 0, 0]), Missing::Instance);
    assert_eq!(missing(&[3, 2, 2, 1, 2, 15]), Missing::Instance);
    assert_eq!(missing(&[5, 1, 3, 1, 0]), Missing::Instance);
    assert_eq!(missing(&[5, 1, 3, 1, 3]), Missing::Instance);
    assert_eq!(missing(&[5, 2, 2, 3, 10, 0, 0, 1]), Missing::Instance);
    assert_eq!(missing(&[1]), Missing::Object);
    assert_eq!(missing(&[7, 1, 0]), Missing::Object);
    let elsewhere = Oid::new(&[1, 3, 6, 1, 2, 1, 1, 1, 0]).unwrap();
    assert_eq!(value(&figures, &elsewhere), Err(Missing::Object));
}

fn check(below: &[u32], expected: Value) {
    assert_eq!(value(&figures(), &oid(below)), Ok(expected));
}

#[test]
fn values_have_the_units_of_the_mib() {
    check(&[1, 1, 0], Value::Integer(3 << 10));
    check(&[1, 2, 0], Value::Integer(5 << 20));
    check(&[2, 5, 1, 0], Value::Integer(256));
    check(&[2, 5, 2, 0], Value::Integer(20 << 10));
    check(&[3, 1, 4, 0], Value::Integer(12));
    check(&[3, 1, 10, 0], Value::Gauge(1000));
    check(&[3, 2, 2, 1, 8, 60], Value::Integer(60));
    check(&[3, 2, 2, 1, 10, 5], Value::Integer(-3));
    check(&[4, 1, 6, 0], Value::Counter(21));
    check(&[5, 1, 3, 2, 2], Value::Octets(b"sibling".to_vec()));
    check(
        &[5, 2, 2, 2, 192, 0, 2, 9],
        Value::Octets(b"192.0.2.9".to_vec()),
    );
}

#[test]
fn counters_wrap_and_gauges_do_not() {
    // 5,000,000,000,000 bytes are 4,882,812,500 KB, more than 32 bits hold.
    check(&[3, 2, 1, 5, 0], Value::Counter(587_845_204));
    assert_eq!(gauge(1 << 40), Value::Gauge(u32::MAX));
    assert_eq!(integer(1_u64 << 40), Value::Integer(i32::MAX));
    assert_eq!(
        ticks(std::time::Duration::from_secs(42_949_673)),
        Value::Ticks(4)
    );
}

#[test]
fn rows_of_clients_are_walked_by_their_octets() {
    let rows: Vec<Oid> = walk()
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| {
            name.arcs()
                .starts_with(&[&ROOT[..], &[5, 2, 2, 3]].concat())
        })
        .collect();
    let texts: Vec<String> = rows.iter().map(ToString::to_string).collect();
    let texts: Vec<&str> = texts
        .iter()
        .filter_map(|text| text.split_once(".5.2.2.3."))
        .map(|(_, row)| row)
        .collect();
    assert_eq!(
        texts,
        [
            "9.0.0.1",
            "32.1.13.184.0.0.0.0.0.0.0.0.0.0.0.1",
            "192.0.2.9"
        ]
    );
}

/// Reads what `SQUID-MIB` says of names: `cacheUptime … SYNTAX TimeTicks … ::= { cacheSystem 3 }`.
fn mib(text: &str) -> Vec<(String, Vec<u32>, String)> {
    let mut found = vec![("squid".to_owned(), Vec::new(), String::new())];
    let (mut name, mut syntax) = (String::new(), String::new());
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [first, "OBJECT-TYPE"] => (name, syntax) = (first.to_owned(), String::new()),
            [first, "OBJECT", "IDENTIFIER", ..] => {
                (name, syntax) = (first.to_owned(), String::new());
            }
            ["SYNTAX", first, ..] if syntax.is_empty() => syntax = first.to_owned(),
            _ => {}
        }
        let Some((_, rest)) = line.split_once("::= {") else {
            continue;
        };
        if let [parent, number, ..] = rest.split_whitespace().collect::<Vec<_>>()[..]
            && let Some((_, arcs, _)) = found.iter().find(|(known, ..)| known == parent)
            && let Ok(number) = number.parse::<u32>()
        {
            let arcs = [arcs.as_slice(), &[number]].concat();
            found.push((name.clone(), arcs, syntax.clone()));
        }
    }
    found
}

/// Debian's package brings the MIB; every object of it is a column, of its type.
#[test]
fn the_tree_is_all_of_the_mib() {
    let Ok(text) = std::fs::read_to_string("/usr/share/squid/mib.txt") else {
        return;
    };
    let figures = figures();
    let leaves: Vec<_> = mib(&text)
        .into_iter()
        .filter(|(_, _, syntax)| {
            !syntax.is_empty() && syntax != "SEQUENCE" && !syntax.ends_with("Entry")
        })
        .collect();
    assert_eq!(leaves.len(), COLUMNS.len());
    for ((name, arcs, syntax), column) in leaves.iter().zip(COLUMNS) {
        assert_eq!((name.as_str(), arcs.as_slice()), (column.name, column.arcs));
        let (_, value) = column.rows.after(&figures, None).unwrap();
        let kind = match value {
            Value::Integer(_) => "Integer32 CachePeerTableIndex ValidPort InetAddressType",
            Value::Counter(_) => "Counter32",
            Value::Gauge(_) => "Gauge32",
            Value::Ticks(_) => "TimeTicks",
            Value::Octets(_) => "DisplayString OCTET InetAddress",
            other => panic!("{name}: {other:?}"),
        };
        assert!(
            kind.split(' ').any(|kind| kind == syntax),
            "{name}: {syntax}, {kind}"
        );
    }
}
