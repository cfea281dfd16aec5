//! What one call may use (FR-REG-04), made fresh for each.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jm_types::{Cancel, Limits, ToolError, ToolEvent};
use jm_workspace::file::now_epoch_ms;
use jm_workspace::jobs::Jobs;
use jm_workspace::spool::Spool;
use jm_workspace::worker::off_thread;
use jm_workspace::{
    CommitLog, Confiner, Digest, EnvSanitizer, Extent, Freshness, ProjectState, ReadRecord,
    SafePath, Sandbox,
};
use tokio::sync::mpsc;

use crate::foresight::Expected;

/// The ground that all calls of a session stand on.
#[derive(Debug, Clone)]
pub struct Workspace {
    pub sandbox: Arc<Sandbox>,
    pub environment: Arc<EnvSanitizer>,
    /// Holds commands in what the sandbox allows.
    pub confiner: Arc<Confiner>,
    pub state: Arc<ProjectState>,
    /// Commands that go on in the background.
    pub jobs: Arc<Jobs>,
}

/// One call's context.
pub struct ToolCtx {
    pub workspace: Workspace,
    /// What the conversation has read, as it was when the call began.
    pub freshness: Arc<Freshness>,
    /// What this call lets the model know of files, whether it succeeds or not.
    pub seen: Seen,
    /// Keeps the whole output of a command, where it is kept at all.
    pub whole: Option<Whole>,
    /// Makes changes of files durable knowledge before they happen.
    pub effects: Arc<Mutex<dyn CommitLog + Send>>,
    /// Stops this call only.
    pub abort: Cancel,
    /// Bounded; a full channel makes the tool wait or join chunks.
    pub output_tx: mpsc::Sender<ToolEvent>,
    /// Used when the tool has no timeout of its own.
    pub default_timeout: Duration,
    pub deadline: Instant,
    pub max_output_bytes: usize,
    pub available_capacity_bytes: usize,
    pub tool_call_id: String,
    /// Our own name for the call, never given twice; the provider repeats its ids.
    pub call_key: String,
    pub session_id: String,
    pub tool_name: String,
    /// The preview that a person agreed to, where one was asked.
    pub approved: Option<String>,
    /// Whether the framework may cut the output.
    pub allow_truncation: bool,
    pub working_dir: PathBuf,
    pub limits: Limits,
}

impl std::fmt::Debug for ToolCtx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolCtx").field("tool_call_id", &self.tool_call_id).finish_non_exhaustive()
    }
}

/// The spool of a call, shared by who writes it and who takes it over.
pub type Whole = Arc<Mutex<Spool>>;

/// Files whose content a call has shown.
#[derive(Debug, Clone, Default)]
pub struct Seen(Arc<Mutex<Vec<(PathBuf, ReadRecord)>>>);

impl Seen {
    pub fn record(&self, path: &SafePath, sha256: Digest, extent: Extent) {
        let record = ReadRecord { sha256, read_at_epoch_ms: now_epoch_ms(), extent };
        self.lock().push((path.absolute(), record));
    }

    pub fn take(&self) -> Vec<(PathBuf, ReadRecord)> {
        std::mem::take(&mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(PathBuf, ReadRecord)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The part of a call's context that an operation takes along to its own thread.
#[derive(Debug, Clone)]
pub struct Scope {
    pub workspace: Workspace,
    pub freshness: Arc<Freshness>,
    /// Nothing where a call runs; in a preview, what earlier calls of its batch would leave.
    pub expected: Expected,
    pub seen: Seen,
    pub cancel: Cancel,
    pub limits: Limits,
    pub output_limit: usize,
    pub capacity: usize,
    pub deadline: Instant,
    /// Our own name for the call; empty where nothing is run.
    pub call_key: String,
    pub session_id: String,
    pub tool_name: String,
    /// The preview that a person agreed to, where one was asked.
    pub approved: Option<String>,
}

impl ToolCtx {
    pub fn scope(&self) -> Scope {
        Scope {
            workspace: self.workspace.clone(),
            freshness: Arc::clone(&self.freshness),
            expected: Expected::default(),
            seen: self.seen.clone(),
            cancel: self.abort.clone(),
            limits: self.limits.clone(),
            output_limit: self.output_limit(),
            capacity: self.available_capacity_bytes,
            deadline: self.deadline,
            call_key: self.call_key.clone(),
            session_id: self.session_id.clone(),
            tool_name: self.tool_name.clone(),
            approved: self.approved.clone(),
        }
    }

    /// What a result may take.
    pub fn output_limit(&self) -> usize {
        self.max_output_bytes.min(self.available_capacity_bytes)
    }

    /// Runs work that touches the disk on a thread of its own, so that a disk that hangs cannot
    /// hang anything but this call.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        match off_thread(work).await {
            Ok(outcome) => outcome,
            Err(payload) => std::panic::resume_unwind(payload),
        }
    }
}
