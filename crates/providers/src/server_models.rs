//! The models that a server on this machine offers (`GET …/models` of the Chat Completions servers).

use std::time::Duration;

use futures_util::StreamExt;
use jm_types::{StreamError, StreamErrorKind};
use serde_json::Value;

use crate::client::ClientSettings;
use crate::endpoint::Endpoint;

/// A server on this machine answers at once or not at all.
const PATIENCE: Duration = Duration::from_secs(2);
const MOST_BYTES: usize = 1024 * 1024;

/// Providers whose servers run on this machine, with their names for people.
pub const LOCAL_PROVIDERS: &[(&str, &str)] = &[("ollama", "Ollama"), ("lmstudio", "LM Studio")];

/// `PROVIDER/NAME` of every model that the provider's server offers now.
pub async fn served_models(
    provider: &str,
    settings: &ClientSettings,
) -> Result<Vec<String>, StreamError> {
    let endpoint =
        Endpoint::find(&format!("{provider}/models"), &settings.environment, &settings.catalogue)?;
    let failed = |why: String| StreamError::new(StreamErrorKind::Connection, why);
    let base = endpoint.url.trim_end_matches(endpoint.wire.path("models").as_str()).to_owned();
    let client = reqwest::Client::builder()
        .timeout(PATIENCE)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
        .map_err(|error| failed(format!("no HTTP client: {error}")))?;
    let request = client.get(format!("{base}/models")).headers(endpoint.headers()?);
    let response = request.send().await.map_err(|_| failed(format!("{base} does not answer")))?;
    let mut body = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(piece) = pieces.next().await {
        body.extend_from_slice(&piece.map_err(|error| failed(error.to_string()))?);
        if body.len() > MOST_BYTES {
            return Err(failed(format!("{base} lists too many models")));
        }
    }
    let listed: Value = serde_json::from_slice(&body)
        .map_err(|_| failed(format!("{base} does not list its models")))?;
    let models = listed["data"].as_array().into_iter().flatten();
    Ok(models.filter_map(|it| Some(format!("{provider}/{}", it["id"].as_str()?))).collect())
}
