//! The one place where it is decided if a call may run.
//!
//! Law: hard stops come first and nothing lifts them: switched off, deny list, deny rules, mode `deny` for
//! what nothing allows (the sandbox refuses before a call gets here). Then the resolver chain, whose first
//! answer counts; where none answers, the mode does. Then the call's own floor, which only a person meets.

use std::collections::BTreeSet;

use jm_shell::Readers;
use jm_types::{ApprovalMode, DenialReason, Verdict};

use crate::chain::{Asking, CONFIGURATION, ResolverAnswer, ResolverChain, ResolverFailure};
use crate::compiled_rules::{RuleAnswer, RuleBook};
use crate::decision::{Decision, Reason, RuleOrigin, Step};
use crate::facts::{ALIKE, CallFacts, Floor};
use crate::presets::ApprovalList;

const ASKED_AFTERWARDS: &str = "approval mode effects: asks when the command has ended";

/// All that decides about calls.
#[derive(Debug, Clone)]
pub struct Policy {
    /// False refuses every call.
    pub enabled: bool,
    /// The default answer where nothing else decides.
    pub mode: ApprovalMode,
    /// Tools that run without a question.
    pub allowlist: BTreeSet<String>,
    /// Tools that never run; no other setting lifts that.
    pub denylist: BTreeSet<String>,
    /// Denied by the program's own defaults: the person may lift it.
    pub denied_by_default: BTreeSet<String>,
    /// Of those, the ones that a person who is there may switch on when a call of them comes.
    pub opt_in: BTreeSet<String>,
    /// Mode `prompt` asks about side effects; reads run in any case.
    pub prompt_side_effects: bool,
    /// Rules of the configuration, of flags, and remembered answers.
    pub rules: RuleBook,
    /// `auto_approve`: tools and presets.
    pub approval: ApprovalList,
    /// Nobody wrote that list: a script's `auto_approve` takes its place.
    pub approval_is_default: bool,
    /// Commands that only read count as allowed beside the parts that a rule allows.
    pub readers: Readers,
    /// Commands that only read run without a question, confined to reading.
    pub runs_readers: bool,
    /// Toolset `flemma`: what `auto_approve` or a resolver approves needs no further confirmation.
    pub approvals_confirm: bool,
    /// The document to the letter: no rule and no remembered answer confirms a command beforehand.
    pub is_strict: bool,
    /// Resolvers beside the configuration.
    pub chain: ResolverChain,
}

/// A decision, and the resolvers that failed on the way to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The verdict with its reason.
    pub decision: Decision,
    /// Resolvers that could not answer, in the order of asking.
    pub failures: Vec<ResolverFailure>,
}

impl Policy {
    /// A policy with nothing but a mode: no lists, no rules, no resolvers.
    pub fn of_mode(mode: ApprovalMode) -> Self {
        Self {
            enabled: true,
            mode,
            allowlist: BTreeSet::new(),
            denylist: BTreeSet::new(),
            denied_by_default: BTreeSet::new(),
            opt_in: BTreeSet::new(),
            prompt_side_effects: true,
            rules: RuleBook::default(),
            approval: ApprovalList::default(),
            approval_is_default: true,
            readers: Readers::Allowed,
            runs_readers: false,
            approvals_confirm: false,
            is_strict: false,
            chain: ResolverChain::default(),
        }
    }

    /// The stops that need no look at the call's arguments.
    pub fn stop(&self, tool: &str) -> Option<Decision> {
        if !self.enabled {
            let reason = Reason::new(Step::Disabled, "approval is not enabled");
            return Some(Decision::denied(DenialReason::Disabled, reason));
        }
        if self.is_denied(tool) {
            return Some(self.denylisted(tool));
        }
        let alike = ALIKE.iter().find(|(one, _)| *one == tool).map(|(_, other)| *other);
        alike
            .filter(|other| self.is_denied_by_the_person(other))
            .map(|other| self.denylisted(other))
    }

    fn is_denied(&self, tool: &str) -> bool {
        self.denylist.contains(tool) && !self.opts_in(tool)
    }

    /// A tool that is off by default, and may be switched on by the answer to a question.
    pub fn opts_in(&self, tool: &str) -> bool {
        self.opt_in.contains(tool)
            && self.denied_by_default.contains(tool)
            && self.denylist.contains(tool)
    }

    /// The same policy with a tool switched on.
    #[must_use]
    pub fn switched_on(mut self, tool: &str) -> Self {
        if self.denied_by_default.remove(tool) {
            self.denylist.remove(tool);
        }
        self
    }

    fn is_denied_by_the_person(&self, tool: &str) -> bool {
        self.is_denied(tool) && !self.denied_by_default.contains(tool)
    }

    fn denylisted(&self, tool: &str) -> Decision {
        let tool_name = tool.to_owned();
        let (denial, origin) = if self.denied_by_default.contains(tool) {
            (DenialReason::OffByDefault { tool: tool_name }, RuleOrigin::BuiltIn)
        } else {
            (DenialReason::Denylisted { tool: tool_name }, RuleOrigin::Flag)
        };
        let reason = Reason::new(Step::DenyList, "on the deny list").with_rule(tool, origin);
        Decision::denied(denial, reason)
    }

