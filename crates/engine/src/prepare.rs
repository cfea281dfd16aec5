//! Preparing: from the text of a call to the parsed call.
//!
//! Law: this is the only way from text to a prepared call. What the policy or a limit refuses is refused
//! before the arguments are looked at.

use jm_tools::Prepared;
use jm_types::{DenialReason, ErrorKind, ToolCall, ToolError, json};

use crate::core::Core;

/// Parses and checks a call's arguments; the only way from text to a prepared call.
pub(crate) fn prepare(core: &Core, call: &ToolCall) -> Result<Box<dyn Prepared>, ToolError> {
    if let Some(no_call) = call.no_call() {
        return Err(ToolError::bad_args(no_call.why));
    }
    if let Err(error) = hard_stop(core, call) {
        // The lists name tools of every toolset; what is not there cannot be allowed either.
        if matches!(error.kind, ErrorKind::SandboxViolation(DenialReason::Denylisted { .. })) {
            core.registry.knows(&call.name)?;
        }
        return Err(core.registry.in_own_words(&call.name, error));
    }
    let tool = core.registry.lookup(&call.name)?;
    check_size(core, call)?;
    let args = json::parse_strictly(&call.arguments)
        .map_err(|error| tool.refuse_arguments(format!("the arguments are not JSON: {error}")))?;
    core.registry.validate(&call.name, &args)?;
    let prepared = tool.prepare(args, &core.limits)?;
    let intent = prepared.intent();
    match core.policy.hard_stop_of(&intent) {
        Ok(()) => Ok(prepared),
        Err(reason) => {
            let governing = intent.stands_for.unwrap_or(&call.name);
            let by_default = core.policy.denied_by_default.contains(governing);
            Err(denied(reason, governing, by_default))
        }
    }
}

/// Applies the policy's stops that need no look at the call itself.
pub(crate) fn hard_stop(core: &Core, call: &ToolCall) -> Result<(), ToolError> {
    let by_default = core.policy.denied_by_default.contains(&call.name);
    let stop = core.policy.hard_stop(&call.name);
    stop.map_err(|reason| denied(reason, &call.name, by_default))
}

/// Refuses arguments that are too long (FR-LIM-03).
pub(crate) fn check_size(core: &Core, call: &ToolCall) -> Result<(), ToolError> {
    if call.arguments.len() <= core.limits.args_bytes {
        return Ok(());
    }
    Err(ToolError::limit(format!(
        "the arguments have {} bytes; at most {} are accepted",
        call.arguments.len(),
        core.limits.args_bytes
    ))
    .hint("tools.max_tool_args_bytes sets the limit"))
}

/// A denial, with the way to lift it where a person can.
pub(crate) fn denied(reason: DenialReason, tool: &str, is_default: bool) -> ToolError {
    let hint = match &reason {
        DenialReason::Denylisted { .. } if !is_default => Some(
            "`--deny` or `tools.approval.denylist` denies it, and a denial always wins".to_owned(),
        ),
        DenialReason::Denylisted { .. } | DenialReason::NotAllowlisted { .. } => {
            Some(format!("a person can allow it: --allow {tool}"))
        }
        _ => None,
    };
    hint.into_iter().fold(ToolError::from(reason), ToolError::hint)
}
