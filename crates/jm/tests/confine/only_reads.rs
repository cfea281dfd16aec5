//! Made-up command lines of readers and hostile pieces: whatever runs unasked changes nothing.
//!
//! Deterministic: a failure names the command line, and the next run makes the same ones.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// Command lines in the default run, and with `JM_LONG=1`.
const LINES: [usize; 2] = [500, 5_000];
/// Each ends soon: some readers wait for input that never comes, or follow a file.
const SECONDS: u64 = 2;

/// Programs that only read, with the options that leave them so; what is judged is drawn from what judges.
const READERS: &str = include_str!("../../../shell/src/reads/readers.txt");

/// Programs that are judged by more than their options.
const PROGRAMS: &[&str] =
    &["awk", "echo", "env", "expr", "find", "git", "printf", "sed", "tar", "test", "true", "xargs"];

const PLAIN: &[&str] = &[
    "f.txt",
    "sub",
    "sub/g.txt",
    ".",
    "a",
    "-n",
    "-l",
    "-r",
    "-a",
    "-c",
    "-h",
    "-1",
    "-u",
    "-v",
    "-i",
    "--help",
    "--version",
    "status",
    "log",
    "diff",
    "show",
    "grep",
    "ls-files",
    "blame",
    "-name",
    "*.txt",
    "-type",
    "f",
    "-print",
    "1p",
    "p",
    "{print $1}",
    "s/a/b/",
    "HEAD",
    "-e",
    "-f",
    "-k",
    "-T",
    "-g",
    "-F:",
    "+%s",
    "-d",
    "-maxdepth",
    "1",
    "--stat",
    "--oneline",
    "-p",
    "-x",
    "-s",
];

const HOSTILE: &[&str] = &[
    "--",
    "-o",
    "-opwned",
    "--output=pwned",
    "--output",
    "pwned",
    "-O",
    "-Otouch pwned",
    "--pre",
    "--pre=./evil.sh",
    "./evil.sh",
    "-exec",
    "-execdir",
    "touch",
    "rm",
    "{}",
    ";",
    "+",
    "-delete",
    "-fprint",
    "-i",
    "-i.bak",
    "--in-place",
    "1e touch pwned",
    "w pwned",
    "s/a/b/w pwned",
    "--compress-program=./evil.sh",
    "-S1",
    "--files0-from=f.txt",
    "-I",
    "-I{}",
    "-IA",
    "sh",
    "-c",
    "touch pwned",
    "--ext-diff",
    "--textconv",
    "--filters",
    "-C",
    "--git-dir=sub",
    "-s",
    "--set=2001-01-01",
    "010203",
    "--checkpoint-action=exec=./evil.sh",
    "-xf",
    "cf",
    "xf",
    "--to-command=./evil.sh",
    "-r",
    "BEGIN{system(\"touch pwned\")}",
    "{print > \"pwned\"}",
    "-v",
    "a[$(touch pwned)]",
    "-R",
    "PATH=.",
    "LD_PRELOAD=./evil.so",
    "--debug-prog=./evil.sh",
    "--hostname-bin=./evil.sh",
    "-P",
    "--plugin=./evil.so",
    "add",
    "commit",
    "config",
    "stash",
];

