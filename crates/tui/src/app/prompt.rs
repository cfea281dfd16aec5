//! Keys of the prompt: editing, history, completion, submission.

use super::cancel::stop;
use super::state::App;
use crate::command::{self, Parsed};
use crate::editor::{Completion, Menu, complete};
use crate::key::Key;
use crate::msg::Effect;
use crate::text::{Line, Role};

/// Commands whose answer is printed: the line that asked for it stands above.
const ECHOED: &[&str] = &[
    "help", "model", "approve", "clear", "undo", "redo", "rename", "tools", "policy", "status",
    "cost", "export",
];

pub(super) fn key(app: &mut App, key: Key, is_burst: bool, out: &mut Vec<Effect>) {
    if app.prompt.search.is_some() {
        return search_key(app, key, out);
    }
    if app.prompt.menu.is_some() && menu_key(app, key) {
        return;
    }
    let was_empty = app.prompt.buffer.is_empty();
    let buffer = &mut app.prompt.buffer;
    match key {
        Key::Enter if is_burst => buffer.insert("\n"),
        Key::Enter => return enter(app, out),
        Key::NewLine | Key::Ctrl('j') => buffer.insert("\n"),
        Key::Char(c) => {
            buffer.insert(c.encode_utf8(&mut [0; 4]));
            if was_empty {
                app.prompt.is_shell = c == '!' && !is_burst;
            }
        }
        Key::Backspace | Key::Ctrl('h') => buffer.backspace(),
        Key::Delete | Key::Ctrl('d') => buffer.delete(),
        Key::Left | Key::Ctrl('b') => return buffer.left(),
        Key::Right | Key::Ctrl('f') => return buffer.right(),
        Key::WordLeft | Key::Alt('b') => return buffer.word_left(),
        Key::WordRight | Key::Alt('f') => return buffer.word_right(),
        Key::Home | Key::Ctrl('a') => return buffer.home(),
        Key::End | Key::Ctrl('e') => return buffer.end(),
        Key::Ctrl('w') => buffer.cut_word(),
        Key::Ctrl('u') => buffer.cut_to_start(),
        Key::Ctrl('k') => buffer.cut_to_end(),
        Key::Ctrl('y') => buffer.yank(),
        Key::Ctrl('o') => buffer.unfold(),
        Key::Up | Key::Ctrl('p') => return up(app),
        Key::Down | Key::Ctrl('n') => return down(app),
        Key::Ctrl('r') => app.prompt.search = Some((String::new(), 0)),
        Key::Tab => {
            offer(app, out);
            accept_only(app);
            return;
        }
        _ => return,
    }
    if app.prompt.buffer.is_empty() {
        app.prompt.is_shell = false;
    }
    match key {
        Key::Char(_) | Key::Backspace if !is_burst => offer_while_typing(app, out),
        // What a burst has typed is not what the menu was made for.
        _ => app.prompt.menu = None,
    }
}

fn up(app: &mut App) {
    if app.prompt.buffer.up() {
        return;
    }
    if app.prompt.buffer.is_empty()
        && let Some(queued) = app.queue.pop()
    {
        return app.prompt.buffer.set(&queued);
    }
    let typed = app.prompt.buffer.text();
    if let Some(entry) = app.prompt.history.older(&typed) {
        app.prompt.buffer.set(entry);
    }
}

fn down(app: &mut App) {
    if !app.prompt.buffer.down()
        && let Some(entry) = app.prompt.history.newer()
    {
        app.prompt.buffer.set(&entry);
    }
}

/// Enter: a line break after `\`, a command, or words; while a turn runs they are queued, and a
/// second Enter sends them at once.
fn enter(app: &mut App, out: &mut Vec<Effect>) {
    let text = app.prompt.buffer.text();
    if text.trim().is_empty() {
        return steer(app, out);
    }
    if let Some(line) = text.strip_suffix('\\')
        && !app.prompt.buffer.has_pasted()
    {
        app.prompt.buffer.set(&format!("{line}\n"));
        return;
    }
    let is_shell = std::mem::take(&mut app.prompt.is_shell);
    let parsed = command::parse(&text);
    if let Parsed::Unknown { name, near } = &parsed {
        let near = near.map(|near| format!("; did you mean /{near}?")).unwrap_or_default();
        return app.flash(format!("Unknown command /{name}{near} (see /help)"));
    }
    app.prompt.buffer.clear();
    app.prompt.menu = None;
    app.prompt.files_asked = false;
    app.prompt.history.add(&text);
    out.push(Effect::Remember(text.clone()));
    match parsed {
        Parsed::Known { name, rest } => run(app, name, rest, out),
        Parsed::Words | Parsed::Unknown { .. } => match text.strip_prefix('!') {
            Some(shell) if is_shell && app.is_working() => {
                app.prompt.buffer.set(&format!("!{shell}"));
                app.prompt.is_shell = true;
                app.flash("A turn is running; Esc stops it");
            }
            Some(shell) if is_shell => out.push(Effect::Shell(shell.trim().to_owned())),
            _ if app.is_working() => app.queue.push(text),
            _ => out.push(Effect::Submit(text)),
        },
    }
}

fn steer(app: &mut App, out: &mut Vec<Effect>) {
    let Some(turn) = &mut app.turn else { return };
    if !app.queue.is_empty() && !turn.steers {
        turn.steers = true;
        stop(app, out);
    }
}

