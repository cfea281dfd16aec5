//! The work that goes on, above the prompt: words that stream, calls that run, a question, what is queued.

use crate::app::{App, RunningTurn};
use crate::block::call::State;
use crate::block::numbers;
use crate::panel::{Panel, QUIET};
use crate::text::wrap::{side_by_side, wrap, wrap_tail};
use crate::text::{Line, Role, Style};

const MOST_QUEUED: usize = 2;
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// At most `room` rows; what matters most gets its rows first. The activity is given where it has no
/// other place.
pub(super) fn rows(app: &App, activity: Option<Line>, width: usize, room: usize) -> Vec<Line> {
    if let Some(panel) = &app.panel {
        return panel_rows(app, panel, width, room);
    }
    let mut left = room;
    let mut take = |mut rows: Vec<Line>| {
        rows.truncate(left);
        left -= rows.len();
        rows
    };
    let activity = take(activity.into_iter().collect());
    let queued = take(queued(app, width));
    let headers = take(app.turn.iter().flat_map(|turn| headers(app, turn, width)).collect());
    let outputs = outputs(app, left, width);
    let left = left - outputs.len();
    let mut rows = streaming(app, width, left);
    rows.extend(headers);
    rows.extend(outputs);
    rows.extend(activity);
    rows.extend(queued);
    rows
}

/// The end of what is not finished.
fn streaming(app: &App, width: usize, room: usize) -> Vec<Line> {
    if room == 0 {
        return Vec::new();
    }
    let mut rows: Vec<Line> = Vec::new();
    let live = app.answer.stream.live(width);
    for line in live.iter().rev().chain(app.outbox.waiting().rev()) {
        let more = wrap_tail(line, width, room - rows.len());
        rows.splice(0..0, more);
        if rows.len() >= room {
            break;
        }
    }
    rows
}

fn headers(app: &App, turn: &RunningTurn, width: usize) -> Vec<Line> {
    turn.calls.iter().map(|call| call.live_header(app.clock, width)).collect()
}

/// The output of the call that runs; several share the rows in order.
fn outputs(app: &App, room: usize, width: usize) -> Vec<Line> {
    let calls = app.turn.iter().flat_map(|turn| &turn.calls);
    let running = calls.filter(|call| matches!(call.state, State::Executing { .. }));
    let rows: Vec<Line> =
        running.flat_map(|call| call.output.window(room)).map(|line| line.cut(width)).collect();
    let skipped = rows.len().saturating_sub(room);
    rows.into_iter().skip(skipped).collect()
}

/// The step that a turn is at, and for how long; none at rest and while a question waits.
pub(super) fn activity(app: &App, width: usize) -> Option<Line> {
    let turn = app.turn.as_ref().filter(|_| app.panel.is_none())?;
    let elapsed = app.clock.saturating_sub(turn.began);
    let what = match turn {
        RunningTurn { is_stopping: true, .. } => "stopping".to_owned(),
        RunningTurn { retrying: Some(why), .. } => why.clone(),
        RunningTurn { writing: Some(name), .. } => format!("writing a call of {name}"),
        RunningTurn { thinking: Some(thinking), .. } => {
            format!("thinking · {} words", thinking.text.split_whitespace().count())
        }
        _ if !turn.calls.is_empty() => {
            let done = turn
                .calls
                .iter()
                .filter(|call| matches!(call.state, State::Done(_) | State::Finished))
                .count();
            format!("running · {} left", numbers::plural(turn.calls.len() - done, "call"))
        }
        _ if !app.answer.stream.is_empty() => "writing".to_owned(),
        _ => "waiting for the model".to_owned(),
    };
    let spinner = SPINNER[(elapsed / 100) as usize % SPINNER.len()];
    let time = numbers::seconds((elapsed / 100) as f64 / 10.0);
    let line = Line::of(format!("{spinner} "), Role::Accent).add(what, Role::Text);
    Some(line.add(format!(" · {time} · Esc stops"), Role::Muted).cut(width))
}

fn queued(app: &App, width: usize) -> Vec<Line> {
    let skipped = app.queue.len().saturating_sub(MOST_QUEUED);
    let row = |text: &String| {
        let first = text.lines().next().unwrap_or_default();
        Line::of("queued: ", Role::Accent).add(first, Role::Muted).cut(width)
    };
    let mut rows: Vec<Line> = app.queue.iter().skip(skipped).map(row).collect();
    if !rows.is_empty() {
        let last = rows.len() - 1;
        rows[last].push("  (Enter sends now, Up edits)", Role::Muted);
    }
    rows
}

/// A question: its facts as far as there is room, its answers always.
fn panel_rows(app: &App, panel: &Panel, width: usize, room: usize) -> Vec<Line> {
    let mut body: Vec<Line> = panel.lines().iter().flat_map(|line| wrap(line, width)).collect();
    let mut answers = side_by_side(panel.answers(), width);
    let is_typing = app.last_typed.is_some_and(|at| app.clock.saturating_sub(at) < QUIET);
    let is_theirs = !app.is_focused && (!app.prompt.buffer.is_empty() || is_typing);
    if is_theirs && !matches!(panel, Panel::Secret { .. }) {
        answers.extend(wrap(&Line::of("Tab: answer the question", Role::Warning), width));
    }
    let room_for_body = room.saturating_sub(answers.len() + 1);
    if body.len() > room_for_body {
        if let Panel::Approval(approval) = panel
            && approval.question.calls.len() > 1
        {
            let short = approval.heads_first();
            body = short.iter().flat_map(|line| wrap(line, width)).collect();
        }
        let all = body.len();
        body.truncate(room_for_body.saturating_sub(1));
        let hidden = all - body.len();
        let key = panel.key_of_page();
        body.push(Line::of(format!("… {hidden} more lines: {key} shows all"), Role::Warning));
    }
    let mut rows = vec![Line::of("─".repeat(width), Style::of(Role::Warning))];
    let has_room = body.len() < room_for_body;
    rows.extend(body);
    rows.extend(has_room.then(Line::new));
    rows.extend(answers);
    rows.truncate(room);
    rows
}
