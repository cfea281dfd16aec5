//! Planning: what shall become of each call, before any of them runs.
//!
//! Law: a call that is invalid, over a limit or not allowed is answered here and never asked about
//! (FR-VAL-02). Planning reads; it never changes anything.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use jm_tools::{Effect, Intent, Prepared, Preview, Scope, Use};
use jm_types::text::one_line::{SUMMARY_CHARACTERS, one_line, summarize};
use jm_types::text::redact_command;
use jm_types::{DenialReason, ErrorKind, RiskLevel, ToolCall, ToolError, ToolsMode, Verdict, json};
use jm_workspace::confine::Network;
use jm_workspace::worker::off_thread;
use jm_workspace::{Digest, Protection, ReadRecord};

use crate::ahead::Ahead;
use crate::batch::{ConfirmationRequest, Status};
use crate::engine::Core;
use crate::execute::{panicked, scope_of};
use crate::reply::{self, Form};
use crate::session::Session;

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
    /// It is a command that confinement keeps to reading.
    pub(crate) inspects: bool,
    pub(crate) rule: String,
    pub(crate) preview: Option<Preview>,
    /// Files whose lines a refusal shows.
    pub(crate) seen: Vec<(PathBuf, ReadRecord)>,
}

#[derive(Debug)]
pub(crate) enum Planned {
    Allowed(Facts),
    Asks(Facts, ConfirmationRequest),
    /// Its result comes from outside.
    Waits(Facts),
    Refused {
        facts: Facts,
        error: ToolError,
    },
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
    let mut ahead = Ahead::default();
    for index in 0..session.batch().entries.len() {
        let entry = &session.batch().entries[index];
        let is_duplicate = !ids.insert(entry.call.id.clone());
        let call = entry.call.clone();
        if !matches!(entry.status, Status::New) {
            if entry.result().is_none() {
                ahead.push(call);
            }
            continue;
        }
        let planned = match admit(core, session, index, is_duplicate) {
            Err(error) => refused(core, error),
            Ok(()) if core.mode == ToolsMode::ParseOnly => plan_wait(core, &call),
            Ok(()) => plan_call(core, session, call.clone(), &mut ahead, Look::WhenAsked).await,
        };
        settle(core, session, index, planned);
        if session.batch().entries[index].result().is_none() {
            ahead.push(call);
        }
    }
}

