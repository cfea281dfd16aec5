//! `jm policy`: the rules in force, remembered approvals, the reasons for a decision, past calls judged again.

mod host;
mod journal_calls;

use anyhow::{Result, bail};
use jm_engine::Inspection;
use jm_policy::{HOST_RULE, RememberedRule, RuleOrigin, RuleScope};
use jm_types::text::{one_line, reveal};
use jm_types::{ToolCall, Verdict};
use serde_json::json;

use super::call_loop::{Driver, block_on};
use super::{exit, print};
use crate::approval::{self, Site};
use crate::cli::{Common, Policy, PolicyCommand};
use crate::{remembered, wire};

pub(crate) fn run(common: &Common, policy: &Policy) -> Result<u8> {
    match &policy.command {
        PolicyCommand::List(listing) => list(common, listing.json),
        PolicyCommand::Revoke { number } => revoke(*number),
        PolicyCommand::Explain { tool, args, json } => explain(common, tool, args, *json),
        PolicyCommand::Test(args) => journal_calls::test(common, args),
    }
}

fn list(common: &Common, as_json: bool) -> Result<u8> {
    let mut loaded = wire::load(common)?;
    let unrecorded = Common { no_journal: true, ..common.clone() };
    let site = Site::of(&wire::workspace(&unrecorded, &loaded.config)?, "");
    let (policy, warnings) = approval::policy(&mut loaded, &site)?;
    print::warnings(&loaded.warnings);
    print::warnings(&warnings);
    let known = remembered::read().unwrap_or_default();
    let written = policy.rules.rules().iter();
    let written = written.filter(|rule| !matches!(rule.origin, RuleOrigin::Remembered { .. }));
    for rule in written {
        let (verdict, origin) = (word(rule.verdict), rule.origin.to_string());
        if as_json {
            let rule = rule.to_string();
            print::json(&json!({"rule": rule, "verdict": verdict, "origin": origin}))?;
        } else {
            print::line(&format!("{verdict:5}  {}  ({})", shown(rule), one_line(&origin)))?;
        }
    }
    for rule in known.all() {
        let verdict = if rule.is_declined { "off" } else { "allow" };
        if as_json {
            print::json(&json!({
                "rule": rule.rule, "verdict": verdict, "number": rule.number, "scope": rule.scope,
                "since": rule.since, "until": rule.until,
            }))?;
        } else {
            let (rule_text, scope) = (shown(&rule.rule), scope_of(rule, &site));
            let number = rule.number;
            print::line(&format!("{verdict:5}  {rule_text}  (remembered {number}: {scope})"))?;
        }
    }
    Ok(exit::RAN)
}

fn shown(rule: &impl ToString) -> String {
    reveal(&one_line(&rule.to_string()))
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Deny => "deny",
    }
}

fn scope_of(rule: &RememberedRule, site: &Site) -> String {
    match &rule.scope {
        RuleScope::Session { session } => format!("session {}", one_line(session)),
        RuleScope::Project { root } if root == site.root() => "this project".to_owned(),
        RuleScope::Project { root } => format!("project {}", one_line(root)),
        RuleScope::Everywhere => "everywhere".to_owned(),
    }
}

fn revoke(number: u64) -> Result<u8> {
    match remembered::revoke(number)? {
        Some(rule) => print::line(&format!("Revoked: {}", shown(&rule.rule)))?,
        None => bail!("No remembered approval {number} (list: `jm policy list`)"),
    }
    Ok(exit::RAN)
}

fn explain(common: &Common, tool: &str, args: &str, as_json: bool) -> Result<u8> {
    if tool == HOST_RULE {
        return host::explain(common, args, as_json);
    }
    let common = Common { no_journal: true, ..common.clone() };
    let id = "call_1".to_owned();
    let call = ToolCall { id, name: tool.to_owned(), arguments: args.to_owned() };
    block_on(async {
        let driver = Driver::new(&common)?;
        let seen = driver.engine.inspect(&driver.session, call).await;
        driver.close(None).await?;
        if as_json {
            let reason = seen.reason.as_ref();
            let rule = reason.and_then(|reason| reason.rule.as_ref());
            print::json(&json!({
                "verdict": word(seen.verdict),
                "reason": seen.rule,
                "rule": rule.map(|(rule, _)| rule),
                "origin": rule.map(|(_, origin)| origin.to_string()),
                "matched": reason.and_then(|reason| reason.matched.as_ref()),
                "resolver": reason.and_then(|reason| reason.resolver.as_ref()),
                "parts": seen.parts,
                "offered": seen.offered,
                "error": seen.error.as_ref().map(ToString::to_string),
            }))?;
        } else {
            print::text(&in_words(&seen))?;
        }
        Ok(exit::RAN)
    })
}

fn in_words(seen: &Inspection) -> String {
    let mut lines = vec![format!("{}: {}", word(seen.verdict), reason_of(seen))];
    if let Some(reason) = &seen.reason {
        if let Some((rule, origin)) = &reason.rule {
            lines.push(format!("  rule      {rule}"));
            lines.push(format!("  from      {origin}"));
        }
        if let Some(part) = &reason.matched {
            lines.push(format!("  matched   {part}"));
        }
        if let Some(resolver) = &reason.resolver {
            lines.push(format!("  resolver  {resolver}"));
        }
    }
    lines.extend(seen.parts.iter().map(|part| format!("  - {part}")));
    if let Some(offered) = &seen.offered {
        let allow: Vec<String> = offered.iter().map(|rule| format!("--allow '{rule}'")).collect();
        lines.push(format!("hint: {}", allow.join(" ")));
    }
    let hints = seen.error.iter().flat_map(|error| &error.hints);
    lines.extend(hints.map(|hint| format!("hint: {hint}")));
    lines.iter().map(|line| format!("{}\n", reveal(&one_line(line)))).collect()
}

/// The policy's reason, else the error that came before it could be asked.
fn reason_of(seen: &Inspection) -> String {
    match (&seen.error, seen.rule.is_empty()) {
        (Some(error), true) => error.to_string(),
        (Some(_), false) | (None, _) => seen.rule.clone(),
    }
}
