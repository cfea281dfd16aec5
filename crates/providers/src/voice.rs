//! Who answers: one promise that every vendor's adapter keeps.

use std::pin::Pin;

use futures_util::Stream;
use jm_types::{Cancel, StreamError, StreamEvent};

use crate::request::Request;

/// A model's answer as it comes. It ends after `Stop` or after the first error; dropping it ends
/// the connection.
pub type EventStream = Pin<Box<dyn Stream<Item = Result<StreamEvent, StreamError>> + Send>>;

/// Something that answers requests.
pub trait Voice: Send + Sync {
    /// Starts one request. Nothing is sent until the stream is polled. When `cancel` fires, the
    /// next item is an error of the kind `Cancelled`.
    fn stream(&self, request: Request, cancel: Cancel) -> EventStream;
}
