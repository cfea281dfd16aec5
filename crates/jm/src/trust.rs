//! Which projects may loosen the policy with their own configuration, and run their own tools, and which
//! documents may approve calls by their front matter.
//!
//! Law: trust is bound to the project's real path and to the very bytes of what it brings. A change
//! of those asks again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use jm_types::Digest;

use crate::locations;

const FILE: &str = "trust.json";
const MOST_BYTES: u64 = 4 * 1024 * 1024;

type Trusted = BTreeMap<PathBuf, String>;

/// The digest of what was trusted of a project, as it is written down.
pub(crate) fn known(project: &Path) -> Option<String> {
    read().ok().and_then(|trusted| trusted.get(project).cloned())
}

/// Tells whether the person trusts these bytes of the document at this path.
pub(crate) fn is_granted(document: &Path, front_matter: &[u8]) -> bool {
    known(document).is_some_and(|known| known == Digest::of(front_matter).to_string())
}

pub(crate) fn grant(project: &Path, digest: &Digest) -> Result<()> {
    let mut trusted = read()?;
    trusted.insert(project.to_owned(), digest.to_string());
    write(&trusted)
}

pub(crate) fn revoke(project: &Path) -> Result<bool> {
    let mut trusted = read()?;
    let was = trusted.remove(project).is_some();
    write(&trusted)?;
    Ok(was)
}

fn read() -> Result<Trusted> {
    match locations::state()?.read(FILE, MOST_BYTES)? {
        None => Ok(Trusted::new()),
        Some(text) => {
            serde_json::from_str(&text).context("trust.json is damaged; remove or rename it")
        }
    }
}

fn write(trusted: &Trusted) -> Result<()> {
    let text = serde_json::to_vec_pretty(trusted)?;
    locations::state()?.write(FILE, &text).context("cannot record the trust")
}
