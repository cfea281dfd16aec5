//! The two versions of a file that a kept layer changed: one stands in the workspace, the other lies in the layer.

use std::path::{Path, PathBuf};

use rustix::io;

use super::Layer;
use super::keep::{StepState, attic_name};
use super::report::read_file;
use super::step::{LayerStep, LayerWork};

/// The versions of a name that a layer changed, as far as they are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileVersions {
    /// The content of a file before and after; `None` where there was none.
    Known {
        /// The content in the workspace.
        before: Option<Vec<u8>>,
        /// The content on the layer.
        after: Option<Vec<u8>>,
    },
    /// Something else stands there by now, so that one of the two is not told.
    ChangedSince,
    /// No file, or one that is too large.
    NoFile,
}

impl Layer {
    /// The versions of a file that a step changes, or that lies in the directory which it changes, up to `most` bytes.
    pub fn versions(&self, step: &LayerStep, path: &Path, most: u64) -> io::Result<FileVersions> {
        let here = || read_file(&self.lower, path, most);
        let aside = || match step.work {
            LayerWork::Delete => {
                let below = path.strip_prefix(&step.path).unwrap_or(Path::new(""));
                // Name by name: a file's name with a slash behind it would be a directory's.
                let name = attic_name(step);
                let kept = [Path::new(&name), below].into_iter().flat_map(Path::iter);
                read_file(&self.attic, &kept.collect::<PathBuf>(), most)
            }
            LayerWork::Create | LayerWork::Replace | LayerWork::Attributes => {
                read_file(&self.upper, path, most)
            }
        };
        let (before, after) = match self.state(step)? {
            StepState::Done => (aside()?, here()?),
            StepState::NotDone => (here()?, aside()?),
            StepState::Foreign => return Ok(FileVersions::ChangedSince),
        };
        let is_whole = match step.work {
            LayerWork::Create => after.is_some(),
            LayerWork::Delete => before.is_some(),
            LayerWork::Replace => before.is_some() || after.is_some(),
            LayerWork::Attributes => false,
        };
        if is_whole { Ok(FileVersions::Known { before, after }) } else { Ok(FileVersions::NoFile) }
    }
}
