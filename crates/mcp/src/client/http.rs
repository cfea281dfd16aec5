//! The way to a server that is reached by an address: streamable HTTP.
//!
//! Law: headers with secrets go to the address they were given for and nowhere else: no redirect is followed, and
//! without TLS only this machine is spoken to.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Client, Url};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use super::http_client::BoundedClient;
use super::link::LinkWatch;

/// How long the connection itself may take.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

/// An address, and the headers of every request to it.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpEndpoint {
    /// The address that every request is sent to.
    pub url: String,
    /// Names and values, which are never shown.
    pub headers: Vec<(String, String)>,
}

impl std::fmt::Debug for HttpEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpEndpoint").field("url", &self.url).finish_non_exhaustive()
    }
}

impl HttpEndpoint {
    /// A transport of its own for each beginning.
    pub(super) fn transport(
        &self,
        watch: &Arc<LinkWatch>,
    ) -> Result<StreamableHttpClientTransport<BoundedClient>, String> {
        self.check()?;
        let mut headers = HashMap::new();
        for (name, value) in &self.headers {
            let header = HeaderName::try_from(name.as_str()).ok();
            let value = HeaderValue::try_from(value.as_str()).ok();
            let (Some(header), Some(mut value)) = (header, value) else {
                return Err(format!("the header {name} cannot be sent"));
            };
            value.set_sensitive(true);
            headers.insert(header, value);
        }
        let client = Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_PATIENCE)
            .pool_max_idle_per_host(0)
            .user_agent(concat!("journeyman/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| error.to_string())?;
        let mut config = StreamableHttpClientTransportConfig::with_uri(self.url.as_str());
        config.custom_headers = headers;
        // A call is sent once: a session that is gone ends the connection.
        config.reinit_on_expired_session = false;
        let client = BoundedClient { client, watch: Arc::clone(watch) };
        Ok(StreamableHttpClientTransport::with_client(client, config))
    }

    fn check(&self) -> Result<(), String> {
        let url = Url::parse(&self.url).map_err(|error| format!("its address: {error}"))?;
        let is_here = match url.host_str() {
            Some("localhost" | "127.0.0.1" | "[::1]") => true,
            Some(_) | None => false,
        };
        match (url.scheme(), is_here) {
            ("https", _) | ("http", true) => Ok(()),
            ("http", false) => {
                Err("its address has no TLS: use https (http is for this machine)".to_owned())
            }
            (other, _) => Err(format!("its address is {other}, not https")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_tls_only_this_machine_is_spoken_to() {
        let checked = |url: &str| {
            let endpoint = HttpEndpoint { url: url.to_owned(), headers: Vec::new() };
            endpoint.check().is_ok()
        };
        for good in
            ["https://a.org/mcp", "http://127.0.0.1:80/", "http://localhost", "http://[::1]:1"]
        {
            assert!(checked(good), "{good}");
        }
        for bad in ["http://a.org", "http://127.0.0.1.a.org", "file:///etc/passwd", "a.org", ""] {
            assert!(!checked(bad), "{bad}");
        }
    }
}
