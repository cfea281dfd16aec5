//! Drawing: what the live region, or the whole screen, looks like.
//!
//! Law: a pure function of the state. While work runs the live region is at most a third of the
//! screen, so that what was said stays in sight; a question may take more.

mod frame;
mod live;
mod prompt;

pub use frame::{Caret, Frame};

use crate::app::App;
use crate::text::{Line, Role};

/// The rows of the screen below the scrollback.
pub fn view(app: &App) -> Frame {
    let width = app.live_columns();
    if let Some(full) = &app.full {
        let width = app.columns();
        return Frame { rows: full.view(width, app.height), caret: None, is_full: true };
    }
    let limit = limit(app);
    let has_rule = app.has_rule();
    let most = limit.saturating_sub(1 + usize::from(has_rule)).max(1);
    let (mut bottom, mut caret) = prompt::rows(app, width, most);
    let mut activity = live::activity(app, width);
    if has_rule {
        bottom.insert(0, rule(activity.take(), width));
        caret.row += 1;
    }
    bottom.push(status(app, width));
    let room = limit.saturating_sub(bottom.len());
    let mut rows = live::rows(app, activity, width, room);
    caret.row += rows.len();
    rows.extend(bottom);
    let rows = rows.into_iter().map(|row| row.cut(width)).collect();
    Frame { rows, caret: Some(caret), is_full: false }
}

/// The line above the prompt; while work runs it says what is done.
fn rule(activity: Option<Line>, width: usize) -> Line {
    let mut line = Line::new();
    if let Some(activity) = activity {
        line.push("── ", Role::Muted);
        line.append(activity.cut(width.saturating_sub(6)));
        line.push(" ", Role::Text);
    }
    line.push("─".repeat(width.saturating_sub(line.width())), Role::Muted);
    line
}

/// The most rows of the live region.
fn limit(app: &App) -> usize {
    let screen = app.height.saturating_sub(1).max(2);
    let most = match (&app.panel, app.is_working()) {
        (Some(_), _) => screen,
        (None, true) => (app.height / 3).max(3),
        (None, false) => (app.height / 2).max(4),
    };
    most.min(screen)
}

fn status(app: &App, width: usize) -> Line {
    match &app.flash {
        Some((text, _)) => Line::of(text, Role::Warning).cut(width),
        None => app.status.line(app.queue.len(), width),
    }
}

#[cfg(test)]
mod tests;
