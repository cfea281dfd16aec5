//! Lua scripts: whose they are, where they lie, and how they join the other tools (FL-REG).
//!
//! Law: where there is no script, this costs two looks and nothing else. A project's script runs only
//! with the bytes that were trusted, and behind the rules of commands.

mod approval;
mod document;
mod host;
mod tool;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use jm_config::Config;
use jm_lua::{
    CHILD_WORD, Library, ModuleSource, ScriptChild, ScriptHost, ScriptLimits, ScriptSettings,
    Scripts, StartChild,
};
use jm_policy::Authority;
use jm_process::child_process::Companion;
use jm_process::command::CommandProgram;
use jm_system::state::read_text;
use jm_tools::Workspace;
use jm_types::Digest;

use crate::locations;
use crate::project::Project;
pub(crate) use document::{FRONT_MATTER, FrontMatterScript};
use host::ProgramHost;
pub(crate) use tool::LuaTools;

/// The name of a script in Lua's own messages.
const SCRIPT_NAME: &str = "init.lua";
/// A script larger than this is not one.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// Whose script it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    User,
    Project,
    /// A `.chat` document's front matter.
    Document,
}

impl Owner {
    fn word(self) -> &'static str {
        match self {
            Owner::User => "user",
            Owner::Project => "project",
            Owner::Document => "document",
        }
    }

    fn authority(self) -> Authority {
        match self {
            Owner::User => Authority::Person,
            Owner::Project => Authority::Project,
            Owner::Document => Authority::Document,
        }
    }
}

/// An `init.lua`, and the folder that its modules are in.
#[derive(Debug, Clone)]
struct Script {
    owner: Owner,
    init: PathBuf,
    text: String,
    /// The bytes that its files must have, by their paths from the folder of `init.lua`.
    trusted: Option<BTreeMap<PathBuf, Digest>>,
}

/// The things that scripts are run with.
#[derive(Clone, Copy)]
pub(crate) struct ScriptGround<'a> {
    pub(crate) config: &'a Config,
    pub(crate) workspace: &'a Workspace,
    pub(crate) project: Option<&'a Project>,
    /// The `.chat` document that is being run.
    pub(crate) document: Option<&'a Path>,
    /// Approvals that hold where a script sets none.
    pub(crate) auto_approve: &'a [String],
}

/// The tools of all scripts; those of the person first.
pub(crate) fn sources(ground: ScriptGround<'_>) -> Result<Vec<LuaTools>> {
    let mut sources = Vec::new();
    if let Some(init) = locations::user_init()
        && let Some(text) = read_script(&init)?
    {
        let script = Script { owner: Owner::User, init, text, trusted: None };
        sources.push(LuaTools::new(script.start(ground)?, &script, ground));
    }
    if let Some(project) = ground.project
        && let Some(text) = read_script(&project.init())?
    {
        sources.push(of_project(ground, project, text)?);
    }
    Ok(sources)
}

fn of_project(ground: ScriptGround<'_>, project: &Project, text: String) -> Result<LuaTools> {
    let init = project.init();
    let Some(trusted) = project.trusted.clone() else {
        return Ok(LuaTools::untrusted(init));
    };
    let script = Script { owner: Owner::Project, init, text, trusted: Some(trusted) };
    // Written since the trust was looked up.
    if script.check_trust(SCRIPT_NAME, &script.text).is_err() {
        return Ok(LuaTools::untrusted(script.init));
    }
    Ok(LuaTools::new(script.start(ground)?, &script, ground))
}

/// The standard libraries that the person's configuration opens to the person's own script.
fn opened(config: &Config) -> Result<Vec<Library>> {
    let library = |name: &String| match name.as_str() {
        "io" => Ok(Library::Io),
        "os" => Ok(Library::Os),
        _ => bail!("`tools.lua.libraries`: unknown library `{name}`\n  hint: `io` or `os`"),
    };
    config.tools.lua.libraries.iter().map(library).collect()
}

