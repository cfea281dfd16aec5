//! The six tools as programs of their own: arguments in, one JSON object out (IK-PROTO, IK-NAMES).

use jm_types::{Limits, ToolError, json};
use jm_workspace::NoLog;
use serde_json::{Value, json};

use super::ROWS;
use super::envelope::{error_json, of_tool};
use crate::context::Scope;
use crate::ops::run::Events;
use crate::tool::Output;
use crate::toolsets::Row;

/// One of the six.
#[derive(Debug, Clone, Copy)]
pub struct Program(&'static Row);

impl Program {
    /// By the name of the program, which has hyphens where the tool has underscores.
    pub fn named(name: &str) -> Option<Self> {
        ROWS.iter().find(|row| row.name.replace('_', "-") == name).map(Self)
    }

    /// The names of all programs.
    pub fn names() -> impl Iterator<Item = String> {
        ROWS.iter().map(|row| row.name.replace('_', "-"))
    }

    pub fn tool(self) -> &'static str {
        self.0.name
    }

    /// What `--schema` prints.
    pub fn schema(self) -> Result<Value, ToolError> {
        let parameters: Value = serde_json::from_str(self.0.schema)
            .map_err(|error| ToolError::failed(self.0.name, error.to_string()))?;
        let Row { name, description, .. } = self.0;
        Ok(json!({"name": name, "description": description, "parameters": parameters}))
    }

    /// Does what the arguments ask for, on this thread.
    pub fn run(self, arguments: &str, scope: &Scope) -> Value {
        match self.attempt(arguments, scope) {
            Ok(Output::Json(value)) => value,
            Ok(Output::Text(text) | Output::Whole(text)) => json!({"output": text}),
            Err(error) => {
                let (code, words) = of_tool(self.0.name, &error)
                    .unwrap_or_else(|| ("INVALID_PARAMS", error.to_string()));
                error_json(code, &words)
            }
        }
    }

    fn attempt(self, arguments: &str, scope: &Scope) -> Result<Output, ToolError> {
        let args = json::parse_strictly(arguments)
            .map_err(|error| ToolError::bad_args(format!("the input is not JSON: {error}")))?;
        let lowered = (self.0.lower)(args, &Limits::default())?;
        let outcome = lowered.operation.run(scope, Events::unheard(), &mut NoLog)?;
        (self.0.raise)(outcome, scope.output_limit)
    }
}
