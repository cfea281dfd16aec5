//! A pager at the person's terminal, for a text that is longer than a screen.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Result, Write};
use std::process::{Command, Stdio};

/// Shows a text that is safe for a terminal in `$PAGER`, else in `less`, and waits until the person has left.
pub fn page(text: &str) -> Result<()> {
    let named = std::env::var("PAGER").ok().filter(|pager| !pager.trim().is_empty());
    let pager = named.unwrap_or_else(|| "less".to_owned());
    // Standard output may go to a file or a program.
    let screen = OpenOptions::new().write(true).open("/dev/tty")?;
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &pager]).stdin(Stdio::piped()).stdout(screen);
    if std::env::var_os("LESS").is_none() {
        // Ends by itself where everything fits, and leaves the text on the screen.
        command.env("LESS", "FRX");
    }
    let mut child = command.spawn()?;
    if let Some(mut input) = child.stdin.take() {
        match input.write_all(text.as_bytes()) {
            // Left before the end.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            written => written?,
        }
    }
    child.wait().map(drop)
}
