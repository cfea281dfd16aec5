//! The request of a search.

use super::query::Query;

/// A search for every match in every file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// The text or expression.
    pub query: Query,
    /// A directory, or one file.
    pub path: String,
    /// The places that the search begins in instead, where the call names some: each counts though it is
    /// hidden or ignored, since whoever names it means it.
    pub starts: Vec<SearchStart>,
    /// Globs of files to search; with a `!` in front, of files to leave out.
    pub globs: Vec<String>,
    /// Searches hidden files too.
    pub hidden: bool,
    /// Searches ignored files too.
    pub ignored: bool,
    /// Lines around each match.
    pub context: usize,
    /// The most that is found.
    pub most: usize,
    /// The unit of `most`.
    pub counted: Counted,
    /// Larger files of a directory are passed over.
    pub most_file_bytes: u64,
}

/// A directory or a file that a call names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchStart {
    /// As the call spells it.
    pub path: String,
    /// The outcome where it does not exist.
    pub missing: MissingStart,
}

/// The outcome where a place that a call names does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingStart {
    /// The call fails.
    NotFound,
    /// The argument that names it is wrong.
    Invalid(&'static str),
    /// The place comes from a glob, which may match nothing.
    PassedOver,
}

/// The unit that `most` counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Every match.
    Matches,
    /// Every line that matches; of each the first match is told.
    Lines,
}

impl Search {
    /// A search of the whole workspace with the usual limits.
    pub fn new(query: Query) -> Self {
        Self {
            query,
            path: ".".to_owned(),
            starts: Vec::new(),
            globs: Vec::new(),
            hidden: false,
            ignored: false,
            context: 0,
            most: 200,
            counted: Counted::Matches,
            most_file_bytes: 64 << 20,
        }
    }
}
