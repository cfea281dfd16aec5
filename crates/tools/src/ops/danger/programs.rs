//! What programs do, by name; those that only read unless they are told otherwise, with what tells
//! them.

use super::options::{Harm, operands};
use super::{Danger, Word, git, scripts};

/// Read whatever they are given, with any options.
const READERS: &[&str] = &[
    ":",
    "[",
    "arch",
    "b2sum",
    "base32",
    "base64",
    "basename",
    "bzcat",
    "cal",
    "cat",
    "cd",
    "cksum",
    "cmp",
    "column",
    "comm",
    "cut",
    "df",
    "diff",
    "diff3",
    "dir",
    "dirname",
    "du",
    "echo",
    "egrep",
    "exit",
    "expand",
    "expr",
    "factor",
    "false",
    "fgrep",
    "fmt",
    "fold",
    "free",
    "getconf",
    "grep",
    "groups",
    "head",
    "hexdump",
    "id",
    "join",
    "jq",
    "locale",
    "look",
    "ls",
    "lsblk",
    "lscpu",
    "md5sum",
    "nl",
    "nm",
    "nproc",
    "numfmt",
    "objdump",
    "od",
    "paste",
    "pgrep",
    "pr",
    "printenv",
    "ps",
    "pwd",
    "readelf",
    "readlink",
    "realpath",
    "rev",
    "seq",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "size",
    "sleep",
    "stat",
    "strings",
    "sum",
    "tac",
    "tail",
    "test",
    "tr",
    "true",
    "tsort",
    "tty",
    "type",
    "uname",
    "unexpand",
    "uptime",
    "users",
    "vdir",
    "vmstat",
    "w",
    "wc",
    "whatis",
    "whereis",
    "which",
    "who",
    "whoami",
    "xzcat",
    "yes",
    "zcat",
];

/// Read, unless an option says otherwise.
const READERS_UNLESS: &[(&str, Harm)] = &[
    ("ack", Harm { short: "", long: &["--pager", "--output"] }),
    ("ag", Harm { short: "", long: &["--pager"] }),
    ("date", Harm { short: "s", long: &["--set"] }),
    ("fd", Harm { short: "xX", long: &["--exec", "--exec-batch"] }),
    ("fdfind", Harm { short: "xX", long: &["--exec", "--exec-batch"] }),
    ("file", Harm { short: "Cz", long: &["--compile", "--uncompress"] }),
    ("rg", Harm { short: "z", long: &["--pre", "--hostname-bin", "--search-zip"] }),
    ("shuf", Harm { short: "o", long: &["--output"] }),
    ("sort", Harm { short: "o", long: &["--output", "--compress-program"] }),
    ("tree", Harm { short: "oR", long: &["--output"] }),
];

