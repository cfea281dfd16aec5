//! `jm repl`: a conversation in a plain terminal (GO-TERM, GO-CLI). `jm resume`: the same, going on.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use jm_engine::{Damaged, Guard, Which};
use jm_system::terminal::TerminalModes;
use jm_tui::block::numbers::count;
use jm_types::text::{one_line, sanitize};
use jm_types::{MessageRole, Part, SessionId, Toolset};
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

use super::call_loop::{Driver, block_on};
use super::screen::Plain;
use super::{columns, exit, history, home, outside_results, print, rewind, undo};
use crate::agent::{Agent, Looks, TurnEnd};
use crate::cli::{Common, Model, Resume};
use crate::{locations, sessions};

/// The prefix of the model's words, once a turn; `gemini`'s document has its own (GO-TERM).
fn prefix(toolset: Toolset) -> &'static str {
    match toolset {
        Toolset::Gemini => "Gemini: ",
        Toolset::Forge | Toolset::Forj | Toolset::Ikigai | Toolset::Flemma | Toolset::Standard => {
            "jm: "
        }
    }
}
const PROMPT: &str = "> ";
const HELP: &str = "\
/help              show this help
/tools [--rescan]  list the model's tools; --rescan reads your own tools again
/usage             show tokens and cost
/compact           summarize the conversation to free context
/undo [N]          undo the changes of the last prompt, or of the last N
/rewind [N]        list prompts, or go back to before prompt N
/rename TITLE      name this session
/tool ID RESULT    supply a result in parse-only mode
/quit              quit (or Ctrl-D); `jm resume` continues
Anything else goes to the model, including paths such as /etc/hosts. Ctrl-C stops the current turn.";

pub(crate) fn resume(common: &Common, resume: &Resume) -> Result<u8> {
    let mut common = common.clone();
    let store = sessions::store()?;
    let chosen = match &resume.id {
        Some(id) => history::choose(&store, &common, Some(id))?.session,
        None => newest_conversation(&common)?,
    };
    drop(store);
    common.session = Some(chosen.clone());
    run_with(&common, &resume.model, None, Looks::Lines)
}

/// Of this workspace, the session in which somebody spoke last.
pub(crate) fn newest_conversation(common: &Common) -> Result<SessionId> {
    let store = sessions::store()?;
    let root = history::root(common)?;
    let views = store.sessions().map_err(sessions::told)?;
    for view in views.into_iter().filter(|view| view.root == root) {
        if store.has_messages(&view.session).map_err(sessions::told)? {
            return Ok(view.session);
        }
    }
    bail!("No conversation to continue here\n  hint: start one with `jm repl`")
}

pub(crate) fn run(common: &Common, model: &Model) -> Result<u8> {
    run_with(common, model, None, Looks::Blocks)
}

/// The same, beginning with a prompt.
pub(crate) fn run_with(
    common: &Common,
    model: &Model,
    first: Option<&str>,
    looks: Looks<'_>,
) -> Result<u8> {
    home::confirm(common)?;
    block_on(async {
        let mut common = common.clone();
        let mut agent = Agent::open(&common, model, looks).await?;
        let toolset = agent.driver.engine.core().registry.toolset();
        let mut screen = Plain::drawn(Some(prefix(toolset)), &agent);
        greet(&agent);
        let reader = Reader::new()?;
        // The thread that reads may be left in the middle of a line.
        let manners = TerminalModes::keep();
        if let Some(first) = first
            && let Err(error) = obey(&mut agent, &mut screen, Order::Say(first)).await
        {
            print::error(&error);
        }
        loop {
            let line = tokio::select! {
                biased;
                () = agent.driver.interrupts.next() => Line::End,
                line = reader.line() => line?,
            };
            let line = match line {
                Line::Text(line) => line,
                Line::Interrupted => continue,
                Line::End => break,
            };
            match Order::of(&line) {
                Order::Nothing => {}
                Order::Quit => break,
                Order::Rewind(number) => match rewound(&common, &mut agent, number) {
                    Ok(Some(fork)) => {
                        agent.close().await?;
                        common.session = Some(fork);
                        agent = Agent::open(&common, model, looks).await?;
                        greet(&agent);
                    }
                    Ok(None) => {}
                    Err(error) => print::error(&error),
                },
                order => {
                    if let Err(error) = obey(&mut agent, &mut screen, order).await {
                        print::error(&error);
                    }
                    agent.driver.interrupts.forget();
                }
            }
        }
        drop(manners);
        agent.close().await?;
        Ok(exit::RAN)
    })
}

fn greet(agent: &Agent) {
    let client = agent.client();
    let session = &agent.driver.session.id;
    print::note(&format!("{} {}, session {session}; /help", client.provider(), client.model()));
    agent.notes.iter().for_each(|note| print::note(&format!("jm: {}", one_line(note))));
    let said = agent.conversation.messages().len();
    if said > 0 {
        print::note(&format!("Resumed: {said} messages"));
        last_lines(agent).iter().for_each(|line| print::note(line));
    }
    if agent.driver.session.batch().awaits_results() {
        show_waiting(agent);
    }
}

