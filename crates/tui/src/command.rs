//! The `/` commands of the prompt.

use jm_types::text::suggest;

/// A command with its help.
#[derive(Debug)]
pub struct ListedCommand {
    /// The word after the slash.
    pub name: &'static str,
    /// The arguments as the help names them.
    pub takes: &'static str,
    /// One line for the help.
    pub does: &'static str,
}

const fn row(name: &'static str, takes: &'static str, does: &'static str) -> ListedCommand {
    ListedCommand { name, takes, does }
}

/// All commands, in the order of the help.
pub const COMMANDS: &[ListedCommand] = &[
    row("help", "", "Show keys and commands"),
    row("model", "[NAME]", "Show or change the model"),
    row("approve", "[MODE]", "Show or change the approval mode: auto, effects, prompt, deny"),
    row("clear", "", "Start a new conversation"),
    row("compact", "", "Summarize the conversation to free context"),
    row("undo", "[N]", "Undo the last prompt, or the last N"),
    row("redo", "", "Redo what was undone last"),
    row("rewind", "", "Go back to an earlier prompt"),
    row("diff", "", "Show what this session changed"),
    row("rename", "TITLE", "Name this session"),
    row("sessions", "", "List sessions"),
    row("resume", "[ID]", "Resume another session"),
    row("tools", "", "List the model's tools"),
    row("policy", "", "Show the approval policy"),
    row("status", "", "Show model, session, root and sandbox"),
    row("cost", "", "Show tokens and cost"),
    row("export", "[FILE]", "Write this session as an HTML page"),
    row("copy", "", "Copy the last answer as Markdown"),
    row("tool", "ID RESULT", "Supply a result in parse-only mode"),
    row("exit", "", "Quit; `jm resume` continues"),
];

/// A line that begins with `/`, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parsed {
    /// No command: words for the model.
    Words,
    /// A command of the list.
    Known {
        /// The word of the list.
        name: &'static str,
        /// The text behind it.
        rest: String,
    },
    /// A word that is none.
    Unknown {
        /// The word as it was typed.
        name: String,
        /// The command that was probably meant.
        near: Option<&'static str>,
    },
}

/// `/etc/hosts is wrong` is about a file.
pub fn parse(line: &str) -> Parsed {
    let Some(command) = line.trim().strip_prefix('/') else { return Parsed::Words };
    let (word, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    if word.contains('/') || word.is_empty() {
        return Parsed::Words;
    }
    let name = match word {
        "quit" | "q" => "exit",
        "?" => "help",
        "usage" => "cost",
        other => other,
    };
    match COMMANDS.iter().find(|command| command.name == name) {
        Some(command) => Parsed::Known { name: command.name, rest: rest.trim().to_owned() },
        None => {
            let near = suggest(word, COMMANDS.iter().map(|command| command.name), 1);
            let is_near = |known: &&ListedCommand| near.iter().any(|near| near == known.name);
            let near = COMMANDS.iter().find(is_near);
            Parsed::Unknown { name: word.to_owned(), near: near.map(|known| known.name) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_command_or_words() {
        let known = |name, rest: &str| Parsed::Known { name, rest: rest.into() };
        let cases = [
            ("hello", Parsed::Words),
            ("/etc/hosts is wrong", Parsed::Words),
            ("/ what", Parsed::Words),
            ("/undo 3", known("undo", "3")),
            ("/quit", known("exit", "")),
            ("/tool c1 the  result", known("tool", "c1 the  result")),
            ("/undoo", Parsed::Unknown { name: "undoo".into(), near: Some("undo") }),
        ];
        for (line, parsed) in cases {
            assert_eq!(parse(line), parsed, "{line}");
        }
    }
}
