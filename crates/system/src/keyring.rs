//! The system's keyring, through the program that the system has for it.
//!
//! Law: a secret is never an argument, it goes through a pipe. A keyring that does not answer, for
//! instance because nobody unlocks it, is waited for a bounded time.

use std::io::{Error, Read, Result, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use jm_types::ignore_error;

/// Long enough for a person to type the keyring's password.
const PATIENCE: Duration = Duration::from_secs(60);
/// A secret that is longer is none.
const MOST_BYTES: u64 = 64 * 1024;
const PROGRAM: &str = "secret-tool";
const PLACES: &[&str] = &["/usr/bin", "/usr/local/bin", "/bin", "/run/current-system/sw/bin"];

/// The person's keyring.
#[derive(Debug)]
pub struct Keyring {
    program: PathBuf,
}

struct KeyringAnswer {
    succeeded: bool,
    output: String,
    complaint: String,
}

impl Keyring {
    /// Nothing where the system has no such program.
    pub fn find() -> Option<Self> {
        let candidates = PLACES.iter().map(|place| PathBuf::from(place).join(PROGRAM));
        candidates.into_iter().find(|path| path.is_file()).map(|program| Self { program })
    }

    /// The secret of this name; nothing where there is none.
    pub fn get(&self, name: &str) -> Result<Option<String>> {
        let answer = self.ask("lookup", &[], name, "")?;
        let secret = answer.output.trim_end_matches(['\r', '\n']);
        if answer.succeeded {
            return Ok(Some(secret.to_owned()).filter(|secret| !secret.is_empty()));
        }
        // It says nothing where there is nothing.
        if answer.complaint.is_empty() { Ok(None) } else { Err(Error::other(answer.complaint)) }
    }

    /// Stores a secret under this name, in place of an older one.
    pub fn set(&self, name: &str, secret: &str) -> Result<()> {
        let label = format!("--label=Journeyman: {name}");
        let answer = self.ask("store", &[&label], name, secret)?;
        if answer.succeeded { Ok(()) } else { Err(Error::other(answer.complaint)) }
    }

    /// Removes the secret of this name; no error where there is none.
    pub fn remove(&self, name: &str) -> Result<()> {
        let answer = self.ask("clear", &[], name, "")?;
        if answer.succeeded || answer.complaint.is_empty() {
            Ok(())
        } else {
            Err(Error::other(answer.complaint))
        }
    }

    fn ask(&self, verb: &str, options: &[&str], name: &str, input: &str) -> Result<KeyringAnswer> {
        let mut command = Command::new(&self.program);
        command.arg(verb).args(options).args(["application", "journeyman", "name", name]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            ignore_error(
                stdin.write_all(input.as_bytes()),
                "one that reads no input has no use for it",
            );
        }
        let output = collected(child.stdout.take())?;
        let complaint = collected(child.stderr.take())?;
        let succeeded = ended(&mut child)?;
        let text = |reader: std::thread::JoinHandle<String>| reader.join().unwrap_or_default();
        let (output, complaint) = (text(output), text(complaint));
        Ok(KeyringAnswer { succeeded, output, complaint: complaint.trim().to_owned() })
    }
}

fn collected(pipe: Option<impl Read + Send + 'static>) -> Result<std::thread::JoinHandle<String>> {
    std::thread::Builder::new().spawn(move || {
        let mut text = String::new();
        if let Some(pipe) = pipe {
            ignore_error(
                pipe.take(MOST_BYTES).read_to_string(&mut text),
                "text that breaks off is as good as none",
            );
        }
        text
    })
}

/// Waits for the end and tells whether it succeeded; it is killed when it takes too long.
fn ended(child: &mut Child) -> Result<bool> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if began.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Err(Error::other("the keyring does not answer; is it locked?"));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
