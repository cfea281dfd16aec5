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
use jm_config::Source;
use jm_providers::ModelClient;
use jm_store::Speaker;
use jm_types::{ApprovalMode, DenialReason, ErrorKind, Message, Native, Part, ToolCall, Verdict};
use serde_json::{Value, json};

mod chat_output;
mod decide;
mod document_file;
mod execute;
mod inspect;
mod send;

use self::chat_output::Teller;
use self::document_file::{Paper, PaperError};
use super::call_loop::{Driver, block_on};
use crate::cli::{Chat, Common};
use crate::{model_client, sessions, wire};

const INTERRUPTED: &str = "Response interrupted by the user.";
/// The dialect of documents, and its tools that a document may use without `--allow`: of these `bash`
/// asks each time.
const TOOLSET: &str = "flemma";
const BY_DEFAULT: [&str; 4] = ["read", "write", "edit", "bash"];

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
        let mut chatting = Chatting { driver, paper, teller: Teller::new(chat.json), received };
        let end = chatting.go(&common, chat).await;
        let Chatting { driver, mut teller, .. } = chatting;
        let code = match end {
            Ok(end) => teller.ended(&session, &end),
            Err(error) => Err(error),
        };
        driver.close(None).await?;
        code
    })
}

/// The flags of a document: its own session, and what every document has.
fn prepared(common: &Common, paper: &Paper) -> Result<Common> {
    let mut common = common.clone();
    if common.no_journal {
        bail!(
            "a document needs the journal, which knows what a model said; leave out --no-journal"
        );
    }
    if common.session.is_some() {
        bail!("a document has its own session; leave out --session");
    }
    common.session = Some(paper.session.clone().into());
    with_dialect(common, &paper.path)
}

/// The directory of a document, its dialect, and itself out of reach.
fn with_dialect(mut common: Common, document: &Path) -> Result<Common> {
    common.document = Some(document.to_owned());
    if common.root.is_empty() {
        common.root.extend(document.parent().map(Path::to_owned));
    }
    if common.toolset.is_some() {
        return Ok(common);
    }
    common.toolset = Some(TOOLSET.to_owned());
    let loaded = wire::load(&common)?;
    if loaded.config.tools.approval.mode != ApprovalMode::Deny {
        let is_free = |tool: &&str| {
            loaded.denials.get(*tool).is_none_or(|denied| denied.source == Source::Default)
        };
        let free = BY_DEFAULT.iter().filter(|tool| is_free(tool)).map(|tool| (*tool).to_owned());
        common.allow.extend(free);
    }
    Ok(common)
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
        if let Some(id) = &chat.tool {
            return self.one_tool(id).await;
        }
        let mut client: Option<ModelClient> = None;
        let mut turns = 0;
        loop {
            self.paper.read()?;
            self.check()?;
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
        if let Some(front) = self.paper.document.front_matter()
            && front.language == jm_chat::FrontMatterLanguage::Lua
        {
            bail!("{shown}: Lua front matter is not supported yet; use ```json");
        }
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
        for call in missing {
            statuses.push((call, self.status_of(&call.call).await));
        }
        if statuses.is_empty() {
            return Ok(Phase::default());
        }
        let told = statuses.iter().map(|(call, status)| as_json(call, status.word())).collect();
        let pairs: Vec<(&str, ToolStatus)> =
            statuses.iter().map(|(call, status)| (call.call.id.as_str(), *status)).collect();
        let form = self.paper.document.placeholder_form();
        let waits = statuses.iter().any(|(_, status)| *status == ToolStatus::Pending);
        let end =
            self.write("categorize", told, |document| document.with_placeholders(&pairs, form))?;
        Ok(Phase { did: true, waits, end })
    }

    async fn status_of(&self, call: &ToolCall) -> ToolStatus {
        if !self.is_received(call) {
            return ToolStatus::Pending;
        }
        let inspection = self.driver.engine.inspect(&self.driver.session, call.clone()).await;
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

    fn is_received(&self, call: &ToolCall) -> bool {
        self.received.borrow().iter().any(|(known, _)| known == call)
    }

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
                "{shown}: {conflict}; nothing was written\n  hint: `jm log {}` has what the model and the \
                 tools said",
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
    json!({
        "id": call.call.id, "name": call.call.name, "status": status, "line": call.line,
    })
}

/// The result of a placeholder that needs no tool.
fn settled(step: NextStep) -> Option<NewResult> {
    match step {
        NextStep::Fail(text) => Some(NewResult::error(text)),
        NextStep::Override(text) => Some(NewResult::text(text)),
        NextStep::Execute | NextStep::Wait => None,
    }
}