    /// Decides about a call whose paths have passed the sandbox.
    pub fn decide(&self, facts: &CallFacts<'_>) -> Judged {
        let stop = self.stop(facts.tool).or_else(|| self.stop(facts.governing));
        let found = self.rules.answer(facts, self.readers);
        if let Some(decision) = stop.or_else(|| deny_rule(facts, found.as_ref())) {
            return Judged { decision, failures: Vec::new() };
        }
        let mut asking = self.chain.gather();
        let by_rules = self.configured(facts, found, &asking);
        let is_allowed =
            by_rules.as_ref().is_some_and(|(answer, _)| answer.verdict == Verdict::Allow);
        if self.mode == ApprovalMode::Deny && !is_allowed {
            let denial = DenialReason::NotAllowlisted { tool: facts.governing.to_owned() };
            let reason = Reason::new(Step::DenyMode, "approval mode deny");
            let decision = Decision::denied(denial, reason);
            return Judged { decision, failures: asking.failures };
        }
        if self.opts_in(facts.governing) || self.opts_in(facts.tool) {
            let reason = Reason::new(Step::OptIn, "commands are not turned on in this project yet");
            let decision = Decision::new(Verdict::Ask, reason);
            return Judged { decision, failures: asking.failures };
        }
        let answer = self.ask_chain(facts, by_rules, &mut asking);
        let is_confirmed = answer.as_ref().is_some_and(|(answer, _)| answer.is_confirmation);
        let decision = match answer {
            Some((answer, reason)) => self.answered(facts, &answer, reason),
            None => self.by_mode(facts),
        };
        let decision = ask_for_the_unknown(facts, decision, &asking);
        let decision = self.raise_to_floor(facts, decision, is_confirmed);
        Judged { decision, failures: asking.failures }
    }

    /// The configuration's own answer: a rule, the allow list, `auto_approve`.
    fn configured(
        &self,
        facts: &CallFacts<'_>,
        found: Option<RuleAnswer<'_>>,
        asking: &Asking,
    ) -> Option<(ResolverAnswer, Reason)> {
        if let Some(found) = found {
            let reason = Reason::new(Step::Resolver, format!("the rule `{}`", found.rule))
                .with_rule(found.rule.to_string(), found.rule.origin.clone())
                .matching(found.matched);
            let is_confirmation = found.verdict == Verdict::Allow && found.rule.command().is_some();
            let (answer, reason) = answer_of(found.verdict, reason);
            return Some((ResolverAnswer { is_confirmation, ..answer }, reason));
        }
        // Allowing a tool allows what it is for, and not what it does in place of another.
        let listed = self
            .allowlist
            .contains(facts.governing)
            .then(|| answer_of(Verdict::Allow, Reason::new(Step::Resolver, "on the allow list")));
        if listed.as_ref().is_some_and(|listed| !self.is_unconfirmed(facts, listed)) {
            return listed;
        }
        let is_replaced = self.approval_is_default && asking.has_configuration();
        let approved = if is_replaced { None } else { self.by_approval_list(facts) };
        approved.or(listed)
    }

    /// The answer of `auto_approve`.
    fn by_approval_list(&self, facts: &CallFacts<'_>) -> Option<(ResolverAnswer, Reason)> {
        let verdict = self.approval.answer(facts.tool, facts.effect)?;
        let text = match verdict {
            Verdict::Allow => "approved by auto_approve",
            Verdict::Ask | Verdict::Deny => "denied by a preset of auto_approve",
        };
        let (answer, reason) = answer_of(verdict, Reason::new(Step::Resolver, text));
        Some((ResolverAnswer { is_confirmation: self.approvals_confirm, ..answer }, reason))
    }

    /// Tells if an approval would be asked about all the same, while another one could confirm the call.
    fn is_unconfirmed(
        &self,
        facts: &CallFacts<'_>,
        (answer, _): &(ResolverAnswer, Reason),
    ) -> bool {
        self.approvals_confirm
            && facts.floor == Floor::Confirmation
            && answer.verdict == Verdict::Allow
            && !answer.is_confirmation
    }

    /// The configuration stands in the chain at its own priority.
    fn ask_chain(
        &self,
        facts: &CallFacts<'_>,
        configured: Option<(ResolverAnswer, Reason)>,
        asking: &mut Asking,
    ) -> Option<(ResolverAnswer, Reason)> {
        let above = asking.ask_while(facts, |priority| priority > CONFIGURATION);
        if let Some(answer) = above {
            return Some(self.named(answer));
        }
        if configured.as_ref().is_some_and(|found| !self.is_unconfirmed(facts, found)) {
            return configured;
        }
        let below = asking.ask_while(facts, |priority| priority <= CONFIGURATION);
        let below = below.map(|answer| self.named(answer)).or(configured);
        // A document may keep to the default that it stands in for, and no more.
        below.or_else(|| {
            let keeps_default = asking.agrees && self.approval_is_default;
            if keeps_default { self.by_approval_list(facts) } else { None }
        })
    }

