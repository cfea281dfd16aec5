//! Planning: what shall become of each call, before any of them runs.
//!
//! Law: a call that is invalid, over a limit or not allowed is answered here and never asked about
//! (FR-VAL-02). Planning reads; it never changes anything.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use jm_tools::{Effect, Intent, Prepared, Preview, Scope, Use};
use jm_types::text::{one_line, redact, summarize};
use jm_types::{DenialReason, ErrorKind, RiskLevel, ToolCall, ToolError, ToolsMode, Verdict, json};
use jm_workspace::confine::Network;
use jm_workspace::worker::off_thread;
use jm_workspace::{Digest, Protection, ReadRecord};

use crate::batch::{ConfirmationRequest, Status};
use crate::engine::Core;
use crate::execute::{panicked, scope_of};
use crate::reply;
use crate::session::Session;

const SUMMARY_CHARACTERS: usize = 200;

/// What planning found out about a call.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) summary: String,
    /// The same, not cut.
    pub(crate) whole_summary: String,
    pub(crate) is_cut: bool,
    pub(crate) risk: Option<RiskLevel>,
    /// The tool, not only this call of it, changes nothing and runs nothing.
    pub(crate) only_reads: bool,
    pub(crate) rule: String,
    pub(crate) preview: Option<Preview>,
    /// Files whose lines a refusal shows.
    pub(crate) seen: Vec<(PathBuf, ReadRecord)>,
}

#[derive(Debug)]
pub(crate) enum Planned {
    Allowed(Facts),
    Asks(Facts, ConfirmationRequest),
    Refused { facts: Facts, error: ToolError },
}

/// Whether the effect is computed in advance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Always,
    /// Only where somebody will be shown it.
    WhenAsked,
}

/// Gives every new entry its disposition (FR-APR-02).
pub(crate) async fn plan_batch(core: &Arc<Core>, session: &mut Session) {
    let mut ids = HashSet::new();
    for index in 0..session.batch().entries.len() {
        let entry = &session.batch().entries[index];
        let is_duplicate = !ids.insert(entry.call.id.clone());
        if !matches!(entry.status, Status::New) {
            continue;
        }
        let call = entry.call.clone();
        let planned = match admit(core, session, index, is_duplicate) {
            Err(error) => refused(core, error),
            Ok(()) => plan_call(core, session, call, index, Look::WhenAsked).await,
        };
        settle(session, index, planned);
    }
}

/// What belongs to the batch rather than to the call.
fn admit(
    core: &Core,
    session: &Session,
    index: usize,
    is_duplicate: bool,
) -> Result<(), ToolError> {
    let call = &session.batch().entries[index].call;
    if core.mode == ToolsMode::Disabled || !core.policy.enabled {
        return Err(DenialReason::Disabled.into());
    }
    if session.iterations() > core.limits.iterations_per_turn {
        return Err(ToolError::limit("Max tool iterations reached")
            .hint("tools.max_tool_iterations_per_user_turn sets the limit"));
    }
    if index >= core.limits.calls_per_batch {
        return Err(ToolError::limit(format!(
            "too many tool calls in one message: only the first {} are run",
            core.limits.calls_per_batch
        ))
        .hint("send the remaining calls in the next message")
        .hint("tools.max_tool_calls_per_batch sets the limit"));
    }
    if is_duplicate {
        return Err(ToolError::new(ErrorKind::DuplicateToolCallId { id: call.id.clone() }));
    }
    Ok(())
}

/// One call by itself, as if it were alone in its batch.
pub(crate) async fn plan_one(core: &Arc<Core>, session: &Session, call: ToolCall) -> Planned {
    match core.mode {
        ToolsMode::Disabled => return refused(core, DenialReason::Disabled.into()),
        ToolsMode::ParseOnly => return refused(core, ToolError::new(ErrorKind::NotRunHere)),
        ToolsMode::Enabled => {}
    }
    plan_call(core, session, call, 0, Look::Always).await
}

/// On a thread of its own: a disk that hangs must not hang the engine.
async fn plan_call(
    core: &Arc<Core>,
    session: &Session,
    call: ToolCall,
    index: usize,
    look: Look,
) -> Planned {
    let own = Arc::clone(core);
    let freshness = Arc::clone(session.freshness());
    // Earlier calls of the batch may still make this one possible, so its failure to preview is
    // only final when none of them is left to run.
    let is_next = session.batch().entries[..index.min(session.batch().entries.len())]
        .iter()
        .all(|entry| entry.result().is_some());
    let timeout = core.default_timeout;
    let (name, session_id) = (call.name.clone(), session.id.clone());
    let work = off_thread(move || {
        let scope = scope_of(&own, freshness, session_id, &call.name);
        judge(&own, &call, &scope, is_next, look)
    });
    match tokio::time::timeout(timeout, work).await {
        Ok(Ok(planned)) => planned,
        Ok(Err(payload)) => refused(core, panicked(Some(&*payload))),
        Err(_) => {
            refused(core, ToolError::new(ErrorKind::Timeout { tool: name, elapsed: timeout }))
        }
    }
}

