//! The parts that an engine is made of, shared by every step of a call.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jm_files::index::Index;
use jm_tools::{ToolRegistry, Workspace};
use jm_types::{Limits, ToolDefinition, ToolEvent, ToolsMode};
use tokio::sync::mpsc;

use crate::capacity::{self, ContextEstimate};
use crate::layers::EngineLayers;
use crate::record::CallRecorder;
use crate::shared_policy::SharedPolicy;

/// The parts of an engine.
#[derive(Debug)]
pub struct Core {
    /// The tools by name.
    pub registry: ToolRegistry,
    /// Sandbox, confinement and jobs.
    pub workspace: Workspace,
    /// The rules that decide about calls.
    pub policy: SharedPolicy,
    /// Limits of calls and results.
    pub limits: Limits,
    /// Run tools, only parse calls, or neither.
    pub mode: ToolsMode,
    /// The time of a tool that names none.
    pub default_timeout: Duration,
    /// Tools that a person answers for, advertised in parse-only mode (CFG-TOOLS-02).
    pub manual: Vec<ToolDefinition>,
    /// The estimate of the model's context as it is now.
    pub estimate: Mutex<Option<ContextEstimate>>,
    /// News of calls, for the face.
    pub events: mpsc::Sender<ToolEvent>,
    /// The journal of the session, if there is one.
    pub recorder: CallRecorder,
    /// The layers on which commands run.
    pub layers: EngineLayers,
    /// The workspace's files as they were when they were last looked at.
    pub index: Mutex<Index>,
}

impl Core {
    /// The bytes that a result may take of the model's context (FR-REG-04b).
    pub(crate) fn capacity(&self) -> usize {
        let estimate = self.estimate.lock().unwrap_or_else(PoisonError::into_inner);
        capacity::available(*estimate, self.limits.capacity_bytes)
    }

    /// The most bytes that a result may have now (FR-OUT-04).
    pub(crate) fn result_limit(&self) -> usize {
        self.limits.output_bytes.min(self.capacity())
    }

    /// Counts the part that a result has taken; the next one gets the rest.
    pub(crate) fn take_capacity(&self, bytes: usize) {
        let mut estimate = self.estimate.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(estimate) = estimate.as_mut() {
            estimate.take(bytes);
        }
    }

    /// Sends an event to the face; one that does not listen is not an error.
    pub(crate) async fn announce(&self, event: ToolEvent) {
        self.events.send(event).await.unwrap_or_default();
    }
}
