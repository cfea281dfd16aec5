//! One session of a connection: its settings, and its agent once there was a prompt.
//!
//! Law: a client may tighten the approval mode and never loosen it. One prompt at a time; what cancels it is heard
//! at once, however far it has come.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use jm_acp::schema::{
    ContentBlock, Cost, Error, McpServer, McpServerHttp, McpServerStdio, PromptResponse,
    ReadTextFileRequest, RequestId, SessionId as AcpSessionId, SessionInfoUpdate, SessionUpdate,
    StopReason, UsageUpdate,
};
use jm_acp::{
    AcpClient, AskFailure, ClientFeatures, ModeChoice, SettingChoices, keeps_file, prompt_parts,
};
use jm_config::{ServerEntry, Servers, check_server_name};
use jm_engine::SharedPolicy;
use jm_files::{EditorBuffer, EditorBuffers, Sandbox, SandboxSettings};
use jm_policy::Policy;
use jm_system::clock::{now_epoch_ms, utc_moment};
use jm_system::state::short_id;
use jm_types::text::one_line;
use jm_types::{ApprovalMode, OfferedScope, Part, SessionId, StreamErrorKind};
use tokio::sync::Mutex;

use super::client_link::ClientLink;
use super::screen::AcpScreen;
use super::{commands, fault, refused};
use crate::agent::{Agent, Looks, TurnEnd};
use crate::cli::{Common, Model};
use crate::faces::{home, task, tui};
use crate::{model_client, session_name, sessions, wire};

/// The directories of a session, as the client names them.
#[derive(Debug, Clone)]
pub(super) struct SessionGround {
    roots: Vec<PathBuf>,
}

impl SessionGround {
    pub(super) fn new(cwd: PathBuf, more: Vec<PathBuf>) -> Self {
        Self { roots: std::iter::once(cwd).chain(more).collect() }
    }

    /// The canonical root; a directory that is not absolute or not there is refused.
    fn check(&self) -> Result<PathBuf> {
        if let Some(relative) = self.roots.iter().find(|root| !root.is_absolute()) {
            bail!("{} is not an absolute path", one_line(&relative.to_string_lossy()));
        }
        let [root, ..] = self.roots.as_slice() else { bail!("no directory") };
        let sandbox = Sandbox::new(&SandboxSettings::rooted_at(root))?;
        Ok(sandbox.working_root().path().to_owned())
    }
}

/// The client of a connection, and how far its answers reach.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClientParts<'a> {
    pub(super) client: &'a AcpClient,
    pub(super) features: &'a ClientFeatures,
    pub(super) remembers: Option<OfferedScope>,
}

pub(super) struct OpenSession {
    link: Arc<ClientLink>,
    common: RefCell<Common>,
    model: RefCell<Model>,
    client_name: Option<String>,
    /// Told with the first prompt.
    notes: Vec<String>,
    /// The mode that the person configured: no choice of a client is laxer.
    configured: ApprovalMode,
    mode: Cell<ApprovalMode>,
    /// The model that is shown as chosen.
    model_name: RefCell<String>,
    agent: Mutex<Option<Agent>>,
    /// The model was changed since the agent was opened.
    is_outdated: Cell<bool>,
    /// The prompt that is being answered.
    running: RefCell<Option<RequestId>>,
    policy: RefCell<Option<SharedPolicy>>,
}