/// Pieces that only a shell understands.
const SHELL: &[&str] = &[
    "$(touch pwned)",
    "`touch pwned`",
    "$x",
    "\"$x\"",
    "${x:=pwned}",
    "$((a[$(touch pwned)]))",
    "*",
    "> pwned",
    ">> f.txt",
    ">| pwned",
    "2> pwned",
    "&> pwned",
    "<> pwned",
    "< f.txt",
    "2>&1",
    "> /dev/null",
    "<(touch pwned)",
    ">(touch pwned)",
    "<<< \"`touch pwned`\"",
    "# rm f.txt",
    "~",
    "'a b'",
    "\"$(cat f.txt)\"",
    "{a,b}",
    "\\;",
];

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

    /// A row of the table, with some of its own options.
    fn reader(&mut self) -> Vec<String> {
        let is_row = |line: &&str| !line.is_empty() && !line.starts_with(['#', '[']);
        let rows: Vec<&str> = READERS.lines().filter(is_row).collect();
        let fields: Vec<&str> = self.pick(&rows).split(' ').collect();
        let [program, short, valued, long] = fields[..] else { panic!("{fields:?}") };
        let mut words = vec![program.to_owned()];
        for _ in 0..self.roll(3) {
            let kind = self.roll(3);
            let from: Vec<&str> = match kind {
                0 => short.split("").filter(|letter| !letter.is_empty()).collect(),
                1 => valued.split("").filter(|letter| !letter.is_empty()).collect(),
                _ => long.split(',').collect(),
            };
            // A dash stands for none.
            let option = self.pick(&from);
            let dashes = if kind == 2 { "--" } else { "-" };
            words.extend((option != "-").then(|| format!("{dashes}{option}")));
            let value = self.pick(&["1", "f.txt", "a", "pwned", "--"]);
            words.extend((kind == 1).then(|| value.to_owned()));
        }
        words
    }

    /// A program and its words, most of them plain, some of them not.
    fn words(&mut self) -> Vec<String> {
        let mut words = match self.roll(3) {
            0 => vec![self.pick(PROGRAMS).to_owned()],
            _ => self.reader(),
        };
        for _ in 0..self.roll(5) {
            let hostile = self.roll(4) == 0;
            words.push(self.pick(if hostile { HOSTILE } else { PLAIN }).to_owned());
        }
        if self.roll(6) == 0 {
            let wrapper = self.pick(&[
                "env",
                "nice",
                "timeout 1",
                "xargs",
                "xargs -I A",
                "find . -exec",
                "nohup",
                "stdbuf -oL",
                "env LC_ALL=C",
                "env PATH=.",
                "xargs -I A -I B",
                "command",
                "time",
            ]);
            let mut wrapped: Vec<String> = wrapper.split(' ').map(str::to_owned).collect();
            wrapped.append(&mut words);
            if wrapper.starts_with("find") {
                wrapped
                    .extend(self.pick(&["{} +", "{} ;", "+", ";"]).split(' ').map(str::to_owned));
            }
            words = wrapped;
        }
        words
    }

    /// The same as a shell reads it.
    fn simple(&mut self) -> String {
        let words = self.words();
        let quoted: Vec<String> = words.iter().map(|word| self.spelt(word)).collect();
        let mut line = quoted.join(" ");
        if self.roll(4) == 0 {
            line = format!("{line} {}", self.pick(SHELL));
        }
        line
    }

    fn spelt(&mut self, word: &str) -> String {
        let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:+%,".contains(c));
        match (is_plain, self.roll(12)) {
            (true, 0) => format!("\"{word}\""),
            (true, _) => word.to_owned(),
            (false, 0) => format!("\"{word}\""),
            (false, 1) => word.to_owned(),
            (false, _) => format!("'{word}'"),
        }
    }

    fn script(&mut self) -> String {
        let (one, two) = (self.simple(), self.simple());
        match self.roll(18) {
            0 => format!("{one} | {two}"),
            1 => format!("{one}; {two}"),
            2 => format!("{one} && {two}"),
            3 => format!("( {one} )"),
            4 => format!(
                "{one} <<E\n{}\nE",
                self.pick(&["text", "`touch pwned`", "$(touch pwned)", "$x"])
            ),
            5 => format!(
                "{one} <<-E\n\t{}\n\tE",
                self.pick(&["text", "$(touch pwned)", "`touch pwned`"])
            ),
            6 => format!("{one} <<'E'\n`touch pwned`\nE"),
            7 => format!("for {} in a .; do {one}; done", self.pick(&["f", "PATH", "PS4", "IFS"])),
            8 => format!("if {one}; then {two}; fi"),
            9 => format!("case a in a) {one};; *) {two};; esac"),
            10 => format!("x=$({one}); {two}"),
            11 => format!(
                "[ {} ] && {one}",
                self.pick(&["-f f.txt", "-v 'a[$(touch pwned)]'", "\"$x\" = a", "\"$x\" \"$y\""])
            ),
            12 => format!("while read -r x y; do {one}; done < f.txt"),
            13 => format!(
                "{}={} {one}",
                self.pick(&["LC_ALL", "PATH", "GIT_PAGER", "x"]),
                self.pick(&["C", ".", "'touch pwned'"])
            ),
            14 => format!("set -x; {one}"),
            15 => format!("{{ {one}; }} 2>/dev/null"),
            _ => one,
        }
    }

    fn command(&mut self) -> Vec<String> {
        match self.roll(3) {
            0 => self.words(),
            _ => {
                let shell = self.pick(&["sh", "sh", "bash"]);
                vec![shell.to_owned(), "-c".to_owned(), self.script()]
            }
        }
    }
}

type Snapshot = BTreeMap<PathBuf, (Vec<u8>, u32, i64, i64)>;

