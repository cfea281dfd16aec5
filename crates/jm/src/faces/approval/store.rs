//! Storing the rules of an answer "always", and putting them in force.
//!
//! Law: what could not be stored counts for this process all the same, and the person is told.

use anyhow::Result;
use jm_engine::Engine;
use jm_policy::{Policy, PolicyRule, RuleOrigin, RuleScope};
use jm_types::{
    ApprovalAnswer, ApprovalChoice, ApprovalQuestion, CallQuestion, OfferedScope, SessionId,
    Verdict,
};

use crate::approval::Subjects;
use crate::faces::print;
use crate::remembered;

/// The refusals after which a tool that is off is not asked about again in this project.
pub(crate) enum Declines {
    /// A person's no to switching it on.
    EveryNo,
    /// The calls with these ids.
    Named(Vec<String>),
}

impl Declines {
    fn include(&self, call: &CallQuestion) -> bool {
        match self {
            Declines::EveryNo => call.opts_in,
            Declines::Named(ids) => call.opts_in && ids.contains(&call.id),
        }
    }
}

/// Stores the rules of an answer, if it has any, and judges by them from here on.
pub(crate) fn remember(
    engine: &Engine,
    session: &SessionId,
    question: &ApprovalQuestion,
    (answer, declines): (&ApprovalAnswer, &Declines),
) -> Result<()> {
    for call in &question.calls {
        let (scope, seconds) = match answer.choice(&call.id) {
            ApprovalChoice::Always { scope, seconds } => (scope, seconds),
            ApprovalChoice::No { .. } if declines.include(call) => {
                decline(engine, call);
                continue;
            }
            ApprovalChoice::No { .. }
            | ApprovalChoice::Once
            | ApprovalChoice::KeepSome { .. }
            | ApprovalChoice::Edit { .. } => {
                continue;
            }
        };
        for offer in call.always.iter().filter(|offer| offer.scope == scope) {
            store(engine, session, &offer.rules, (scope, seconds))?;
        }
    }
    Ok(())
}

/// The tools that the call would have switched on stay off, and are not asked about again in this project.
fn decline(engine: &Engine, call: &CallQuestion) {
    let core = engine.core();
    let root = core.workspace.sandbox.working_root().path().to_string_lossy().into_owned();
    let mut policy = Policy::clone(&core.policy.now());
    for tool in call.always.first().iter().flat_map(|offer| &offer.rules) {
        policy.opt_in.remove(tool);
        if let Err(error) = remembered::decline(tool, &root) {
            print::note(&format!("jm: {error:#}; you will be asked again"));
        }
    }
    core.policy.replace(policy);
}

fn store(
    engine: &Engine,
    session: &SessionId,
    rules: &[String],
    (scope, seconds): (OfferedScope, Option<u64>),
) -> Result<()> {
    let core = engine.core();
    let root = core.workspace.sandbox.working_root().path().to_string_lossy().into_owned();
    let scope = match scope {
        OfferedScope::Session => RuleScope::Session { session: session.to_string() },
        OfferedScope::Project => RuleScope::Project { root },
        OfferedScope::Everywhere => RuleScope::Everywhere,
    };
    let numbers = match remembered::add(rules, &scope, seconds) {
        Ok(numbers) => numbers,
        Err(error) => {
            print::note(&format!("jm: {error:#}; the rule counts until this program ends"));
            vec![0; rules.len()]
        }
    };
    let subjects = Subjects::new();
    let mut parsed: Vec<PolicyRule> = Vec::new();
    for (rule, number) in rules.iter().zip(numbers) {
        let origin = RuleOrigin::Remembered { number };
        parsed.push(subjects.parse(rule, Verdict::Allow, origin)?);
    }
    let policy = Policy::clone(&core.policy.now());
    // An answer enables the tool of its rule, where that is off by default.
    let policy = parsed.iter().fold(policy, |policy, rule| policy.switched_on(&rule.tool));
    let rules = policy.rules.with(parsed)?;
    core.policy.replace(Policy { rules, ..policy });
    Ok(())
}
