//! The help of the command line: an overview on one screen, and global options in one place.

use std::ffi::OsString;

use anyhow::{Result, anyhow};
use clap::error::ErrorKind;
use clap::{Args, Command, CommandFactory, FromArgMatches, Subcommand};

use super::{Cli, Common, Screen, usage_error};

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
    let typed: Vec<OsString> = std::env::args_os().collect();
    match read(&mut named_commands(&typed), &typed) {
        Ok(cli) => return Ok(cli),
        Err(error) if error.kind() == ErrorKind::DisplayVersion => error.exit(),
        // Help and suggestions need all commands.
        Err(_) => {}
    }
    let mut command = command();
    read(&mut command, &typed).map_err(|error| {
        let is_help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
        if is_help || !error.use_stderr() {
            error.exit()
        }
        anyhow!(usage_error::in_words(&command, &error, &typed))
    })
}

fn read(command: &mut Command, typed: &[OsString]) -> Result<Cli, clap::Error> {
    command.try_get_matches_from_mut(typed).and_then(|matches| Cli::from_arg_matches(&matches))
}

/// The command line with only those commands that occur among the words. It reads the same, and is built in a fraction of
/// the time: clap copies every global option into each command.
fn named_commands(typed: &[OsString]) -> Command {
    let own = Command::new("jm").version(env!("CARGO_PKG_VERSION")).disable_help_subcommand(true);
    let own = Screen::augment_args(Common::augment_args(own));
    let is_option = |word: &OsString| word.as_encoded_bytes().starts_with(b"-");
    if typed.iter().skip(1).all(is_option) {
        return own;
    }
    let all = super::Command::augment_subcommands(Command::new("all"));
    let is_named = |command: &&Command| typed.iter().any(|word| word == command.get_name());
    own.subcommands(all.get_subcommands().filter(is_named).cloned())
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
    fn a_line_reads_the_same_with_only_the_commands_that_it_names() {
        let lines = [
            "",
            "--plain",
            "cal",
            "cal call read_file",
            "--root a --root b --approve auto call read_file {} --json",
            "call --no-journal --allow call undo",
            "call call --session log --yes",
            "run --model a/b undo",
            "--session run run --json go",
            "mcp --root a test name --debug",
            "held keep 1 a b --yes",
            "sandbox --hold -- jm run --bogus",
            "keys set openai --config c",
            "completions bash",
            "--network=a --network log -f --all",
        ];
        for line in lines {
            let typed: Vec<OsString> =
                ["jm"].into_iter().chain(line.split_whitespace()).map(Into::into).collect();
            let named = read(&mut named_commands(&typed), &typed).expect(line);
            let whole = read(&mut command(), &typed).expect(line);
            assert_eq!(format!("{named:?}"), format!("{whole:?}"), "{line}");
        }
        for mistake in ["undo 1 2", "log --bogus", "call", "help nothing --no", "--version"] {
            let typed: Vec<OsString> =
                ["jm"].into_iter().chain(mistake.split(' ')).map(Into::into).collect();
            assert!(read(&mut named_commands(&typed), &typed).is_err(), "{mistake}");
        }
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
