//! `read_file` of `standard`: text in any encoding, binary files described.

use jm_types::{Limits, ToolError};
use serde::Deserialize;
use serde_json::Value;

use super::super::args::parse_args;
use super::super::forge::read_lines;
use super::super::lowered::{Lowered, Stakes};
use super::super::row::{Row, SchemaOf, Translate};
use crate::ops::read_any::{AnyOutcome, ReadAny};
use crate::tool::Output;

pub(super) const READ_FILE: Row = Row {
    name: "read_file",
    description: "Read a file of the workspace. Text in another encoding than UTF-8 is decoded, and the \
        encoding named; a binary file is described, or with binary \"base64\" given as base64. For large \
        files give start_line and end_line.",
    schema: SchemaOf::Document(include_str!("../schemas/standard/read_file.json")),
    stakes: Stakes::READS,
    translation: &Translate { lower, raise },
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadFile {
    path: String,
    start_line: Option<u32>,
    end_line: Option<u32>,
    binary: Option<BinaryForm>,
}

/// The form in which a binary file is given.
#[derive(Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum BinaryForm {
    Describe,
    Base64,
}

fn lower(args: Value, _: &Limits) -> Result<Lowered<ReadAny>, ToolError> {
    let ReadFile { path, start_line, end_line, binary } = parse_args(args)?;
    let (read, summary) = read_lines(path, start_line, end_line)?;
    let as_base64 = binary == Some(BinaryForm::Base64);
    Ok(Lowered::new(ReadAny { read, as_base64 }, summary))
}

fn raise(outcome: AnyOutcome, _: usize) -> Result<Output, ToolError> {
    Ok(match outcome {
        AnyOutcome::Text(text) => Output::Text(text),
        AnyOutcome::Decoded { text, encoding } => {
            Output::Text(format!("[text:{encoding}]\n{text}"))
        }
        AnyOutcome::Described(text) | AnyOutcome::Base64(text) => Output::Whole(text),
    })
}
