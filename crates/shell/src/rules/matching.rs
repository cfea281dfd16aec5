//! One compiled rule against one command.
//!
//! Law: rules that allow match narrowly, rules that ask or forbid match widely. In doubt an allow rule
//! does not match and a deny rule may.

use jm_types::Verdict;

use super::error::PatternError;
use super::pattern::{CommandPattern, PatternWord};
use super::program_options::{ActingTable, ActingWord, WordAct};
use crate::syntax::SimpleCommand;
use crate::variables::{is_hook, needs_no_spelling};
use crate::word::ShellWord;
use crate::wrappers::{Peeled, peel, usual_name};

/// Built-in commands that change the shell, so that the words after them mean something else.
const CHANGES_SHELL: &[&str] = &[
    ".",
    "alias",
    "bind",
    "compgen",
    "complete",
    "compopt",
    "coproc",
    "declare",
    "enable",
    "eval",
    "exec",
    "export",
    "fc",
    "getopts",
    "hash",
    "let",
    "local",
    "mapfile",
    "popd",
    "pushd",
    "readarray",
    "readonly",
    "shopt",
    "source",
    "trap",
    "typeset",
    "ulimit",
    "unalias",
    "unset",
];

/// A name of a built-in command that changes the shell itself.
pub(crate) fn changes_shell(name: &str) -> bool {
    CHANGES_SHELL.contains(&name)
}

/// The last component of a program's path.
pub(crate) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The directory in which a command would run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CommandPlace {
    /// The directory in which the line was started.
    Here,
    /// In a directory of the workspace that the line changes to.
    Inside,
    /// In a directory that may be anywhere; the `cd` that says so.
    Elsewhere(String),
}

/// The reason why an allow rule does not match a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mismatch {
    /// Other words; nothing worth telling.
    Words,
    Acting(ActingWord),
    Unknown,
    Script(String),
    Variable(String),
    File(String),
    Place(String),
}

impl Mismatch {
    /// The command names another program to run, or code to load.
    pub(crate) fn runs_something(&self) -> bool {
        match self {
            Mismatch::Acting(acting) => !matches!(acting.act, WordAct::Moves | WordAct::Writes),
            Mismatch::Script(_) | Mismatch::Unknown => true,
            Mismatch::Words | Mismatch::Variable(_) | Mismatch::File(_) | Mismatch::Place(_) => {
                false
            }
        }
    }
}

/// A deny or ask rule against a command whose words may not all be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WideMatch {
    No,
    Maybe,
    Yes,
}

/// A rule, ready to be matched.
#[derive(Debug, Clone)]
pub(crate) struct CompiledRule {
    pub(crate) verdict: Verdict,
    pub(crate) text: String,
    pattern: CommandPattern,
    /// The tables of the program and of one that it runs, with the place of each in the words.
    tables: Vec<(usize, ActingTable)>,
}

impl CompiledRule {
    pub(crate) fn compile(text: &str, verdict: Verdict) -> Result<Self, PatternError> {
        let pattern = CommandPattern::parse(text)?;
        let rule = Self { verdict, text: text.to_owned(), tables: tables_of(&pattern), pattern };
        if verdict == Verdict::Allow {
            rule.check_allowing()?;
        }
        Ok(rule)
    }

    /// The program's name without its directory; `None` for a rule about any program.
    pub(crate) fn program(&self) -> Option<&str> {
        self.pattern.program().map(base_name)
    }

