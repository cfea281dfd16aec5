//! A turn as the client hears it: words, thoughts, calls, results, the plan.

use std::sync::Arc;

use anyhow::Result;
use jm_acp::plan_of;
use jm_acp::schema::{ContentChunk, SessionUpdate, StopReason as AcpStopReason};
use jm_engine::Batch;
use jm_files::ProjectState;
use jm_types::text::one_line;
use jm_types::text::sanitize::Sanitizer;
use jm_types::{SessionId, StopReason, StreamEvent, Usage};
use serde_json::Value;

use super::client_link::ClientLink;
use crate::agent::Agent;
use crate::faces::screen::Screen;

/// The lists of steps that a session keeps (`todo_write`, `task`).
const LISTS: [&str; 2] = ["todo", "task"];

pub(super) struct AcpScreen {
    link: Arc<ClientLink>,
    session: SessionId,
    state: Arc<ProjectState>,
    words: Sanitizer,
    thoughts: Sanitizer,
    stopped: Option<StopReason>,
}

impl AcpScreen {
    pub(super) fn new(link: &Arc<ClientLink>, agent: &Agent) -> Self {
        Self {
            link: Arc::clone(link),
            session: agent.driver.session.id.clone(),
            state: Arc::clone(&agent.driver.engine.core().workspace.state),
            words: Sanitizer::default(),
            thoughts: Sanitizer::default(),
            stopped: None,
        }
    }

    pub(super) fn link(&self) -> &ClientLink {
        &self.link
    }

    /// Why the model's last words ended.
    pub(super) fn stop_reason(&self) -> AcpStopReason {
        match &self.stopped {
            Some(StopReason::MaxTokens | StopReason::ContextWindow) => AcpStopReason::MaxTokens,
            Some(StopReason::Refusal) => AcpStopReason::Refusal,
            Some(StopReason::EndTurn | StopReason::ToolUse | StopReason::Other(_)) | None => {
                AcpStopReason::EndTurn
            }
        }
    }

    /// Shows the steps, where a call may have changed them.
    fn tell_plan(&self) {
        let list = |name: &str| {
            let text = self.state.note(&self.session, name).ok()??;
            serde_json::from_str::<Value>(&text).ok()
        };
        let lists: Vec<Value> = LISTS.into_iter().filter_map(list).collect();
        if let Some(plan) = plan_of(&lists) {
            self.link.update(SessionUpdate::Plan(plan));
        }
    }
}

impl Screen for AcpScreen {
    fn event(&mut self, event: &StreamEvent) -> Result<()> {
        match event {
            StreamEvent::Text { delta, .. } => self.link.say(self.words.push(delta)),
            StreamEvent::Thinking { delta, .. } => {
                let text = self.thoughts.push(delta);
                if !text.is_empty() {
                    let chunk = ContentChunk::new(text.into());
                    self.link.update(SessionUpdate::AgentThoughtChunk(chunk));
                }
            }
            StreamEvent::Retrying { wait_ms, why } => {
                self.link.note(&format!("{}; retrying in {wait_ms} ms", one_line(why)));
            }
            StreamEvent::Stop { reason, .. } => self.stopped = Some(reason.clone()),
            StreamEvent::CallStarted { .. }
            | StreamEvent::CallArguments { .. }
            | StreamEvent::CallSealed { .. }
            | StreamEvent::PartSealed { .. }
            | StreamEvent::Usage(_) => {}
        }
        Ok(())
    }

    fn response_ends(&mut self, _: Usage) -> Result<()> {
        (self.words, self.thoughts) = Default::default();
        Ok(())
    }

    fn calls(&mut self, batch: &Batch) -> Result<()> {
        for entry in &batch.entries {
            let call = &entry.call;
            self.link.begin_call(&call.id, &entry.key, &call.name, &call.arguments);
        }
        Ok(())
    }

    fn results(&mut self, batch: &Batch) -> Result<()> {
        batch.entries.iter().for_each(|entry| self.link.end_call(entry));
        let is_step = |name: &str| LISTS.iter().any(|list| name.contains(list));
        if batch.entries.iter().any(|entry| is_step(&entry.call.name)) {
            self.tell_plan();
        }
        Ok(())
    }

    fn note(&mut self, text: &str) -> Result<()> {
        self.link.note(text);
        Ok(())
    }
}
