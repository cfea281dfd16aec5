//! The configuration as the rest of the program reads it.
//!
//! Law: built-in values come from [`jm_types::defaults`]. The serialised form has the shape of the
//! file, so a key's path also finds its value.

use jm_types::{Network, defaults};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Map, Value};

use crate::modes::{
    ApprovalMode, CommandBackend, CommandLayer, Notify, Profile, ToolsMode, Toolset,
};
use crate::servers::Servers;

/// All settings, after every layer was applied.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Config {
    /// The model as the person names it; empty if none is set.
    pub model: String,
    /// The dialect of the built-in tools.
    pub toolset: Toolset,
    /// The named set of loop limits.
    pub profile: Profile,
    /// The call for somebody who looks elsewhere.
    pub notify: Notify,
    /// Servers that speak the Model Context Protocol.
    pub mcp: Servers,
    /// The `tools` table.
    pub tools: ToolsSection,
    /// The `journal` table.
    pub journal: JournalSection,
}

impl Config {
    /// The built-in values under a profile.
    pub fn of(profile: Profile) -> Self {
        let (tools, journal) = (ToolsSection::of(profile), JournalSection::default());
        let (model, toolset, mcp) = (String::new(), Toolset::default(), Servers::new());
        Self { model, toolset, profile, notify: Notify::default(), mcp, tools, journal }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::of(Profile::default())
    }
}

/// The `tools` table: limits, sandbox, approval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolsSection {
    /// Run tools, only parse calls, or neither.
    pub mode: ToolsMode,
    /// Lets vendors send several calls in one message.
    pub allow_parallel: bool,
    /// Calls beyond this number in one message are refused.
    pub max_tool_calls_per_batch: u64,
    /// Rounds of calls after one prompt, until the person is asked.
    pub max_tool_iterations_per_user_turn: u64,
    /// The longest arguments of one call.
    pub max_tool_args_bytes: u64,
    /// Tools that a person answers for, in parse-only mode.
    pub definitions: Vec<Definition>,
    /// The files that tools may reach.
    pub sandbox: SandboxSection,
    /// Deadlines by kind of tool.
    pub timeouts: TimeoutSection,
    /// The size of results, and of the outputs that are kept.
    pub output: OutputSection,
    /// Executables as tools.
    pub external: ExternalSection,
    /// Scripts of the person.
    pub lua: LuaSection,
    /// Variables that commands do not inherit.
    pub environment: EnvironmentSection,
    /// Rules that decide if a call runs.
    pub approval: ApprovalSection,
    /// Bounds of `read_file`.
    pub read_file: ReadFileSection,
    /// Bounds of patches.
    pub apply_patch: ApplyPatchSection,
    /// Bounds of listings.
    pub list_directory: ListDirectorySection,
    /// Settings of the toolset `forj`.
    pub forj: ForjSection,
}

impl ToolsSection {
    fn of(profile: Profile) -> Self {
        Self {
            mode: ToolsMode::default(),
            allow_parallel: false,
            max_tool_calls_per_batch: profile.max_tool_calls_per_batch(),
            max_tool_iterations_per_user_turn: profile.max_tool_iterations_per_user_turn(),
            max_tool_args_bytes: defaults::ARGS_BYTES,
            definitions: Vec::new(),
            sandbox: SandboxSection::default(),
            timeouts: TimeoutSection::default(),
            output: OutputSection::default(),
            external: ExternalSection::default(),
            lua: LuaSection::default(),
            environment: EnvironmentSection::default(),
            approval: ApprovalSection::default(),
            read_file: ReadFileSection::default(),
            apply_patch: ApplyPatchSection::default(),
            list_directory: ListDirectorySection::default(),
            forj: ForjSection::default(),
        }
    }
}

/// The settings of the toolset `forj` alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ForjSection {
    pub stage_changes: bool,
}

/// A tool whose results the person supplies (CFG-TOOLS-02).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Definition {
    /// The name that the model calls.
    pub name: String,
    /// The text for the model.
    pub description: String,
    /// A JSON schema.
    pub parameters: Map<String, Value>,
}

