//! A model's endpoint: `PROVIDER/NAME` and an environment become an address and a key.

use std::collections::BTreeMap;

use jm_types::{StreamError, StreamErrorKind};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use crate::models::Catalogue;
use crate::secret::Secret;
use crate::wire::Wire;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Endpoint {
    pub(crate) wire: Wire,
    pub(crate) provider: String,
    pub(crate) model: String,
    pub(crate) url: String,
    pub(crate) key: Option<Secret>,
}

type Environment = BTreeMap<String, String>;

/// Servers that speak Chat Completions and whose address is known; for any other provider
/// `PROVIDER_BASE_URL` says it.
const COMPATIBLE: &[(&str, &str)] = &[
    ("ollama", "http://127.0.0.1:11434/v1"),
    ("lmstudio", "http://127.0.0.1:1234/v1"),
    ("openrouter", "https://openrouter.ai/api/v1"),
];

impl Endpoint {
    pub(crate) fn find(
        name: &str,
        environment: &Environment,
        catalogue: &Catalogue,
    ) -> Result<Self, StreamError> {
        let (provider, model) = match name.split_once('/') {
            Some((provider, model)) => (provider, model),
            None => (catalogue.provider_of(name).ok_or_else(|| unknown(name, catalogue))?, name),
        };
        if provider.is_empty() || model.is_empty() {
            return Err(unknown(name, catalogue));
        }
        let (wire, url) =
            address(provider, model, environment)?.ok_or_else(|| no_address(provider))?;
        let (variables, needed) = keys(provider);
        let key = variables.iter().find_map(|variable| environment.get(variable));
        // Whoever names an address of their own may have a server that wants no key.
        let own_address = environment.contains_key(&variable(base(provider), "BASE_URL"));
        match key.filter(|key| !key.is_empty()) {
            None if needed && !own_address => Err(no_key(provider, &variables)),
            key => Ok(Self {
                wire,
                provider: provider.to_owned(),
                model: model.to_owned(),
                url,
                key: key.map(Secret::new),
            }),
        }
    }

    /// Vendors want one, and so do most servers elsewhere.
    pub(crate) fn lacks_key(&self) -> bool {
        self.key.is_none() && (keys(&self.provider).1 || !self.is_local())
    }

    /// True for a server on this machine.
    pub(crate) fn is_local(&self) -> bool {
        let url = reqwest::Url::parse(&self.url).ok();
        let host = url.as_ref().and_then(reqwest::Url::host_str);
        matches!(host, Some("127.0.0.1" | "localhost" | "[::1]"))
    }

    pub(crate) fn headers(&self) -> Result<HeaderMap, StreamError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if self.wire == Wire::Anthropic {
            let version = HeaderName::from_static("anthropic-version");
            headers.insert(version, HeaderValue::from_static("2023-06-01"));
        }
        let Some(key) = &self.key else { return Ok(headers) };
        let (name, text) = match (self.wire, self.provider.as_str()) {
            (Wire::Anthropic, _) => (HeaderName::from_static("x-api-key"), key.reveal().to_owned()),
            (Wire::Gemini, "vertex") => (AUTHORIZATION, format!("Bearer {}", key.reveal())),
            (Wire::Gemini, _) => {
                (HeaderName::from_static("x-goog-api-key"), key.reveal().to_owned())
            }
            (Wire::OpenaiResponses | Wire::OpenaiChat, _) => {
                (AUTHORIZATION, format!("Bearer {}", key.reveal()))
            }
        };
        let mut value = HeaderValue::from_str(&text).map_err(|_| {
            let message = format!("the key of {} has invalid characters", self.provider);
            StreamError::new(StreamErrorKind::Authentication, message)
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(headers)
    }
}

fn address(
    provider: &str,
    model: &str,
    environment: &Environment,
) -> Result<Option<(Wire, String)>, StreamError> {
    let given = given_address(provider, environment)?;
    let or = |usual: &str| given.clone().unwrap_or_else(|| usual.to_owned());
    let (wire, base) = match provider {
        "anthropic" => (Wire::Anthropic, or("https://api.anthropic.com")),
        "openai" => (Wire::OpenaiResponses, or("https://api.openai.com/v1")),
        "openai-chat" => (Wire::OpenaiChat, or("https://api.openai.com/v1")),
        "gemini" => {
            (Wire::Gemini, format!("{}/v1beta", or("https://generativelanguage.googleapis.com")))
        }
        "vertex" => match given.or_else(|| vertex(environment)) {
            Some(base) => (Wire::Gemini, base),
            None => return Ok(None),
        },
        other => {
            let known = COMPATIBLE.iter().find(|(name, _)| *name == other);
            match given.or_else(|| known.map(|(_, url)| (*url).to_owned())) {
                Some(base) => (Wire::OpenaiChat, base),
                None => return Ok(None),
            }
        }
    };
    Ok(Some((wire, format!("{base}{}", wire.path(model)))))
}

/// The environment's address for a provider, without the slash at its end.
fn given_address(provider: &str, environment: &Environment) -> Result<Option<String>, StreamError> {
    let variable = variable(base(provider), "BASE_URL");
    let given = environment.get(&variable).map(|url| url.trim());
    let Some(given) = given.filter(|url| !url.is_empty()) else { return Ok(None) };
    match reqwest::Url::parse(given) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => {
            Ok(Some(given.trim_end_matches('/').to_owned()))
        }
        _ => Err(StreamError::new(
            StreamErrorKind::BadRequest,
            format!("{variable} is not a URL: `{given}`"),
        )
        .hint("a URL begins with http:// or https:// and names a server")),
    }
}

