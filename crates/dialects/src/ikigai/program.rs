//! The six tools as programs of their own: arguments in, one JSON object out (IK-PROTO, IK-NAMES).

use jm_tools::toolsets::{Row, parse_args};
use jm_tools::{Output, Scope};
use jm_types::{ToolError, json};
use serde_json::{Value, json};

use super::envelope::{error_json, tool_error};
use super::manual_run;
use super::tools::{Bash, FileWrite, ROWS, bash_form, written_form};

/// One of the six.
#[derive(Debug, Clone, Copy)]
pub struct ToolProgram(&'static Row);

impl ToolProgram {
    /// By the name of the program, which has hyphens where the tool has underscores.
    pub fn named(name: &str) -> Option<Self> {
        ROWS.iter().find(|row| row.name.replace('_', "-") == name).map(Self)
    }

    /// The names of all programs.
    pub fn names() -> impl Iterator<Item = String> {
        ROWS.iter().map(|row| row.name.replace('_', "-"))
    }

    /// The name of the tool, with underscores.
    pub fn tool(self) -> &'static str {
        self.0.name
    }

    /// The JSON that `--schema` prints.
    pub fn schema(self) -> Result<Value, ToolError> {
        let parameters = self
            .0
            .schema
            .value()
            .map_err(|error| ToolError::failed(self.0.name, error.to_string()))?;
        let Row { name, description, .. } = self.0;
        Ok(json!({"name": name, "description": description, "parameters": parameters}))
    }

    /// Does what the arguments ask for, on this thread.
    pub fn run(self, arguments: &[u8], scope: &Scope) -> Value {
        match self.attempt(arguments, scope) {
            Ok(Output::Json(value)) => value,
            Ok(Output::Text(text) | Output::Whole(text)) => json!({"output": text}),
            Err(error) => {
                let (code, words) = tool_error(self.0.name, &error)
                    .unwrap_or_else(|| ("INVALID_PARAMS", error.to_string()));
                error_json(code, &words)
            }
        }
    }

    fn attempt(self, arguments: &[u8], scope: &Scope) -> Result<Output, ToolError> {
        let text = std::str::from_utf8(arguments).map_err(|error| {
            let at = error.valid_up_to();
            ToolError::bad_args(format!("the input is not JSON: byte {at} is not UTF-8"))
        })?;
        let args = json::parse_strictly(text)
            .map_err(|error| ToolError::bad_args(format!("the input is not JSON: {error}")))?;
        match self.0.name {
            "bash" => bash(args, scope),
            "file_write" => file_write(args),
            // What the document says of the others is what the engine does too.
            _ => self.0.translation.perform_here(args, scope),
        }
    }
}

/// Runs a command with popen(3).
fn bash(args: Value, scope: &Scope) -> Result<Output, ToolError> {
    let args: Bash = parse_args(args)?;
    let popened = manual_run::popen(&args.run()?, scope);
    let output = String::from_utf8_lossy(&popened.output);
    let output = output.strip_suffix('\n').unwrap_or(&output);
    Ok(Output::Json(bash_form(output, popened.exit_code)))
}

/// Writes a file with fopen(3), which keeps the file and changes its content.
fn file_write(args: Value) -> Result<Output, ToolError> {
    let FileWrite { file_path, content } = parse_args(args)?;
    manual_run::overwrite(&file_path, content.as_bytes())?;
    Ok(Output::Json(written_form(&file_path, content.len())))
}
