//! The engine: from submitted calls to results, stopping wherever a person is needed.
//!
//! Law: `run` is called again after every pause, and does only what is left to do.

use std::sync::{Arc, PoisonError};

use jm_policy::Reason;
use jm_store::StoreError;
use jm_tools::ToolRegistry;
use jm_types::{
    BatchNumber, CallQuestion, RiskLevel, ToolCall, ToolDefinition, ToolError, ToolsMode, Verdict,
};

use crate::canceller::Canceller;
use crate::capacity::ContextEstimate;
use crate::commands_ahead;
use crate::core::Core;
use crate::plan::{self, Disposition, Planned, PreviewRule};
use crate::prepare::prepare;
use crate::reply::ResultForm;
use crate::run;
use crate::session::{Pause, Session};

/// The engine of one session: its parts, and the way to stop it.
#[derive(Debug)]
pub struct Engine {
    core: Arc<Core>,
    canceller: Canceller,
}

/// The plan of a call that is not run.
#[derive(Debug, Clone)]
pub struct Inspection {
    /// Allow, ask or deny.
    pub verdict: Verdict,
    /// The rule that gave the verdict, in words.
    pub rule: String,
    /// The policy's reason, where it was asked.
    pub reason: Option<Reason>,
    /// The reasons for each part of a command.
    pub parts: Vec<String>,
    /// The rules that would allow the call, where some are offered.
    pub offered: Option<Vec<String>>,
    /// On one line, and not cut.
    pub summary: String,
    /// The risk level; `None` for a call that would be refused unread.
    pub risk: Option<RiskLevel>,
    /// Facts that a person has to know.
    pub warnings: Vec<String>,
    /// The view that would go with the question.
    pub preview: Option<String>,
    /// The question that the call would raise, secrets masked.
    pub question: Option<CallQuestion>,
    /// Set when the call would be refused.
    pub error: Option<ToolError>,
}

impl Engine {
    /// An engine that nothing has stopped.
    pub fn new(core: Core) -> Self {
        Self { core: Arc::new(core), canceller: Canceller::default() }
    }

    /// A handle that stops the engine from anywhere.
    pub fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }

    /// From here on results are measured against this.
    pub fn expect_context(&self, estimate: Option<ContextEstimate>) {
        *self.core.estimate.lock().unwrap_or_else(PoisonError::into_inner) = estimate;
    }

    /// The engine's parts.
    pub fn core(&self) -> &Core {
        &self.core
    }

    pub(crate) fn core_arc(&self) -> Arc<Core> {
        Arc::clone(&self.core)
    }

    /// The journal's session is given back; nothing can be recorded any more. `delivered` is the
    /// batch whose results were the last to be given to whoever asked.
    pub fn close(self, delivered: Option<BatchNumber>) -> Result<(), StoreError> {
        commands_ahead::close(&self.core);
        match Arc::into_inner(self.core) {
            Some(core) => core.recorder.close(delivered),
            // A call that was abandoned still holds it; the lease ends with the process.
            None => Ok(()),
        }
    }

    /// The tools that the model is told of (FR-MODE-01..03, FR-REG-03a, CFG-TOOLS-02a). Waits for tools
    /// that others bring, so a face that draws asks on another thread.
    pub fn advertised(&self) -> Vec<ToolDefinition> {
        advertised(self.core.mode, &self.core.registry, &self.core.manual)
    }

    /// Works until every call has its result, or a person is needed.
    pub async fn run(&self, session: &mut Session) -> Pause {
        self.canceller.arm();
        self.shape(session);
        let pause = run::run(&self.core, session, &self.canceller).await;
        if pause != Pause::NeedsApproval {
            self.canceller.reset();
        }
        pause
    }

    /// Sets the form and the limit of results.
    pub(crate) fn shape(&self, session: &mut Session) {
        session.set_form(ResultForm {
            dialect: self.core.registry.dialect(),
            limit: self.core.result_limit(),
        });
    }

    /// Plans a call without running it.
    pub async fn inspect(&self, session: &Session, call: ToolCall) -> Inspection {
        self.look_at(session, call, PreviewRule::Always).await
    }

    /// The verdict on a call, whether or not the files are still such that it could run.
    pub async fn judge(&self, session: &Session, call: ToolCall) -> Inspection {
        self.look_at(session, call, PreviewRule::Never).await
    }

    async fn look_at(&self, session: &Session, call: ToolCall, look: PreviewRule) -> Inspection {
        let parts = self.explain_parts(&call);
        let Planned { facts, disposition, .. } =
            plan::plan_alone(&self.core, session.asker(), call, look).await;
        let (mut offered, mut question) = (None, None);
        let (verdict, warnings, error) = match disposition {
            Disposition::Refused(error) => (Verdict::Deny, Vec::new(), Some(error)),
            Disposition::Runs => (Verdict::Allow, Vec::new(), None),
            Disposition::Waits => (Verdict::Ask, Vec::new(), None),
            Disposition::Asks(request) => {
                offered = request.always.first().map(|offer| offer.rules.clone());
                let warnings = request.warnings.clone();
                question = Some(*request);
                (Verdict::Ask, warnings, None)
            }
        };
        Inspection {
            verdict,
            rule: facts.rule,
            reason: facts.reason,
            parts,
            offered,
            summary: facts.whole_summary,
            risk: facts.risk,
            warnings,
            preview: facts.preview.map(|preview| preview.text),
            question,
            error,
        }
    }

    /// The reasons part by part, for a call that names a command.
    fn explain_parts(&self, call: &ToolCall) -> Vec<String> {
        let Ok(prepared) = prepare(&self.core, call) else { return Vec::new() };
        let intent = prepared.intent();
        let Some(line) = &intent.command else { return Vec::new() };
        let policy = self.core.policy.now();
        let governing = intent.stands_for.unwrap_or(&call.name);
        policy.rules.explain_command(governing, line, policy.readers)
    }
}

/// The tools that a mode offers: none, those a person answers for, or those we can run.
pub fn advertised(
    mode: ToolsMode,
    registry: &ToolRegistry,
    manual: &[ToolDefinition],
) -> Vec<ToolDefinition> {
    match mode {
        ToolsMode::Disabled => Vec::new(),
        ToolsMode::ParseOnly if !manual.is_empty() => manual.to_vec(),
        ToolsMode::ParseOnly | ToolsMode::Enabled => registry.definitions(),
    }
}
