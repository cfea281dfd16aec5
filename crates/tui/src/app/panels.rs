//! Panels: when they open, and which keys are theirs.

use super::state::App;
use crate::editor::Buffer;
use crate::key::Key;
use crate::msg::Effect;
use crate::panel::approval::{Approval, Done, PanelMode};
use crate::panel::full::Full;
use crate::panel::pager::KeyOutcome;
use crate::panel::question::PanelQuestion;
use crate::panel::question_page::QuestionPage;
use crate::panel::{Panel, QUIET};

use jm_types::ApprovalQuestion;

pub(super) fn approval(app: &mut App, question: ApprovalQuestion, out: &mut Vec<Effect>) {
    // The diff that is approved is the one that the transcript shows.
    if let Some(turn) = &mut app.turn {
        for request in &question.calls {
            let asked = turn.calls.iter_mut().find(|call| call.id == request.id);
            if let Some(call) = asked {
                call.diff = request.preview.clone().filter(|preview| preview.contains("@@ "));
            }
        }
    }
    open(app, Panel::Approval(Approval::new(question)));
    out.push(Effect::Notify("Approval needed".to_owned()));
}

pub(super) fn question(app: &mut App, question: PanelQuestion, out: &mut Vec<Effect>) {
    open(app, Panel::Question(question));
    out.push(Effect::Notify("A question".to_owned()));
}

pub(super) fn secret(app: &mut App, title: String) {
    app.panel = Some(Panel::Secret { title, buffer: Buffer::default() });
    app.is_focused = true;
}

fn open(app: &mut App, panel: Panel) {
    app.prompt.menu = None;
    app.panel = Some(panel);
    app.is_focused = false;
    app.was_opened = false;
}

pub(super) fn withdrawn(app: &mut App) {
    app.panel = None;
    app.is_focused = false;
    if let Some(Full::Question(_)) = app.full {
        app.full = None;
    }
}

/// True if a key is meant for the panel: it has the focus, or nobody is typing.
fn is_meant(app: &App) -> bool {
    app.is_focused || (app.prompt.buffer.is_empty() && is_quiet(app))
}

fn is_quiet(app: &App) -> bool {
    app.last_typed.is_none_or(|at| app.clock.saturating_sub(at) >= QUIET)
}

/// Opens a question that does not fit above the prompt on the whole screen, once, and never beneath the hands of
/// somebody who types.
pub(super) fn open_if_long(app: &mut App) {
    let is_free = app.full.is_none() && app.prompt.search.is_none() && !app.was_opened;
    if !is_free || !is_meant(app) {
        return;
    }
    let (width, room) = (app.columns(), app.question_room());
    let is_long = match &app.panel {
        Some(Panel::Approval(approval)) if !matches!(approval.mode, PanelMode::Asking) => false,
        Some(panel @ (Panel::Approval(_) | Panel::Question(_))) => !panel.fits(width, room),
        Some(Panel::Secret { .. }) | None => false,
    };
    if is_long {
        open_page(app);
    }
}

/// Shows the question on the whole screen.
fn open_page(app: &mut App) {
    let Some(panel) = &app.panel else { return };
    app.full = Some(Full::Question(QuestionPage::new(panel.lines(), panel.answers())));
    app.was_opened = true;
}

/// Gives a key to the panel; whether it took it.
pub(super) fn key(app: &mut App, key: Key, is_burst: bool, out: &mut Vec<Effect>) -> bool {
    if app.panel.is_none() {
        return false;
    }
    if let Some(Panel::Secret { .. }) = app.panel {
        secret_key(app, key, out);
        return true;
    }
    if is_typed_into(app) {
        typed_key(app, key, is_burst, out);
        return true;
    }
    match key {
        Key::Tab => app.is_focused = !app.is_focused,
        Key::Escape if app.is_focused && !leaves_mode(app) => app.is_focused = false,
        Key::Escape if app.is_focused => {}
        Key::Char(c) if !is_burst && is_meant(app) => return answer_key(app, c, out),
        _ => return false,
    }
    true
}

/// Goes back to the question from what was asked beside it; false where nothing was.
fn leaves_mode(app: &mut App) -> bool {
    match &mut app.panel {
        Some(Panel::Approval(approval)) => approval.goes_back(),
        Some(Panel::Question(_) | Panel::Secret { .. }) | None => false,
    }
}

fn answer_key(app: &mut App, key: char, out: &mut Vec<Effect>) -> bool {
    let (width, room) = (app.columns(), app.question_room());
    match &mut app.panel {
        Some(Panel::Approval(approval)) if approval.shows_first(key, width, room) => open_page(app),
        Some(Panel::Approval(approval)) => match approval.key(key) {
            Done::Foreign => return app.is_focused,
            done => approval_key_done(app, done, out),
        },
        Some(Panel::Question(question)) => match question.choice(key) {
            Some(choice) => {
                out.push(Effect::Choose { question: question.id, choice });
                withdrawn(app);
            }
            None if key == ' ' => open_page(app),
            None => return app.is_focused,
        },
        Some(Panel::Secret { .. }) | None => return false,
    }
    true
}

fn approval_key_done(app: &mut App, done: Done, out: &mut Vec<Effect>) {
    match done {
        Done::Nothing | Done::Foreign => app.is_focused = true,
        Done::Answered(answer) => {
            out.push(Effect::Answer(answer));
            withdrawn(app);
        }
        Done::Edit(text) => {
            app.is_focused = true;
            out.push(Effect::Edit(text));
        }
        Done::ShowDiff => open_page(app),
    }
}

