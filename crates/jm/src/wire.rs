//! The one place where the parts are put together: from flags and files to an engine.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use jm_config::{
    ALLOW_RULES, AllowedAndDenied, CommandLayer, Config, ConfigLayer, ConfigWord, DENY_RULES,
    Loaded, Loosening, Source,
};
use jm_dialects::dialect_of;
use jm_engine::Core;
use jm_engine::{CallRecorder, Engine, EngineLayers, LayerUse, Session};
use jm_files::{PathPolicy, ProjectState, Sandbox, SandboxSettings, Staging};
use jm_policy::HOST_RULE;
use jm_process::EnvSanitizer;
use jm_process::background::Jobs;
use jm_process::command_layers::CommandLayers;
use jm_tools::schema::Schema;
use jm_tools::toolsets::Timeouts;
use jm_tools::{ToolRegistry, ToolSource, Workspace};
use jm_types::text::{one_line, suggest};
use jm_types::{Limits, Profile, ToolDefinition, ToolEvent};
use serde_json::{Map, json};
use tokio::sync::mpsc;

use crate::approval::{self, Site};
use crate::cli::{Approve, Common};
use crate::lua::{self, FrontMatterScript, LuaTools, ScriptGround};
use crate::mcp::{self, Elicitor};
use crate::project::{Project, read_config};
use crate::sessions::Opening;
use crate::{confine, external, locations, sessions};

/// Events that wait for a face; past this, tools wait.
const EVENT_BUFFER: usize = 256;

/// The settings in force, and the project they come from.
pub(crate) struct Settings {
    pub(crate) loaded: Loaded,
    pub(crate) project: Option<Project>,
}

pub(crate) fn load(common: &Common) -> Result<Loaded> {
    settings(common).map(|settings| settings.loaded)
}

/// The settings of a project that its trust would put in force.
pub(crate) fn loosened_by(common: &Common, project: &Project) -> Result<Vec<Loosening>> {
    Ok(layered(common, Some(project), jm_config::Trust::Untrusted)?.loosened)
}

/// All layers over each other, and nothing checked but by itself.
fn layered(common: &Common, project: Option<&Project>, level: jm_config::Trust) -> Result<Loaded> {
    let mut layers = Vec::new();
    if let Some(path) = common.config.clone().or_else(locations::user_config) {
        match read_config(&path)? {
            Some(text) => layers.push(ConfigLayer { source: Source::User(path), text }),
            None if common.config.is_some() => {
                bail!("configuration {}: no such file", path.display())
            }
            None => {}
        }
    }
    if let Some(own) = project {
        let source = Source::Project(own.file.clone());
        layers.extend(own.text.clone().map(|text| ConfigLayer { source, text }));
    }
    layers.push(ConfigLayer { source: Source::Flag, text: flags(common)? });
    jm_config::load(&layers, &variables(), level).map_err(|errors| {
        let lines = errors.iter().map(|error| match &error.hint {
            Some(hint) => format!("{error}\n  hint: {hint}"),
            None => error.to_string(),
        });
        anyhow::anyhow!(lines.collect::<Vec<_>>().join("\n"))
    })
}

/// All layers, judged.
pub(crate) fn settings(common: &Common) -> Result<Settings> {
    let project = Project::find(common)?;
    let level = project.as_ref().map_or(jm_config::Trust::Untrusted, Project::level);
    let mut loaded = layered(common, project.as_ref(), level)?;
    mcp::add_servers(&mut loaded.config.mcp, &common.servers);
    approval::check_host_rules(&loaded)?;
    check_names(common, &mut loaded, project.as_ref())?;
    let (_, denied) = parted(&common.deny);
    denied.iter().for_each(|tool| loaded.deny(tool));
    common.asked.iter().for_each(|tool| loaded.lift_default(tool));
    let (rules, allowed) = parted(&common.allow);
    let by_rule = rules.iter().filter_map(|rule| rule.split_once(':'));
    for tool in by_rule.map(|(tool, _)| tool.trim()) {
        loaded.check_allowed(tool).map_err(told)?;
    }
    for tool in allowed {
        loaded.allow(tool).map_err(told)?;
    }
    Ok(Settings { loaded, project })
}