    fn check_allowing(&self) -> Result<(), PatternError> {
        if let Some((name, _)) = self.pattern.environment.iter().find(|(name, _)| is_hook(name)) {
            return Err(PatternError::Hook(name.clone()));
        }
        let Some(program) = self.pattern.program() else {
            let only_writes = self.pattern.words.is_empty() && !self.pattern.is_open;
            return if only_writes { Ok(()) } else { Err(PatternError::NoProgram) };
        };
        if changes_shell(program) {
            return Err(PatternError::ChangesShell(program.to_owned()));
        }
        let words = self.pattern.as_words();
        let is_find = usual_name(program) == "find";
        if !is_find && !matches!(peel(&words), Peeled::Bare | Peeled::Elevated(_)) {
            return Err(PatternError::Wrapper(program.to_owned()));
        }
        let literals: Vec<Option<&str>> =
            self.pattern.words.iter().map(PatternWord::literal).collect();
        let refusal = |(at, table): &(usize, ActingTable)| {
            literals.get(*at..).and_then(|literals| table.refuses_pattern(literals))
        };
        let refused = self.tables.iter().find_map(refusal).filter(|_| self.pattern.has_star());
        if let Some(why) = refused {
            return Err(PatternError::TooWide(why));
        }
        let reads_code = |(at, table): &&(usize, ActingTable)| {
            table.reads_code(literals.get(*at..).unwrap_or_default())
        };
        if let Some((at, _)) = self.tables.iter().find(reads_code) {
            let name = literals.get(*at).copied().flatten().unwrap_or_default();
            return Err(PatternError::TooWide(format!("`{name}` runs what it reads")));
        }
        Ok(())
    }

    /// Matches only what the pattern says, with nothing beside it.
    pub(crate) fn matches_narrowly(
        &self,
        command: &SimpleCommand,
        place: &CommandPlace,
    ) -> Result<(), Mismatch> {
        let covered = self.align(&command.words)?;
        self.check_environment(command)?;
        self.check_files(command, place)?;
        self.check_place(command, place)?;
        for (at, table) in &self.tables {
            let words = command.words.get(*at..).unwrap_or_default();
            let end = self.end_of_options(words, *at, table);
            let in_reach = covered.iter().filter(|index| (*at + 1..*at + end).contains(*index));
            let covered: Vec<usize> = in_reach.map(|index| index - at).collect();
            if let Some(acting) = table.acting_word(words, &covered) {
                return Err(match acting.act {
                    WordAct::NotKnown => Mismatch::Unknown,
                    _ => Mismatch::Acting(acting),
                });
            }
            if !covered.is_empty() {
                let judged = self.unspelt_words(words, &covered);
                let danger = table.danger_of_script(&judged);
                if danger.needs_person() {
                    return Err(Mismatch::Script(danger.why));
                }
            }
        }
        Ok(())
    }

    /// The position of a `--` that the pattern spells out behind plain words; else that behind the
    /// last word. A `--` behind an option may be the option's value.
    fn end_of_options(&self, words: &[ShellWord], at: usize, table: &ActingTable) -> usize {
        let spelt = self.pattern.words.get(at..).unwrap_or_default();
        let end = spelt.iter().position(|word| word.literal() == Some("--"));
        let is_plain = |end: usize| {
            let before = spelt[..end].last().and_then(PatternWord::literal);
            before.is_some_and(|word| !word.starts_with('-')) && table.ends_options(&words[..end])
        };
        end.filter(|end| is_plain(*end)).unwrap_or(words.len())
    }

    /// The arguments without the options that the pattern spells out.
    fn unspelt_words(&self, words: &[ShellWord], covered: &[usize]) -> Vec<ShellWord> {
        let is_option = |word: &ShellWord| word.literal().is_some_and(|text| text.starts_with('-'));
        let arguments = words.iter().enumerate().skip(1);
        let kept = arguments.filter(|(at, word)| covered.contains(at) || !is_option(word));
        kept.map(|(_, word)| word.clone()).collect()
    }

