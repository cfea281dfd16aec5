//! The `/` commands and `!commands` that need the engine.

use std::io::Write;

use anyhow::{Context, Result, bail};
use jm_engine::{Damaged, Guard, SharedPolicy, UndoReport, Which};
use jm_system::state::write_new;
use jm_tui::block::Note;
use jm_tui::msg::{Msg, TurnEnd as Ended};
use jm_tui::panel::question::PanelChoice;
use jm_tui::text::{Line, Role};
use jm_types::text::{one_line, reveal};
use jm_types::{ApprovalMode, ToolCall};
use serde_json::json;

use super::listing;
use super::screen_link::{Desk, Shown};
use super::talk::Talk;
use crate::agent::Agent;
use crate::cli::{Approve, Common, Model};
use crate::faces::rewind::{self, PromptRow, Rewinding};
use crate::faces::screen::Screen;
use crate::faces::{columns, export, history, ps, undo};
use crate::sessions;

type Change = Box<dyn FnOnce(&mut Common, &mut Model)>;

/// The step that follows from an order.
pub(super) enum Next {
    Stay,
    Quit,
    /// The agent is opened anew with something changed.
    Reopen(Change),
}

pub(super) fn model(name: String) -> Next {
    Next::Reopen(Box::new(move |_, model| model.model = Some(name)))
}

pub(super) fn clear() -> Next {
    Next::Reopen(Box::new(|common, _| common.session = None))
}

pub(super) fn resume(id: String) -> Next {
    Next::Reopen(Box::new(move |common, _| common.session = Some(id.into())))
}

pub(crate) fn flag_of(mode: ApprovalMode) -> Approve {
    match mode {
        ApprovalMode::Auto => Approve::Auto,
        ApprovalMode::Effects => Approve::Effects,
        ApprovalMode::Prompt => Approve::Prompt,
        ApprovalMode::Deny => Approve::Deny,
    }
}

pub(crate) fn mode_word(mode: ApprovalMode) -> &'static str {
    match mode {
        ApprovalMode::Auto => "auto",
        ApprovalMode::Effects => "effects",
        ApprovalMode::Prompt => "prompt",
        ApprovalMode::Deny => "deny",
    }
}

pub(super) fn mode_in_words(mode: ApprovalMode) -> &'static str {
    match mode {
        ApprovalMode::Auto => "auto: calls run without asking",
        ApprovalMode::Effects => "effects: commands run first, then asks which changes to keep",
        ApprovalMode::Prompt => "prompt: asks before side effects",
        ApprovalMode::Deny => "deny: refuses calls that no list allows",
    }
}

/// The mode that `/approve` names; nothing where it names none.
pub(super) fn mode(word: &str) -> Result<Option<ApprovalMode>> {
    Ok(Some(match word {
        "" => return Ok(None),
        "auto" => ApprovalMode::Auto,
        "effects" => ApprovalMode::Effects,
        "prompt" => ApprovalMode::Prompt,
        "deny" => ApprovalMode::Deny,
        other => bail!("Unknown approval mode {other}\n  hint: auto, effects, prompt or deny"),
    }))
}

pub(super) fn tell_mode(desk: &Desk, policy: Option<&SharedPolicy>) {
    if let Some(policy) = policy {
        let note = Note::info(format!("Approval mode: {}", mode_word(policy.now().mode)));
        desk.note(note.hint("/approve auto, effects, prompt or deny; Shift-Tab changes it"));
    }
}

