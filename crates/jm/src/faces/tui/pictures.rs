//! Pictures that go with a prompt: pasted by their path, from the clipboard, or named by `@`.
//!
//! Law: a picture is sent only if its label or its name stands in the prompt when that is sent. `@`
//! names files of the workspace, read as a tool would read them; a path outside it must be pasted alone.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};

use jm_files::{OpenFile, Sandbox};
use jm_system::clipboard;
use jm_system::state::read_bytes;
use jm_tui::block::{Note, numbers};
use jm_tui::msg::{Attachment, Msg};
use jm_types::Part;
use jm_types::text::one_line;

use super::screen_link::Desk;
use crate::faces::task::{MOST_IMAGE, picture};

/// Pictures that were attached, by the labels that stand for them.
#[derive(Debug, Default)]
pub(super) struct Pictures(Mutex<Vec<(String, Part)>>);

impl Pictures {
    /// Reads the picture on a thread of its own, and tells the screen its label.
    pub(super) fn attach(self: &Arc<Self>, desk: &Arc<Desk>, what: Attachment) {
        let (pictures, desk) = (Arc::clone(self), Arc::clone(desk));
        let read = move || match what {
            Attachment::Path(text) => match file(&text) {
                Ok((name, part)) => pictures.keep(&desk, &name, part),
                // A word that looks like a picture's name and is none.
                Err(_) => desk.send(Msg::Pasted(text)),
            },
            Attachment::Clipboard => match clipboard_picture() {
                Ok(Some(part)) => pictures.keep(&desk, "clipboard", part),
                Ok(None) => desk.note(Note::info("No picture in the clipboard")),
                Err(error) => desk.note(
                    Note::warning(format!("Cannot read the clipboard: {error:#}"))
                        .hint("name a file with @, or paste the path of a picture"),
                ),
            },
        };
        // Without a thread there is no picture, which the person sees.
        std::thread::Builder::new()
            .name("picture".into())
            .spawn(read)
            .map(drop)
            .unwrap_or_default();
    }

    fn keep(&self, desk: &Desk, name: &str, part: Part) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let label = format!("[picture {}: {}]", kept.len() + 1, one_line(name));
        kept.push((label.clone(), part));
        desk.send(Msg::Picture { label });
    }

    /// The parts of a prompt: its words, then the pictures that it names.
    pub(super) fn parts(&self, desk: &Desk, sandbox: &Sandbox, text: &str) -> Vec<Part> {
        let mut parts = vec![Part::text(text)];
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let attached = kept.iter().filter(|(label, _)| text.contains(label.as_str()));
        parts.extend(attached.map(|(_, part)| part.clone()));
        for name in named(text) {
            match workspace_picture(sandbox, name) {
                Ok((part, bytes)) => {
                    let size = numbers::bytes(bytes as u64);
                    desk.note(Note::info(format!("Attached {} ({size})", one_line(name))));
                    parts.push(part);
                }
                Err(error) => {
                    desk.note(Note::warning(format!(
                        "{} is not attached: {error:#}",
                        one_line(name)
                    )));
                }
            }
        }
        parts
    }
}

/// Words `@NAME` with the ending of a picture, without what ends a sentence.
fn named(text: &str) -> Vec<&str> {
    let words = text.split_whitespace().filter_map(|word| word.strip_prefix('@'));
    let names = words.map(|word| word.trim_end_matches(['.', ',', ';', ':', '!', '?', ')']));
    let mut names: Vec<&str> = names.filter(|name| has_ending(name)).collect();
    names.dedup();
    names
}

fn has_ending(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    ending.is_some_and(|it| ["png", "jpg", "jpeg", "gif", "webp"].contains(&it.as_str()))
}

fn workspace_picture(sandbox: &Sandbox, name: &str) -> Result<(Part, usize)> {
    let path = sandbox.resolve(name)?;
    let (bytes, is_cut) = OpenFile::open(&path)?.read_up_to(MOST_IMAGE)?;
    anyhow::ensure!(!is_cut, "it is larger than {}", numbers::bytes(MOST_IMAGE));
    Ok((picture(&bytes)?, bytes.len()))
}

/// A file that was dropped on the terminal: quoted, escaped, or as an address.
fn file(pasted: &str) -> Result<(String, Part)> {
    let path = unquoted(pasted.trim());
    let name = path.file_name().context("no name")?.to_string_lossy().into_owned();
    Ok((name, picture(&read_bytes(&path, MOST_IMAGE)?)?))
}

fn unquoted(text: &str) -> PathBuf {
    let text = text.strip_prefix("file://").unwrap_or(text);
    for quote in ['\'', '"'] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|it| it.strip_suffix(quote)) {
            return PathBuf::from(inner);
        }
    }
    let home = std::env::var_os("HOME").filter(|_| text.starts_with("~/"));
    let plain = text.replace("\\ ", " ").replace("%20", " ");
    match home {
        Some(home) => Path::new(&home).join(&plain[2..]),
        None => PathBuf::from(plain),
    }
}

fn clipboard_picture() -> Result<Option<Part>> {
    let bytes = clipboard::picture(MOST_IMAGE)?;
    bytes.map(|bytes| picture(&bytes)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_named_by_words_and_paths() {
        assert_eq!(named("see @a.png, and @b/c.JPG. not a@b.png @x.rs @"), ["a.png", "b/c.JPG"]);
        for (pasted, path) in [
            ("/tmp/a.png", "/tmp/a.png"),
            ("'/tmp/my shot.png'", "/tmp/my shot.png"),
            ("/tmp/my\\ shot.png", "/tmp/my shot.png"),
            ("file:///tmp/my%20shot.png", "/tmp/my shot.png"),
        ] {
            assert_eq!(unquoted(pasted), PathBuf::from(path));
        }
    }
}