fn vertex(environment: &Environment) -> Option<String> {
    let project = environment.get("GOOGLE_CLOUD_PROJECT")?;
    let location = environment.get("GOOGLE_CLOUD_LOCATION").map_or("global", String::as_str);
    let host = match location {
        "global" => "aiplatform.googleapis.com".to_owned(),
        region => format!("{region}-aiplatform.googleapis.com"),
    };
    Some(format!("https://{host}/v1/projects/{project}/locations/{location}/publishers/google"))
}

/// The provider whose variables this one uses.
fn base(provider: &str) -> &str {
    match provider {
        "openai-chat" => "openai",
        other => other,
    }
}

fn variable(provider: &str, what: &str) -> String {
    format!("{}_{what}", provider.to_uppercase().replace('-', "_"))
}

/// The variables that may hold the key of a model's provider, or of a provider itself.
pub fn key_variables(name: &str, catalogue: &Catalogue) -> Vec<String> {
    let name = name.strip_prefix("fenced:").unwrap_or(name);
    let provider = name.split_once('/').map(|(provider, _)| provider);
    keys(provider.or_else(|| catalogue.provider_of(name)).unwrap_or(name)).0
}

/// The variables that may hold the key, and whether there must be one.
fn keys(provider: &str) -> (Vec<String>, bool) {
    let own = variable(base(provider), "API_KEY");
    match provider {
        "anthropic" | "openai" | "openai-chat" => (vec![own], true),
        "gemini" => (vec![own, "GOOGLE_API_KEY".to_owned()], true),
        "vertex" => (vec![variable(provider, "ACCESS_TOKEN")], true),
        _ => (vec![own], false),
    }
}

fn unknown(name: &str, catalogue: &Catalogue) -> StreamError {
    let known = catalogue.names();
    let bare = known.iter().filter_map(|full| Some(full.split_once('/')?.1));
    let near = jm_types::text::suggest::suggest(name, bare, 1);
    let full = near.first().and_then(|near| known.iter().find(|full| full.ends_with(near)));
    let hint = match full {
        Some(full) => format!("did you mean `{full}`? Otherwise write PROVIDER/NAME"),
        None => "write PROVIDER/NAME, for instance anthropic/claude-opus-5-5".to_owned(),
    };
    StreamError::new(StreamErrorKind::BadRequest, format!("unknown provider for `{name}`"))
        .hint(hint)
}

fn no_address(provider: &str) -> StreamError {
    let hint = match provider {
        "vertex" => "set GOOGLE_CLOUD_PROJECT, or VERTEX_BASE_URL".to_owned(),
        other => format!("set {} to its URL", variable(other, "BASE_URL")),
    };
    StreamError::new(StreamErrorKind::BadRequest, format!("no base URL for `{provider}`"))
        .hint(hint)
}

