//! Preparing: from the text of a call to the parsed call.
//!
//! Law: this is the only way from text to a prepared call. What the policy or a limit refuses is refused
//! before the arguments are looked at.

use jm_policy::{Decision, Step};
use jm_tools::Prepared;
use jm_types::{DenialReason, ErrorCode, ToolCall, ToolError, json};

use crate::core::Core;

const DENIED_BY_RESOLVER: &str = "denied by the approval chain";

/// Parses and checks a call's arguments; the only way from text to a prepared call.
pub(crate) fn prepare(core: &Core, call: &ToolCall) -> Result<Box<dyn Prepared>, ToolError> {
    if let Some(no_call) = call.no_call() {
        return Err(ToolError::bad_args(no_call.why));
    }
    if let Err(error) = stop(core, &call.name) {
        // The lists name tools of every toolset; what is not there cannot be allowed either.
        if error.code() == ErrorCode::Denylisted {
            core.registry.knows(&call.name)?;
        }
        return Err(core.registry.in_own_words(&call.name, error));
    }
    let tool = core.registry.lookup(&call.name)?;
    check_size(core, call)?;
    let args = json::parse_strictly(&call.arguments)
        .map_err(|error| tool.refuse_arguments(format!("the arguments are not JSON: {error}")))?;
    tool.validate(&args)?;
    let prepared = tool.prepare(args, &core.limits)?;
    let intent = prepared.intent();
    match intent.stands_for {
        Some(governing) => stop(core, governing).map(|()| prepared),
        None => Ok(prepared),
    }
}

/// Applies the policy's stops that need no look at the call itself, for its tool or the one that governs it.
pub(crate) fn stop(core: &Core, tool: &str) -> Result<(), ToolError> {
    let policy = core.policy.now();
    match policy.stop(tool) {
        Some(decision) => Err(denied(&decision, tool)),
        None => Ok(()),
    }
}

/// Refuses arguments that are too long (FR-LIM-03).
pub(crate) fn check_size(core: &Core, call: &ToolCall) -> Result<(), ToolError> {
    if call.arguments.len() <= core.limits.args_bytes {
        return Ok(());
    }
    Err(ToolError::limit(format!(
        "the arguments have {} bytes; the limit is {}",
        call.arguments.len(),
        core.limits.args_bytes
    ))
    .hint("raise it with tools.max_tool_args_bytes"))
}

/// A denial, with the way to lift it where a person can.
pub(crate) fn denied(decision: &Decision, tool: &str) -> ToolError {
    let reason = decision.denial.clone().unwrap_or(DenialReason::Disabled);
    let hint = match (&reason, &decision.reason.rule) {
        (DenialReason::Denylisted { .. }, Some((rule, origin)))
            if decision.reason.step == Step::DenyRule =>
        {
            Some(format!("denied by the rule `{rule}` ({origin}); a denial always wins"))
        }
        (DenialReason::Denylisted { .. }, _) if decision.reason.step == Step::Resolver => {
            Some(format!("{}: {}", DENIED_BY_RESOLVER, decision.reason.text))
        }
        (DenialReason::Denylisted { .. }, _) => {
            Some("denied by `--deny` or `tools.approval.denylist`; a denial always wins".to_owned())
        }
        (DenialReason::OffByDefault { .. }, _) => Some(format!("enable it with `--allow {tool}`")),
        (DenialReason::NotAllowlisted { .. }, _) => Some(format!("allow it with `--allow {tool}`")),
        _ => None,
    };
    hint.into_iter().fold(ToolError::from(reason), ToolError::hint)
}
