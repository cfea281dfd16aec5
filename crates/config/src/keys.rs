//! Every key of the configuration, in one table.
//!
//! Law: this table is the only list of keys. Which keys exist, what they accept, what a project may
//! do with them, their variables in the environment and their documentation are all read from it.

use crate::settings::Config;
use crate::types::{Field, Joining, ProjectRight, ValueKind};

/// One setting.
#[derive(Debug)]
pub struct ConfigKey {
    /// As in `tools.sandbox.allow_absolute`.
    pub path: &'static str,
    /// One line for `jm config`.
    pub help: &'static str,
    pub(super) kind: ValueKind,
}

const MOST_CALLS: u64 = 10_000;
const MOST_ITERATIONS: u64 = 100_000;
const MOST_BYTES: u64 = 1024 * 1024 * 1024;
pub(super) const MOST_QUOTA: u64 = 1024 * MOST_BYTES;
const MOST_RESOURCE_BYTES: u64 = 1 << 50;
const MOST_SECONDS: u64 = 24 * 60 * 60;
const MOST_ENTRIES: u64 = 1_000_000;
const DEEPEST: u64 = 1_000;

pub(super) const PROFILE: &str = "profile";
pub(super) const CALLS: &str = "tools.max_tool_calls_per_batch";
pub(super) const ITERATIONS: &str = "tools.max_tool_iterations_per_user_turn";
pub(super) const ALLOWLIST: &str = "tools.approval.allowlist";
pub(super) const DENYLIST: &str = "tools.approval.denylist";
/// Tools and presets that run without asking.
pub const AUTO_APPROVE: &str = "tools.approval.auto_approve";
/// Rules that allow.
pub const ALLOW_RULES: &str = "tools.approval.allow";
/// Rules that ask.
pub const ASK_RULES: &str = "tools.approval.ask";
/// Rules that deny.
pub const DENY_RULES: &str = "tools.approval.deny";

