//! Messages of the engine: words, calls, results, the end of a turn.

use super::state::{App, Code, RunningTurn, ThinkingText};
use crate::block::call::{CallBlock, End, State};
use crate::block::{self, Note};
use crate::markdown::Piece;
use crate::msg::{Effect, Highlight, NewCall, TurnEnd};
use crate::text::{Line, Role};

pub(super) fn turn_begins(app: &mut App, prompt: &str) {
    app.turn = Some(RunningTurn { began: app.clock, ..RunningTurn::default() });
    app.transcript.person(prompt);
    app.outbox.gap();
    app.outbox.lines(block::person(prompt));
    app.outbox.gap();
}

pub(super) fn text(app: &mut App, delta: &str, out: &mut Vec<Effect>) {
    end_thinking(app);
    if let Some(turn) = &mut app.turn {
        (turn.writing, turn.retrying) = (None, None);
    }
    app.answer.source.push_str(delta);
    let pieces = app.answer.stream.push(delta, app.columns());
    take(app, pieces, out);
}

fn take(app: &mut App, pieces: Vec<Piece>, out: &mut Vec<Effect>) {
    for piece in pieces {
        match piece {
            Piece::Lines(lines) => app.outbox.lines(lines),
            Piece::CodeBegins { block, language } => {
                app.outbox.lines([Line::of(format!("```{language}"), Role::Muted)]);
                let is_coloured = !language.is_empty();
                app.code = Some(Code { is_coloured, lines: 0 });
                if is_coloured {
                    out.push(Effect::Highlight(Highlight::Begin { block, language }));
                }
            }
            Piece::CodeLine { block, text } => code_line(app, block, text, out),
            Piece::CodeEnds { block } => {
                if app.code.take().is_some_and(|code| code.is_coloured) {
                    out.push(Effect::Highlight(Highlight::End { block }));
                }
                app.outbox.lines([Line::of("```", Role::Muted)]);
            }
        }
    }
}

fn code_line(app: &mut App, block: u64, text: String, out: &mut Vec<Effect>) {
    match &mut app.code {
        Some(code) if code.is_coloured => {
            let index = code.lines;
            code.lines += 1;
            app.outbox.code(block, index, &text, app.clock);
            out.push(Effect::Highlight(Highlight::Line { block, index, text }));
        }
        _ => app.outbox.lines([Line::text(&text)]),
    }
}

pub(super) fn thinking(app: &mut App, delta: &str) {
    let now = app.clock;
    if let Some(turn) = &mut app.turn {
        turn.retrying = None;
        let fresh = || ThinkingText { since: now, text: String::new() };
        turn.thinking.get_or_insert_with(fresh).text.push_str(delta);
    }
}

/// Thinking is over: one line of it stays.
fn end_thinking(app: &mut App) {
    let (now, columns) = (app.clock, app.columns());
    let Some(thinking) = app.turn.as_mut().and_then(|turn| turn.thinking.take()) else { return };
    if thinking.text.trim().is_empty() {
        return;
    }
    let seconds = now.saturating_sub(thinking.since) as f64 / 1000.0;
    app.outbox.lines([block::thinking(&thinking.text, Some(seconds), columns)]);
    app.outbox.gap();
    app.transcript.thinking(thinking.text);
}

pub(super) fn call_writing(app: &mut App, name: String) {
    end_thinking(app);
    if let Some(turn) = &mut app.turn {
        (turn.writing, turn.retrying) = (Some(name), None);
    }
}

pub(super) fn retrying(app: &mut App, wait_ms: u64, why: &str) {
    if let Some(turn) = &mut app.turn {
        let seconds = wait_ms as f64 / 1000.0;
        turn.retrying = Some(format!("{why}; retrying in {}", block::numbers::seconds(seconds)));
    }
}

pub(super) fn response_ends(app: &mut App, out: &mut Vec<Effect>) {
    end_thinking(app);
    let pieces = app.answer.stream.finish(app.columns());
    take(app, pieces, out);
    if let Some(turn) = &mut app.turn {
        turn.writing = None;
    }
    let source = std::mem::take(&mut app.answer.source);
    if !source.trim().is_empty() {
        app.outbox.gap();
        app.answer.last.clone_from(&source);
        app.transcript.markdown(source);
    }
}

pub(super) fn calls(app: &mut App, calls: Vec<NewCall>, out: &mut Vec<Effect>) {
    response_ends(app, out);
    let began = app.clock;
    let turn = app.turn.get_or_insert_with(|| RunningTurn { began, ..RunningTurn::default() });
    let call = |new: &NewCall| CallBlock::new(&new.id, &new.key, &new.name, &new.arguments);
    turn.calls = calls.iter().map(call).collect();
}

fn find<'a>(app: &'a mut App, id: &str) -> Option<&'a mut CallBlock> {
    app.turn.as_mut()?.calls.iter_mut().find(|call| call.id == id)
}

pub(super) fn call_started(app: &mut App, id: &str) {
    let since = app.clock;
    if let Some(call) = find(app, id) {
        call.state = State::Executing { since };
    }
}

pub(super) fn call_finished(app: &mut App, id: &str) {
    if let Some(call) = find(app, id) {
        call.state = State::Finished;
    }
}

pub(super) fn output(app: &mut App, id: &str, chunk: &str) {
    if let Some(call) = find(app, id) {
        call.output.push(chunk);
    }
}

pub(super) fn call_done(app: &mut App, id: &str, end: End, diff: Option<String>) {
    if let Some(call) = find(app, id) {
        call.diff = diff.or_else(|| call.diff.take());
        call.state = State::Done(end);
    }
    print_done(app);
}

/// Calls leave in call order, so that the transcript reads like the message.
fn print_done(app: &mut App) {
    let (columns, unfold) = (app.columns(), app.unfold);
    let Some(turn) = &mut app.turn else { return };
    while turn.calls.first().is_some_and(|call| matches!(call.state, State::Done(_))) {
        let call = turn.calls.remove(0);
        app.outbox.lines(call.lines(columns, unfold));
        if turn.calls.is_empty() {
            app.outbox.gap();
        }
        app.transcript.call(call);
    }
}

pub(super) fn turn_ends(app: &mut App, end: TurnEnd, out: &mut Vec<Effect>) {
    response_ends(app, out);
    let Some(turn) = app.turn.take() else { return };
    // Calls without a result stay in the transcript as they were.
    let columns = app.columns();
    for call in &turn.calls {
        app.outbox.lines([call.live_header(app.clock, columns)]);
    }
    let is_interrupted = end == TurnEnd::Interrupted;
    match end {
        TurnEnd::Finished | TurnEnd::Waiting => {}
        TurnEnd::Interrupted if turn.steers => {}
        TurnEnd::Interrupted => app.note(&Note::warning("Interrupted")),
        TurnEnd::Failed(note) => app.note(&note),
    }
    app.notify_if_long(turn.began, "The turn has ended", out);
    send_queued(app, is_interrupted && !turn.steers, out);
}

/// Sends what was queued; after a stop it goes back into the prompt, because it may not fit any more.
fn send_queued(app: &mut App, was_stopped: bool, out: &mut Vec<Effect>) {
    if app.queue.is_empty() {
        return;
    }
    let text = std::mem::take(&mut app.queue).join("\n\n");
    if was_stopped {
        let typed = app.prompt.buffer.take();
        let both = if typed.is_empty() { text } else { format!("{text}\n{typed}") };
        app.prompt.buffer.set(&both);
    } else {
        out.push(Effect::Submit(text));
    }
}
