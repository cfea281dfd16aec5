//! The parts of a document: sections of one speaker, and the blocks in them.

use crate::fence::CodeFence;
use crate::span::ByteRange;
use crate::status::ToolStatus;

/// A speaker, as role markers name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChatRole {
    /// Instructions, under `@System:`.
    System,
    /// The person, under `@You:`.
    You,
    /// The model, under `@Assistant:`.
    Assistant,
}

impl ChatRole {
    /// Every role, in the order of a usual document.
    pub const ALL: [Self; 3] = [Self::System, Self::You, Self::Assistant];

    /// The marker at the beginning of a line.
    pub fn marker(self) -> &'static str {
        match self {
            Self::System => "@System:",
            Self::You => "@You:",
            Self::Assistant => "@Assistant:",
        }
    }
}

/// Everything from one role marker to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleSection {
    /// The speaker.
    pub role: ChatRole,
    /// The marker itself, `@You:`.
    pub marker: ByteRange,
    /// From the marker to the next one.
    pub span: ByteRange,
    /// The marker's line, from 1.
    pub line: usize,
    /// The parts, in the order of the text.
    pub blocks: Vec<ChatBlock>,
}

/// A block of a section. The blank lines around it belong to none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatBlock {
    /// From the first byte of its first line to the last of its last line, without that line's end.
    pub span: ByteRange,
    /// From 1.
    pub line: usize,
    /// The form that was recognised.
    pub kind: BlockKind,
}

/// The form of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockKind {
    /// Words, fenced code among them.
    Text,
    /// A call of a tool.
    ToolUse(ToolUseBlock),
    /// A result, or the placeholder for one.
    ToolResult(ToolResultBlock),
    /// The model's thoughts.
    Thinking(ThinkingBlock),
    /// `<!-- flemma:aborted: text -->`; the range is the text.
    Aborted(ByteRange),
    /// A tool use or tool result that cannot be read; a diagnostic says why. It is not sent.
    Malformed,
}

/// A call: ``**Tool Use:** `name` (`id`)`` and a fenced block with its input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolUseBlock {
    /// The tool's name, between backticks.
    pub name: ByteRange,
    /// The vendor's id, between backticks.
    pub id: ByteRange,
    /// The arguments as JSON.
    pub input: CodeFence,
}

/// A result or the placeholder for one: ``**Tool Result:** `id` `` and a fenced block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResultBlock {
    /// The id of the call that it answers.
    pub id: ByteRange,
    /// The words in parentheses behind the id.
    pub suffix: Vec<ByteRange>,
    /// The content.
    pub fence: CodeFence,
    /// A result, a failure, or none yet.
    pub state: ResultState,
}

/// The state of an answer in the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultState {
    /// A success.
    Given,
    /// A failure, marked with `(error)`.
    Failed,
    /// No answer yet.
    Placeholder {
        /// The word in the placeholder.
        status: ToolStatus,
        /// The word to replace for another status; empty where one is to be inserted.
        word: ByteRange,
        /// The way in which the placeholder is written.
        form: crate::PlaceholderForm,
    },
}

/// `<thinking>` … `</thinking>`, each tag on its own line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThinkingBlock {
    /// The words behind `thinking` in the opening tag.
    pub attributes: ByteRange,
    /// The lines between the tags without the last line end; empty for a self-closing tag.
    pub content: ByteRange,
    /// False where the closing tag is missing.
    pub is_closed: bool,
}
