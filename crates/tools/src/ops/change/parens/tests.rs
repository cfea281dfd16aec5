//! The checker against a table, and against Emacs itself.

use std::process::Command;

use super::*;

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum Verdict {
    Balanced,
    Unbalanced,
}
use Verdict::{Balanced, Unbalanced};

fn verdict(text: &str) -> Verdict {
    if check(text).is_empty() { Balanced } else { Unbalanced }
}

/// Texts that simple checkers get wrong.
const HARD: &[(&str, Verdict)] = &[
    ("", Balanced),
    ("; (", Balanced),
    ("(a ?( b)", Balanced),
    ("(a ?\\) b)", Balanced),
    ("(a ?\\\" b)", Balanced),
    ("(a ?\" b)", Balanced),
    ("(a ?\\\\ b)", Balanced),
    ("(a ?; b)", Balanced),
    ("(a ?\\; b)", Balanced),
    ("(a ?[ ?])", Balanced),
    ("(list ? )", Balanced),
    ("\"a\\\\\"", Balanced),
    ("\"a\\\"", Unbalanced),
    ("\"a;(\"", Balanced),
    ("\";\" (", Unbalanced),
    ("(a ; )\n)", Balanced),
    ("(a ; )", Unbalanced),
    ("(a?)", Balanced),
    ("(a?( b))", Balanced),
    ("(a\"b\"?()", Balanced),
    ("?\\C-\\M-(", Balanced),
    ("?\\C-(", Balanced),
    ("?\\^(", Balanced),
    ("?\\s-(", Balanced),
    ("?\\s(a)", Balanced),
    ("?\\x28(a)", Balanced),
    ("?\\50(a)", Balanced),
    ("?\\500?(", Balanced),
    ("?\\N{LEFT PARENTHESIS}", Balanced),
    ("(a .?( )", Balanced),
    ("(a #x1f?( )", Balanced),
    ("#24r1k?(", Balanced),
    ("#:?(a)", Balanced),
    ("#_?(a)", Balanced),
    ("##(a)", Balanced),
    ("#s(a b)", Balanced),
    ("#&3\"a\"", Balanced),
    ("#1=(a #1#)", Balanced),
    ("#!emacs (\n(a)", Balanced),
    ("#'(lambda ())", Balanced),
    ("\\(", Balanced),
    ("a\\(b", Balanced),
    ("a\\", Unbalanced),
    ("?", Unbalanced),
    ("?\\", Unbalanced),
    ("?\\C-", Balanced),
    ("?\\M-", Balanced),
    ("?\\^", Balanced),
    ("?\\C-\\", Unbalanced),
    ("(?\\C-", Unbalanced),
    ("{", Balanced),
    ("(}", Unbalanced),
    ("(]", Unbalanced),
    ("[(])", Unbalanced),
    ("|(|", Unbalanced),
    ("(a ')", Unbalanced),
    ("`(a ,@)", Unbalanced),
    ("'", Unbalanced),
    ("\u{a0}(a)", Balanced),
    ("(ä ?ß ?\u{1f600} \"λ\")", Balanced),
];

#[test]
fn hard_cases() {
    for (text, expected) in HARD {
        assert_eq!(verdict(text), *expected, "{text:?}");
    }
    let texts: Vec<String> = HARD.iter().map(|(text, _)| (*text).to_owned()).collect();
    for ((text, expected), [read, _]) in HARD.iter().zip(emacs(&texts)) {
        assert_eq!(read, word(*expected), "{text:?}");
    }
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Balanced => "balanced",
        Unbalanced => "unbalanced",
    }
}

/// Asks a real Emacs, once for all texts: what the reader says, what `check-parens` says.
fn emacs(texts: &[String]) -> Vec<[String; 2]> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("texts.json");
    std::fs::write(&file, serde_json::to_vec(texts).unwrap()).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/src/ops/change/parens/oracle.el");
    let output = Command::new("emacs")
        .args(["-Q", "--batch", "-l", script])
        .arg(&file)
        .env("LC_ALL", "C.UTF-8")
        .output()
        .expect("this test needs emacs (the package emacs-nox)");
    let said: Vec<[String; 2]> = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(said.len(), texts.len());
    said
}

/// A small generator whose texts are the same on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len())]
    }
}

/// Atoms that both the reader and we must understand.
const ATOMS: &[&str] = &[
    "a",
    "foo-bar",
    "-12",
    "nil",
    "a?",
    "x\\(y",
    "\\?",
    "?a",
    "?(",
    "?)",
    "?\\(",
    "?\\)",
    "?[",
    "?\"",
    "?\\\"",
    "?;",
    "?\\\\",
    "?\\C-(",
    "?\\M-\\C-)",
    "?\\^[",
    "?\\s-)",
    "?\\x28",
    "?\\50",
    "?\\u0028",
    "?\\N{LEFT PARENTHESIS}",
    "? ",
    "\"\"",
    "\"a\\\\\"",
    "\"\\\"(\"",
    "\";)\"",
    "\"a\nb]\"",
    "\"\\M-a\"",
    "#'car",
    "##",
    "#:sym",
    "#x1f",
    "#b101",
    "#24r1k",
    ":key",
    "{",
    "}",
    "a{b}",
    "λ",
    "\"ß(\"",
    "#s(r 1)",
    "#(\"s\" 0 1 nil)",
    "'q",
    "'(1)",
    "`(a ,b ,@c)",
    "; c (\n",
    ";;; \"\n",
    "#!x (\n",
];
/// Without question marks and quotes, which `check-parens` reads otherwise than the reader.
const PLAIN_ATOMS: &[&str] = &[
    "a",
    "-12",
    "x\\(y",
    "\"\"",
    "\"a\\\\\"",
    "\"\\\"(\"",
    "\";)\"",
    "#x1f",
    ":key",
    "; c (\n",
    "#|",
    "|#",
    "#| a |#",
    "|",
    "#",
    "\\;",
    "\"#|\"",
];
const SPACES: &[&str] = &[" ", "\n", "  ", "\t", "\n\n"];
const BROKEN: &[&str] = &[
    "(", ")", "[", "]", "\"", "\\", "?", ";", "\n", "'", "#", " ", "?(", "?\\", "\\\\", "\\\"",
    "|", "C-", "\\C-",
];