/// The `tools.sandbox` table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SandboxSection {
    /// Directories of the workspace; the first is the working directory.
    pub allowed_roots: Vec<String>,
    /// Globs of paths that no tool opens.
    pub denied_patterns: Vec<String>,
    /// Lets calls name absolute paths inside the roots.
    pub allow_absolute: bool,
    /// Keeps the built-in list of secrets in force.
    pub include_default_denies: bool,
    /// Confinement of commands.
    pub commands: CommandSection,
}

impl Default for SandboxSection {
    fn default() -> Self {
        Self {
            allowed_roots: owned(defaults::ALLOWED_ROOTS),
            denied_patterns: Vec::new(),
            allow_absolute: false,
            include_default_denies: true,
            commands: CommandSection::default(),
        }
    }
}

/// The confinement of commands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommandSection {
    /// The mechanism of confinement.
    pub backend: CommandBackend,
    /// The use of a layer for the changes of a command.
    pub layer: CommandLayer,
    /// The hosts that a command may reach.
    pub network: Network,
    /// Directories outside the workspace that a command may change.
    pub writable: Vec<String>,
    /// Directories of the workspace that a command changes directly, also on a layer.
    pub direct: Vec<String>,
    /// Processes of one command at the same time.
    pub max_processes: u64,
    /// Memory of one process, in bytes.
    pub max_memory_bytes: u64,
    /// The largest file that a command may write, in bytes.
    pub max_file_bytes: u64,
}

impl Default for CommandSection {
    fn default() -> Self {
        Self {
            backend: CommandBackend::default(),
            layer: CommandLayer::default(),
            network: Network::default(),
            writable: Vec::new(),
            direct: Vec::new(),
            max_processes: defaults::COMMAND_PROCESSES,
            max_memory_bytes: defaults::COMMAND_MEMORY_BYTES,
            max_file_bytes: defaults::COMMAND_FILE_BYTES,
        }
    }
}

/// The `tools.timeouts` table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TimeoutSection {
    /// Tools that name no time of their own.
    pub default_seconds: u64,
    /// Reads, edits and searches.
    pub file_operations_seconds: u64,
    /// Commands and tests.
    pub shell_commands_seconds: u64,
}

impl Default for TimeoutSection {
    fn default() -> Self {
        Self {
            default_seconds: defaults::CALL_SECONDS,
            file_operations_seconds: defaults::FILE_OPERATION_SECONDS,
            shell_commands_seconds: defaults::SHELL_COMMAND_SECONDS,
        }
    }
}

/// The `tools.output` table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutputSection {
    /// The longest result that the model gets; the rest is kept.
    pub max_bytes: u64,
    /// Bytes of one stream of one command that are kept on disk.
    pub keep_bytes: u64,
}

impl Default for OutputSection {
    fn default() -> Self {
        Self { max_bytes: defaults::OUTPUT_BYTES, keep_bytes: defaults::KEPT_OUTPUT_BYTES }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JournalSection {
    pub outputs_bytes: u64,
    pub quota_bytes: u64,
}

impl Default for JournalSection {
    fn default() -> Self {
        Self {
            outputs_bytes: defaults::JOURNAL_OUTPUTS_BYTES,
            quota_bytes: defaults::JOURNAL_QUOTA_BYTES,
        }
    }
}

/// The `tools.external` table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExternalSection {
    /// Seconds for a tool's answer to `--schema`.
    pub schema_seconds: u64,
    /// Tools that the person vouches for: they change nothing.
    pub read_only: Vec<String>,
}

impl Default for ExternalSection {
    fn default() -> Self {
        Self { schema_seconds: defaults::EXTERNAL_SCHEMA_SECONDS, read_only: Vec::new() }
    }
}

/// The settings of Lua scripts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LuaSection {
    /// Lua libraries beyond the harmless ones that the person's own script may use: `io`, `os`.
    pub libraries: Vec<String>,
}

