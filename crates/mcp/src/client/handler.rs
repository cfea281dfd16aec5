//! The requests that a server may make of its client: a person's input, and nothing else.
//!
//! Law: a server is heard only while a call of ours is under way. It gets no sampling and no roots.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, ErrorData, FormElicitationCapability, Implementation,
    ProgressNotificationParam, ProgressToken, ProtocolVersion,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::{Map, Value};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

use super::call::Progress;

/// The most fields of a form that a person is asked to fill in.
const MOST_FIELDS: usize = 32;

/// Somebody who can ask a person. Blocks until the person has answered.
pub trait ServerFace: Send + Sync + std::fmt::Debug {
    /// Shows the form to the person and waits for the answer.
    fn elicit(&self, server: &str, form: &ElicitationForm) -> ElicitationAnswer;
}

/// A server's question to the person. All texts are the server's own.
#[derive(Debug, Clone, PartialEq)]
pub struct ElicitationForm {
    /// The question.
    pub message: String,
    /// The values that are asked for.
    pub fields: Vec<FormField>,
}

/// One value of a form.
#[derive(Debug, Clone, PartialEq)]
pub struct FormField {
    /// The key in the answer.
    pub name: String,
    /// A heading for people.
    pub title: Option<String>,
    /// An explanation for people.
    pub description: Option<String>,
    /// False lets the person leave it out.
    pub is_required: bool,
    /// The type of the value.
    pub kind: FormFieldKind,
    /// The value of an empty answer.
    pub default: Option<Value>,
}

/// The type of a form's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormFieldKind {
    /// Any text.
    Text,
    /// A number with or without a fraction.
    Number,
    /// A whole number.
    Integer,
    /// Yes or no.
    Boolean,
    /// One of these values.
    Choice(Vec<String>),
    /// Any of these values.
    Several(Vec<String>),
}

/// The person's answer to a form.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationAnswer {
    /// The values by the keys of the fields.
    Accepted(Map<String, Value>),
    /// A clear no.
    Declined,
    /// No answer: the person left, or nobody was there.
    Cancelled,
}

/// The handler of one connection; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Handler(Arc<HandlerState>);

#[derive(Debug)]
struct HandlerState {
    server: String,
    face: Arc<dyn ServerFace>,
    listeners: Mutex<HashMap<ProgressToken, UnboundedSender<Progress>>>,
    calls: AtomicUsize,
    is_stale: AtomicBool,
    changed: Notify,
}

/// While this lives, a call is under way.
#[derive(Debug)]
pub(crate) struct UnderWay(Handler);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.0.calls.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Handler {
    pub(crate) fn new(server: &str, face: Arc<dyn ServerFace>) -> Self {
        Self(Arc::new(HandlerState {
            server: server.to_owned(),
            face,
            listeners: Mutex::default(),
            calls: AtomicUsize::new(0),
            is_stale: AtomicBool::new(false),
            changed: Notify::new(),
        }))
    }

    fn listeners(&self) -> MutexGuard<'_, HashMap<ProgressToken, UnboundedSender<Progress>>> {
        self.0.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn call_begins(&self) -> UnderWay {
        self.0.calls.fetch_add(1, Ordering::AcqRel);
        UnderWay(self.clone())
    }

    pub(crate) fn listen(&self, token: ProgressToken, to: UnboundedSender<Progress>) {
        self.listeners().insert(token, to);
    }

    pub(crate) fn unlisten(&self, token: &ProgressToken) {
        self.listeners().remove(token);
    }

    /// The server says that its tools are others now.
    pub(crate) fn note_change(&self) {
        self.0.is_stale.store(true, Ordering::Release);
        self.0.changed.notify_one();
    }

    pub(crate) async fn changed(&self) {
        self.0.changed.notified().await;
    }

    /// Tells once if the tools may have changed.
    pub(crate) fn take_change(&self) -> bool {
        self.0.is_stale.swap(false, Ordering::AcqRel)
    }

    /// Asks the person on a thread that may block.
    pub(crate) async fn elicit(&self, params: ElicitRequestParams) -> ElicitResult {
        let declined = || ElicitResult::new(ElicitationAction::Decline);
        if self.0.calls.load(Ordering::Acquire) == 0 {
            return declined();
        }
        // A link that a server wants opened was not announced as possible.
        let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = params
        else {
            return declined();
        };
        let schema = serde_json::to_value(&requested_schema).unwrap_or_default();
        let order = requested_schema.property_order.clone();
        let Some(form) = form(message, &schema, order) else { return declined() };
        let state = Arc::clone(&self.0);
        let asked = tokio::task::spawn_blocking(move || state.face.elicit(&state.server, &form));
        match asked.await {
            Ok(ElicitationAnswer::Accepted(content)) => {
                ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(content))
            }
            Ok(ElicitationAnswer::Cancelled) => ElicitResult::new(ElicitationAction::Cancel),
            Ok(ElicitationAnswer::Declined) | Err(_) => declined(),
        }
    }
}

/// `None` for a form that nobody can be expected to fill in.
fn form(message: String, schema: &Value, order: Option<Vec<String>>) -> Option<ElicitationForm> {
    let properties = schema["properties"].as_object()?;
    if properties.len() > MOST_FIELDS {
        return None;
    }
    let required: Vec<&str> = schema["required"]
        .as_array()
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let names = order.unwrap_or_else(|| properties.keys().cloned().collect());
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let field = |name: String| {
        let property = properties.get(&name)?;
        Some(FormField {
            is_required: required.contains(&name.as_str()),
            title: text(&property["title"]),
            description: text(&property["description"]),
            kind: kind(property),
            default: property.get("default").cloned(),
            name,
        })
    };
    Some(ElicitationForm { message, fields: names.into_iter().filter_map(field).collect() })
}

fn kind(property: &Value) -> FormFieldKind {
    let choices = |property: &Value| -> Option<Vec<String>> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        if let Some(values) = property["enum"].as_array() {
            return Some(values.iter().filter_map(text).collect());
        }
        let titled = property["oneOf"].as_array().or(property["anyOf"].as_array())?;
        Some(titled.iter().filter_map(|one| text(&one["const"])).collect())
    };
    match property["type"].as_str() {
        Some("boolean") => FormFieldKind::Boolean,
        Some("integer") => FormFieldKind::Integer,
        Some("number") => FormFieldKind::Number,
        Some("array") => FormFieldKind::Several(choices(&property["items"]).unwrap_or_default()),
        Some(_) | None => choices(property).map_or(FormFieldKind::Text, FormFieldKind::Choice),
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation =
            Some(ElicitationCapability::new().with_form(FormElicitationCapability::new()));
        let own = Implementation::new("journeyman", env!("CARGO_PKG_VERSION"));
        let mut config = ClientConfig::new(capabilities, own);
        config.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
        config
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(self.elicit(request).await)
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let ProgressNotificationParam { progress_token, progress, total, message, .. } = params;
        if let Some(listener) = self.listeners().get(&progress_token) {
            // A call that has ended listens no more.
            listener.send(Progress { progress, total, message }).unwrap_or_default();
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.note_change();
    }
}
