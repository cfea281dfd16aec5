//! A command line as the list of its parts: every program that it would run, wrappers taken off.
//!
//! Law: nothing that would run is missing from the list. A part that cannot be understood before it
//! runs is there as an opaque one.

use crate::command_risk::{Danger, worst};
use crate::reads::danger_of_program;
use crate::redirect::Redirections;
use crate::syntax::{OUTSIDE_ASCII, SimpleCommand, Statement, statements_of};
use crate::variables::{danger_of_assigning, danger_of_setting};
use crate::word::{ShellWord, quote_word, show_words};
use crate::wrappers::{Peeled, peel};
use jm_types::text::{one_line, reveal, summarize};

/// How deep commands within commands are followed.
const DEEPEST: usize = 20;
/// The longest part shown in a reason.
const LONGEST_SHOWN: usize = 100;

/// A command line, parsed once, with the danger of each part.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandLine {
    parts: Vec<CommandPart>,
    is_ascii: bool,
}

/// One simple command of a line, or a piece of it that cannot be understood.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandPart {
    pub(crate) kind: PartKind,
    pub(crate) danger: Danger,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PartKind {
    /// Runs by itself.
    Runs(SimpleCommand),
    /// Runs within the part before it, whose rule covers it (`sudo`); only rules that forbid or ask
    /// look at it.
    Covered(SimpleCommand),
    Opaque {
        text: String,
        why: String,
    },
}

impl CommandPart {
    fn new(command: SimpleCommand, standing: Standing) -> Self {
        let danger = danger_of_command(&command);
        let kind = match standing {
            Standing::ByItself => PartKind::Runs(command),
            Standing::Covered => PartKind::Covered(command),
        };
        Self { kind, danger }
    }

    fn opaque(text: String, why: String) -> Self {
        Self { danger: Danger::opaque(why.clone()), kind: PartKind::Opaque { text, why } }
    }

    /// How harmful the part could be by itself.
    pub fn danger(&self) -> &Danger {
        &self.danger
    }

    /// Cannot be understood before it runs.
    pub fn is_opaque(&self) -> bool {
        matches!(self.kind, PartKind::Opaque { .. })
    }

    /// The part on one line, shortened in the middle.
    pub fn shown(&self) -> String {
        let text = match &self.kind {
            PartKind::Runs(command) | PartKind::Covered(command) => show_command(command),
            PartKind::Opaque { text, .. } => one_line(text),
        };
        summarize(&text, LONGEST_SHOWN).text
    }
}

fn show_command(command: &SimpleCommand) -> String {
    let environment = command.environment.iter().map(|(name, value)| match value {
        Some(value) => format!("{name}={}", quote_word(value)),
        None => format!("{name}=…"),
    });
    let words = Some(show_words(&command.words)).filter(|words| !words.is_empty());
    let files = command.redirections.files.iter().map(|used| {
        let file = used.file.as_deref().map_or("…".to_owned(), quote_word);
        format!("{} {file}", used.operator)
    });
    let pieces: Vec<String> = environment.chain(words).chain(files).collect();
    one_line(&pieces.join(" "))
}

