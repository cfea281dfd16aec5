//! The cost of a decision over 200 rules and three resolvers; the command is parsed beforehand.
//!
//! A plain program: `cargo bench -p jm-policy`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench prints, and stops where it fails"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jm_policy::*;
use jm_shell::CommandLine;
use jm_types::{ApprovalMode, RiskLevel, ToolEffect, Verdict};

const ROUNDS: usize = 20_000;

/// A resolver that passes every call on, after a look at it.
#[derive(Debug)]
struct Passes(&'static str, i32);

impl Resolver for Passes {
    fn name(&self) -> &str {
        self.0
    }

    fn priority(&self) -> i32 {
        self.1
    }

    fn resolve(&self, facts: &CallFacts<'_>) -> Result<Option<ResolverAnswer>, ResolveError> {
        let is_known = facts.tool == "nobody_has_this" && facts.arguments.contains("x");
        let reason = "known".to_owned();
        let answer = || ResolverAnswer { verdict: Verdict::Deny, reason, is_confirmation: false };
        Ok(is_known.then(answer))
    }
}

/// 120 rules about commands, 60 about paths, 20 about tools.
fn rules() -> Vec<PolicyRule> {
    let commands = (0..120).map(|number| {
        let text = match number % 4 {
            0 => format!("run_command: program{number} *"),
            1 => format!("run_command: cargo task{number} *"),
            2 => format!("run_command: git verb{number} --quiet *"),
            _ => format!("run_command: npm run script{number}"),
        };
        (text, if number % 10 == 0 { Verdict::Deny } else { Verdict::Allow })
    });
    let used = [("run_command: cargo test *", Verdict::Allow)];
    let used = used.map(|(text, verdict)| (text.to_owned(), verdict));
    let paths = (0..60).map(|number| {
        let verdict = if number % 3 == 0 { Verdict::Ask } else { Verdict::Allow };
        (format!("edit_file: src/module{number}/**/*.rs"), verdict)
    });
    let tools = (0..19).map(|number| (format!("tool_{number}"), Verdict::Ask));
    let all = commands.chain(used).chain(paths).chain(tools);
    let subject = |tool: &str| match tool {
        "run_command" => Subject::Commands,
        _ => Subject::Paths,
    };
    all.map(|(text, verdict)| PolicyRule::parse(&text, verdict, RuleOrigin::Flag, subject).unwrap())
        .collect()
}

fn policy() -> Policy {
    let rules = rules();
    assert_eq!(rules.len(), 200);
    let mut policy = Policy {
        rules: RuleBook::new(rules, vec!["/home/me/project".to_owned()]).unwrap(),
        ..Policy::of_mode(ApprovalMode::Prompt)
    };
    for (name, priority) in [("one", 120), ("two", DOCUMENT), ("three", THIRD_PARTY)] {
        policy.chain.register(Arc::new(Passes(name, priority)));
    }
    policy
}

fn main() {
    let policy = policy();
    let line = CommandLine::of_shell("cd crates && timeout 60 cargo test -q 2>&1 | tail -n 20");
    let allowed = CallFacts {
        command: Some(&line),
        risk: RiskLevel::Medium,
        floor: Floor::Confirmation,
        ..CallFacts::of_tool("run_command", ToolEffect::Runs)
    };
    let other = CommandLine::of_shell("make all; ./configure --prefix=/usr");
    let asked = CallFacts { command: Some(&other), ..allowed.clone() };
    let path = |path: &str| TouchedPath { path: path.to_owned(), is_written: true };
    let edit = CallFacts {
        paths: vec![path("src/module40/deep/file.rs")],
        ..CallFacts::of_tool("edit_file", ToolEffect::Changes)
    };
    let read = CallFacts::of_tool("read_file", ToolEffect::Reads);
    println!("{:48} {:>12} {:>12}", "200 rules, 3 resolvers", "p50", "p99");
    for (name, facts, verdict) in [
        ("a command of three parts, allowed by a rule", &allowed, Verdict::Allow),
        ("a command that no rule knows", &asked, Verdict::Ask),
        ("an edit of a file", &edit, Verdict::Allow),
        ("a read", &read, Verdict::Allow),
    ] {
        assert_eq!(policy.decide(facts).decision.verdict, verdict, "{name}");
        measure(name, || {
            black_box(policy.decide(black_box(facts)));
        });
    }
}

fn measure(name: &str, mut run: impl FnMut()) {
    let mut all: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            run();
            began.elapsed()
        })
        .collect();
    all.sort_unstable();
    let (p50, p99) = (all[ROUNDS / 2], all[ROUNDS * 99 / 100]);
    println!("{name:48} {:>12} {:>12}", format!("{p50:.2?}"), format!("{p99:.2?}"));
}
