//! The loop that every face shares: run, ask, run again, until all is answered.

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use jm_engine::{Engine, Pause, Session};
use jm_types::text::one_line;
use jm_types::{BatchNumber, ToolCall, ToolEvent};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::acp::ClientLink;
use super::answer::Answer;
use super::interrupts::Interrupts;
use super::line_output::LineOutput;
use super::prompt::{Approver, Asked};
use super::refused_calls::{Unanswered, add_set_aside};
use super::tui::Desk;
use super::{print, recover, screen};
use crate::cli::Common;
use crate::{approval, sessions, wire};

/// An engine ready to be driven, with somebody to ask.
pub(crate) struct Driver {
    pub(crate) engine: Engine,
    pub(crate) session: Session,
    approver: Approver,
    /// Calls of this run that nobody decided about.
    pub(crate) unanswered: Vec<Unanswered>,
    debug: bool,
    /// The conversation is drawn in blocks, which hold the output of commands.
    pub(crate) draws_blocks: bool,
    events: JoinHandle<()>,
    pub(crate) interrupts: Interrupts,
}

/// The outcome of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Answered,
    Interrupted,
}

pub(crate) fn runtime() -> Result<Runtime> {
    Builder::new_current_thread().enable_all().build().map_err(Into::into)
}

/// Runs a face to its end. A disk that hangs may still hold a thread; nobody waits for it.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = runtime()?;
    let outcome = runtime.block_on(work);
    runtime.shutdown_background();
    outcome
}

impl Driver {
    /// Must be called inside the runtime: it starts listening for events and signals.
    pub(crate) fn new(common: &Common) -> Result<Self> {
        let wired = wire::wire(common)?;
        Self::wired(common, wired, false)
    }

    /// The same for a conversation, which is drawn in blocks where the terminal shows them.
    pub(crate) fn drawn(common: &Common) -> Result<Self> {
        let wired = wire::wire(common)?;
        let toolset = wired.engine.core().registry.toolset();
        Self::wired(common, wired, screen::draws_blocks(common, toolset))
    }

    fn wired(common: &Common, wired: wire::Wired, draws_blocks: bool) -> Result<Self> {
        print::warnings(&wired.warnings);
        recover::before_work(common, &wired.engine, &wired.session.id)?;
        let live = !draws_blocks && std::io::stderr().is_terminal();
        let events = tokio::spawn(show_events(wired.events, common.debug, live));
        let approver = Approver::new(common.yes);
        approver.answers_servers(&wired.elicitor);
        let driver = Self::of(common, (wired.engine, wired.session), events, approver);
        Ok(Self { draws_blocks, ..driver })
    }

    /// The same with a screen, which shows events and asks questions.
    pub(crate) async fn at(common: &Common, desk: &Arc<Desk>) -> Result<Self> {
        let wired = wire::wire(common)?;
        print::warnings(&wired.warnings);
        desk.recover(common, &wired.engine, &wired.session.id).await?;
        let events = tokio::spawn(Arc::clone(desk).show(wired.events));
        let approver = match common.yes {
            true => Approver::Always,
            false => Approver::Desk(Arc::clone(desk)),
        };
        approver.answers_servers(&wired.elicitor);
        Ok(Self::of(common, (wired.engine, wired.session), events, approver))
    }

    /// The same with an editor, which shows events and asks questions.
    pub(crate) async fn for_client(common: &Common, link: &Arc<ClientLink>) -> Result<Self> {
        let wired = wire::wire(common)?;
        print::warnings(&wired.warnings);
        link.recover(common, &wired.engine, &wired.session.id).await?;
        let events = tokio::spawn(Arc::clone(link).show(wired.events));
        let approver = match common.yes {
            true => Approver::Always,
            false => Approver::Client(Arc::clone(link)),
        };
        approver.answers_servers(&wired.elicitor);
        Ok(Self::of(common, (wired.engine, wired.session), events, approver))
    }

    fn of(
        common: &Common,
        (engine, mut session): (Engine, Session),
        events: JoinHandle<()>,
        approver: Approver,
    ) -> Self {
        let interrupts = Interrupts::listen(&engine.canceller());
        if approver.is_a_person() {
            session.offer_grants();
            approval::offer_opt_in(&engine);
        }
        let (unanswered, debug, draws_blocks) = (Vec::new(), common.debug, false);
        Self { engine, session, approver, unanswered, debug, draws_blocks, events, interrupts }
    }

    /// Asks through another approver from here on.
    pub(crate) fn ask_through(&mut self, approver: Approver) {
        if approver.is_a_person() {
            self.session.offer_grants();
            approval::offer_opt_in(&self.engine);
        }
        if let Approver::Lines(_) = &approver {
            self.engine.core().recorder.answers_come_from("--answers");
        }
        self.approver = approver;
    }

