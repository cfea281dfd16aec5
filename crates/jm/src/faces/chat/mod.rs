//! `jm chat FILE`: a `.chat` document goes on by one phase, or until somebody is needed (FL-PHASE, FL-AUTO).
//!
//! Laws: nothing is sent while a call lacks its result. A call that the journal did not receive from a model
//! for this document starts as pending. No tool writes the document that is being run.

use std::cell::RefCell;
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use jm_chat::{
    AnswerState, ChatCall, ChatDocument, EditError, NewResult, NextStep, Severity, ToolStatus,
};
use jm_engine::Inspection;
use jm_providers::ModelClient;
use jm_store::{FileEffect, Speaker};
use jm_types::{DenialReason, ErrorKind, Message, Native, Part, ToolCall, Verdict};
use serde_json::{Value, json};

mod chat_output;
mod decide;
mod document_file;
mod execute;
mod inspect;
mod recovery;
mod send;
mod settings;
mod trust;

use self::chat_output::Teller;
use self::document_file::{Paper, PaperError};
use self::settings::DocumentSettings;
pub(crate) use self::trust::trust;
use super::call_loop::{Driver, block_on};
use super::print;
use crate::cli::{Chat, Common};
use crate::{model_client, sessions};

const INTERRUPTED: &str = "Response interrupted by the user.";
/// The dialect of documents, and the tool that a document may use without `--allow`: it is asked about.
const TOOLSET: &str = "flemma";
const ASKED: [&str; 1] = ["bash"];

/// How a run over a document ended.
#[derive(Debug)]
pub(super) enum ChatEnd {
    /// The model has answered.
    Finished,
    /// One phase is done.
    Phase,
    NothingToSend,
    Pending {
        id: String,
        line: usize,
    },
    Overridden,
    Limit(usize),
    Interrupted,
    Conflict(String),
    Failed(String),
}

/// A document at work.
struct Chatting {
    driver: Driver,
    paper: Paper,
    teller: Teller,
    settings: DocumentSettings,
    /// A call wrote the document since the program did: no status in it is the person's word.
    is_forged: bool,
    /// The calls that a model made for this document, with the vendor's own items.
    received: RefCell<Vec<(ToolCall, Option<Native>)>>,
}

pub(crate) fn run(common: &Common, chat: &Chat) -> Result<u8> {
    if chat.inspect {
        return inspect::run(common, chat);
    }
    let paper = Paper::open(&chat.file)?;
    let common = prepared(common, &paper)?;
    block_on(async {
        let driver = Driver::new(&common)?;
        let received = RefCell::new(received(&driver)?);
        let session = paper.session.clone();
        let (teller, settings) = (Teller::new(chat.json), DocumentSettings::default());
        // An editor reads one stream: what is told on the way is an event too.
        let _diverted = chat.json.then(|| print::Diverted::to(Box::new(note_event)));
        let is_forged = is_written_by_calls(&driver, &paper)?;
        let mut chatting = Chatting { driver, paper, teller, settings, is_forged, received };
        let end = chatting.go(&common, chat).await;
        let pending = if chat.json { chatting.pending_previews().await } else { Vec::new() };
        let Chatting { driver, mut teller, .. } = chatting;
        let code = match end {
            Ok(end) => teller.ended(&session, &end, pending),
            Err(error) => {
                teller.failed(&session, &error)?;
                Err(error)
            }
        };
        driver.close(None).await?;
        code
    })
}

fn note_event(text: &str) {
    // Standard output that cannot be written is noticed by the next event.
    print::json(&json!({"type": "note", "text": text})).unwrap_or_default();
}

