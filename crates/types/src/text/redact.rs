//! Secrets taken out of what is shown, logged or stored.
//!
//! Law: a known secret value never survives, nor does anything that has the shape of one. Outside a
//! private key a shape is one word without shell characters, so that `token=$(rm -rf ~)` cannot
//! hide a command from the person who approves it.

use super::credentials::credential_spans;
use regex::Regex;
use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

/// The text that stands where a secret was.
const REDACTED: &str = "[redacted]";
/// Shorter values are too likely to be part of something innocent.
const SHORTEST_VALUE: usize = 8;

/// Removes the secrets of one environment and whatever looks like a secret.
#[derive(Default)]
pub struct Redactor {
    values: Vec<String>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Redactor({} values)", self.values.len())
    }
}

impl Redactor {
    /// Knows these values by heart; those shorter than eight bytes are ignored.
    pub fn new<I>(values: I) -> Self
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let mut values: Vec<String> = values
            .into_iter()
            .map(|value| value.as_ref().trim().to_owned())
            .filter(|value| value.len() >= SHORTEST_VALUE)
            .collect();
        values.sort();
        values.dedup();
        Self { values }
    }

    /// Replaces known secrets, and texts of the shape of one.
    pub fn redact(&self, text: &str) -> String {
        let mut spans = shaped_spans(text);
        for value in &self.values {
            spans
                .extend(text.match_indices(value).map(|(start, found)| start..start + found.len()));
        }
        replace(text, spans)
    }
}

/// Removes whatever looks like a secret.
pub fn redact(text: &str) -> String {
    replace(text, shaped_spans(text))
}

/// The same of a command line, whose options, headers and addresses may hold credentials of any shape.
pub fn redact_command(command: &str) -> String {
    replace(command, [shaped_spans(command), credential_spans(command)].concat())
}

/// True if a value contains something that has the shape of a secret.
pub fn looks_like_secret(value: &str) -> bool {
    !shaped_spans(value).is_empty()
}

fn replace(text: &str, mut spans: Vec<Range<usize>>) -> String {
    spans.sort_by_key(|span| span.start);
    let mut shown = String::with_capacity(text.len());
    let mut shown_to = 0;
    for span in spans {
        if span.start >= shown_to {
            shown.push_str(&text[shown_to..span.start]);
            shown.push_str(REDACTED);
        }
        // Spans may overlap; one mark then stands for all of them.
        shown_to = shown_to.max(span.end);
    }
    shown.push_str(&text[shown_to..]);
    shown
}

/// One way in which secrets are written.
struct Shape {
    /// The secret is the group that took part, or the whole match. `{NAME}`, `{CHAR}` and `{GAP}`
    /// stand for the constants below.
    pattern: &'static str,
    /// The check that an expression cannot express: tells a secret from a word in the same place.
    is_secret: fn(&str) -> bool,
    expression: OnceLock<Option<Regex>>,
}

/// Names of secrets.
const NAME: &str = r"(?i-u:(?:passw(?:or)?d|passphrase|secret|token|(?:api|access|private)[_-]?key)(?:[_-]?(?:access[_-]?)?key|[_-]?value)?)";
/// A character of a secret: neither blank nor anything that a shell would act on.
const CHAR: &str = r#"[^\x00-\x20\x7f"'`$;|&<>(){}\[\]\\,]"#;
/// Text that may stand between the lines of a private key, also in a string or a diff.
const GAP: &str = r#"(?:\\[nr]|[ \t\r\n"',+-])*"#;

/// Words, in lower case, without which a text needs no search, and no expression is compiled.
type Triggers = &'static [&'static str];

