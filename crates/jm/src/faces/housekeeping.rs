//! `jm tools`, `jm config`, `jm trust`, `jm completions`, `jm man`.

use anyhow::{Context, Result};
use clap_complete::Shell;
use jm_engine::config::{self, render, render_json};
use jm_engine::engine::advertised;
use jm_types::ToolDefinition;
use jm_types::text::{one_line, suggest};

use super::{exit, print};
use crate::cli::{Common, Config, Tools, Trust};
use crate::{trust, wire};

pub(crate) fn tools(common: &Common, tools: &Tools) -> Result<u8> {
    let loaded = wire::load(common)?;
    let registry = wire::registry(&loaded.config)?;
    let manual = wire::manual(&loaded.config);
    let all = advertised(loaded.config.tools.mode, &registry, &manual);
    match &tools.name {
        None if tools.json => print::json(&all)?,
        None => all.iter().try_for_each(|tool| print::line(&in_brief(tool)))?,
        Some(name) => {
            let tool = all.iter().find(|tool| tool.name == *name).with_context(|| {
                let near = suggest(name, all.iter().map(|tool| tool.name.as_str()), 1);
                let hint = near.first().map(|near| format!("\n  hint: did you mean `{near}`?"));
                format!("unknown tool: {}{}", one_line(name), hint.unwrap_or_default())
            })?;
            if tools.json { print::json(tool)? } else { print::line(&in_full(tool)?)? }
        }
    }
    Ok(exit::RAN)
}

fn in_brief(tool: &ToolDefinition) -> String {
    let sentence = tool.description.split(". ").next().unwrap_or_default();
    format!("{:<16} {}", tool.name, sentence.trim_end_matches('.'))
}

fn in_full(tool: &ToolDefinition) -> Result<String> {
    let schema = serde_json::to_string_pretty(&tool.parameters)?;
    Ok(format!("{}\n\n{}\n\n{schema}", tool.name, tool.description))
}

pub(crate) fn config(common: &Common, args: &Config) -> Result<u8> {
    if args.reference {
        print::text(&config::reference())?;
        return Ok(exit::RAN);
    }
    let loaded = wire::load(common)?;
    print::warnings(&loaded.warnings);
    if args.json {
        print::json(&render_json(&loaded))?
    } else {
        print::text(&render(&loaded))?
    }
    Ok(exit::RAN)
}

pub(crate) fn trust(common: &Common, args: &Trust) -> Result<u8> {
    let own = wire::project_config(common)?
        .context("this project has no .journeyman/config.toml; there is nothing to trust")?;
    let project = own.project.display();
    if args.show {
        let trusted = trust::level(&own.project, &own.text) == config::Trust::Trusted;
        print::line(&format!("{project}: {}", if trusted { "trusted" } else { "not trusted" }))?;
        return Ok(if trusted { exit::RAN } else { exit::FAILED });
    }
    if args.revoke {
        let was = trust::revoke(&own.project)?;
        let word = if was { "no longer trusted" } else { "was not trusted" };
        print::line(&format!("{project}: {word}"))?;
        return Ok(exit::RAN);
    }
    trust::grant(&own.project, &own.text)?;
    print::line(&format!("{project}: trusted, until {} changes", own.file.display()))?;
    Ok(exit::RAN)
}

pub(crate) fn completions(mut command: clap::Command, shell: Shell) -> Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "jm", &mut script);
    print::text(&String::from_utf8_lossy(&script))?;
    Ok(exit::RAN)
}

pub(crate) fn man(command: clap::Command) -> Result<u8> {
    clap_mangen::Man::new(command).render(&mut std::io::stdout().lock())?;
    Ok(exit::RAN)
}
