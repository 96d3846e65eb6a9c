//! What lines become, and what is said about them.

use super::*;
use crate::{Config, parse};

fn port(text: &str) -> Port {
    let config = parse(&format!("http_port {text}"), "test").unwrap();
    config.ports.into_iter().next().unwrap()
}

fn accel(text: &str) -> Accel {
    match port(text).mode {
        PortMode::Accel(accel) => accel,
        PortMode::Forward | PortMode::Manager => panic!("not an accelerator"),
    }
}

fn ports(text: &str) -> Config {
    parse(&format!("http_port {text}"), "test").unwrap()
}

#[test]
fn a_port_may_have_an_address() {
    assert_eq!((port("3128").addr, port("3128").port), (None, 3128));
    assert_eq!(port("127.0.0.1:80").addr, Some([127, 0, 0, 1].into()));
    assert!(port("127.0.0.1:80").ipv4);
    assert_eq!(port("[::1]:80").addr, Some("::1".parse().unwrap()));
    assert_eq!(port("[::]:80").addr, None);
    assert_eq!(
        port("proxy.example:80").host.as_deref(),
        Some("proxy.example")
    );
}

#[test]
fn a_port_is_named_as_written_or_by_name() {
    assert_eq!(port("127.0.0.1:80").name, "127.0.0.1:80");
    assert_eq!(port("80 name=web").name, "web");
}

#[test]
fn accel_takes_the_host_field_unless_told_otherwise() {
    assert!(accel("80 accel").vhost);
    assert!(!accel("80 accel no-vhost").vhost);
    let all = accel(
        "80 accel defaultsite=a.example vport=81 protocol=HTTPS allow-direct act-as-origin ignore-cc",
    );
    assert_eq!(all.defaultsite.as_deref(), Some("a.example"));
    assert_eq!(
        (all.vport, &*all.protocol),
        (VirtualPort::Fixed(81), "https")
    );
    assert!(all.allow_direct && all.act_as_origin && all.ignore_cc);
}

#[test]
fn the_old_words_imply_accel_with_a_warning() {
    for text in [
        "80 vhost",
        "80 vport",
        "80 vport=8080",
        "80 defaultsite=a.example",
    ] {
        let config = ports(text);
        assert!(matches!(config.ports[0].mode, PortMode::Accel(_)), "{text}");
        assert_eq!(config.warnings.len(), 1, "{text}");
    }
}

#[test]
fn interception_and_proxy_headers_open_no_port_yet() {
    for text in [
        "80 intercept",
        "80 transparent",
        "80 tproxy",
        "80 require-proxy-header",
    ] {
        let config = ports(text);
        assert!(config.ports.is_empty(), "{text}");
        assert!(
            config.warnings[0]
                .message
                .starts_with("not yet: http_port "),
            "{text}"
        );
    }
}

#[test]
fn a_bumping_port_tunnels_for_now() {
    let config = ports("3128 ssl-bump cert=/a.pem generate-host-certificates=on");
    assert_eq!(config.ports[0].mode, PortMode::Forward);
    assert_eq!(config.warnings[0].message, "not yet: http_port ssl-bump");
}

#[test]
fn socket_options_are_read() {
    let secs = Duration::from_secs;
    let keepalive = KeepAlive {
        idle: secs(60),
        interval: secs(30),
        timeout: Duration::ZERO,
    };
    assert_eq!(port("80 tcpkeepalive=60,30").keepalive, Some(keepalive));
    assert_eq!(
        port("80 disable-pmtu-discovery=always").pmtu_discovery,
        PmtuDiscovery::Off
    );
    assert!(!port("80 no-connection-auth").connection_auth);
}

#[test]
fn options_that_are_not_obeyed_are_named() {
    let check = |text: &str, said: &[&str]| {
        let config = ports(text);
        let found = config.warnings.iter().map(|found| &*found.message);
        assert!(
            found.eq(said.iter().copied()),
            "{text}: {:?}",
            config.warnings
        );
    };
    check(
        "80 accel act-as-origin no-connection-auth disable-pmtu-discovery=always",
        &[
            "not yet: http_port act-as-origin",
            "not yet: http_port disable-pmtu-discovery=always",
        ],
    );
    check("80 urlgroup=x", &["not yet: http_port urlgroup="]);
    let usual = "80 connection-auth=on disable-pmtu-discovery=transparent worker-queues";
    check(usual, &[]);
}

#[test]
fn nonsense_is_fatal() {
    let bad = [
        "",
        "0",
        "65536",
        "web",
        "1.2.3.4",
        "::1:80",
        "80 frobnicate",
        "80 vport=x",
        "80 accel intercept",
        "80 intercept vhost",
        "80 tcpkeepalive=1,2,3,4",
    ];
    for text in bad {
        assert!(
            parse(&format!("http_port {text}"), "test").is_err(),
            "{text}"
        );
    }
}

#[test]
fn ports_for_pages_come_after_those_for_clients() {
    let config = parse(
        "manager_port 10.0.0.1:3129\nhttp_port 3128\nmanager_port [::1]:9\n",
        "test",
    );
    let ports = config.unwrap().ports;
    let found: Vec<_> = ports.iter().map(|port| (port.port, &port.mode)).collect();
    let (clients, pages) = (&PortMode::Forward, &PortMode::Manager);
    assert_eq!(found, [(3128, clients), (3129, pages), (9, pages)]);
    parse("manager_port nine", "test").unwrap_err();
}
