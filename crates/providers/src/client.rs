//! The model client: a model found by its name and asked over HTTP.

use std::collections::BTreeMap;
use std::sync::Arc;

use jm_types::{Cancel, StreamError, StreamErrorKind, Usage};

use crate::adapter::Recipient;
use crate::endpoint::Endpoint;
use crate::event_stream::EventStream;
use crate::fenced::{self, CallMeta};
use crate::http::{self, AnswerSizes, Exchange, HttpTimeouts};
use crate::models::{Catalogue, ModelInfo};
use crate::parameter_layers::ParameterLayers;
use crate::record::TrafficRecorder;
use crate::request::ModelRequest;
use crate::retry::Retry;
use crate::wire::Wire;

/// The environment, read once by the one place that wires the program, and the user's choices.
#[derive(Debug, Clone, Default)]
pub struct ClientSettings {
    /// Variables such as `ANTHROPIC_API_KEY`.
    pub environment: BTreeMap<String, String>,
    /// Known models with limits, prices and aliases.
    pub catalogue: Catalogue,
    /// Waits for connections and bytes.
    pub timeouts: HttpTimeouts,
    /// Bounds of answers.
    pub sizes: AnswerSizes,
    /// Attempts after a failure that may pass.
    pub retry: Retry,
    /// Records the traffic without its secrets.
    pub recorder: Option<TrafficRecorder>,
}

impl ClientSettings {
    /// The usual ones, with the table of models that the program carries.
    pub fn new(environment: BTreeMap<String, String>) -> Result<Self, StreamError> {
        let catalogue = Catalogue::embedded().map_err(|error| {
            StreamError::new(StreamErrorKind::BadRequest, format!("the table of models: {error}"))
        })?;
        Ok(Self { environment, catalogue, ..Self::default() })
    }
}

/// One model of one vendor, or of a server on this machine.
#[derive(Debug, Clone)]
pub struct ModelClient {
    http: reqwest::Client,
    endpoint: Endpoint,
    info: ModelInfo,
    settings: ClientSettings,
    calling: Calling,
    meta: CallMeta,
    /// The server on this machine, which runs as long as a client lives.
    _server: Option<Arc<dyn LocalServer>>,
}

/// How a model asks for tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Calling {
    /// In its vendor's own way.
    Native,
    /// In fenced blocks of its text, because it has no other.
    Fenced,
}

/// A server that ends when the last client of it does.
pub trait LocalServer: std::fmt::Debug + Send + Sync {}

/// A model that a server on this machine offers, over plain HTTP and without a key.
#[derive(Debug, Clone)]
pub struct LocalModel {
    /// The protocol that the server speaks.
    pub wire: Wire,
    /// The address without the path of the protocol.
    pub base_url: String,
    /// The server's name for the model.
    pub name: String,
    /// Limits, as far as the server tells them.
    pub info: ModelInfo,
    /// Keeps the server running as long as the model is used.
    pub server: Arc<dyn LocalServer>,
}

impl ModelClient {
    /// The model of this name: `PROVIDER/NAME`, or a bare name that says its provider itself;
    /// `fenced:NAME` for one that has no tools of its own. A server on this machine: see `local`.
    pub fn open(name: &str, settings: &ClientSettings) -> Result<Self, StreamError> {
        let (name, calling) = match name.strip_prefix("fenced:") {
            Some(name) => (name, Calling::Fenced),
            None => (name, Calling::Native),
        };
        let endpoint = Endpoint::find(name, &settings.environment, &settings.catalogue)?;
        // Vertex offers Gemini's models, and the chat endpoint OpenAI's.
        let rows = match endpoint.provider.as_str() {
            "vertex" => "gemini",
            "openai-chat" => "openai",
            other => other,
        };
        let info = settings.catalogue.get(rows, &endpoint.model).cloned().unwrap_or_default();
        Self::to(endpoint, info, calling, settings, None)
    }

    /// The model that a server on this machine offers, such as the scripted one.
    pub fn local(model: LocalModel, settings: &ClientSettings) -> Result<Self, StreamError> {
        let LocalModel { wire, base_url, name, info, server } = model;
        let endpoint = Endpoint {
            wire,
            provider: wire.provider().to_owned(),
            url: format!("{base_url}{}", wire.path(&name)),
            model: name,
            key: None,
        };
        Self::to(endpoint, info, Calling::Native, settings, Some(server))
    }

