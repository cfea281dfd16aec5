//! The six `ikigai` tools as programs: one binary under six names (IK-PROTO, IK-NAMES).
//!
//! Law: run by hand they follow their own document. There is no sandbox and no approval; the file
//! system's permissions are the boundary.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use jm_dialects::ikigai::program::ToolProgram;
use jm_files::{ProjectState, Sandbox};
use jm_process::{Confiner, EnvSanitizer};
use jm_system::install;
use jm_tools::{CallContext, Workspace};
use jm_types::Limits;

use super::{exit, print};
use crate::cli::InstallPrograms;

/// The folder of the programs below a prefix.
const FOLDER: &str = "libexec/journeyman";
/// A program sets itself no limit of time; whoever runs it does.
const NO_LIMIT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Runs as the program that the process was started as, if it is one of them.
pub(crate) fn run_by_name() -> Option<Result<u8>> {
    let mut words = std::env::args_os();
    let started_as = PathBuf::from(words.next()?);
    let program = ToolProgram::named(started_as.file_name()?.to_str()?)?;
    Some(match words.next() {
        None => answer(program),
        Some(word) if word == "--schema" => program
            .schema()
            .map_err(Into::into)
            .and_then(|schema| put(&serde_json::to_string_pretty(&schema)?)),
        Some(word) => Err(anyhow::anyhow!(
            "{} reads its arguments as JSON from standard input, not {word:?} (schema: --schema)",
            program.tool()
        )),
    })
}

fn answer(program: ToolProgram) -> Result<u8> {
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input).context("standard input")?;
    let directory = std::env::current_dir().context("the current directory")?;
    let answer = program.run(&input, &scope(&directory)?);
    put(&answer.to_string())
}

fn scope(directory: &Path) -> Result<CallContext> {
    let sandbox = Sandbox::unconfined(directory)?;
    let environment = EnvSanitizer::new(&[]);
    let workspace = Workspace {
        sandbox: Arc::new(sandbox),
        environment: Arc::new(environment),
        // Only asked for by a set that is not theirs; making it touches no disk.
        state: Arc::new(ProjectState::new(directory, directory)),
        confiner: Arc::new(Confiner::unsupervised()),
        jobs: Arc::default(),
    };
    Ok(CallContext::without_call(workspace, Limits::default(), Instant::now() + NO_LIMIT))
}

/// One object, without a newline behind it.
fn put(text: &str) -> Result<u8> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(exit::RAN)
}

/// `jm install-programs`.
pub(crate) fn install(args: &InstallPrograms) -> Result<u8> {
    let own = std::env::current_exe().context("the path of this program")?;
    let folder = std::path::absolute(args.prefix.join(FOLDER))?;
    let names: Vec<String> = ToolProgram::names().collect();
    install::make_links(&folder, &own, &names)
        .with_context(|| format!("installing into {}", folder.display()))?;
    names.iter().try_for_each(|name| print::line(&folder.join(name).display().to_string()))?;
    Ok(exit::RAN)
}
