use serde_json::json;

use super::super::live::{Live, Ranked, Series, TransactionRow};
use super::*;

const HOSTILE: &str = "<script>alert(1)</script>\"' &\u{7}";

/// Names of the proxy's own words that stand in all pages.
fn hostile() -> Live {
    let mut live = Live {
        by: "requests".to_owned(),
        hosts: vec![Ranked {
            key: HOSTILE.to_owned(),
            requests: 1234,
            ..Ranked::default()
        }],
        recent: vec![TransactionRow {
            id: "1-7".to_owned(),
            url: HOSTILE.to_owned(),
            user: HOSTILE.to_owned(),
            media_type: HOSTILE.to_owned(),
            elapsed_us: 1500,
            status: 502,
            ..TransactionRow::default()
        }],
        ..Live::default()
    };
    live.program.host = HOSTILE.to_owned();
    live
}

fn json_of(live: &Live) -> Json {
    serde_json::to_value(live).unwrap()
}

/// The only scripts are ours, and no attribute is left.
fn check_clean(page: &str) {
    assert!(!page.contains("<script>"), "{page}");
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39; &amp; "));
    assert!(!page.contains('\u{7}'));
    assert_eq!(
        page.matches("<script").count(),
        page.matches("src=\"app.js\"").count()
    );
}

#[test]
fn whatever_others_have_named_is_escaped_on_every_page() {
    let live = hostile();
    let json = json_of(&live);
    check_clean(&page(Page::Overview, &json));
    check_clean(&page(Page::Transactions, &json));
    let row = serde_json::to_value(&live.recent[0]).unwrap();
    check_clean(&transaction(&json, HOSTILE, Some(&row)));
    check_clean(&transaction(&json, HOSTILE, None));
}

#[test]
fn the_tables_are_there_without_a_script() {
    let page = page(Page::Overview, &json_of(&hostile()));
    assert!(page.contains(">1,234</td>"), "{page}");
    assert!(page.contains("<a href=\"transaction?id=1-7\">1-7</a>"));
    assert!(page.contains("<span class=\"s5\">502</span>"));
    assert!(page.contains(">1.50 ms</td>"));
    assert!(page.contains("No cache_peer is configured."));
    assert!(!page.contains("style="), "the policy forbids it");
    assert!(!page.contains("<noscript"));
}

#[test]
fn every_row_of_the_tables_names_what_there_is() {
    let live = json_of(&hostile());
    for tile in TILES {
        for value in tile.below.iter().chain([&tile.value]) {
            assert!(live.pointer(value.pointer).is_some(), "{}", value.pointer);
        }
        assert!(live["series"].get(tile.series).is_some());
    }
    for chart in CHARTS {
        for (series, _) in chart.lines {
            assert!(live["series"].get(series).is_some(), "{series}");
        }
    }
    for table in OVERVIEW.iter().chain(TRANSACTIONS) {
        assert!(live.get(table.list).is_some(), "{}", table.list);
    }
    let row = &live["recent"][0];
    for fact in TRANSACTION_FACTS {
        assert!(row.get(fact.field).is_some(), "{}", fact.field);
    }
    let ranked = &live["hosts"][0];
    let columns = OVERVIEW.iter().find(|table| table.list == "hosts");
    for column in columns.unwrap().columns {
        assert!(ranked.get(column.field).is_some(), "{}", column.field);
    }
}

const TO_TEN: Scale = Scale {
    top: 10.0,
    floor: None,
};

#[test]
fn a_chart_goes_to_the_right_edge_and_has_gaps() {
    let (line, area) = paths(&[Some(0.0), None, Some(5.0), Some(10.0)], TO_TEN);
    assert_eq!(line, "M297 59.0M299 30.0L300 1.0");
    assert_eq!(
        area,
        "M297 60L297 59.0L297 60ZM299 60L299 30.0L300 1.0L300 60Z"
    );
    assert_eq!(paths(&[], TO_TEN), (String::new(), String::new()));
}

#[test]
fn stacked_lists_are_added_from_the_last() {
    let stacked = stack(&[vec![Some(1.0), None], vec![Some(2.0), Some(3.0)]]);
    assert_eq!(stacked[0], [Some(3.0), Some(3.0)]);
    assert_eq!(stacked[1], [Some(2.0), Some(3.0)]);
}

#[test]
fn the_top_of_a_chart_is_a_round_number() {
    for (value, top) in [
        (0.0, 1.0),
        (0.7, 0.8),
        (1.1, 1.5),
        (3.2, 4.0),
        (9001.0, 10_000.0),
    ] {
        assert!((ceiling(value) - top).abs() < 1e-6, "{value}");
    }
}

#[test]
fn a_transaction_shows_where_its_time_went() {
    let row = json!({
        "elapsed_us": 1000, "before_hop_us": 100, "hop_us": 700, "method": "GET", "status": 200
    });
    let page = transaction(&json_of(&Live::default()), "1-2", Some(&row));
    for words in [
        "before a hop was tried <b>100 µs</b>",
        "until the hop answered <b>700 µs</b>",
        "until the reply was sent <b>200 µs</b>",
        "width=\"700.0\"",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
}

#[test]
fn a_series_is_drawn_where_the_page_says() {
    let live = Live {
        series: Series {
            at: vec![1, 2],
            hits: vec![10.0, 20.0],
            misses: vec![5.0, 5.0],
            ..Series::default()
        },
        ..Live::default()
    };
    let page = page(Page::Overview, &json_of(&live));
    assert!(page.contains("data-series=\"hits misses\""));
    assert!(page.contains("<span class=\"top\">30.0</span>"), "{page}");
    assert!(page.contains("data-last=\"hits\" data-as=\"rate\">20.0</b>"));
}

#[test]
fn times_are_drawn_on_a_logarithmic_scale() {
    let scale = Scale::of(&[vec![Some(200.0), None, Some(30_000.0)]], Kind::Time);
    let near = |value: f64, expected: f64| {
        let height = scale.height(value);
        assert!((height - expected).abs() < 1e-6, "{value}: {height}");
    };
    assert_eq!((scale.floor, scale.top), (Some(100.0), 100_000.0));
    near(100.0, 0.0);
    near(1000.0, 1.0 / 3.0);
    near(100_000.0, 1.0);
    near(0.0, 0.0);
    let empty = Scale::of(&[], Kind::Time);
    assert_eq!((empty.floor, empty.top), (Some(1.0), 10.0));
}
