//! A directory for temporary files that only one command uses, where there is no tree of its own.

use std::io::Result;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    pub(crate) fn make() -> Result<Self> {
        let name = format!("journeyman-{}", crate::state::fresh_id()?);
        let path = std::env::temp_dir().join(name);
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is in nobody's way.
        std::fs::remove_dir_all(&self.path).unwrap_or_default();
    }
}
