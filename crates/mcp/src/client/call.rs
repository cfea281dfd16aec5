//! One call of a server's tool.
//!
//! Law: a call is sent once. Where its outcome is unknown, that is the answer.

use std::sync::Arc;
use std::time::Duration;

use jm_types::Digest;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotificationParam, ClientRequest,
    InputRequest, InputRequiredResult, JsonObject, ListToolsRequest, MetaObject,
    PaginatedRequestParams, RequestMetaObject, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient, ServiceError};
use serde_json::Value;
use thiserror::Error;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use super::content::in_words;
use super::definition::named;
use super::handler::Handler;
use super::lifecycle::cleaned;
use super::link::LinkWatch;
use super::state::{ConnectionState, SharedState};

/// The key of `_meta` under which a server finds our idempotency key.
pub const IDEMPOTENCY_KEY: &str = "journeyman/idempotencyKey";
/// The most rounds of input that one call may ask for.
const MOST_ROUNDS: usize = 8;
/// The most pages of a list of tools.
const MOST_PAGES: usize = 64;
/// The longest that the end of a connection takes to be known.
const END_PATIENCE: Duration = Duration::from_secs(2);

/// A call as it is given to a connection.
#[derive(Debug)]
pub struct CallOrder {
    /// The server's name for the tool.
    pub tool: String,
    /// Of the definition that was shown.
    pub definition: Digest,
    /// Arguments that fit the schema.
    pub arguments: JsonObject,
    /// The journal's key of the call, by which a server can recognise a repetition.
    pub idempotency_key: String,
    /// Takes the server's news of the call.
    pub progress: UnboundedSender<Progress>,
}

/// A server's news of a call that runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Rises from news to news, in the server's own unit.
    pub progress: f64,
    /// The value at the end, where the server knows it.
    pub total: Option<f64>,
    /// The server's words, fit for no terminal yet.
    pub message: Option<String>,
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerAnswer {
    /// All parts of the answer as text.
    pub text: String,
    /// The tool itself says that it failed.
    pub is_error: bool,
}

/// The reason why a call has no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "each variant's message says it")]
pub enum CallFault {
    #[error("the server changed the definition of this tool; check it and call it again")]
    Changed,
    #[error("the server no longer has this tool")]
    Gone,
    #[error("the server refused: {0}")]
    Refused(String),
    #[error("the server disconnected: {0}; the outcome is unknown, and the call is not repeated")]
    Lost(String),
    #[error("the request failed: {0}; the outcome is unknown, and the call is not repeated")]
    Failed(String),
    #[error("the server's answer is not a tool result")]
    Nonsense,
    #[error("the server asked for input more than {MOST_ROUNDS} times")]
    TooManyRounds,
    #[error("the server asked for {0}, which it cannot have")]
    NotOffered(&'static str),
    #[error("cancelled")]
    Cancelled,
    #[error("the server is not connected: {0}")]
    NotConnected(String),
}

/// The way in which messages go to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkWay {
    /// Pipes, which end with the server.
    Pipes,
    /// HTTP, each message by itself.
    Requests,
}

/// A connection as calls see it.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) server: Arc<str>,
    pub(crate) way: LinkWay,
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) handler: Handler,
    pub(crate) watch: Arc<LinkWatch>,
    pub(crate) shared: Arc<SharedState>,
    pub(crate) listing: Arc<tokio::sync::Mutex<()>>,
}

impl Line {
    /// Makes the call, unless nobody waits for it any more.
    pub(crate) async fn perform(
        self,
        order: CallOrder,
        mut reply: oneshot::Sender<Result<ServerAnswer, CallFault>>,
    ) {
        let answer = self.call(order, &mut reply).await;
        // Nobody waits for the answer of a call that was stopped.
        reply.send(answer).unwrap_or_default();
    }

    async fn call(
        &self,
        order: CallOrder,
        reply: &mut oneshot::Sender<Result<ServerAnswer, CallFault>>,
    ) -> Result<ServerAnswer, CallFault> {
        let _under_way = self.handler.call_begins();
        self.freshen().await.map_err(|error| CallFault::Refused(error.to_string()))?;
        self.check(&order)?;
        let CallOrder { tool, arguments, idempotency_key, progress, .. } = order;
        let mut params = CallToolRequestParams::new(tool).with_arguments(arguments);
        for _ in 0..MOST_ROUNDS {
            let answer = self.round(params.clone(), &idempotency_key, &progress, reply).await?;
            match answer {
                ServerResult::CallToolResult(result) => {
                    let is_error = result.is_error.unwrap_or_default();
                    return Ok(ServerAnswer { text: in_words(&result), is_error });
                }
                ServerResult::InputRequiredResult(wanted) => {
                    // Whoever stopped the call waits for no answer of a person.
                    params = tokio::select! {
                        biased;
                        () = reply.closed() => return Err(CallFault::Cancelled),
                        params = self.with_input(params, wanted) => params?,
                    };
                }
                _ => return Err(CallFault::Nonsense),
            }
        }
        Err(CallFault::TooManyRounds)
    }

