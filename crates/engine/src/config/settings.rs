//! The configuration as the rest of the program reads it.
//!
//! Law: the built-in values stand here and nowhere else. The serialised form has the shape of the
//! file, so a key's path also finds its value.

use jm_workspace::confine::Network;
use serde::Serialize;
use serde_json::{Map, Value};

use super::modes::{ApprovalMode, CommandBackend, Profile, ToolsMode, Toolset};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Config {
    pub model: String,
    pub toolset: Toolset,
    pub profile: Profile,
    pub tools: Tools,
    pub journal: JournalSettings,
}

impl Config {
    /// The built-in values under a profile.
    pub fn of(profile: Profile) -> Self {
        let (tools, journal) = (Tools::of(profile), JournalSettings::default());
        Self { model: String::new(), toolset: Toolset::default(), profile, tools, journal }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::of(Profile::default())
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tools {
    pub mode: ToolsMode,
    pub allow_parallel: bool,
    pub max_tool_calls_per_batch: u64,
    pub max_tool_iterations_per_user_turn: u64,
    pub max_tool_args_bytes: u64,
    pub definitions: Vec<Definition>,
    pub sandbox: SandboxSettings,
    pub timeouts: TimeoutSettings,
    pub output: OutputSettings,
    pub external: ExternalSettings,
    pub environment: EnvironmentSettings,
    pub approval: ApprovalSettings,
    pub read_file: ReadFileSettings,
    pub apply_patch: ApplyPatchSettings,
    pub list_directory: ListDirectorySettings,
    pub forj: ForjSettings,
}

impl Tools {
    fn of(profile: Profile) -> Self {
        Self {
            mode: ToolsMode::default(),
            allow_parallel: false,
            max_tool_calls_per_batch: profile.max_tool_calls_per_batch(),
            max_tool_iterations_per_user_turn: profile.max_tool_iterations_per_user_turn(),
            max_tool_args_bytes: 256 * 1024,
            definitions: Vec::new(),
            sandbox: SandboxSettings::default(),
            timeouts: TimeoutSettings::default(),
            output: OutputSettings::default(),
            external: ExternalSettings::default(),
            environment: EnvironmentSettings::default(),
            approval: ApprovalSettings::default(),
            read_file: ReadFileSettings::default(),
            apply_patch: ApplyPatchSettings::default(),
            list_directory: ListDirectorySettings::default(),
            forj: ForjSettings::default(),
        }
    }
}

/// What only the toolset `forj` has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ForjSettings {
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
pub struct SandboxSettings {
    pub allowed_roots: Vec<String>,
    pub denied_patterns: Vec<String>,
    pub allow_absolute: bool,
    pub include_default_denies: bool,
    pub commands: CommandSettings,
}

impl Default for SandboxSettings {
    fn default() -> Self {
        Self {
            allowed_roots: owned(&["."]),
            denied_patterns: Vec::new(),
            allow_absolute: false,
            include_default_denies: true,
            commands: CommandSettings::default(),
        }
    }
}

/// What holds commands in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommandSettings {
    pub backend: CommandBackend,
    pub network: Network,
    pub writable: Vec<String>,
    pub max_processes: u64,
    pub max_memory_bytes: u64,
    pub max_file_bytes: u64,
}

impl Default for CommandSettings {
    fn default() -> Self {
        Self {
            backend: CommandBackend::default(),
            network: Network::default(),
            writable: Vec::new(),
            max_processes: 1024,
            max_memory_bytes: 16 << 30,
            max_file_bytes: 16 << 30,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TimeoutSettings {
    pub default_seconds: u64,
    pub file_operations_seconds: u64,
    pub shell_commands_seconds: u64,
}

impl Default for TimeoutSettings {
    fn default() -> Self {
        Self { default_seconds: 30, file_operations_seconds: 30, shell_commands_seconds: 300 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutputSettings {
    pub max_bytes: u64,
    pub keep_bytes: u64,
}

impl Default for OutputSettings {
    fn default() -> Self {
        Self { max_bytes: 100 * 1024, keep_bytes: 32 * 1024 * 1024 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JournalSettings {
    pub outputs_bytes: u64,
    pub quota_bytes: u64,
}

impl Default for JournalSettings {
    fn default() -> Self {
        Self { outputs_bytes: 256 * 1024 * 1024, quota_bytes: 4 * 1024 * 1024 * 1024 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExternalSettings {
    pub schema_seconds: u64,
    pub read_only: Vec<String>,
}

impl Default for ExternalSettings {
    fn default() -> Self {
        Self { schema_seconds: 1, read_only: Vec::new() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EnvironmentSettings {
    pub denylist: Vec<String>,
}

impl Default for EnvironmentSettings {
    fn default() -> Self {
        Self {
            denylist: owned(&[
                "*_KEY",
                "*_TOKEN",
                "*_SECRET",
                "*_PASSWORD",
                "AWS_*",
                "ANTHROPIC_*",
                "OPENAI_*",
            ]),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ApprovalSettings {
    pub enabled: bool,
    pub mode: ApprovalMode,
    pub allowlist: Vec<String>,
    pub denylist: Vec<String>,
    pub prompt_side_effects: bool,
}

impl Default for ApprovalSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            mode: ApprovalMode::default(),
            allowlist: Vec::new(),
            // A shell, by whatever name, stays denied until the person opts in (NFR-SEC-06).
            denylist: owned(&["run_command", "bash", "start_process"]),
            prompt_side_effects: true,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReadFileSettings {
    pub max_file_read_bytes: u64,
    pub max_scan_bytes: u64,
}

impl Default for ReadFileSettings {
    fn default() -> Self {
        Self { max_file_read_bytes: 200 * 1024, max_scan_bytes: 2 * 1024 * 1024 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ApplyPatchSettings {
    pub max_patch_bytes: u64,
}

impl Default for ApplyPatchSettings {
    fn default() -> Self {
        Self { max_patch_bytes: 512 * 1024 }
    }
}

/// Each value is default and hard cap at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListDirectorySettings {
    pub max_entries: u64,
    pub max_depth: u64,
}

impl Default for ListDirectorySettings {
    fn default() -> Self {
        Self { max_entries: 200, max_depth: 4 }
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
