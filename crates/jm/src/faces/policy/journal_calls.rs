//! `jm policy test`: past calls from the journal, judged by the policy in force now.
//!
//! Law: nothing runs and nothing is recorded. A call that failed before the policy was asked about it is left out.

use std::collections::BTreeMap;

use anyhow::Result;
use jm_engine::Inspection;
use jm_store::{CallView, Record, Store};
use jm_types::text::{one_line, reveal};
use jm_types::{ErrorCode, SessionId, ToolCall, Toolset, Verdict};
use serde_json::json;

use super::{reason_of, word};
use crate::cli::{Common, PolicyTest};
use crate::faces::call_loop::{Driver, block_on};
use crate::faces::{exit, history, print};
use crate::{approval, sessions};

/// A call as it was decided.
#[derive(Debug)]
struct PastCall {
    session: SessionId,
    key: String,
    call: ToolCall,
    summary: String,
    verdict: Verdict,
    reason: String,
}

/// A past call that would be decided otherwise now.
struct Difference<'a> {
    past: &'a PastCall,
    now: Inspection,
}

/// Judges past calls again; the exit code is 1 where one would be decided otherwise.
pub(super) fn test(common: &Common, args: &PolicyTest) -> Result<u8> {
    let past = past_calls(common, args)?;
    let (mut judged, mut differences) = (0, Vec::new());
    for (toolset, calls) in &past {
        let again = judge_again(&speaking(common, toolset)?, calls)?;
        judged += again.len();
        let differs = |(past, now): &(&PastCall, Inspection)| past.verdict != now.verdict;
        let found = again.into_iter().filter(differs);
        differences.extend(found.map(|(past, now)| Difference { past, now }));
    }
    if args.json {
        differences.iter().try_for_each(|found| print::json(&found.as_json()))?;
    } else {
        let all = past.values().map(Vec::len).sum();
        print::text(&in_words(&differences, judged, all))?;
    }
    Ok(if differences.is_empty() { exit::RAN } else { exit::FAILED })
}

/// The same flags for another toolset: rules of tools that only others have are left out.
fn speaking(common: &Common, toolset: &str) -> Result<Common> {
    let here = approval::tool_names(|known| known.name() == toolset);
    let elsewhere = approval::tool_names(|known| known.name() != toolset);
    let is_meant = |flag: &&String| {
        let tool = flag.split_once(':').map_or(flag.as_str(), |(tool, _)| tool).trim();
        here.contains(tool) || !elsewhere.contains(tool)
    };
    Ok(Common {
        toolset: Some(toolset.to_owned()),
        allow: common.allow.iter().filter(is_meant).cloned().collect(),
        deny: common.deny.iter().filter(is_meant).cloned().collect(),
        no_journal: true,
        session: None,
        ..common.clone()
    })
}

/// The calls of one session or of all in this workspace, by the toolset that they were made with.
fn past_calls(common: &Common, args: &PolicyTest) -> Result<BTreeMap<&'static str, Vec<PastCall>>> {
    let store = sessions::store()?;
    let views = match &args.id {
        Some(id) => vec![history::choose(&store, common, Some(id))?],
        None => {
            let root = history::root(common)?;
            let mut all = store.sessions().map_err(sessions::told)?;
            all.retain(|view| view.root == root);
            // Newest first in the list; people read from the oldest to the newest.
            all.reverse();
            all
        }
    };
    let wanted = common.toolset.as_deref();
    let mut past: BTreeMap<&'static str, Vec<PastCall>> = BTreeMap::new();
    for view in views {
        for (toolset, call) in calls_of(&store, &view.session)? {
            if wanted.is_none_or(|name| name == toolset) {
                past.entry(toolset).or_default().push(call);
            }
        }
    }
    Ok(past)
}

