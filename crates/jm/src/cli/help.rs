//! The help of the command line: an overview on one screen, and global options in one place.

use std::ffi::OsString;

use anyhow::{Result, anyhow};
use clap::error::ErrorKind;
use clap::{Args, Command, CommandFactory, FromArgMatches};

use super::{Cli, usage_error};

pub(crate) const OVERVIEW: &str = include_str!("help/overview.txt");
const FOOTER: &str = "Global options, such as --root and --allow: `jm help options`";

#[derive(Debug, Args)]
pub(crate) struct HelpArgs {
    /// Command, or a topic: options, policy, confinement, models, configuration
    pub(crate) topic: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Command [default: jm itself]
    pub(crate) command: Vec<String>,
    /// List the commands that have a page
    #[arg(long, conflicts_with = "command")]
    pub(crate) list: bool,
}

/// Reads the command line; help and version end the program.
pub(crate) fn parse() -> Result<Cli> {
    let mut command = command();
    let typed: Vec<OsString> = std::env::args_os().collect();
    let read = command.try_get_matches_from_mut(&typed);
    read.and_then(|matches| Cli::from_arg_matches(&matches)).map_err(|error| {
        let is_help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
        if is_help || !error.use_stderr() {
            error.exit()
        }
        anyhow!(usage_error::in_words(&command, &error, &typed))
    })
}

/// The command line whose help leaves the global options of each command out.
pub(crate) fn command() -> Command {
    let hidden = |arg: clap::Arg| if arg.is_global_set() { arg.hide(true) } else { arg };
    with_footer(Cli::command().mut_args(hidden)).override_help(OVERVIEW)
}

fn with_footer(command: Command) -> Command {
    command.mut_subcommands(|command| with_footer(command).after_help(FOOTER))
}

/// The command that words name, built, and what they are called together.
pub(crate) fn find(mut command: Command, words: &[String]) -> Option<Command> {
    command.build();
    let mut found = &command;
    for word in words {
        found = found.find_subcommand(word)?;
    }
    Some(found.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overview_names_every_command_and_fits_a_screen() {
        let is_named = |command: &&Command| {
            let name = command.get_name();
            let words = |line: &str| line.split([' ', ',']).any(|word| word == name);
            name == "help" || OVERVIEW.lines().filter(|line| line.starts_with("  ")).any(words)
        };
        let command = Cli::command();
        let missing = command.get_subcommands().filter(|command| !is_named(command));
        assert_eq!(missing.map(Command::get_name).collect::<Vec<_>>(), Vec::<&str>::new());
        assert!(OVERVIEW.lines().count() <= 40);
        assert!(OVERVIEW.lines().all(|line| line.chars().count() <= 80), "80 columns");
    }

    #[test]
    fn help_of_every_command_fits_eighty_columns() {
        fn wide(command: &Command, path: &str, found: &mut Vec<String>) {
            let help = command.clone().term_width(80).render_long_help().to_string();
            let long = help.lines().filter(|line| line.chars().count() > 80);
            found.extend(long.map(|line| format!("{path}: {line}")));
            for sub in command.get_subcommands() {
                wide(sub, &format!("{path} {}", sub.get_name()), found);
            }
        }
        let mut built = command();
        built.build();
        let mut found = Vec::new();
        wide(&built, "jm", &mut found);
        assert_eq!(found, Vec::<String>::new());
    }
}
