//! Rules about commands inside the whole policy: what runs unasked, what is offered, what is explained.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use jm_policy::*;
use jm_shell::CommandLine;
use jm_types::{ApprovalMode, ToolEffect, Verdict};

fn policy(rules: &[(&str, Verdict)], is_strict: bool) -> Policy {
    let parse = |(text, verdict): &(&str, Verdict)| {
        PolicyRule::parse(text, *verdict, RuleOrigin::Flag, |_| Subject::Commands).unwrap()
    };
    let rules = RuleBook::new(rules.iter().map(parse).collect(), vec!["/ws".into()]).unwrap();
    Policy { rules, is_strict, ..Policy::of_mode(ApprovalMode::Prompt) }
}

fn facts(line: &CommandLine) -> CallFacts<'_> {
    CallFacts {
        floor: Floor::Confirmation,
        command: Some(line),
        ..CallFacts::of_tool("run_command", ToolEffect::Runs)
    }
}

const RULES: &[(&str, Verdict)] = &[
    ("run_command: cargo test *", Verdict::Allow),
    ("run_command: git commit *", Verdict::Allow),
    ("run_command: git push *", Verdict::Ask),
    ("run_command: cargo publish *", Verdict::Deny),
];

/// A rule that the person wrote is the confirmation of a command, given beforehand.
#[test]
fn a_rule_confirms_a_command_and_the_strictest_part_wins() {
    use Verdict::{Allow, Ask, Deny};
    let policy = policy(RULES, false);
    for (command, expected) in [
        ("cargo test --workspace", Allow),
        ("cargo test && git commit -m x", Allow),
        ("ls && cargo test | tail -3", Allow),
        ("cargo build", Ask),
        ("cargo test; rm -rf /", Ask),
        ("cargo test && git push", Ask),
        ("cargo publish", Deny),
        ("cargo test && cargo publish", Deny),
        ("$(cat x)", Ask),
    ] {
        let line = CommandLine::of_shell(command);
        let found = policy.decide(&facts(&line)).decision;
        assert_eq!(found.verdict, expected, "{command}: {found:?}");
    }
}

/// FR-APR-04e, FR-TOOL-CMD-01: to the letter, every command asks.
#[test]
fn a_strict_policy_asks_about_every_command() {
    let policy = policy(RULES, true);
    let line = CommandLine::of_shell("cargo test");
    assert_eq!(policy.decide(&facts(&line)).decision.verdict, Verdict::Ask);
    assert!(policy.offers(&facts(&line), true).is_empty());
}

#[test]
fn the_reason_names_the_rule_and_the_part() {
    let policy = policy(RULES, false);
    let line = CommandLine::of_shell("ls; cargo test -q");
    let reason = policy.decide(&facts(&line)).decision.reason;
    assert_eq!(reason.rule, Some(("run_command: cargo test *".into(), RuleOrigin::Flag)));
    assert_eq!(reason.matched.as_deref(), Some("cargo test -q"));
    assert_eq!(reason.step, Step::Resolver);
}

#[test]
fn what_always_would_store_is_offered_by_scope() {
    use OfferedScope::{Everywhere, Project, Session};
    let policy = policy(RULES, false);
    let cases: &[(&str, &[&str], &[OfferedScope])] = &[
        ("cargo build --release", &["run_command: cargo build *"], &[Session, Project]),
        ("cargo test && cargo build", &["run_command: cargo build *"], &[Session, Project]),
        ("rm -rf build", &[], &[]),
        ("git push", &[], &[]),
        ("python3 -c 'print(1)'", &[], &[]),
        ("mkdir -p a/b", &["run_command: mkdir *"], &[Session, Project, Everywhere]),
    ];
    for (command, rules, scopes) in cases {
        let line = CommandLine::of_shell(command);
        let offers = policy.offers(&facts(&line), true);
        let found: Vec<OfferedScope> = offers.iter().map(|offer| offer.scope).collect();
        assert_eq!(found, *scopes, "{command}: {offers:?}");
        assert!(offers.iter().all(|offer| offer.rules == *rules), "{command}: {offers:?}");
        assert!(policy.offers(&facts(&line), false).is_empty(), "what is cut offers nothing");
    }
}

#[test]
fn an_edit_offers_its_tool_in_this_project_and_never_a_protected_file() {
    let policy = policy(&[], false);
    let path = TouchedPath { path: "src/main.rs".into(), is_written: true };
    let edit =
        CallFacts { paths: vec![path], ..CallFacts::of_tool("edit_file", ToolEffect::Changes) };
    let offers = policy.offers(&edit, true);
    assert_eq!(
        offers.last().map(|offer| (offer.scope, offer.rules.clone())),
        Some((OfferedScope::Project, vec!["edit_file: **".into()]))
    );
    let protected = CallFacts { floor: Floor::Person, ..edit };
    assert!(policy.offers(&protected, true).is_empty());
}