/// Secrets known by what they look like or stand in.
static SHAPES: [(Triggers, Shape); 9] = [
    (
        &["private key"],
        Shape::new(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:{GAP}[A-Za-z-]{1,20}:[ -\[\]-~]{0,120})*{GAP}(?:([A-Za-z0-9+/=]{16,}(?:{GAP}[A-Za-z0-9+/=]{16,})*{GAP}[A-Za-z0-9+/=]{1,15}){GAP}-----|([A-Za-z0-9+/=]{16,}(?:{GAP}[A-Za-z0-9+/=]{16,})*))",
            always,
        ),
    ),
    (&["sk-"], Shape::new(r"(?-u:\b)sk-[A-Za-z0-9_-]{16,}", is_random)),
    (&["k_live_", "k_test_"], Shape::new(r"[sr]k_(?:live|test)_[A-Za-z0-9]{10,}", always)),
    (
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "npm_", "hf_", "pypi-"],
        Shape::new(
            r"gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,}|(?:npm|hf)_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{40,}",
            is_random,
        ),
    ),
    (&["akia", "asia"], Shape::new(r"(?:AKIA|ASIA)[A-Z0-9]{16}", always)),
    (
        &["xox", "aiza"],
        Shape::new(r"xox[abeoprs]-[A-Za-z0-9-]{10,}|AIza[A-Za-z0-9_-]{30,}", is_random),
    ),
    (
        &["eyj"],
        Shape::new(r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+)*", is_random),
    ),
    (
        &["bearer", "authorization"],
        Shape::new(
            r#"(?i-u)(?:\bbearer|authorization["']?\s*[:=]\s*["']?(?:basic|token))\s+([a-z0-9._~+/=-]{8,})"#,
            has_digit,
        ),
    ),
    // Everything up to the last `@` is not the host, which stays visible: it is the destination.
    (
        &["://"],
        Shape::new(
            r#"://[^\x00-\x20/?#@:"'`$;|&<>(){}\[\]\\]*:([^\x00-\x20/?#"'`$;|&<>(){}\[\]\\]+)@"#,
            always,
        ),
    ),
];

const NAME_TRIGGERS: Triggers = &[
    "passw",
    "passphrase",
    "secret",
    "token",
    "_key",
    "-key",
    "apikey",
    "accesskey",
    "privatekey",
];

/// Secrets known by what they are called.
static NAMED_SHAPES: [Shape; 4] = [
    Shape::new(r#"{NAME}=["']?({CHAR}{3,})"#, is_not_comparison),
    Shape::new(r#"(?:^|[ \t\r\n"'])--?[A-Za-z0-9-]*{NAME}[ \t]+["']?({CHAR}{3,})"#, is_not_option),
    // `"token": "word"` is a secret; `token: Word` is more likely a type, unless it has a digit.
    Shape::new(r#"{NAME}(?:\\*["'])?[ \t]*(?:=>|:=|[:=])[ \t]*\\*["']({CHAR}{3,})\\*["']"#, always),
    Shape::new(r#"{NAME}(?:\\*["'])?[ \t]*(?:=>|:=|[:=])[ \t]*({CHAR}{6,})"#, has_letter_and_digit),
];

impl Shape {
    const fn new(pattern: &'static str, is_secret: fn(&str) -> bool) -> Self {
        Self { pattern, is_secret, expression: OnceLock::new() }
    }

    fn expression(&self) -> Option<&Regex> {
        let compile = || Regex::new(&self.full_pattern()).ok();
        self.expression.get_or_init(compile).as_ref()
    }

    fn full_pattern(&self) -> String {
        self.pattern.replace("{NAME}", NAME).replace("{CHAR}", CHAR).replace("{GAP}", GAP)
    }

    fn spans(&self, text: &str) -> Vec<Range<usize>> {
        let Some(expression) = self.expression() else { return Vec::new() };
        expression
            .captures_iter(text)
            .filter_map(|found| found.iter().flatten().last())
            .filter(|secret| (self.is_secret)(secret.as_str()))
            .map(|secret| secret.range())
            .collect()
    }
}

fn shaped_spans(text: &str) -> Vec<Range<usize>> {
    let lower = text.to_ascii_lowercase();
    let has_any = |triggers: Triggers| triggers.iter().any(|word| lower.contains(word));
    let mut spans = Vec::new();
    for (triggers, shape) in &SHAPES {
        if has_any(triggers) {
            spans.extend(shape.spans(text));
        }
    }
    if has_any(NAME_TRIGGERS) {
        spans.extend(NAMED_SHAPES.iter().flat_map(|shape| shape.spans(text)));
    }
    spans
}

fn always(_: &str) -> bool {
    true
}

fn has_digit(secret: &str) -> bool {
    secret.contains(|c: char| c.is_ascii_digit())
}

fn has_letter_and_digit(secret: &str) -> bool {
    has_digit(secret) && secret.contains(|c: char| c.is_alphabetic())
}

/// Has what words in plain text seldom have.
fn is_random(secret: &str) -> bool {
    secret.contains(|c: char| c.is_ascii_digit() || c.is_ascii_uppercase())
}

fn is_not_comparison(secret: &str) -> bool {
    !secret.starts_with('=')
}

fn is_not_option(secret: &str) -> bool {
    !secret.starts_with('-')
}

#[cfg(test)]
mod tests;