    /// The positions of the words that a `*` covers.
    fn align(&self, words: &[ShellWord]) -> Result<Vec<usize>, Mismatch> {
        let pattern = &self.pattern;
        let fits = match pattern.is_open {
            true => words.len() >= pattern.words.len(),
            false => words.len() == pattern.words.len(),
        };
        let mut covered = Vec::new();
        for (at, (wanted, word)) in pattern.words.iter().zip(words).enumerate() {
            let is_same = match (wanted, word) {
                (PatternWord::Literal(wanted), ShellWord::Literal(word)) if at == 0 => {
                    usual_name(wanted) == usual_name(word)
                }
                (PatternWord::Literal(wanted), ShellWord::Literal(word)) => wanted == word,
                (PatternWord::AnyOne, ShellWord::Literal(_)) => {
                    covered.push(at);
                    true
                }
                // One word of the script may become several.
                (_, ShellWord::Begins(_) | ShellWord::Opaque) => return Err(Mismatch::Unknown),
            };
            if !is_same {
                return Err(Mismatch::Words);
            }
        }
        covered.extend(pattern.words.len()..words.len());
        if fits { Ok(covered) } else { Err(Mismatch::Words) }
    }

    fn check_environment(&self, command: &SimpleCommand) -> Result<(), Mismatch> {
        let spelt = &self.pattern.environment;
        let is_spelt = |name: &str, value: Option<&str>| {
            spelt.iter().any(|(wanted, text)| wanted == name && Some(text.as_str()) == value)
        };
        for (name, value) in &command.environment {
            let value = value.as_deref();
            if !is_spelt(name, value) && !needs_no_spelling(name, value) {
                return Err(Mismatch::Variable(name.clone()));
            }
        }
        let is_set =
            |(name, _): &(String, String)| command.environment.iter().any(|(set, _)| set == name);
        if spelt.iter().all(is_set) { Ok(()) } else { Err(Mismatch::Words) }
    }

    fn check_files(&self, command: &SimpleCommand, place: &CommandPlace) -> Result<(), Mismatch> {
        for used in &command.redirections.files {
            let is_spelt = self.pattern.files.iter().any(|(operator, file)| {
                *operator == used.operator && Some(file) == used.file.as_ref()
            });
            let file = used.file.as_deref().unwrap_or("…");
            let is_moved = *place != CommandPlace::Here && !file.starts_with('/');
            if !is_spelt || is_moved {
                return Err(Mismatch::File(format!("{} {file}", used.operator)));
            }
        }
        Ok(())
    }

    fn check_place(&self, command: &SimpleCommand, place: &CommandPlace) -> Result<(), Mismatch> {
        let literal = |at: usize| command.words.get(at).and_then(ShellWord::literal);
        // A program, or an interpreter's script.
        let is_relative = |at: usize, name: &str| {
            !name.starts_with('/') && (name.contains('/') || (at > 0 && name.contains('.')))
        };
        let named = self.tables.iter().filter_map(|(at, _)| Some((*at, literal(*at)?)));
        let mut relative = named.filter(|(at, name)| is_relative(*at, name)).map(|(_, name)| name);
        match place {
            CommandPlace::Here => Ok(()),
            CommandPlace::Inside => match relative.next() {
                Some(name) => Err(Mismatch::Place(format!("`{name}` is another file after `cd`"))),
                None => Ok(()),
            },
            CommandPlace::Elsewhere(why) => Err(Mismatch::Place(why.clone())),
        }
    }

    /// Matches the command in any place, with options, variables and files that the pattern does not
    /// name.
    pub(crate) fn matches_widely(&self, command: &SimpleCommand) -> WideMatch {
        let pattern = &self.pattern;
        let names =
            |(name, _): &(String, String)| command.environment.iter().any(|(set, _)| set == name);
        let writes = |(_, file): &(String, String)| {
            command.redirections.files.iter().any(|used| used.file.as_ref() == Some(file))
        };
        if !pattern.environment.iter().all(names) || !pattern.files.iter().all(writes) {
            return WideMatch::No;
        }
        let Some((wanted, rest)) = pattern.words.split_first() else {
            return if pattern.is_open || command.words.is_empty() {
                WideMatch::Yes
            } else {
                WideMatch::No
            };
        };
        let program = command.words.first().and_then(ShellWord::literal);
        match (wanted.literal(), program) {
            (_, None) => return WideMatch::No,
            (Some(wanted), Some(program)) if base_name(wanted) != base_name(program) => {
                return WideMatch::No;
            }
            _ => {}
        }
        self.reaches(rest, &command.words)
    }

