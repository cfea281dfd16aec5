//! One HTTP request of streamable HTTP and its answer, bounded.
//!
//! Law: no answer is read past the longest line that a server may send, whatever it says of its length: a body of JSON
//! as a whole, a stream of events (SSE) event by event. A request is sent once.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{BoxStream, Stream, StreamExt};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{Client, Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_LAST_EVENT_ID, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, SseError, StreamableHttpClient, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use super::link::{LinkWatch, MOST_LINE};

type HttpError = StreamableHttpError<reqwest::Error>;
type Headers = HashMap<HeaderName, HeaderValue>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

/// A client whose answers are bounded.
#[derive(Debug, Clone)]
pub(crate) struct BoundedClient {
    pub(super) client: Client,
    pub(super) watch: Arc<LinkWatch>,
}

impl StreamableHttpClient for BoundedClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let accepted = format!("{EVENT_STREAM_MIME_TYPE}, {JSON_MIME_TYPE}");
        let body = serde_json::to_vec(&message)?;
        let mut request = self.client.post(&*uri).header(ACCEPT, accepted).body(body);
        request = request.header(CONTENT_TYPE, JSON_MIME_TYPE);
        for (name, value) in custom_headers {
            if is_reserved(&name) {
                return Err(HttpError::ReservedHeaderConflict(name.to_string()));
            }
            request = request.header(name, value);
        }
        if let Some(token) = auth_header {
            request = request.bearer_auth(token);
        }
        if let Some(session) = &session_id {
            request = request.header(HEADER_SESSION_ID, &**session);
        }
        let response = request.send().await?;
        let answer = Answer::of(&response, &self.watch);
        answer.judge(&message, session_id.is_some(), response).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), HttpError> {
        self.client.delete_session(uri, session_id, auth_header, custom_headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<Events, HttpError> {
        let parts = (uri, session_id, last_event_id, auth_header, custom_headers);
        let (uri, session, last, auth, headers) = parts;
        self.client
            .get_stream_with_max_sse_event_size(uri, session, last, auth, headers, MOST_LINE)
            .await
    }
}

fn is_reserved(name: &HeaderName) -> bool {
    [ACCEPT.as_str(), HEADER_SESSION_ID, HEADER_LAST_EVENT_ID]
        .iter()
        .any(|reserved| name.as_str().eq_ignore_ascii_case(reserved))
}

/// The head of an answer.
struct Answer {
    status: StatusCode,
    kind: BodyKind,
    session: Option<String>,
    watch: Arc<LinkWatch>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BodyKind {
    Json,
    Events,
    Other,
}

impl Answer {
    fn of(response: &Response, watch: &Arc<LinkWatch>) -> Self {
        let headers = response.headers();
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let kind = match text(CONTENT_TYPE.as_str()) {
            Some(kind) if kind.starts_with(EVENT_STREAM_MIME_TYPE) => BodyKind::Events,
            Some(kind) if kind.starts_with(JSON_MIME_TYPE) => BodyKind::Json,
            Some(_) | None => BodyKind::Other,
        };
        let session = text(HEADER_SESSION_ID).map(str::to_owned);
        Self { status: response.status(), kind, session, watch: Arc::clone(watch) }
    }

    async fn judge(
        self,
        message: &ClientJsonRpcMessage,
        has_session: bool,
        response: Response,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        match self.status {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => {
                Ok(StreamableHttpPostResponse::Accepted)
            }
            StatusCode::UNAUTHORIZED if response.headers().contains_key(WWW_AUTHENTICATE) => {
                let challenge = challenge(response.headers());
                Err(HttpError::AuthRequired(AuthRequiredError::new(challenge)))
            }
            StatusCode::NOT_FOUND if has_session => Err(HttpError::SessionExpired),
            status if status.is_success() => self.success(message, response).await,
            status => self.failure(message, has_session, (status, response)).await,
        }
    }

    async fn success(
        self,
        message: &ClientJsonRpcMessage,
        response: Response,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let is_request = matches!(message, ClientJsonRpcMessage::Request(_));
        match self.kind {
            BodyKind::Events => {
                let events = bounded(response.bytes_stream(), self.watch);
                let events = SseStream::from_bytes_stream(events);
                Ok(StreamableHttpPostResponse::Sse(events.boxed(), self.session))
            }
            // A message that wants no answer was taken, whatever was said to it.
            BodyKind::Json | BodyKind::Other if !is_request => {
                Ok(StreamableHttpPostResponse::Accepted)
            }
            BodyKind::Json => {
                let body = whole(response).await?;
                let parsed = serde_json::from_slice::<ServerJsonRpcMessage>(&body);
                let parsed = parsed.map_err(|error| unexpected(format!("no message: {error}")))?;
                Ok(StreamableHttpPostResponse::Json(parsed, self.session))
            }
            BodyKind::Other => Err(HttpError::UnexpectedContentType(None)),
        }
    }

    /// An error of the protocol within an error of HTTP is passed on as such.
    async fn failure(
        self,
        message: &ClientJsonRpcMessage,
        has_session: bool,
        (status, response): (StatusCode, Response),
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let is_refusal = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        let is_read = !is_refusal && status != StatusCode::TOO_MANY_REQUESTS;
        let error = match self.kind {
            BodyKind::Json if is_read => {
                let body = whole(response).await?;
                match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
                    Ok(ServerJsonRpcMessage::Error(error)) => Some(error),
                    Ok(_) | Err(_) => None,
                }
            }
            BodyKind::Json | BodyKind::Events | BodyKind::Other => None,
        };
        let is_discovery = match message {
            ClientJsonRpcMessage::Request(request) => {
                let is_it = matches!(request.request, ClientRequest::DiscoverRequest(_));
                let is_unknown = status.is_client_error() && is_read && !has_session;
                (is_it && is_unknown).then(|| request.id.clone())
            }
            _ => None,
        };
        match (error, is_discovery) {
            // What stands before a server may refuse the discovery without knowing the request's id.
            (error, Some(id)) => {
                let refused = || ErrorData::invalid_request(format!("HTTP {status}"), None);
                let error = error.map_or_else(refused, |error| error.error);
                let error = ServerJsonRpcMessage::error(error, Some(id));
                Ok(StreamableHttpPostResponse::Json(error, None))
            }
            (Some(error), None) => {
                let error = ServerJsonRpcMessage::Error(error);
                Ok(StreamableHttpPostResponse::Json(error, self.session))
            }
            (None, None) => Err(HttpStatusError::new(status.as_u16(), None).into()),
        }
    }
}

fn challenge(headers: &HeaderMap) -> String {
    let value = headers.get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_owned()
}

fn unexpected(why: String) -> HttpError {
    HttpError::UnexpectedServerResponse(why.into())
}

fn too_long() -> String {
    format!("it sent an answer of more than {MOST_LINE} bytes")
}

/// The whole body, unless it is too long.
async fn whole(mut response: Response) -> Result<Vec<u8>, HttpError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > MOST_LINE {
            return Err(unexpected(too_long()));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Bytes of events, until one event is too long.
fn bounded(
    bytes: impl Stream<Item = Result<Bytes, reqwest::Error>> + Send + 'static,
    watch: Arc<LinkWatch>,
) -> BoxStream<'static, Result<Bytes, std::io::Error>> {
    let mut event = EventLength::default();
    let judged = bytes.map(move |chunk| {
        let chunk = chunk.map_err(std::io::Error::other)?;
        match event.fits(&chunk) {
            true => Ok(chunk),
            false => Err(watch.end(too_long())),
        }
    });
    // Nothing is read after the first error.
    let mut has_failed = false;
    judged
        .take_while(move |chunk| {
            let goes_on = !has_failed;
            has_failed |= chunk.is_err();
            std::future::ready(goes_on)
        })
        .boxed()
}

/// The bytes of an event so far; an empty line ends it.
#[derive(Debug, Default)]
struct EventLength {
    event: usize,
    line: usize,
}

impl EventLength {
    fn fits(&mut self, chunk: &[u8]) -> bool {
        for byte in chunk {
            self.event += 1;
            match byte {
                b'\n' if self.line == 0 => self.event = 0,
                b'\n' => self.line = 0,
                b'\r' => {}
                _ => self.line += 1,
            }
            if self.event > MOST_LINE {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_counted_until_an_empty_line() {
        let mut length = EventLength::default();
        let half = [b"data: ".as_slice(), &vec![b'x'; MOST_LINE / 2]].concat();
        assert!(length.fits(&half));
        assert!(length.fits(b"\r\n\r"));
        assert!(length.fits(b"\n"));
        assert_eq!(length.event, 0);
        assert!(length.fits(&half));
        assert!(length.fits(b"\n"));
        assert!(!length.fits(&half), "two lines of one event");
    }
}
