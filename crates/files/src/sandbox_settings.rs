//! The sandbox as a person configures it, and the reasons why there is none.

use std::path::PathBuf;

use thiserror::Error;

use crate::path::PathPolicy;

/// The person's configuration of the sandbox (CFG-SBX-01).
#[derive(Debug, Clone)]
pub struct SandboxSettings {
    /// Directories of the workspace; the first is the working directory.
    pub allowed_roots: Vec<PathBuf>,
    /// Globs of paths that no tool opens, on top of the built-in ones.
    pub denied_patterns: Vec<String>,
    /// Keeps the built-in list of secrets in force.
    pub include_default_denies: bool,
    /// The spellings that calls may use.
    pub policy: PathPolicy,
    /// Absolute paths that tools never change, whoever approves: our configuration and state.
    pub never_write: Vec<PathBuf>,
}

impl SandboxSettings {
    /// The settings of a workspace with one root and nothing else said.
    pub fn rooted_at(root: impl Into<PathBuf>) -> Self {
        Self {
            allowed_roots: vec![root.into()],
            denied_patterns: Vec::new(),
            include_default_denies: true,
            policy: PathPolicy::FORGE,
            never_write: Vec::new(),
        }
    }
}

/// The reason why there is no sandbox.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "each variant's message says it")]
pub enum SandboxError {
    #[error("no workspace root is configured")]
    NoRoots,
    #[error("workspace root {}: {error}", path.display())]
    Root { path: PathBuf, error: std::io::Error },
    #[error("{0}")]
    Pattern(String),
}