/// Every key, a table's own keys before its sub-tables.
pub static KEYS: &[ConfigKey] = &[
    ConfigKey {
        path: "model",
        kind: ValueKind::Name { field: |config| &mut config.model },
        help: "model used without `--model`: `PROVIDER/NAME`",
    },
    ConfigKey {
        path: "toolset",
        kind: ValueKind::Word {
            field: |config| &mut config.toolset,
            project: ProjectRight::MayNotSet,
        },
        help: "dialect of tools",
    },
    ConfigKey {
        path: PROFILE,
        kind: ValueKind::Word {
            field: |config| &mut config.profile,
            project: ProjectRight::MayTighten,
        },
        help: "loop limits: `careful` is 8 calls and 4 iterations, `standard` 32 and 100; a limit set by its own key wins",
    },
    ConfigKey {
        path: "notify",
        kind: ValueKind::Word {
            field: |config| &mut config.notify,
            project: ProjectRight::MayNotSet,
        },
        help: "on the screen, at a question and at the end of a turn of more than ten seconds: `bell` rings, `desktop` sends a desktop notification (OSC 9), `off` does neither",
    },
    ConfigKey {
        path: "mcp",
        kind: ValueKind::Servers { field: |config| &mut config.mcp },
        help: "MCP servers, as tables `[mcp.NAME]` ([mcp.md](mcp.md))",
    },
    ConfigKey {
        path: "tools.mode",
        kind: ValueKind::Word {
            field: |config| &mut config.tools.mode,
            project: ProjectRight::MayTighten,
        },
        help: "`enabled` runs calls, `parse_only` shows them for you to answer, `disabled` offers no tools",
    },
    ConfigKey {
        path: "tools.allow_parallel",
        kind: ValueKind::Toggle { field: |config| &mut config.tools.allow_parallel, loose: true },
        help: "run the commands of one message in parallel, each on its own layer, kept in call order; other calls, and commands without layers, run one after another",
    },
    number(
        CALLS,
        |config| &mut config.tools.max_tool_calls_per_batch,
        MOST_CALLS,
        "calls in one batch",
    ),
    number(
        ITERATIONS,
        |config| &mut config.tools.max_tool_iterations_per_user_turn,
        MOST_ITERATIONS,
        "tool rounds after one prompt",
    ),
    number(
        "tools.max_tool_args_bytes",
        |config| &mut config.tools.max_tool_args_bytes,
        MOST_BYTES,
        "bytes of one call's arguments as JSON",
    ),
    ConfigKey {
        path: "tools.definitions",
        kind: ValueKind::Definitions { field: |config| &mut config.tools.definitions },
        help: "tools that you answer in `parse_only` mode: `name`, `description` and `parameters` (a JSON schema)",
    },
    ConfigKey {
        path: "tools.sandbox.allowed_roots",
        kind: ValueKind::List {
            field: |config| &mut config.tools.sandbox.allowed_roots,
            joining: Joining::Replaces,
            fewest: 1,
        },
        help: "directories that tools may touch; the first is where commands run",
    },
    ConfigKey {
        path: "tools.sandbox.denied_patterns",
        kind: ValueKind::List {
            field: |config| &mut config.tools.sandbox.denied_patterns,
            joining: Joining::Adds,
            fewest: 0,
        },
        help: "globs of paths that no tool may touch",
    },
    ConfigKey {
        path: "tools.sandbox.allow_absolute",
        kind: ValueKind::Toggle {
            field: |config| &mut config.tools.sandbox.allow_absolute,
            loose: true,
        },
        help: "accept absolute paths that lie beneath a root",
    },
    ConfigKey {
        path: "tools.sandbox.include_default_denies",
        kind: ValueKind::Toggle {
            field: |config| &mut config.tools.sandbox.include_default_denies,
            loose: false,
        },
        help: "deny keys, credentials and the like besides `denied_patterns`",
    },
    ConfigKey {
        path: "tools.sandbox.commands.backend",
        kind: ValueKind::Word {
            field: |config| &mut config.tools.sandbox.commands.backend,
            project: ProjectRight::MayTighten,
        },
        help: "sandbox of commands: `auto` is the strongest that works here; it names what it cannot enforce, and asks",
    },
    ConfigKey {
        path: "tools.sandbox.commands.layer",
        kind: ValueKind::Word {
            field: |config| &mut config.tools.sandbox.commands.layer,
            project: ProjectRight::MayTighten,
        },
        help: "run commands on a layer of the workspace, kept when they end, all or nothing: `auto` where that works and directly elsewhere; `on` refuses commands where it does not",
    },
    ConfigKey {
        path: "tools.sandbox.commands.network",
        kind: ValueKind::Network { field: |config| &mut config.tools.sandbox.commands.network },
        help: "network of commands: everything, nothing, or these hosts, each as `name`, `*.name` for all below it, or an address, with `:port` or `:*` if not 80 or 443; hosts given by flag are added to a list",
    },
    ConfigKey {
        path: "tools.sandbox.commands.writable",
        kind: ValueKind::List {
            field: |config| &mut config.tools.sandbox.commands.writable,
            joining: Joining::Replaces,
            fewest: 0,
        },
        help: "directories that commands may write, besides the roots",
    },
    ConfigKey {
        path: "tools.sandbox.commands.direct",
        kind: ValueKind::List {
            field: |config| &mut config.tools.sandbox.commands.direct,
            joining: Joining::Replaces,
            fewest: 0,
        },
        help: "directories of the workspace, relative to its root, that approved commands on a layer change directly: not kept or dropped with the command, and not undone",
    },
    number(
        "tools.sandbox.commands.max_processes",
        |config| &mut config.tools.sandbox.commands.max_processes,
        MOST_ENTRIES,
        "processes of a command at a time",
    ),
    number(
        "tools.sandbox.commands.max_memory_bytes",
        |config| &mut config.tools.sandbox.commands.max_memory_bytes,
        MOST_RESOURCE_BYTES,
        "bytes that one process of a command may allocate",
    ),
    number(
        "tools.sandbox.commands.max_file_bytes",
        |config| &mut config.tools.sandbox.commands.max_file_bytes,
        MOST_RESOURCE_BYTES,
        "bytes of one file that a command writes",
    ),
    number(
        "tools.timeouts.default_seconds",
        |config| &mut config.tools.timeouts.default_seconds,
        MOST_SECONDS,
        "seconds for any other tool",
    ),
    number(
        "tools.timeouts.file_operations_seconds",
        |config| &mut config.tools.timeouts.file_operations_seconds,
        MOST_SECONDS,
        "seconds for reading and changing files",
    ),
    number(
        "tools.timeouts.shell_commands_seconds",
        |config| &mut config.tools.timeouts.shell_commands_seconds,
        MOST_SECONDS,
        "seconds for a command",
    ),
    number(
        "tools.output.max_bytes",
        |config| &mut config.tools.output.max_bytes,
        MOST_BYTES,
        "bytes of one result",
    ),
    quota(
        "tools.output.keep_bytes",
        |config| &mut config.tools.output.keep_bytes,
        "bytes of each output stream kept for `jm output`; beyond that its first and last bytes",
    ),
    number(
        "tools.external.schema_seconds",
        |config| &mut config.tools.external.schema_seconds,
        MOST_SECONDS,
        "seconds for an external tool to answer `--schema`",
    ),
    ConfigKey {
        path: "tools.external.read_only",
        kind: ValueKind::List {
            field: |config| &mut config.tools.external.read_only,
            joining: Joining::Replaces,
            fewest: 0,
        },
        help: "external tools that change nothing and need no approval",
    },
    ConfigKey {
        path: "tools.lua.libraries",
        kind: ValueKind::List {
            field: |config| &mut config.tools.lua.libraries,
            joining: Joining::Replaces,
            fewest: 0,
        },
        help: "libraries beyond the harmless ones that your own `init.lua` may use: `io`, `os`",
    },
    ConfigKey {
        path: "tools.environment.denylist",
        kind: ValueKind::List {
            field: |config| &mut config.tools.environment.denylist,
            joining: Joining::Adds,
            fewest: 0,
        },
        help: "patterns of variables that a command does not inherit",
    },
    ConfigKey {
        path: "tools.approval.enabled",
        kind: ValueKind::Toggle { field: |config| &mut config.tools.approval.enabled, loose: true },
        help: "`false` refuses every call",
    },
    ConfigKey {
        path: "tools.approval.mode",
        kind: ValueKind::Word {
            field: |config| &mut config.tools.approval.mode,
            project: ProjectRight::MayTighten,
        },
        help: "`auto` runs what is not denied, `effects` runs commands on a layer and asks which changes to keep, `prompt` asks, `deny` runs only the allowlist",
    },
    ConfigKey {
        path: ALLOWLIST,
        kind: ValueKind::List {
            field: |config| &mut config.tools.approval.allowlist,
            joining: Joining::Replaces,
            fewest: 0,
        },
        help: "tools that run without asking, unless the tool itself needs approval",
    },
    ConfigKey {
        path: DENYLIST,
        kind: ValueKind::List {
            field: |config| &mut config.tools.approval.denylist,
            joining: Joining::Adds,
            fewest: 0,
        },
        help: "tools that never run; always wins",
    },
    ConfigKey {
        path: "tools.approval.prompt_side_effects",
        kind: ValueKind::Toggle {
            field: |config| &mut config.tools.approval.prompt_side_effects,
            loose: false,
        },
        help: "in `prompt` mode, ask before every call that changes something",
    },
    ConfigKey {
        path: "tools.approval.run_readers",
        kind: ValueKind::Toggle {
            field: |config| &mut config.tools.approval.run_readers,
            loose: true,
        },
        help: "in the toolset `standard`, once commands are enabled: those known to only read run without a \
               question, confined to reading",
    },
    ConfigKey {
        path: ALLOW_RULES,
        kind: ValueKind::Rules { field: |config| &mut config.tools.approval.allow, loosens: true },
        help: "rules that allow calls: `TOOL` or `TOOL: PATTERN` ([policy.md](policy.md)); one about \
               commands opts its tool in",
    },
    ConfigKey {
        path: ASK_RULES,
        kind: ValueKind::Rules { field: |config| &mut config.tools.approval.ask, loosens: false },
        help: "rules for calls that need approval in every mode",
    },
    ConfigKey {
        path: DENY_RULES,
        kind: ValueKind::Rules { field: |config| &mut config.tools.approval.deny, loosens: false },
        help: "rules for calls that never run; always win",
    },
    ConfigKey {
        path: AUTO_APPROVE,
        kind: ValueKind::List {
            field: |config| &mut config.tools.approval.auto_approve,
            joining: Joining::Replaces,
            fewest: 0,
        },
        help: "tools and presets (`$readonly`, `$default`, your own) that run without asking; `-TOOL` removes a tool; the toolset `flemma` has `$default` if nothing is set",
    },
    ConfigKey {
        path: "tools.approval.presets",
        kind: ValueKind::Presets { field: |config| &mut config.tools.approval.presets },
        help: "presets of your own: `name`, `approve` and `deny`, lists of tools",
    },
    number(
        "tools.read_file.max_file_read_bytes",
        |config| &mut config.tools.read_file.max_file_read_bytes,
        MOST_BYTES,
        "bytes that `read_file` returns of a whole file",
    ),
    number(
        "tools.read_file.max_scan_bytes",
        |config| &mut config.tools.read_file.max_scan_bytes,
        MOST_BYTES,
        "bytes that `read_file` looks through to find a range of lines",
    ),
    number(
        "tools.apply_patch.max_patch_bytes",
        |config| &mut config.tools.apply_patch.max_patch_bytes,
        MOST_BYTES,
        "bytes of one patch",
    ),
    number(
        "tools.list_directory.max_entries",
        |config| &mut config.tools.list_directory.max_entries,
        MOST_ENTRIES,
        "entries of one listing: default and maximum",
    ),
    number(
        "tools.list_directory.max_depth",
        |config| &mut config.tools.list_directory.max_depth,
        DEEPEST,
        "levels of one listing: default and maximum",
    ),
    ConfigKey {
        path: "tools.forj.stage_changes",
        kind: ValueKind::Toggle {
            field: |config| &mut config.tools.forj.stage_changes,
            loose: true,
        },
        help: "in the toolset `forj`, `git add` every file that a call changed",
    },
    quota(
        "journal.outputs_bytes",
        |config| &mut config.journal.outputs_bytes,
        "bytes of stored outputs; the oldest go first",
    ),
    quota(
        "journal.quota_bytes",
        |config| &mut config.journal.quota_bytes,
        "bytes of stored contents after `jm gc`; the oldest go first, and `jm undo` cannot restore them",
    ),
];