impl OpenSession {
    pub(super) fn open(
        parts: ClientParts<'_>,
        (common, model): (&Common, &Model),
        id: Option<AcpSessionId>,
        ground: SessionGround,
        servers: &[McpServer],
    ) -> Result<Self> {
        let ClientParts { client, features, .. } = parts;
        let root = ground.check()?;
        let id: SessionId = match id {
            Some(id) => known(&id)?,
            None => short_id()?.into(),
        };
        let mut common = common.clone();
        (common.root, common.session) = (ground.roots, Some(id.clone()));
        let configured = wire::load(&common)?.config.tools.approval.mode;
        let (servers, notes) = client_servers(servers);
        common.servers = servers;
        let link = ClientLink::new(parts, (&id, root));
        if features.reads_buffers {
            common.buffers = buffers(client, link.session());
        }
        // The journal is not asked before the first prompt.
        let unasked = Common { no_journal: true, session: None, ..common.clone() };
        let name = model_client::chosen_name(&unasked, model)?;
        Ok(Self {
            link: Arc::new(link),
            common: RefCell::new(common),
            model: RefCell::new(model.clone()),
            client_name: features.name.clone(),
            notes,
            configured,
            mode: Cell::new(configured),
            model_name: RefCell::new(name),
            agent: Mutex::default(),
            is_outdated: Cell::default(),
            running: RefCell::default(),
            policy: RefCell::default(),
        })
    }

    pub(super) fn id(&self) -> &AcpSessionId {
        self.link.session()
    }

    pub(super) fn link(&self) -> &Arc<ClientLink> {
        &self.link
    }

    pub(super) fn choices(&self) -> SettingChoices {
        let modes =
            [ApprovalMode::Auto, ApprovalMode::Effects, ApprovalMode::Prompt, ApprovalMode::Deny];
        let offered =
            modes.into_iter().filter(|mode| strictness(*mode) >= strictness(self.configured));
        SettingChoices {
            modes: offered.map(choice).collect(),
            mode: tui::mode_word(self.mode.get()),
            models: model_client::known_models().unwrap_or_default(),
            model: self.model_name.borrow().clone(),
        }
    }

    /// Changes the approval mode, while a turn runs too: it counts for the next call.
    pub(super) fn set_mode(&self, id: &str) -> Result<(), Error> {
        let mode = match id {
            "auto" => ApprovalMode::Auto,
            "effects" => ApprovalMode::Effects,
            "prompt" => ApprovalMode::Prompt,
            "deny" => ApprovalMode::Deny,
            other => return Err(refused(&format!("There is no mode {}", one_line(other)))),
        };
        if strictness(mode) < strictness(self.configured) {
            let word = tui::mode_word(mode);
            return Err(refused(&format!(
                "A client cannot loosen the approval mode; start `jm acp --approve {word}`"
            )));
        }
        self.mode.set(mode);
        self.common.borrow_mut().approve = Some(tui::flag_of(mode));
        if let Some(policy) = &*self.policy.borrow() {
            let now = Policy::clone(&policy.now());
            policy.replace(Policy { mode, ..now });
        }
        Ok(())
    }

    /// Changes the model, from the next prompt on.
    pub(super) fn set_model(&self, name: &str) -> Result<(), Error> {
        if !self.choices().models.iter().any(|known| known == name)
            && *self.model_name.borrow() != name
        {
            return Err(refused(&format!("There is no model {}", one_line(name))));
        }
        self.model.borrow_mut().model = Some(name.to_owned());
        self.model_name.replace(name.to_owned());
        self.is_outdated.set(true);
        Ok(())
    }

    pub(super) fn is_busy(&self) -> bool {
        self.running.borrow().is_some()
    }

    pub(super) fn is_running(&self, request: &RequestId) -> bool {
        self.running.borrow().as_ref() == Some(request)
    }

    pub(super) fn begin(&self, request: &RequestId) -> Result<(), Error> {
        if self.is_busy() {
            return Err(refused("A prompt of this session is running; cancel it first"));
        }
        self.link.begin_turn();
        self.running.replace(Some(request.clone()));
        Ok(())
    }

    pub(super) fn finish(&self) {
        self.link.end_turn();
        self.running.replace(None);
    }

    pub(super) fn cancel(&self) {
        if self.is_busy() {
            self.link.call_off();
        }
    }

    /// Stops what runs, and gives the session back.
    pub(super) async fn close(&self) {
        self.cancel();
        let agent = self.agent.lock().await.take();
        if let Some(agent) = agent
            && let Err(error) = agent.close().await
        {
            crate::faces::print::error(&error);
        }
    }

