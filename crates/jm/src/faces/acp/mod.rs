//! `jm acp`: an agent for editors that speak the Agent Client Protocol, over standard input and output.
//!
//! Law: nothing is written to the journal before a session's first prompt. Standard output belongs to the protocol.
//! A client that vanishes stops what it asked for, and everything that was started ends.

mod client_link;
mod commands;
mod elicitation;
mod open_session;
mod permission;
mod replay;
mod screen;
mod session_index;

use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Result, bail};
use jm_acp::schema::{
    AuthenticateResponse, ClientRequest, CloseSessionResponse, DeleteSessionResponse, Error,
    LoadSessionResponse, NewSessionResponse, PromptRequest, RequestId, ResumeSessionResponse,
    SessionId, SetSessionConfigOptionRequest, SetSessionConfigOptionResponse,
    SetSessionModeResponse,
};
use jm_acp::{
    AcpClient, ClientFeatures, ClientMessage, SettingChoices, config_options, connect, mode_state,
};
use jm_types::OfferedScope;
use tokio::task::{LocalSet, spawn_local};

pub(crate) use client_link::ClientLink;

use super::call_loop::block_on;
use super::interrupts::StopSignals;
use super::{exit, keys};
use crate::cli::{Acp, Common, Keys, KeysCommand, Model};
use crate::model_client::ModelFault;
use open_session::{ClientParts, OpenSession, SessionGround};

/// How long the last answers may take to be written.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How long sessions may take to end.
const LAST_WORK: Duration = Duration::from_secs(20);

pub(crate) fn run(common: &Common, acp: &Acp) -> Result<u8> {
    if let Some(provider) = acp.login.clone() {
        return keys::run(&Keys { command: Some(KeysCommand::Set { provider }), json: false });
    }
    if !common.root.is_empty() {
        bail!("The client names the directory of each session\n  hint: leave --root out");
    }
    let common = Common { answered_by: Some("client"), session: None, ..common.clone() };
    let remembers = acp.remember.map(OfferedScope::from);
    block_on(LocalSet::new().run_until(serve(common, acp.model.clone(), remembers)))
}

async fn serve(common: Common, model: Model, remembers: Option<OfferedScope>) -> Result<u8> {
    let (client, mut input) = connect(std::io::stdin(), std::io::stdout())?;
    let features = ClientFeatures::default();
    let sessions = HashMap::new();
    let mut agent = AcpAgent { common, model, remembers, client, features, sessions };
    let mut signals = StopSignals::listen();
    loop {
        let message = tokio::select! {
            message = input.recv() => message,
            () = agent.client.gone() => None,
            () = signals.next() => None,
        };
        match message {
            Some(message) => agent.hear(message),
            None => break,
        }
    }
    let ends = agent.sessions.values().map(|session| session.close());
    let ended = futures_util::future::join_all(ends);
    // A disk that hangs must not keep the program.
    tokio::time::timeout(LAST_WORK, ended).await.map(drop).unwrap_or_default();
    agent.client.flush(LAST_WORDS);
    Ok(exit::RAN)
}

/// One connection with its sessions.
struct AcpAgent {
    common: Common,
    model: Model,
    /// The widest scope of an answer "always"; `None` where a client's answers count once.
    remembers: Option<OfferedScope>,
    client: AcpClient,
    features: ClientFeatures,
    sessions: HashMap<SessionId, Rc<OpenSession>>,
}

impl AcpAgent {
    fn hear(&mut self, message: ClientMessage) {
        match message {
            ClientMessage::Cancel { session } => {
                self.sessions.get(&session).into_iter().for_each(|session| session.cancel());
            }
            ClientMessage::CancelRequest { request } => {
                let asked = self.sessions.values().filter(|it| it.is_running(&request));
                asked.for_each(|session| session.cancel());
            }
            ClientMessage::Request { id, request } => self.answer(id, *request),
        }
    }

    fn answer(&mut self, id: RequestId, request: ClientRequest) {
        let client = self.client.clone();
        match request {
            ClientRequest::InitializeRequest(request) => {
                let (answer, features) = jm_acp::initialized(&request, env!("CARGO_PKG_VERSION"));
                self.features = features;
                client.respond(&id, &Ok(answer));
            }
            ClientRequest::AuthenticateRequest(_) => {
                let why = "Keys are set in a terminal: `jm keys set PROVIDER`";
                client.respond::<AuthenticateResponse>(&id, &Err(refused(why)));
            }
            ClientRequest::NewSessionRequest(request) => {
                let ground = SessionGround::new(request.cwd, request.additional_directories);
                let opened = self.open(None, ground, &request.mcp_servers);
                self.opened(&id, opened, |session, choices| {
                    NewSessionResponse::new(session.id().clone())
                        .modes(mode_state(choices))
                        .config_options(config_options(choices))
                });
            }
            ClientRequest::LoadSessionRequest(request) => {
                let ground = SessionGround::new(request.cwd, request.additional_directories);
                let opened = self.open(Some(request.session_id), ground, &request.mcp_servers);
                let told = opened.and_then(|session| {
                    replay::tell(session.link()).map_err(|error| fault(&error))?;
                    Ok(session)
                });
                self.opened(&id, told, |_, choices| {
                    LoadSessionResponse::new()
                        .modes(mode_state(choices))
                        .config_options(config_options(choices))
                });
            }
            ClientRequest::ResumeSessionRequest(request) => {
                let ground = SessionGround::new(request.cwd, request.additional_directories);
                let opened = self.open(Some(request.session_id), ground, &request.mcp_servers);
                self.opened(&id, opened, |_, choices| {
                    ResumeSessionResponse::new()
                        .modes(mode_state(choices))
                        .config_options(config_options(choices))
                });
            }
            ClientRequest::ListSessionsRequest(request) => {
                let listed = session_index::list(request.cwd.as_deref(), request.cursor.as_deref());
                client.respond(&id, &listed.map_err(|error| fault(&error)));
            }
            ClientRequest::DeleteSessionRequest(request) => self.delete(id, request.session_id),
            ClientRequest::CloseSessionRequest(request) => self.close(id, request.session_id),
            ClientRequest::SetSessionModeRequest(request) => {
                let set = self.session(&request.session_id);
                let set = set.and_then(|session| session.set_mode(&request.mode_id.0));
                client.respond(&id, &set.map(|()| SetSessionModeResponse::new()));
            }
            ClientRequest::SetSessionConfigOptionRequest(request) => {
                client.respond(&id, &self.set_option(&request));
            }
            ClientRequest::PromptRequest(request) => self.prompt(id, request),
            _ => client.respond::<()>(&id, &Err(Error::method_not_found())),
        }
    }

