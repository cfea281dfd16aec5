//! `jm sessions`: the conversations of this project, by title, model, turns, cost and age.

use anyhow::Result;
use jm_store::{SessionFacts, SessionView, Store};
use serde_json::json;

use super::age::ago;
use super::rewind::short;
use super::{exit, history, print};
use crate::cli::{Common, SessionsArgs};
use crate::session_name::title_of;
use crate::sessions;

/// Columns of a terminal that nobody has to widen.
const WIDTH: usize = 80;

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
    let shown =
        if args.calls { talks.iter().chain(&single).collect() } else { talks.iter().collect() };
    show(shown, args.all)?;
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

fn show(rows: Vec<&SessionRow>, with_roots: bool) -> Result<()> {
    let ids = rows.iter().map(|row| row.view.session.len()).max().unwrap_or(0).max(7);
    if !rows.is_empty() {
        print::line(&format!(
            "{:<ids$}  {:<12} {:>5} {:>7}  {:<14}  TITLE",
            "SESSION", "AGE", "TURNS", "COST", "MODEL"
        ))?;
    }
    for row in rows {
        let SessionRow { view, facts, is_in_use } = row;
        let age = match is_in_use {
            true => "in use".to_owned(),
            false => ago(view.last.unwrap_or(view.opened)),
        };
        let cost = facts.cost.map(|cost| format!("${:.2}", dollars(cost))).unwrap_or_default();
        let model = short(model_name(facts.model.as_deref().unwrap_or_default()), 14);
        let left = format!(
            "{:<ids$}  {age:<12} {:>5} {cost:>7}  {model:<14}  ",
            view.session.as_str(),
            facts.turns
        );
        let room = WIDTH.saturating_sub(left.chars().count()).max(12);
        let title = match (title_of(facts), with_roots) {
            (title, false) => title,
            (title, true) => format!("{title} ({})", view.root.display()),
        };
        print::line(format!("{left}{}", short(&title, room)).trim_end())?;
    }
    Ok(())
}

/// A model's name without its provider, which the name tells anyway.
fn model_name(model: &str) -> &str {
    match model.strip_prefix("script:") {
        Some(file) => file.rsplit('/').next().unwrap_or(file),
        None => model.split_once('/').map_or(model, |(_, name)| name),
    }
}