fn told(denied: AllowedAndDenied) -> anyhow::Error {
    anyhow!("{denied}\n  hint: {}", denied.hint())
}

/// Rules, which have a colon, and tools, as `--allow` and `--deny` name them.
fn parted(flags: &[String]) -> (Vec<&String>, Vec<&String>) {
    flags.iter().partition(|flag| flag.contains(':'))
}

fn variables() -> Vec<(String, String)> {
    let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
    std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect()
}

/// The flags as the topmost layer, so that they are checked like everything else.
fn flags(common: &Common) -> Result<String> {
    let quoted = |text: &str| serde_json::to_string(text);
    let mut lines = Vec::new();
    if let Some(toolset) = &common.toolset {
        lines.push(format!("toolset = {}", quoted(toolset)?));
    }
    if let Some(profile) = &common.profile {
        lines.push(format!("profile = {}", quoted(profile)?));
    }
    if let Some(mode) = common.approve {
        let word = match mode {
            Approve::Auto => "auto",
            Approve::Effects => "effects",
            Approve::Prompt => "prompt",
            Approve::Deny => "deny",
        };
        lines.push(format!("tools.approval.mode = \"{word}\""));
    }
    if let Some(most) = common.max_iterations {
        lines.push(format!("tools.max_tool_iterations_per_user_turn = {most}"));
    }
    for (key, flags) in [(ALLOW_RULES, &common.allow), (DENY_RULES, &common.deny)] {
        let (rules, _) = parted(flags);
        if !rules.is_empty() {
            lines.push(format!("{key} = {}", serde_json::to_string(&rules)?));
        }
    }
    lines.extend(confine::flags(common)?);
    Ok(lines.join("\n"))
}

/// Everything a face needs to make calls.
pub(crate) struct Wired {
    pub(crate) engine: Engine,
    pub(crate) session: Session,
    pub(crate) events: mpsc::Receiver<ToolEvent>,
    pub(crate) warnings: Vec<String>,
    /// Answers what servers of tools ask.
    pub(crate) elicitor: Arc<Elicitor>,
}

pub(crate) fn wire(common: &Common) -> Result<Wired> {
    wire_with(common, |opening| sessions::open(common, opening))
}

/// `open` gives the session, once it is known what it will be worked with.
pub(crate) fn wire_with(
    common: &Common,
    open: impl FnOnce(&Opening) -> Result<(Session, CallRecorder)>,
) -> Result<Wired> {
    let Settings { mut loaded, project } = settings(common)?;
    let config = &loaded.config;
    let workspace = workspace(common, config)?;
    let mut registry = registry(config)?;
    registry.add_source(Box::new(external::source(config, &workspace, project.as_ref())));
    let scripts = scripts(common, &loaded, &workspace, project.as_ref())?;
    let resolvers: Vec<_> = scripts.iter().filter_map(LuaTools::resolvers).collect();
    for source in scripts {
        registry.add_source(Box::new(source));
    }
    let elicitor = Arc::new(Elicitor::default());
    let servers = mcp::source(config, &workspace, project.as_ref(), &elicitor, mcp::FIRST_PROMPT)?;
    servers.into_iter().for_each(|source| registry.add_source(Box::new(source)));
    let (session, recorder) = open(&Opening {
        root: workspace.sandbox.working_root().path().to_owned(),
        toolset: config.toolset.name().to_owned(),
        mode: config.tools.mode.name().to_owned(),
        output_bytes: config.tools.output.keep_bytes,
        outputs_bytes: config.journal.outputs_bytes,
    })?;
    let (sender, events) = mpsc::channel(EVENT_BUFFER);
    let site = Site::of(&workspace, &session.id);
    let (mut policy, unusable) = approval::policy(&mut loaded, &site)?;
    // Whoever answers everything with yes wants commands to run as they are.
    policy.runs_readers &= !common.yes;
    resolvers.into_iter().for_each(|source| policy.chain.add_source(source));
    loaded.warnings.extend(unusable);
    let config = &loaded.config;
    let engine = Engine::new(Core {
        registry,
        workspace,
        policy: policy.into(),
        limits: limits(&loaded),
        mode: config.tools.mode,
        default_timeout: Duration::from_secs(config.tools.timeouts.default_seconds),
        manual: manual(config)?,
        estimate: Default::default(),
        events: sender,
        recorder,
        layers: layers(common, config)?,
        index: Default::default(),
    });
    Ok(Wired { engine, session, events, warnings: loaded.warnings, elicitor })
}

