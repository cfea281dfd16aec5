//! `jm policy explain host HOST`: whether commands reach a host, and why.

use anyhow::{Result, anyhow};
use jm_policy::HOST_RULE;
use jm_types::hosts::{Host, parse_port, split_port};
use jm_types::{Network, Verdict};
use serde_json::json;

use super::super::{exit, print};
use super::{shown, word};
use crate::approval::{self, Site};
use crate::cli::Common;
use crate::wire;

/// The port of a host that is written without one.
const USUAL_PORT: u16 = 443;
const UNLISTED: &str =
    "no rule and no setting names it; a command that needs it asks, and fails without a terminal";

pub(super) fn explain(common: &Common, written: &str, as_json: bool) -> Result<u8> {
    let (host, port) = parse(written)?;
    let mut loaded = wire::load(common)?;
    let unrecorded = Common { no_journal: true, ..common.clone() };
    let workspace = wire::workspace(&unrecorded, &loaded.config)?;
    let (policy, _) = approval::policy(&mut loaded, &Site::of(&workspace, ""))?;
    let rule = policy.rules.host_rule(&host, port);
    let is_reached = match &workspace.confiner.settings().network {
        Network::Off => false,
        Network::Listed(list) => list.admits(&host, port).is_some(),
        Network::On => true,
    };
    let (verdict, reason) = match (rule, is_reached) {
        (Some(rule), _) => (rule.verdict, format!("the rule `{rule}`")),
        (None, true) => (Verdict::Allow, "tools.sandbox.commands.network".to_owned()),
        (None, false) => (Verdict::Ask, UNLISTED.to_owned()),
    };
    let origin = rule.map(|rule| rule.origin.to_string());
    if as_json {
        print::json(&json!({
            "verdict": word(verdict), "reason": reason, "rule": rule.map(ToString::to_string),
            "origin": origin, "matched": rule.map(|_| format!("{host}:{port}")), "resolver": null,
            "parts": [], "offered": null, "error": null,
        }))?;
        return Ok(exit::RAN);
    }
    print::line(&format!("{}: {}", word(verdict), shown(&reason)))?;
    if let (Some(rule), Some(origin)) = (rule, origin) {
        print::line(&format!("  rule      {}", shown(rule)))?;
        print::line(&format!("  from      {}", shown(&origin)))?;
    }
    if rule.is_none() && !is_reached {
        print::line(&format!("hint: --allow '{HOST_RULE}: {host}'"))?;
    }
    Ok(exit::RAN)
}

fn parse(written: &str) -> Result<(Host, u16)> {
    let bad = |why: &str| {
        anyhow!("`{written}` is no host: {why} (`jm policy explain host example.org:443`)")
    };
    let (host, port) = split_port(written).ok_or_else(|| bad("its brackets hold no address"))?;
    let port = port.map_or(Some(USUAL_PORT), parse_port);
    let port = port.ok_or_else(|| bad("a port is a number from 1 to 65535"))?;
    Ok((host.parse().map_err(bad)?, port))
}
