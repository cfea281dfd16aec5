//! Options and operands that act: the table `program_options.txt`, and a rule for programs not in it.
//!
//! Law: a word that may run a program, load code, write a file or change the directory is matched
//! only by a rule that spells it out, in whichever spelling it comes: abbreviated, joined, clustered.

use super::general::acts_in_general;
use crate::command_risk::Danger;
use crate::options::{HarmlessOptions, UnknownWords};
use crate::reads::{danger_of_awk, danger_of_sed, reader_options};
use crate::word::ShellWord;

const TABLE: &str = include_str!("program_options.txt");

/// Options of git that stand before its command and change nothing that matters.
const PLAIN_BEFORE: &[&str] =
    &["--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects"];

/// The part of a command's words that a row of the table speaks of.
#[derive(Debug, Clone, PartialEq)]
enum RowScope {
    Anywhere,
    BeforeCommand,
    BehindAnyCommand,
    Behind(&'static str),
}

#[derive(Debug, Clone, PartialEq)]
enum Spelling {
    Letter(char),
    Long(&'static str),
    Dashed(&'static str),
    Start(&'static str),
    EqualsSign,
    Colon,
    Operand(&'static str),
}

#[derive(Debug, Clone)]
struct ActingRow {
    scope: RowScope,
    act: WordAct,
    spellings: Vec<Spelling>,
}

/// How the operands of a program are to be taken.
#[derive(Debug, Clone, Copy, PartialEq)]
enum OperandStanding {
    Follows,
    Exact,
    Nothing,
    /// Behind `--` no word is an option.
    Ends,
}

/// All that is known of one program's words.
#[derive(Debug, Clone, Default)]
pub(crate) struct ActingTable {
    rows: Vec<ActingRow>,
    standings: Vec<(RowScope, OperandStanding)>,
    reader: Option<HarmlessOptions>,
    script: Option<&'static str>,
    is_bundled: bool,
    is_unknown: bool,
}

/// A word that a `*` does not match, and what it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ActingWord {
    pub(crate) word: String,
    pub(crate) act: WordAct,
}

/// The effect of an option or an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordAct {
    Runs,
    Loads,
    Writes,
    Removes,
    Moves,
    RunsWhatFollows,
    MoreThanReads,
    Anything,
    /// The word is only known when the command runs.
    NotKnown,
}

impl WordAct {
    /// Completes "`-o` …".
    pub(crate) fn tell(self) -> &'static str {
        match self {
            WordAct::Runs => "runs a program",
            WordAct::Loads => "loads code or settings",
            WordAct::Writes => "writes a file",
            WordAct::Removes => "removes files",
            WordAct::Moves => "works in another directory",
            WordAct::RunsWhatFollows => "runs what follows it",
            WordAct::MoreThanReads => "may do more than read",
            WordAct::Anything => "may run, load or write something",
            WordAct::NotKnown => "is only known when it runs and may be an option",
        }
    }
}

fn act_of_kind(kind: &str) -> Option<WordAct> {
    Some(match kind {
        "runs" => WordAct::Runs,
        "loads" => WordAct::Loads,
        "writes" => WordAct::Writes,
        "removes" => WordAct::Removes,
        "moves" => WordAct::Moves,
        _ => return None,
    })
}

impl Spelling {
    fn read(text: &'static str, is_words: bool) -> Self {
        let dashed = text.strip_prefix('-');
        match (text, text.strip_prefix("--"), dashed) {
            ("=", ..) => Spelling::EqualsSign,
            (":", ..) => Spelling::Colon,
            ("+" | "@", ..) => Spelling::Start(text),
            (_, Some(long), _) => Spelling::Long(long),
            (_, None, Some(word)) => match word.chars().next() {
                Some(letter) if word.len() == 1 && !is_words => Spelling::Letter(letter),
                _ => Spelling::Dashed(word),
            },
            _ if text.ends_with('=') || text.ends_with("::") => Spelling::Start(text),
            _ => Spelling::Operand(text),
        }
    }