    /// There is no key to show, and a key would usually be wanted.
    pub fn lacks_key(&self) -> bool {
        self.endpoint.lacks_key()
    }

    fn to(
        endpoint: Endpoint,
        info: ModelInfo,
        calling: Calling,
        settings: &ClientSettings,
        server: Option<Arc<dyn LocalServer>>,
    ) -> Result<Self, StreamError> {
        let builder = reqwest::Client::builder()
            .connect_timeout(settings.timeouts.connect)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("journeyman/", env!("CARGO_PKG_VERSION")));
        // On this machine stands nobody's proxy, and before our own server no certificate.
        let builder = if endpoint.is_local() { builder.no_proxy() } else { builder };
        let builder = if server.is_some() { builder.tls_certs_only([]) } else { builder };
        let http = builder.build().map_err(|error| {
            StreamError::new(StreamErrorKind::Connection, format!("no HTTP client: {error}"))
        })?;
        let (settings, meta) = (settings.clone(), CallMeta::default());
        Ok(Self { http, endpoint, info, settings, calling, meta, _server: server })
    }

    /// As `fenced:NAME`.
    #[must_use]
    pub fn with_fenced_tools(self) -> Self {
        Self { calling: Calling::Fenced, ..self }
    }

    /// Tells a model that asks in fenced blocks whether a call may have `meta`.
    #[must_use]
    pub fn with_call_meta(self, meta: CallMeta) -> Self {
        Self { meta, ..self }
    }

    /// Keeps the traffic from here on.
    #[must_use]
    pub fn recorded_by(mut self, recorder: TrafficRecorder) -> Self {
        self.settings.recorder = Some(recorder);
        self
    }

    /// Why the recording is not whole; said once.
    pub fn recording_failure(&self) -> Option<String> {
        self.settings.recorder.as_ref()?.failure()
    }

    /// The vendor's name in a model's full name.
    pub fn provider(&self) -> &str {
        &self.endpoint.provider
    }

    /// The vendor's name for the model.
    pub fn model(&self) -> &str {
        &self.endpoint.model
    }

    /// The facts of the model; empty where it stands in no table.
    pub fn info(&self) -> &ModelInfo {
        &self.info
    }

    /// The parameters that the user's table gives its requests.
    pub fn parameter_layers(&self) -> &ParameterLayers {
        &self.settings.catalogue.parameters
    }

    /// The price of a response in US dollars, if it is known.
    pub fn cost(&self, usage: &Usage) -> Option<f64> {
        self.info.cost(usage)
    }

    /// Starts one request. Nothing is sent until the stream is polled. When `cancel` fires, the
    /// next item is an error of the kind `Cancelled`.
    pub fn stream(&self, request: ModelRequest, cancel: Cancel) -> EventStream {
        let request = match self.calling {
            Calling::Native => request,
            Calling::Fenced => fenced::as_text(request, self.meta),
        };
        let stream = match self.exchange(request) {
            Ok(exchange) => http::stream(exchange, cancel),
            Err(error) => Box::pin(futures_util::stream::iter([Err(error)])),
        };
        match self.calling {
            Calling::Native => stream,
            Calling::Fenced => fenced::read(stream),
        }
    }

    fn exchange(&self, request: ModelRequest) -> Result<Exchange, StreamError> {
        let Endpoint { wire, provider, model, url, key } = self.endpoint.clone();
        let reader = Recipient { provider: &provider, model: &model, info: &self.info };
        let body = wire.encode(&request, reader)?;
        let recorder = self.settings.recorder.as_ref();
        Ok(Exchange {
            client: self.http.clone(),
            url,
            headers: self.endpoint.headers()?,
            body: body.into(),
            decoder: Box::new(move || wire.decoder(&request, &provider, &model)),
            timeouts: self.settings.timeouts.clone(),
            sizes: self.settings.sizes.clone(),
            retry: self.settings.retry.clone(),
            tape: recorder.map(|recorder| recorder.tape(wire, key.clone())),
            key,
        })
    }
}