/// Programs whose purpose is a change, and what it is.
const CHANGERS: &[(&str, &[&str])] = &[
    ("removes files", &["rm", "rmdir", "unlink", "shred", "wipe", "srm", "trash"]),
    ("moves files", &["mv", "rename"]),
    (
        "writes files",
        &[
            "cp",
            "csplit",
            "dd",
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
            "mknod",
            "mktemp",
            "patch",
            "split",
            "tee",
            "touch",
            "truncate",
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
    "awk", "bash", "cargo", "cmake", "deno", "emacs", "eval", "gawk", "go", "gradle", "java",
    "just", "lua", "make", "mawk", "meson", "mvn", "ninja", "node", "parallel", "perl", "php",
    "pytest", "python", "python3", "ruby", "rustc", "rustup", "source", "tox", "trap", "vim",
    "watch", ".",
];

/// Asked for their version they do nothing else.
const VERSIONED: &[&str] = &[
    "bash", "clang", "cmake", "deno", "emacs", "gcc", "g++", "git", "go", "java", "make", "node",
    "perl", "php", "python", "python3", "ruby",
];

pub(super) fn judge(name: &str, arguments: &[Word]) -> Danger {
    if let ([only], true) = (arguments, VERSIONED.contains(&name))
        && (only.is("--version") || (only.is("version") && name == "go"))
    {
        return Danger::none();
    }
    match name {
        "git" => git::judge(arguments),
        "sed" => scripts::sed(arguments),
        "awk" | "gawk" | "mawk" => scripts::awk(name, arguments),
        "tar" => archive(arguments),
        "unzip" if arguments.first().is_some_and(|word| word.is("-l") || word.is("-v")) => {
            Danger::none()
        }
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

fn by_table(name: &str, arguments: &[Word]) -> Danger {
    if READERS.contains(&name) {
        return Danger::none();
    }
    if let Some((_, harm)) = READERS_UNLESS.iter().find(|(reader, _)| *reader == name) {
        return harm.find(name, arguments);
    }
    if let Some((does, _)) = CHANGERS.iter().find(|(_, names)| names.contains(&name)) {
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

/// Their second operand is a file that they write.
fn one_operand(name: &str, arguments: &[Word]) -> Danger {
    let harm = Harm { short: "r", long: &[] };
    let found = match name {
        "xxd" => harm.find(name, arguments),
        _ => Harm { short: "", long: &[] }.find(name, arguments),
    };
    // An option's value may count as an operand here; that only makes us ask.
    match operands(arguments).len() {
        0 | 1 => found,
        _ => found.and(Danger::destructive(format!("`{name}` writes to its second file"))),
    }
}

fn date(arguments: &[Word]) -> Danger {
    let sets = |word: &Word| word.literal().is_none_or(|text| text.starts_with(char::is_numeric));
    match operands(arguments).first().is_some_and(|word| sets(word)) {
        true => Danger::unknown("`date` with a number sets the clock"),
        false => by_table("date", arguments),
    }
}

/// `printf -v NAME` sets a variable.
fn printf(arguments: &[Word]) -> Danger {
    match arguments.first().map(Word::literal) {
        Some(Some(format)) if format.starts_with('-') && format != "--" => {
            Danger::unknown("`printf` with an option may set a variable")
        }
        Some(None) => Danger::unknown("the first argument of `printf` may be an option"),
        _ => Danger::none(),
    }
}

/// Into variables that no program listens to.
fn read(arguments: &[Word]) -> Danger {
    let is_own = |word: &Word| {
        let text = word.literal().unwrap_or("A");
        text == "-r" || text.chars().all(|c| c.is_ascii_lowercase() || c == '_')
    };
    match arguments.iter().all(is_own) {
        true => Danger::none(),
        false => Danger::unknown("`read` may set a variable that changes what runs"),
    }
}

fn set(arguments: &[Word]) -> Danger {
    let words: Vec<&str> = arguments.iter().filter_map(Word::literal).collect();
    let is_usual =
        |word: &&str| matches!(*word, "-e" | "-u" | "-eu" | "-euo" | "-o" | "pipefail" | "-x");
    match words.len() == arguments.len() && words.iter().all(is_usual) {
        true => Danger::none(),
        false => Danger::unknown("`set` may change what runs"),
    }
}

/// `perl -i`: an editor.
fn in_place(name: &str, arguments: &[Word]) -> Danger {
    let edits = |word: &Word| {
        word.literal().is_some_and(|text| {
            text.starts_with('-') && !text.starts_with("--") && text.contains('i')
        })
    };
    match arguments.iter().any(edits) {
        true => Danger::destructive(format!("`{name} -i` edits files in place")),
        false => Danger::unknown(format!("`{name}` runs code")),
    }
}

/// Only the plainest forms of listing; options can run programs.
fn archive(arguments: &[Word]) -> Danger {
    let lists = arguments.first().and_then(Word::literal).is_some_and(|first| {
        let letters = first.strip_prefix('-').unwrap_or(first);
        letters.contains('t') && letters.chars().all(|letter| "tvfzjJa".contains(letter))
    });
    let rest = arguments.get(1..).unwrap_or_default();
    let is_plain = |word: &Word| word.literal().is_some_and(|text| !text.starts_with('-'));
    match lists && rest.iter().all(is_plain) {
        true => Danger::none(),
        false => Danger::destructive("`tar` packs or unpacks files"),
    }
}
