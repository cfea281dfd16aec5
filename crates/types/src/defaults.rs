//! The built-in values of every number that a person can set, in one table.
//!
//! Law: a default stands here and nowhere else. [`crate::Limits`], the configuration and the
//! confinement of commands read it from here.

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const GIB: u64 = 1024 * MIB;

/// The loop limits of the profile `careful`, which are those of the requirements (FR-LIM-01, FR-LIM-02).
pub const CAREFUL_CALLS_PER_BATCH: u64 = 8;
/// Rounds of calls after one prompt, profile `careful`.
pub const CAREFUL_ITERATIONS_PER_TURN: u64 = 4;
/// The loop limits of the profile `standard`.
pub const STANDARD_CALLS_PER_BATCH: u64 = 32;
/// Rounds of calls after one prompt, profile `standard`.
pub const STANDARD_ITERATIONS_PER_TURN: u64 = 100;

/// FR-LIM-03
pub const ARGS_BYTES: u64 = 256 * KIB;
/// FR-LIM-04
pub const PATCH_BYTES: u64 = 512 * KIB;
/// The longest file that is searched for the lines of a range.
pub const READ_SCAN_BYTES: u64 = 2 * MIB;
/// The longest part of a file in one result.
pub const READ_BYTES: u64 = 200 * KIB;
/// The longest result that a model gets.
pub const OUTPUT_BYTES: u64 = 100 * KIB;
/// The part of a model's context that one result may take when nothing better is known (FR-REG-04b).
pub const CAPACITY_BYTES: u64 = 64 * KIB;
/// Entries of one listing.
pub const LIST_ENTRIES: u64 = 200;
/// Levels below a listed directory.
pub const LIST_DEPTH: u64 = 4;

/// Seconds that a call, an operation on files and a command may take (CFG-TMO-01a).
pub const CALL_SECONDS: u64 = 30;
/// Seconds for a read, an edit or a search.
pub const FILE_OPERATION_SECONDS: u64 = 30;
/// Seconds for a command.
pub const SHELL_COMMAND_SECONDS: u64 = 300;
/// Seconds that an external tool may take to say what it is.
pub const EXTERNAL_SCHEMA_SECONDS: u64 = 1;
/// For a server of tools to start, and for one call of it.
pub const MCP_START_SECONDS: u64 = 30;
/// Seconds for one call of a tool server.
pub const MCP_CALL_SECONDS: u64 = 120;

/// The resources of one command.
pub const COMMAND_PROCESSES: u64 = 1024;
/// Memory of one process of a command.
pub const COMMAND_MEMORY_BYTES: u64 = 16 * GIB;
/// The largest file that a command may write.
pub const COMMAND_FILE_BYTES: u64 = 16 * GIB;

/// The bytes that are kept of one command's output, of all outputs together, and of the journal.
pub const KEPT_OUTPUT_BYTES: u64 = 32 * MIB;
/// Bytes of all kept outputs together.
pub const JOURNAL_OUTPUTS_BYTES: u64 = 256 * MIB;
/// The size of the journal at which old contents go.
pub const JOURNAL_QUOTA_BYTES: u64 = 4 * GIB;

/// Variables that commands do not get.
pub const ENVIRONMENT_DENYLIST: &[&str] =
    &["*_KEY", "*_TOKEN", "*_SECRET", "*_PASSWORD", "AWS_*", "ANTHROPIC_*", "OPENAI_*"];
/// A shell, by whatever name, stays denied until the person opts in (NFR-SEC-06).
pub const APPROVAL_DENYLIST: &[&str] = &["run_command", "bash", "start_process"];
/// The workspace roots: the working directory.
pub const ALLOWED_ROOTS: &[&str] = &["."];