    /// Answers with a session that was opened, and offers its commands.
    fn opened<T: serde::Serialize>(
        &self,
        id: &RequestId,
        opened: Result<Rc<OpenSession>, Error>,
        answer: impl FnOnce(&OpenSession, &SettingChoices) -> T,
    ) {
        match opened {
            Ok(session) => {
                self.client.respond(id, &Ok(answer(&session, &session.choices())));
                commands::offer(session.link());
            }
            Err(error) => self.client.respond::<T>(id, &Err(error)),
        }
    }

    fn prompt(&self, id: RequestId, request: PromptRequest) {
        let client = self.client.clone();
        let session = self.session(&request.session_id).cloned();
        let session = session.and_then(|session| session.begin(&id).map(|()| session));
        let session = match session {
            Ok(session) => session,
            Err(error) => return client.respond::<()>(&id, &Err(error)),
        };
        spawn_local(async move {
            let answer = session.prompt(&request.prompt).await;
            session.finish();
            client.respond(&id, &answer);
        });
    }

    fn close(&mut self, id: RequestId, session: SessionId) {
        let client = self.client.clone();
        let Some(open) = self.sessions.remove(&session) else {
            let error = Error::session_not_found(session);
            return client.respond::<CloseSessionResponse>(&id, &Err(error));
        };
        spawn_local(async move {
            open.close().await;
            client.respond(&id, &Ok(CloseSessionResponse::new()));
        });
    }

    fn delete(&mut self, id: RequestId, session: SessionId) {
        let (client, open) = (self.client.clone(), self.sessions.remove(&session));
        spawn_local(async move {
            if let Some(open) = open {
                open.close().await;
            }
            let deleted = session_index::delete(&session).map(|()| DeleteSessionResponse::new());
            client.respond(&id, &deleted.map_err(|error| fault(&error)));
        });
    }

    fn session(&self, id: &SessionId) -> Result<&Rc<OpenSession>, Error> {
        self.sessions.get(id).ok_or_else(|| Error::session_not_found(id.clone()))
    }

    /// Opens a session: a new one, or the one of the journal that is named.
    fn open(
        &mut self,
        id: Option<SessionId>,
        ground: SessionGround,
        servers: &[jm_acp::schema::McpServer],
    ) -> Result<Rc<OpenSession>, Error> {
        if let Some(open) = id.as_ref().and_then(|id| self.sessions.get(id)) {
            return match open.is_busy() {
                true => Err(refused("A prompt of this session is running")),
                false => Ok(Rc::clone(open)),
            };
        }
        let parts = ClientParts {
            client: &self.client,
            features: &self.features,
            remembers: self.remembers,
        };
        let opened = OpenSession::open(parts, (&self.common, &self.model), id, ground, servers)
            .map_err(|error| fault(&error))?;
        let opened = Rc::new(opened);
        self.sessions.insert(opened.id().clone(), Rc::clone(&opened));
        Ok(opened)
    }

    fn set_option(
        &self,
        request: &SetSessionConfigOptionRequest,
    ) -> Result<SetSessionConfigOptionResponse, Error> {
        let session = self.session(&request.session_id)?;
        let value = request.value.as_value_id().ok_or_else(Error::invalid_params)?;
        match &*request.config_id.0 {
            "mode" => session.set_mode(&value.0)?,
            "model" => session.set_model(&value.0)?,
            other => return Err(refused(&format!("There is no option {other}"))),
        }
        Ok(SetSessionConfigOptionResponse::new(config_options(&session.choices())))
    }
}

/// An error that tells the person what to do.
fn refused(message: &str) -> Error {
    Error::new(Error::invalid_params().code.into(), message)
}

/// An error of ours as the protocol has it; the hint goes along.
fn fault(error: &anyhow::Error) -> Error {
    let code = match error.downcast_ref::<ModelFault>() {
        Some(fault) if fault.lacks_key() => Error::auth_required().code,
        Some(_) | None => Error::internal_error().code,
    };
    let text = format!("{error:#}");
    match text.split_once("\n  hint: ") {
        Some((message, hint)) => {
            Error::new(code.into(), message).data(serde_json::json!({"hint": hint}))
        }
        None => Error::new(code.into(), text),
    }
}