/// Commands that the screen answers itself; all others are the face's.
fn run(app: &mut App, name: &'static str, rest: String, out: &mut Vec<Effect>) {
    if ECHOED.contains(&name) && !(app.is_working() && is_the_agents(name)) {
        app.outbox.gap();
        app.print(vec![Line::of(format!("> /{name} {rest}").trim_end(), Role::Muted)]);
    }
    match name {
        "help" => {
            let lines = crate::help::lines(app.columns());
            app.print(lines);
        }
        "copy" if app.answer.last.is_empty() => app.flash("Nothing to copy yet"),
        "copy" => {
            out.push(Effect::Copy(app.answer.last.clone()));
            app.flash("Copied the last answer");
        }
        "cost" => {
            let usage = app.status.usage();
            app.note(&crate::block::Note::info(usage));
        }
        "rewind" => out.push(Effect::ListPrompts),
        "exit" => {
            let rest = app.outbox.take_all();
            out.push(Effect::Print(rest));
            out.push(Effect::Quit);
        }
        _ if app.is_working() && is_the_agents(name) => {
            app.flash(format!("/{name} waits for the end of the turn; Esc stops it"))
        }
        _ => out.push(Effect::Command { name, rest }),
    }
}

/// True for commands that need the agent, which a turn has.
fn is_the_agents(name: &str) -> bool {
    let others = ["help", "copy", "cost", "rewind", "exit"];
    let asked = ["status", "tools", "policy", "sessions", "approve", "export"];
    !others.contains(&name) && !asked.contains(&name)
}

fn search_key(app: &mut App, key: Key, out: &mut Vec<Effect>) {
    let Some((mut typed, mut skipped)) = app.prompt.search.take() else { return };
    match key {
        Key::Char(c) => (typed, skipped) = (format!("{typed}{c}"), 0),
        Key::Backspace => {
            typed.pop();
            skipped = 0;
        }
        Key::Ctrl('r') | Key::Up => skipped += 1,
        Key::Enter | Key::Right | Key::End => {
            if let Some(found) = app.prompt.history.find(&typed, skipped) {
                let found = found.to_owned();
                app.prompt.buffer.set(&found);
            }
            return;
        }
        _ => return self::key(app, key, false, out),
    }
    if app.prompt.history.find(&typed, skipped).is_none() {
        skipped = skipped.saturating_sub(1);
    }
    app.prompt.search = Some((typed, skipped));
}

/// True if the menu took the key.
fn menu_key(app: &mut App, key: Key) -> bool {
    let Some(menu) = &mut app.prompt.menu else { return false };
    match key {
        Key::Down | Key::Ctrl('n') => menu.next(),
        Key::Up | Key::Ctrl('p') => menu.previous(),
        Key::Tab => accept(app),
        Key::Enter => {
            let typed = app.prompt.buffer.word_before();
            let is_whole = menu.chosen().is_some_and(|it| it.text.trim_end() == typed)
                // After a command's name an argument is chosen only by its letters.
                || (typed.is_empty() && menu.selected == 0);
            if is_whole {
                app.prompt.menu = None;
                return false;
            }
            accept(app);
        }
        _ => return false,
    }
    true
}

fn accept(app: &mut App) {
    if let Some(menu) = app.prompt.menu.take()
        && let Some(chosen) = menu.chosen()
    {
        app.prompt.buffer.replace_word_before(&chosen.text);
    }
}

/// After Tab a single entry is taken at once.
fn accept_only(app: &mut App) {
    if app.prompt.menu.as_ref().is_some_and(|menu| menu.entries.len() == 1) {
        accept(app);
    }
}

fn offer(app: &mut App, out: &mut Vec<Effect>) {
    let word = app.prompt.buffer.word_before();
    let is_first = app.prompt.buffer.shown().0 == word;
    app.prompt.menu = if word.starts_with('/') && is_first {
        Menu::of(complete::commands(&word))
    } else if let Some(known) = arguments(app, &word) {
        Menu::of(complete::arguments(&word, known))
    } else if let Some(typed) = word.strip_prefix('@') {
        if !std::mem::replace(&mut app.prompt.files_asked, true) {
            out.push(Effect::ListFiles);
        }
        // Until the new list comes, the old one serves.
        app.prompt.files.as_ref().and_then(|files| Menu::of(complete::files(typed, files)))
    } else {
        None
    };
}

/// The words that the command before the caret may take, where the caret is at its first.
fn arguments<'a>(app: &'a App, word: &str) -> Option<&'a [Completion]> {
    let before = app.prompt.buffer.shown().0;
    let command = before.strip_suffix(word)?.strip_prefix('/')?.strip_suffix(' ')?;
    app.prompt.arguments.get(command).map(Vec::as_slice)
}

fn offer_while_typing(app: &mut App, out: &mut Vec<Effect>) {
    let word = app.prompt.buffer.word_before();
    match word.starts_with(['/', '@']) || arguments(app, &word).is_some() {
        true => offer(app, out),
        false => app.prompt.menu = None,
    }
}

/// The list of files has come; it is asked for anew with the next prompt.
pub(super) fn files(app: &mut App, files: Vec<String>) {
    app.prompt.files = Some(files);
    offer(app, &mut Vec::new());
}
