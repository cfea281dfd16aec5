//! The status of a tool call that has no result yet, as a placeholder writes it.

/// A placeholder's status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ToolStatus {
    /// Runs with the next request.
    Approved,
    /// Waits for the person.
    Pending,
    /// The policy refused it.
    Denied,
    /// The person refused it.
    Rejected,
    /// The conversation was stopped before it ran.
    Aborted,
}

impl ToolStatus {
    /// Every status.
    pub const ALL: [Self; 5] =
        [Self::Approved, Self::Pending, Self::Denied, Self::Rejected, Self::Aborted];

    /// The word in a placeholder.
    pub fn word(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Pending => "pending",
            Self::Denied => "denied",
            Self::Rejected => "rejected",
            Self::Aborted => "aborted",
        }
    }

    /// Reads the word of a status, or the verb that people write for it.
    pub fn read(word: &[u8]) -> Option<Self> {
        Some(match word {
            b"approved" => Self::Approved,
            b"pending" => Self::Pending,
            b"denied" | b"deny" => Self::Denied,
            b"rejected" | b"reject" => Self::Rejected,
            b"aborted" => Self::Aborted,
            _ => return None,
        })
    }

    /// The error that the model gets where nobody wrote another one.
    pub fn default_text(self) -> Option<&'static str> {
        match self {
            Self::Denied => Some("The tool was denied by a policy."),
            Self::Rejected => Some("This tool has been rejected by the user."),
            Self::Aborted => Some("Response interrupted by the user."),
            Self::Approved | Self::Pending => None,
        }
    }
}

/// The two ways in which a document writes a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PlaceholderForm {
    /// ```` ```flemma:tool status=pending ````
    #[default]
    Fence,
    /// ``**Tool Result:** `id` (pending)``
    Header,
}
