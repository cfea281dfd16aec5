//! Wording: texts that users read keep to the words of the field.
//!
//! Law: a string of the product, or a help text of the command line, holds none of the listed words.

use crate::sources::{Source, is_test, planted, product, sources};

/// Words with a plainer one: sandbox, user, resolve, undo, another program.
const UNWANTED: &[&str] = &[
    "shall",
    "walls",
    "settle",
    "settled",
    "settles",
    "take back",
    "takes back",
    "taken back",
    "took back",
    "person",
    "person's",
    "somebody",
    "nobody",
    "going on with",
    "is not understood;",
];

/// Strings that programs read, which stay as they are.
const FIXED: &[&str] =
    &["changed by somebody else", "walls.json", "settled", "layer.settled", "person"];

/// Reasons given to `ignore_error`, which nobody is shown.
const REASON: &str = "ignore_error(";

/// String literals and help texts with the number of the line where they begin.
fn user_texts(name: &str, text: &str) -> Vec<(usize, String)> {
    let is_cli = name.starts_with("crates/jm/src/cli");
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    let mut reason_lines = 0_usize;
    for (number, line) in product(text).lines().enumerate() {
        let line = if open.is_some() { line.trim_start() } else { line };
        if open.is_none() && line.trim_start().starts_with("//") {
            let help = line.trim_start().strip_prefix("///").filter(|_| is_cli);
            found.extend(help.map(|help| (number + 1, help.to_owned())));
            continue;
        }
        reason_lines = if line.contains(REASON) { 4 } else { reason_lines.saturating_sub(1) };
        let mut chars = line.chars().peekable();
        let mut before = ' ';
        while let Some(char) = chars.next() {
            match (&mut open, char) {
                (Some((_, text)), '\\') => match chars.next() {
                    Some('n') => text.push('\n'),
                    Some(other) => text.push(other),
                    None => {}
                },
                (Some(_), '"') => found.extend(open.take().filter(|_| reason_lines == 0)),
                (Some((_, text)), other) => text.push(other),
                (None, '/') if before == '/' => break,
                (None, '"') if before != '\'' && before != '\\' => {
                    open = Some((number + 1, String::new()));
                }
                (None, _) => {}
            }
            before = char;
        }
    }
    found
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part =
        |char: Option<char>| char.is_some_and(|char| char.is_alphanumeric() || char == '_');
    text.match_indices(word).any(|(at, _)| {
        !is_part(text[..at].chars().next_back()) && !is_part(text[at + word.len()..].chars().next())
    })
}

fn unwanted(sources: &[Source]) -> Vec<String> {
    let mut hits = Vec::new();
    for (name, text) in sources.iter().filter(|(name, _)| name.contains("/src/") && !is_test(name))
    {
        for (line, text) in user_texts(name, text) {
            let lower = text.to_lowercase();
            let word = UNWANTED.iter().find(|word| has_word(&lower, word));
            if let Some(word) = word.filter(|_| !FIXED.contains(&text.as_str())) {
                hits.push(format!("{name}:{line}: `{word}`: {}", text.trim()));
            }
        }
    }
    hits
}

#[test]
fn texts_for_users_keep_to_plain_words() {
    let hits = unwanted(&sources());
    assert!(hits.is_empty(), "write sandbox, user, resolve, undo, another program: {hits:#?}");
    let text = "fn a() {\n    // a person\n    say(\"is it\\\n        a person?\", \"personal\"); // nobody\n}\n";
    let found = unwanted(&planted("crates/a/src/b.rs", text));
    assert_eq!(found, ["crates/a/src/b.rs:3: `person`: is ita person?"]);
    let help = "    /// How the model shall answer\n    think: bool,\n";
    let found = unwanted(&planted("crates/jm/src/cli.rs", help));
    assert_eq!(found, ["crates/jm/src/cli.rs:1: `shall`: How the model shall answer"]);
    let reason = "    ignore_error(gone, \"nobody is there\");\n";
    assert_eq!(unwanted(&planted("crates/a/src/b.rs", reason)), Vec::<String>::new());
}