pub(super) async fn command(
    talk: &mut Talk,
    agent: &mut Agent,
    name: &str,
    rest: &str,
) -> Result<Next> {
    match name {
        "model" if rest.is_empty() => {
            let client = agent.client();
            let text = format!("Model: {}/{}", client.provider(), client.model());
            talk.desk.note(Note::info(text).hint("/model PROVIDER/NAME changes it"));
        }
        "model" => return Ok(model(rest.to_owned())),
        "clear" => return Ok(clear()),
        "compact" => compact(talk, agent).await?,
        "undo" => undo_prompts(talk, agent, rest)?,
        "redo" => {
            let report = take_back(agent, &Which::Undo)?;
            talk.desk.send(Msg::Lines(told("Redone", &report, agent)));
        }
        "rename" if rest.is_empty() => bail!("/rename takes a title"),
        "rename" => {
            agent.driver.engine.rename(rest).map_err(undo::told)?;
            talk.desk.note(Note::info(format!("Renamed: {}", one_line(rest))));
        }
        "diff" => changes(talk, agent)?,
        "sessions" => listing::sessions(&talk.desk, &talk.common)?,
        "resume" if rest.is_empty() => listing::sessions(&talk.desk, &talk.common)?,
        "resume" => {
            let session = sessions::existing(&talk.common, rest)?;
            return Ok(resume(session.to_string()));
        }
        "tools" => tools(talk, agent),
        "policy" => policy(talk, agent),
        "status" => {
            talk.desk.send(Msg::Lines(status_lines(agent).iter().map(Line::text).collect()));
        }
        "export" => export(talk, agent, rest)?,
        "tool" => {
            let (id, result) = rest.split_once(char::is_whitespace).context("/tool ID RESULT")?;
            return talk.supply(agent, id, result.trim()).await;
        }
        other => talk.desk.note(Note::warning(format!("/{other} is not available here"))),
    }
    Ok(Next::Stay)
}

async fn compact(talk: &mut Talk, agent: &mut Agent) -> Result<()> {
    if agent.driver.session.batch().awaits_results() {
        bail!("Calls wait for results\n  hint: /tool ID RESULT");
    }
    if agent.conversation.messages().is_empty() {
        talk.desk.note(Note::info("Nothing to compact yet"));
        return Ok(());
    }
    let before = agent.context_percent();
    talk.desk.send(Msg::TurnBegins { prompt: "/compact".to_owned() });
    let interrupter = agent.driver.interrupts.interrupter();
    let mut shown = Shown(talk.desk.clone());
    let work = agent.sum_up(&mut shown);
    let Some(end) = talk.meanwhile(work, Some(interrupter)).await else { return Ok(()) };
    match end? {
        Some(end) => talk.ends(agent, end),
        None => {
            talk.desk.send(Msg::TurnEnds(Ended::Finished));
            let percent = |it: Option<u8>| it.map_or("?".to_owned(), |it| format!("{it}%"));
            let (from, to) = (percent(before), percent(agent.context_percent()));
            talk.desk.note(Note::info(format!("Compacted: context from {from} to {to}")));
        }
    }
    Ok(())
}

pub(crate) fn take_back(agent: &mut Agent, which: &Which) -> Result<UndoReport> {
    let driver = &mut agent.driver;
    let report = driver.engine.undo(&mut driver.session, which, Guard::Hash, Damaged::Refuse);
    report.map_err(|error| {
        let hints: String = error.hints.iter().map(|hint| format!("\n  hint: {hint}")).collect();
        anyhow::anyhow!("{error}{hints}")
    })
}

fn undo_prompts(talk: &Talk, agent: &mut Agent, rest: &str) -> Result<()> {
    let count = match rest {
        "" => 1,
        number => number.parse::<usize>().context("/undo takes a number")?.max(1),
    };
    let report = take_back(agent, &Which::Last(count))?;
    talk.desk.send(Msg::Lines(told("Undone", &report, agent)));
    Ok(())
}

/// The outcome of an undo, as text.
pub(crate) fn undo_text(done: &str, report: &UndoReport, agent: &Agent) -> String {
    told(done, report, agent).iter().map(|line| format!("{}\n", line.plain())).collect()
}

fn told(done: &str, report: &UndoReport, agent: &Agent) -> Vec<Line> {
    let root = agent.driver.engine.core().workspace.sandbox.working_root().path();
    let path = |path: &std::path::Path| {
        one_line(&path.strip_prefix(root).unwrap_or(path).to_string_lossy())
    };
    let calls = report.calls.iter().map(|taken| {
        Line::of(format!("{done}: "), Role::Success)
            .add(format!("{} {}", taken.call, taken.summary), Role::Text)
    });
    let mut lines: Vec<Line> = calls.collect();
    for (what, paths) in [("restored", &report.restored), ("removed", &report.removed)] {
        lines
            .extend(paths.iter().map(|it| Line::of(format!("  {what} {}", path(it)), Role::Muted)));
    }
    for (left, why) in &report.skipped {
        lines.push(Line::of(
            format!("  left alone {}: {}", path(left), one_line(why)),
            Role::Warning,
        ));
    }
    let gaps = report.gaps.iter();
    lines.extend(
        gaps.map(|gap| Line::of(format!("  not tracked: {}", one_line(gap)), Role::Warning)),
    );
    lines
}

