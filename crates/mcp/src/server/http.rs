//! The protocol over streamable HTTP, on one port of this machine.
//!
//! Law: a request without the token, from a page of another machine, or for another host than this one is refused before
//! it is read.

use std::convert::Infallible;
use std::sync::Arc;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;

use super::handler::{HostHandler, ToolHost};

/// The longest body of a request.
const MOST_BODY: usize = 64 * 1024 * 1024;
/// The origins of pages that this machine serves itself; they need the token too.
const OWN_ORIGINS: [&str; 3] = ["http://127.0.0.1:*", "http://localhost:*", "http://[::1]:*"];
/// The path of the endpoint.
pub const HTTP_PATH: &str = "/mcp";

/// The token that every request needs.
#[derive(Clone)]
pub struct HttpToken(pub String);

impl std::fmt::Debug for HttpToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("HttpToken").finish()
    }
}

impl HttpToken {
    fn is_in(&self, request: &Request<Incoming>) -> bool {
        let given = request.headers().get(AUTHORIZATION).map(|value| value.as_bytes());
        let given = given.and_then(|value| value.strip_prefix(b"Bearer "));
        given.is_some_and(|given| is_same(given, self.0.as_bytes()))
    }
}

/// Compares in a time that tells nothing of where they differ.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other).fold(0, |all, (one, other)| all | (one ^ other));
    one.len() == other.len() && differences == 0
}

type Served = Response<BoxBody<Bytes, Infallible>>;

/// A port of this machine that nobody else reaches; 0 takes a free one.
pub async fn listen_here(port: u16) -> std::io::Result<TcpListener> {
    TcpListener::bind(format!("127.0.0.1:{port}")).await
}

/// Serves until it is dropped.
pub async fn serve_http(
    host: Arc<dyn ToolHost>,
    listener: TcpListener,
    token: HttpToken,
) -> Result<(), String> {
    let config = StreamableHttpServerConfig::default().with_allowed_origins(OWN_ORIGINS);
    let sessions = Arc::new(LocalSessionManager::default());
    let handler = move || Ok(HostHandler(Arc::clone(&host)));
    let service = StreamableHttpService::new(handler, sessions, config);
    loop {
        let (stream, _) = listener.accept().await.map_err(|error| error.to_string())?;
        let (service, token) = (service.clone(), token.clone());
        let answer = service_fn(move |request: Request<Incoming>| {
            let (service, token) = (service.clone(), token.clone());
            async move {
                if let Some(refusal) = refusal(&token, &request) {
                    return Ok::<Served, Infallible>(refusal);
                }
                let request = request.map(|body| Limited::new(body, MOST_BODY));
                Ok(service.handle(request).await)
            }
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(stream), answer);
        // A connection that breaks concerns nobody but its client.
        tokio::spawn(async move { connection.await.unwrap_or_default() });
    }
}

fn refusal(token: &HttpToken, request: &Request<Incoming>) -> Option<Served> {
    let (status, text) = if !token.is_in(request) {
        (StatusCode::UNAUTHORIZED, "the token is missing or wrong\n")
    } else if request.uri().path() != HTTP_PATH {
        (StatusCode::NOT_FOUND, "the endpoint is /mcp\n")
    } else {
        return None;
    };
    let body = Full::new(Bytes::from_static(text.as_bytes()));
    let mut response = Response::new(body.boxed());
    *response.status_mut() = status;
    if status == StatusCode::UNAUTHORIZED {
        let bearer = hyper::header::HeaderValue::from_static("Bearer");
        response.headers_mut().insert(WWW_AUTHENTICATE, bearer);
    }
    Some(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_the_same_only_if_all_of_it_is() {
        let cases =
            [("abc", "abc", true), ("abd", "abc", false), ("ab", "abc", false), ("", "a", false)];
        for (one, other, expected) in cases {
            assert_eq!(is_same(one.as_bytes(), other.as_bytes()), expected, "{one} {other}");
        }
    }
}
