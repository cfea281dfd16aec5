//! The screen as the engine sees it: hears a turn, asks for approval, asks about recovery.
//!
//! Law: a question whose answer nobody waits for any more is taken off the screen.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, bail};
use jm_engine::{Batch, Engine, RecoveryChoice};
use jm_tui::block::Note;
use jm_tui::mailbox::Mailbox;
use jm_tui::msg::Msg;
use jm_tui::panel::question::{PanelChoice as Pick, PanelQuestion};
use jm_tui::text::Line;
use jm_types::{
    AnsweredCall, ApprovalAnswer, ApprovalChoice, ApprovalQuestion, CallQuestion, SessionId,
    StreamEvent, ToolEvent, Usage,
};
use tokio::sync::{mpsc, oneshot};

use crate::cli::Common;
use crate::faces::call_loop::runtime;
use crate::faces::screen::Screen;
use crate::faces::{messages, recover};
use crate::mcp::Dialogue;

#[derive(Debug)]
pub(crate) struct Desk {
    mailbox: Arc<Mailbox>,
    approval: Mutex<Option<oneshot::Sender<ApprovalAnswer>>>,
    question: Mutex<Option<(u64, oneshot::Sender<usize>)>>,
    secret: Mutex<Option<oneshot::Sender<Option<String>>>>,
    asked: AtomicU64,
    /// The next question is about a command that the person typed.
    approves_next: AtomicBool,
}

/// Takes its question off the screen when nobody waits any more.
struct Asking<'a>(&'a Desk);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.send(Msg::Withdrawn);
    }
}

impl Desk {
    pub(crate) fn new(mailbox: Arc<Mailbox>) -> Self {
        Self {
            mailbox,
            approval: Mutex::default(),
            question: Mutex::default(),
            secret: Mutex::default(),
            asked: AtomicU64::new(1),
            approves_next: AtomicBool::new(false),
        }
    }

    pub(crate) fn send(&self, msg: Msg) {
        self.mailbox.send(msg);
    }

    pub(crate) fn note(&self, note: Note) {
        self.send(Msg::Note(note));
    }

    /// The person's answers come from the screen.
    pub(super) fn answered(&self, answer: ApprovalAnswer) {
        if let Some(waits) = take(&self.approval) {
            waits.send(answer).unwrap_or_default();
        }
    }

    pub(super) fn chosen(&self, question: u64, choice: usize) {
        let asked = take(&self.question).filter(|(number, _)| *number == question);
        if let Some((_, waits)) = asked {
            waits.send(choice).unwrap_or_default();
        }
    }

    pub(super) fn secret_given(&self, secret: Option<String>) {
        if let Some(waits) = take(&self.secret) {
            waits.send(secret).unwrap_or_default();
        }
    }

    /// Says that what is asked next was typed by the person, or not any more.
    pub(super) fn approve_next(&self, is_typed: bool) {
        self.approves_next.store(is_typed, Ordering::Relaxed);
    }

    pub(crate) async fn decide(&self, question: &ApprovalQuestion) -> Result<ApprovalAnswer> {
        if self.approves_next.swap(false, Ordering::Relaxed) {
            let once = |call: &CallQuestion| AnsweredCall {
                id: call.id.clone(),
                fingerprint: None,
                choice: ApprovalChoice::Once,
            };
            return Ok(ApprovalAnswer { calls: question.calls.iter().map(once).collect() });
        }
        let (sender, receiver) = oneshot::channel();
        put(&self.approval, sender);
        self.send(Msg::Approval(Box::new(question.clone())));
        let _asking = Asking(self);
        let Ok(answer) = receiver.await else { bail!("the screen is gone") };
        Ok(answer)
    }

    /// Asks; nothing where the screen is gone.
    pub(super) async fn ask(
        &self,
        title: &str,
        facts: Vec<Line>,
        choices: Vec<Pick>,
    ) -> Option<usize> {
        let id = self.asked.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        put(&self.question, (id, sender));
        self.send(Msg::Question(PanelQuestion { id, title: title.to_owned(), facts, choices }));
        let _asking = Asking(self);
        receiver.await.ok()
    }