/// A call that is not run here: what the policy and the limits refuse is refused all the same. Its
/// tool may be one that only the person knows, so nothing else of it is judged.
fn plan_wait(core: &Core, call: &ToolCall) -> Planned {
    match hard_stop(core, call).and_then(|()| check_size(core, call)) {
        Err(error) => refused(core, error),
        Ok(()) => {
            let rule = "tools mode parse_only".to_owned();
            let summary =
                summarize(&format!("{} {}", call.name, call.arguments), SUMMARY_CHARACTERS);
            Planned::Waits(Facts { rule, summary: summary.text, ..Facts::default() })
        }
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
    if session.iterations_beyond(core.limits.iterations_per_turn) > 0 {
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
    plan_call(core, session, call, &mut Ahead::default(), Look::Always).await
}

/// On a thread of its own: a disk that hangs must not hang the engine. `ahead` has the calls that run
/// before this one.
async fn plan_call(
    core: &Arc<Core>,
    session: &Session,
    call: ToolCall,
    ahead: &mut Ahead,
    look: Look,
) -> Planned {
    let own = Arc::clone(core);
    let freshness = Arc::clone(session.freshness());
    let timeout = core.default_timeout;
    let (name, session_id) = (call.name.clone(), session.id.clone());
    let lost = if ahead.is_empty() { Ahead::default() } else { Ahead::unknown() };
    let mut before = std::mem::replace(ahead, lost);
    let work = off_thread(move || {
        let scope = scope_of(&own, freshness, session_id, &call.name);
        let planned = judge(&own, &call, &scope, &mut before, look);
        (planned, before)
    });
    match tokio::time::timeout(timeout, work).await {
        Ok(Ok((planned, before))) => {
            *ahead = before;
            planned
        }
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

/// The policy's stops that need no look at the call itself.
fn hard_stop(core: &Core, call: &ToolCall) -> Result<(), ToolError> {
    let by_default = core.policy.denied_by_default.contains(&call.name);
    let stop = core.policy.hard_stop(&call.name);
    stop.map_err(|reason| denied(reason, &call.name, by_default))
}

/// FR-LIM-03
fn check_size(core: &Core, call: &ToolCall) -> Result<(), ToolError> {
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

fn judge(core: &Core, call: &ToolCall, now: &Scope, ahead: &mut Ahead, look: Look) -> Planned {
    let prepared = match prepare(core, call) {
        Ok(prepared) => prepared,
        Err(error) => return refused(core, error),
    };
    let mut intent = prepared.intent();
    let governing = intent.stands_for.unwrap_or(&call.name);
    let mut facts = facts_of(core, call, &intent);
    let warnings = match preflight(core, &mut intent) {
        Ok(warnings) => warnings,
        Err(error) => {
            facts.rule = rule_of(core, &error);
            return Planned::Refused { facts, error };
        }
    };
    facts.risk = Some(intent.risk);
    facts.inspects = intent.effect == Effect::Inspects;
    let ruling = core.policy.rule(governing, &intent);
    facts.rule = ruling.rule;
    if ruling.verdict == Verdict::Deny {
        let reason = DenialReason::NotAllowlisted { tool: governing.to_owned() };
        let error = denied(reason, governing, false);
        return Planned::Refused { facts, error };
    }
    if ruling.verdict == Verdict::Allow && look == Look::WhenAsked {
        return Planned::Allowed(facts);
    }
    let scope = if ahead.is_empty() { now.clone() } else { ahead.scope(core, now) };
    match prepared.preview(&scope) {
        Ok(preview) => facts.preview = preview,
        // Earlier calls of the batch may still make this one possible, so its failure to preview is
        // only final when none of them is left to run.
        Err(error) if ahead.is_empty() => {
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

fn facts_of(core: &Core, call: &ToolCall, intent: &Intent) -> Facts {
    let summary = summarize(&intent.summary, SUMMARY_CHARACTERS);
    Facts {
        summary: summary.text,
        whole_summary: one_line(&redact_command(&intent.summary)),
        is_cut: summary.cut,
        risk: Some(intent.risk),
        only_reads: core.registry.lookup(&call.name).is_ok_and(|tool| !tool.is_side_effecting()),
        ..Facts::default()
    }
}

/// Which rule refused the call, if one did; of the sandbox what it compared (GO-DEBUG).
fn rule_of(core: &Core, error: &ToolError) -> String {
    let ErrorKind::SandboxViolation(reason) = &error.kind else { return String::new() };
    match reason {
        DenialReason::PathOutsideSandbox { resolved: attempted, .. }
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
    if intent.effect == Effect::Inspects && !is_kept_to_reading(core) {
        // Asked about like any other command, and with a yes run as one.
        intent.effect = Effect::Runs;
        intent.risk = intent.risk.max(RiskLevel::Medium);
        intent.needs_person = true;
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

/// Whether a command that only reads can be held to that here.
fn is_kept_to_reading(core: &Core) -> bool {
    let environment = core.workspace.environment.sanitize(std::env::vars_os());
    let plan = core.workspace.confiner.reading_plan(&core.workspace.sandbox, &environment);
    plan.gaps.is_empty()
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
    // A command's preview is the command itself, which may follow from files that are not named here.
    facts.push_str(preview.map(|preview| preview.text.as_str()).unwrap_or_default());
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
    // Every call before it has run.
    let mut ahead = Ahead::default();
    let planned = plan_call(core, session, call, &mut ahead, Look::WhenAsked).await;
    match &planned {
        Planned::Asks(_, request) if request.fingerprint == approved => return true,
        Planned::Allowed(_) | Planned::Asks(..) | Planned::Waits(_) | Planned::Refused { .. } => {}
    }
    settle(core, session, index, planned);
    !session.batch().awaits_a_person()
}

fn settle(core: &Core, session: &mut Session, index: usize, planned: Planned) {
    let form = Form { limit: core.result_limit(), ..session.form() };
    let entry = &mut session.batch_mut().entries[index];
    let (facts, status) = match planned {
        Planned::Allowed(facts) => (facts, Status::Approved { fingerprint: None }),
        Planned::Asks(facts, request) => (facts, Status::Pending(request)),
        Planned::Waits(facts) => (facts, Status::Waiting),
        Planned::Refused { facts, error } => {
            let result = reply::refused(form, &entry.call, &error);
            core.take_capacity(result.content.len());
            (facts, Status::Done(result))
        }
    };
    entry.summary = facts.summary;
    entry.rule = facts.rule;
    entry.risk = facts.risk;
    entry.only_reads = facts.only_reads;
    entry.inspects = facts.inspects;
    entry.shown = facts.preview.map(|preview| preview.text);
    entry.status = status;
    entry.seen.clone_from(&facts.seen);
    for (path, record) in facts.seen {
        session.freshness_mut().record(path, record);
    }
}
