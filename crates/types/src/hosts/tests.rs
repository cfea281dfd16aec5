//! Spellings of hosts, and which lists are wider than others.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use super::*;

fn list(rules: &[&str]) -> HostList {
    HostList::new(rules.iter().map(|rule| rule.parse().unwrap()).collect()).unwrap()
}

#[test]
fn a_rule_has_one_spelling() {
    let cases = [
        ("example.org", "example.org"),
        (" Example.ORG. ", "example.org"),
        ("*.Example.org", "*.example.org"),
        ("example.org:8080", "example.org:8080"),
        ("example.org:*", "example.org:*"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("BÜCHER。example", "xn--bcher-kva.example"),
        ("192.0.2.1", "192.0.2.1"),
        ("[2001:DB8::1]:443", "[2001:db8::1]:443"),
        ("2001:db8::1", "[2001:db8::1]"),
        ("[::ffff:192.0.2.1]:80", "192.0.2.1:80"),
        ("localhost:3000", "localhost:3000"),
        ("under_score.example", "under_score.example"),
    ];
    for (written, expected) in cases {
        let rule: HostRule = written.parse().unwrap();
        assert_eq!(rule.to_string(), expected, "{written}");
        assert_eq!(rule.to_string().parse::<HostRule>().unwrap(), rule, "{written}");
    }
}

#[test]
fn what_is_no_host_is_refused() {
    for written in [
        "",
        " ",
        "*",
        "*.*",
        "a.*.org",
        "*example.org",
        "https://example.org",
        "example.org/path",
        "user@example.org",
        "example.org:",
        "example.org:0",
        "example.org:65536",
        "example.org:+80",
        "example.org:http",
        "a..b",
        ".a",
        "a b.org",
        "a\nb",
        "127.1",
        "2130706433",
        "0x7f.1.0x1",
        "0x7f000001",
        "[::1",
        "[example.org]",
        "[127.0.0.1]",
        "*.127.0.0.1",
        &"a.".repeat(130),
        &"a".repeat(64),
    ] {
        assert!(written.parse::<HostRule>().is_err(), "{written:?}");
    }
}

#[test]
fn only_what_is_listed_is_admitted() {
    let list = list(&["example.org", "*.rust-lang.org", "api.example.com:8443", "192.0.2.1:*"]);
    let cases = [
        ("example.org", 443, true),
        ("EXAMPLE.org.", 80, true),
        ("example.org", 8080, false),
        ("sub.example.org", 443, false),
        ("evilexample.org", 443, false),
        ("example.org.evil.net", 443, false),
        ("static.rust-lang.org", 443, true),
        ("a.b.rust-lang.org", 443, true),
        ("rust-lang.org", 443, false),
        ("evilrust-lang.org", 443, false),
        ("api.example.com", 8443, true),
        ("api.example.com", 443, false),
        ("192.0.2.1", 22, true),
        ("192.0.2.2", 22, false),
    ];
    for (host, port, expected) in cases {
        let host: Host = host.parse().unwrap();
        assert_eq!(list.admits(&host, port).is_some(), expected, "{host}:{port}");
    }
}

#[test]
fn a_list_that_opens_nothing_more_is_covered() {
    let cases: &[(&[&str], &[&str], bool)] = &[
        (&["a.org"], &["a.org"], true),
        (&["a.org"], &["a.org:443"], true),
        (&["a.org:443"], &["a.org"], false),
        (&["a.org"], &["a.org:22"], false),
        (&["a.org:*"], &["a.org", "a.org:22"], true),
        (&["*.a.org"], &["x.a.org", "*.y.a.org"], true),
        (&["*.a.org"], &["a.org"], false),
        (&["x.a.org"], &["*.a.org"], false),
        (&["a.org", "b.org"], &["b.org"], true),
        (&["a.org"], &["a.org", "b.org"], false),
    ];
    for (mine, theirs, expected) in cases {
        assert_eq!(list(mine).covers(&list(theirs)), *expected, "{mine:?} {theirs:?}");
    }
}

#[test]
fn what_is_denied_is_never_reached_and_what_is_asked_about_by_a_grant() {
    let rules = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<_>>();
    let left_out = HostExceptions::new(&rules(&["*.b.org"]), &rules(&["x.b.org", "c.org:22"]));
    let list = list(&["a.org", "*.b.org:*", "c.org:*"]).except(left_out.clone());
    let granted = rules(&["x.b.org:*", "y.b.org"]);
    let with_grants = granted.into_iter().fold(list.clone(), HostList::granting);
    let (yes, no) = (true, false);
    let cases = [
        ("a.org", 443, yes, yes),
        ("b.org", 443, no, no),
        ("y.b.org", 443, no, yes),
        ("y.b.org", 22, no, no),
        ("z.b.org", 443, no, no),
        ("x.b.org", 443, no, no),
        ("x.b.org", 9999, no, no),
        ("c.org", 443, yes, yes),
        ("c.org", 22, no, no),
    ];
    for (name, port, before, after) in cases {
        let host: Host = name.parse().unwrap();
        assert_eq!(list.admits(&host, port).is_some(), before, "{name}:{port}");
        assert_eq!(with_grants.admits(&host, port).is_some(), after, "{name}:{port} granted");
        let kept: HostList = serde_json::from_value(serde_json::json!(with_grants)).unwrap();
        assert_eq!(kept, with_grants);
    }
    assert_eq!(
        list.to_string(),
        "a.org, *.b.org:*, c.org:*; asks for *.b.org:*; never x.b.org:*, c.org:22"
    );
    let offers =
        [("y.b.org", yes), ("x.b.org", no), ("*.b.org", no), ("c.org", yes), ("c.org:*", no)];
    for (rule, expected) in offers {
        assert_eq!(left_out.may_be_granted(&rule.parse().unwrap()), expected, "{rule}");
    }
}
