//! `jm trust`: what a project would loosen and run, the question, and the trust that follows from the answer.
//!
//! Law: trust is given to the bytes that were there when the list was shown. Where nobody answers, it is not given.

use anyhow::{Context, Result, bail};
use jm_system::terminal::Terminal;
use jm_types::text::{one_line, reveal};

use super::prompt::{confirm, show};
use super::{exit, print};
use crate::cli::{Common, TrustArgs};
use crate::mcp::{PROJECT_FILE, described_servers};
use crate::project::{CoveredFiles, Project};
use crate::{external, trust, wire};

pub(crate) fn run(common: &Common, args: &TrustArgs) -> Result<u8> {
    if let Some(document) = &args.document {
        return super::chat::trust(common, document, args);
    }
    let own = Project::find(common)?.context(
        "Nothing to trust: this project has no .journeyman/config.toml, .journeyman/tools, \
         .journeyman/init.lua or .mcp.json",
    )?;
    let project = own.root.display();
    if args.revoke {
        let was = trust::revoke(&own.root)?;
        let word = if was { "no longer trusted" } else { "was not trusted" };
        print::line(&format!("{project}: {word}"))?;
        return Ok(exit::RAN);
    }
    if args.show {
        let is_trusted = own.level() == jm_config::Trust::Trusted;
        print::line(&format!("{project}: {}", if is_trusted { "trusted" } else { "not trusted" }))?;
        return Ok(if is_trusted { exit::RAN } else { exit::FAILED });
    }
    let covered = own.covered().context("the project cannot be trusted")?;
    let list = listed(common, &own, &covered)?;
    if own.covered()? != covered {
        bail!("{project}: its files are changing; try again");
    }
    print::text(&list)?;
    if !is_agreed(common, "Trust this project?")? {
        print::line(&format!("{project}: not trusted"))?;
        return Ok(exit::DENIED);
    }
    trust::grant(&own.root, &covered.digest())?;
    print::line(&format!("{project}: trusted, until one of these files changes"))?;
    Ok(exit::RAN)
}

/// The person's answer; `--yes` is one.
pub(super) fn is_agreed(common: &Common, question: &str) -> Result<bool> {
    if common.yes {
        return Ok(true);
    }
    let Some(mut terminal) = Terminal::open() else {
        show("Needs an answer, but this run is not interactive (add --yes)\n")?;
        return Ok(false);
    };
    confirm(&mut terminal, question)
}

/// All that trust covers: settings in force, programs that may run, files that it is bound to.
fn listed(common: &Common, own: &Project, covered: &CoveredFiles) -> Result<String> {
    let mut text = String::new();
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            text.push_str(&format!("{title}:\n"));
        }
        // A file may be called anything, and may hold anything.
        lines.iter().for_each(|line| text.push_str(&format!("  {}\n", reveal(&one_line(line)))));
    };
    let loosened = wire::loosened_by(common, own)?.into_iter().map(|loosening| {
        let line = loosening.origin.position.map_or(0, |position| position.line);
        format!("{}  (line {line})", loosening.setting)
    });
    section("Settings that loosen yours", loosened.collect());
    section("Tools that may run", external::of_project(own));
    let scripts = own.init().exists().then(|| ".journeyman/init.lua".to_owned());
    section("Scripts that run at start", scripts.into_iter().collect());
    let servers = described_servers(&own.root)?;
    section(&format!("Servers that may start ({PROJECT_FILE})"), servers);
    let files = covered.paths().map(|path| path.to_string_lossy().into_owned());
    section("Files that trust is bound to", files.collect());
    Ok(text)
}