    pub(crate) async fn answer(&mut self, calls: Vec<ToolCall>) -> Result<End> {
        if self.session.batch().awaits_results() {
            let id = &self.session.id;
            bail!(
                "session {id} has calls that wait for results\n  hint: supply them with `jm run --resume {id} --result ID=TEXT`, or skip them with `jm run --resume {id} PROMPT`"
            );
        }
        self.session.begin_turn();
        self.session.submit(calls)?;
        let end = self.work().await?;
        if end == End::Answered {
            // Without a model nobody waits for a result that comes later.
            self.engine.refuse_waiting(&mut self.session)?;
        }
        Ok(end)
    }

    /// Until every call of the batch has its result, or, in parse-only mode, waits for one.
    pub(crate) async fn work(&mut self) -> Result<End> {
        let session = &mut self.session;
        if self.debug {
            for entry in &session.batch().entries {
                print::debug(&json!({"debug": "call", "call": entry.call}));
            }
        }
        let end = loop {
            match self.engine.run(session).await {
                Pause::Finished | Pause::NeedsResults => break End::Answered,
                Pause::Cancelled => break End::Interrupted,
                Pause::NeedsApproval => {
                    let asked: Vec<Unanswered> =
                        session.batch().pending().map(Unanswered::of).collect();
                    tokio::select! {
                        biased;
                        () = self.interrupts.next() => print::note(""),
                        decided = self.approver.decide(&self.engine, session) => {
                            if decided? == Asked::Nobody {
                                self.unanswered.extend(asked);
                            }
                        }
                    }
                }
            }
        };
        add_set_aside(&mut self.unanswered, session.batch());
        if self.debug {
            let events = &self.engine.core().events;
            // What happened is told before what came of it.
            while events.capacity() < events.max_capacity() {
                tokio::task::yield_now().await;
            }
            for answer in session.batch().entries.iter().filter_map(Answer::of) {
                print::debug(&json!({"debug": "result", "result": answer}));
            }
        }
        Ok(end)
    }

    /// The answers were printed.
    pub(crate) fn delivered(&self) {
        let batch = self.session.batch().number;
        // The answers are out; that this is not on record costs a question after the next crash.
        if let Err(error) = self.engine.core().recorder.delivered(batch) {
            print::note(&format!("jm: {error}"));
        }
    }

    /// Asks the person for `more` rounds of calls after the `done` that the limit allows, and grants them.
    /// Nobody at the terminal is no.
    pub(crate) async fn ask_for_rounds(&mut self, done: usize, more: usize) -> Result<End> {
        let granted = tokio::select! {
            biased;
            () = self.interrupts.next() => {
                print::note("");
                return Ok(End::Interrupted);
            }
            granted = self.approver.grants_rounds(done, more) => granted?,
        };
        if granted {
            self.session.grant_iterations(more);
        }
        Ok(End::Answered)
    }

    /// Gives the session back, and lets the last events be shown.
    pub(crate) async fn close(self, delivered: Option<BatchNumber>) -> Result<()> {
        // What goes on in the background ends with the session, unless it shall be kept.
        self.engine.core().workspace.jobs.end_session();
        self.engine.close(delivered).map_err(sessions::told)?;
        // An abandoned call may still hold its end of the channel; nobody waits for that.
        tokio::time::timeout(LAST_EVENTS, self.events).await.ok();
        Ok(())
    }
}

/// In a terminal, output is seen as it comes, a screenful of it, unless it is drawn in blocks.
async fn show_events(mut events: mpsc::Receiver<ToolEvent>, debug: bool, live: bool) {
    let mut outputs: HashMap<String, LineOutput> = HashMap::new();
    while let Some(event) = events.recv().await {
        match &event {
            _ if debug => print::debug(&event),
            ToolEvent::StdoutChunk { tool_call_id: id, chunk }
            | ToolEvent::StderrChunk { tool_call_id: id, chunk }
                if live =>
            {
                show(&outputs.entry(id.clone()).or_default().push(chunk));
            }
            ToolEvent::Completed { tool_call_id: id } if live => {
                let rest = outputs.remove(id).map(LineOutput::end);
                show(&rest.unwrap_or_default());
            }
            ToolEvent::Noticed { text, .. } => {
                print::note(&format!("jm: note: {}", one_line(text)))
            }
            ToolEvent::StdoutChunk { .. }
            | ToolEvent::StderrChunk { .. }
            | ToolEvent::Started { .. }
            | ToolEvent::Completed { .. } => {}
        }
    }
}

/// A terminal that cannot be written has nobody to be told.
fn show(text: &str) {
    std::io::stderr().lock().write_all(text.as_bytes()).unwrap_or_default();
}

/// How long the last events may take to be shown.
const LAST_EVENTS: Duration = Duration::from_secs(1);
