//! Programs by name: those that change something, those that run code, and those that only read unless they are told otherwise, with what tells
//! them.

use super::git::danger_of_git;
use super::readers::reader_options;
use super::scripts::{danger_of_awk, danger_of_sed};
use crate::command_risk::Danger;
use crate::find::danger_of_find;
use crate::options::HarmlessOptions;
use crate::word::ShellWord;
use crate::wrappers::usual_name;

/// Programs that change files, and how.
const CHANGERS: &[(&str, &[&str])] = &[
    ("moves files", &["mv", "rename"]),
    (
        "writes files",
        &[
            "cp",
            "csplit",
            "fallocate",
            "gunzip",
            "gzip",
            "bzip2",
            "bunzip2",
            "xz",
            "unxz",
            "zstd",
            "install",
            "ln",
            "mkdir",
            "mkfifo",
            "mktemp",
            "patch",
            "split",
            "tee",
            "touch",
            "unzip",
            "zip",
            "7z",
            "ar",
            "cpio",
            "link",
            "sponge",
        ],
    ),
    (
        "changes who may use files",
        &["chmod", "chown", "chgrp", "chattr", "setfacl", "setfattr", "setcap", "chcon"],
    ),
];

/// Programs that delete, reach the network or act beyond the workspace, and how.
const DESTROYERS: &[(&str, &[&str])] = &[
    ("removes files", &["rm", "rmdir", "unlink", "shred", "wipe", "srm", "trash"]),
    ("writes files", &["dd", "mknod", "truncate"]),
    ("ends processes", &["kill", "pkill", "killall", "skill", "xkill"]),
    (
        "changes the system",
        &[
            "shutdown",
            "reboot",
            "halt",
            "poweroff",
            "init",
            "telinit",
            "systemctl",
            "service",
            "launchctl",
            "mount",
            "umount",
            "swapon",
            "swapoff",
            "fdisk",
            "sfdisk",
            "parted",
            "mkswap",
            "losetup",
            "cryptsetup",
            "lvremove",
            "modprobe",
            "insmod",
            "rmmod",
            "sysctl",
            "hwclock",
            "useradd",
            "userdel",
            "usermod",
            "groupadd",
            "groupdel",
            "passwd",
            "chpasswd",
            "chsh",
            "visudo",
            "crontab",
            "at",
            "batch",
            "iptables",
            "ip6tables",
            "nft",
            "ufw",
            "update-grub",
        ],
    ),
    (
        "installs or removes packages",
        &[
            "apt", "apt-get", "aptitude", "dpkg", "rpm", "yum", "dnf", "zypper", "pacman", "apk",
            "brew", "snap", "flatpak", "port", "pip", "pip3", "pipx", "uv", "conda", "npm", "npx",
            "yarn", "pnpm", "bun", "gem", "bundle", "composer", "nix-env",
        ],
    ),
    (
        "reaches the network",
        &[
            "curl",
            "wget",
            "ssh",
            "scp",
            "sftp",
            "ftp",
            "rsync",
            "nc",
            "ncat",
            "netcat",
            "socat",
            "telnet",
            "ping",
            "traceroute",
            "dig",
            "nslookup",
            "host",
            "whois",
            "aria2c",
            "http",
            "rclone",
            "gh",
            "glab",
            "aws",
            "gcloud",
            "az",
            "mail",
            "sendmail",
        ],
    ),
    (
        "acts on containers or clusters",
        &["docker", "podman", "nerdctl", "kubectl", "helm", "terraform", "tofu", "ansible"],
    ),
];

/// Programs that run what the project or the arguments tell them.
const RUNNERS: &[&str] = &[
    "awk", "bash", "cargo", "cmake", "dash", "deno", "emacs", "gawk", "go", "gradle", "java",
    "just", "lua", "make", "mawk", "meson", "mvn", "ninja", "node", "parallel", "perl", "php",
    "pytest", "python", "python3", "ruby", "rustc", "rustup", "sh", "source", "tox", "trap", "vim",
    "watch", ".",
];

/// Asked for their version they do nothing else.
const VERSIONED: &[&str] = &[
    "bash", "clang", "cmake", "deno", "emacs", "gcc", "g++", "git", "go", "java", "make", "node",
    "perl", "php", "python", "python3", "ruby",
];

/// The danger of a program with its arguments. What wrappers run is judged as a command of its own.
pub(crate) fn danger_of_program(words: &[ShellWord]) -> Danger {
    let Some((first, arguments)) = words.split_first() else { return Danger::none() };
    let Some(program) = first.literal() else {
        return Danger::unknown("the program is not a plain word");
    };
    match usual_name(program) {
        name if name.contains('/') => {
            Danger::unknown(format!("`{program}` is a program of its own"))
        }
        "sudo" | "doas" | "su" | "pkexec" | "run0" => {
            Danger::destructive(format!("`{program}` acts with another user's rights"))
        }
        name => danger_by_name(name, arguments),
    }
}

fn danger_by_name(name: &str, arguments: &[ShellWord]) -> Danger {
    if let ([only], true) = (arguments, VERSIONED.contains(&name))
        && (only.is("--version") || (only.is("version") && name == "go"))
    {
        return Danger::none();
    }
    match name {
        "find" => danger_of_find(arguments),
        "git" => danger_of_git(arguments),
        "sed" => danger_of_sed(arguments),
        "awk" | "gawk" | "mawk" => danger_of_awk(name, arguments),
        "tar" => archive(arguments),
        // Its words are a script that only the shell has.
        "eval" => Danger::opaque("`eval` runs code"),
        // Their words are text, or nothing at all.
        ":" | "true" | "false" | "echo" | "expr" | "yes" => Danger::none(),
        "test" | "[" => test(arguments),
        "uniq" | "xxd" => one_operand(name, arguments),
        "hostname" | "umask" if arguments.is_empty() => Danger::none(),
        "printf" => printf(arguments),
        "read" => read(arguments),
        "set" => set(arguments),
        "perl" | "ruby" => in_place(name, arguments),
        "date" => date(arguments),
        _ => by_table(name, arguments),
    }
}