fn danger_of_command(command: &SimpleCommand) -> Danger {
    let names = command.environment.iter().map(|(name, _)| name.as_str());
    let has_program = !command.words.is_empty();
    let set = match has_program {
        true => worst(names.map(danger_of_setting)),
        false => worst(names.map(danger_of_assigning)),
    };
    let is_ascii = command.words.iter().all(|word| word.literal().is_none_or(str::is_ascii));
    let words = if is_ascii { Danger::none() } else { Danger::unknown(OUTSIDE_ASCII) };
    let program = if has_program { danger_of_program(&command.words) } else { Danger::none() };
    set.and(command.redirections.danger()).and(program).and(words)
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Standing {
    ByItself,
    Covered,
}

impl CommandLine {
    /// Parses the text that `sh -c` or `bash -c` would get.
    pub fn of_shell(script: &str) -> Self {
        let mut line = Self { parts: Vec::new(), is_ascii: script.is_ascii() };
        line.script(script, Standing::ByItself, 0);
        line
    }

    /// Takes a program with its arguments, no shell between.
    pub fn of_argv(argv: &[String]) -> Self {
        let mut line = Self { parts: Vec::new(), is_ascii: true };
        let words = argv.iter().cloned().map(ShellWord::Literal).collect();
        let command = SimpleCommand { words, ..Default::default() };
        line.command(command, Standing::ByItself, 0);
        line
    }

    /// The line with variables set for the whole of it.
    #[must_use]
    pub fn with_environment<'a>(
        mut self,
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        for (name, value) in variables {
            for part in &mut self.parts {
                if let PartKind::Runs(command) | PartKind::Covered(command) = &mut part.kind {
                    command.environment.push((name.to_owned(), Some(value.to_owned())));
                    part.danger = danger_of_command(command);
                }
            }
        }
        self
    }

    /// The line with an input that the caller feeds to it, which may be a script for what runs.
    #[must_use]
    pub fn with_input(mut self) -> Self {
        let why = "it is fed an input, which no rule spells out".to_owned();
        // A program that is fed something is as harmful as one that runs code.
        let danger = Danger::unknown(why.clone());
        let kind = PartKind::Opaque { text: "(input)".to_owned(), why };
        self.parts.push(CommandPart { kind, danger });
        self
    }

    /// All that would run, in the order of the text.
    pub fn parts(&self) -> &[CommandPart] {
        &self.parts
    }

    /// The danger of the whole: that of its worst part.
    pub fn danger(&self) -> Danger {
        let characters =
            if self.is_ascii { Danger::none() } else { Danger::unknown(OUTSIDE_ASCII) };
        worst(self.parts.iter().map(|part| part.danger.clone())).and(characters)
    }

    fn script(&mut self, script: &str, standing: Standing, depth: usize) {
        for statement in statements_of(script) {
            match statement {
                Statement::Command(command) => self.command(command, standing, depth + 1),
                Statement::Opaque { text, why } => {
                    self.parts.push(CommandPart::opaque(text, why));
                }
            }
        }
    }

    fn command(&mut self, command: SimpleCommand, standing: Standing, depth: usize) {
        if depth > DEEPEST {
            let why = "the command is too deep to be understood".to_owned();
            return self.parts.push(CommandPart::opaque(show_command(&command), why));
        }
        let is_hidden = |word: &ShellWord| word.literal().is_some_and(|text| reveal(text) != text);
        if command.words.iter().any(is_hidden) {
            let why = "it holds characters that are not plainly visible".to_owned();
            return self.parts.push(CommandPart::opaque(show_command(&command), why));
        }
        match peel(&command.words) {
            Peeled::Bare => self.parts.push(CommandPart::new(command, standing)),
            Peeled::Opaque(why) => {
                self.parts.push(CommandPart::opaque(show_command(&command), why));
                self.carry(command, standing);
            }
            Peeled::Inner { words, environment } => {
                let mut inner = SimpleCommand { words, ..command };
                inner.environment.extend(environment);
                self.command(inner, standing, depth + 1);
            }
            Peeled::Script(script) => {
                self.carry(command, standing);
                self.script(&script, standing, depth + 1);
            }
            Peeled::Besides(commands) => {
                let environment = command.environment.clone();
                self.parts.push(CommandPart::new(command, standing));
                for words in commands {
                    let inner = SimpleCommand {
                        words,
                        environment: environment.clone(),
                        ..Default::default()
                    };
                    self.command(inner, standing, depth + 1);
                }
            }
            Peeled::Elevated(words) => {
                self.parts.push(CommandPart::new(command, standing));
                let inner = SimpleCommand { words, ..Default::default() };
                if !inner.words.is_empty() {
                    self.command(inner, Standing::Covered, depth + 1);
                }
            }
        }
    }

    /// Keeps the variables and the redirections of a command whose words are replaced by others.
    fn carry(&mut self, command: SimpleCommand, standing: Standing) {
        let SimpleCommand { environment, redirections, .. } = command;
        for variable in environment {
            // Set for a shell, it holds for all that the shell runs, so no rule spells it.
            let text = format!("{}=…", variable.0);
            let danger = danger_of_setting(&variable.0);
            if danger.needs_person() {
                self.parts.push(CommandPart::opaque(text, danger.why));
            }
        }
        if redirections != Redirections::default() {
            let command = SimpleCommand { redirections, ..Default::default() };
            self.parts.push(CommandPart::new(command, standing));
        }
    }
}

impl Danger {
    /// The danger of a program with its arguments, no shell between.
    pub fn of_argv(argv: &[String]) -> Self {
        CommandLine::of_argv(argv).danger()
    }

    /// The danger of a shell's command line.
    pub fn of_shell(script: &str) -> Self {
        CommandLine::of_shell(script).danger()
    }
}
