//! The exact command, variables and input of a run, as a question shows them.
//!
//! Law: whole. Only the literal value of a known credential option or header is masked by its length;
//! no line can be taken for another.

use std::ffi::OsStr;

use jm_process::command::{CommandInput, CommandProgram};
use jm_types::text::mask_credentials;

use crate::ops::run::{MERGING, Run};
use crate::quote::{question_entry, quote_words};
use crate::tool::{Preview, ShownCommand};

impl Run {
    /// Tells whether there is nothing to show but the command and its directory.
    pub(crate) fn is_only_a_command(&self) -> bool {
        self.variables.is_empty() && matches!(self.input, CommandInput::Closed)
    }

    /// Everything that decides what it does, a line or more for each.
    pub(crate) fn exact(&self) -> String {
        self.exact_with(&mask_credentials(&self.command_text()))
    }

    /// The same with nothing masked, where something is.
    fn unmasked(&self) -> Option<String> {
        let command = self.command_text();
        (mask_credentials(&command) != command).then(|| self.exact_with(&command))
    }

    pub(crate) fn exact_preview(&self) -> Preview {
        Preview { text: self.exact(), unmasked: self.unmasked(), ..Preview::default() }
    }

    /// The command line and the directory, for the question.
    pub(crate) fn shown(&self) -> ShownCommand {
        let command = mask_credentials(&self.command_text());
        ShownCommand { command, directory: self.directory.clone() }
    }

    /// The command line as one would type it.
    fn command_text(&self) -> String {
        match &self.program {
            CommandProgram::Shell(text) => text.clone(),
            CommandProgram::Argv(words) => merged(words).unwrap_or_else(|| {
                let words: Vec<String> =
                    words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
                quote_words(&words)
            }),
        }
    }

    fn exact_with(&self, command: &str) -> String {
        let mut text = question_entry("command", command);
        if self.directory != "." {
            text.push_str(&question_entry("directory", &self.directory));
        }
        for (name, value) in &self.variables {
            let value = quote_words(std::slice::from_ref(value));
            text.push_str(&question_entry("variable", &format!("{name}={value}")));
        }
        if let CommandInput::Bytes(bytes) = &self.input {
            let name = format!("input ({} bytes)", bytes.len());
            text.push_str(&question_entry(&name, &String::from_utf8_lossy(bytes)));
        }
        text
    }
}

/// The shell command of [`Run::merged`].
fn merged(words: &[impl AsRef<OsStr>]) -> Option<String> {
    let (command, start) = words.split_last()?;
    let is_merging = start.len() == MERGING.len()
        && start.iter().zip(MERGING).all(|(word, known)| word.as_ref() == known);
    is_merging.then(|| command.as_ref().to_string_lossy().into_owned())
}
