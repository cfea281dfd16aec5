//! The client as the engine sees it: hears of calls, answers questions about them, and about recovery.
//!
//! Law: the diff stands in the call before the question is asked. An answer counts for the very call and the files
//! as they were shown; whatever is not a clear yes is no.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use jm_acp::schema::{
    Content, ContentBlock, ContentChunk, Notice, NoticeSeverity, PermissionOption,
    PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    SessionId as AcpSessionId, SessionUpdate, ToolCall, ToolCallContent, ToolCallId,
    ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use jm_acp::{
    AcpClient, ClientFeatures, call_kind, call_locations, diff_contents, diff_locations,
    fenced_content, hunks_in, rejection_reason,
};
use jm_engine::{CallEntry, Engine, RecoveryChoice};
use jm_tui::block::headline::headline;
use jm_types::text::{one_line, reveal, sanitize};
use jm_types::{ApprovalQuestion, CallQuestion, OfferedScope, SessionId, ToolEvent};
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use super::open_session::ClientParts;
use super::permission::{ALLOW, ClientAnswer, ClientChoice, REJECT, permission_options};
use crate::cli::Common;
use crate::faces::answer::Outcome;
use crate::faces::interrupts::Interrupter;
use crate::faces::{messages, recover};

/// The longest text of a call that a client is shown.
const MOST_SHOWN: usize = 32 * 1024;
/// The output of a running command is shown this often at most.
const PACE: Duration = Duration::from_millis(100);

pub(crate) struct ClientLink {
    client: AcpClient,
    session: AcpSessionId,
    root: PathBuf,
    features: ClientFeatures,
    /// The widest scope of an answer "always"; `None` where answers count once.
    remembers: Option<OfferedScope>,
    /// The calls of the batch, by the vendor's ids.
    calls: Mutex<HashMap<String, ShownCall>>,
    asked: AtomicU64,
    turn: Mutex<RunningTurn>,
    /// True once the turn has ended or was called off: nothing of it is asked any more.
    over: watch::Sender<bool>,
}

/// The turn that the client waits for.
#[derive(Default)]
struct RunningTurn {
    is_called_off: bool,
    interrupter: Option<Interrupter>,
    /// The servers whose questions could not be shown.
    unshown: BTreeSet<String>,
}

/// A call as the client knows it.
#[derive(Debug)]
struct ShownCall {
    id: ToolCallId,
    kind: ToolKind,
    has_diff: bool,
    output: String,
    told: Option<Instant>,
}

impl std::fmt::Debug for ClientLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientLink").field("session", &self.session).finish_non_exhaustive()
    }
}

impl ClientLink {
    pub(super) fn new(parts: ClientParts<'_>, (session, root): (&SessionId, PathBuf)) -> Self {
        Self {
            client: parts.client.clone(),
            session: AcpSessionId::new(session.to_string()),
            root,
            features: parts.features.clone(),
            remembers: parts.remembers,
            calls: Mutex::default(),
            asked: AtomicU64::new(1),
            turn: Mutex::default(),
            over: watch::channel(true).0,
        }
    }

    pub(super) fn client(&self) -> &AcpClient {
        &self.client
    }

    pub(super) fn features(&self) -> &ClientFeatures {
        &self.features
    }

    pub(super) fn session(&self) -> &AcpSessionId {
        &self.session
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    fn turn(&self) -> MutexGuard<'_, RunningTurn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new turn: what called the last one off counts no more.
    pub(super) fn begin_turn(&self) {
        *self.turn() = RunningTurn::default();
        self.over.send_replace(false);
    }

    /// The turn has ended, whatever of it still waits for an answer.
    pub(super) fn end_turn(&self) {
        self.over.send_replace(true);
    }

    /// Waits until the turn has ended or was called off.
    pub(super) async fn turn_is_over(&self) {
        let mut receiver = self.over.subscribe();
        // The sender lives as long as we do.
        receiver.wait_for(|is_over| *is_over).await.map(drop).unwrap_or_default();
    }

    /// From here on the turn is stopped by this.
    pub(super) fn interrupt_with(&self, interrupter: Interrupter) {
        self.turn().interrupter = Some(interrupter);
    }

    pub(super) fn call_off(&self) {
        let mut turn = self.turn();
        turn.is_called_off = true;
        self.over.send_replace(true);
        turn.interrupter.iter().for_each(Interrupter::interrupt);
    }

    pub(super) fn is_called_off(&self) -> bool {
        self.turn().is_called_off
    }

    /// Notes once a turn that a server's questions cannot be shown.
    pub(super) fn note_unshown(&self, server: &str) {
        let is_new = self.turn().unshown.insert(server.to_owned());
        if is_new {
            self.note(&format!("Server {server} asked for input, which this client cannot show"));
        }
    }

    pub(super) fn update(&self, update: SessionUpdate) {
        self.client.update(&self.session, update);
    }

    pub(super) fn say(&self, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.update(SessionUpdate::AgentMessageChunk(ContentChunk::new(text.into())));
        }
    }

