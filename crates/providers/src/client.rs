//! A model that answers: found by name, spoken to over HTTP.

use std::collections::BTreeMap;
use std::sync::Arc;

use jm_types::{Cancel, StreamError, StreamErrorKind, Usage};

use crate::endpoint::{self, Endpoint};
use crate::fenced::{self, CallMeta};
use crate::http::{self, Exchange, Sizes, Timeouts};
use crate::models::{Catalogue, ModelInfo};
use crate::record::Recorder;
use crate::request::Request;
use crate::retry::Retry;
use crate::scripted::{Script, Server};
use crate::voice::{EventStream, Voice};
use crate::wire::Reader;
use crate::wishes::Wishes;

/// What the one place that wires the program knows: the environment, read once, and the user's
/// wishes.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    pub environment: BTreeMap<String, String>,
    pub catalogue: Catalogue,
    pub timeouts: Timeouts,
    pub sizes: Sizes,
    pub retry: Retry,
    pub recorder: Option<Recorder>,
}

impl Settings {
    /// The usual ones, with the table of models that the program carries.
    pub fn new(environment: BTreeMap<String, String>) -> Result<Self, StreamError> {
        let catalogue = Catalogue::embedded().map_err(|error| {
            StreamError::new(StreamErrorKind::BadRequest, format!("the table of models: {error}"))
        })?;
        Ok(Self { environment, catalogue, ..Self::default() })
    }
}

/// One model of one vendor, or a script.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    endpoint: Endpoint,
    info: ModelInfo,
    settings: Settings,
    calling: Calling,
    meta: CallMeta,
    /// Answers for as long as the client lives.
    server: Option<Arc<Server>>,
}

/// How a model asks for tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Calling {
    /// In its vendor's own way.
    Native,
    /// In fenced blocks of its text, because it has no other.
    Fenced,
}

/// The file of `script:FILE`.
pub fn script_file(model: &str) -> Option<&str> {
    model.strip_prefix("script:")
}

impl Client {
    /// The model of this name: `PROVIDER/NAME`, or a bare name that says its provider itself;
    /// `fenced:NAME` for one that has no tools of its own. For `script:FILE` see `scripted`.
    pub fn open(name: &str, settings: &Settings) -> Result<Self, StreamError> {
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

    /// A model that follows a script. It is served over real HTTP on this machine, in the language
    /// that the script names.
    pub async fn scripted(script: Script, settings: &Settings) -> Result<Self, StreamError> {
        let wire = script.wire();
        let info = script.model_info();
        let calling = if script.is_fenced() { Calling::Fenced } else { Calling::Native };
        let server = Server::start(script).await?;
        let endpoint = Endpoint {
            wire,
            provider: wire.provider().to_owned(),
            model: "script".to_owned(),
            url: format!("{}{}", server.base_url(wire), endpoint::path(wire, "script")),
            key: None,
        };
        Self::to(endpoint, info, calling, settings, Some(Arc::new(server)))
    }

    /// There is no key to show, and a key would usually be wanted.
    pub fn lacks_key(&self) -> bool {
        self.endpoint.lacks_key()
    }

    fn to(
        endpoint: Endpoint,
        info: ModelInfo,
        calling: Calling,
        settings: &Settings,
        server: Option<Arc<Server>>,
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
        Ok(Self { http, endpoint, info, settings, calling, meta, server })
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
    pub fn recorded_by(mut self, recorder: Recorder) -> Self {
        self.settings.recorder = Some(recorder);
        self
    }

    /// Why the recording is not whole; said once.
    pub fn recording_failure(&self) -> Option<String> {
        self.settings.recorder.as_ref()?.failure()
    }

    pub fn provider(&self) -> &str {
        &self.endpoint.provider
    }

    pub fn model(&self) -> &str {
        &self.endpoint.model
    }

    /// What is known of the model; nothing where it stands in no table.
    pub fn info(&self) -> &ModelInfo {
        &self.info
    }

    /// How its answers are wished by the user's table.
    pub fn wishes(&self) -> &Wishes {
        &self.settings.catalogue.wishes
    }

    /// What a response cost, in US dollars, if the price is known.
    pub fn cost(&self, usage: &Usage) -> Option<f64> {
        self.info.cost(usage)
    }

    /// The server of a scripted client.
    pub fn server(&self) -> Option<&Server> {
        self.server.as_deref()
    }

    fn exchange(&self, request: Request) -> Result<Exchange, StreamError> {
        let Endpoint { wire, provider, model, url, key } = self.endpoint.clone();
        let reader = Reader { provider: &provider, model: &model, info: &self.info };
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

impl Voice for Client {
    fn stream(&self, request: Request, cancel: Cancel) -> EventStream {
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
}
