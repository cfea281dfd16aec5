//! The question before work in the home directory or at the root of the file system.
//!
//! Law: `--root` is consent; where nobody can be asked, work does not begin.

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use jm_files::{Sandbox, SandboxSettings};

use crate::cli::Common;

/// Asks once whether a model shall work where everything of the person is.
pub(crate) fn confirm(common: &Common) -> Result<()> {
    if !common.root.is_empty() {
        return Ok(());
    }
    let Some(what) = std::env::current_dir().ok().and_then(|here| named(&here)) else {
        return Ok(());
    };
    let is_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if !is_terminal {
        bail!("This is {what}\n  hint: change to a project, or pass `--root .` to work here");
    }
    let mut screen = std::io::stderr().lock();
    write!(screen, "This is {what}: the model could read and change all of it. Continue? [y/N] ")?;
    screen.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => bail!("Stopped\n  hint: change to a project, or pass `--root .` to work here"),
    }
}

/// The name of a directory in which everything of the person is.
pub(super) fn named(here: &Path) -> Option<&'static str> {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let is_home = home.is_some_and(|home| is_same(&home, here));
    match (here == Path::new("/"), is_home) {
        (true, _) => Some("the root of the file system"),
        (false, true) => Some("your home directory"),
        (false, false) => None,
    }
}

/// Tells if two paths are one directory, through whatever links.
fn is_same(one: &Path, other: &Path) -> bool {
    let canonical = |path: &Path| {
        let sandbox = Sandbox::new(&SandboxSettings::rooted_at(path)).ok()?;
        Some(sandbox.working_root().path().to_owned())
    };
    canonical(one).is_some_and(|one| Some(one) == canonical(other))
}
