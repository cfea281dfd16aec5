//! One change that a layer makes to the workspace, as it is recorded.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::node::{ExtendedAttributes, NodeFacts};

/// The work of keeping at one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerWork {
    /// A node, or a directory with all that is in it, where nothing was.
    Create,
    /// One node for another; directories go and come whole.
    Replace,
    /// Removes the name.
    Delete,
    /// A directory stays and gets the mode, owner, extended attributes and time of its upper.
    Attributes,
}

/// One change, by the path relative to the workspace's root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerStep {
    /// Its place among all steps of the layer, by which its old version is found.
    #[serde(default)]
    pub number: usize,
    /// Relative to the root.
    #[serde(with = "super::path_bytes")]
    pub path: PathBuf,
    /// The operation on the name.
    pub work: LayerWork,
    /// The node that must stand there; `None` for no node.
    pub before: Option<NodeFacts>,
    /// The node that stands there afterwards; `None` for no node.
    pub after: Option<NodeFacts>,
    /// Extended attributes of a directory that stays, where they change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extended: Option<ExtendedChange>,
}

/// Extended attributes before and after, by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtendedChange {
    /// The attributes that must be there.
    pub before: ExtendedAttributes,
    /// The attributes that take their place.
    pub after: ExtendedAttributes,
}

impl LayerStep {
    /// Tells whether the attributes of a directory differ between the two sides, whatever its time.
    pub(super) fn changes_attributes(&self) -> bool {
        let is_same = match (&self.before, &self.after) {
            (Some(before), Some(after)) => after.has_attributes_of(before),
            _ => true,
        };
        !is_same || self.extended.is_some()
    }
}
