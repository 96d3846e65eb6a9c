//! The order of hops for requests under configurations.

use super::*;
use crate::testing::{Scene, rules};

/// All peers are up but these, and have this many connections.
struct States {
    down: &'static [usize],
    connections: u32,
}

impl PeerStates for States {
    fn is_up(&self, peer: usize) -> bool {
        !self.down.contains(&peer)
    }

    fn connections(&self, _peer: usize) -> u32 {
        self.connections
    }
}

const ALL_UP: States = States {
    down: &[],
    connections: 0,
};

fn shown(choice: Choice) -> String {
    let Choice::Hops(hops) = choice else {
        return format!("{choice:?}");
    };
    let show = |hop: &Hop| match hop.to {
        HopTo::Origin => hop.way.name().to_owned(),
        HopTo::Peer(index) => format!("{}/{index}", hop.way.name()),
    };
    hops.iter().map(show).collect::<Vec<_>>().join(" ")
}

fn check_in(text: &str, scene: &Scene, case: Case, states: &States, expected: &str) {
    let rules = rules(text);
    let found = choose(&rules, &scene.facts(), case, states, &Turns::default());
    assert_eq!(shown(found), expected, "{text}");
}

fn check(text: &str, scene: &Scene, expected: &str) {
    check_in(text, scene, Case::default(), &ALL_UP, expected);
}

const PARENTS: &str = "cache_peer a parent 8080 0 no-query\ncache_peer b parent 8080 0 no-query\n";
const ORIGINS: &str = "cache_peer a parent 80 0 no-query originserver round-robin name=a\n\
                       cache_peer b parent 80 0 no-query originserver round-robin name=b\n";
const ACCEL: Case = Case {
    no_direct: true,
    looped: false,
};

fn get() -> Scene {
    Scene::new("http://example.com/")
}

#[test]
fn without_peers_everything_goes_direct() {
    check("", &get(), "HIER_DIRECT");
    check("", &Scene::new("example.com:443"), "HIER_DIRECT");
    check("never_direct allow all\n", &get(), "");
    check_in("", &get(), ACCEL, &ALL_UP, "");
}

#[test]
fn parents_come_first_and_the_origin_last() {
    check(
        PARENTS,
        &get(),
        "FIRSTUP_PARENT/0 ANY_OLD_PARENT/1 HIER_DIRECT",
    );
    check(
        &format!("{PARENTS}prefer_direct on\n"),
        &get(),
        "HIER_DIRECT FIRSTUP_PARENT/0 ANY_OLD_PARENT/1",
    );
    check(
        &format!("{PARENTS}never_direct allow all\n"),
        &get(),
        "FIRSTUP_PARENT/0 ANY_OLD_PARENT/1",
    );
    check(
        &format!("{PARENTS}always_direct allow all\n"),
        &get(),
        "HIER_DIRECT",
    );
}

#[test]
fn what_no_cache_can_have_goes_direct_unless_told_otherwise() {
    let post = || get().method("POST");
    check(PARENTS, &post(), "HIER_DIRECT");
    check(PARENTS, &Scene::new("example.com:443"), "HIER_DIRECT");
    check(
        PARENTS,
        &get().with(&[("Authorization", "Basic eDp5")]),
        "HIER_DIRECT",
    );
    check(
        &format!("{PARENTS}hierarchy_stoplist cgi-bin ?\n"),
        &Scene::new("http://a/x?y"),
        "HIER_DIRECT",
    );
    check(
        &format!("{PARENTS}nonhierarchical_direct off\n"),
        &post(),
        "FIRSTUP_PARENT/0 ANY_OLD_PARENT/1 HIER_DIRECT",
    );
    check(
        &format!("{PARENTS}never_direct allow all\n"),
        &post(),
        "FIRSTUP_PARENT/0 ANY_OLD_PARENT/1",
    );
}