/// The judged calls of a session, each with the name of its toolset.
fn calls_of(store: &Store, session: &SessionId) -> Result<Vec<(&'static str, PastCall)>> {
    let records = store.records(session, 0).map_err(sessions::told)?;
    let openings: Vec<(i64, &'static str)> = (records.into_iter())
        .filter_map(|(seq, _, record)| match record {
            Record::SessionOpened { toolset, .. } => {
                let known = Toolset::ALL.iter().find(|known| known.name() == toolset)?;
                Some((seq, known.name()))
            }
            _ => None,
        })
        .collect();
    let mut calls = Vec::new();
    for call in store.walk_calls(session) {
        let call = call.map_err(sessions::told)?;
        let opening = openings.iter().rev().find(|(seq, _)| *seq < call.seq);
        if let (Some((_, toolset)), Some(past)) = (opening, PastCall::of(session, &call)) {
            calls.push((*toolset, past));
        }
    }
    Ok(calls)
}

impl PastCall {
    /// The decision on a call, with the arguments that it was made about; `None` where the policy made none.
    fn of(session: &SessionId, view: &CallView) -> Option<Self> {
        let mut planned = None;
        let mut arguments = view.call.arguments.clone();
        for (_, record) in &view.records {
            match record {
                Record::Planned { verdict, rule, summary, .. } => {
                    planned = Some((*verdict, rule.clone(), summary.clone()));
                }
                Record::Edited { arguments: edited, .. } => arguments.clone_from(edited),
                _ => {}
            }
        }
        let (verdict, reason, summary) = planned?;
        let error = view.result().and_then(|(result, _)| result.error);
        if verdict == Verdict::Deny && !error.is_some_and(is_denial) {
            return None;
        }
        let call = ToolCall { id: view.call.id.clone(), name: view.call.name.clone(), arguments };
        let (session, key) = (session.clone(), view.call.call.to_string());
        Some(Self { session, key, call, summary, verdict, reason })
    }
}

/// A refusal by the policy or the sandbox, and not a fault of the call.
fn is_denial(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::Denylisted
            | ErrorCode::Disabled
            | ErrorCode::NotAllowlisted
            | ErrorCode::PathOutsideSandbox
            | ErrorCode::DeniedPatternMatched
            | ErrorCode::ProtectedPath
    )
}

/// The calls that can be judged now, each with its plan.
fn judge_again<'a>(
    common: &Common,
    calls: &'a [PastCall],
) -> Result<Vec<(&'a PastCall, Inspection)>> {
    block_on(async {
        let driver = Driver::new(common)?;
        let mut judged = Vec::new();
        for past in calls {
            let now = driver.engine.judge(&driver.session, past.call.clone()).await;
            let is_fault = now.error.as_ref().is_some_and(|error| !is_denial(error.code()));
            if !is_fault {
                judged.push((past, now));
            }
        }
        driver.close(None).await?;
        Ok(judged)
    })
}

impl Difference<'_> {
    fn as_json(&self) -> serde_json::Value {
        let Self { past, now } = self;
        let rule = now.reason.as_ref().and_then(|reason| reason.rule.as_ref());
        json!({
            "session": past.session, "call": past.key, "tool": past.call.name,
            "arguments": past.call.arguments, "summary": self.summary(),
            "was": {"verdict": word(past.verdict), "reason": past.reason},
            "now": {
                "verdict": word(now.verdict), "reason": reason_of(now),
                "rule": rule.map(|(rule, _)| rule),
                "origin": rule.map(|(_, origin)| origin.to_string()),
            },
        })
    }

    /// The summary of then, or of now where the call was denied before it had one.
    fn summary(&self) -> &str {
        if self.past.summary.is_empty() { &self.now.summary } else { &self.past.summary }
    }

    /// The lines of a person's list.
    fn lines(&self) -> [String; 2] {
        let Self { past, now } = self;
        let (was, is) = (word(past.verdict), word(now.verdict));
        let tool = one_line(&past.call.name);
        let what = reveal(&one_line(self.summary()));
        [format!("{was} -> {is}  {tool}: {what}"), reveal(&one_line(&reason_of(now)))]
    }
}

/// The differences, alike ones once, and how many calls there were.
fn in_words(differences: &[Difference<'_>], judged: usize, all: usize) -> String {
    let mut counted: Vec<([String; 2], usize)> = Vec::new();
    for lines in differences.iter().map(Difference::lines) {
        match counted.iter_mut().find(|(known, _)| *known == lines) {
            Some((_, count)) => *count += 1,
            None => counted.push((lines, 1)),
        }
    }
    let mut text = String::new();
    for ([what, why], count) in &counted {
        let times = if *count > 1 { format!("  ({count} calls)") } else { String::new() };
        text.push_str(&format!("{what}{times}\n    {why}\n"));
    }
    let left_out = match all - judged {
        0 => String::new(),
        count => format!("; {count} cannot be judged here"),
    };
    text + &format!(
        "{} of {judged} calls would be decided differently{left_out}\n",
        differences.len()
    )
}