    /// May be written as this word.
    fn covers(&self, text: &str) -> bool {
        let name_of = |rest: &str| rest.split('=').next().unwrap_or_default().to_owned();
        match self {
            // A value joined to another letter counts too: better asked once too often.
            Spelling::Letter(letter) => {
                text.len() > 1
                    && text.starts_with('-')
                    && !text.starts_with("--")
                    && text[1..].contains(*letter)
            }
            Spelling::Long(long) => text
                .strip_prefix("--")
                .map(name_of)
                .is_some_and(|name| !name.is_empty() && long.starts_with(&name)),
            Spelling::Dashed(word) => {
                let bare = text.strip_prefix("--").or_else(|| text.strip_prefix('-'));
                bare.map(name_of).is_some_and(|name| name == *word)
            }
            Spelling::Start(start) => text.starts_with(start),
            Spelling::EqualsSign => !text.starts_with('-') && text.contains('='),
            Spelling::Colon => text.contains(':'),
            Spelling::Operand(operand) => text == *operand,
        }
    }

    /// May be what a word becomes of which only the beginning is known.
    fn may_cover(&self, beginning: &str) -> bool {
        match self {
            Spelling::Start(start) => beginning.starts_with(start) || start.starts_with(beginning),
            Spelling::EqualsSign | Spelling::Colon => true,
            Spelling::Operand(operand) => operand.starts_with(beginning),
            Spelling::Letter(_) | Spelling::Long(_) | Spelling::Dashed(_) => false,
        }
    }
}

impl ActingTable {
    /// The rows of one program, by its name without a directory.
    pub(crate) fn of_program(name: &str) -> Self {
        let mut table = ActingTable::default();
        if !table.add(name) {
            table.reader = reader_options(name);
            table.is_unknown = table.reader.is_none();
        }
        table
    }

    fn add(&mut self, program: &str) -> bool {
        let mut is_known = false;
        let lines = || TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let of_program = |key: &'static str| -> Option<RowScope> {
            let rest = key.strip_prefix(program)?;
            match rest.strip_prefix(' ') {
                None => rest.is_empty().then_some(RowScope::Anywhere),
                Some("<") => Some(RowScope::BeforeCommand),
                Some("*") => Some(RowScope::BehindAnyCommand),
                Some(command) => Some(RowScope::Behind(command)),
            }
        };
        let is_words = lines().any(|line| {
            line.strip_suffix(": words")
                .is_some_and(|keys| keys.split(',').any(|key| key == program))
        });
        for line in lines() {
            let Some((keys, rest)) = line.split_once(": ") else { continue };
            for scope in keys.split(',').filter_map(of_program) {
                is_known = true;
                self.row(scope, rest, is_words, program);
            }
        }
        is_known
    }

    fn row(&mut self, scope: RowScope, rest: &'static str, is_words: bool, program: &str) {
        let (kind, spellings) = rest.split_once(' ').unwrap_or((rest, ""));
        match kind {
            "follows" => self.standings.push((scope, OperandStanding::Follows)),
            "exact" => self.standings.push((scope, OperandStanding::Exact)),
            "ends" => self.standings.push((scope, OperandStanding::Ends)),
            "nothing" => self.standings.push((scope, OperandStanding::Nothing)),
            "script" => self.script = Some(if program == "sed" { "sed" } else { "awk" }),
            "bundle" => self.is_bundled = true,
            _ => {
                let Some(act) = act_of_kind(kind) else { return };
                let spellings = spellings.split(' ').map(|text| Spelling::read(text, is_words));
                self.rows.push(ActingRow { scope, act, spellings: spellings.collect() });
            }
        }
    }

    /// The reason why a rule with a `*` cannot be: it would allow any program or script.
    pub(crate) fn refuses_pattern(&self, literals: &[Option<&str>]) -> Option<String> {
        for (scope, operands) in &self.standings {
            let at = match scope {
                RowScope::Anywhere => Some(0),
                RowScope::Behind(command) => {
                    literals.iter().position(|word| *word == Some(*command))
                }
                RowScope::BeforeCommand | RowScope::BehindAnyCommand => None,
            };
            let Some(at) = at else { continue };
            let next = literals.get(at + 1).copied().flatten();
            let is_keyword = |word: &str| {
                let is_it = |scope: &RowScope| matches!(scope, RowScope::Behind(command) if *command == word);
                self.standings.iter().any(|(scope, _)| is_it(scope))
            };
            let spelt = literals[..=at].iter().copied().flatten().collect::<Vec<_>>().join(" ");
            match operands {
                OperandStanding::Exact => {
                    return Some(format!("an operand of `{spelt}` may run or write anything"));
                }
                OperandStanding::Follows
                    if !next.is_some_and(|word| !word.starts_with('-') || is_keyword(word)) =>
                {
                    return Some(format!("`{spelt}` runs what follows it"));
                }
                OperandStanding::Follows | OperandStanding::Nothing | OperandStanding::Ends => {}
            }
        }
        None
    }

