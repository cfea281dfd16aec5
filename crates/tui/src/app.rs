//! The screen's state, changed by messages and drawn by `view`.
//!
//! Law: `update` is a function of the state and the message; it waits for nothing and reads nothing.
//! The time is `clock`, set by whoever calls it.

mod cancel;
mod engine;
mod keys;
mod panels;
mod prompt;
mod state;

pub use state::{App, Prompt, RunningTurn, ThinkingText};

use crate::block;
use crate::key::Input;
use crate::markdown;
use crate::msg::{Effect, Highlight, Msg};
use crate::panel::pager::Pager;

/// Takes a message in; what follows from it comes back.
pub fn update(app: &mut App, msg: Msg) -> Vec<Effect> {
    let mut effects = Vec::new();
    let out = &mut effects;
    match msg {
        Msg::Input(Input::Key(key)) => keys::key(app, key, out),
        Msg::Input(Input::Paste(text)) => keys::paste(app, &text, out),
        Msg::Input(Input::Focus) | Msg::Tick | Msg::Returned => {}
        Msg::Size { width, height } => app.resize(width, height),
        Msg::TurnBegins { prompt } => {
            engine::turn_begins(app, &prompt);
            out.push(Effect::Highlight(Highlight::Load));
        }
        Msg::Text(delta) => engine::text(app, &delta, out),
        Msg::Thinking(delta) => engine::thinking(app, &delta),
        Msg::CallWriting { name } => engine::call_writing(app, name),
        Msg::Retrying { wait_ms, why } => engine::retrying(app, wait_ms, &why),
        Msg::ResponseEnds => engine::response_ends(app, out),
        Msg::Calls(calls) => engine::calls(app, calls, out),
        Msg::CallStarted { id } => engine::call_started(app, &id),
        Msg::Output { id, chunk } => engine::output(app, &id, &chunk),
        Msg::CallFinished { id } => engine::call_finished(app, &id),
        Msg::CallDone { id, end, diff } => engine::call_done(app, &id, end, diff),
        Msg::Approval(question) => panels::approval(app, *question, out),
        Msg::Question(question) => panels::question(app, question, out),
        Msg::Withdrawn => panels::withdrawn(app),
        Msg::Secret { title } => panels::secret(app, title),
        Msg::Waiting(calls) => {
            let lines = block::waiting(&calls, app.columns());
            app.print(lines);
        }
        Msg::TurnEnds(end) => engine::turn_ends(app, end, out),
        Msg::Note(note) => app.note(&note),
        Msg::Lines(lines) => app.print(lines),
        Msg::Rows(rows) => {
            let lines = block::rows(&rows, app.columns());
            app.print(lines);
        }
        Msg::Markdown(text) => app.print(markdown::render(&text, app.columns())),
        Msg::Status(status) => app.status = *status,
        Msg::Files(files) => prompt::files(app, files),
        Msg::History(entries) => app.prompt.history.load(entries),
        Msg::Pick { what, title, rows } => app.pick(what, title, rows),
        Msg::Page { title, lines } => app.page(Pager::at_start(&title, lines)),
        Msg::Edited(text) if panels::is_editing(app) => panels::edited(app, text, out),
        Msg::NotEdited => panels::not_edited(app),
        Msg::Edited(text) => app.prompt.buffer.set(text.trim_end_matches('\n')),
        Msg::Draft(text) if app.prompt.buffer.is_empty() => app.prompt.buffer.set(&text),
        Msg::Draft(_) => {}
        Msg::Picture { label } => app.prompt.buffer.attach(&label),
        Msg::Pasted(text) => app.prompt.buffer.paste(&text),
        Msg::Arguments { command, known } => {
            app.prompt.arguments.insert(command, known);
        }
        Msg::Highlighted { block, index, line } => app.outbox.highlighted(block, index, line),
        Msg::Quit => {
            let rest = app.outbox.take_all();
            out.push(Effect::Print(rest));
            out.push(Effect::Quit);
        }
    }
    panels::open_if_long(app);
    app.settle(out);
    effects
}

#[cfg(test)]
mod tests;