fn form(dice: &mut Dice, atoms: &[&str], depth: usize) -> String {
    if depth == 0 || dice.roll(3) == 0 {
        return dice.pick(atoms).to_owned();
    }
    let (open, close) = if dice.roll(4) == 0 { ("[", "]") } else { ("(", ")") };
    let mut text = open.to_owned();
    for _ in 0..dice.roll(5) {
        text.push_str(&form(dice, atoms, depth - 1));
        text.push_str(dice.pick(SPACES));
    }
    text + close
}

/// A few characters put in, taken out or exchanged.
fn mutated(dice: &mut Dice, text: &str) -> String {
    let mut characters: Vec<String> = text.chars().map(String::from).collect();
    for _ in 0..=dice.roll(3) {
        let at = dice.roll(characters.len() + 1);
        match dice.roll(3) {
            0 => characters.insert(at, dice.pick(BROKEN).to_owned()),
            1 if at < characters.len() => {
                characters.remove(at);
            }
            _ if at < characters.len() => characters[at] = dice.pick(BROKEN).to_owned(),
            _ => {}
        }
    }
    characters.concat()
}

fn texts(dice: &mut Dice, atoms: &[&str], count: usize) -> Vec<String> {
    let mut texts = Vec::new();
    while texts.len() < count {
        let forms: Vec<String> = (0..=dice.roll(3)).map(|_| form(dice, atoms, 4)).collect();
        let whole = forms.join("\n");
        texts.push(mutated(dice, &whole));
        texts.push(whole);
    }
    texts
}

/// The texts on which Emacs gives a verdict about balance, and how many of each kind there were.
fn compare(texts: &[String], said: impl Fn(&[String; 2]) -> &str) -> (usize, usize) {
    let (mut balanced, mut unbalanced) = (0, 0);
    for (text, answer) in texts.iter().zip(emacs(texts)) {
        let expected = match said(&answer) {
            "balanced" => Balanced,
            "unbalanced" => Unbalanced,
            // Balanced or not, the reader stopped for another reason before it knew.
            _ => continue,
        };
        assert_eq!(verdict(text), expected, "{text:?}: {:#?}", check(text));
        match expected {
            Balanced => balanced += 1,
            Unbalanced => unbalanced += 1,
        }
    }
    (balanced, unbalanced)
}

#[test]
fn two_thousand_texts_are_judged_as_emacs_reads_them() {
    let texts = texts(&mut Dice(0x5eed_1234_abcd), ATOMS, 3600);
    let (balanced, unbalanced) = compare(&texts, |[read, _]| read);
    assert!(balanced + unbalanced >= 2000, "only {balanced} and {unbalanced} were comparable");
    assert!(balanced >= 600 && unbalanced >= 600, "{balanced} balanced, {unbalanced} not");
}

#[test]
fn texts_without_characters_are_judged_as_check_parens_does() {
    let mut texts = texts(&mut Dice(0xfeed_4321), PLAIN_ATOMS, 1200);
    texts.retain(|text| !text.contains(['?', '\'']) && !text.contains("\\C-"));
    // `check-parens` lets a bracket close a parenthesis.
    texts.iter_mut().for_each(|text| *text = text.replace('[', "(").replace(']', ")"));
    let (balanced, unbalanced) = compare(&texts, |[_, check]| check);
    assert!(balanced >= 200 && unbalanced >= 200, "{balanced} balanced, {unbalanced} not");
}

#[test]
fn an_imbalance_says_where_and_what() {
    let found = |text: &str| -> Vec<String> {
        check(text)
            .iter()
            .map(|one| format!("{}:{} {} | {}", one.line, one.column, one.message, one.suggestion))
            .collect()
    };
    assert_eq!(
        found("(a)\n  b)"),
        ["2:4 Unexpected closing parenthesis | Remove ')' at line 2, column 4"]
    );
    assert_eq!(
        found("(a [b)"),
        ["1:6 Unmatched closing parenthesis, expected ']' for opening at line 1, column 4 | \
             Replace ')' with ']' at line 1, column 6"]
    );
    assert_eq!(
        found("(defun a ()\n  (b)\n\n(defun c ())\n"),
        ["1:1 Unclosed parenthesis at line 1, column 1 | Add closing ')' for '(' at line 1, \
             column 1, perhaps before line 4, where another form begins"]
    );
    assert_eq!(
        found("x \"y"),
        ["1:3 Unclosed string literal starting at line 1, column 3 | Add closing quote for the \
             string at line 1, column 3"]
    );
    assert_eq!(check(&"(".repeat(10_000)).len(), MOST);
    let first = &check("(]")[0];
    assert_eq!((first.expected, first.found), (Some(')'), Some(']')));
}
