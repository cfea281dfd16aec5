//! The task of `jm run`: words, standard input, pictures, and the schema of the answer.

use std::io::{IsTerminal, Read};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jm_system::state::{read_bytes, read_text};
use jm_system::terminal;
use jm_tools::schema::Schema;
use jm_types::Part;

use super::print;
use crate::cli::RunArgs;

const MIB: u64 = 1024 * 1024;
pub(super) const MOST_INPUT: u64 = 16 * MIB;
/// The largest picture that is sent.
pub(super) const MOST_IMAGE: u64 = 20 * MIB;

/// The prompt of a resumed conversation where nobody says anything.
pub(super) fn go_on() -> Vec<Part> {
    vec![Part::text("Go on.")]
}

/// The words of the command line, then what stands on standard input, then pictures. `None` where
/// there are none and the conversation may go on without.
pub(super) fn prompt(run: &RunArgs) -> Result<Option<Vec<Part>>> {
    let mut text = run.prompt.join(" ");
    // Whoever supplies results has said what there is to say, unless words come with them.
    let supplies = !run.result.is_empty() || run.results.is_some();
    let answers = run.answers.as_deref().is_some_and(|path| path.as_os_str() == "-");
    let input = if supplies || answers { String::new() } else { input()? };
    if !input.trim().is_empty() {
        text = format!("{text}\n\n{input}").trim_start().to_owned();
    }
    if text.trim().is_empty() {
        if run.resume.is_none() {
            bail!(
                "No prompt given\n  hint: jm run PROMPT, or pipe the prompt to standard input, or both"
            );
        }
        if run.image.is_empty() {
            return Ok(None);
        }
        text = "Go on.".to_owned();
    }
    let mut parts = vec![Part::text(text)];
    for path in &run.image {
        parts.push(image(path)?);
    }
    Ok(Some(parts))
}

/// All of standard input, or nothing where a person types.
pub(super) fn input() -> Result<String> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Ok(String::new());
    }
    if terminal::input_is_silent() {
        print::note("jm: reading standard input until it ends (for none: `< /dev/null`)");
    }
    let mut bytes = Vec::new();
    stdin.take(MOST_INPUT + 1).read_to_end(&mut bytes).context("standard input")?;
    if bytes.len() as u64 > MOST_INPUT {
        bail!(
            "standard input exceeds {} MiB\n  hint: name a file in the prompt; the model reads the parts it needs",
            MOST_INPUT / MIB
        );
    }
    String::from_utf8(bytes).context("standard input is not text")
}

fn image(path: &Path) -> Result<Part> {
    let named = || format!("image {}", path.display());
    let bytes = read_bytes(path, MOST_IMAGE).with_context(named)?;
    picture(&bytes).with_context(named)
}

/// A picture as part of a message; its first bytes say what it is.
pub(super) fn picture(bytes: &[u8]) -> Result<Part> {
    let media_type = match bytes {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        _ => bail!("is not a PNG, JPEG, GIF or WebP picture"),
    };
    Ok(Part::Image { media_type: media_type.to_owned(), data: STANDARD.encode(bytes) })
}

pub(super) fn schema(path: &Path) -> Result<Schema> {
    let named = || format!("schema {}", path.display());
    let text = read_text(path, MOST_INPUT).with_context(named)?;
    let text = text.with_context(|| format!("{}: no such file", named()))?;
    let value = serde_json::from_str(&text).with_context(named)?;
    Schema::new(value).map_err(|why| anyhow!("{}: {why}", named()))
}
