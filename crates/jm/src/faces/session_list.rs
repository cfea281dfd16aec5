//! `jm sessions`: the conversations of this project, by title, model, turns, cost and age.

use std::path::Path;

use anyhow::Result;
use jm_store::{SessionFacts, SessionView, Store};
use jm_types::text::one_line;
use serde_json::json;

use super::age::ago;
use super::columns::{WIDTH, cut, padded};
use super::{exit, history, print};
use crate::cli::{Common, SessionsArgs};
use crate::session_name::title_of;
use crate::sessions;

/// The widest id that is shown whole; the beginning of one is enough to name a session.
const ID_WIDTH: usize = 22;
const MODEL_WIDTH: usize = 14;

/// One session with all that its line shows.
struct SessionRow {
    view: SessionView,
    facts: SessionFacts,
    is_in_use: bool,
}

pub(crate) fn run(common: &Common, args: &SessionsArgs) -> Result<u8> {
    let store = sessions::store()?;
    let mut rows = Vec::new();
    for view in store.sessions().map_err(sessions::told)? {
        rows.push(row(&store, view)?);
    }
    if args.json {
        return as_json(args, &rows);
    }
    if !args.all {
        let root = history::root(common)?;
        rows.retain(|row| row.view.root == root);
    }
    if let Some(words) = &args.search {
        rows.retain(|row| is_found(row, words));
    }
    let is_single = |row: &SessionRow| row.facts.turns == 0 && !row.is_in_use;
    let (single, talks): (Vec<_>, Vec<_>) = rows.into_iter().partition(is_single);
    let hidden = if args.calls { single.as_slice() } else { &[] };
    let shown: Vec<&SessionRow> = talks.iter().chain(hidden).collect();
    show(&shown, args.all)?;
    if !single.is_empty() && !args.calls {
        let many = if single.len() == 1 { "session" } else { "sessions" };
        print::line(&format!("{} {many} without a conversation (list: --calls)", single.len()))?;
    }
    Ok(exit::RAN)
}

fn row(store: &Store, view: SessionView) -> Result<SessionRow> {
    let facts = store.session_facts(&view.session).map_err(sessions::told)?;
    let is_in_use = view.owner.as_ref().is_some_and(|owner| sessions::identity(owner).is_alive());
    Ok(SessionRow { view, facts, is_in_use })
}

fn is_found(row: &SessionRow, words: &str) -> bool {
    let words = words.to_lowercase();
    let model = row.facts.model.as_deref().unwrap_or_default();
    [row.view.session.as_str(), &title_of(&row.facts), model]
        .iter()
        .any(|text| text.to_lowercase().contains(&words))
}

fn as_json(args: &SessionsArgs, rows: &[SessionRow]) -> Result<u8> {
    for row in rows {
        if args.search.as_ref().is_some_and(|words| !is_found(row, words)) {
            continue;
        }
        let SessionRow { view, facts, is_in_use } = row;
        let dollars = facts.cost.map(dollars);
        print::json(&json!({
            "session": view.session, "root": view.root, "opened": view.opened,
            "last": view.last, "records": view.records, "in_use": is_in_use,
            "title": title_of(facts), "model": facts.model, "turns": facts.turns, "cost": dollars,
        }))?;
    }
    Ok(exit::RAN)
}

fn dollars(micros: u64) -> f64 {
    // A session costs less than the dollars that a double counts exactly.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let micros = micros as f64;
    micros / 1e6
}

/// The sessions as a table; with those of all projects, each project's path stands above its own.
fn show(rows: &[&SessionRow], with_roots: bool) -> Result<()> {
    let ids = rows.iter().map(|row| row.view.session.len()).max().unwrap_or(0);
    let ids = ids.clamp("SESSION".len(), ID_WIDTH);
    if !rows.is_empty() {
        let model = padded("MODEL", MODEL_WIDTH);
        print::line(&format!(
            "{:<ids$}  {:<12} {:>5} {:>7}  {model}  TITLE",
            "SESSION", "AGE", "TURNS", "COST"
        ))?;
    }
    if !with_roots {
        return rows.iter().try_for_each(|row| print::line(&line(row, ids)));
    }
    let mut roots: Vec<&Path> = Vec::new();
    for row in rows {
        if !roots.contains(&row.view.root.as_path()) {
            roots.push(&row.view.root);
        }
    }
    for root in roots {
        print::line(&cut(&one_line(&root.to_string_lossy()), WIDTH))?;
        let here = rows.iter().filter(|row| row.view.root == root);
        here.into_iter().try_for_each(|row| print::line(&line(row, ids)))?;
    }
    Ok(())
}

/// One session in at most [`WIDTH`] columns.
fn line(row: &SessionRow, ids: usize) -> String {
    let SessionRow { view, facts, is_in_use } = row;
    let age = match is_in_use {
        true => "in use".to_owned(),
        false => ago(view.last.unwrap_or(view.opened)),
    };
    let cost = facts.cost.map(|cost| format!("${:.2}", dollars(cost))).unwrap_or_default();
    let model = one_line(model_name(facts.model.as_deref().unwrap_or_default()));
    let model = padded(&cut(&model, MODEL_WIDTH), MODEL_WIDTH);
    let id = padded(&cut(view.session.as_str(), ids), ids);
    let (turns, title) = (facts.turns, title_of(facts));
    let line = format!("{id}  {age:<12} {turns:>5} {cost:>7}  {model}  {title}");
    cut(line.trim_end(), WIDTH)
}

/// A model's name without its provider, which the name tells anyway.
fn model_name(model: &str) -> &str {
    match model.strip_prefix("script:") {
        Some(file) => file.rsplit('/').next().unwrap_or(file),
        None => model.split_once('/').map_or(model, |(_, name)| name),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use jm_system::clock::now_epoch_ms;
    use jm_tui::text::width::width;
    use jm_types::SessionId;

    use super::*;

    fn row(id: &str, model: &str, title: &str, (turns, cost): (usize, u64)) -> SessionRow {
        let (session, opened) = (SessionId::from(id.to_owned()), now_epoch_ms());
        let root = PathBuf::from("/project");
        let view = SessionView { session, opened, root, owner: None, records: 1, last: None };
        let facts = SessionFacts {
            title: Some(title.to_owned()),
            model: Some(model.to_owned()),
            turns,
            cost: Some(cost),
            ..SessionFacts::default()
        };
        SessionRow { view, facts, is_in_use: false }
    }

    #[test]
    fn a_line_fits_eighty_columns_whatever_it_holds() {
        let long = "a-session-whose-name-somebody-wrote-out-in-full-and-then-some-more";
        for id in ["two", long] {
            for model in
                ["script:talk.toml", "vendor/a-model-with-a-very-long-name", "x/漢字漢字漢字漢字"]
            {
                for title in [
                    "Short",
                    &"long words ".repeat(20),
                    &"漢字".repeat(40),
                    "👩\u{200d}👧 e\u{301}",
                ] {
                    for numbers in [(1, 0), (usize::MAX, u64::MAX)] {
                        let line =
                            line(&row(id, model, title, numbers), id.len().clamp(7, ID_WIDTH));
                        assert!(width(&line) <= WIDTH, "{line}");
                    }
                }
            }
        }
        let shown = line(
            &row(long, "vendor/a-model-with-a-very-long-name", &"漢字".repeat(40), (3, 1_230_000)),
            ID_WIDTH,
        );
        assert!(shown.starts_with("a-session-whose-name-…  "), "{shown}");
        assert!(shown.ends_with("3   $1.23  a-model-with-…  漢字漢字漢…"), "{shown}");
    }
}