/// Goes back to before a prompt, as far as the person chooses. Its words come back to be edited.
pub(super) async fn rewind(talk: &mut Talk, agent: &mut Agent, id: &str) -> Result<Next> {
    let seq: i64 = id.parse()?;
    let rows = rewind::prompts(&sessions::store()?, &agent.driver.session.id)?;
    // The files of a later prompt go back with those of this one.
    let later: Vec<PromptRow> = rows.into_iter().filter(|row| row.seq >= seq).collect();
    let row = later.iter().find(|row| row.seq == seq).context("No such prompt")?;
    let Some(what) = ask_what(talk, row, &later).await else { return Ok(Next::Stay) };
    let driver = &mut agent.driver;
    let (engine, session) = (&driver.engine, &mut driver.session);
    let rewound = rewind::rewind(&talk.common, engine, session, row, what, Guard::Hash)?;
    match &rewound.report {
        Some(report) => talk.desk.send(Msg::Lines(told("Undone", report, agent))),
        None if what == Rewinding::Conversation => {}
        None => talk.desk.note(Note::info("No files changed since that prompt")),
    }
    talk.desk.send(Msg::Draft(rewound.words));
    let Some(fork) = rewound.fork else { return Ok(Next::Stay) };
    let text = format!("Rewound to before prompt {}", row.number);
    let hint = format!("the old conversation: /resume {}", agent.driver.session.id);
    talk.desk.note(Note::info(text).hint(hint));
    // What the fork holds stands above already.
    talk.is_shown = true;
    Ok(resume(fork.to_string()))
}

/// Asks what goes back; nothing where nothing shall.
async fn ask_what(talk: &mut Talk, row: &PromptRow, later: &[PromptRow]) -> Option<Rewinding> {
    let mut files: Vec<&std::path::PathBuf> = later.iter().flat_map(|row| &row.files).collect();
    files.sort();
    files.dedup();
    let path = |path: &std::path::Path| one_line(&path.to_string_lossy());
    let mut facts = vec![Line::text(format!("  {}", columns::short(&row.words, 100)))];
    facts.extend(
        files.iter().map(|it| Line::of(format!("  changed since: {}", path(it)), Role::Muted)),
    );
    let choices = vec![
        PanelChoice::new('b', "both"),
        PanelChoice::new('c', "conversation only"),
        PanelChoice::new('f', "files only"),
        PanelChoice::new('q', "neither"),
    ];
    let desk = talk.desk.clone();
    let asked = desk.ask("Go back to before this prompt: which part?", facts, choices);
    match talk.meanwhile(asked, None).await.flatten() {
        Some(0) => Some(Rewinding::Both),
        Some(1) => Some(Rewinding::Conversation),
        Some(2) => Some(Rewinding::Files),
        _ => None,
    }
}

/// Shows the changes of this session's calls in full screen.
fn changes(talk: &Talk, agent: &Agent) -> Result<()> {
    let store = sessions::store()?;
    let session = &agent.driver.session.id;
    let root = agent.driver.engine.core().workspace.sandbox.working_root().path().to_owned();
    let mut lines = Vec::new();
    for call in store.walk_calls(session) {
        let call = call.map_err(sessions::told)?;
        let diff = reveal(&history::diffs(&store, &root, &call));
        if !diff.trim().is_empty() {
            lines.push(Line::of(format!("{} {}", call.call.call, call.call.name), Role::Heading));
            lines.extend(jm_tui::block::diff::diff(&diff));
            lines.push(Line::new());
        }
    }
    match lines.is_empty() {
        true => talk.desk.note(Note::info("This session has changed nothing")),
        false => talk.desk.send(Msg::Page { title: "changes".to_owned(), lines }),
    }
    Ok(())
}

/// Writes the session as a page; a file that is there already is left alone.
fn export(talk: &Talk, agent: &Agent, rest: &str) -> Result<()> {
    let session = &agent.driver.session.id;
    let name = if rest.is_empty() { format!("session-{session}.html") } else { rest.to_owned() };
    let page = export::page_of(session)?;
    let path = std::path::absolute(&name).with_context(|| name.clone())?;
    let mut file = write_new(&path).with_context(|| format!("cannot write {name}"))?;
    file.write_all(page.as_bytes()).with_context(|| name.clone())?;
    talk.desk.note(Note::info(format!("Exported to {}", one_line(&path.to_string_lossy()))));
    Ok(())
}