/// Tells whether a call of another session wrote the document after the program did.
fn is_written_by_calls(driver: &Driver, paper: &Paper) -> Result<bool> {
    let Some(journal) = driver.engine.core().recorder.journal() else { return Ok(false) };
    let (store, since) = (journal.store(), paper.written_at());
    for view in store.sessions().map_err(sessions::told)? {
        let is_older = view.last.is_some_and(|last| last < since);
        if is_older || view.session == driver.session.id {
            continue;
        }
        for call in store.calls(&view.session).map_err(sessions::told)? {
            let is_later = call.records.iter().any(|(at, _)| *at >= since);
            let is_meant = |file: &FileEffect| file.path == paper.path;
            if is_later && call.effects().files.iter().any(is_meant) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The flags of a document: its own session, and what every document has.
fn prepared(common: &Common, paper: &Paper) -> Result<Common> {
    let mut common = common.clone();
    if common.no_journal {
        bail!("`jm chat` needs the journal; remove --no-journal");
    }
    if common.session.is_some() {
        bail!("a document has its own session; remove --session");
    }
    common.session = Some(paper.session.clone().into());
    Ok(with_dialect(common, &paper.path))
}

/// The directory of a document, its dialect, and itself out of reach.
fn with_dialect(mut common: Common, document: &Path) -> Common {
    common.document = Some(document.to_owned());
    if common.root.is_empty() {
        common.root.extend(document.parent().map(Path::to_owned));
    }
    if common.toolset.is_none() {
        common.toolset = Some(TOOLSET.to_owned());
        common.asked.extend(ASKED.map(str::to_owned));
    }
    common
}

/// The calls that the journal of this document has received.
fn received(driver: &Driver) -> Result<Vec<(ToolCall, Option<Native>)>> {
    let Some(journal) = driver.engine.core().recorder.journal() else { return Ok(Vec::new()) };
    let messages = journal.store().messages(&driver.session.id).map_err(sessions::told)?;
    let said = messages.into_iter().filter(|view| view.message.role == Speaker::Assistant);
    let parts = said.filter_map(|view| serde_json::from_value(view.message.content).ok());
    let message = |parts| Message { role: jm_types::MessageRole::Assistant, parts };
    Ok(parts.flat_map(|parts: Vec<Part>| calls_of(&message(parts))).collect())
}

fn calls_of(message: &Message) -> Vec<(ToolCall, Option<Native>)> {
    let call = |part: &Part| match part {
        Part::Call { call, native } => {
            // A call without arguments is written as `{}`.
            let is_blank = call.arguments.trim().is_empty();
            let arguments = if is_blank { "{}".to_owned() } else { call.arguments.clone() };
            Some((ToolCall { arguments, ..call.clone() }, native.clone()))
        }
        _ => None,
    };
    message.parts.iter().filter_map(call).collect()
}

impl Chatting {
    /// Phase after phase.
    async fn go(&mut self, common: &Common, chat: &Chat) -> Result<ChatEnd> {
        self.check()?;
        self.apply_front_matter(common)?;
        if let Some(end) = self.take_recovered()? {
            return Ok(end);
        }
        if let Some(id) = &chat.tool {
            return self.one_tool(id).await;
        }
        let mut client: Option<ModelClient> = None;
        let mut turns = 0;
        loop {
            self.paper.read()?;
            self.check()?;
            self.apply_front_matter(common)?;
            let categorized = self.categorize().await?;
            if let Some(end) = categorized.end {
                return Ok(end);
            }
            // Where nothing waits for a person, the second phase follows by itself.
            if chat.no_auto && categorized.waits {
                return Ok(self.first_pending().unwrap_or(ChatEnd::Phase));
            }
            let executed = self.execute().await?;
            if let Some(end) = executed.end {
                return Ok(end);
            }
            if let Some(pending) = self.first_pending() {
                return Ok(pending);
            }
            if chat.no_auto && (categorized.did || executed.did) {
                return Ok(ChatEnd::Phase);
            }
            if turns == chat.max_turns {
                return Ok(ChatEnd::Limit(chat.max_turns));
            }
            let client = match &mut client {
                Some(client) => client,
                None => client.insert(model_client::open(common, &chat.model).await?),
            };
            turns += 1;
            match self.send(client, &chat.model).await? {
                Some(end) => return Ok(end),
                None if chat.no_auto => return Ok(ChatEnd::Phase),
                None => {}
            }
        }
    }

    /// Errors block everything; warnings are told.
    fn check(&mut self) -> Result<()> {
        let shown = self.paper.path.display().to_string();
        let errors = self.paper.document.diagnostics().iter();
        let errors = errors.filter(|one| one.severity == Severity::Error);
        let errors: Vec<String> = errors.map(|one| format!("{shown}:{one}")).collect();
        if errors.is_empty() { Ok(()) } else { Err(anyhow!(errors.join("\n"))) }
    }

    fn first_pending(&self) -> Option<ChatEnd> {
        self.paper.document.open_calls().into_iter().find_map(|call| match &call.answer {
            AnswerState::Placeholder(place) if place.next_step() == NextStep::Wait => {
                Some(ChatEnd::Pending { id: call.call.id.clone(), line: place.line })
            }
            AnswerState::Missing | AnswerState::Placeholder(_) | AnswerState::Given { .. } => None,
        })
    }

    /// The first phase: every call without an answer gets a placeholder.
    async fn categorize(&mut self) -> Result<Phase> {
        let calls = self.paper.document.open_calls();
        let missing = calls.iter().filter(|call| call.answer == AnswerState::Missing);
        let mut statuses: Vec<(&ChatCall, ToolStatus)> = Vec::new();
        let mut told = Vec::new();
        for call in missing {
            let (status, preview) = self.judged(&call.call).await;
            told.push(with_preview(as_json(call, status.word()), preview));
            statuses.push((call, status));
        }
        if statuses.is_empty() {
            return Ok(Phase::default());
        }
        let pairs: Vec<(&str, ToolStatus)> =
            statuses.iter().map(|(call, status)| (call.call.id.as_str(), *status)).collect();
        let form = self.paper.document.placeholder_form();
        let waits = statuses.iter().any(|(_, status)| *status == ToolStatus::Pending);
        let end =
            self.write("categorize", told, |document| document.with_placeholders(&pairs, form))?;
        Ok(Phase { did: true, waits, end })
    }

    async fn status_of(&self, call: &ToolCall) -> ToolStatus {
        self.judged(call).await.0
    }

    /// The status that a call gets now, and its one-line preview.
    async fn judged(&self, call: &ToolCall) -> (ToolStatus, String) {
        let inspection = self.driver.engine.inspect(&self.driver.session, call.clone()).await;
        let preview = inspection.summary.clone();
        let status = match self.is_received(call) {
            true => status_by(inspection),
            false => ToolStatus::Pending,
        };
        (status, preview)
    }

    /// The pending calls with their previews, for an editor that shows them in their placeholders.
    async fn pending_previews(&self) -> Vec<Value> {
        let mut all = Vec::new();
        for call in self.paper.document.open_calls() {
            let AnswerState::Placeholder(place) = &call.answer else { continue };
            if place.status == ToolStatus::Pending {
                let (_, preview) = self.judged(&call.call).await;
                let told = as_json(&call, place.status.word());
                all.push(with_preview(told, preview));
            }
        }
        all
    }

    fn is_received(&self, call: &ToolCall) -> bool {
        self.received.borrow().iter().any(|(known, _)| known == call)
    }
}

/// The status that the policy's verdict means in a document.
fn status_by(inspection: Inspection) -> ToolStatus {
    match (inspection.verdict, inspection.error.map(|error| error.kind)) {
        (Verdict::Allow, _) => ToolStatus::Approved,
        (Verdict::Ask, _) => ToolStatus::Pending,
        (Verdict::Deny, Some(ErrorKind::SandboxViolation(reason))) if is_policy(&reason) => {
            ToolStatus::Denied
        }
        // Running it gives the model the error that helps it.
        (Verdict::Deny, Some(_)) => ToolStatus::Approved,
        (Verdict::Deny, None) => ToolStatus::Denied,
    }
}

impl Chatting {
    /// Writes the document. A conflict ends the run, and what could not be written is in the journal.
    fn write(
        &mut self,
        phase: &str,
        calls: Vec<Value>,
        edit: impl FnOnce(&ChatDocument) -> Result<ChatDocument, EditError>,
    ) -> Result<Option<ChatEnd>> {
        let shown = self.paper.path.display().to_string();
        match self.paper.edit(edit) {
            Ok(()) => {
                self.teller.written(phase, calls)?;
                Ok(None)
            }
            Err(PaperError::Conflict(conflict)) => Ok(Some(ChatEnd::Conflict(format!(
                "{shown}: {conflict}; nothing was written\n  hint: the answer and the results are in `jm log {}`",
                self.paper.session
            )))),
            Err(PaperError::Edit(error)) => {
                Ok(Some(ChatEnd::Failed(format!("{shown}: {error}; nothing was written"))))
            }
            Err(PaperError::Other(error)) => Err(error),
        }
    }
}

/// A denial of the tool as such, not of what it was asked to do.
fn is_policy(reason: &DenialReason) -> bool {
    match reason {
        DenialReason::Denylisted { .. }
        | DenialReason::OffByDefault { .. }
        | DenialReason::Disabled
        | DenialReason::NotAllowlisted { .. }
        | DenialReason::DeniedByPerson { .. } => true,
        DenialReason::PathOutsideSandbox { .. }
        | DenialReason::DeniedPatternMatched { .. }
        | DenialReason::ProtectedPath { .. }
        | DenialReason::LimitsExceeded { .. } => false,
    }
}

/// The outcome of a phase.
#[derive(Debug, Default)]
struct Phase {
    did: bool,
    waits: bool,
    end: Option<ChatEnd>,
}

fn as_json(call: &ChatCall, status: &str) -> Value {
    let mut told = json!({
        "id": call.call.id, "name": call.call.name, "status": status, "line": call.line,
    });
    if let AnswerState::Placeholder(place) = &call.answer {
        told["placeholder"] = Value::from(place.line);
    }
    told
}

fn with_preview(mut told: Value, preview: String) -> Value {
    told["preview"] = Value::from(preview);
    told
}

/// The result of a placeholder that needs no tool.
fn settled(step: NextStep) -> Option<NewResult> {
    match step {
        NextStep::Fail(text) => Some(NewResult::error(text)),
        NextStep::Override(text) => Some(NewResult::text(text)),
        NextStep::Execute | NextStep::Wait => None,
    }
}
