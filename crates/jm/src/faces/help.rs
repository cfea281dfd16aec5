//! `jm help`: the overview, global options, topics, and the help of a command.

use anyhow::{Result, bail};
use clap::{Arg, Command, CommandFactory};
use jm_types::text::{one_line, suggest};

use super::{exit, print};
use crate::cli::{Cli, HelpArgs, OVERVIEW, command, find_command};

const OPTIONS: &str = "options";
/// Pages about more than one command.
pub(super) const TOPICS: &[(&str, &str)] = &[
    ("policy", include_str!("help/policy.txt")),
    ("confinement", include_str!("help/confinement.txt")),
    ("models", include_str!("help/models.txt")),
    ("configuration", include_str!("help/configuration.txt")),
];

pub(crate) fn run(args: &HelpArgs) -> Result<u8> {
    let words: Vec<&str> = args.topic.iter().map(String::as_str).collect();
    let topic = |name: &str| TOPICS.iter().find(|(topic, _)| *topic == name);
    let text = match words.as_slice() {
        [] => OVERVIEW.to_owned(),
        [OPTIONS] => options(),
        [name] if let Some((_, text)) = topic(name) => with_command(name, text),
        _ => match find_command(command(), &args.topic) {
            Some(mut found) => found.render_long_help().to_string(),
            None => bail!("{}", unknown(&args.topic)),
        },
    };
    print::text(&text)?;
    Ok(exit::RAN)
}

/// A topic whose name is a command too says where the command's help is.
fn with_command(name: &str, text: &str) -> String {
    match Cli::command().find_subcommand(name) {
        Some(_) => format!("{text}\nHelp of the command: jm {name} --help\n"),
        None => text.to_owned(),
    }
}

fn options() -> String {
    let all = Cli::command();
    let global: Vec<Arg> = all.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    let mut shown = Command::new("jm").disable_help_flag(true).args(global);
    shown = shown.help_template("{all-args}").term_width(80);
    shown.render_help().to_string()
}

fn unknown(words: &[String]) -> String {
    let asked = one_line(&words.join(" "));
    let all = Cli::command();
    let names = all.get_subcommands().map(Command::get_name);
    let names = names.chain(TOPICS.iter().map(|(name, _)| *name)).chain([OPTIONS]);
    let near = suggest(words.first().map_or("", String::as_str), names, 1);
    let near = near.first().map(|near| format!("did you mean `jm help {near}`? "));
    format!(
        "no help for `{asked}`\n  hint: {}`jm help` lists commands and topics",
        near.unwrap_or_default()
    )
}
