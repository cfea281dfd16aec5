//! Planning: the disposition of one call, before anything of its batch runs.
//!
//! Law: a call that is invalid, over a limit or not allowed is answered here and never asked about
//! (FR-VAL-02). Planning reads; it never changes anything. The prepared call that it gives is the one that
//! runs.

use std::path::PathBuf;
use std::sync::Arc;

use jm_policy::{Floor, Reason, Step};
use jm_system::worker::off_thread;
use jm_tools::{CallContext, Intent, Prepared, Preview, ShownCommand, ToolEffect};
use jm_types::text::one_line::{SUMMARY_CHARACTERS, folded, one_line, summarize};
use jm_types::text::{redact_command, words_with_look_alikes};
use jm_types::{
    AlwaysOffer, CallQuestion, DenialReason, ErrorKind, RiskLevel, ToolCall, ToolError, ToolsMode,
    Verdict,
};
use jm_types::{Digest, ReadRecord};

use crate::ahead::CallsAhead;
use crate::call_facts::{Judgement, judge};
use crate::context;
use crate::core::Core;
use crate::panicked::panicked;
use crate::preflight::{is_held, preflight};
use crate::prepare::{check_size, denied, prepare, stop};
use crate::session_context::Asker;

/// The facts that planning found out about a call.
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
    /// Its command runs unasked, and the changes are asked about when it has ended.
    pub(crate) is_asked_afterwards: bool,
    pub(crate) rule: String,
    /// The policy's whole reason, where it was asked.
    pub(crate) reason: Option<Reason>,
    pub(crate) preview: Option<Preview>,
    /// The command that would run, where a question names it.
    pub(crate) command: Option<ShownCommand>,
    /// Files whose lines a refusal shows.
    pub(crate) seen: Vec<(PathBuf, ReadRecord)>,
}

/// The next step of a call.
#[derive(Debug)]
pub(crate) enum Disposition {
    Runs,
    Asks(Box<CallQuestion>),
    /// Its result comes from outside.
    Waits,
    Refused(ToolError),
}

/// A call with its disposition. `prepared` is the parsed call where it can run.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) prepared: Option<Box<dyn Prepared>>,
    pub(crate) facts: Facts,
    pub(crate) disposition: Disposition,
}

/// When the effect is computed in advance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PreviewRule {
    Always,
    /// Only where a person will be shown it.
    WhenAsked,
    /// Not at all: the verdict alone is wanted.
    Never,
}

/// A call that was parsed and judged, and not shown yet.
pub(crate) struct Weighed {
    prepared: Box<dyn Prepared>,
    facts: Facts,
    intent: Intent,
    warnings: Vec<String>,
    always: Vec<AlwaysOffer>,
    pub(crate) verdict: Verdict,
}

impl Weighed {
    pub(crate) fn prepared(&self) -> &dyn Prepared {
        &*self.prepared
    }

    pub(crate) fn into_prepared(self) -> Box<dyn Prepared> {
        self.prepared
    }
}

impl Planned {
    /// A refusal of which nothing but the error is known.
    pub(crate) fn refused(core: &Core, error: ToolError) -> Self {
        let facts = Facts { rule: rule_of(core, &error), ..Facts::default() };
        Self::refused_with(facts, error)
    }

    fn refused_with(facts: Facts, error: ToolError) -> Self {
        Self { prepared: None, facts, disposition: Disposition::Refused(error) }
    }
}

/// Plans a call that is not run here: what the policy and the limits refuse is refused all the same. Its
/// tool may be one that only the person knows, so nothing else of it is judged.
pub(crate) fn plan_wait(core: &Core, call: &ToolCall) -> Planned {
    match stop(core, &call.name).and_then(|()| check_size(core, call)) {
        Err(error) => Planned::refused(core, error),
        Ok(()) => {
            let rule = "tools mode parse_only".to_owned();
            let summary =
                summarize(&format!("{} {}", call.name, call.arguments), SUMMARY_CHARACTERS);
            let facts = Facts { rule, summary: summary.text, ..Facts::default() };
            Planned { prepared: None, facts, disposition: Disposition::Waits }
        }
    }
}

