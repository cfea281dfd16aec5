//! A command's layer in the journal: that it is about to be kept, or taken back.
//!
//! Law: the record and its steps are durable before the first name changes. The old versions themselves
//! are not here: they lie in the layer's directory, which the record names.

use std::path::PathBuf;

use jm_types::{CallKey, Digest, SessionId};
use serde::{Deserialize, Serialize};

use crate::collect::forget;
use crate::index_content::unindex;
use crate::{Record, Store, StoreError};

/// The side to which the workspace is brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerSide {
    /// The command's changes are in the workspace, and the old versions in the layer.
    Kept,
    /// The other way round.
    TakenBack,
}

impl LayerSide {
    /// The side that undo would go to.
    pub fn other(self) -> Self {
        match self {
            Self::Kept => Self::TakenBack,
            Self::TakenBack => Self::Kept,
        }
    }
}

/// The change of one name, as a list shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerChange {
    /// A name that was not there.
    Created,
    /// Another content or other attributes.
    Changed,
    /// A name that is gone.
    Deleted,
}

/// One name that a layer changes, relative to the root. A name that is no text is shown as near as text comes;
/// the steps have it byte by byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerName {
    /// Relative to the root.
    pub path: String,
    /// The kind of the change.
    pub change: LayerChange,
}

/// A layer, and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerRecord {
    /// The name of its directory.
    pub layer: String,
    /// The workspace root that the layer lies over.
    pub root: PathBuf,
    /// The side to which the workspace is brought.
    pub to: LayerSide,
    /// The content that lists every step.
    pub steps: Digest,
    /// The first of the names that change.
    pub names: Vec<LayerName>,
    /// How many more there are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u64,
    /// Bytes that the versions in its directory take at the most.
    #[serde(default)]
    pub bytes: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over references")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl LayerRecord {
    /// The paths that it changes, where the record has all of them.
    pub fn paths(&self) -> Option<Vec<PathBuf>> {
        let all = self.names.iter().map(|name| self.root.join(&name.path));
        (self.more == 0).then(|| all.collect())
    }
}

/// A record of a layer, as a collection finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerView {
    /// The session of the command.
    pub session: SessionId,
    /// The key of the command's call.
    pub call: CallKey,
    /// The layer and its side.
    pub layer: LayerRecord,
    /// The last batch of its session is not settled, so recovery may need it.
    pub is_unsettled: bool,
}

impl Store {
    /// The records of layers of all sessions, the oldest first.
    pub fn layered(&self) -> Result<Vec<LayerView>, StoreError> {
        let connection = self.connection();
        let mut select = connection.prepare(
            "SELECT records.session, body, sealed_at < opened_at
             FROM records INDEXED BY layered JOIN sessions ON sessions.session = records.session
             WHERE kind = 'layered' ORDER BY at, records.session, records.seq",
        )?;
        let mut rows = select.query([])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            let (session, body): (String, String) = (row.get(0)?, row.get(1)?);
            if let Record::Layered { call, layer } = serde_json::from_str(&body)? {
                let (session, is_unsettled) = (SessionId::from(session), row.get(2)?);
                all.push(LayerView { session, call, layer, is_unsettled });
            }
        }
        Ok(all)
    }

    /// Lets the steps of a layer go, before its directory goes: what is gone cannot be taken back, and that is
    /// known.
    pub fn release_steps(&self, steps: Digest, now: u64) -> Result<(), StoreError> {
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        self.write(|step| {
            forget(step, &steps.to_string(), now)?;
            unindex(step, &[steps].into())
        })
    }
}