/// The layers on which commands of tools run.
fn layers(common: &Common, config: &Config) -> Result<EngineLayers> {
    if common.no_journal {
        return Ok(EngineLayers::none());
    }
    let place = CommandLayers::open(&locations::state()?).context("layers of commands")?;
    let wanted = match config.tools.sandbox.commands.layer {
        CommandLayer::Off => LayerUse::Off,
        CommandLayer::Auto => LayerUse::WhereTheyWork,
        CommandLayer::On => LayerUse::Always,
    };
    Ok(EngineLayers::new(place, wanted).side_by_side(config.tools.allow_parallel))
}

pub(crate) fn workspace(common: &Common, config: &Config) -> Result<Workspace> {
    let sandbox =
        Sandbox::new(&sandbox_settings(common, config)?).context("cannot open the workspace")?;
    let environment = EnvSanitizer::new(&config.tools.environment.denylist);
    let (state, jobs) = match locations::state_path() {
        // Then only what would be kept there has no place.
        Err(_) if common.no_journal => Default::default(),
        path => (ProjectState::new(&path?, sandbox.working_root().path()), jobs(config)?),
    };
    let state = state.with_buffers(common.buffers.clone()).with_staging(
        match config.tools.forj.stage_changes {
            true => Staging::On,
            false => Staging::Off,
        },
    );
    Ok(Workspace {
        sandbox: Arc::new(sandbox),
        environment: Arc::new(environment),
        confiner: Arc::new(confine::recording_confiner(common, config)?),
        state: Arc::new(state),
        jobs: Arc::new(jobs),
    })
}

/// Commands in the background, of all sessions.
pub(crate) fn jobs(config: &Config) -> Result<Jobs> {
    Ok(Jobs::new(locations::state_path()?.join("processes"), config.tools.output.keep_bytes))
}

pub(crate) fn sandbox_settings(common: &Common, config: &Config) -> Result<SandboxSettings> {
    let sandbox = &config.tools.sandbox;
    let configured = sandbox.allowed_roots.iter().map(PathBuf::from).collect();
    let allowed_roots = if common.root.is_empty() { configured } else { common.root.clone() };
    let policy = match (config.profile, sandbox.allow_absolute) {
        (Profile::Careful, false) => PathPolicy::FORGE,
        (Profile::Careful, true) => PathPolicy::FORGE.allow_absolute(),
        (Profile::Standard, false) => dialect_of(config.toolset).paths,
        (Profile::Standard, true) => dialect_of(config.toolset).paths.allow_absolute(),
    };
    let own = [
        locations::user_config().and_then(|file| Some(file.parent()?.to_owned())),
        locations::state_path().ok(),
        locations::system_tools(),
        common.config.clone(),
        common.document.clone(),
    ];
    Ok(SandboxSettings {
        allowed_roots,
        denied_patterns: sandbox.denied_patterns.clone(),
        include_default_denies: sandbox.include_default_denies,
        policy,
        never_write: own
            .into_iter()
            .flatten()
            .filter_map(|path| std::path::absolute(path).ok())
            .collect(),
    })
}