    /// The definition must be the one that the call was planned by.
    fn check(&self, order: &CallOrder) -> Result<(), CallFault> {
        let info = self.shared.info();
        let tools = info.as_deref().map(|info| info.tools.as_slice()).unwrap_or_default();
        match tools.iter().find(|tool| tool.own_name == order.tool) {
            Some(tool) if tool.digest == order.definition => Ok(()),
            Some(_) => Err(CallFault::Changed),
            None => Err(CallFault::Gone),
        }
    }

    async fn round(
        &self,
        params: CallToolRequestParams,
        key: &str,
        progress: &UnboundedSender<Progress>,
        reply: &mut oneshot::Sender<Result<ServerAnswer, CallFault>>,
    ) -> Result<ServerResult, CallFault> {
        self.watch.allow_answer();
        let mut meta = JsonObject::new();
        meta.insert(IDEMPOTENCY_KEY.to_owned(), Value::from(key));
        let options =
            PeerRequestOptions::no_options().with_meta(RequestMetaObject(MetaObject(meta)));
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sent = self.peer.send_request_with_option(request, options).await;
        let handle = match sent {
            Ok(handle) => handle,
            Err(error) => return Err(self.fault(error).await),
        };
        let (id, token) = (handle.id.clone(), handle.progress_token.clone());
        self.handler.listen(token.clone(), progress.clone());
        let answer = tokio::select! {
            answer = handle.await_response() => Some(answer),
            () = reply.closed() => None,
        };
        self.handler.unlisten(&token);
        match answer {
            Some(Ok(result)) => Ok(result),
            Some(Err(error)) => Err(self.fault(error).await),
            None => {
                let reason = Some("the call was cancelled".to_owned());
                let cancelled = CancelledNotificationParam::new(Some(id), reason);
                // A server that is gone needs no cancelling.
                self.peer.notify_cancelled(cancelled).await.unwrap_or_default();
                Err(CallFault::Cancelled)
            }
        }
    }

    /// The same request once more, with what was asked for.
    async fn with_input(
        &self,
        mut params: CallToolRequestParams,
        wanted: InputRequiredResult,
    ) -> Result<CallToolRequestParams, CallFault> {
        let requests = wanted.input_requests.unwrap_or_default();
        if requests.is_empty() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let mut responses = std::collections::BTreeMap::new();
        for (key, request) in requests {
            let answer = match request {
                InputRequest::Elicitation(request) => self.handler.elicit(request.params).await,
                InputRequest::CreateMessage(_) => return Err(CallFault::NotOffered("a model")),
                InputRequest::ListRoots(_) => return Err(CallFault::NotOffered("roots")),
                _ => return Err(CallFault::NotOffered("something unknown")),
            };
            responses.insert(key, serde_json::to_value(answer).unwrap_or_default());
        }
        params.input_responses = Some(responses).filter(|responses| !responses.is_empty());
        params.request_state = wanted.request_state;
        Ok(params)
    }

    /// Lists the tools again if the server has said that they changed.
    pub(crate) async fn freshen(&self) -> Result<(), ServiceError> {
        let _turn = self.listing.lock().await;
        if !self.handler.take_change() {
            return Ok(());
        }
        let tools = self.list().await?;
        let (tools, skipped) = named(&self.server, tools);
        self.shared.replace_tools(tools, skipped);
        Ok(())
    }

    /// Every page, past any cache.
    pub(crate) async fn list(&self) -> Result<Vec<rmcp::model::Tool>, ServiceError> {
        let (mut tools, mut cursor) = (Vec::new(), None);
        for _ in 0..MOST_PAGES {
            self.watch.allow_answer();
            let mut params = PaginatedRequestParams::default();
            params.cursor = cursor;
            let request = ListToolsRequest::with_param(params);
            let answer = self.peer.send_request(ClientRequest::ListToolsRequest(request)).await?;
            let ServerResult::ListToolsResult(page) = answer else {
                return Err(ServiceError::UnexpectedResponse);
            };
            tools.extend(page.tools);
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        Ok(tools)
    }

    async fn fault(&self, error: ServiceError) -> CallFault {
        match error {
            ServiceError::McpError(error) => {
                CallFault::Refused(format!("{} ({})", cleaned(&error.message), error.code.0))
            }
            // A request of its own that failed says nothing of the next one.
            ServiceError::TransportSend(error) if self.way == LinkWay::Requests => {
                CallFault::Failed(cleaned(&error.error.to_string()))
            }
            ServiceError::TransportSend(_) | ServiceError::TransportClosed => {
                CallFault::Lost(self.end().await)
            }
            ServiceError::UnexpectedResponse => CallFault::Nonsense,
            other => CallFault::Refused(cleaned(&other.to_string())),
        }
    }

    /// The reason of the end, once it is known.
    async fn end(&self) -> String {
        if let (LinkWay::Requests, Some(why)) = (self.way, self.watch.fault()) {
            return why;
        }
        let deadline = tokio::time::Instant::now() + END_PATIENCE;
        loop {
            if let ConnectionState::Ended(why) = self.shared.now() {
                return why;
            }
            if tokio::time::Instant::now() >= deadline {
                return "the connection was closed".to_owned();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