fn tools(talk: &Talk, agent: &Agent) {
    let tools = agent.driver.engine.advertised();
    let row = |tool: &jm_types::ToolDefinition| {
        let first = tool.description.lines().next().unwrap_or_default();
        (tool.name.clone(), first.to_owned())
    };
    talk.desk.send(Msg::Rows(tools.iter().map(row).collect()));
}

fn policy(talk: &Talk, agent: &Agent) {
    let policy = agent.driver.engine.core().policy.now();
    let mode = mode_in_words(policy.mode);
    let list =
        |names: Vec<String>| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let sorted = |names: Vec<&String>| {
        let mut names: Vec<String> = names.into_iter().cloned().collect();
        names.sort();
        names
    };
    let allowed = list(sorted(policy.allowlist.iter().collect()));
    let denied = list(sorted(policy.denylist.iter().collect()));
    let lines =
        [format!("Approval {mode}"), format!("Allowed: {allowed}"), format!("Denied: {denied}")];
    talk.desk.send(Msg::Lines(lines.iter().map(Line::text).collect()));
}

/// The state of a conversation, a line each.
pub(crate) fn status_lines(agent: &Agent) -> Vec<String> {
    let core = agent.driver.engine.core();
    let client = agent.client();
    let running = ps::running_of(&core.workspace.jobs, &agent.driver.session.id);
    let processes = match running.len() {
        0 => "none".to_owned(),
        count => format!("{count} running (stop one: `jm ps --stop ID`)"),
    };
    let mut lines = vec![
        format!("Model      {}/{}", client.provider(), client.model()),
        format!("Session    {}", agent.driver.session.id),
        format!("Root       {}", core.workspace.sandbox.working_root().path().display()),
        format!("Sandbox    {}", core.workspace.confiner.backend().name()),
        format!("Approval   {}", mode_word(core.policy.now().mode)),
        format!("Messages   {}", agent.conversation.messages().len()),
        format!("Processes  {processes}"),
    ];
    lines.extend(running.iter().map(|line| format!("  {line}")));
    lines
}

/// The name of the tool that runs a command; none where commands are off.
pub(super) fn command_tool(agent: &Agent) -> Option<String> {
    let tools = agent.driver.engine.advertised();
    let takes_command = |tool: &&jm_types::ToolDefinition| {
        tool.parameters["properties"].get("command").is_some() && tool.name != "start_process"
    };
    tools.iter().find(takes_command).map(|tool| tool.name.clone())
}

/// A command of the person's own: a call like any other, of which the model hears with the next prompt.
pub(super) async fn shell(talk: &mut Talk, agent: &mut Agent, command: String) -> Result<()> {
    let Some(tool) = command_tool(agent) else {
        bail!("Commands are off in this project\n  hint: start with `--allow run_command`");
    };
    talk.desk.send(Msg::TurnBegins { prompt: format!("!{command}") });
    let call = ToolCall::new("shell", &tool, &json!({"command": command}));
    let interrupter = agent.driver.interrupts.interrupter();
    let new = jm_tui::msg::NewCall {
        id: call.id.clone(),
        key: String::new(),
        name: call.name.clone(),
        arguments: call.arguments.clone(),
    };
    talk.desk.send(Msg::Calls(vec![new]));
    let mut shown = Shown(talk.desk.clone());
    // Who typed a command has answered the question whether it shall run; rules that deny it still do.
    talk.desk.approve_next(true);
    let work = agent.driver.answer(vec![call]);
    let end = talk.meanwhile(work, Some(interrupter)).await;
    talk.desk.approve_next(false);
    let Some(end) = end else { return Ok(()) };
    let batch = agent.driver.session.batch();
    shown.results(batch)?;
    agent.driver.delivered();
    let said = batch.entries.iter().filter_map(|entry| entry.result());
    let output: String = said.map(|result| result.content.clone()).collect();
    talk.beside = format!("I ran this command myself:\n$ {command}\n{output}\n\n");
    let ended = match end? {
        crate::faces::call_loop::End::Answered => Ended::Finished,
        crate::faces::call_loop::End::Interrupted => Ended::Interrupted,
    };
    talk.desk.send(Msg::TurnEnds(ended));
    Ok(())
}
