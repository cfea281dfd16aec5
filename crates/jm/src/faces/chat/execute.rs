//! The second phase: what is approved runs, what is refused becomes an error, what was typed is kept.
//!
//! Law: a call runs for one of three reasons: the policy allows it and a model made it, the person changed its
//! status, or the person named it.

use std::collections::HashSet;

use anyhow::Result;
use jm_chat::{AnswerState, ChatCall, NewResult, NextStep, PlaceholderState, ToolStatus};
use jm_engine::{ApprovalDecision, Pause};
use jm_types::{ToolCall, ToolResult};
use serde_json::Value;

use super::decide::{StatusOrigin, origin};
use super::{ChatEnd, Chatting, Phase, as_json, settled};

/// A call that is to run, and whether a person said so.
struct Approved {
    call: ChatCall,
    by_person: bool,
}

impl Chatting {
    pub(super) async fn execute(&mut self) -> Result<Phase> {
        let mut approved = Vec::new();
        let mut is_overridden = false;
        let mut did = false;
        for call in self.paper.document.open_calls() {
            let AnswerState::Placeholder(place) = call.answer.clone() else { continue };
            match place.next_step() {
                NextStep::Wait => {}
                NextStep::Execute => match self.approval_of(&call, &place).await {
                    Some(by_person) => approved.push(Approved { call, by_person }),
                    None => {
                        did = true;
                        if let Some(end) = self.set_pending(&call)? {
                            return Ok(Phase { did, waits: true, end: Some(end) });
                        }
                    }
                },
                step @ (NextStep::Fail(_) | NextStep::Override(_)) => {
                    did = true;
                    is_overridden |= matches!(step, NextStep::Override(_));
                    let end = self.put(&call, settled(step))?;
                    if end.is_some() {
                        return Ok(Phase { did, waits: false, end });
                    }
                }
            }
        }
        did |= !approved.is_empty();
        let end = self.run_all(approved).await?;
        let end = end.or(is_overridden.then_some(ChatEnd::Overridden));
        Ok(Phase { did, waits: false, end })
    }

    /// One call, named by the person: it runs now, or becomes what its status says.
    pub(super) async fn one_tool(&mut self, id: &str) -> Result<ChatEnd> {
        let calls = self.paper.document.open_calls();
        let Some(call) = calls.into_iter().rev().find(|call| call.call.id == id) else {
            return Ok(ChatEnd::Failed(format!("no call `{id}` is waiting for a result")));
        };
        let step = match &call.answer {
            AnswerState::Placeholder(place) => place.next_step(),
            AnswerState::Missing | AnswerState::Given { .. } => NextStep::Execute,
        };
        let end = match settled(step) {
            Some(result) => self.put(&call, Some(result))?,
            None => self.run_all(vec![Approved { call, by_person: true }]).await?,
        };
        Ok(end.unwrap_or(ChatEnd::Phase))
    }

    /// `Some` with whether a person said so; `None` where nobody has who may.
    async fn approval_of(&self, call: &ChatCall, place: &PlaceholderState) -> Option<bool> {
        let last = self.paper.last_written().filter(|_| !self.is_forged);
        match origin(last, &call.call.id, place.status) {
            StatusOrigin::Person => Some(true),
            StatusOrigin::Program => {
                let now = self.status_of(&call.call).await;
                (now == ToolStatus::Approved).then_some(false)
            }
            StatusOrigin::Stranger => None,
        }
    }

    fn set_pending(&mut self, call: &ChatCall) -> Result<Option<ChatEnd>> {
        let id = &call.call.id;
        self.teller
            .note(&format!("{id}: approval not accepted (not yours); set back to pending"))?;
        let told = vec![as_json(call, ToolStatus::Pending.word())];
        self.write("execute", told, |document| document.with_status(id, ToolStatus::Pending))
    }

    pub(super) fn put(
        &mut self,
        call: &ChatCall,
        result: Option<NewResult>,
    ) -> Result<Option<ChatEnd>> {
        let Some(result) = result else { return Ok(None) };
        let told = vec![as_json(call, if result.is_error { "error" } else { "result" })];
        self.write("execute", told, |document| document.with_result(&call.call.id, &result))
    }

    /// Runs calls as one batch. Each is on record with its result, and then in the document.
    async fn run_all(&mut self, approved: Vec<Approved>) -> Result<Option<ChatEnd>> {
        if approved.is_empty() {
            return Ok(None);
        }
        let calls: Vec<ToolCall> = approved.iter().map(|one| one.call.call.clone()).collect();
        let by_person: HashSet<&str> = approved
            .iter()
            .filter(|one| one.by_person)
            .map(|one| one.call.call.id.as_str())
            .collect();
        let told: Vec<Value> = approved.iter().map(|one| as_json(&one.call, "executing")).collect();
        self.teller.running(&told)?;
        let driver = &mut self.driver;
        driver.session.begin_turn();
        driver.session.submit(calls)?;
        let is_interrupted = loop {
            match driver.engine.run(&mut driver.session).await {
                Pause::Finished | Pause::NeedsResults => break false,
                Pause::Cancelled => break true,
                Pause::NeedsApproval => {
                    // A command that ran and wants more than it had is not what the person approved.
                    let entries = &driver.session.batch().entries;
                    let has_run = |id: &str| {
                        entries.iter().any(|entry| entry.call.id == id && entry.refusal.is_some())
                    };
                    let asked = driver.session.batch().pending();
                    let ids = asked.map(|request| request.id.clone());
                    let ids = ids.filter(|id| by_person.contains(id.as_str()) && !has_run(id));
                    let decision = ApprovalDecision::ApproveSelected(ids.collect());
                    driver.session.decide(&decision)?;
                }
            }
        };
        self.teller.screen().results(self.driver.session.batch())?;
        let results: Vec<Option<ToolResult>> = {
            let entries = &self.driver.session.batch().entries;
            entries.iter().map(|entry| entry.result().cloned()).collect()
        };
        for (one, result) in approved.iter().zip(results) {
            let result = result.map(|result| NewResult {
                is_error: result.is_error(),
                content: result.content,
                is_json: false,
            });
            if let Some(end) = self.put(&one.call, result)? {
                return Ok(Some(end));
            }
        }
        self.driver.delivered();
        Ok(is_interrupted.then_some(ChatEnd::Interrupted))
    }
}
