//! Judgement of one call: its intent and what the sandbox says of it, as facts for the policy.
//!
//! Law: the facts come from the parsed call and the sandbox, never from the model's own words.

use jm_policy::{AlwaysOffer, CallFacts, Judged, ToolOrigin};
use jm_tools::Intent;
use jm_types::{ToolCall, ToolEvent, Verdict};

use crate::core::Core;
use crate::preflight::Preflight;

/// The policy's decision on a call, and the rules that an answer "always" would store.
pub(crate) struct Judgement {
    pub(crate) judged: Judged,
    pub(crate) always: Vec<AlwaysOffer>,
    /// It runs without a question, and what it changed is asked about.
    pub(crate) is_asked_afterwards: bool,
}

/// Asks the policy. A resolver that failed is told, and its opinion does not count.
pub(crate) fn judge(
    core: &Core,
    call: &ToolCall,
    intent: &Intent,
    preflight: &Preflight,
    is_held: bool,
) -> Judgement {
    let is_of_project =
        core.registry.lookup(&call.name).is_ok_and(|tool| tool.is_brought_by_project());
    let facts = CallFacts {
        id: &call.id,
        tool: &call.name,
        arguments: &call.arguments,
        governing: intent.stands_for.unwrap_or(&call.name),
        effect: intent.effect,
        risk: intent.risk,
        floor: preflight.floor,
        origin: if is_of_project { ToolOrigin::Project } else { ToolOrigin::Person },
        paths: preflight.paths.clone(),
        command: intent.command.as_ref(),
        pinned: intent.pinned.as_deref(),
        publishes: &intent.publishes,
        is_held,
    };
    let policy = core.policy.now();
    let judged = policy.decide(&facts);
    // A rule that the person wrote is their word to keep what the command changes.
    let is_unasked =
        judged.decision.verdict == Verdict::Allow && judged.decision.reason.rule.is_none();
    let is_asked_afterwards = is_unasked && policy.is_asked_afterwards(&facts);
    for failure in &judged.failures {
        let text = format!("approval resolver {}: {}", failure.resolver, failure.message);
        // Planning has no time to wait for a face; one whose channel is full has lost a notice.
        core.events
            .try_send(ToolEvent::Noticed { tool_call_id: call.id.clone(), text })
            .unwrap_or_default();
    }
    let always = match judged.decision.verdict {
        Verdict::Ask => policy.offers(&facts, true),
        Verdict::Allow | Verdict::Deny => Vec::new(),
    };
    Judgement { judged, always, is_asked_afterwards }
}
