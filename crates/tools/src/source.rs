//! Sources of tools that are not built in, and the one rule of waiting for them.
//!
//! Law: nothing waits for a tool before a call or a listing needs it, and then no longer than its
//! source allows. A tool that is not ready by then is an error that names it and says what to do; it
//! holds up no other.

use std::path::PathBuf;
use std::sync::Arc;

use jm_types::{ErrorKind, ToolDefinition, ToolError};

use crate::registered::Registered;

/// Something that yields tools, perhaps not at once.
pub trait ToolSource: Send + Sync + std::fmt::Debug {
    /// The names that are known without waiting.
    fn names(&self) -> Vec<String>;

    /// Those of the names whose tools are known to be ready, without waiting.
    fn ready_names(&self) -> Vec<String>;

    /// Those of the names whose tools were not asked yet, and may be ready or not.
    fn unasked_names(&self) -> Vec<String>;

    /// A refusal in the envelope that the tool of that name answers in, where it is from here. Nothing
    /// is asked for that.
    fn in_own_words(&self, name: &str, refusal: ToolError) -> ToolError;

    /// The tool of that name, once it is ready or its time is up; nothing when it is not from here.
    fn find(&self, name: &str) -> Option<Result<Arc<Registered>, ToolError>>;

    /// All that are there now; those that are not ready in time with the reason. They are waited
    /// for together.
    fn listing(&self) -> Vec<Listed>;

    /// Begins with what takes time, in the background, because its tools will be needed.
    fn begin(&self) {}

    /// Forgets what its tools said of themselves, so that each is asked again.
    fn forget(&self) -> Result<(), ToolError>;
}

/// A tool as a person sees it in a list.
#[derive(Debug)]
pub struct Listed {
    /// The name that the model calls.
    pub name: String,
    /// The party that brought it.
    pub origin: Origin,
    /// The tool, or the reason why it cannot be used.
    pub tool: Result<Arc<Registered>, ToolError>,
}

/// The party that brought a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Part of the program.
    BuiltIn,
    /// A file, and whose directory it is in.
    File {
        /// System, user or project.
        place: &'static str,
        /// Absolute.
        path: PathBuf,
    },
    /// A server of tools, by its name in the configuration.
    Server(String),
}

impl Origin {
    fn phrase(&self) -> String {
        match self {
            Origin::BuiltIn => "a built-in tool".to_owned(),
            Origin::File { path, .. } => path.display().to_string(),
            Origin::Server(name) => format!("the server {name}"),
        }
    }
}

impl Listed {
    /// Two tools have one name, and the other one counts.
    pub(crate) fn hidden_by(&self, other: &Origin) -> ToolError {
        let (own, other) = (self.origin.phrase(), other.phrase());
        let message = format!("{own} has the name of {other}, which is used");
        ToolError::new(ErrorKind::NotReady { tool: self.name.clone(), message })
            .hint("rename one to use both")
    }

    /// The definition for a model; `None` when the tool cannot be used.
    pub fn definition(&self) -> Option<ToolDefinition> {
        self.tool.as_ref().ok().map(|tool| tool.definition())
    }
}