pub(super) fn is_editing(app: &App) -> bool {
    matches!(&app.panel, Some(Panel::Approval(Approval { mode: PanelMode::Editing { .. }, .. })))
}

/// The editor was left with other arguments for a call.
pub(super) fn edited(app: &mut App, text: String, out: &mut Vec<Effect>) {
    let Some(Panel::Approval(approval)) = &mut app.panel else { return };
    if let Some(answer) = approval.edited(text) {
        out.push(Effect::Answer(answer));
        withdrawn(app);
    }
}

pub(super) fn not_edited(app: &mut App) {
    if let Some(Panel::Approval(approval)) = &mut app.panel {
        approval.not_edited();
    }
}

/// A reason, numbers or files are typed.
fn is_typed_into(app: &App) -> bool {
    matches!(&app.panel, Some(Panel::Approval(approval)) if approval.typed().is_some())
}

fn typed_key(app: &mut App, key: Key, is_burst: bool, out: &mut Vec<Effect>) {
    let Some(Panel::Approval(approval)) = &mut app.panel else { return };
    match key {
        Key::Escape => approval.mode = PanelMode::Asking,
        Key::Enter if !is_burst => match approval.reason_given().or_else(|| approval.files_given())
        {
            Some(answer) => approval_key_done(app, Done::Answered(answer), out),
            None => {
                let done = approval.numbers_given();
                approval_key_done(app, done, out);
            }
        },
        Key::Ctrl('c') => {
            approval.mode = PanelMode::Asking;
            out.push(Effect::Stop);
        }
        _ => {
            if let Some(buffer) = approval.typed_mut() {
                edit(buffer, key);
            }
        }
    }
}

fn secret_key(app: &mut App, key: Key, out: &mut Vec<Effect>) {
    let Some(Panel::Secret { buffer, .. }) = &mut app.panel else { return };
    match key {
        Key::Enter => {
            out.push(Effect::Secret(Some(buffer.take())));
            withdrawn(app);
        }
        Key::Escape | Key::Ctrl('c' | 'd') => {
            out.push(Effect::Secret(None));
            withdrawn(app);
        }
        _ => edit(buffer, key),
    }
}

/// Pasted text is for what is written, never an answer.
pub(super) fn paste(app: &mut App, text: &str) -> bool {
    match &mut app.panel {
        Some(Panel::Secret { buffer, .. }) => buffer.insert(text.trim()),
        Some(Panel::Approval(approval)) => match approval.typed_mut() {
            Some(buffer) => buffer.insert(&text.replace('\n', " ")),
            None => return false,
        },
        Some(Panel::Question(_)) | None => return false,
    }
    true
}

fn edit(buffer: &mut Buffer, key: Key) {
    match key {
        Key::Char(c) => buffer.insert(c.encode_utf8(&mut [0; 4])),
        Key::Backspace => buffer.backspace(),
        Key::Delete => buffer.delete(),
        Key::Left => buffer.left(),
        Key::Right => buffer.right(),
        Key::Home | Key::Ctrl('a') => buffer.home(),
        Key::End | Key::Ctrl('e') => buffer.end(),
        Key::Ctrl('u') => buffer.cut_to_start(),
        Key::Ctrl('w') => buffer.cut_word(),
        _ => {}
    }
}

/// A key while something fills the screen.
pub(super) fn full_key(app: &mut App, key: Key, is_burst: bool, out: &mut Vec<Effect>) {
    let is_meant = !is_burst && (app.is_focused || is_quiet(app));
    let Some(full) = &mut app.full else { return };
    if let (Full::Question(page), Some(panel), Key::Char(c)) = (&mut *full, &app.panel, key)
        && c != 'q'
        && !page.is_searching()
        && panel.is_answer(c)
    {
        if is_meant {
            page_answer(app, c, out);
        }
        return;
    }
    let outcome = full.key(key);
    let what = match full {
        Full::Picker(picker) => Some(picker.what),
        Full::Pager(_) | Full::Question(_) => None,
    };
    match (outcome, what) {
        (KeyOutcome::Stay, _) => {}
        (KeyOutcome::Editor(text), _) => out.push(Effect::Look(text)),
        (KeyOutcome::Chosen(id), Some(what)) => {
            app.full = None;
            out.push(Effect::Picked { what, id });
        }
        (KeyOutcome::Leave | KeyOutcome::Chosen(_), _) => app.full = None,
    }
}

/// An answer key on the page of a question. Whatever asks for more words goes on above the prompt.
fn page_answer(app: &mut App, key: char, out: &mut Vec<Effect>) {
    let (Some(Full::Question(page)), Some(panel)) = (&mut app.full, &mut app.panel) else { return };
    if panel.decides(key) && !page.was_in_sight() {
        return page.refuse();
    }
    let Panel::Approval(approval) = panel else {
        app.full = None;
        answer_key(app, key, out);
        return;
    };
    match approval.key(key) {
        Done::Foreign => {}
        Done::Nothing if approval.asks() => {
            page.renew(approval.lines(), approval.answers());
            app.is_focused = true;
        }
        Done::ShowDiff => app.full = None,
        done => {
            app.full = None;
            approval_key_done(app, done, out);
        }
    }
}