    /// Would run what it reads from its input: an interpreter without a script.
    pub(crate) fn reads_code(&self, literals: &[Option<&str>]) -> bool {
        let is_interpreter =
            self.standings.contains(&(RowScope::Anywhere, OperandStanding::Follows));
        is_interpreter && (literals.len() < 2 || literals.contains(&Some("-")))
    }

    /// The position of the program or script that this program runs, as far as it is spelt out.
    pub(crate) fn inner_program(&self, words: &[ShellWord]) -> Option<usize> {
        let mut at = None;
        for (scope, operands) in &self.standings {
            let keyword = match scope {
                RowScope::Anywhere => Some(0),
                RowScope::Behind(command) => words.iter().position(|word| word.is(command)),
                RowScope::BeforeCommand | RowScope::BehindAnyCommand => None,
            };
            if *operands == OperandStanding::Follows {
                at = at.max(keyword.map(|keyword| keyword + 1));
            }
        }
        at.filter(|at| {
            words.get(*at).and_then(ShellWord::literal).is_some_and(|word| !word.starts_with('-'))
        })
    }

    /// The first of the covered words that acts. `covered` are positions in `words`.
    pub(crate) fn acting_word(&self, words: &[ShellWord], covered: &[usize]) -> Option<ActingWord> {
        let command = (1..words.len())
            .find(|at| words[*at].literal().is_none_or(|text| !text.starts_with('-')));
        // An option with a value before the command would make the command look like that value.
        let is_certain = words[1..command.unwrap_or(words.len())]
            .iter()
            .all(|word| word.literal().is_some_and(|text| PLAIN_BEFORE.contains(&text)));
        let name = command.and_then(|at| words[at].literal());
        let behind = |at: usize| command.is_some_and(|command| at > command);
        let applies = |scope: &RowScope, at: usize| match scope {
            RowScope::Anywhere => true,
            _ if !is_certain => true,
            RowScope::BeforeCommand => !behind(at),
            RowScope::BehindAnyCommand => behind(at),
            RowScope::Behind(command) => behind(at) && name == Some(*command),
        };
        let is_idle = |at: usize| {
            self.standings.iter().any(|(scope, operands)| {
                *operands == OperandStanding::Nothing && is_certain && applies(scope, at)
            })
        };
        let is_listed =
            |scope: &RowScope| matches!(scope, RowScope::Behind(listed) if Some(*listed) == name);
        let scopes = || {
            self.rows
                .iter()
                .map(|row| &row.scope)
                .chain(self.standings.iter().map(|(scope, _)| scope))
        };
        // An alias or a program of its own.
        let is_other =
            scopes().any(|scope| *scope == RowScope::BeforeCommand) && !scopes().any(is_listed);
        let is_unknown = self.is_unknown || is_other;
        covered.iter().find_map(|at| {
            let act = self.act(words, *at, &applies, is_idle(*at), is_unknown)?;
            let word = words[*at].literal().unwrap_or("…").to_owned();
            Some(ActingWord { word, act })
        })
    }