const fn number(
    path: &'static str,
    field: Field<u64>,
    highest: u64,
    help: &'static str,
) -> ConfigKey {
    ConfigKey { path, kind: ValueKind::Number { field, lowest: 1, highest }, help }
}

const fn quota(path: &'static str, field: Field<u64>, help: &'static str) -> ConfigKey {
    ConfigKey { path, kind: ValueKind::Quota { field }, help }
}

impl ConfigKey {
    /// The key at a path.
    pub fn find(path: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.path == path)
    }

    /// Its name in the environment, as in `JM_TOOLS_SANDBOX_ALLOW_ABSOLUTE`.
    pub fn variable(&self) -> String {
        format!("JM_{}", self.path.replace('.', "_").to_uppercase())
    }

    /// The table it stands in, empty at the top, and its name there.
    pub fn place(&self) -> (&'static str, &'static str) {
        self.path.rsplit_once('.').unwrap_or(("", self.path))
    }

    /// The values it accepts, for documentation.
    pub fn accepts(&self) -> String {
        match self.kind {
            ValueKind::Toggle { .. } => "`true` or `false`".to_owned(),
            ValueKind::Number { lowest, highest, .. } => {
                format!("whole number, {lowest} to {highest}")
            }
            ValueKind::Quota { .. } => format!("whole number, 0 to {MOST_QUOTA}"),
            ValueKind::Word { field, .. } => {
                let words = field(&mut Config::default()).words();
                format!("`{}`", words.join("`, `"))
            }
            ValueKind::Name { .. } => "string".to_owned(),
            ValueKind::List { .. } => "list of strings".to_owned(),
            ValueKind::Network { .. } => "`on`, `off` or a list of hosts".to_owned(),
            ValueKind::Definitions { .. } | ValueKind::Presets { .. } => {
                "list of tables".to_owned()
            }
            ValueKind::Servers { .. } => "table of tables".to_owned(),
            ValueKind::Rules { .. } => "list of rules".to_owned(),
        }
    }

    /// The right of a project over it before the person trusts it, for documentation.
    pub fn project_may(&self) -> String {
        match self.kind {
            ValueKind::Toggle { loose, .. } => format!("set `{}`", !loose),
            ValueKind::Number { .. } => "lower it".to_owned(),
            ValueKind::Word { project: ProjectRight::MayTighten, .. } => {
                "set only a stricter value".to_owned()
            }
            ValueKind::Network { .. } => "remove hosts".to_owned(),
            ValueKind::List { joining: Joining::Adds, .. }
            | ValueKind::Rules { loosens: false, .. } => "add entries".to_owned(),
            ValueKind::Word { project: ProjectRight::MayNotSet, .. }
            | ValueKind::Name { .. }
            | ValueKind::Quota { .. }
            | ValueKind::List { joining: Joining::Replaces, .. }
            | ValueKind::Definitions { .. }
            | ValueKind::Presets { .. }
            | ValueKind::Servers { .. }
            | ValueKind::Rules { loosens: true, .. } => "not set it".to_owned(),
        }
    }
}

/// Every table that some key stands in, the outer before the inner.
pub(super) fn tables() -> Vec<&'static str> {
    let mut tables = Vec::new();
    for key in KEYS {
        let (table, _) = key.place();
        for end in table.match_indices('.').map(|(dot, _)| dot).chain([table.len()]) {
            if end > 0 && !tables.contains(&&table[..end]) {
                tables.push(&table[..end]);
            }
        }
    }
    tables
}
