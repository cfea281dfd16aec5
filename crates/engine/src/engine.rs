//! The engine: from submitted calls to results, stopping wherever a person is needed.
//!
//! Law: `run` is called again after every pause, and does only what is left to do.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jm_store::StoreError;
use jm_tools::{ToolRegistry, Workspace};
use jm_types::{
    Cancel, Limits, RiskLevel, ToolCall, ToolDefinition, ToolError, ToolEvent, ToolsMode, Verdict,
};
use jm_workspace::index::Index;
use tokio::sync::mpsc;

use crate::batch::Status;
use crate::capacity::{self, ContextEstimate};
use crate::execute;
use crate::plan::{self, Planned};
use crate::policy::Policy;
use crate::record::Recorder;
use crate::reply::Form;
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
    /// What is known of the model's context now.
    pub estimate: Mutex<Option<ContextEstimate>>,
    pub events: mpsc::Sender<ToolEvent>,
    pub recorder: Recorder,
    /// What the workspace's files were when they were last looked at.
    pub index: Mutex<Index>,
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
    /// A batch is under way.
    is_armed: bool,
    active: Option<Cancel>,
}

/// What would become of a call, without running it.
#[derive(Debug, Clone)]
pub struct Inspection {
    pub verdict: Verdict,
    pub rule: String,
    /// On one line, and not cut.
    pub summary: String,
    pub risk: Option<RiskLevel>,
    pub warnings: Vec<String>,
    pub preview: Option<String>,
    /// Set when the call would be refused.
    pub error: Option<ToolError>,
}

impl Core {
    /// What a result may take of the model's context, in bytes (FR-REG-04b).
    pub(crate) fn capacity(&self) -> usize {
        let estimate = self.estimate.lock().unwrap_or_else(PoisonError::into_inner);
        capacity::available(*estimate, self.limits.capacity_bytes)
    }

    /// The most bytes that a result may have now (FR-OUT-04).
    pub(crate) fn result_limit(&self) -> usize {
        self.limits.output_bytes.min(self.capacity())
    }

    /// A result has taken its part; the next one gets what is left.
    pub(crate) fn take_capacity(&self, bytes: usize) {
        let mut estimate = self.estimate.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(estimate) = estimate.as_mut() {
            estimate.take(bytes);
        }
    }
}

impl Engine {
    pub fn new(core: Core) -> Self {
        Self { core: Arc::new(core), canceller: Canceller::default() }
    }

    pub fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }

    /// From here on results are measured against this.
    pub fn expect_context(&self, estimate: Option<ContextEstimate>) {
        *self.core.estimate.lock().unwrap_or_else(PoisonError::into_inner) = estimate;
    }

    pub fn core(&self) -> &Core {
        &self.core
    }

    pub(crate) fn core_arc(&self) -> Arc<Core> {
        Arc::clone(&self.core)
    }

    /// The journal's session is given back; nothing can be recorded any more. `delivered` is the
    /// batch whose results were the last to be given to whoever asked.
    pub fn close(self, delivered: Option<u64>) -> Result<(), StoreError> {
        match Arc::into_inner(self.core) {
            Some(core) => core.recorder.close(delivered),
            // A call that was abandoned still holds it; the lease ends with the process.
            None => Ok(()),
        }
    }

    /// What the model is told it can call (FR-MODE-01..03, FR-REG-03a, CFG-TOOLS-02a). Waits for tools
    /// that others bring, so a face that draws asks on another thread.
    pub fn advertised(&self) -> Vec<ToolDefinition> {
        advertised(self.core.mode, &self.core.registry, &self.core.manual)
    }

    /// Works until every call has its result, or a person is needed.
    pub async fn run(&self, session: &mut Session) -> Pause {
        self.canceller.arm();
        self.shape(session);
        let pause = self.work(session).await;
        if pause != Pause::NeedsApproval {
            self.canceller.reset();
        }
        pause
    }

    /// What results look like, and what they may take.
    pub(crate) fn shape(&self, session: &mut Session) {
        session.set_form(Form {
            dialect: self.core.registry.dialect(),
            limit: self.core.result_limit(),
        });
    }

    async fn work(&self, session: &mut Session) -> Pause {
        plan::plan_batch(&self.core, session).await;
        self.record_batch(session);
        if self.canceller.is_requested() {
            return self.cancelled(session);
        }
        if session.batch().awaits_results() {
            return Pause::NeedsResults;
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
            if session.batch().awaits_a_person() && !self.canceller.is_requested() {
                return Pause::NeedsApproval;
            }
            let result = session.batch().entries[index].result();
            self.core.take_capacity(result.map_or(0, |result| result.content.len()));
            if self.canceller.is_requested() {
                return self.cancelled(session);
            }
        }
        Pause::Finished
    }

    /// What was planned is written down before anything runs, once; later, what a person denied.
    fn record_batch(&self, session: &mut Session) {
        let batch = session.batch();
        let first = batch.first_to_run().filter(|_| !batch.is_recorded);
        let recorded = match batch.is_recorded {
            false => self.core.recorder.batch_opened(batch, first.map(|at| &batch.entries[at])),
            true => self.core.recorder.answered(batch, &batch.unrecorded()),
        };
        let form = session.form();
        let batch = session.batch_mut();
        batch.is_recorded = true;
        match recorded {
            Ok(()) => {
                batch.note_recorded();
                if let Some(entry) = first.and_then(|at| batch.entries.get_mut(at)) {
                    entry.is_announced = true;
                }
            }
            Err(error) => batch.refuse_rest(&error, form),
        }
    }

    /// Everything about a call but its execution.
    pub async fn inspect(&self, session: &Session, call: ToolCall) -> Inspection {
        let planned = plan::plan_one(&self.core, session, call).await;
        let error = match &planned {
            Planned::Refused { error, .. } => Some(error.clone()),
            Planned::Allowed(_) | Planned::Asks(..) | Planned::Waits(_) => None,
        };
        let (facts, verdict, request) = match planned {
            Planned::Refused { facts, .. } => (facts, Verdict::Deny, None),
            Planned::Allowed(facts) => (facts, Verdict::Allow, None),
            Planned::Waits(facts) => (facts, Verdict::Ask, None),
            Planned::Asks(facts, request) => (facts, Verdict::Ask, Some(request)),
        };
        let preview = facts.preview.map(|preview| preview.text);
        Inspection {
            verdict,
            rule: facts.rule,
            summary: facts.whole_summary,
            risk: facts.risk,
            warnings: request.map(|request| request.warnings).unwrap_or_default(),
            preview,
            error,
        }
    }

    /// The current call was aborted; it and those behind it say so (FR-EXE-04).
    pub(crate) fn cancelled(&self, session: &mut Session) -> Pause {
        let form = session.form();
        session.batch_mut().refuse_rest(&ToolError::cancelled(), form);
        self.record_batch(session);
        Pause::Cancelled
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

impl Canceller {
    /// Stops the batch that is under way, also while it waits for a person. When there is none,
    /// nothing happens: the next batch is not cancelled in advance.
    pub fn cancel(&self) {
        let mut state = self.state();
        state.requested = state.is_armed;
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

    fn arm(&self) {
        self.state().is_armed = true;
    }

    fn reset(&self) {
        *self.state() = CancelState::default();
    }

    fn state(&self) -> MutexGuard<'_, CancelState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