    fn act(
        &self,
        words: &[ShellWord],
        at: usize,
        applies: &impl Fn(&RowScope, usize) -> bool,
        is_idle: bool,
        is_unknown: bool,
    ) -> Option<WordAct> {
        let rows = self.rows.iter().filter(|row| applies(&row.scope, at));
        let mut spellings =
            rows.flat_map(|row| row.spellings.iter().map(|spelling| (row.act, spelling)));
        let text = match &words[at] {
            ShellWord::Literal(text) => text.as_str(),
            ShellWord::Begins(start) => {
                return spellings
                    .find(|(_, spelling)| spelling.may_cover(start))
                    .map(|(act, _)| act);
            }
            ShellWord::Opaque => {
                let is_harmless = is_idle || (!is_unknown && self.only_reads());
                return (!is_harmless).then_some(WordAct::NotKnown);
            }
        };
        let bundle =
            (self.is_bundled && at == 1 && !text.starts_with('-')).then(|| format!("-{text}"));
        let covers = |spelling: &Spelling| {
            spelling.covers(text) || bundle.as_ref().is_some_and(|bundle| spelling.covers(bundle))
        };
        if let Some((act, _)) = spellings.find(|(_, spelling)| covers(spelling)) {
            return Some(act);
        }
        let is_keyword = |(scope, operands): &(RowScope, OperandStanding)| {
            matches!(scope, RowScope::Behind(command) if *command == text)
                && matches!(operands, OperandStanding::Follows | OperandStanding::Exact)
        };
        if self.standings.iter().any(is_keyword) {
            return Some(WordAct::RunsWhatFollows);
        }
        if self.reader.is_some_and(|reader| !reader.admits(text)) {
            return Some(WordAct::MoreThanReads);
        }
        (is_unknown && !is_idle && acts_in_general(text)).then_some(WordAct::Anything)
    }

    /// No option of the program does more than read.
    fn only_reads(&self) -> bool {
        let harmless = UnknownWords::Harmless;
        self.rows.is_empty() && self.reader.is_some_and(|reader| reader.unknown_words == harmless)
    }

    /// Takes a `--` behind these words for the end of the options, if no option comes before it.
    pub(crate) fn ends_options(&self, before: &[ShellWord]) -> bool {
        let command = before.get(1).and_then(ShellWord::literal);
        self.standings.iter().any(|(scope, operands)| match scope {
            RowScope::Anywhere => *operands == OperandStanding::Ends,
            RowScope::Behind(listed) => {
                *operands == OperandStanding::Ends && command == Some(*listed)
            }
            RowScope::BeforeCommand | RowScope::BehindAnyCommand => false,
        })
    }

    /// The danger of a script among the operands; spelt options are not judged again.
    pub(crate) fn danger_of_script(&self, arguments: &[ShellWord]) -> Danger {
        match self.script {
            Some("sed") => danger_of_sed(arguments),
            Some(name) => danger_of_awk(name, arguments),
            None => Danger::none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_read() {
        let lines: Vec<&str> =
            TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        assert!(lines.len() > 150, "{}", lines.len());
        let alone = ["follows", "exact", "nothing", "ends", "script", "words", "bundle"];
        for line in lines {
            let (keys, rest) = line.split_once(": ").unwrap_or_default();
            let mut words = rest.split(' ');
            let kind = words.next().unwrap_or_default();
            let spellings: Vec<&str> = words.collect();
            assert!(
                keys.split(',').all(|key| !key.is_empty() && key.split(' ').count() < 3),
                "{line}"
            );
            assert_eq!(alone.contains(&kind), spellings.is_empty(), "{line}");
            assert!(alone.contains(&kind) || act_of_kind(kind).is_some(), "{line}");
            assert!(spellings.iter().all(|spelling| !spelling.is_empty()), "{line}");
        }
    }

    #[test]
    fn an_option_is_found_in_every_spelling() {
        let cases: &[(&str, &str, bool)] = &[
            ("sort", "-o", true),
            ("sort", "-ofile", true),
            ("sort", "-ro", true),
            ("sort", "--output", true),
            ("sort", "--output=x", true),
            ("sort", "--out=x", true),
            ("sort", "--o", true),
            ("sort", "--outputs", false),
            ("sort", "-r", false),
            ("sort", "o", false),
            ("sort", "--", false),
            ("sort", "-", false),
            ("go", "-exec", true),
            ("go", "--exec=x", true),
            ("go", "-count=1", false),
            ("dd", "of=x", true),
            ("dd", "if=x", false),
            ("tar", "xIf", true),
            ("tar", "xvf", false),
            ("make", "CC=x", true),
            ("make", "test", false),
            ("frobnicate", "--outDir", true),
            ("frobnicate", "--verbose", false),
            ("frobnicate", "--color=always", false),
            ("frobnicate", "-vx", true),
        ];
        for (program, word, acts) in cases {
            let words = [*program, *word].map(|word| ShellWord::Literal(word.to_owned()));
            let found = ActingTable::of_program(program).acting_word(&words, &[1]);
            assert_eq!(found.is_some(), *acts, "{program} {word}: {found:?}");
        }
    }
}
