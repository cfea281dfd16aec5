//! The configuration as the rest of the program reads it.
//!
//! Law: built-in values come from [`jm_types::defaults`]. The serialised form has the shape of the
//! file, so a key's path also finds its value.

use jm_types::{Network, defaults};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Map, Value};

use crate::modes::{ApprovalMode, CommandBackend, CommandLayer, Profile, ToolsMode, Toolset};
use crate::servers::Servers;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Config {
    pub model: String,
    pub toolset: Toolset,
    pub profile: Profile,
    pub mcp: Servers,
    pub tools: ToolsSection,
    pub journal: JournalSection,
}

impl Config {
    /// The built-in values under a profile.
    pub fn of(profile: Profile) -> Self {
        let (tools, journal) = (ToolsSection::of(profile), JournalSection::default());
        let (model, toolset, mcp) = (String::new(), Toolset::default(), Servers::new());
        Self { model, toolset, profile, mcp, tools, journal }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::of(Profile::default())
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolsSection {
    pub mode: ToolsMode,
    pub allow_parallel: bool,
    pub max_tool_calls_per_batch: u64,
    pub max_tool_iterations_per_user_turn: u64,
    pub max_tool_args_bytes: u64,
    pub definitions: Vec<Definition>,
    pub sandbox: SandboxSection,
    pub timeouts: TimeoutSection,
    pub output: OutputSection,
    pub external: ExternalSection,
    pub lua: LuaSection,
    pub environment: EnvironmentSection,
    pub approval: ApprovalSection,
    pub read_file: ReadFileSection,
    pub apply_patch: ApplyPatchSection,
    pub list_directory: ListDirectorySection,
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
    pub name: String,
    pub description: String,
    /// A JSON schema.
    pub parameters: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SandboxSection {
    pub allowed_roots: Vec<String>,
    pub denied_patterns: Vec<String>,
    pub allow_absolute: bool,
    pub include_default_denies: bool,
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
    pub backend: CommandBackend,
    pub layer: CommandLayer,
    pub network: Network,
    pub writable: Vec<String>,
    pub max_processes: u64,
    pub max_memory_bytes: u64,
    pub max_file_bytes: u64,
}

impl Default for CommandSection {
    fn default() -> Self {
        Self {
            backend: CommandBackend::default(),
            layer: CommandLayer::default(),
            network: Network::default(),
            writable: Vec::new(),
            max_processes: defaults::COMMAND_PROCESSES,
            max_memory_bytes: defaults::COMMAND_MEMORY_BYTES,
            max_file_bytes: defaults::COMMAND_FILE_BYTES,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TimeoutSection {
    pub default_seconds: u64,
    pub file_operations_seconds: u64,
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutputSection {
    pub max_bytes: u64,
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExternalSection {
    pub schema_seconds: u64,
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
    pub libraries: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EnvironmentSection {
    pub denylist: Vec<String>,
}

impl Default for EnvironmentSection {
    fn default() -> Self {
        Self { denylist: owned(defaults::ENVIRONMENT_DENYLIST) }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ApprovalSection {
    pub enabled: bool,
    pub mode: ApprovalMode,
    pub allowlist: Vec<String>,
    pub denylist: Vec<String>,
    pub prompt_side_effects: bool,
    pub run_readers: bool,
    pub allow: Vec<RuleEntry>,
    pub ask: Vec<RuleEntry>,
    pub deny: Vec<RuleEntry>,
    pub auto_approve: Vec<String>,
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
    pub name: String,
    pub approve: Vec<String>,
    pub deny: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReadFileSection {
    pub max_file_read_bytes: u64,
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ApplyPatchSection {
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
    pub max_entries: u64,
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
