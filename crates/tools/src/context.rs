//! The context of one call (FR-REG-04), made fresh for each.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use jm_files::{CommitLog, NoLog, ProjectState, SafePath, Sandbox};
use jm_process::background::Jobs;
use jm_process::confine::{Access, Grant};
use jm_process::spool::Spool;
use jm_process::{Confiner, EnvSanitizer};
use jm_system::clock::now_epoch_ms;
use jm_system::worker::off_thread;
use jm_types::{CallKey, Cancel, Limits, SessionId, ToolError, ToolEvent};
use jm_types::{Digest, Extent, Freshness, ReadRecord};
use tokio::sync::mpsc;

use crate::foresight::Expected;
use crate::holder::CommandHolder;

/// Ends when the call is cancelled.
pub async fn cancelled(cancel: &Cancel) {
    let (tell, told) = tokio::sync::oneshot::channel::<()>();
    let tell = Mutex::new(Some(tell));
    cancel.on_cancel(move || {
        let mut tell = tell.lock().unwrap_or_else(PoisonError::into_inner);
        drop(tell.take());
    });
    // The sender is dropped, not used, so the answer is always an error; its arrival is the news.
    told.await.unwrap_or_default();
}

/// A channel that nobody listens to; one serves everybody who needs one.
pub(crate) fn unheard_channel() -> mpsc::Sender<ToolEvent> {
    static CLOSED: OnceLock<mpsc::Sender<ToolEvent>> = OnceLock::new();
    CLOSED.get_or_init(|| mpsc::channel(1).0).clone()
}

/// The ground that all calls of a session stand on.
#[derive(Debug, Clone)]
pub struct Workspace {
    /// Resolves and opens every path.
    pub sandbox: Arc<Sandbox>,
    /// Chooses the variables that commands inherit.
    pub environment: Arc<EnvSanitizer>,
    /// Holds commands in what the sandbox allows.
    pub confiner: Arc<Confiner>,
    /// Backups and notes of the project, outside of it.
    pub state: Arc<ProjectState>,
    /// Commands that go on in the background.
    pub jobs: Arc<Jobs>,
}

/// The context of one call, or of the look at one: what it may use, and what it leaves behind besides its
/// outcome. A clone shares all of it, so that an operation takes one along to its own thread.
#[derive(Clone)]
pub struct CallContext {
    /// The ground that all calls share.
    pub workspace: Workspace,
    /// The conversation's reads as they were when the call began.
    pub freshness: Arc<Freshness>,
    /// Empty where a call runs; in a preview, the contents that earlier calls of its batch would leave.
    pub expected: Expected,
    /// The files that this call shows to the model, if it succeeds and if it fails.
    pub seen: Seen,
    /// The grants that would have let its commands have what confinement refused them.
    pub refused: Refused,
    /// The spool of a command's whole output, where it is kept at all.
    pub whole: Option<Whole>,
    /// Makes changes of files durable knowledge before they happen.
    pub effects: Arc<Mutex<dyn CommitLog + Send>>,
    /// Runs the call's commands on layers of their own; `None` where they change the workspace directly.
    pub holder: Option<Arc<dyn CommandHolder>>,
    /// Stops this call only.
    pub cancel: Cancel,
    /// Bounded; a full channel makes the tool wait or join chunks.
    pub output_tx: mpsc::Sender<ToolEvent>,
    /// Limits of calls and results.
    pub limits: Limits,
    /// The most bytes of a result: the configured limit, or the capacity where that is less.
    pub output_limit: usize,
    /// The bytes that the model's context has left.
    pub capacity: usize,
    /// The time at which the call is stopped.
    pub deadline: Instant,
    /// The vendor's id of the call; empty where nothing is run.
    pub tool_call_id: String,
    /// Empty where nothing is run.
    pub call_key: CallKey,
    /// The session that the call belongs to.
    pub session_id: SessionId,
    /// The name that the call uses.
    pub tool_name: String,
    /// [`Access::ReadsOnly`] for a command that runs unasked because it only reads.
    pub access: Access,
    /// The preview that a person agreed to, where one was asked.
    pub approved: Option<String>,
    /// True if the framework may cut the output.
    pub allow_truncation: bool,
}

/// The context as operations call it.
pub type Scope = CallContext;

impl std::fmt::Debug for CallContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallContext")
            .field("tool_call_id", &self.tool_call_id)
            .finish_non_exhaustive()
    }
}

/// The spool of a call, shared by who writes it and who takes it over.
pub type Whole = Arc<Mutex<Spool>>;

/// Files whose content a call has shown.
#[derive(Debug, Clone, Default)]
pub struct Seen(Arc<Mutex<Vec<(PathBuf, ReadRecord)>>>);

impl Seen {
    /// Notes that the model has been shown the file as it is now.
    pub fn record(&self, path: &SafePath, sha256: Digest, extent: Extent) {
        let record = ReadRecord { sha256, read_at_epoch_ms: now_epoch_ms(), extent };
        self.lock().push((path.absolute(), record));
    }

    /// Hands over all notes, and forgets them.
    pub fn take(&self) -> Vec<(PathBuf, ReadRecord)> {
        std::mem::take(&mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(PathBuf, ReadRecord)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Grants that a command lacked, gathered while its call runs.
#[derive(Debug, Clone, Default)]
pub struct Refused(Arc<Mutex<Vec<Grant>>>);

impl Refused {
    /// Notes grants, each once.
    pub fn note(&self, grants: Vec<Grant>) {
        let mut refused = self.lock();
        for grant in grants {
            if !refused.contains(&grant) {
                refused.push(grant);
            }
        }
    }

    /// Hands over all grants, and forgets them.
    pub fn take(&self) -> Vec<Grant> {
        std::mem::take(&mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Grant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallContext {
    /// A context without a call: nothing was read, nothing is recorded, nobody listens.
    pub fn without_call(workspace: Workspace, limits: Limits, deadline: Instant) -> Self {
        Self {
            workspace,
            freshness: Arc::default(),
            expected: Expected::default(),
            seen: Seen::default(),
            refused: Refused::default(),
            whole: None,
            effects: Arc::new(Mutex::new(NoLog)),
            holder: None,
            cancel: Cancel::new(),
            output_tx: unheard_channel(),
            limits,
            output_limit: usize::MAX,
            capacity: usize::MAX,
            deadline,
            tool_call_id: String::new(),
            call_key: CallKey::default(),
            session_id: SessionId::default(),
            tool_name: String::new(),
            access: Access::Full,
            approved: None,
            allow_truncation: true,
        }
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