/// Plans one call by itself, as if it were alone in its batch.
pub(crate) async fn plan_alone(
    core: &Arc<Core>,
    asker: Asker,
    call: ToolCall,
    look: PreviewRule,
) -> Planned {
    match core.mode {
        ToolsMode::Disabled => Planned::refused(core, DenialReason::Disabled.into()),
        ToolsMode::ParseOnly => Planned::refused(core, ToolError::new(ErrorKind::NotRunHere)),
        ToolsMode::Enabled => plan_call(core, asker, call, &mut CallsAhead::default(), look).await,
    }
}

/// Plans one call; `ahead` has the calls that run before it.
pub(crate) async fn plan_call(
    core: &Arc<Core>,
    asker: Asker,
    call: ToolCall,
    ahead: &mut CallsAhead,
    look: PreviewRule,
) -> Planned {
    let lost = if ahead.is_empty() { CallsAhead::default() } else { CallsAhead::unknown() };
    let mut before = std::mem::replace(ahead, lost);
    let name = call.name.clone();
    let looked = within_time(core, &name, move |core| {
        let scope = context::for_look(core, asker, &call.name);
        let planned = match weigh(core, &call) {
            Ok(weighed) => show(core, &call, weighed, &scope, &mut before, look),
            Err(planned) => *planned,
        };
        (planned, before)
    });
    match looked.await {
        Ok((planned, before)) => {
            *ahead = before;
            planned
        }
        Err(error) => Planned::refused(core, error),
    }
}

/// Runs a look on a thread of its own and for so long: a disk that hangs must not hang the engine.
pub(crate) async fn within_time<T: Send + 'static>(
    core: &Arc<Core>,
    tool: &str,
    look: impl FnOnce(&Core) -> T + Send + 'static,
) -> Result<T, ToolError> {
    let (own, timeout) = (Arc::clone(core), core.default_timeout);
    let work = off_thread(move || look(&own));
    match tokio::time::timeout(timeout, work).await {
        Ok(looked) => looked.map_err(|payload| panicked(Some(&*payload))),
        Err(_) => {
            let (tool, elapsed) = (tool.to_owned(), timeout);
            Err(ToolError::new(ErrorKind::Timeout { tool, elapsed }))
        }
    }
}

/// Parses a call and asks the policy; a refusal is a plan already.
pub(crate) fn weigh(core: &Core, call: &ToolCall) -> Result<Weighed, Box<Planned>> {
    let prepared = prepare(core, call).map_err(|error| Box::new(Planned::refused(core, error)))?;
    weigh_prepared(core, call, prepared)
}

/// Asks the policy about a call that was parsed already.
pub(crate) fn weigh_prepared(
    core: &Core,
    call: &ToolCall,
    prepared: Box<dyn Prepared>,
) -> Result<Weighed, Box<Planned>> {
    let mut intent = prepared.intent();
    let governing = intent.stands_for.unwrap_or(&call.name).to_owned();
    let mut facts = facts_of(core, call, &intent);
    let preflight = match preflight(core, &*prepared, &mut intent) {
        Ok(preflight) => preflight,
        Err(error) => {
            facts.rule = rule_of(core, &error);
            return Err(Box::new(Planned::refused_with(facts, error)));
        }
    };
    facts.risk = Some(intent.risk);
    facts.inspects = intent.effect == ToolEffect::Inspects;
    let is_held = prepared.is_command() && is_held(core, &intent);
    let Judgement { judged, always, is_asked_afterwards } =
        judge(core, call, &intent, &preflight, is_held);
    facts.is_asked_afterwards = is_asked_afterwards;
    let decision = judged.decision;
    facts.rule.clone_from(&decision.reason.text);
    facts.reason = Some(decision.reason.clone());
    if decision.verdict == Verdict::Deny {
        let error = denied(&decision, &governing);
        return Err(Box::new(Planned::refused_with(facts, error)));
    }
    intent.needs_person = preflight.floor > Floor::None;
    let warnings = preflight.warnings;
    Ok(Weighed { prepared, facts, intent, warnings, always, verdict: decision.verdict })
}

