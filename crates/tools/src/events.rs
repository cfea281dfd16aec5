//! The events of a running command, sent to whoever listens, and the spool that keeps its whole output.

use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use jm_files::ProjectState;
use jm_process::output_reader::{ChunkAnswer, CommandStream, OutputListener, OutputView};
use jm_process::spool::Spool;
use jm_types::ToolEvent;
use jm_types::text::sanitize::Sanitizer;
use tokio::sync::mpsc::{self, error::TrySendError};

use crate::context::{CallContext, Whole, unheard_channel};

/// Sends output on as it comes, already safe for a terminal.
#[derive(Debug)]
pub struct Events {
    sender: mpsc::Sender<ToolEvent>,
    tool_call_id: String,
    stdout: Sanitizer,
    stderr: Sanitizer,
    whole: Option<Whole>,
    pub(crate) view: OutputView,
}

impl Events {
    /// The channel to the face, with the call's names and spool.
    pub fn of(ctx: &CallContext) -> Self {
        Self {
            sender: ctx.output_tx.clone(),
            tool_call_id: ctx.tool_call_id.clone(),
            stdout: Sanitizer::default(),
            stderr: Sanitizer::default(),
            whole: ctx.whole.clone(),
            view: OutputView::Exact,
        }
    }

    /// The command that shows all of the output, if it is kept.
    pub(crate) fn whole_output(&self) -> Option<String> {
        let spool = self.spool()?;
        spool.is_kept().then(|| format!("jm output {}", spool.name()))
    }

    /// The file that has all of what was printed, for a tool that can read it.
    pub(crate) fn whole_file(&self, state: &ProjectState) -> Option<String> {
        let spool = self.spool().filter(|spool| spool.is_kept())?;
        let path =
            state.keep_output(spool.name(), |file| spool.copy(CommandStream::Stdout, file))?;
        path.into_os_string().into_string().ok()
    }

    pub(crate) fn is_shown_whole(&self) {
        if let Some(mut spool) = self.spool() {
            spool.forget();
        }
    }

    fn spool(&self) -> Option<MutexGuard<'_, Spool>> {
        Some(self.whole.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// For callers that only want the result.
    pub fn unheard() -> Self {
        let (stdout, stderr) = (Sanitizer::default(), Sanitizer::default());
        Self {
            sender: unheard_channel(),
            tool_call_id: String::new(),
            stdout,
            stderr,
            whole: None,
            view: OutputView::Exact,
        }
    }

    /// Tells the person what the result of a success does not say.
    pub(crate) fn notice(&self, text: &str) {
        let (tool_call_id, text) = (self.tool_call_id.clone(), text.to_owned());
        self.send(ToolEvent::Noticed { tool_call_id, text });
    }

    /// Sends an event, and waits for room; a closed channel is not an error.
    fn send(&self, mut event: ToolEvent) {
        while let Err(TrySendError::Full(back)) = self.sender.try_send(event) {
            event = back;
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn clean(&mut self, stream: CommandStream, chunk: &str) -> String {
        match stream {
            CommandStream::Stdout => self.stdout.push(chunk),
            CommandStream::Stderr => self.stderr.push(chunk),
        }
    }

    fn event(&self, stream: CommandStream, chunk: String) -> ToolEvent {
        let tool_call_id = self.tool_call_id.clone();
        match stream {
            CommandStream::Stdout => ToolEvent::StdoutChunk { tool_call_id, chunk },
            CommandStream::Stderr => ToolEvent::StderrChunk { tool_call_id, chunk },
        }
    }
}

impl OutputListener for Events {
    fn view(&self) -> OutputView {
        self.view
    }

    fn started(&mut self, pid: u32) {
        if let Some(spool) = self.spool() {
            spool.note_leader(pid);
        }
    }

    fn keep(&mut self, stream: CommandStream, bytes: &[u8]) {
        if let Some(mut spool) = self.spool() {
            spool.write(stream, bytes);
        }
    }

    fn hear(&mut self, stream: CommandStream, chunk: &str) -> ChunkAnswer {
        // Room first: a chunk that was cleaned cannot be offered again.
        let sender = self.sender.clone();
        let permit = match sender.try_reserve() {
            Ok(permit) => permit,
            Err(TrySendError::Full(())) => return ChunkAnswer::Full,
            Err(TrySendError::Closed(())) => return ChunkAnswer::Gone,
        };
        let clean = self.clean(stream, chunk);
        if !clean.is_empty() {
            permit.send(self.event(stream, clean));
        }
        ChunkAnswer::Taken
    }

    fn hear_last(&mut self, stream: CommandStream, chunk: &str) {
        let clean = self.clean(stream, chunk);
        self.send(self.event(stream, clean));
    }
}
