//! A model's answer as a stream of events, which every vendor's adapter gives.

use std::pin::Pin;

use futures_util::Stream;
use jm_types::{StreamError, StreamEvent};

/// A model's answer as it comes. It ends after `Stop` or after the first error; dropping it ends
/// the connection.
pub type EventStream = Pin<Box<dyn Stream<Item = Result<StreamEvent, StreamError>> + Send>>;
