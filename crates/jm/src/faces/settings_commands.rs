//! `jm config`, `jm trust`.

use anyhow::{Context, Result, bail};
use jm_config::{KEYS, render, render_json, render_keys};
use jm_types::text::{one_line, suggest};

use super::{exit, print};
use crate::cli::{Common, ConfigArgs, TrustArgs};
use crate::mcp::PROJECT_FILE;
use crate::project::Project;
use crate::{external, trust, wire};

pub(crate) fn config(common: &Common, args: &ConfigArgs) -> Result<u8> {
    if args.reference {
        print::text(&jm_config::reference())?;
        return Ok(exit::RAN);
    }
    let loaded = wire::load(common)?;
    print::warnings(&loaded.warnings);
    match (&args.key, args.json) {
        (Some(key), _) => print::text(&some_keys(&loaded, key)?)?,
        (None, true) => print::json(&render_json(&loaded))?,
        (None, false) => print::text(&render(&loaded))?,
    }
    Ok(exit::RAN)
}

fn some_keys(loaded: &jm_config::Loaded, key: &str) -> Result<String> {
    if let Some(text) = render_keys(loaded, key) {
        return Ok(text);
    }
    let names = KEYS.iter().flat_map(|key| [key.path, key.place().0]);
    let near = suggest(key, names.filter(|name| !name.is_empty()), 1);
    let near = near.first().map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    bail!("unknown key `{}`\n  hint: {near}`jm config` lists every key", one_line(key))
}

pub(crate) fn trust(common: &Common, args: &TrustArgs) -> Result<u8> {
    if let Some(document) = &args.document {
        return super::chat::trust(document, args);
    }
    let own = Project::find(common)?.context(
        "Nothing to trust: this project has no .journeyman/config.toml, .journeyman/tools, .journeyman/init.lua or .mcp.json",
    )?;
    let project = own.root.display();
    if args.show {
        let trusted = own.level() == jm_config::Trust::Trusted;
        print::line(&format!("{project}: {}", if trusted { "trusted" } else { "not trusted" }))?;
        return Ok(if trusted { exit::RAN } else { exit::FAILED });
    }
    if args.revoke {
        let was = trust::revoke(&own.root)?;
        let word = if was { "no longer trusted" } else { "was not trusted" };
        print::line(&format!("{project}: {word}"))?;
        return Ok(exit::RAN);
    }
    let files = own.grant()?;
    let configuration = own.text.is_some().then(|| own.file.display().to_string());
    let tools =
        (files > 0 && own.tools.is_dir()).then(|| format!("a file of {}", own.tools.display()));
    let script = own.init().exists().then(|| own.init().display().to_string());
    let servers = own.root.join(PROJECT_FILE);
    let servers = servers.exists().then(|| servers.display().to_string());
    let bound = configuration.into_iter().chain(tools).chain(script).chain(servers);
    let bound: Vec<String> = bound.collect();
    print::line(&format!("{project}: trusted, until {} changes", bound.join(" or ")))?;
    let tools = external::of_project(&own);
    if !tools.is_empty() {
        // A file may be called anything.
        let names = one_line(&tools.join(", "));
        print::line(&format!("{project}: these tools may run: {names}"))?;
    }
    Ok(exit::RAN)
}
