//! Remembered approvals: the file of answers "always", in the state directory.
//!
//! Law: nothing of it lies in a workspace, so no project brings any. Writers take turns.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use jm_policy::{RememberedRule, RememberedRules, RuleScope};
use jm_system::clock::now_epoch_ms;

use crate::locations;

const FILE: &str = "approvals.json";
const MOST_BYTES: u64 = 4 * 1024 * 1024;
/// How often, and how long each time, another writer is waited for.
const PATIENCE: (u32, Duration) = (50, Duration::from_millis(20));

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    now_epoch_ms() / 1000
}

/// All of them; none where no state directory.
pub(crate) fn read() -> Result<RememberedRules> {
    let Ok(path) = locations::state_path() else { return Ok(RememberedRules::default()) };
    // Looking makes no directory.
    match jm_system::state::read_text(&path.join(FILE), MOST_BYTES)
        .with_context(|| format!("{}", path.join(FILE).display()))?
    {
        None => Ok(RememberedRules::default()),
        Some(text) => serde_json::from_str(&text).with_context(|| {
            format!("{} is damaged; remove or rename it", path.join(FILE).display())
        }),
    }
}

/// Stores rules with one scope, for so many seconds or until revoked; gives their numbers.
pub(crate) fn add(rules: &[String], scope: &RuleScope, seconds: Option<u64>) -> Result<Vec<u64>> {
    change(|known| {
        let now = now();
        let until = seconds.map(|seconds| now.saturating_add(seconds));
        rules.iter().map(|rule| known.add(rule.clone(), scope.clone(), now, until)).collect()
    })
}

/// Stores that a tool stays off in a project.
pub(crate) fn decline(tool: &str, root: &str) -> Result<u64> {
    let scope = RuleScope::Project { root: root.to_owned() };
    change(|known| known.decline(tool.to_owned(), scope, now()))
}

/// Forgets one; gives it back if it was there.
pub(crate) fn revoke(number: u64) -> Result<Option<RememberedRule>> {
    change(|known| known.revoke(number))
}

fn change<T>(work: impl FnOnce(&mut RememberedRules) -> T) -> Result<T> {
    let state = locations::state()?;
    let (tries, pause) = PATIENCE;
    for _ in 0..tries {
        if let Some(_turn) = state.lock(FILE)? {
            let mut known = read()?;
            let done = work(&mut known);
            let text = serde_json::to_vec_pretty(&known)?;
            state.write(FILE, &text).context("cannot store the approval")?;
            return Ok(done);
        }
        std::thread::sleep(pause);
    }
    bail!("another process is storing an approval; try again")
}