fn no_key(provider: &str, variables: &[String]) -> StreamError {
    StreamError::new(StreamErrorKind::Authentication, format!("no API key for `{provider}`")).hint(
        format!(
            "set {} in the environment, or save it in the keyring: `jm keys set {provider}`",
            variables.join(" or ")
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(name: &str, variables: &[(&str, &str)]) -> Result<Endpoint, StreamError> {
        let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let environment = variables.iter().map(pair).collect();
        Endpoint::find(name, &environment, &Catalogue::embedded().unwrap())
    }

    /// FL-PROV: Anthropic, OpenAI, Vertex; and Gemini, and whoever is compatible.
    #[test]
    fn names_become_addresses() {
        type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);
        let cases: &[Case<'_>] = &[
            (
                "claude-opus-5-5",
                &[("ANTHROPIC_API_KEY", "k")],
                "anthropic https://api.anthropic.com/v1/messages",
            ),
            (
                "anthropic/x",
                &[("ANTHROPIC_BASE_URL", "http://h/")],
                "anthropic http://h/v1/messages",
            ),
            (
                "openai/gpt-6-sol",
                &[("OPENAI_API_KEY", "k")],
                "openai-responses https://api.openai.com/v1/responses",
            ),
            (
                "openai-chat/x",
                &[("OPENAI_API_KEY", "k")],
                "openai-chat https://api.openai.com/v1/chat/completions",
            ),
            (
                "gemini/g",
                &[("GOOGLE_API_KEY", "k")],
                "gemini https://generativelanguage.googleapis.com/v1beta/models/g:streamGenerateContent?alt=sse",
            ),
            (
                "vertex/g",
                &[
                    ("VERTEX_ACCESS_TOKEN", "k"),
                    ("GOOGLE_CLOUD_PROJECT", "p"),
                    ("GOOGLE_CLOUD_LOCATION", "us-east1"),
                ],
                "gemini https://us-east1-aiplatform.googleapis.com/v1/projects/p/locations/us-east1/publishers/google/models/g:streamGenerateContent?alt=sse",
            ),
            ("ollama/llama3", &[], "openai-chat http://127.0.0.1:11434/v1/chat/completions"),
            (
                "openrouter/a/b",
                &[("OPENROUTER_API_KEY", "k")],
                "openai-chat https://openrouter.ai/api/v1/chat/completions",
            ),
            (
                "my-box/m",
                &[("MY_BOX_BASE_URL", "http://box/v1")],
                "openai-chat http://box/v1/chat/completions",
            ),
        ];
        for (name, variables, expected) in cases {
            let endpoint = find(name, variables).unwrap();
            assert_eq!(format!("{} {}", endpoint.wire.name(), endpoint.url), *expected, "{name}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let cases = [
            (
                "anthropic/x",
                "no API key for `anthropic`",
                "set ANTHROPIC_API_KEY in the environment, or save it in the keyring: \
                 `jm keys set anthropic`",
            ),
            ("nowhere/x", "no base URL for `nowhere`", "set NOWHERE_BASE_URL to its URL"),
            (
                "vertex/x",
                "no base URL for `vertex`",
                "set GOOGLE_CLOUD_PROJECT, or VERTEX_BASE_URL",
            ),
            (
                "here/x",
                "HERE_BASE_URL is not a URL: `localhost:8080`",
                "a URL begins with http:// or https:// and names a server",
            ),
            (
                "there/x",
                "THERE_BASE_URL is not a URL: `http://`",
                "a URL begins with http:// or https:// and names a server",
            ),
            (
                "llama",
                "unknown provider for `llama`",
                "write PROVIDER/NAME, for instance anthropic/claude-opus-5-5",
            ),
        ];
        for (name, message, hint) in cases {
            let given = [("HERE_BASE_URL", "localhost:8080"), ("THERE_BASE_URL", "http://")];
            let error = find(name, &given).unwrap_err();
            assert_eq!((error.message.as_str(), error.hint.as_deref()), (message, Some(hint)));
        }
    }

    #[test]
    fn this_machine_is_known() {
        let cases = [
            ("http://127.0.0.1:11434/v1", true),
            ("http://localhost", true),
            ("http://[::1]:8080/", true),
            ("http://localhost.example.org", false),
            ("http://127.0.0.1:x@example.org", false),
            ("http://me:secret@localhost:8080", true),
            ("https://api.anthropic.com", false),
        ];
        for (url, local) in cases {
            let endpoint = find("box/m", &[("BOX_BASE_URL", url)]).unwrap();
            assert_eq!(endpoint.is_local(), local, "{url}");
        }
    }

    #[test]
    fn a_key_is_never_shown() {
        let endpoint = find("anthropic/x", &[("ANTHROPIC_API_KEY", "sk-secret")]).unwrap();
        let shown = format!("{endpoint:?} {:?}", endpoint.headers().unwrap());
        assert!(!shown.contains("sk-secret"), "{shown}");
    }
}
