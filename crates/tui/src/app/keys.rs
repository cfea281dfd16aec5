//! Keys: who gets them, in order: what fills the screen, the panel, the menu, the prompt.

use super::cancel::stop;
use super::state::{AGAIN, App};
use super::{panels, prompt};
use crate::key::Key;
use crate::msg::{Attachment, Effect};
use crate::panel::full::Full;
use crate::panel::pager::Pager;

/// Lines that a page key scrolls a command's output by.
const SCROLL: isize = 10;

pub(super) fn key(app: &mut App, key: Key, out: &mut Vec<Effect>) {
    let is_burst = app.prompt.burst.key(app.clock);
    match &app.full {
        // The answer of every question, wherever it stands.
        Some(Full::Question(_)) if key == Key::Ctrl('c') => return stop(app, out),
        Some(_) => return panels::full_key(app, key, is_burst, out),
        None => {}
    }
    let is_taken = panels::key(app, key, is_burst, out);
    if !is_taken {
        ours(app, key, is_burst, out);
    }
    if matches!(key, Key::Char(_) | Key::Backspace | Key::Enter | Key::NewLine) {
        app.last_typed = Some(app.clock);
    }
}

pub(super) fn paste(app: &mut App, text: &str, out: &mut Vec<Effect>) {
    app.prompt.burst.end();
    app.last_typed = Some(app.clock);
    if app.full.is_some() || panels::paste(app, text) {
        return;
    }
    if app.prompt.buffer.is_empty() {
        app.prompt.is_shell = false;
    }
    app.prompt.menu = None;
    match is_path_of_picture(text) {
        // Terminals paste the path of a picture that is dropped on them.
        true => out.push(Effect::Attach(Attachment::Path(text.to_owned()))),
        false => app.prompt.buffer.paste(text),
    }
}

fn is_path_of_picture(text: &str) -> bool {
    let text = text.trim().trim_matches(['\'', '"']).to_ascii_lowercase();
    let has_ending = [".png", ".jpg", ".jpeg", ".gif", ".webp"].iter().any(|it| text.ends_with(it));
    has_ending && text.lines().count() == 1 && text.len() < 4096
}

fn ours(app: &mut App, key: Key, is_burst: bool, out: &mut Vec<Effect>) {
    match key {
        Key::Ctrl('c') => interrupt(app, out),
        Key::Escape => escape(app, out),
        Key::Ctrl('d') if app.prompt.buffer.is_empty() => quit(app, out),
        Key::Ctrl('z') => out.push(Effect::Suspend),
        Key::Ctrl('l') => out.push(Effect::Redraw),
        Key::Ctrl('t') => {
            let lines = app.transcript.whole(app.columns());
            app.page(Pager::at_end("transcript", lines));
        }
        Key::Ctrl('v') => out.push(Effect::Attach(Attachment::Clipboard)),
        Key::Ctrl('g') => out.push(Effect::Edit(app.prompt.buffer.text())),
        Key::BackTab => out.push(Effect::CycleApproval),
        Key::PageUp => scroll(app, SCROLL),
        Key::PageDown => scroll(app, -SCROLL),
        Key::End if app.prompt.buffer.is_empty() && app.prompt.search.is_none() => {
            scroll(app, -1_000_000);
        }
        _ => prompt::key(app, key, is_burst, out),
    }
}

fn scroll(app: &mut App, lines: isize) {
    let calls = app.turn.iter_mut().flat_map(|turn| &mut turn.calls);
    let running =
        calls.filter(|call| matches!(call.state, crate::block::call::State::Executing { .. }));
    running.for_each(|call| call.output.scroll(lines));
}

/// Ctrl-C: stops the turn, else clears the line, else asks to be pressed again.
fn interrupt(app: &mut App, out: &mut Vec<Effect>) {
    if app.prompt.search.take().is_some() || app.prompt.menu.take().is_some() {
        return;
    }
    if app.is_working() || app.panel.is_some() {
        return stop(app, out);
    }
    if !app.prompt.buffer.is_empty() {
        app.prompt.buffer.clear();
        app.armed.quit = None;
        return;
    }
    if app.armed.quit.is_some_and(|until| app.clock < until) {
        return quit(app, out);
    }
    app.armed.quit = Some(app.clock + AGAIN);
    app.flash("Press Ctrl-C again to quit");
}

/// Esc: closes what is open, stops the turn; twice at rest, goes back to an earlier prompt.
fn escape(app: &mut App, out: &mut Vec<Effect>) {
    if app.prompt.search.take().is_some() || app.prompt.menu.take().is_some() {
        return;
    }
    if app.is_working() {
        return stop(app, out);
    }
    if app.armed.rewind.take().is_some_and(|until| app.clock < until) {
        out.push(Effect::ListPrompts);
        return;
    }
    app.armed.rewind = Some(app.clock + AGAIN);
    app.flash("Esc again: go back to an earlier prompt");
}

fn quit(app: &mut App, out: &mut Vec<Effect>) {
    if app.is_working() {
        out.push(Effect::Stop);
    }
    let rest = app.outbox.take_all();
    out.push(Effect::Print(rest));
    out.push(Effect::Quit);
}
