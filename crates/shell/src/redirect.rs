//! Redirections of a command: the files that it writes, or reads where that does more than read.

use crate::command_risk::{Danger, worst};
use crate::word::ShellWord;

/// A file at the end of a redirection that does more than read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileUse {
    /// As written, with the descriptor if that is not the usual one: `>`, `2>>`.
    pub(crate) operator: String,
    /// `None` when the shell will know the name only when it runs.
    pub(crate) file: Option<String>,
}

/// All redirections of one command that are not harmless.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Redirections {
    pub(crate) files: Vec<FileUse>,
    /// The reason why the input of the command may do more than be read.
    pub(crate) caution: Option<&'static str>,
}

impl FileUse {
    /// `None` when the redirection is harmless.
    pub(crate) fn new(descriptor: &str, operator: &str, target: &ShellWord) -> Option<Self> {
        let is_stream = |text: &str| text == "-" || text.chars().all(|c| c.is_ascii_digit());
        let is_harmless = match (operator, target.literal()) {
            ("<", Some(file)) => !is_socket(file),
            (">&" | "<&", Some(stream)) if is_stream(stream) => true,
            (_, Some("/dev/null" | "/dev/stdout" | "/dev/stderr")) => true,
            (_, _) => false,
        };
        let usual = if operator.starts_with('<') { "0" } else { "1" };
        let descriptor = if descriptor == usual { "" } else { descriptor };
        let file = target.literal().map(str::to_owned);
        (!is_harmless).then(|| FileUse { operator: format!("{descriptor}{operator}"), file })
    }

    fn danger(&self) -> Danger {
        let operator = self.operator.trim_start_matches(|c: char| c.is_ascii_digit());
        match (operator, &self.file) {
            ("<", Some(_)) => Danger::unknown("`<` opens a network connection"),
            // Confinement keeps a command that only reads from the network.
            ("<", None) => Danger::none(),
            (_, Some(file)) if is_socket(file) || may_be_outside(file) => {
                Danger::destructive(format!("`{operator}` writes to {file}"))
            }
            (_, Some(file)) => Danger::changes(format!("`{operator}` writes to {file}")),
            // It may be anywhere.
            (_, None) => Danger::destructive(format!("`{operator}` writes to a file")),
        }
    }
}

/// Names that may lie beyond the workspace.
fn may_be_outside(file: &str) -> bool {
    file.starts_with(['/', '~']) || file.split('/').any(|part| part == "..")
}

/// Names that bash takes for sockets.
fn is_socket(file: &str) -> bool {
    file.starts_with("/dev/tcp/") || file.starts_with("/dev/udp/")
}

impl Redirections {
    pub(crate) fn push(&mut self, file: Option<FileUse>) {
        self.files.extend(file);
    }

    pub(crate) fn caution(&mut self, why: &'static str) {
        self.caution = Some(why);
    }

    pub(crate) fn extend(&mut self, other: Redirections) {
        self.files.extend(other.files);
        self.caution = self.caution.or(other.caution);
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.files.is_empty() && self.caution.is_none()
    }

    pub(crate) fn danger(&self) -> Danger {
        let caution = self.caution.map_or_else(Danger::none, Danger::unknown);
        worst(self.files.iter().map(FileUse::danger)).and(caution)
    }
}
