//! A project's own configuration, tools, servers and script, and the person's trust in them.
//!
//! Law: one trust for all, bound to the bytes of every file. Nothing of an untrusted project runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use jm_config::Trust;
use jm_files::{Sandbox, SandboxSettings};
use jm_system::programs;
use jm_system::state::read_text;
use jm_types::Digest;

use crate::cli::Common;
use crate::mcp::{PROJECT_FILE, trusted_name};
use crate::trust;

/// A configuration file larger than this is not one.
const MOST_CONFIG_BYTES: u64 = 1024 * 1024;

/// A script larger than this is not one.
const MOST_SCRIPT_BYTES: u64 = 4 * 1024 * 1024;

/// A project with a configuration, tools or a script of its own.
pub(crate) struct Project {
    pub(crate) root: PathBuf,
    pub(crate) file: PathBuf,
    pub(crate) text: Option<String>,
    pub(crate) tools: PathBuf,
    /// The files of `tools` with their bytes, and those of the script by their paths from there, where
    /// the person has trusted exactly these.
    pub(crate) trusted: Option<BTreeMap<PathBuf, Digest>>,
}

impl Project {
    /// Nothing, for a project that brings nothing.
    pub(crate) fn find(common: &Common) -> Result<Option<Self>> {
        let root = common.root.first().map_or(Path::new("."), PathBuf::as_path);
        let root = std::path::absolute(root)
            .with_context(|| format!("workspace root {}", root.display()))?;
        let root =
            Sandbox::new(&SandboxSettings::rooted_at(&root))?.working_root().path().to_owned();
        let (file, tools) = (root.join(".journeyman/config.toml"), root.join(".journeyman/tools"));
        let text = read_config(&file)?;
        let mut project = Self { root, file, text, tools, trusted: None };
        let brings_servers = project.root.join(PROJECT_FILE).exists();
        let brings_code = project.tools.is_dir() || project.init().exists();
        if project.text.is_none() && !brings_code && !brings_servers {
            return Ok(None);
        }
        project.trusted = project.find_trust();
        Ok(Some(project))
    }

    /// Hashing what was never trusted would tell us nothing.
    fn find_trust(&self) -> Option<BTreeMap<PathBuf, Digest>> {
        let known = trust::known(&self.root)?;
        let covered = self.covered().ok()?;
        (known == covered.digest().to_string()).then(|| covered.0.into_iter().collect())
    }

    /// Its Lua script.
    pub(crate) fn init(&self) -> PathBuf {
        self.root.join(".journeyman/init.lua")
    }

    /// All that trust covers: the configuration, the tools, the servers, the script and its modules.
    pub(crate) fn covered(&self) -> Result<CoveredFiles> {
        let mut files = Vec::new();
        if let Some(text) = &self.text {
            files.push((PathBuf::from("../config.toml"), Digest::of(text.as_bytes())));
        }
        files.extend(programs::tree_digests(&self.tools)?);
        let servers = self.root.join(PROJECT_FILE);
        if servers.exists() {
            let digest = programs::digest_program(&servers, MOST_CONFIG_BYTES)?;
            files.push((trusted_name(), digest.context(".mcp.json is too large")?));
        }
        let init = self.init();
        if !init.exists() {
            return Ok(CoveredFiles(files));
        }
        let digest =
            programs::digest_program(&init, MOST_SCRIPT_BYTES)?.context("init.lua is too large")?;
        files.push((PathBuf::from("../init.lua"), digest));
        let modules = programs::tree_digests(&self.root.join(".journeyman/lua"))?;
        let beside = |(path, digest)| (Path::new("../lua").join(path), digest);
        files.extend(modules.into_iter().map(beside));
        Ok(CoveredFiles(files))
    }

    pub(crate) fn level(&self) -> Trust {
        if self.trusted.is_some() { Trust::Trusted } else { Trust::Untrusted }
    }
}

/// Every file that trust is given to with its bytes, by its path from the directory of tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CoveredFiles(Vec<(PathBuf, Digest)>);

impl CoveredFiles {
    /// The one hash that trust is bound to.
    pub(crate) fn digest(&self) -> Digest {
        let mut all = Vec::new();
        for (path, digest) in &self.0 {
            all.extend(path.as_os_str().as_encoded_bytes());
            all.extend(format!("\0{digest}\0").into_bytes());
        }
        Digest::of(&all)
    }

    /// Their paths from the project's root.
    pub(crate) fn paths(&self) -> impl Iterator<Item = PathBuf> {
        self.0.iter().map(|(path, _)| match (path.strip_prefix("../.."), path.strip_prefix("..")) {
            (Ok(above), _) => above.to_owned(),
            (_, Ok(beside)) => Path::new(".journeyman").join(beside),
            _ => Path::new(".journeyman/tools").join(path),
        })
    }
}

pub(crate) fn read_config(path: &Path) -> Result<Option<String>> {
    read_text(path, MOST_CONFIG_BYTES).with_context(|| format!("configuration {}", path.display()))
}
