//! The `/` commands that a client offers: what needs no model.

use anyhow::{Context, Result};
use jm_acp::schema::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, SessionUpdate,
    UnstructuredCommandInput,
};
use jm_engine::Which;
use jm_types::Part;
use jm_types::text::one_line;

use super::client_link::ClientLink;
use super::screen::AcpScreen;
use crate::agent::{Agent, TurnEnd};
use crate::faces::tui;

/// A command, its words, and the hint for its argument.
const COMMANDS: &[(&str, &str, Option<&str>)] = &[
    ("undo", "Undo the changes of the last prompt", Some("number of prompts")),
    ("redo", "Redo what was undone last", None),
    ("compact", "Let the model sum the conversation up, to make room", None),
    ("rename", "Give this conversation a title", Some("title")),
    ("status", "Show model, session, sandbox and approval mode", None),
    ("tools", "List the tools", None),
];

/// Tells the client what there is.
pub(super) fn offer(link: &ClientLink) {
    let command = |(name, description, hint): &(&str, &str, Option<&str>)| {
        let input = hint
            .map(|hint| AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(hint)));
        AvailableCommand::new(*name, *description).input(input)
    };
    let commands = COMMANDS.iter().map(command).collect();
    link.update(SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(commands)));
}

/// The command that a prompt is, and the rest of its line. A path at the beginning of a prompt is no command.
pub(super) fn named(parts: &[Part]) -> Option<(&'static str, String)> {
    let [Part::Text { text, .. }] = parts else { return None };
    let (word, rest) = match text.trim().split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim()),
        None => (text.trim(), ""),
    };
    let word = word.strip_prefix('/')?;
    let known = COMMANDS.iter().find(|(name, ..)| *name == word)?;
    Some((known.0, rest.to_owned()))
}

/// Does what a command says.
pub(super) async fn run(
    command: &str,
    rest: &str,
    agent: &mut Agent,
    screen: &mut AcpScreen,
) -> Result<TurnEnd> {
    let text = match command {
        "undo" => {
            let count = match rest {
                "" => 1,
                number => number.parse::<usize>().context("/undo takes a number")?.max(1),
            };
            let report = tui::take_back(agent, &Which::Last(count))?;
            tui::undo_text("Undone", &report, agent)
        }
        "redo" => {
            let report = tui::take_back(agent, &Which::Undo)?;
            tui::undo_text("Redone", &report, agent)
        }
        "compact" if agent.conversation.messages().is_empty() => {
            "Nothing to compact yet".to_owned()
        }
        "compact" => match agent.sum_up(screen).await? {
            Some(end) => return Ok(end),
            None => "Compacted".to_owned(),
        },
        "rename" if rest.is_empty() => "/rename takes a title".to_owned(),
        "rename" => {
            agent.driver.engine.rename(rest).map_err(crate::faces::undo::told)?;
            format!("Renamed: {}", one_line(rest))
        }
        "status" => status(agent),
        _ => tools(agent),
    };
    screen.link().say(text);
    Ok(TurnEnd::Finished)
}

fn status(agent: &Agent) -> String {
    tui::status_lines(agent).iter().map(|line| format!("- {line}\n")).collect()
}

fn tools(agent: &Agent) -> String {
    let row = |tool: jm_types::ToolDefinition| {
        let first = tool.description.lines().next().unwrap_or_default();
        format!("- `{}`: {}\n", one_line(&tool.name), one_line(first))
    };
    agent.driver.engine.advertised().into_iter().map(row).collect()
}