    /// A resolver's answer, which counts as a confirmation where approvals do.
    fn named(&self, (resolver, answer): (String, ResolverAnswer)) -> (ResolverAnswer, Reason) {
        let reason = Reason::new(Step::Resolver, answer.reason.clone());
        let is_confirmation = answer.is_confirmation || self.approvals_confirm;
        (
            ResolverAnswer { is_confirmation, ..answer },
            Reason { resolver: Some(resolver), ..reason },
        )
    }

    fn answered(&self, facts: &CallFacts<'_>, answer: &ResolverAnswer, reason: Reason) -> Decision {
        match answer.verdict {
            Verdict::Deny => {
                let denial = DenialReason::Denylisted { tool: facts.tool.to_owned() };
                Decision::denied(denial, reason)
            }
            verdict @ (Verdict::Allow | Verdict::Ask) => Decision::new(verdict, reason),
        }
    }

    /// Tells whether the person decides about the call when it has ended: whatever it does, nothing of it counts
    /// before.
    pub fn is_asked_afterwards(&self, facts: &CallFacts<'_>) -> bool {
        self.mode == ApprovalMode::Effects && facts.is_held && !self.is_strict
    }

    fn by_mode(&self, facts: &CallFacts<'_>) -> Decision {
        let asks = self.prompt_side_effects && facts.effect.is_side_effecting();
        let (verdict, text) = match self.mode {
            ApprovalMode::Auto => (Verdict::Allow, "approval mode auto"),
            ApprovalMode::Deny => (Verdict::Deny, "approval mode deny"),
            ApprovalMode::Effects if self.is_asked_afterwards(facts) => {
                (Verdict::Allow, ASKED_AFTERWARDS)
            }
            ApprovalMode::Prompt | ApprovalMode::Effects if !facts.effect.is_side_effecting() => {
                (Verdict::Allow, "reads only")
            }
            ApprovalMode::Prompt | ApprovalMode::Effects if asks && facts.effect.is_command() => {
                (Verdict::Ask, "runs a program")
            }
            ApprovalMode::Prompt | ApprovalMode::Effects if asks => {
                (Verdict::Ask, "modifies files")
            }
            ApprovalMode::Prompt | ApprovalMode::Effects => {
                (Verdict::Allow, "approval mode prompt without prompt_side_effects")
            }
        };
        Decision::new(verdict, Reason::new(Step::Mode, text))
    }

    fn raise_to_floor(
        &self,
        facts: &CallFacts<'_>,
        decision: Decision,
        is_confirmed: bool,
    ) -> Decision {
        let is_met = match facts.floor {
            Floor::None => true,
            Floor::Confirmation => {
                is_confirmed && !self.is_strict || self.is_asked_afterwards(facts)
            }
            Floor::Person => false,
        };
        if is_met || decision.verdict != Verdict::Allow {
            return decision;
        }
        let text = match (facts.floor, facts.effect.is_command()) {
            (Floor::Person, _) if !facts.publishes.is_empty() => {
                "publishing a port needs approval every time"
            }
            (Floor::Person, true) => "this command needs approval every time",
            (Floor::Person, false) => "protected files need approval every time",
            (Floor::None | Floor::Confirmation, true) => "commands need approval",
            (Floor::None | Floor::Confirmation, false) => "this tool needs approval",
        };
        let text = text.to_owned();
        Decision::new(Verdict::Ask, Reason { step: Step::Floor, text, ..decision.reason })
    }
}

fn deny_rule(facts: &CallFacts<'_>, found: Option<&RuleAnswer<'_>>) -> Option<Decision> {
    let RuleAnswer { rule, matched, .. } = found.filter(|it| it.verdict == Verdict::Deny)?;
    let denial = DenialReason::Denylisted { tool: facts.tool.to_owned() };
    let reason = Reason::new(Step::DenyRule, format!("denied by the rule `{rule}`"))
        .with_rule(rule.to_string(), rule.origin.clone())
        .matching(matched.clone());
    Some(Decision::denied(denial, reason))
}

/// A side effect that somebody might have objected to, who could not be asked.
fn ask_for_the_unknown(facts: &CallFacts<'_>, decision: Decision, asking: &Asking) -> Decision {
    let is_open = decision.verdict == Verdict::Allow && facts.effect.is_side_effecting();
    let Some(unknown) = asking.unknown.as_ref().filter(|_| is_open) else { return decision };
    let text = format!("{} could not be asked: {}", unknown.resolver, unknown.message);
    let reason =
        Reason { resolver: Some(unknown.resolver.clone()), ..Reason::new(Step::Resolver, text) };
    Decision::new(Verdict::Ask, reason)
}

fn answer_of(verdict: Verdict, reason: Reason) -> (ResolverAnswer, Reason) {
    let text = reason.text.clone();
    (ResolverAnswer { verdict, reason: text, is_confirmation: false }, reason)
}