/// The `tools.environment` table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EnvironmentSection {
    /// Patterns of names that are removed before a command starts.
    pub denylist: Vec<String>,
}

impl Default for EnvironmentSection {
    fn default() -> Self {
        Self { denylist: owned(defaults::ENVIRONMENT_DENYLIST) }
    }
}

/// The `tools.approval` table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ApprovalSection {
    /// False refuses every call.
    pub enabled: bool,
    /// The default answer: auto, prompt or deny.
    pub mode: ApprovalMode,
    /// Tools that run without a question.
    pub allowlist: Vec<String>,
    /// Tools that never run.
    pub denylist: Vec<String>,
    /// Mode `prompt` asks about side effects.
    pub prompt_side_effects: bool,
    /// Commands that only read run without a question.
    pub run_readers: bool,
    /// Rules that allow.
    pub allow: Vec<RuleEntry>,
    /// Rules that ask, whatever else allows.
    pub ask: Vec<RuleEntry>,
    /// Rules that deny; nothing lifts them.
    pub deny: Vec<RuleEntry>,
    /// Tools and `$PRESET`s that count as approved.
    pub auto_approve: Vec<String>,
    /// The person's own presets.
    pub presets: Vec<PresetEntry>,
}

impl Default for ApprovalSection {
    fn default() -> Self {
        Self {
            enabled: true,
            mode: ApprovalMode::default(),
            allowlist: Vec::new(),
            denylist: owned(defaults::APPROVAL_DENYLIST),
            prompt_side_effects: true,
            run_readers: true,
            allow: Vec::new(),
            ask: Vec::new(),
            deny: Vec::new(),
            auto_approve: Vec::new(),
            presets: Vec::new(),
        }
    }
}

/// A rule: `TOOL` or `TOOL: PATTERN`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleEntry {
    /// The rule as `TOOL` or `TOOL: PATTERN`.
    pub rule: String,
    /// Calls that it must match.
    pub hits: Vec<String>,
    /// Calls that it must not match.
    pub misses: Vec<String>,
}

impl RuleEntry {
    /// The tool that it speaks of.
    pub fn tool(&self) -> &str {
        self.rule.split_once(':').map_or(self.rule.as_str(), |(tool, _)| tool).trim()
    }
}

/// A rule without examples is its text alone.
impl Serialize for RuleEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.hits.is_empty() && self.misses.is_empty() {
            return serializer.serialize_str(&self.rule);
        }
        let mut fields = serializer.serialize_map(None)?;
        fields.serialize_entry("rule", &self.rule)?;
        fields.serialize_entry("match", &self.hits)?;
        fields.serialize_entry("not_match", &self.misses)?;
        fields.end()
    }
}

/// A named set of tools, used as `$NAME`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PresetEntry {
    /// The name after `$`.
    pub name: String,
    /// Tools that it allows.
    pub approve: Vec<String>,
    /// Tools that it denies.
    pub deny: Vec<String>,
}

/// The `tools.read_file` table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReadFileSection {
    /// The longest part of a file in one result.
    pub max_file_read_bytes: u64,
    /// The longest file that is searched for the lines of a range.
    pub max_scan_bytes: u64,
}

impl Default for ReadFileSection {
    fn default() -> Self {
        Self {
            max_file_read_bytes: defaults::READ_BYTES,
            max_scan_bytes: defaults::READ_SCAN_BYTES,
        }
    }
}

/// The `tools.apply_patch` table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ApplyPatchSection {
    /// The longest patch.
    pub max_patch_bytes: u64,
}

impl Default for ApplyPatchSection {
    fn default() -> Self {
        Self { max_patch_bytes: defaults::PATCH_BYTES }
    }
}

/// Each value is default and hard cap at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListDirectorySection {
    /// Entries of one result.
    pub max_entries: u64,
    /// Levels below the listed directory.
    pub max_depth: u64,
}

impl Default for ListDirectorySection {
    fn default() -> Self {
        Self { max_entries: defaults::LIST_ENTRIES, max_depth: defaults::LIST_DEPTH }
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
