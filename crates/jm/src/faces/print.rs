//! Printing.
//!
//! Law: what reaches a terminal is harmless. JSON stays JSON: what a terminal might act on is
//! written as an escape.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use jm_types::text::{is_terminal_safe, one_line, sanitize};
use serde::Serialize;

/// A result: exact for programs, harmless for a terminal.
pub(crate) fn result(content: &str, display: &str) -> Result<()> {
    let is_terminal = std::io::stdout().is_terminal();
    text(if is_terminal { display } else { content })?;
    if is_terminal && !display.ends_with('\n') {
        text("\n")?;
    }
    Ok(())
}

pub(crate) fn line(line: &str) -> Result<()> {
    text(&format!("{line}\n"))
}

pub(crate) fn text(text: &str) -> Result<()> {
    exactly(text.as_bytes())
}

/// Bytes as they are for programs, as harmless text for a terminal.
pub(crate) fn bytes(bytes: &[u8]) -> Result<()> {
    if std::io::stdout().is_terminal() {
        text(&sanitize(&String::from_utf8_lossy(bytes)))
    } else {
        exactly(bytes)
    }
}

pub(crate) fn json(value: &impl Serialize) -> Result<()> {
    line(&harmless_json(value)?)
}

/// All of it, now: what waits in a buffer when the program ends would be lost without a word.
fn exactly(bytes: &[u8]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(bytes).and_then(|()| out.flush());
    written.context("cannot write to standard output")
}

/// For `--debug`: one object a line, on standard error.
pub(crate) fn debug(value: &impl Serialize) {
    if let Ok(text) = harmless_json(value) {
        note(&text);
    }
}

/// Whoever shows notes while standard error must not be written, because a screen is drawn there.
type Elsewhere = Box<dyn Fn(&str) + Send>;
static ELSEWHERE: Mutex<Option<Elsewhere>> = Mutex::new(None);

/// From here on notes are shown elsewhere, until this is dropped.
pub(crate) struct Diverted(());

impl Diverted {
    pub(crate) fn to(elsewhere: Elsewhere) -> Self {
        *ELSEWHERE.lock().unwrap_or_else(PoisonError::into_inner) = Some(elsewhere);
        Self(())
    }
}

impl Drop for Diverted {
    fn drop(&mut self) {
        *ELSEWHERE.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// A line for the person. Standard error that cannot be written has nobody to be told.
pub(crate) fn note(text: &str) {
    if let Some(elsewhere) = &*ELSEWHERE.lock().unwrap_or_else(PoisonError::into_inner) {
        return elsewhere(text);
    }
    writeln!(std::io::stderr().lock(), "{}", sanitize(text)).unwrap_or_default();
}

pub(crate) fn error(error: &anyhow::Error) {
    note(&format!("jm: {error:#}"));
}

pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let cause = error.downcast_ref::<std::io::Error>();
    cause.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// The error of a program whose output nobody reads any more.
pub(crate) fn closed_pipe() -> anyhow::Error {
    std::io::Error::from(std::io::ErrorKind::BrokenPipe).into()
}

pub(crate) fn warnings(warnings: &[String]) {
    warnings.iter().for_each(|warning| note(&format!("jm: warning: {}", one_line(warning))));
}

/// In JSON text everything outside ASCII is inside a string, so escaping it keeps the meaning.
pub(crate) fn harmless_json(value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string(value)?;
    if is_terminal_safe(&text) && !text.contains('\u{7f}') {
        return Ok(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut units = [0; 2];
    for c in text.chars() {
        if is_terminal_safe(c.encode_utf8(&mut [0; 4])) {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut units) {
            out.push_str(&format!("\\u{unit:04x}"));
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_for_a_terminal_means_the_same() {
        let nasty = "a\u{1b}[31m\u{9b}2J\u{202e}\u{7f}é\u{e0041}";
        let text = harmless_json(&nasty).unwrap();
        assert!(is_terminal_safe(&text), "{text:?}");
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), nasty);
    }
}