    /// A line that is no part of the conversation, where the client can show such.
    pub(super) fn note(&self, text: &str) {
        let text = sanitize(text);
        match self.features.shows_notices {
            true => self.update(SessionUpdate::Notice(Notice::new(NoticeSeverity::Info, text))),
            false => self.say(format!("\n\n*{}*\n\n", one_line(&text))),
        }
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<String, ShownCall>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows a call that the model asks for.
    pub(super) fn begin_call(&self, id: &str, key: &str, name: &str, arguments: &str) {
        let parsed: Value = serde_json::from_str(arguments).unwrap_or_default();
        let kind = call_kind(name, &parsed);
        let shown = ToolCallId::new(key);
        let call = ToolCall::new(shown.clone(), headline(name, arguments).plain())
            .name(name.to_owned())
            .kind(kind)
            .status(ToolCallStatus::Pending)
            .locations(call_locations(&self.root, &parsed))
            .raw_input(parsed);
        self.update(SessionUpdate::ToolCall(call));
        let (output, told, has_diff) = (String::new(), None, false);
        self.calls().insert(id.to_owned(), ShownCall { id: shown, kind, has_diff, output, told });
    }

    /// Shows how a call ended.
    pub(super) fn end_call(&self, entry: &CallEntry) {
        let Some(result) = entry.result() else { return };
        let is_done = Outcome::of(result) == Outcome::Ran;
        let known = self.calls().remove(&entry.call.id);
        let Some(known) = known else { return };
        let status = if is_done { ToolCallStatus::Completed } else { ToolCallStatus::Failed };
        let fields = ToolCallUpdateFields::new().status(status);
        let fields = match is_done && known.has_diff {
            // The diff that was approved is what was done.
            true => fields.raw_output(Value::from(cut(&result.display))),
            false => match messages::changes(entry).filter(|_| is_done) {
                Some(diff) => self.with_diff(fields, &diff),
                None => fields.content(self.text_content(&result.display)),
            },
        };
        self.update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(known.id, fields)));
    }

    fn text_content(&self, text: &str) -> Vec<ToolCallContent> {
        match text.trim().is_empty() {
            true => Vec::new(),
            false => vec![fenced_content(&cut(text))],
        }
    }

    pub(super) fn with_diff(
        &self,
        fields: ToolCallUpdateFields,
        diff: &str,
    ) -> ToolCallUpdateFields {
        let hunks = hunks_in(diff);
        match hunks.is_empty() {
            true => fields.content(self.text_content(diff)),
            false => fields
                .content(diff_contents(&self.root, &hunks))
                .locations(diff_locations(&self.root, &hunks)),
        }
    }

    /// Asks about all calls that wait at once; where one question is called off, all are.
    pub(crate) async fn decide(&self, question: &ApprovalQuestion) -> ClientAnswer {
        let asked = question.calls.iter().map(async |call| {
            let choice = self.ask_about(call).await.ok_or(())?;
            Ok::<_, ()>((call, choice))
        });
        let given = futures_util::future::try_join_all(asked).await.unwrap_or_default();
        ClientAnswer::of(given)
    }

    async fn ask_about(&self, call: &CallQuestion) -> Option<ClientChoice> {
        let (id, kind) = match self.calls().get_mut(&call.id) {
            Some(shown) => {
                let preview = call.preview.as_deref().unwrap_or_default();
                shown.has_diff = !hunks_in(preview).is_empty();
                (shown.id.clone(), shown.kind)
            }
            None => (ToolCallId::new(call.id.clone()), ToolKind::Other),
        };
        let fields = self.question_fields(call, kind);
        let update = ToolCallUpdate::new(id.clone(), fields.clone());
        self.update(SessionUpdate::ToolCallUpdate(update));
        let options = permission_options(call, self.remembers);
        let (chosen, reason) = self.choose(ToolCallUpdate::new(id, fields), options).await?;
        Some(ClientChoice::of(&chosen, reason))
    }

    /// The call with all that an answer needs: reason, warnings, diff.
    fn question_fields(&self, call: &CallQuestion, kind: ToolKind) -> ToolCallUpdateFields {
        let mut reason = format!("Needs approval: {}", one_line(&call.reason));
        for warning in &call.warnings {
            reason.push_str(&format!("\n\n**{}**", one_line(warning)));
        }
        let reason = ToolCallContent::Content(Content::new(ContentBlock::from(reason)));
        let fields = ToolCallUpdateFields::new()
            .title(one_line(&call.summary))
            .kind(kind)
            .status(ToolCallStatus::Pending);
        let preview = reveal(call.preview.as_deref().unwrap_or_default());
        let mut fields = self.with_diff(fields, &preview);
        fields.content.get_or_insert_default().insert(0, reason);
        fields
    }

    /// The option that was chosen, and the reason; `None` where the question was called off.
    async fn choose(
        &self,
        call: ToolCallUpdate,
        options: Vec<PermissionOption>,
    ) -> Option<(String, Option<String>)> {
        let offered: Vec<String> =
            options.iter().map(|option| option.option_id.to_string()).collect();
        let request = RequestPermissionRequest::new(self.session.clone(), call, options);
        let response = self.client.ask_permission(&request).await.ok()?;
        let reason = rejection_reason(&response);
        match response.outcome {
            RequestPermissionOutcome::Selected(selected) => {
                let chosen = selected.option_id.to_string();
                offered.contains(&chosen).then_some((chosen, reason))
            }
            // The turn goes with its question, whichever of the two is heard first.
            RequestPermissionOutcome::Cancelled => {
                self.call_off();
                None
            }
            _ => None,
        }
    }

    /// Asks something that is about no call of the model.
    async fn ask(
        &self,
        title: &str,
        facts: &str,
        options: Vec<PermissionOption>,
    ) -> Option<String> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        let id = ToolCallId::new(format!("question-{number}"));
        let call = ToolCall::new(id.clone(), title)
            .kind(ToolKind::Think)
            .content(self.text_content(facts));
        self.update(SessionUpdate::ToolCall(call));
        let fields = ToolCallUpdateFields::new()
            .title(title.to_owned())
            .kind(ToolKind::Think)
            .status(ToolCallStatus::Pending)
            .content(self.text_content(facts));
        let chosen = self.choose(ToolCallUpdate::new(id.clone(), fields), options).await;
        let status = match chosen {
            Some(_) => ToolCallStatus::Completed,
            None => ToolCallStatus::Failed,
        };
        let fields = ToolCallUpdateFields::new().status(status);
        self.update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, fields)));
        chosen.map(|(option, _)| option)
    }

    /// Asks if the model shall work where everything of the person is.
    pub(super) async fn consents(&self, what: &str) -> bool {
        let title = format!("This is {what}: the model could read and change all of it. Continue?");
        let options = vec![
            PermissionOption::new(ALLOW, "Continue", PermissionOptionKind::AllowOnce),
            PermissionOption::new(REJECT, "Stop", PermissionOptionKind::RejectOnce),
        ];
        self.ask(&title, "", options).await.as_deref() == Some(ALLOW)
    }

    /// A session with unfinished calls goes on only when the person, or a flag, has decided (FR-RES-05).
    pub(crate) async fn recover(
        &self,
        common: &Common,
        engine: &Engine,
        session: &SessionId,
    ) -> Result<()> {
        recover::asking(common, engine, session, async |title, facts| {
            let options = vec![
                PermissionOption::new("keep", "Keep the results", PermissionOptionKind::AllowOnce),
                PermissionOption::new("discard", "Discard them", PermissionOptionKind::RejectOnce),
                PermissionOption::new(
                    "undo",
                    "Undo their changes",
                    PermissionOptionKind::RejectOnce,
                ),
            ];
            match self.ask(title, facts, options).await?.as_str() {
                "keep" => Some(RecoveryChoice::Keep),
                "discard" => Some(RecoveryChoice::Discard),
                "undo" => Some(RecoveryChoice::Undo),
                _ => None,
            }
        })
        .await
    }

    /// Events of running calls, until the engine is closed.
    pub(crate) async fn show(self: Arc<Self>, mut events: mpsc::Receiver<ToolEvent>) {
        while let Some(event) = events.recv().await {
            match event {
                ToolEvent::Started { tool_call_id: id, .. } => self.started(&id),
                ToolEvent::StdoutChunk { tool_call_id: id, chunk }
                | ToolEvent::StderrChunk { tool_call_id: id, chunk } => self.printed(&id, &chunk),
                ToolEvent::Noticed { text, .. } => self.note(&text),
                ToolEvent::Completed { .. } => {}
            }
        }
    }

    fn started(&self, id: &str) {
        let Some(id) = self.calls().get(id).map(|shown| shown.id.clone()) else { return };
        let fields = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
        self.update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, fields)));
    }

    /// The end of the output so far; all that is kept of it comes with the result.
    fn printed(&self, id: &str, chunk: &str) {
        let mut calls = self.calls();
        let Some(shown) = calls.get_mut(id) else { return };
        shown.output.push_str(chunk);
        let surplus = shown.output.len().saturating_sub(MOST_SHOWN);
        let surplus = shown.output.ceil_char_boundary(surplus);
        shown.output.drain(..surplus);
        if shown.has_diff || shown.told.is_some_and(|told| told.elapsed() < PACE) {
            return;
        }
        shown.told = Some(Instant::now());
        let content = self.text_content(&sanitize(&shown.output));
        let update =
            ToolCallUpdate::new(shown.id.clone(), ToolCallUpdateFields::new().content(content));
        drop(calls);
        self.update(SessionUpdate::ToolCallUpdate(update));
    }
}

/// The beginning of a long text, with a mark.
pub(super) fn cut(text: &str) -> String {
    if text.len() <= MOST_SHOWN {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(MOST_SHOWN);
    format!("{}\n(cut: {} of {} bytes)", &text[..end], end, text.len())
}
