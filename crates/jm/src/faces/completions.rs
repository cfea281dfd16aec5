//! `jm completions`: scripts for shells, and the names that they ask for while somebody types.
//!
//! Law: asking for names starts no program, changes nothing, and never complains.

use anyhow::Result;
use clap::{Command, CommandFactory, Parser};
use clap_complete::Shell;
use jm_config::KEYS;
use jm_engine::engine::advertised;
use jm_types::CallKey;

use super::{exit, help, history, keys, print};
use crate::cli::Cli;
use crate::{model_client, sessions, wire};

/// The first argument by which a script asks for names; what was typed so far follows.
const ASKS: &str = "__complete";
/// More names than this help nobody.
const MOST: usize = 200;

const BASH: &str = r#"
_jm_names() {
    _jm "$@"
    local IFS=$'\n'
    local names=$(jm __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null)
    if [ -n "$names" ]; then
        COMPREPLY=($(compgen -W "$names" -- "${COMP_WORDS[COMP_CWORD]}"))
    fi
}
complete -F _jm_names -o bashdefault -o default jm
"#;
const ZSH: &str = r#"
_jm_names() {
    local -a names
    names=(${(f)"$(jm __complete "${(@)words[2,CURRENT]}" 2> /dev/null)"})
    if (( $#names )); then compadd -a names; else _jm "$@"; fi
}
"#;
/// Files are no candidates where there are names. Options are listed one by one: fish asks for the value of an option
/// by its own entry.
const FISH: &str = r"
function __jm_names
    set -l typed (commandline -opc)
    jm __complete $typed[2..-1] (commandline -ct) 2> /dev/null
end
complete -c jm -n '__jm_names | string length -q' -f -a '(__jm_names)'
for option in model session resume allow deny call to
    complete -c jm -l $option -x -a '(__jm_names)'
end
";

pub(crate) fn script(shell: Shell) -> Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "jm", &mut script);
    let script = String::from_utf8_lossy(&script);
    print::text(&match shell {
        Shell::Bash => format!("{script}{BASH}"),
        Shell::Zsh => match script.split_once("\nif [ \"$funcstack[1]\"") {
            Some((all, end)) => {
                let end = end.replace(" _jm \"$@\"", " _jm_names \"$@\"");
                let end = end.replace("compdef _jm jm", "compdef _jm_names jm");
                format!("{all}{ZSH}\nif [ \"$funcstack[1]\"{end}")
            }
            None => script.into_owned(),
        },
        Shell::Fish => format!("{script}{FISH}"),
        _ => script.into_owned(),
    })?;
    Ok(exit::RAN)
}

/// Answers a script that asks for names.
pub(crate) fn answer() -> Option<Result<u8>> {
    let mut typed = std::env::args_os().skip(1);
    if typed.next()? != ASKS {
        return None;
    }
    let typed: Vec<String> = typed.map(|word| word.to_string_lossy().into_owned()).collect();
    let names = wanted(&typed).and_then(|kind| names(kind).ok()).unwrap_or_default();
    let fit = |name: &&String| {
        !name.is_empty()
            && name.chars().all(|char| char.is_ascii_alphanumeric() || "._/@:+-".contains(char))
    };
    let lines = names.iter().filter(fit).take(MOST).try_for_each(|name| print::line(name));
    Some(lines.map(|()| exit::RAN))
}

/// The kinds of names that change with the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameKind {
    Tools,
    Sessions,
    Calls,
    Models,
    ConfigurationKeys,
    Servers,
    Providers,
    Topics,
}

/// The kind of the last word, which may be empty or begun.
fn wanted(typed: &[String]) -> Option<NameKind> {
    let (last, before) = typed.split_last()?;
    match before.last().map(String::as_str) {
        Some("--model") => return Some(NameKind::Models),
        Some("--session" | "--resume") => return Some(NameKind::Sessions),
        Some("--allow" | "--deny") => return Some(NameKind::Tools),
        Some("--call" | "--to") => return Some(NameKind::Calls),
        Some(_) | None => {}
    }
    if last.starts_with('-') {
        return None;
    }
    match positional(before).as_slice() {
        ["call" | "tools"] | ["policy", "explain"] => Some(NameKind::Tools),
        ["log" | "resume" | "export"] => Some(NameKind::Sessions),
        ["output"] => Some(NameKind::Calls),
        ["models"] => Some(NameKind::Models),
        ["config"] => Some(NameKind::ConfigurationKeys),
        ["mcp", "test" | "call" | "remove"] => Some(NameKind::Servers),
        ["keys", "set" | "remove"] => Some(NameKind::Providers),
        ["help"] => Some(NameKind::Topics),
        _ => None,
    }
}

