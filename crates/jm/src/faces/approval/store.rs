//! Storing the rules of an answer "always", and putting them in force.
//!
//! Law: what could not be stored counts for this process all the same, and the person is told.

use anyhow::Result;
use jm_engine::Engine;
use jm_policy::{Policy, RuleOrigin, RuleScope};
use jm_types::{
    ApprovalAnswer, ApprovalChoice, ApprovalQuestion, OfferedScope, SessionId, Verdict,
};

use crate::approval::Subjects;
use crate::faces::print;
use crate::remembered;

/// Stores the rules of an answer, if it has any, and judges by them from here on.
pub(crate) fn remember(
    engine: &Engine,
    session: &SessionId,
    question: &ApprovalQuestion,
    answer: &ApprovalAnswer,
) -> Result<()> {
    for call in &question.calls {
        let ApprovalChoice::Always { scope, seconds } = answer.choice(&call.id) else { continue };
        for offer in call.always.iter().filter(|offer| offer.scope == scope) {
            store(engine, session, &offer.rules, (scope, seconds))?;
        }
    }
    Ok(())
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
    let subjects = Subjects::new()?;
    let mut parsed = Vec::new();
    for (rule, number) in rules.iter().zip(numbers) {
        let origin = RuleOrigin::Remembered { number };
        parsed.push(subjects.parse(rule, Verdict::Allow, origin)?);
    }
    let policy = Policy::clone(&core.policy.now());
    let rules = policy.rules.with(parsed)?;
    core.policy.replace(Policy { rules, ..policy });
    Ok(())
}