/// Computes the preview where one is needed, and with it the disposition.
pub(crate) fn show(
    core: &Core,
    call: &ToolCall,
    weighed: Weighed,
    now: &CallContext,
    ahead: &mut CallsAhead,
    look: PreviewRule,
) -> Planned {
    let Weighed { prepared, mut facts, intent, warnings, always, verdict } = weighed;
    if verdict == Verdict::Allow && look == PreviewRule::WhenAsked {
        return Planned { prepared: Some(prepared), facts, disposition: Disposition::Runs };
    }
    if look == PreviewRule::Never {
        let disposition = disposition(call, &facts, &intent, (warnings, always), verdict);
        return Planned { prepared: Some(prepared), facts, disposition };
    }
    let scope = if ahead.is_empty() { now.clone() } else { ahead.scope(core, now) };
    match prepared.preview(&scope) {
        Ok(preview) => facts.preview = preview,
        // Earlier calls of the batch may still make this one possible, so its failure to preview is
        // only final when none of them is left to run.
        Err(error) if ahead.is_empty() => {
            facts.seen = scope.seen.take();
            return Planned::refused_with(facts, error);
        }
        Err(_) => {}
    }
    facts.command = prepared.shown_command(&scope);
    let disposition = disposition(call, &facts, &intent, (warnings, always), verdict);
    Planned { prepared: Some(prepared), facts, disposition }
}

fn disposition(
    call: &ToolCall,
    facts: &Facts,
    intent: &Intent,
    told: (Vec<String>, Vec<AlwaysOffer>),
    verdict: Verdict,
) -> Disposition {
    match verdict {
        Verdict::Ask => Disposition::Asks(Box::new(request(call, facts, intent, told))),
        Verdict::Allow | Verdict::Deny => Disposition::Runs,
    }
}

fn facts_of(core: &Core, call: &ToolCall, intent: &Intent) -> Facts {
    let summary = summarize(&intent.summary, SUMMARY_CHARACTERS);
    let whole_summary = match summary.cut {
        true => folded(&redact_command(&intent.summary)),
        false => summary.text.clone(),
    };
    Facts {
        summary: summary.text,
        whole_summary,
        is_cut: summary.cut,
        risk: Some(intent.risk),
        only_reads: core.registry.lookup(&call.name).is_ok_and(|tool| !tool.is_side_effecting()),
        ..Facts::default()
    }
}

/// The rule that refused the call, if one did; of the sandbox what it compared (GO-DEBUG).
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
        DenialReason::Denylisted { .. } | DenialReason::OffByDefault { .. } => {
            "on the deny list".to_owned()
        }
        DenialReason::NotAllowlisted { .. }
        | DenialReason::DeniedByPerson { .. }
        | DenialReason::LimitsExceeded { .. } => String::new(),
    }
}

fn request(
    call: &ToolCall,
    facts: &Facts,
    intent: &Intent,
    (mut warnings, mut always): (Vec<String>, Vec<AlwaysOffer>),
) -> CallQuestion {
    // What was not shown whole is allowed once at most. Switching a tool on allows nothing by itself.
    let opts_in = facts.reason.as_ref().is_some_and(|reason| reason.step == Step::OptIn);
    if facts.is_cut && facts.preview.is_none() && !opts_in {
        always.clear();
    }
    warnings.extend(facts.preview.iter().flat_map(|preview| preview.warnings.clone()));
    let command = facts.command.as_ref().map(|shown| shown.command.as_str());
    for word in words_with_look_alikes(command.unwrap_or_default()) {
        warnings.insert(0, format!("{} holds a letter that looks like another", one_line(word)));
    }
    CallQuestion {
        is_cut: facts.is_cut,
        reason: facts.rule.clone(),
        needs_person: intent.needs_person,
        always,
        warnings,
        command: facts.command.as_ref().map(|shown| shown.command.clone()),
        directory: facts.command.as_ref().map(|shown| shown.directory.clone()),
        publishes: intent.publishes.clone(),
        preview: facts.preview.as_ref().map(|preview| preview.text.clone()),
        unmasked: facts.preview.as_ref().and_then(|preview| preview.unmasked.clone()),
        arguments: call.arguments.clone(),
        can_edit: true,
        opts_in,
        fingerprint: fingerprint(call, facts.preview.as_ref()),
        ..CallQuestion::new(&call.id, &call.name, &facts.summary, intent.risk)
    }
}

/// A hash of all that an approval depends on: the call, and the files as they were shown.
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