pub(crate) fn timeouts(config: &Config) -> Timeouts {
    Timeouts {
        file_operations: Duration::from_secs(config.tools.timeouts.file_operations_seconds),
        shell_commands: Duration::from_secs(config.tools.timeouts.shell_commands_seconds),
    }
}

pub(crate) fn registry(config: &Config) -> Result<ToolRegistry> {
    let timeouts = timeouts(config);
    let dialect = dialect_of(config.toolset);
    Ok(ToolRegistry::speaking(dialect, dialect.tools(&timeouts))?)
}

/// A name that no tool has would allow or deny nothing, which nobody means: an error on the command line,
/// and in a list where it looks like a typing slip. Any other name there may belong to a tool of another
/// project, and is told.
fn check_names(common: &Common, loaded: &mut Loaded, project: Option<&Project>) -> Result<()> {
    let approval = &loaded.config.tools.approval;
    let rules = [&approval.allow, &approval.ask, &approval.deny].into_iter().flatten();
    let listed = approval.allowlist.iter().chain(&approval.denylist).cloned();
    // Rules about hosts name no tool.
    let rules = rules.map(|rule| rule.tool().to_owned()).filter(|tool| tool != HOST_RULE);
    let listed = listed.chain(rules);
    let approved = approval.auto_approve.iter().filter(|item| !item.starts_with('$'));
    let approved = approved.map(|item| item.trim_start_matches('-').to_owned());
    let presets =
        approval.presets.iter().flat_map(|preset| preset.approve.iter().chain(&preset.deny));
    let listed: Vec<String> = listed.chain(approved).chain(presets.cloned()).collect();
    let is_default = |name: &String| {
        loaded.denials.get(name).is_some_and(|denied| denied.source == Source::Default)
    };
    let listed: Vec<&String> = listed.iter().filter(|name| !is_default(name)).collect();
    let flags: Vec<String> = (common.allow.iter().chain(&common.deny))
        .map(|flag| flag.split_once(':').map_or((flag.as_str(), false), |(tool, _)| (tool, true)))
        .filter(|(tool, is_rule)| !(*is_rule && tool.trim() == HOST_RULE))
        .map(|(tool, _)| tool.trim().to_owned())
        .collect();
    if flags.is_empty() && listed.is_empty() {
        return Ok(());
    }
    let own = known_names(common, loaded, project)?;
    // A tool of a server is known by the server's name: nothing is started for a flag.
    let servers = mcp::servers(&loaded.config, project)?;
    let is_served = |name: &str| {
        let server = name.split_once("__").map(|(server, _)| server);
        server.is_some_and(|server| servers.iter().any(|known| known.name == server))
    };
    for name in &flags {
        if !own.contains(name) && !is_served(name) {
            return Err(no_tool(name, &own));
        }
    }
    let is_unknown = |name: &&String| !own.contains(*name) && !is_served(name);
    let unknown: Vec<&String> = listed.into_iter().filter(is_unknown).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    // The lists name tools of every toolset.
    let all = approval::tool_names(|_| true);
    let all: Vec<String> = own.into_iter().chain(all).collect();
    let unknown: Vec<String> =
        unknown.into_iter().filter(|name| !all.contains(*name)).cloned().collect();
    for name in unknown {
        if !suggest(&name, all.iter().map(String::as_str), 1).is_empty() {
            return Err(no_tool(&name, &all).context("tools.approval"));
        }
        let name = one_line(&name);
        loaded.warnings.push(format!("tools.approval: unknown tool `{name}`"));
    }
    Ok(())
}

fn no_tool(name: &str, names: &[String]) -> anyhow::Error {
    let near = suggest(name, names.iter().map(String::as_str), 1);
    let hint = near.first().map(|near| format!("\n  hint: did you mean `{near}`?"));
    anyhow::anyhow!("unknown tool `{}`{}", one_line(name), hint.unwrap_or_default())
}

