//! The paths of our own files.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow};
use jm_system::state::StateDir;

const NAME: &str = "journeyman";
/// The hint for a state directory that cannot be used.
pub(crate) const STATE_HINT: &str =
    "\n  hint: make the state directory writable, or choose another with JM_STATE_DIR";

/// All variables, as text.
pub(crate) fn environment() -> Vec<(String, String)> {
    let text = |value: OsString| value.to_string_lossy().into_owned();
    std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect()
}

pub(crate) fn user_config() -> Option<PathBuf> {
    base("XDG_CONFIG_HOME", ".config").map(|base| base.join(NAME).join("config.toml"))
}

/// Models that the program does not know, or knows wrongly.
pub(crate) fn user_models() -> Option<PathBuf> {
    user_config().map(|config| config.with_file_name("models.toml"))
}

/// The person's own instructions to every model.
pub(crate) fn user_instructions() -> Option<PathBuf> {
    user_config().map(|config| config.with_file_name("AGENTS.md"))
}

/// The directory of the system's tools: beside the program, unless the environment says otherwise.
pub(crate) fn system_tools() -> Option<PathBuf> {
    variable("JM_LIBEXEC_DIR").or_else(|| {
        let program = std::env::current_exe().ok()?;
        Some(program.parent()?.parent()?.join("libexec").join(NAME).join("tools"))
    })
}

pub(crate) fn user_tools() -> Option<PathBuf> {
    user_config().and_then(|file| Some(file.parent()?.join("tools")))
}

/// The person's own Lua script.
pub(crate) fn user_init() -> Option<PathBuf> {
    user_config().map(|config| config.with_file_name("init.lua"))
}

pub(crate) fn state() -> Result<StateDir> {
    let path = state_path()?;
    StateDir::open(&path)
        .map_err(|error| anyhow!("state directory {}: {error}{STATE_HINT}", path.display()))
}

pub(crate) fn state_path() -> Result<PathBuf> {
    if let Some(path) = variable("JM_STATE_DIR") {
        return Ok(path);
    }
    let base = base("XDG_STATE_HOME", ".local/state").context(
        "no state directory: neither JM_STATE_DIR nor HOME is an absolute path\n  hint: set JM_STATE_DIR to a directory of your own",
    )?;
    Ok(base.join(NAME))
}

fn base(name: &str, below_home: &str) -> Option<PathBuf> {
    variable(name).or_else(|| variable("HOME").map(|home| home.join(below_home)))
}

/// The value of a variable. One that is empty names nothing, as if it were not there.
pub(crate) fn named(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Relative values are ignored, as the XDG specification asks.
fn variable(name: &str) -> Option<PathBuf> {
    named(name).map(PathBuf::from).filter(|path| path.is_absolute())
}