    pub(super) async fn ask_secret(&self, title: &str) -> Option<String> {
        let (sender, receiver) = oneshot::channel();
        put(&self.secret, sender);
        self.send(Msg::Secret { title: title.to_owned() });
        receiver.await.ok().flatten()
    }

    pub(crate) async fn grants_rounds(&self, done: usize, more: usize) -> bool {
        let title = format!("Stopped after {done} tool rounds. Continue for {more} more?");
        let choices = vec![Pick::new('y', "continue"), Pick::new('n', "stop")];
        self.ask(&title, Vec::new(), choices).await == Some(0)
    }

    /// A session with unfinished calls goes on only when the person, or a flag, has decided (FR-RES-05).
    pub(crate) async fn recover(
        &self,
        common: &Common,
        engine: &Engine,
        session: &SessionId,
    ) -> Result<()> {
        recover::asking(common, engine, session, async |title, facts| {
            let lines = facts.lines().map(Line::text).collect();
            let choices = vec![
                Pick::new('k', "keep the results"),
                Pick::new('d', "discard them"),
                Pick::new('u', "undo their changes"),
                Pick::new('l', "leave it"),
            ];
            match self.ask(title, lines, choices).await {
                Some(0) => Some(RecoveryChoice::Keep),
                Some(1) => Some(RecoveryChoice::Discard),
                Some(2) => Some(RecoveryChoice::Undo),
                _ => None,
            }
        })
        .await
    }

    /// Events of running calls, until the engine is closed.
    pub(crate) async fn show(self: Arc<Self>, mut events: mpsc::Receiver<ToolEvent>) {
        while let Some(event) = events.recv().await {
            match event {
                ToolEvent::Started { tool_call_id: id, .. } => self.send(Msg::CallStarted { id }),
                ToolEvent::StdoutChunk { tool_call_id: id, chunk }
                | ToolEvent::StderrChunk { tool_call_id: id, chunk } => {
                    self.send(Msg::Output { id, chunk });
                }
                ToolEvent::Noticed { text, .. } => self.note(Note::info(text)),
                ToolEvent::Completed { tool_call_id: id } => self.send(Msg::CallFinished { id }),
            }
        }
    }
}

/// The desk as a dialogue, for a thread that may wait.
pub(crate) struct AskingDesk<'a>(pub(crate) &'a Desk);

impl Dialogue for AskingDesk<'_> {
    fn choose(&mut self, question: &str, choices: &[(char, &str)]) -> Option<usize> {
        let mut lines = question.lines();
        let title = lines.next().unwrap_or_default().to_owned();
        let facts = lines.map(Line::text).collect();
        let choices = choices.iter().map(|(letter, words)| Pick::new(*letter, words)).collect();
        runtime().ok()?.block_on(self.0.ask(&title, facts, choices))
    }

    fn read(&mut self, question: &str) -> Option<String> {
        runtime().ok()?.block_on(self.0.ask_secret(question))
    }
}

fn put<T>(place: &Mutex<Option<T>>, value: T) {
    *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
}

fn take<T>(place: &Mutex<Option<T>>) -> Option<T> {
    place.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// A turn, shown.
#[derive(Debug)]
pub(super) struct Shown(pub(super) Arc<Desk>);

impl Screen for Shown {
    fn event(&mut self, event: &StreamEvent) -> Result<()> {
        messages::of_event(event).into_iter().for_each(|msg| self.0.send(msg));
        Ok(())
    }

    fn response_ends(&mut self, _: Usage) -> Result<()> {
        self.0.send(Msg::ResponseEnds);
        Ok(())
    }

    fn calls(&mut self, batch: &Batch) -> Result<()> {
        self.0.send(messages::of_calls(batch));
        Ok(())
    }

    fn results(&mut self, batch: &Batch) -> Result<()> {
        messages::of_results(batch).into_iter().for_each(|msg| self.0.send(msg));
        Ok(())
    }

    fn note(&mut self, text: &str) -> Result<()> {
        self.0.note(Note::info(text));
        Ok(())
    }
}