/// The words that are neither options nor their values.
fn positional(typed: &[String]) -> Vec<&str> {
    let all = Cli::command();
    let mut found = Vec::new();
    let mut words = typed.iter();
    while let Some(word) = words.next() {
        match word.strip_prefix("--") {
            Some(option) if !option.contains('=') && takes_value(&all, option) => {
                words.next();
            }
            Some(_) => {}
            None if word.starts_with('-') => {}
            None => found.push(word.as_str()),
        }
    }
    found
}

fn takes_value(command: &Command, option: &str) -> bool {
    let own = command.get_arguments().any(|arg| {
        arg.get_long() == Some(option)
            && arg.get_action().takes_values()
            && !arg.is_require_equals_set()
    });
    own || command.get_subcommands().any(|sub| takes_value(sub, option))
}

fn names(kind: NameKind) -> Result<Vec<String>> {
    let common = Cli::try_parse_from(["jm"])?.common;
    Ok(match kind {
        NameKind::Tools => {
            let config = wire::load(&common)?.config;
            let offered = advertised(config.tools.mode, &wire::registry(&config)?, &[]);
            offered.into_iter().map(|tool| tool.name).collect()
        }
        NameKind::Sessions => {
            let root = history::root(&common)?;
            let all = sessions::store()?.sessions().map_err(sessions::told)?;
            let here = all.into_iter().filter(|view| view.root == root);
            here.map(|view| view.session.to_string()).collect()
        }
        NameKind::Calls => {
            let store = sessions::store()?;
            let newest = store.newest_session(&history::root(&common)?).map_err(sessions::told)?;
            let Some(view) = newest else { return Ok(Vec::new()) };
            let calls = store.calls(&view.session).map_err(sessions::told)?;
            let key = |key: &CallKey| key.to_string();
            calls.iter().rev().map(|call| key(&call.call.call)).collect()
        }
        NameKind::Models => {
            let known = model_client::known()?;
            let aliases = known.aliases().map(|(alias, _)| alias.to_owned());
            aliases.chain(known.names()).collect()
        }
        NameKind::ConfigurationKeys => KEYS.iter().map(|key| key.path.to_owned()).collect(),
        NameKind::Servers => wire::load(&common)?.config.mcp.into_keys().collect(),
        NameKind::Providers => keys::PROVIDERS.iter().map(|name| (*name).to_owned()).collect(),
        NameKind::Topics => {
            let topics = help::TOPICS.iter().map(|(name, _)| (*name).to_owned());
            let all = Cli::command();
            let commands = all.get_subcommands().map(|command| command.get_name().to_owned());
            topics.chain(["options".to_owned()]).chain(commands).collect()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_has_a_kind() {
        let cases: &[(&str, Option<NameKind>)] = &[
            ("call ", Some(NameKind::Tools)),
            ("--root /tmp call re", Some(NameKind::Tools)),
            ("--network call re", Some(NameKind::Tools)),
            ("call --json ", Some(NameKind::Tools)),
            ("call read_file ", None),
            ("run --model ", Some(NameKind::Models)),
            ("--session ", Some(NameKind::Sessions)),
            ("log ", Some(NameKind::Sessions)),
            ("output s-", Some(NameKind::Calls)),
            ("undo --call ", Some(NameKind::Calls)),
            ("config tools.", Some(NameKind::ConfigurationKeys)),
            ("policy explain ", Some(NameKind::Tools)),
            ("keys set a", Some(NameKind::Providers)),
            ("mcp test ", Some(NameKind::Servers)),
            ("help ", Some(NameKind::Topics)),
            ("log --", None),
            ("", None),
        ];
        for (typed, expected) in cases {
            let words: Vec<String> = typed.split(' ').map(str::to_owned).collect();
            assert_eq!(wanted(&words), *expected, "{typed}");
        }
    }
}