fn by_table(name: &str, arguments: &[ShellWord]) -> Danger {
    if let Some(options) = reader_options(name) {
        return options.judge(name, arguments);
    }
    let within = |table: &[(&'static str, &[&str])]| {
        table.iter().find(|(_, names)| names.contains(&name)).map(|(does, _)| *does)
    };
    if let Some(does) = within(CHANGERS) {
        return Danger::changes(format!("`{name}` {does}"));
    }
    if let Some(does) = within(DESTROYERS) {
        return Danger::destructive(format!("`{name}` {does}"));
    }
    if name.starts_with("mkfs") {
        return Danger::destructive(format!("`{name}` erases a disk"));
    }
    match RUNNERS.contains(&name) {
        true => Danger::unknown(format!("`{name}` runs code")),
        false => Danger::unknown(format!("`{name}` is not known to only read")),
    }
}

/// `test` and `[`: in some shells `-v` and `-R` run what stands in a subscript.
fn test(words: &[ShellWord]) -> Danger {
    let words = match words.split_last() {
        Some((last, rest)) if last.is("]") => rest,
        _ => words,
    };
    let is_risky = |word: &ShellWord| {
        word.literal()
            .is_some_and(|text| matches!(text, "-v" | "-R") || text.contains(['[', '`', '$']))
    };
    let not_known = words.iter().filter(|word| word.literal().is_none()).count();
    // `"$a" = "$b"`: what is between them decides how they are taken.
    let compares =
        matches!(words, [_, operator, _] if operator.literal().is_some_and(is_comparison));
    match words.iter().any(is_risky) || (not_known > 1 && !compares) {
        true => Danger::unknown("`test` may evaluate what its words hold"),
        false => Danger::none(),
    }
}

fn is_comparison(text: &str) -> bool {
    matches!(
        text,
        "=" | "==" | "!=" | "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" | "-nt" | "-ot" | "-ef"
    )
}

/// Their second operand is a file that they write.
fn one_operand(name: &str, arguments: &[ShellWord]) -> Danger {
    let options = reader_options(name).unwrap_or(HarmlessOptions::NONE);
    let found = options.judge(name, arguments);
    match options.operands(arguments).len() {
        0 | 1 => found,
        _ => found.and(Danger::changes(format!("`{name}` writes to its second file"))),
    }
}

fn date(arguments: &[ShellWord]) -> Danger {
    let options = reader_options("date").unwrap_or(HarmlessOptions::NONE);
    let sets = |word: &&ShellWord| word.literal().is_none_or(|text| !text.starts_with('+'));
    match options.operands(arguments).iter().any(sets) {
        true => Danger::unknown("`date` with a number sets the clock"),
        false => options.judge("date", arguments),
    }
}

/// `printf -v NAME` sets a variable.
fn printf(arguments: &[ShellWord]) -> Danger {
    match arguments.first().map(ShellWord::literal) {
        Some(Some(format)) if format.starts_with('-') && format != "--" => {
            Danger::unknown("`printf` with an option may set a variable")
        }
        Some(None) => Danger::unknown("the first argument of `printf` may be an option"),
        _ => Danger::none(),
    }
}

/// Into variables that no program listens to.
fn read(arguments: &[ShellWord]) -> Danger {
    let is_own = |word: &ShellWord| {
        let text = word.literal().unwrap_or("A");
        text == "-r" || text.chars().all(|c| c.is_ascii_lowercase() || c == '_')
    };
    match arguments.iter().all(is_own) {
        true => Danger::none(),
        false => Danger::unknown("`read` may set a variable that changes what runs"),
    }
}

fn set(arguments: &[ShellWord]) -> Danger {
    let words: Vec<&str> = arguments.iter().filter_map(ShellWord::literal).collect();
    let is_usual =
        |word: &&str| matches!(*word, "-e" | "-u" | "-eu" | "-euo" | "-o" | "pipefail" | "-x");
    match words.len() == arguments.len() && words.iter().all(is_usual) {
        true => Danger::none(),
        false => Danger::unknown("`set` may change what runs"),
    }
}

/// `perl -i`: an editor.
fn in_place(name: &str, arguments: &[ShellWord]) -> Danger {
    let edits = |word: &ShellWord| {
        word.literal().is_some_and(|text| {
            text.starts_with('-') && !text.starts_with("--") && text.contains('i')
        })
    };
    match arguments.iter().any(edits) {
        true => Danger::changes(format!("`{name} -i` edits files in place")),
        false => Danger::unknown(format!("`{name}` runs code")),
    }
}

/// Only the plainest forms of listing; options can run programs.
fn archive(arguments: &[ShellWord]) -> Danger {
    let lists = arguments.first().and_then(ShellWord::literal).is_some_and(|first| {
        let letters = first.strip_prefix('-').unwrap_or(first);
        letters.contains('t') && letters.chars().all(|letter| "tvfzjJa".contains(letter))
    });
    let rest = arguments.get(1..).unwrap_or_default();
    let is_plain = |word: &ShellWord| word.literal().is_some_and(|text| !text.starts_with('-'));
    match lists && rest.iter().all(is_plain) {
        true => Danger::none(),
        false => Danger::changes("`tar` packs or unpacks files"),
    }
}
