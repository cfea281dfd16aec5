//! A command line that cannot be read, in the form of every other error: what is wrong, then a hint.

use std::error::Error as _;
use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The mistake in a command line, and the next step.
pub(super) fn in_words(command: &Command, error: &clap::Error, typed: &[OsString]) -> String {
    let usage = strings(error, ContextKind::Usage).concat();
    let usage = usage.trim().trim_start_matches("Usage:").trim();
    let name = match usage.is_empty() {
        true => command_of(command, typed.iter().filter_map(|word| word.to_str())),
        false => command_of(command, usage.split_whitespace()),
    };
    let see = format!("`{name} --help` lists the options");
    let argument = strings(error, ContextKind::InvalidArg);
    let value = strings(error, ContextKind::InvalidValue).concat();
    let (wrong, hint) = match error.kind() {
        ErrorKind::UnknownArgument => {
            let argument = argument.concat();
            let kind = if argument.starts_with('-') { "option" } else { "argument" };
            (format!("unknown {kind} `{argument}`"), see)
        }
        ErrorKind::InvalidSubcommand => {
            let word = strings(error, ContextKind::InvalidSubcommand).concat();
            (format!("no such command: {name} {word}"), see)
        }
        ErrorKind::InvalidValue => {
            let values = strings(error, ContextKind::ValidValue).join(", ");
            let option = option_of(&argument.concat());
            match value.is_empty() {
                true => (format!("{option} needs a value"), listed(&values, see)),
                false => (format!("invalid value `{value}` for {option}"), listed(&values, see)),
            }
        }
        ErrorKind::ValueValidation => {
            let why = error.source().map(|why| match why.is::<std::num::ParseIntError>() {
                true => ": expected a whole number".to_owned(),
                false => format!(": {why}"),
            });
            let why = why.unwrap_or_default();
            (format!("invalid value `{value}` for {}{why}", option_of(&argument.concat())), see)
        }
        ErrorKind::MissingRequiredArgument => {
            (format!("missing {}", argument.join(", ")), format!("usage: {usage}"))
        }
        ErrorKind::ArgumentConflict => {
            let prior = strings(error, ContextKind::PriorArg);
            let prior: Vec<String> = prior.iter().map(|it| option_of(it)).collect();
            let option = option_of(&argument.concat());
            match prior.iter().any(|it| *it != option) {
                true => (format!("{option} cannot be used with {}", prior.join(", ")), see),
                false => (format!("{option} may be given only once"), see),
            }
        }
        _ => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            (first.trim_start_matches("error: ").to_owned(), see)
        }
    };
    format!("{wrong}\n  hint: {}{hint}", suggestion(error))
}

/// The command that words lead to, such as `jm mcp add`; the first one is the program's name.
fn command_of<'a>(command: &Command, words: impl Iterator<Item = &'a str>) -> String {
    let mut path = vec!["jm"];
    let mut found = command;
    for word in words.skip(1) {
        if let Some(sub) = found.find_subcommand(word) {
            path.push(word);
            found = sub;
        }
    }
    path.join(" ")
}

/// `--approve` for `--approve <MODE>`; an argument without a name of its own stays as it is.
fn option_of(argument: &str) -> String {
    match argument.starts_with('-') {
        true => argument.split([' ', '=', '[']).next().unwrap_or_default().to_owned(),
        false => argument.to_owned(),
    }
}

fn listed(values: &str, see: String) -> String {
    if values.is_empty() { see } else { format!("values: {values}") }
}

fn suggestion(error: &clap::Error) -> String {
    let kinds =
        [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    let near = kinds.into_iter().find_map(|kind| strings(error, kind).into_iter().next());
    near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default()
}

fn strings(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        Some(ContextValue::StyledStr(text)) => vec![text.to_string()],
        Some(_) | None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    #[test]
    fn every_mistake_names_the_thing_and_the_next_step() {
        let cases = [
            (
                "run --modle x",
                "unknown option `--modle`",
                "did you mean `--model`? `jm run --help` lists the options",
            ),
            ("--bogus", "unknown option `--bogus`", "`jm --help` lists the options"),
            (
                "undo x",
                "invalid value `x` for [COUNT]: expected a whole number",
                "`jm undo --help` lists the options",
            ),
            ("undo 1 2", "unknown argument `2`", "`jm undo --help` lists the options"),
            (
                "mcp ad",
                "no such command: jm mcp ad",
                "did you mean `add`? `jm mcp --help` lists the options",
            ),
            (
                "--approve never demo",
                "invalid value `never` for --approve",
                "values: auto, effects, prompt, deny",
            ),
            (
                "run --temperature=-1 x",
                "invalid value `-1` for --temperature: expected a number of 0 or more",
                "`jm run --help` lists the options",
            ),
            ("call", "missing <TOOL>", "usage: jm call <TOOL> [ARGS]"),
            (
                "sandbox --hold --keep --drop true",
                "--keep cannot be used with --drop",
                "`jm sandbox --help` lists the options",
            ),
            (
                "--profile a --profile b demo",
                "--profile may be given only once",
                "`jm --help` lists the options",
            ),
            ("run --model", "--model needs a value", "`jm run --help` lists the options"),
        ];
        for (typed, wrong, hint) in cases {
            let mut command = super::super::help::command();
            let words: Vec<OsString> =
                format!("jm {typed}").split(' ').map(OsString::from).collect();
            let error = command.try_get_matches_from_mut(&words).unwrap_err();
            let said = super::in_words(&command, &error, &words);
            assert_eq!(said, format!("{wrong}\n  hint: {hint}"), "{typed}");
        }
    }
}
