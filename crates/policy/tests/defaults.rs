//! The default of `auto_approve`: replaced by whom, and whose approval confirms a call.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jm_policy::*;
use jm_types::{ApprovalMode, ToolEffect, Verdict};

/// A resolver that approves some tools: whose, and whether it is their `auto_approve`.
#[derive(Debug)]
struct Approves(Authority, bool, &'static [&'static str]);

impl Resolver for Approves {
    fn name(&self) -> &str {
        "script"
    }
    fn priority(&self) -> i32 {
        DOCUMENT
    }
    fn authority(&self) -> Authority {
        self.0
    }
    fn is_configuration(&self) -> bool {
        self.1
    }
    fn resolve(&self, facts: &CallFacts<'_>) -> Result<Option<ResolverAnswer>, ResolveError> {
        let is_approved = self.2.contains(&facts.tool);
        let reason = "script".to_owned();
        let answer = ResolverAnswer { verdict: Verdict::Allow, reason, is_confirmation: false };
        Ok(is_approved.then_some(answer))
    }
}

/// Toolset `flemma` with `$default`, `bash` on the allow list, and one resolver.
fn verdict(resolver: Approves, is_default: bool, tool: &str) -> Verdict {
    let tools: BTreeSet<&str> = ["read", "write", "edit", "bash"].into();
    let default = ["$default".to_owned()];
    let approval =
        ApprovalList::resolve(&default, &[], &BTreeMap::new(), BuiltIn::Named, &tools).unwrap();
    let mut policy = Policy {
        approval,
        approval_is_default: is_default,
        approvals_confirm: true,
        allowlist: ["bash".to_owned()].into(),
        ..Policy::of_mode(ApprovalMode::Prompt)
    };
    policy.chain.register(Arc::new(resolver));
    let (effect, floor) = match tool {
        "bash" => (ToolEffect::Runs, Floor::Confirmation),
        _ => (ToolEffect::Changes, Floor::None),
    };
    let facts = CallFacts { floor, ..CallFacts::of_tool(tool, effect) };
    policy.decide(&facts).decision.verdict
}

/// FL-APPROVE, FL-BUFFER: a list that somebody sets takes the default's place; a document that is not
/// trusted may keep a part of the default, and add nothing to it.
#[test]
fn the_default_gives_way_and_a_document_only_tightens() {
    use Authority::{Document, Person, Project};
    use Verdict::{Allow, Ask};
    const SOME: &[&str] = &["write", "bash"];
    for (whose, is_list, is_default, tool, expected) in [
        (Person, true, true, "write", Allow),
        (Person, true, true, "edit", Ask),
        (Person, true, true, "bash", Allow),
        (Person, true, false, "edit", Allow),
        (Person, false, true, "edit", Allow),
        (Person, false, true, "bash", Allow),
        (Document, true, true, "write", Allow),
        (Document, true, true, "edit", Ask),
        (Document, true, true, "bash", Ask),
        (Document, true, false, "edit", Allow),
        (Document, false, true, "edit", Allow),
        (Document, false, true, "bash", Ask),
        (Project, true, true, "edit", Allow),
        (Project, true, true, "bash", Ask),
    ] {
        let found = verdict(Approves(whose, is_list, SOME), is_default, tool);
        assert_eq!(found, expected, "{whose:?} list={is_list} default={is_default} {tool}");
    }
}
