//! The evaluation order as one exhaustive table: every combination of what can speak about a call.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::collections::BTreeSet;
use std::sync::Arc;

use jm_policy::*;
use jm_types::{ApprovalMode, ToolEffect, Verdict};

/// The lists that name the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Listed {
    No,
    Allowed,
    Denied,
    Both,
    /// Denied by default, and a person who is there may switch it on.
    Off,
}

/// One combination.
#[derive(Debug, Clone, Copy)]
struct Case {
    enabled: bool,
    mode: ApprovalMode,
    prompts: bool,
    listed: Listed,
    effect: ToolEffect,
    floor: Floor,
    is_strict: bool,
    rule: Option<Verdict>,
    /// A resolver above the configuration, and one below; the flag says that it confirms.
    above: Option<(Verdict, bool)>,
    below: Option<(Verdict, bool)>,
}

/// The order in words, one clause after the other; the first that applies decides.
fn expected(case: &Case) -> Verdict {
    use Verdict::{Allow, Ask, Deny};
    let is_allowlisted = matches!(case.listed, Listed::Allowed | Listed::Both);
    let configured = match (case.rule, is_allowlisted) {
        (Some(Ask), _) => Some(Ask),
        (Some(Allow), _) | (None, true) => Some(Allow),
        (Some(Deny), _) | (None, false) => None,
    };
    // 1. Switched off. 2. The deny list. 3. A rule that denies. 4. Mode deny, unless allowed.
    let is_denied = matches!(case.listed, Listed::Denied | Listed::Both);
    let is_stopped = !case.enabled || is_denied || case.rule == Some(Deny);
    if is_stopped || (case.mode == ApprovalMode::Deny && configured != Some(Allow)) {
        return Deny;
    }
    // Off by default: whatever allows it, the person is asked first.
    if case.listed == Listed::Off {
        return Ask;
    }
    // 5. The chain: above the configuration, the configuration, below it. 6. The mode.
    let answer = case.above.or(configured.map(|verdict| (verdict, false))).or(case.below);
    let by_mode = match case.mode {
        ApprovalMode::Prompt | ApprovalMode::Effects
            if case.prompts && case.effect.is_side_effecting() =>
        {
            Ask
        }
        ApprovalMode::Auto | ApprovalMode::Effects | ApprovalMode::Prompt | ApprovalMode::Deny => {
            Allow
        }
    };
    let (verdict, is_confirmed) = answer.unwrap_or((by_mode, false));
    // 7. The floor: a person's confirmation given beforehand meets the tool's own wish, unless strict.
    let is_met = match case.floor {
        Floor::None => true,
        Floor::Confirmation => is_confirmed && !case.is_strict,
        Floor::Person => false,
    };
    if is_met { verdict } else { verdict.max(Ask) }
}

#[derive(Debug)]
struct Says(&'static str, i32, Verdict, bool);

impl Resolver for Says {
    fn name(&self) -> &str {
        self.0
    }
    fn priority(&self) -> i32 {
        self.1
    }
    fn resolve(&self, _: &CallFacts<'_>) -> Result<Option<ResolverAnswer>, ResolveError> {
        let reason = self.0.to_owned();
        Ok(Some(ResolverAnswer { verdict: self.2, reason, is_confirmation: self.3 }))
    }
}

fn policy(case: &Case) -> Policy {
    let names = |is_listed: bool| -> BTreeSet<String> {
        is_listed.then(|| "tool".to_owned()).into_iter().collect()
    };
    let mut chain = ResolverChain::default();
    for (name, priority, says) in [("above", 110, case.above), ("below", THIRD_PARTY, case.below)] {
        if let Some((verdict, confirms)) = says {
            chain.register(Arc::new(Says(name, priority, verdict, confirms)));
        }
    }
    let rule =
        |verdict| PolicyRule::parse("tool", verdict, RuleOrigin::Flag, |_| Subject::Paths).unwrap();
    Policy {
        enabled: case.enabled,
        mode: case.mode,
        allowlist: names(matches!(case.listed, Listed::Allowed | Listed::Both)),
        denylist: names(matches!(case.listed, Listed::Denied | Listed::Both | Listed::Off)),
        denied_by_default: names(case.listed == Listed::Off),
        opt_in: names(case.listed == Listed::Off),
        prompt_side_effects: case.prompts,
        rules: RuleBook::new(case.rule.map(rule).into_iter().collect(), Vec::new()).unwrap(),
        readers: jm_shell::Readers::Allowed,
        runs_readers: false,
        approval: ApprovalList::default(),
        approval_is_default: true,
        approvals_confirm: false,
        is_strict: case.is_strict,
        chain,
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let says = [
        None,
        Some((Verdict::Allow, false)),
        Some((Verdict::Allow, true)),
        Some((Verdict::Ask, false)),
        Some((Verdict::Deny, false)),
    ];
    let rules = [None, Some(Verdict::Allow), Some(Verdict::Ask), Some(Verdict::Deny)];
    for enabled in [true, false] {
        for mode in
            [ApprovalMode::Auto, ApprovalMode::Effects, ApprovalMode::Prompt, ApprovalMode::Deny]
        {
            for prompts in [true, false] {
                use Listed::{Allowed, Both, Denied, No, Off};
                for listed in [No, Allowed, Denied, Both, Off] {
                    use ToolEffect::{Changes, Inspects, Reads, Runs};
                    for effect in [Reads, Inspects, Changes, Runs] {
                        for floor in [Floor::None, Floor::Confirmation, Floor::Person] {
                            for is_strict in [false, true] {
                                for rule in rules {
                                    for above in says {
                                        cases.extend(says.map(|below| Case {
                                            enabled,
                                            mode,
                                            prompts,
                                            listed,
                                            effect,
                                            floor,
                                            is_strict,
                                            rule,
                                            above,
                                            below,
                                        }));
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    cases
}

/// FR-APR-02, FR-APR-04, FR-APR-04a..e, FR-APR-05, FL-RESOLVE
#[test]
fn every_combination_is_decided_by_the_order() {
    let cases = cases();
    assert_eq!(cases.len(), 2 * 4 * 2 * 5 * 4 * 3 * 2 * 4 * 25);
    for case in &cases {
        let facts = CallFacts { floor: case.floor, ..CallFacts::of_tool("tool", case.effect) };
        let found = policy(case).decide(&facts).decision;
        assert_eq!(found.verdict, expected(case), "{case:?}: {found:?}");
        assert_eq!(found.denial.is_some(), found.verdict == Verdict::Deny, "{case:?}");
    }
}

/// Laws that hold whatever else is said, stated apart from the order above.
#[test]
fn no_combination_lifts_a_stop_or_a_person() {
    for case in &cases() {
        let facts = CallFacts { floor: case.floor, ..CallFacts::of_tool("tool", case.effect) };
        let verdict = policy(case).decide(&facts).decision.verdict;
        let is_stopped = !case.enabled
            || matches!(case.listed, Listed::Denied | Listed::Both)
            || case.rule == Some(Verdict::Deny);
        assert!(!is_stopped || verdict == Verdict::Deny, "a stop was lifted: {case:?}");
        assert!(
            case.floor != Floor::Person || verdict != Verdict::Allow,
            "a person was passed over: {case:?}"
        );
        let is_strict_command = case.is_strict && case.floor == Floor::Confirmation;
        assert!(!is_strict_command || verdict != Verdict::Allow, "a command ran unasked: {case:?}");
    }
}