/// Lines of a resumed conversation that are shown again.
const LAST_LINES: usize = 6;

/// The last prompt and the end of the last answer.
fn last_lines(agent: &Agent) -> Vec<String> {
    let messages = agent.conversation.messages();
    let last = |role: MessageRole| {
        let of = messages.iter().rev().filter(|message| message.role == role);
        of.map(|message| sanitize(&message.text())).find(|text| !text.trim().is_empty())
    };
    let mut lines = Vec::new();
    if let Some(prompt) = last(MessageRole::User) {
        lines.push(format!("{PROMPT}{}", columns::short(&prompt, 76)));
    }
    let answer = last(MessageRole::Assistant).unwrap_or_default();
    let end: Vec<&str> = answer.trim_end().lines().collect();
    lines.extend(end[end.len().saturating_sub(LAST_LINES)..].iter().map(|it| (*it).to_owned()));
    lines
}

/// The request of a line.
#[derive(Debug, PartialEq, Eq)]
enum Order<'a> {
    Nothing,
    Say(&'a str),
    Help,
    Tools,
    Rescan,
    Usage,
    Compact,
    Undo(usize),
    /// List prompts, or go back to before one.
    Rewind(Option<usize>),
    Rename(&'a str),
    Supply {
        id: &'a str,
        result: &'a str,
    },
    Quit,
    Unknown(&'a str),
}

impl<'a> Order<'a> {
    fn of(line: &'a str) -> Self {
        let line = line.trim();
        if line.is_empty() {
            return Order::Nothing;
        }
        let Some(command) = line.strip_prefix('/') else { return Order::Say(line) };
        let (word, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        if word.contains('/') {
            // `/etc/hosts is wrong` is about a file.
            return Order::Say(line);
        }
        let rest = rest.trim();
        match word {
            "help" | "?" => Order::Help,
            "tools" if rest.is_empty() => Order::Tools,
            "tools" if rest == "--rescan" => Order::Rescan,
            "usage" => Order::Usage,
            "compact" => Order::Compact,
            "undo" if rest.is_empty() => Order::Undo(1),
            "undo" => rest.parse().map_or(Order::Unknown(line), Order::Undo),
            "rewind" if rest.is_empty() => Order::Rewind(None),
            "rewind" => rest.parse().map_or(Order::Unknown(line), |it| Order::Rewind(Some(it))),
            "rename" if !rest.is_empty() => Order::Rename(rest),
            "tool" => match rest.split_once(char::is_whitespace) {
                Some((id, result)) => Order::Supply { id, result: result.trim() },
                None => Order::Unknown(line),
            },
            "quit" | "exit" | "q" => Order::Quit,
            _ => Order::Unknown(line),
        }
    }
}

/// Lists prompts, or goes back to before one; gives the session to go on with then.
fn rewound(common: &Common, agent: &mut Agent, number: Option<usize>) -> Result<Option<SessionId>> {
    let Driver { engine, session, .. } = &mut agent.driver;
    let rows = rewind::prompts(&sessions::store()?, &session.id)?;
    let root = engine.core().workspace.sandbox.working_root().path().to_owned();
    let Some(number) = number else {
        rewind::show(&root, &rows)?;
        return Ok(None);
    };
    let row = rewind::choose(rows, number)?;
    let what = rewind::Rewinding::Both;
    let rewound = rewind::rewind(common, engine, session, &row, what, Guard::Hash)?;
    if let Some(report) = &rewound.report {
        undo::in_words(&root, report)?;
    }
    print::note(&format!("Rewound to before: {}", columns::short(&rewound.words, 60)));
    Ok(rewound.fork)
}

fn list_tools(agent: &Agent) -> Result<()> {
    let tools = agent.driver.engine.advertised();
    tools.iter().try_for_each(|tool| print::line(&one_line(&tool.name)))
}

async fn obey(agent: &mut Agent, screen: &mut Plain, order: Order<'_>) -> Result<()> {
    match order {
        Order::Nothing | Order::Quit | Order::Rewind(_) => Ok(()),
        Order::Help => print::line(HELP),
        Order::Unknown(line) => {
            print::note(&format!("Unknown command {} (see /help)", one_line(line)));
            Ok(())
        }
        Order::Rename(title) => {
            agent.driver.engine.rename(title).map_err(undo::told)?;
            print::note(&format!("Renamed: {}", one_line(title)));
            Ok(())
        }
        Order::Tools => list_tools(agent),
        Order::Rescan => {
            agent.driver.engine.core().registry.forget()?;
            list_tools(agent)
        }
        Order::Usage => print::line(&usage(agent)),
        Order::Compact if agent.driver.session.batch().awaits_results() => {
            print::note("Calls wait for results; supply them first");
            show_waiting(agent);
            Ok(())
        }
        Order::Compact if agent.conversation.messages().is_empty() => {
            print::note("Nothing to compact yet");
            Ok(())
        }
        Order::Compact => match agent.sum_up(screen).await? {
            Some(end) => tell(agent, &end),
            None => Ok(()),
        },
        Order::Undo(count) => {
            let driver = &mut agent.driver;
            let which = Which::Last(count.max(1));
            let (engine, session) = (&driver.engine, &mut driver.session);
            let report = engine.undo(session, &which, Guard::Hash, Damaged::Refuse);
            let root = engine.core().workspace.sandbox.working_root().path();
            undo::in_words(root, &report.map_err(undo::told)?)
        }
        Order::Say(text) => {
            screen.begin_turn();
            let end = agent.turn(vec![Part::text(text)], screen).await?;
            tell(agent, &end)
        }
        Order::Supply { id, result } => supply(agent, screen, id, result).await,
    }
}

/// A result that the person has produced (FR-MODE-02). With the last one the model goes on.
async fn supply(agent: &mut Agent, screen: &mut Plain, id: &str, result: &str) -> Result<()> {
    screen.begin_turn();
    let batch = agent.driver.session.batch().number;
    let results = vec![(id.to_owned(), result.to_owned())];
    match agent.supply(results, None, screen).await? {
        // What else waits was shown before.
        TurnEnd::Waiting if agent.driver.session.batch().number == batch => Ok(()),
        end => tell(agent, &end),
    }
}

fn tell(agent: &Agent, end: &TurnEnd) -> Result<()> {
    match end {
        TurnEnd::Finished => {}
        TurnEnd::Interrupted => print::note("jm: interrupted"),
        TurnEnd::Limit => {
            print::note(&format!("jm: {}; send a prompt to continue", agent.stopped()));
        }
        TurnEnd::Waiting => show_waiting(agent),
        TurnEnd::Failed(error) => {
            print::note(&format!("jm: {}", error.message));
            if let Some(hint) = &error.hint {
                print::note(&format!("  hint: {hint}"));
            }
        }
    }
    Ok(())
}

fn show_waiting(agent: &Agent) {
    let how = |id: &str| format!("/tool {id} RESULT");
    print::note(&outside_results::waiting(&agent.driver.session, how));
}

fn usage(agent: &Agent) -> String {
    let usage = agent.conversation.usage();
    let cost = match agent.client().cost(&usage) {
        Some(dollars) => format!(" · ${dollars:.4}"),
        None => String::new(),
    };
    let [input, output, read, written] =
        [usage.input, usage.output, usage.cache_read, usage.cache_write].map(count);
    format!("{input} in · {output} out · {read} cached · {written} written to the cache{cost}")
}

enum Line {
    Text(String),
    Interrupted,
    End,
}

/// Reads lines on a thread of its own, so that the program stays awake.
struct Reader {
    editor: Arc<Mutex<DefaultEditor>>,
    history: Option<PathBuf>,
}

impl Reader {
    fn new() -> Result<Self> {
        let mut editor = DefaultEditor::new().context("cannot read the terminal")?;
        let history = locations::state().ok().and_then(|state| state.private_file("history").ok());
        if let Some(path) = &history {
            // A history that cannot be read is an empty one.
            editor.load_history(path).unwrap_or_default();
        }
        Ok(Self { editor: Arc::new(Mutex::new(editor)), history })
    }

    async fn line(&self) -> Result<Line> {
        let (editor, history) = (Arc::clone(&self.editor), self.history.clone());
        let read = move || {
            let mut editor = editor.lock().unwrap_or_else(PoisonError::into_inner);
            let line = match editor.readline(PROMPT) {
                Ok(line) => line,
                Err(ReadlineError::Interrupted) => return Ok(Line::Interrupted),
                Err(ReadlineError::Eof) => return Ok(Line::End),
                Err(error) => return Err(error),
            };
            editor.add_history_entry(&line)?;
            if let Some(path) = history {
                editor.append_history(&path).unwrap_or_default();
            }
            Ok(Line::Text(line))
        };
        tokio::task::spawn_blocking(read).await?.context("cannot read the terminal")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_line_asks_for() {
        for (line, order) in [
            ("", Order::Nothing),
            ("  hello there ", Order::Say("hello there")),
            ("/help", Order::Help),
            ("/undo", Order::Undo(1)),
            ("/undo 3", Order::Undo(3)),
            ("/rewind", Order::Rewind(None)),
            ("/rewind 2", Order::Rewind(Some(2))),
            ("/rewind there", Order::Unknown("/rewind there")),
            ("/rename the parser", Order::Rename("the parser")),
            ("/undo much", Order::Unknown("/undo much")),
            ("/tool call_1 the  result", Order::Supply { id: "call_1", result: "the  result" }),
            ("/tool call_1", Order::Unknown("/tool call_1")),
            ("/quit", Order::Quit),
            ("/nonsense", Order::Unknown("/nonsense")),
            ("/etc/hosts is wrong", Order::Say("/etc/hosts is wrong")),
        ] {
            assert_eq!(Order::of(line), order, "{line}");
        }
    }
}
