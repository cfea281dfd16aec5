//! The words of the command line about the model and its task.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// The model and its parameters.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Model {
    /// Model: PROVIDER/NAME (anthropic, openai, openai-chat, gemini, vertex …), fenced:NAME for
    /// one that has no tools of its own, or script:FILE
    /// [default: the configuration's `model`]
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Reasoning effort
    #[arg(long, value_name = "LEVEL")]
    pub(crate) thinking: Option<ThinkingLevel>,
    /// Maximum tokens of one answer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_tokens: Option<u32>,
    /// Sampling temperature: 0 is the least random; most providers accept up to 1 or 2
    #[arg(long, value_name = "T", value_parser = temperature)]
    pub(crate) temperature: Option<f64>,
    /// Maximum tool rounds after one prompt
    #[arg(long, value_name = "N")]
    pub(crate) max_iterations: Option<usize>,
    /// How the model calls tools: natively, or in fenced blocks of its text
    #[arg(long, value_name = "PROTOCOL", default_value = "native")]
    pub(crate) tool_protocol: ToolProtocol,
    /// Record the provider's traffic, without keys, in a new file for --model script:FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
}

fn temperature(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().map_err(|error| error.to_string())?;
    let is_one = number.is_finite() && number >= 0.0;
    is_one.then_some(number).ok_or_else(|| "expected a number of 0 or more".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct ModelsArgs {
    /// Only those whose name contains this
    pub(crate) search: Option<String>,
    /// Print JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolProtocol {
    #[default]
    Native,
    /// For models without tools of their own
    Fenced,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ThinkingLevel {
    Off,
    Minimal,
    Low,
    Medium,
    High,
    Max,
}

#[derive(Debug, Default, Args)]
pub(crate) struct RunArgs {
    /// Task; piped standard input is appended
    pub(crate) prompt: Vec<String>,
    #[command(flatten)]
    pub(crate) model: Model,
    /// Continue this session's conversation
    #[arg(long, value_name = "ID", conflicts_with = "no_journal")]
    pub(crate) resume: Option<String>,
    /// The result of a call that waits in parse-only mode (repeatable)
    #[arg(long, value_name = "ID=TEXT", requires = "resume")]
    pub(crate) result: Vec<String>,
    /// Results of waiting calls from FILE, or `-` for standard input: a JSON object of ids and texts,
    /// or one such object a line
    #[arg(long, value_name = "FILE", requires = "resume")]
    pub(crate) results: Option<PathBuf>,
    /// Events as JSON, one object a line
    #[arg(long)]
    pub(crate) json: bool,
    /// Answers to questions from FILE, or `-` for standard input, one JSON object a line; questions are
    /// events of `--json`
    #[arg(long, value_name = "FILE", requires = "json")]
    pub(crate) answers: Option<PathBuf>,
    /// The final answer must be JSON that this schema accepts; nothing else goes to standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) output_schema: Option<PathBuf>,
    /// Show the model this picture too (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Vec<PathBuf>,
}
