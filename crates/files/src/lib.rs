//! Workspace files: path, sandbox, open, text model, walk and ignore rules, index, commit.
//!
//! Law: an unresolved path cannot reach the disk, and nothing here starts a process.
//!
//! ```
//! use jm_files::commit::commit;
//! use jm_files::{After, FileChange, NoLog, OpenFile, Sandbox, SandboxSettings};
//! use jm_types::Cancel;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let sandbox = Sandbox::new(&SandboxSettings::rooted_at(folder.path()))?;
//! assert!(sandbox.resolve("../secret").is_err());
//! // Many files change together, or none does.
//! let change = |name: &str, text: &str| -> Result<FileChange, jm_types::ToolError> {
//!     let path = sandbox.resolve(name)?;
//!     Ok(FileChange { path, before: None, after: After::content(text.into()) })
//! };
//! let changes = [change("a.txt", "one\n")?, change("b.txt", "two\n")?];
//! commit(&sandbox, &changes, &Cancel::new(), &mut NoLog)?;
//! let (bytes, is_cut) = OpenFile::open(&sandbox.resolve("a.txt")?)?.read_up_to(1024)?;
//! assert_eq!((bytes.as_slice(), is_cut), (&b"one\n"[..], false));
//! # Ok(())
//! # }
//! ```

#![warn(missing_docs)]

pub mod commit;
pub mod denies;
pub mod directory;
mod editor_buffers;
pub mod file;
mod file_attributes;
pub mod git_config;
pub mod git_control;
pub mod git_index;
pub mod git_repository;
mod ignored;
pub mod index;
pub mod layer;
mod listing;
pub mod names;
mod open;
mod output_files;
mod path;
pub mod placeholder;
mod project_state;
mod refused_path;
mod resolve;
mod sandbox;
mod sandbox_settings;
pub mod system_secrets;
pub mod text;
pub mod walk;

pub use commit::{
    After, CommitLog, Committed, FileChange, Manifest, ManifestEntry, ManifestTrade, NoLog, Node,
    Trade, commit, commit_with_trades,
};
pub use editor_buffers::{EditorBuffer, EditorBuffers};
pub use file::{DirectoryEntry, EntryKind, OpenDirectory, OpenFile};
pub use ignored::is_ignored_directory;
pub use names::Protection;
pub use open::Opening;
pub use output_files::names_kept_output;
pub use path::{Absolute, Dots, PathPolicy};
pub use project_state::{ProjectState, Staging};
pub use refused_path::Placed;
pub use resolve::Found;
pub use sandbox::{Root, SafePath, Sandbox, system_error};
pub use sandbox_settings::{SandboxError, SandboxSettings};
