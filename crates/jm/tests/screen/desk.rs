//! A shell in a terminal multiplexer, and a person who types at it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);
/// Between what a person types and the next key; faster is a paste.
const PACE: Duration = Duration::from_millis(80);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Tmux,
    Screen,
}

pub(crate) struct Desk {
    kind: Kind,
    folder: TempDir,
}

impl Desk {
    pub(crate) fn new(kind: Kind, (width, height): (usize, usize)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["work", "home", "state", "sockets"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        private(&folder.path().join("sockets"));
        let desk = Self { kind, folder };
        match kind {
            Kind::Tmux => {
                let (width, height) = (width.to_string(), height.to_string());
                let size = ["-x", width.as_str(), "-y", height.as_str()];
                let start = [
                    &["-f", "/dev/null", "new-session", "-d"],
                    &size[..],
                    &["bash --norc --noprofile"],
                ];
                desk.run(&start.concat());
                desk.run(&["set", "-g", "history-limit", "50000"]);
                desk.run(&["resize-window", "-x", size[1], "-y", size[3]]);
            }
            Kind::Screen => {
                desk.run(&["-dmS", "test", "-h", "50000", "bash", "--norc", "--noprofile"]);
                // It answers a moment later.
                let begin = Instant::now();
                while desk.session().is_none() && begin.elapsed() < PATIENCE {
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
        }
        desk.wait_for("bash-");
        // The prompt is made of two pieces, so that the line that sets it is no prompt itself.
        desk.line("PS1='rea''dy> '; cd work; clear");
        desk.wait_for("ready>");
        desk
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("work").join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = match self.kind {
            Kind::Tmux => {
                let mut command = Command::new("tmux");
                command.arg("-S").arg(self.folder.path().join("sockets/tmux"));
                command
            }
            Kind::Screen => Command::new("screen"),
        };
        command.args(args).current_dir(self.folder.path());
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.env("SCREENDIR", self.folder.path().join("sockets"));
        command.env("JM_STATE_DIR", self.folder.path().join("state"));
        command.env("HOME", self.folder.path().join("home"));
        command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8").env("SHELL", "/bin/bash");
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        let output = self.command(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        output
    }

    /// Letters, as a person would type them.
    pub(crate) fn letters(&self, text: &str) {
        match self.kind {
            Kind::Tmux => drop(self.run(&["send-keys", "-l", text])),
            Kind::Screen => drop(self.run(&["-S", "test", "-p", "0", "-X", "stuff", text])),
        }
        std::thread::sleep(PACE);
    }

    /// A bracketed paste.
    pub(crate) fn paste(&self, text: &str) {
        self.run(&["set-buffer", text]);
        self.run(&["paste-buffer", "-p"]);
        std::thread::sleep(PACE);
    }

    /// Types a command of the shell that starts the program, and waits for words of it.
    pub(crate) fn start_with(&self, before: &str, args: &str, words: &str) -> String {
        let program = env!("CARGO_BIN_EXE_jm");
        self.line(&format!("clear; {before} {program} {args}"));
        self.wait_for(words)
    }

    /// A key pressed when nothing was typed for half a second, as an answer must be.
    pub(crate) fn answer(&self, letter: &str) {
        std::thread::sleep(Duration::from_millis(600));
        self.letters(letter);
    }

    /// A key by tmux's name.
    pub(crate) fn key(&self, name: &str) {
        match self.kind {
            Kind::Tmux => drop(self.run(&["send-keys", name])),
            Kind::Screen => {
                let letters = match name {
                    "Enter" => "\r",
                    "Escape" => "\x1b",
                    "C-c" => "\x03",
                    "C-d" => "\x04",
                    "C-t" => "\x14",
                    "PPage" => "\x1b[5~",
                    "End" => "\x1b[F",
                    "Down" => "\x1b[B",
                    other => other,
                };
                drop(self.run(&["-S", "test", "-p", "0", "-X", "stuff", letters]));
            }
        }
        std::thread::sleep(PACE);
    }

    /// A line and Enter, which comes when the line is seen: on a busy machine it would be part of a burst.
    pub(crate) fn line(&self, text: &str) {
        self.letters(text);
        // Blanks at the end of a row are not seen.
        let seen = text.trim_end();
        let start = seen.chars().count().saturating_sub(6);
        let end: String = seen.chars().skip(start).collect();
        let begin = Instant::now();
        while !self.all().contains(&end) && begin.elapsed() < Duration::from_secs(3) {
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(PACE);
        self.key("Enter");
    }

    /// Starts the program with this script and waits for its prompt.
    pub(crate) fn start(&self, script: &str, more: &str) {
        let file = self.folder.path().join("script.toml");
        std::fs::write(&file, script).unwrap();
        let program = env!("CARGO_BIN_EXE_jm");
        self.line(&format!("clear; {program} --model script:{} {more}", file.display()));
        self.wait_for("approve ");
    }

    /// Everything from the first line of the scrollback; wrapped lines are joined.
    pub(crate) fn all(&self) -> String {
        match self.kind {
            // Joined lines keep the blanks of what was erased behind them.
            Kind::Tmux => {
                let all = text(&self.run(&["capture-pane", "-p", "-J", "-S", "-"]).stdout);
                all.lines().map(|line| format!("{}\n", line.trim_end())).collect()
            }
            Kind::Screen => {
                let file = self.folder.path().join("hardcopy");
                // The last one is no answer to this question.
                std::fs::remove_file(&file).unwrap_or_default();
                let name = file.display().to_string();
                self.run(&["-S", "test", "-p", "0", "-X", "hardcopy", "-h", &name]);
                let begin = Instant::now();
                while !file.exists() && begin.elapsed() < PATIENCE {
                    std::thread::sleep(Duration::from_millis(10));
                }
                text(&std::fs::read(&file).unwrap_or_default())
            }
        }
    }

    pub(crate) fn visible(&self) -> String {
        assert_eq!(self.kind, Kind::Tmux);
        text(&self.run(&["capture-pane", "-p"]).stdout)
    }

    pub(crate) fn wait_for(&self, words: &str) -> String {
        self.wait_until(words, |all| all.contains(words))
    }

    pub(crate) fn wait_until(&self, what: &str, is: impl Fn(&str) -> bool) -> String {
        let begin = Instant::now();
        loop {
            let all = self.all();
            if is(&all) {
                return all;
            }
            assert!(begin.elapsed() < PATIENCE, "no {what:?} in:\n{all}");
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Waits until nothing runs and the prompt is empty.
    pub(crate) fn rest(&self) -> String {
        self.wait_for("> Type a prompt")
    }

    /// A format of tmux, such as `#{alternate_on}`.
    pub(crate) fn fact(&self, format: &str) -> String {
        text(&self.run(&["display-message", "-p", format]).stdout).trim().to_owned()
    }

    /// Column, row and visibility of the cursor, with the screen of the same moment.
    pub(crate) fn cursor_and_screen(&self) -> ((usize, usize, usize), String) {
        let format = "#{cursor_x} #{cursor_y} #{cursor_flag}";
        let both = self.run(&["display-message", "-p", format, ";", "capture-pane", "-p"]);
        let both = text(&both.stdout);
        let (cursor, screen) = both.split_once('\n').unwrap();
        let parts: Vec<usize> = cursor.split(' ').map(|part| part.parse().unwrap()).collect();
        ((parts[0], parts[1], parts[2]), screen.to_owned())
    }

    pub(crate) fn resize(&self, width: usize, height: usize) {
        self.run(&["resize-window", "-x", &width.to_string(), "-y", &height.to_string()]);
    }

    /// From here on the bytes that the program writes are kept.
    pub(crate) fn record(&self) -> PathBuf {
        let file = self.folder.path().join("bytes");
        self.run(&["pipe-pane", &format!("cat > {}", file.display())]);
        file
    }

    /// A line as this terminal writes it into a file: GNU screen keeps one byte of each character.
    pub(crate) fn written(&self, line: &str) -> String {
        match self.kind {
            Kind::Tmux => line.to_owned(),
            Kind::Screen => text(&line.chars().map(|c| c as u32 as u8).collect::<Vec<_>>()),
        }
    }

    /// The program itself, a child of the shell.
    pub(crate) fn program(&self) -> u32 {
        first_child(self.shell())
    }

    fn shell(&self) -> u32 {
        match self.kind {
            Kind::Tmux => self.fact("#{pane_pid}").parse().unwrap(),
            Kind::Screen => first_child(self.session().unwrap()),
        }
    }

    /// The process of GNU screen, which names its sessions PID.NAME; its exit code says nothing.
    fn session(&self) -> Option<u32> {
        let listed = text(&self.command(&["-ls"]).output().unwrap().stdout);
        listed.split_whitespace().find_map(|word| word.strip_suffix(".test"))?.parse().ok()
    }

    /// The lines that have left the screen, which no program can change any more.
    pub(crate) fn scrolled_off(&self) -> String {
        assert_eq!(self.kind, Kind::Tmux);
        match self.fact("#{history_size}").as_str() {
            "0" => String::new(),
            _ => text(&self.run(&["capture-pane", "-p", "-J", "-S", "-", "-E", "-1"]).stdout),
        }
    }

    /// The shell has the terminal again, and it is as a shell wants it.
    pub(crate) fn assert_sane(&self) {
        self.line("clear; stty -a | tr ';' '\\n' | tr ' ' '\\n' | grep -xE -e '-?(icanon|echo|isig|opost|icrnl)' | sort | tr '\\n' ' '; echo do''ne");
        let all = self.wait_for("done");
        assert!(all.contains("echo icanon icrnl isig opost done"), "{all}");
        if self.kind == Kind::Tmux {
            assert_eq!(self.fact("#{alternate_on} #{mouse_any_flag} #{cursor_flag}"), "0 0 1");
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let end: &[&str] = match self.kind {
            Kind::Tmux => &["kill-server"],
            Kind::Screen => &["-S", "test", "-X", "quit"],
        };
        self.command(end).output().map(drop).unwrap_or_default();
    }
}

fn first_child(process: u32) -> u32 {
    let children = format!("/proc/{process}/task/{process}/children");
    let children = std::fs::read_to_string(children).unwrap();
    children.split_whitespace().next().unwrap().parse().unwrap()
}

fn private(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).unwrap();
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// How often each of the numbered lines is there.
pub(crate) fn assert_each_once(all: &str, lines: impl Iterator<Item = String>) {
    for line in lines {
        let count = all.lines().filter(|found| found.trim_end() == line).count();
        assert_eq!(count, 1, "{line:?} is there {count} times in:\n{all}");
    }
}