fn look(path: &Path, found: &mut Snapshot) {
    let metadata = path.symlink_metadata().unwrap();
    let content = if metadata.is_file() { std::fs::read(path).unwrap() } else { Vec::new() };
    let (changed, nanoseconds) = (metadata.ctime(), metadata.ctime_nsec());
    found.insert(path.to_owned(), (content, metadata.mode(), changed, nanoseconds));
    if metadata.is_dir() {
        std::fs::read_dir(path).unwrap().for_each(|entry| look(&entry.unwrap().path(), found));
    }
}

/// A project whose own files name programs to run, in a home with something to lose.
struct Surroundings(tempfile::TempDir);

impl Surroundings {
    fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        let w = base.path().join("w");
        for name in ["w/sub", "home/.config", "x", "state"] {
            std::fs::create_dir_all(base.path().join(name)).unwrap();
        }
        let evil = "#!/bin/sh\ntouch pwned\n";
        let files = [
            ("w/f.txt", "b 2\n-v a[$(touch pwned)]\na -- 1\n"),
            ("w/sub/g.txt", "a\nb\n"),
            ("w/evil.sh", evil),
            ("w/ls", evil),
            ("w/.gitattributes", "* filter=x diff=x\n"),
            ("home/.gitconfig", "[core]\n\tpager = touch pwned\n"),
            ("home/note", "mine\n"),
            ("x/note", "outside\n"),
        ];
        for (name, content) in files {
            std::fs::write(base.path().join(name), content).unwrap();
        }
        for name in ["evil.sh", "ls"] {
            std::fs::set_permissions(w.join(name), PermissionsExt::from_mode(0o755)).unwrap();
        }
        let git = "git init -q . && git add f.txt sub && git -c user.name=n -c user.email=e@e commit -qm one \
                   && echo more >> f.txt && printf '[core]\\n\\tfsmonitor = touch pwned\\n\\tpager = touch pwned\\n\
                   [diff]\\n\\texternal = touch pwned\\n[filter \"x\"]\\n\\tclean = touch pwned; cat\\n\
                   [diff \"x\"]\\n\\ttextconv = touch pwned; cat\\n' >> .git/config";
        let made = Command::new("sh").args(["-c", git]).current_dir(&w).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        Self(base)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn look(&self) -> Snapshot {
        let mut found = Snapshot::new();
        ["w", "home", "x"].iter().for_each(|name| look(&self.at(name), &mut found));
        found
    }

    fn program(&self) -> Program {
        let mut child = Command::new(env!("CARGO_BIN_EXE_jm"))
            .args(["--toolset", "forj", "--approve", "auto", "--no-journal", "exec", "--jsonl"])
            .current_dir(self.at("w"))
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.at("home"))
            .env("JM_STATE_DIR", self.at("state"))
            .env("JM_TOOLS_SANDBOX_COMMANDS_BACKEND", "namespaces")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Program { child, stdin, stdout: BufReader::new(stdout) }
    }
}

/// One process of ours for all of the calls.
struct Program {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Program {
    fn call(&mut self, command: &[String]) -> Value {
        let args = json!({"cmd": command, "timeout": SECONDS});
        writeln!(self.stdin, "{}", json!({"name": "run_shell", "args": args})).unwrap();
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{command:?}: {error}: {line}"))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn whatever_runs_unasked_leaves_every_byte_as_it_was() {
    let surroundings = Surroundings::new();
    let mut program = surroundings.program();
    let lines = LINES[usize::from(std::env::var_os("JM_LONG").is_some())];
    let mut dice = Dice(0x05ee_d0f4_ead0);
    let before = surroundings.look();
    let (mut ran, mut asked) = (0, 0);
    for _ in 0..lines {
        let command = dice.command();
        let answer = program.call(&command);
        match answer["kind"].as_str() {
            None => ran += 1,
            Some("needs_approval") => asked += 1,
            Some("timeout") => {}
            // A program that is not there, or a word that only a shell knows.
            Some("execution_failed") if answer.to_string().contains("cannot start") => {}
            Some(other) => panic!("{command:?}: {other}: {answer}"),
        }
        let after = surroundings.look();
        if after != before {
            let changed = after.iter().filter(|(path, now)| before.get(*path) != Some(now));
            let changed: Vec<_> = changed.map(|(path, _)| path).collect();
            panic!("{command:?} changed {changed:?}: {answer}");
        }
    }
    println!("{ran} ran, {asked} were asked about");
    assert!(ran * 5 > lines, "only {ran} of {lines} ran, so little was tried");
    assert!(
        asked * 5 > lines,
        "only {asked} of {lines} were asked about: the pieces are too plain"
    );
}