    pub(super) async fn prompt(&self, blocks: &[ContentBlock]) -> Result<PromptResponse, Error> {
        let picture = |bytes: &[u8]| task::picture(bytes).map_err(|error| error.to_string());
        let parts = prompt_parts(blocks, picture).map_err(|fault| refused(&fault.to_string()))?;
        let mut slot = self.agent.lock().await;
        let outcome = match self.agent(&mut slot).await {
            Ok(agent) => self.turn(agent, parts).await,
            Err(error) => Err(error),
        };
        match outcome {
            Ok(Turned::Ended(reason)) => Ok(PromptResponse::new(reason)),
            // The protocol wants no error for what was called off.
            Ok(Turned::Failed(_)) | Err(_) if self.link.is_called_off() => {
                Ok(PromptResponse::new(StopReason::Cancelled))
            }
            Ok(Turned::Failed(error)) => Err(error),
            Err(error) => Err(fault(&error)),
        }
    }

    /// The agent, opened at the first prompt and after the model was changed.
    async fn agent<'a>(&self, slot: &'a mut Option<Agent>) -> Result<&'a mut Agent> {
        if self.is_outdated.take()
            && let Some(old) = slot.take()
        {
            old.close().await?;
        }
        let agent = match slot.take() {
            Some(agent) => agent,
            None => self.open_agent().await?,
        };
        self.link.interrupt_with(agent.driver.interrupts.interrupter());
        Ok(slot.insert(agent))
    }

    async fn open_agent(&self) -> Result<Agent> {
        let (common, model) = (self.common.borrow().clone(), self.model.borrow().clone());
        if let Some(what) =
            home::named(common.root.first().map_or(Path::new("."), PathBuf::as_path))
            && !self.link.consents(what).await
        {
            bail!("This is {what}\n  hint: open a project instead");
        }
        let agent = Agent::open(&common, &model, Looks::Client(&self.link)).await?;
        let core = agent.driver.engine.core();
        if let Some(name) = &self.client_name {
            let name: String = one_line(name).chars().take(60).collect();
            core.recorder.answers_come_from(format!("client {name}"));
        }
        self.policy.replace(Some(core.policy.clone()));
        agent.notes.iter().chain(&self.notes).for_each(|note| self.link.note(note));
        Ok(agent)
    }

    async fn turn(&self, agent: &mut Agent, parts: Vec<Part>) -> Result<Turned> {
        if self.link.is_called_off() {
            return Ok(Turned::Ended(StopReason::Cancelled));
        }
        let mut screen = AcpScreen::new(&self.link, agent);
        let end = match commands::named(&parts) {
            Some((command, rest)) => commands::run(command, &rest, agent, &mut screen).await,
            None => agent.turn(parts, &mut screen).await,
        };
        agent.driver.interrupts.forget();
        self.tell_use(agent);
        let end = end?;
        self.tell_title(&agent.driver.session.id)?;
        Ok(match end {
            TurnEnd::Finished => Turned::Ended(screen.stop_reason()),
            TurnEnd::Limit => {
                self.link.note(&agent.stopped());
                Turned::Ended(StopReason::MaxTurnRequests)
            }
            TurnEnd::Waiting => {
                self.link.note("Calls wait for results from outside (`jm run --resume`)");
                Turned::Ended(StopReason::EndTurn)
            }
            TurnEnd::Interrupted => Turned::Ended(StopReason::Cancelled),
            TurnEnd::Failed(error) => {
                let code = match error.kind {
                    StreamErrorKind::Authentication => Error::auth_required().code,
                    _ => Error::internal_error().code,
                };
                let told = Error::new(code.into(), error.message);
                let hint = error.hint.map(|hint| serde_json::json!({"hint": hint}));
                Turned::Failed(told.data(hint))
            }
        })
    }

    fn tell_use(&self, agent: &Agent) {
        let Some((used, size)) = agent.context_use() else { return };
        let cost = agent.client().cost(&agent.conversation.usage());
        let update = UsageUpdate::new(used as u64, size as u64)
            .cost(cost.map(|cost| Cost::new(cost, "USD")));
        self.link.update(SessionUpdate::UsageUpdate(update));
    }

    fn tell_title(&self, session: &SessionId) -> Result<()> {
        if self.common.borrow().no_journal {
            return Ok(());
        }
        let title = session_name::title(&sessions::store()?, session)?;
        let at = utc_moment(now_epoch_ms()).replace(' ', "T");
        let update = SessionInfoUpdate::new().title(title).updated_at(at);
        self.link.update(SessionUpdate::SessionInfoUpdate(update));
        Ok(())
    }
}

