//! `jm man`: the manual pages, one for each command, in roff.
//!
//! Law: every page has FILES, ENVIRONMENT and EXIT STATUS; global options stand in jm(1) alone.

use anyhow::{Context, Result};
use clap::{Command, CommandFactory};
use clap_mangen::Man;

use super::{exit, print};
use crate::cli::{Cli, ManArgs, command, find_command};

/// Sections that every page has.
const SECTIONS: &str = include_str!("help/sections.roff");

pub(crate) fn run(args: &ManArgs) -> Result<u8> {
    if args.list {
        let mut root = Cli::command();
        root.build();
        names(&root, "").iter().try_for_each(|name| print::line(name))?;
        return Ok(exit::RAN);
    }
    let all = if args.command.is_empty() { Cli::command() } else { command() };
    let name = args.command.join(" ");
    let found = find_command(all, &args.command)
        .with_context(|| format!("no page for `{name}` (list: `jm man --list`)"))?;
    print::text(&page(found, &args.command)?)?;
    Ok(exit::RAN)
}

/// The words of every command but `jm` itself.
fn names(command: &Command, before: &str) -> Vec<String> {
    let visible = command.get_subcommands().filter(|sub| sub.get_name() != "help");
    let one = |sub: &Command| {
        let name = format!("{before}{}", sub.get_name());
        let below = names(sub, &format!("{name} "));
        [vec![name], below].concat()
    };
    visible.flat_map(one).collect()
}

/// A character that every troff understands.
fn in_roff(char: char) -> String {
    if char.is_ascii() { char.to_string() } else { format!("\\[u{:04X}]", u32::from(char)) }
}

fn page(command: Command, words: &[String]) -> Result<String> {
    let has_subcommands = command.get_subcommands().next().is_some();
    let has_options = command.get_arguments().any(|arg| !arg.is_hide_set());
    let title = ["jm".to_owned()].iter().chain(words).cloned().collect::<Vec<_>>().join("-");
    let version = Cli::command().get_version().unwrap_or_default().to_owned();
    let man = Man::new(command).title(title).source(format!("jm {version}")).manual("Journeyman");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    if has_options {
        man.render_options_section(&mut text)?;
    }
    if has_subcommands {
        man.render_subcommands_section(&mut text)?;
    }
    let see = if words.is_empty() { "jm\\-run" } else { "jm" };
    let text: String = String::from_utf8_lossy(&text).chars().map(in_roff).collect();
    Ok(format!("{text}{SECTIONS}.SH \"SEE ALSO\"\n.BR {see} (1),\n.B jm help options\n"))
}