/// The scripts of the person and of a trusted project.
pub(crate) fn scripts(
    common: &Common,
    loaded: &Loaded,
    workspace: &Workspace,
    project: Option<&Project>,
) -> Result<Vec<LuaTools>> {
    let auto_approve = match approval::is_flemma_default(loaded) {
        true => vec![approval::FLEMMA_DEFAULT.to_owned()],
        false => Vec::new(),
    };
    let (config, document) = (&loaded.config, common.document.as_deref());
    lua::sources(ScriptGround { config, workspace, project, document, auto_approve: &auto_approve })
}

/// The interpreter of a document's front matter, with the person's presets.
pub(crate) fn front_matter(common: &Common) -> Result<FrontMatterScript> {
    let Settings { loaded, project } = settings(common)?;
    let workspace = workspace(common, &loaded.config)?;
    let mut presets = Map::new();
    for preset in &loaded.config.tools.approval.presets {
        let lists = json!({"approve": preset.approve, "deny": preset.deny});
        presets.insert(format!("${}", preset.name), lists);
    }
    let scripts = scripts(common, &loaded, &workspace, project.as_ref())?;
    scripts.iter().for_each(|own| presets.extend(own.presets()));
    let (config, document) = (&loaded.config, common.document.as_deref());
    let ground =
        ScriptGround { config, workspace: &workspace, project: None, document, auto_approve: &[] };
    FrontMatterScript::new(ground, &presets)
}

/// Tools of this session: the toolset's, those that others answer for, and external ones.
fn known_names(common: &Common, loaded: &Loaded, project: Option<&Project>) -> Result<Vec<String>> {
    let config = &loaded.config;
    let known = registry(config)?;
    let manual = manual(config)?.into_iter().map(|tool| tool.name);
    let external = external::discovered(project);
    let external: Vec<String> = external.names().map(str::to_owned).collect();
    let workspace = workspace(&Common { no_journal: true, ..common.clone() }, config)?;
    let scripts = scripts(common, loaded, &workspace, project)?;
    let scripts = scripts.iter().flat_map(ToolSource::names);
    Ok(known.names().iter().cloned().chain(manual).chain(external).chain(scripts).collect())
}

fn limits(loaded: &Loaded) -> Limits {
    let tools = &loaded.config.tools;
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    // A listing's numbers are caps only where somebody wrote them down.
    let written = |key: &str, number: u64| {
        let origins = loaded.provenance.get(key)?;
        let by_somebody = origins.iter().any(|origin| origin.source != Source::Default);
        by_somebody.then(|| size(number))
    };
    let list = &tools.list_directory;
    Limits {
        calls_per_batch: size(tools.max_tool_calls_per_batch),
        iterations_per_turn: size(tools.max_tool_iterations_per_user_turn),
        args_bytes: size(tools.max_tool_args_bytes),
        patch_bytes: size(tools.apply_patch.max_patch_bytes),
        read_scan_bytes: tools.read_file.max_scan_bytes,
        read_bytes: tools.read_file.max_file_read_bytes,
        output_bytes: size(tools.output.max_bytes),
        list_entries: written("tools.list_directory.max_entries", list.max_entries),
        list_depth: written("tools.list_directory.max_depth", list.max_depth),
        ..Limits::default()
    }
}

/// The tools that the configuration defines; one whose parameters are no schema stops the program,
/// since no vendor would take it and no arguments would fit it.
pub(crate) fn manual(config: &Config) -> Result<Vec<ToolDefinition>> {
    let definition = |definition: &jm_config::Definition| {
        let jm_config::Definition { name, description, parameters } = definition.clone();
        let parameters = serde_json::Value::Object(parameters);
        Schema::new(parameters.clone()).map_err(|why| {
            let name = one_line(&name);
            anyhow!("`tools.definitions`: the parameters of `{name}` are not a JSON Schema: {why}")
        })?;
        Ok(ToolDefinition { name, description, parameters, strict: None })
    };
    config.tools.definitions.iter().map(definition).collect()
}
