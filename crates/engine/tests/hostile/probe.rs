//! A tool that behaves as a test wants: it sleeps, fails, panics, says things.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use jm_tools::{
    CallContext, Intent, Output, PathUse, Prepared, Preview, ToolEffect, ToolExecutor, ToolFut,
    ToolSpec,
};
use jm_types::{Limits, RiskLevel, ToolError};
use serde_json::{Value, json};

#[derive(Debug, Clone)]
pub(crate) enum Act {
    Says(String),
    Fails(ToolError),
    /// Until it is dropped.
    Sleeps(Duration),
    /// Until it is told to stop, which it hears at once.
    Heeds,
    /// On a thread, deaf to everything.
    Blocks(Duration),
    Panics(At, With),
}

/// The step at which a tool panics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    Prepare,
    /// Planned without trouble, prepared again for the execution.
    SecondPrepare,
    Intent,
    Preview,
    /// Before there is a future.
    Execute,
    Future,
    Thread,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum With {
    Literal,
    Formatted,
    Number,
}

#[derive(Debug, Clone)]
pub(crate) struct Probe {
    pub(crate) spec: ToolSpec,
    pub(crate) schema: Value,
    pub(crate) act: Act,
    pub(crate) paths: Vec<PathUse>,
    pub(crate) ran: Arc<AtomicUsize>,
    prepared: Arc<AtomicUsize>,
}

pub(crate) const LITERAL: &str = "a literal of the tool's author";
pub(crate) const PRIVATE: &str = "what a file contained";

impl Probe {
    pub(crate) fn new(name: &str, act: Act) -> Self {
        let spec = ToolSpec {
            name: name.to_owned(),
            description: "for tests".to_owned(),
            effect: ToolEffect::Reads,
            risk: RiskLevel::Low,
            needs_person: false,
            timeout: None,
        };
        let (ran, prepared) = Default::default();
        let schema = json!({ "type": "object" });
        Self { spec, schema, act, paths: Vec::new(), ran, prepared }
    }

    pub(crate) fn says(name: &str) -> Self {
        Self::new(name, Act::Says(format!("{name} ran")))
    }

    pub(crate) fn changing(mut self) -> Self {
        self.spec.effect = ToolEffect::Changes;
        self
    }

    pub(crate) fn within(mut self, timeout: Duration) -> Self {
        self.spec.timeout = Some(timeout);
        self
    }

    pub(crate) fn boxed(self) -> Box<dyn ToolExecutor> {
        Box::new(self)
    }

    fn may_panic(&self, here: At) {
        match &self.act {
            Act::Panics(at, with) if *at == here => with.panic(),
            Act::Panics(..)
            | Act::Says(_)
            | Act::Fails(_)
            | Act::Sleeps(_)
            | Act::Heeds
            | Act::Blocks(_) => {}
        }
    }
}

impl With {
    fn panic(self) {
        match self {
            With::Literal => panic!("{}", LITERAL),
            With::Formatted => panic!("cannot read {PRIVATE} \u{1b}[31m"),
            With::Number => std::panic::panic_any(42_i32),
        }
    }
}

impl ToolExecutor for Probe {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn prepare(&self, _: Value, _: &Limits) -> Result<Box<dyn Prepared>, ToolError> {
        self.may_panic(At::Prepare);
        if self.prepared.fetch_add(1, Ordering::Relaxed) > 0 {
            self.may_panic(At::SecondPrepare);
        }
        Ok(Box::new(self.clone()))
    }
}

impl Prepared for Probe {
    fn intent(&self) -> Intent {
        self.may_panic(At::Intent);
        Intent {
            summary: format!("Probe {}", self.spec.name),
            effect: self.spec.effect,
            risk: self.spec.risk,
            needs_person: self.spec.needs_person,
            paths: self.paths.clone(),
            stands_for: None,
            command: None,
            publishes: Vec::new(),
            pinned: None,
        }
    }

    fn preview(&self, _: &CallContext) -> Result<Option<Preview>, ToolError> {
        self.may_panic(At::Preview);
        Ok(None)
    }

    fn execute<'a>(self: Box<Self>, ctx: &'a mut CallContext) -> ToolFut<'a> {
        self.ran.fetch_add(1, Ordering::Relaxed);
        self.may_panic(At::Execute);
        Box::pin(async move {
            self.may_panic(At::Future);
            let said = Output::Text;
            match self.act.clone() {
                Act::Says(text) => Ok(said(text)),
                Act::Fails(error) => Err(error),
                Act::Sleeps(time) => {
                    tokio::time::sleep(time).await;
                    Ok(said("woke up".to_owned()))
                }
                Act::Heeds => {
                    let stopped = std::future::poll_fn(|task| match ctx.cancel.checkpoint() {
                        Err(cancelled) => Poll::Ready(cancelled),
                        Ok(()) => {
                            task.waker().wake_by_ref();
                            Poll::Pending
                        }
                    });
                    Err(stopped.await.into())
                }
                Act::Blocks(time) => {
                    let nap = move || {
                        std::thread::sleep(time);
                        Ok(())
                    };
                    ctx.blocking(nap).await?;
                    Ok(said("woke up".to_owned()))
                }
                Act::Panics(..) => {
                    let work = move || {
                        self.may_panic(At::Thread);
                        Ok(said("no panic".to_owned()))
                    };
                    ctx.blocking(work).await
                }
            }
        })
    }
}