fn read_script(path: &Path) -> Result<Option<String>> {
    read_text(path, MOST_BYTES).with_context(|| format!("script {}", path.display()))
}

impl Script {
    fn start(&self, ground: ScriptGround<'_>) -> Result<Scripts> {
        let ScriptGround { config, workspace, auto_approve, .. } = ground;
        let settings = ScriptSettings {
            init: ModuleSource { name: SCRIPT_NAME.to_owned(), text: self.text.clone() },
            limits: ScriptLimits::default(),
            allow: match self.owner {
                Owner::User => opened(config)?,
                Owner::Project | Owner::Document => Vec::new(),
            },
            default_timeout: Duration::from_secs(config.tools.timeouts.default_seconds),
            default_auto_approve: match self.owner {
                Owner::User => auto_approve.to_vec(),
                Owner::Project | Owner::Document => Vec::new(),
            },
        };
        let host: Arc<dyn ScriptHost> = Arc::new(ProgramHost::new(self.clone(), workspace.clone()));
        let start: StartChild = match self.owner {
            Owner::User => Box::new(start_free),
            Owner::Project | Owner::Document => {
                let workspace = workspace.clone();
                Box::new(move || start_confined(&workspace))
            }
        };
        Ok(Scripts::new(settings, host, start))
    }

    /// The module of that name, in `lua/` beside `init.lua`.
    fn module(&self, name: &str) -> Result<Option<ModuleSource>, String> {
        let is_plain = |part: &str| {
            !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
        };
        if !name.split('.').all(is_plain) {
            return Err("a module name is words joined by dots".to_owned());
        }
        let folder = self.init.parent().ok_or("init.lua is in no folder")?;
        let stem = format!("lua/{}", name.replace('.', "/"));
        for file in [format!("{stem}.lua"), format!("{stem}/init.lua")] {
            let path = folder.join(&file);
            let read = read_text(&path, MOST_BYTES);
            let Some(text) = read.map_err(|error| format!("{}: {error}", path.display()))? else {
                continue;
            };
            self.check_trust(&file, &text)?;
            return Ok(Some(ModuleSource { name: file, text }));
        }
        Ok(None)
    }

    /// Trust was given to bytes; others must not run in their place.
    fn check_trust(&self, file: &str, text: &str) -> Result<(), String> {
        let Some(trusted) = &self.trusted else { return Ok(()) };
        match trusted.get(&Path::new("..").join(file)) {
            Some(digest) if *digest == Digest::of(text.as_bytes()) => Ok(()),
            Some(_) | None => {
                Err(format!("{file} changed since it was trusted; read it, then `jm trust`"))
            }
        }
    }
}

/// The process of a script, as the client knows it.
struct Process(Companion);

impl ScriptChild for Process {
    fn kill(&mut self) {
        self.0.kill();
    }

    fn ending(&mut self) -> Option<String> {
        self.0.ending()
    }
}

type Started = std::io::Result<(std::os::unix::net::UnixStream, Box<dyn ScriptChild>)>;

fn start_free() -> Started {
    let started = Companion::start_free(Path::new(crate::confine::THIS_PROGRAM), CHILD_WORD);
    let (socket, companion) = started.map_err(std::io::Error::other)?;
    Ok((socket, Box::new(Process(companion))))
}

fn start_confined(workspace: &Workspace) -> Started {
    let words: Vec<OsString> = vec![std::env::current_exe()?.into(), CHILD_WORD.into()];
    let environment = workspace.environment.sanitize(std::env::vars_os());
    let program = CommandProgram::Argv(words.clone());
    let sandbox = &workspace.sandbox;
    let confinement = workspace.confiner.confinement(sandbox, &environment, &program, None);
    let directory = sandbox.resolve(".").map_err(std::io::Error::other)?;
    let started = Companion::start_confined(&confinement, &directory, &environment, words);
    let (socket, companion) = started.map_err(std::io::Error::other)?;
    Ok((socket, Box::new(Process(companion))))
}