fn refused(core: &Core, error: ToolError) -> Planned {
    let facts = Facts { rule: rule_of(core, &error), ..Facts::default() };
    Planned::Refused { facts, error }
}

/// Parses and checks a call's arguments; the only way from text to a prepared call.
pub(crate) fn prepare(core: &Core, call: &ToolCall) -> Result<Box<dyn Prepared>, ToolError> {
    if let Some(no_call) = call.no_call() {
        return Err(ToolError::bad_args(no_call.why));
    }
    if let Err(reason) = core.policy.hard_stop(&call.name) {
        // The lists name tools of every toolset; what is not there cannot be allowed either.
        if matches!(reason, DenialReason::Denylisted { .. }) {
            core.registry.knows(&call.name)?;
        }
        let by_default = core.policy.denied_by_default.contains(&call.name);
        return Err(denied(reason, &call.name, by_default));
    }
    let tool = core.registry.lookup(&call.name)?;
    if call.arguments.len() > core.limits.args_bytes {
        return Err(ToolError::limit(format!(
            "the arguments have {} bytes; at most {} are accepted",
            call.arguments.len(),
            core.limits.args_bytes
        ))
        .hint("tools.max_tool_args_bytes sets the limit"));
    }
    let args = json::parse_strictly(&call.arguments)
        .map_err(|error| tool.refuse_arguments(format!("the arguments are not JSON: {error}")))?;
    core.registry.validate(&call.name, &args)?;
    tool.prepare(args, &core.limits)
}