#[test]
fn a_loop_ends_at_the_origin() {
    check_in(
        PARENTS,
        &get(),
        Case {
            looped: true,
            no_direct: false,
        },
        &ALL_UP,
        "HIER_DIRECT",
    );
}

#[test]
fn peers_that_are_down_full_or_not_allowed_are_left_out() {
    let down = States {
        down: &[0],
        connections: 0,
    };
    check_in(
        PARENTS,
        &get(),
        Case::default(),
        &down,
        "FIRSTUP_PARENT/1 HIER_DIRECT",
    );
    let full = States {
        down: &[],
        connections: 5,
    };
    let limited = "cache_peer a parent 8080 0 no-query max-conn=5\ncache_peer b parent 8080 0 no-query max-conn=6\n";
    check_in(
        limited,
        &get(),
        Case::default(),
        &full,
        "FIRSTUP_PARENT/1 HIER_DIRECT",
    );
    let access = format!("{PARENTS}acl x dstdomain .example.com\ncache_peer_access a deny x\n");
    check(&access, &get(), "FIRSTUP_PARENT/1 HIER_DIRECT");
    check(
        &access,
        &Scene::new("http://example.org/"),
        "FIRSTUP_PARENT/0 ANY_OLD_PARENT/1 HIER_DIRECT",
    );
}

#[test]
fn siblings_are_no_way_to_fetch() {
    check(
        "cache_peer s sibling 3128 0 no-query\n",
        &get(),
        "HIER_DIRECT",
    );
}

#[test]
fn an_accelerator_balances_over_its_origins_and_never_goes_direct() {
    let rules = rules(ORIGINS);
    let turns = Turns::default();
    let scene = get();
    let next = || shown(choose(&rules, &scene.facts(), ACCEL, &ALL_UP, &turns));
    let seen: Vec<_> = (0..4).map(|_| next()).collect();
    let (first, second) = (
        "ROUNDROBIN_PARENT/0 ANY_OLD_PARENT/1",
        "ROUNDROBIN_PARENT/1 ANY_OLD_PARENT/0",
    );
    assert_eq!(seen, [first, second, first, second]);
    check_in(ORIGINS, &get().method("POST"), ACCEL, &ALL_UP, first);
}

#[test]
fn turns_follow_weights() {
    let rules = rules(
        "cache_peer a parent 80 0 no-query round-robin weight=3\ncache_peer b parent 80 0 no-query round-robin\n",
    );
    let turns = Turns::default();
    let scene = get();
    let mut counts = [0; 2];
    for _ in 0..400 {
        let Choice::Hops(hops) = choose(&rules, &scene.facts(), ACCEL, &ALL_UP, &turns) else {
            panic!("asked")
        };
        let HopTo::Peer(index) = hops[0].to else {
            panic!("direct")
        };
        counts[index] += 1;
    }
    assert_eq!(counts, [300, 100]);
}

#[test]
fn an_origin_server_gets_no_tunnel_but_to_its_own_port() {
    let text = "cache_peer a parent 443 0 no-query originserver\nnever_direct allow all\n";
    check(text, &Scene::new("example.com:443"), "FIRSTUP_PARENT/0");
    check(text, &Scene::new("example.com:8443"), "");
}

#[test]
fn the_default_parent_is_the_last_resort() {
    let text = "cache_peer a parent 80 0 no-query default\nnever_direct allow all\n";
    let down = States {
        down: &[0],
        connections: 0,
    };
    check_in(text, &get(), Case::default(), &down, "DEFAULT_PARENT/0");
    check(text, &get(), "FIRSTUP_PARENT/0");
}

#[test]
fn lists_may_ask_first() {
    let text = format!("{PARENTS}acl here dst 192.0.2.0/24\nalways_direct allow here\n");
    let scene = get();
    let found = choose(
        &rules(&text),
        &scene.facts(),
        Case::default(),
        &ALL_UP,
        &Turns::default(),
    );
    assert_eq!(found, Choice::Ask(Question::Destination));
}
