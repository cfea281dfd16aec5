//! A script served, and a model client that talks to it.

use std::ops::Deref;
use std::sync::Arc;

use jm_providers::{ClientSettings, LocalModel, ModelClient};
use jm_types::StreamError;

use crate::script::Script;
use crate::server::ScriptServer;

/// The file of `script:FILE`.
pub fn script_file(model: &str) -> Option<&str> {
    model.strip_prefix("script:")
}

/// A client and its server. The client alone keeps the server running too.
#[derive(Debug, Clone)]
pub struct ScriptedModel {
    /// The client that sends requests to the server.
    pub client: ModelClient,
    /// The server, which knows every request it was sent.
    pub server: Arc<ScriptServer>,
}

impl ScriptedModel {
    /// Serves the script on this machine, in the protocol that it names.
    pub async fn start(script: Script, settings: &ClientSettings) -> Result<Self, StreamError> {
        let (wire, info, is_fenced) = (script.wire(), script.model_info(), script.is_fenced());
        let server = Arc::new(ScriptServer::start(script).await?);
        let model = LocalModel {
            wire,
            base_url: server.base_url(wire),
            name: "script".to_owned(),
            info,
            server: Arc::clone(&server) as _,
        };
        let client = ModelClient::local(model, settings)?;
        let client = if is_fenced { client.with_fenced_tools() } else { client };
        Ok(Self { client, server })
    }
}

/// A scripted model is asked like any other.
impl Deref for ScriptedModel {
    type Target = ModelClient;

    fn deref(&self) -> &ModelClient {
        &self.client
    }
}