fn denied(reason: DenialReason, tool: &str, is_default: bool) -> ToolError {
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

fn judge(core: &Core, call: &ToolCall, scope: &Scope, is_next: bool, look: Look) -> Planned {
    let prepared = match prepare(core, call) {
        Ok(prepared) => prepared,
        Err(error) => return refused(core, error),
    };
    let mut intent = prepared.intent();
    let summary = summarize(&intent.summary, SUMMARY_CHARACTERS);
    let mut facts = Facts {
        summary: summary.text,
        whole_summary: one_line(&redact(&intent.summary)),
        is_cut: summary.cut,
        risk: Some(intent.risk),
        only_reads: core.registry.lookup(&call.name).is_ok_and(|tool| !tool.is_side_effecting()),
        ..Facts::default()
    };
    let warnings = match preflight(core, &mut intent) {
        Ok(warnings) => warnings,
        Err(error) => {
            facts.rule = rule_of(core, &error);
            return Planned::Refused { facts, error };
        }
    };
    let ruling = core.policy.rule(&call.name, &intent);
    facts.rule = ruling.rule;
    if ruling.verdict == Verdict::Deny {
        let reason = DenialReason::NotAllowlisted { tool: call.name.clone() };
        let error = denied(reason, &call.name, false);
        return Planned::Refused { facts, error };
    }
    if ruling.verdict == Verdict::Allow && look == Look::WhenAsked {
        return Planned::Allowed(facts);
    }
    match prepared.preview(scope) {
        Ok(preview) => facts.preview = preview,
        Err(error) if is_next => {
            facts.seen = scope.seen.take();
            return Planned::Refused { facts, error };
        }
        Err(_) => {}
    }
    match ruling.verdict {
        Verdict::Ask => {
            let request = request(call, &facts, &intent, warnings);
            Planned::Asks(facts, request)
        }
        Verdict::Allow | Verdict::Deny => Planned::Allowed(facts),
    }
}

/// Which rule refused the call, if one did; of the sandbox what it compared (GO-DEBUG).
fn rule_of(core: &Core, error: &ToolError) -> String {
    let ErrorKind::SandboxViolation(reason) = &error.kind else { return String::new() };
    match reason {
        DenialReason::PathOutsideSandbox { attempted, .. }
        | DenialReason::DeniedPatternMatched { attempted, .. }
        | DenialReason::ProtectedPath { attempted, .. } => {
            one_line(&format!("sandbox: {}", core.workspace.sandbox.placed(attempted)))
        }
        DenialReason::Disabled if core.mode == ToolsMode::Disabled => {
            "tools mode disabled".to_owned()
        }
        DenialReason::Disabled => "approval is not enabled".to_owned(),
        DenialReason::Denylisted { .. } => "on the deny list".to_owned(),
        DenialReason::NotAllowlisted { .. }
        | DenialReason::DeniedByPerson { .. }
        | DenialReason::LimitsExceeded { .. } => String::new(),
    }
}

/// Every path through the sandbox; what is protected makes the call need a person.
fn preflight(core: &Core, intent: &mut Intent) -> Result<Vec<String>, ToolError> {
    let sandbox = &core.workspace.sandbox;
    let mut warnings = Vec::new();
    for wanted in &intent.paths {
        let path = wanted.resolve(sandbox)?;
        if wanted.purpose != Use::Write {
            continue;
        }
        match sandbox.protection(&path) {
            Protection::None => {}
            Protection::RunsInBuilds => warnings.push(format!("{} runs in builds", wanted.path)),
            Protection::NeedsPerson(why) => {
                intent.needs_person = true;
                // Protected files first: they are what the person must not overlook.
                warnings.insert(0, format!("{} is protected: {why}", wanted.path));
            }
            Protection::Never => sandbox.refuse_own(&path)?,
        }
    }
    if intent.effect == Effect::Runs {
        let open = unconfined(core);
        // Nobody runs what is not held in without being told what that leaves open.
        intent.needs_person |= !open.is_empty();
        warnings.extend(open);
        warnings.extend(listed(core));
    }
    Ok(warnings)
}

/// What a command could do beyond the sandbox: what was granted, and what cannot be enforced here.
fn unconfined(core: &Core) -> Vec<String> {
    let confiner = &core.workspace.confiner;
    let environment = core.workspace.environment.sanitize(std::env::vars_os());
    let mut open = confiner.plan(&core.workspace.sandbox, &environment).gaps;
    let settings = confiner.settings();
    open.extend(settings.writable.iter().map(|path| format!("it may write {}", path.display())));
    match settings.network {
        Network::On => open.push("it may use the network".to_owned()),
        Network::Listed(_) | Network::Off => {}
    }
    open
}

/// The hosts it may reach. A person wrote them down and the gate holds a command to them, so they are
/// told and need no question of their own.
fn listed(core: &Core) -> Option<String> {
    match &core.workspace.confiner.settings().network {
        Network::Listed(list) => Some(format!("it may reach {list}")),
        Network::On | Network::Off => None,
    }
}

fn request(
    call: &ToolCall,
    facts: &Facts,
    intent: &Intent,
    mut warnings: Vec<String>,
) -> ConfirmationRequest {
    warnings.extend(facts.preview.iter().flat_map(|preview| preview.warnings.clone()));
    ConfirmationRequest {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        summary: facts.summary.clone(),
        is_cut: facts.is_cut,
        risk_level: intent.risk,
        rule: facts.rule.clone(),
        needs_person: intent.needs_person,
        warnings,
        preview: facts.preview.as_ref().map(|preview| preview.text.clone()),
        fingerprint: fingerprint(call, facts.preview.as_ref()),
    }
}

/// Of all that an approval depends on: the call, and the files as they were shown.
fn fingerprint(call: &ToolCall, preview: Option<&Preview>) -> String {
    let mut facts = format!("{}\0{}\0{}\0", call.id, call.name, call.arguments);
    for (path, digest) in preview.iter().flat_map(|preview| &preview.files) {
        let digest = digest.map_or_else(|| "missing".to_owned(), |digest| digest.to_string());
        facts.push_str(&format!("{}\0{digest}\0", path.display()));
    }
    Digest::of(facts.as_bytes()).to_string()
}

/// An approval counts for what was shown. If that has changed, the call is planned anew.
pub(crate) async fn still_holds(
    core: &Arc<Core>,
    session: &mut Session,
    index: usize,
    approved: Option<String>,
) -> bool {
    let Some(approved) = approved else { return true };
    let call = session.batch().entries[index].call.clone();
    let planned = plan_call(core, session, call, index, Look::WhenAsked).await;
    match &planned {
        Planned::Asks(_, request) if request.fingerprint == approved => return true,
        Planned::Allowed(_) | Planned::Asks(..) | Planned::Refused { .. } => {}
    }
    settle(session, index, planned);
    !session.batch().awaits_a_person()
}

fn settle(session: &mut Session, index: usize, planned: Planned) {
    let form = session.form();
    let entry = &mut session.batch_mut().entries[index];
    let (facts, status) = match planned {
        Planned::Allowed(facts) => (facts, Status::Approved { fingerprint: None }),
        Planned::Asks(facts, request) => (facts, Status::Pending(request)),
        Planned::Refused { facts, error } => {
            (facts, Status::Done(reply::refused(form, &entry.call, &error)))
        }
    };
    entry.summary = facts.summary;
    entry.rule = facts.rule;
    entry.risk = facts.risk;
    entry.only_reads = facts.only_reads;
    entry.status = status;
    entry.seen.clone_from(&facts.seen);
    for (path, record) in facts.seen {
        session.freshness_mut().record(path, record);
    }
}