    /// Words of the pattern found in order, where options between them, each with one value, count
    /// for nothing. Options of the pattern may stand anywhere, in any spelling.
    fn reaches(&self, wanted: &[PatternWord], words: &[ShellWord]) -> WideMatch {
        let mut reached = vec![false; words.len() + 1];
        let mut doubt = WideMatch::No;
        reached[1.min(words.len())] = true;
        for wanted in wanted {
            if let Some(option) = wanted.literal().filter(|text| text.starts_with('-')) {
                match gives_option(option, &words[1..]) {
                    WideMatch::Yes => continue,
                    WideMatch::Maybe => doubt = WideMatch::Maybe,
                    WideMatch::No => {}
                }
                reached.fill(false);
                break;
            }
            skip_options_between(&mut reached, words);
            let mut next = vec![false; words.len() + 1];
            for (at, word) in words.iter().enumerate().filter(|(at, _)| reached[*at]) {
                match (word, wanted.literal()) {
                    (ShellWord::Literal(text), Some(wanted)) => next[at + 1] |= text == wanted,
                    (ShellWord::Literal(_), None) => next[at + 1] = true,
                    (ShellWord::Begins(_) | ShellWord::Opaque, _) => doubt = WideMatch::Maybe,
                }
            }
            reached = next;
        }
        skip_options_between(&mut reached, words);
        let is_reached = match self.pattern.is_open {
            true => reached.contains(&true),
            false => reached[words.len()],
        };
        if is_reached { WideMatch::Yes } else { doubt }
    }

    /// Is named by a text that cannot be understood: its words occur there in order.
    pub(crate) fn is_named_in(&self, text: &str) -> bool {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "_./+-".contains(c);
        let mut tokens = text.split(|c| !is_part(c)).filter(|token| !token.is_empty());
        let Some(program) = self.program() else { return false };
        let others = self.pattern.words.iter().skip(1).filter_map(PatternWord::literal);
        tokens.any(|token| base_name(token) == program)
            && others
                .filter(|word| !word.starts_with('-'))
                .all(|word| tokens.any(|token| token == word))
    }
}

/// Has the option among its words: alone, joined, in a cluster or abbreviated.
fn gives_option(option: &str, words: &[ShellWord]) -> WideMatch {
    let is_it = |text: &str| {
        let is_long = option.starts_with("--");
        let name = text.split('=').next().unwrap_or_default();
        let is_abbreviated = is_long && name.len() > 2 && option.starts_with(name);
        let is_cluster = !is_long
            && option.len() == 2
            && text.starts_with('-')
            && !text.starts_with("--")
            && text.contains(&option[1..]);
        text == option || name == option || is_abbreviated || is_cluster
    };
    match words.iter().any(|word| word.literal().is_some_and(is_it)) {
        true => WideMatch::Yes,
        false if words.contains(&ShellWord::Opaque) => WideMatch::Maybe,
        false => WideMatch::No,
    }
}

fn skip_options_between(reached: &mut [bool], words: &[ShellWord]) {
    for (at, word) in words.iter().enumerate() {
        let is_option = word.literal().is_some_and(|text| text.starts_with('-'));
        if reached[at] && is_option {
            reached[at + 1] = true;
            let behind = (at + 2).min(words.len());
            reached[behind] = true;
        }
    }
}

/// The table of the program, and that of the program that it runs.
fn tables_of(pattern: &CommandPattern) -> Vec<(usize, ActingTable)> {
    let literal = |at: usize| pattern.words.get(at).and_then(PatternWord::literal);
    let mut tables = Vec::new();
    let mut at = 0;
    while let Some(name) = literal(at) {
        let table = ActingTable::of_program(base_name(name));
        let inner = table.inner_program(&pattern.as_words()[at..]).map(|inner| at + inner);
        tables.push((at, table));
        match inner {
            Some(inner) => at = inner,
            None => break,
        }
    }
    tables
}