/// How a prompt ended.
enum Turned {
    Ended(StopReason),
    Failed(Error),
}

/// How long the editor may take to say what a buffer holds.
const BUFFER_PATIENCE: Duration = Duration::from_secs(5);

/// The editor's buffers, read when a file is about to be written.
fn buffers(client: &AcpClient, session: &AcpSessionId) -> EditorBuffers {
    let (client, session) = (client.clone(), session.clone());
    EditorBuffers::new(move |path| {
        let request = ReadTextFileRequest::new(session.clone(), path);
        match client.read_text_file(&request, BUFFER_PATIENCE) {
            Ok(read) => Ok(Some(EditorBuffer { kept: keeps_file(&read), text: read.content })),
            // It has no such buffer.
            Err(AskFailure::Refused(_)) => Ok(None),
            Err(failure) => Err(failure.to_string()),
        }
    })
}

/// The servers of tools that a client names, as entries of the configuration, and notes on the others.
fn client_servers(named: &[McpServer]) -> (Servers, Vec<String>) {
    let (mut servers, mut notes) = (Servers::new(), Vec::new());
    for server in named {
        let (name, entry) = match server {
            McpServer::Stdio(server) => (&server.name, started(server)),
            McpServer::Http(server) => (&server.name, reached(server)),
            _ => {
                notes.push(
                    "A server of tools of a kind that is not offered was left out".to_owned(),
                );
                continue;
            }
        };
        match check_server_name(name) {
            Ok(()) => {
                servers.insert(name.clone(), entry);
            }
            Err(why) => notes.push(format!("Server {} was left out: {why}", one_line(name))),
        }
    }
    (servers, notes)
}

fn started(server: &McpServerStdio) -> ServerEntry {
    let command = std::iter::once(server.command.to_string_lossy().into_owned());
    let variables = server.env.iter().map(|it| (it.name.clone(), it.value.clone()));
    ServerEntry {
        command: command.chain(server.args.clone()).collect(),
        variables: variables.collect(),
        ..ServerEntry::default()
    }
}

fn reached(server: &McpServerHttp) -> ServerEntry {
    let headers = server.headers.iter().map(|it| (it.name.clone(), it.value.clone()));
    ServerEntry { url: server.url.clone(), headers: headers.collect(), ..ServerEntry::default() }
}

/// The session of the journal that a client names by its whole id.
fn known(id: &AcpSessionId) -> Result<SessionId> {
    let name: SessionId = id.to_string().into();
    match sessions::store()?.session(&name).map_err(sessions::told)? {
        Some(view) => Ok(view.session),
        None => bail!("No session {}\n  hint: session/list has them", one_line(&name)),
    }
}

fn strictness(mode: ApprovalMode) -> u8 {
    match mode {
        ApprovalMode::Auto => 0,
        ApprovalMode::Effects => 1,
        ApprovalMode::Prompt => 2,
        ApprovalMode::Deny => 3,
    }
}

fn choice(mode: ApprovalMode) -> ModeChoice {
    let (name, description) = match mode {
        ApprovalMode::Auto => ("Auto", "Calls run without a question"),
        ApprovalMode::Effects => {
            ("Effects", "Commands run first, then it asks which changes to keep")
        }
        ApprovalMode::Prompt => ("Ask", "Side effects ask first"),
        ApprovalMode::Deny => ("Deny", "Calls that no list names are refused"),
    };
    ModeChoice { id: tui::mode_word(mode), name, description }
}
