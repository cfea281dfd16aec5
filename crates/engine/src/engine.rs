//! The engine: from submitted calls to results, stopping wherever a person is needed.
//!
//! Law: `run` is called again after every pause, and does only what is left to do.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jm_tools::{ToolRegistry, Workspace};
use jm_types::{
    Cancel, Limits, RiskLevel, ToolCall, ToolDefinition, ToolError, ToolEvent, ToolsMode, Verdict,
};
use tokio::sync::mpsc;

use crate::batch::Status;
use crate::capacity::ContextEstimate;
use crate::execute;
use crate::plan::{self, Planned};
use crate::policy::Policy;
use crate::reply;
use crate::session::{Pause, Session};

/// What an engine is made of.
#[derive(Debug)]
pub struct Core {
    pub registry: ToolRegistry,
    pub workspace: Workspace,
    pub policy: Policy,
    pub limits: Limits,
    pub mode: ToolsMode,
    pub default_timeout: Duration,
    /// Tools that a person answers for, advertised in parse-only mode (CFG-TOOLS-02).
    pub manual: Vec<ToolDefinition>,
    pub estimate: Option<ContextEstimate>,
    pub events: mpsc::Sender<ToolEvent>,
}

#[derive(Debug)]
pub struct Engine {
    core: Arc<Core>,
    canceller: Canceller,
}

/// Stops whatever the engine is doing.
#[derive(Debug, Clone, Default)]
pub struct Canceller {
    state: Arc<Mutex<CancelState>>,
}

#[derive(Debug, Default)]
struct CancelState {
    requested: bool,
    active: Option<Cancel>,
}

/// What would become of a call, without running it.
#[derive(Debug, Clone)]
pub struct Inspection {
    pub verdict: Verdict,
    pub rule: String,
    pub summary: String,
    pub risk: Option<RiskLevel>,
    pub warnings: Vec<String>,
    pub preview: Option<String>,
    /// Set when the call would be refused.
    pub error: Option<ToolError>,
}

impl Engine {
    pub fn new(core: Core) -> Self {
        Self { core: Arc::new(core), canceller: Canceller::default() }
    }

    pub fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }

    pub fn core(&self) -> &Core {
        &self.core
    }

    /// What the model is told it can call (FR-MODE-01..03, FR-REG-03a, CFG-TOOLS-02a).
    pub fn advertised(&self) -> Vec<ToolDefinition> {
        match self.core.mode {
            ToolsMode::Disabled => Vec::new(),
            ToolsMode::ParseOnly if !self.core.manual.is_empty() => self.core.manual.clone(),
            ToolsMode::ParseOnly | ToolsMode::Enabled => self.core.registry.definitions(),
        }
    }

    /// Works until every call has its result, or a person is needed.
    pub async fn run(&self, session: &mut Session) -> Pause {
        if self.core.mode == ToolsMode::ParseOnly {
            let finished = session.batch().is_finished();
            return if finished { Pause::Finished } else { Pause::NeedsResults };
        }
        plan::plan_batch(&self.core, session).await;
        if self.canceller.is_requested() {
            return self.cancelled(session);
        }
        if session.batch().awaits_a_person() {
            return Pause::NeedsApproval;
        }
        for index in 0..session.batch().entries.len() {
            let Status::Approved { fingerprint } = &session.batch().entries[index].status else {
                continue;
            };
            let fingerprint = fingerprint.clone();
            if !plan::still_holds(&self.core, session, index, fingerprint).await {
                return Pause::NeedsApproval;
            }
            execute::execute(&self.core, session, index, &self.canceller).await;
            if self.canceller.is_requested() {
                return self.cancelled(session);
            }
        }
        Pause::Finished
    }

    /// Everything about a call but its execution.
    pub async fn inspect(&self, session: &Session, call: ToolCall) -> Inspection {
        let planned = plan::plan_one(&self.core, session, call).await;
        let error = match &planned {
            Planned::Refused { error, .. } => Some(error.clone()),
            Planned::Allowed(_) | Planned::Asks(..) => None,
        };
        let (facts, verdict, request) = match planned {
            Planned::Refused { facts, .. } => (facts, Verdict::Deny, None),
            Planned::Allowed(facts) => (facts, Verdict::Allow, None),
            Planned::Asks(facts, request) => (facts, Verdict::Ask, Some(request)),
        };
        let preview = facts.preview.map(|preview| preview.text);
        Inspection {
            verdict,
            rule: facts.rule,
            summary: facts.summary,
            risk: facts.risk,
            warnings: request.map(|request| request.warnings).unwrap_or_default(),
            preview,
            error,
        }
    }

    /// The current call was aborted; it and those behind it say so (FR-EXE-04).
    fn cancelled(&self, session: &mut Session) -> Pause {
        for entry in &mut session.batch_mut().entries {
            match entry.status {
                Status::Done(_) => {}
                Status::New | Status::Approved { .. } | Status::Pending(_) | Status::Running => {
                    let result = reply::refused(&entry.call, &ToolError::cancelled());
                    entry.status = Status::Done(result);
                }
            }
        }
        self.canceller.reset();
        Pause::Cancelled
    }
}

impl Canceller {
    pub fn cancel(&self) {
        let mut state = self.state();
        state.requested = true;
        if let Some(active) = &state.active {
            active.cancel();
        }
    }

    pub(crate) fn is_requested(&self) -> bool {
        self.state().requested
    }

    /// The call that is running now; one that starts after the request is stopped at once.
    pub(crate) fn activate(&self, cancel: &Cancel) {
        let mut state = self.state();
        if state.requested {
            cancel.cancel();
        }
        state.active = Some(cancel.clone());
    }

    fn reset(&self) {
        *self.state() = CancelState::default();
    }

    fn state(&self) -> MutexGuard<'_, CancelState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
