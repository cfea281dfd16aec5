//! Settings files of git and cargo that may hold a login.
//!
//! Law: a file is shown when each of its settings is on a list of those that hold none, and no value
//! has the shape of one. What cannot be read to its end is withheld.

use std::path::{Path, PathBuf};

use jm_system::state::read_text;
use jm_types::text::redact::looks_like_secret;
use toml::Value;

use super::environment::is_secret;
use super::refusal::Withheld;

/// A settings file that is longer than this is no settings file.
const MOST_BYTES: u64 = 256 * 1024;

#[derive(Debug, Clone, Copy)]
enum Grammar {
    Git,
    Cargo,
}

/// Settings files of a home.
const IN_HOME: &[(&str, Grammar)] = &[
    (".gitconfig", Grammar::Git),
    (".config/git/config", Grammar::Git),
    (".cargo/config", Grammar::Cargo),
    (".cargo/config.toml", Grammar::Cargo),
];
const IN_CARGO_HOME: &[&str] = &["config", "config.toml"];

/// The settings files of a home and of `CARGO_HOME` that hold no login.
pub(crate) fn shown(homes: &[&Path], cargo_home: Option<&Path>) -> Vec<PathBuf> {
    let in_homes = homes
        .iter()
        .flat_map(|home| IN_HOME.iter().map(|(name, grammar)| (home.join(name), *grammar)));
    let cargos = cargo_home
        .into_iter()
        .flat_map(|folder| IN_CARGO_HOME.iter().map(|name| (folder.join(name), Grammar::Cargo)));
    let all =
        in_homes.chain(cargos).filter(|(path, grammar)| judge(path, *grammar) == Judged::Clean);
    all.map(|(path, _)| path).collect()
}

/// The settings files of a home that commands do not get.
pub(crate) fn withheld(home: &Path) -> Vec<Withheld> {
    let judged = IN_HOME.iter().map(|(name, grammar)| {
        let path = home.join(name);
        (judge(&path, *grammar), path)
    });
    let withheld = judged.filter_map(|(judged, path)| match judged {
        Judged::Withheld(setting) => Some(Withheld { path, setting }),
        Judged::Missing | Judged::Clean => None,
    });
    withheld.collect()
}

#[derive(Debug, PartialEq, Eq)]
enum Judged {
    Missing,
    Clean,
    /// Names the setting, never its value.
    Withheld(String),
}

fn judge(path: &Path, grammar: Grammar) -> Judged {
    let text = match read_text(path, MOST_BYTES) {
        Ok(None) => return Judged::Missing,
        Ok(Some(text)) => text,
        Err(_) => return Judged::Withheld("its contents, which cannot be read".to_owned()),
    };
    let found = match grammar {
        Grammar::Git => in_git(&text),
        Grammar::Cargo => in_cargo(&text),
    };
    found.map_or(Judged::Clean, Judged::Withheld)
}

/// A value that has the shape of a secret, or an address with a login in it.
fn is_login(value: &str) -> bool {
    let in_address = value.split("://").skip(1).zip(value.split("://")).any(|(rest, before)| {
        let authority = rest.split(['/', '?', '#', '"', '\'', ' ']).next().unwrap_or_default();
        let user = authority.rsplit_once('@').map(|(user, _)| user);
        // The user of an SSH address is a name.
        user.is_some_and(|user| user.contains(':') || !before.ends_with("ssh"))
    });
    in_address || looks_like_secret(value)
}

/// Sections of git's configuration in which every key is a preference, a name or a path.
const GIT_SECTIONS: &[&str] = &[
    "absorb",
    "add",
    "advice",
    "alias",
    "am",
    "apply",
    "author",
    "bisect",
    "blame",
    "branch",
    "branchless",
    "browser",
    "checkout",
    "clean",
    "clone",
    "color",
    "column",
    "commit",
    "commitgraph",
    "committer",
    "core",
    "delta",
    "diff",
    "difftool",
    "extensions",
    "feature",
    "fetch",
    "filter",
    "format",
    "fsck",
    "fsmonitor",
    "gc",
    "ghq",
    "git-town",
    "gitflow",
    "gpg",
    "grep",
    "gui",
    "guitool",
    "help",
    "i18n",
    "include",
    "includeif",
    "index",
    "init",
    "instaweb",
    "interactive",
    "lfs",
    "log",
    "magit",
    "mailinfo",
    "mailmap",
    "maintenance",
    "man",
    "merge",
    "mergetool",
    "notes",
    "pack",
    "pager",
    "protocol",
    "pull",
    "push",
    "rebase",
    "receive",
    "remote",
    "rerere",
    "revert",
    "safe",
    "sequence",
    "showbranch",
    "spice",
    "splitindex",
    "ssh",
    "stash",
    "status",
    "submodule",
    "tag",
    "tar",
    "tig",
    "trailer",
    "transfer",
    "uploadpack",
    "url",
    "user",
    "versionsort",
    "web",
    "worktree",
];
/// Keys without logins in sections that have others.
const GIT_KEYS: &[(&str, &[&str])] = &[
    ("credential", &["helper", "username", "usehttppath", "provider", "credentialstore"]),
    ("github", &["user"]),
    ("gitlab", &["user"]),
    ("hub", &["protocol", "host"]),
    (
        "http",
        &[
            "cookiefile",
            "delegation",
            "emptyauth",
            "followredirects",
            "lowspeedlimit",
            "lowspeedtime",
            "maxrequests",
            "minsessions",
            "noepsv",
            "postbuffer",
            "proxy",
            "proxyauthmethod",
            "schannelcheckrevoke",
            "schannelusesslcainfo",
            "sslbackend",
            "sslcainfo",
            "sslcapath",
            "sslcert",
            "sslcertpasswordprotected",
            "sslcipherlist",
            "sslkey",
            "ssltry",
            "sslverify",
            "sslversion",
            "useragent",
            "version",
        ],
    ),
    (
        "sendemail",
        &[
            "aliasesfile",
            "aliasfiletype",
            "annotate",
            "bcc",
            "cc",
            "chainreplyto",
            "confirm",
            "from",
            "multiedit",
            "signedoffbycc",
            "smtpencryption",
            "smtpserver",
            "smtpserverport",
            "smtpsslcertpath",
            "smtpuser",
            "suppresscc",
            "suppressfrom",
            "thread",
            "to",
            "transferencoding",
            "validate",
            "xmailer",
        ],
    ),
];

/// The first setting of git's that may hold a login.
fn in_git(text: &str) -> Option<String> {
    let text = text.replace("\\\r\n", "").replace("\\\n", "");
    let mut section = String::new();
    for line in text.trim_start_matches('\u{feff}').lines() {
        let mut line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            let Some((name, rest)) = split_header(header) else {
                return Some("a section that cannot be read".to_owned());
            };
            if is_login(name) {
                return Some("the name of a section".to_owned());
            }
            let end = name.find([' ', '\t', '"', '.']).unwrap_or(name.len());
            section = name[..end].to_lowercase();
            line = rest.trim();
        }
        if line.is_empty() || line.starts_with(['#', ';']) {
            if is_login(line) {
                return Some("a comment".to_owned());
            }
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let key = key.trim().to_lowercase();
        if !is_known_to_git(&section, &key) || is_login(value) || is_scripted(&section, value) {
            return Some(format!("{section}.{key}"));
        }
    }
    None
}

/// The name of a section with its sub-section, and what stands behind it in the line.
fn split_header(header: &str) -> Option<(&str, &str)> {
    let mut quoted = false;
    let mut escaped = false;
    for (at, c) in header.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            ']' if !quoted => return Some((&header[..at], &header[at + 1..])),
            _ => {}
        }
    }
    None
}

fn is_known_to_git(section: &str, key: &str) -> bool {
    let keys = GIT_KEYS.iter().find(|(name, _)| *name == section);
    GIT_SECTIONS.contains(&section) || keys.is_some_and(|(_, keys)| keys.contains(&key))
}

/// A credential helper that is a script may print what it holds.
fn is_scripted(section: &str, value: &str) -> bool {
    section == "credential" && value.contains(['=', '{', ';', '$', '`', '|', '&'])
}

/// Tables of cargo's configuration without logins.
const CARGO_TABLES: &[&str] = &[
    "alias",
    "build",
    "cache",
    "cargo-new",
    "doc",
    "future-incompat-report",
    "host",
    "http",
    "include",
    "install",
    "net",
    "patch",
    "paths",
    "profile",
    "resolver",
    "source",
    "target",
    "term",
    "unstable",
];
/// Keys of `registry` and `registries` without logins.
const CARGO_KEYS: &[&str] = &["default", "index", "protocol"];

/// The first setting of cargo's that may hold a login.
fn in_cargo(text: &str) -> Option<String> {
    let comment =
        text.lines().filter_map(|line| line.split_once('#')).any(|(_, said)| is_login(said));
    if comment {
        return Some("a comment".to_owned());
    }
    let Ok(table) = text.parse::<toml::Table>() else {
        return Some("its contents, which are no TOML".to_owned());
    };
    let all = Value::Table(table);
    let mut names = Vec::new();
    first_login(&all, &mut names)
}

fn first_login<'a>(value: &'a Value, names: &mut Vec<&'a str>) -> Option<String> {
    let found = match value {
        Value::Table(table) => table.iter().find_map(|(name, value)| {
            names.push(name);
            let found = first_login(value, names);
            names.pop();
            found
        }),
        Value::Array(all) => all.iter().find_map(|value| first_login(value, names)),
        Value::String(text) => holds_login(names, text).then(|| names.join(".")),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => {
            (!is_known_to_cargo(names)).then(|| names.join("."))
        }
    };
    found.or_else(|| looks_like_secret(names.last()?).then(|| "the name of a setting".to_owned()))
}

fn holds_login(names: &[&str], text: &str) -> bool {
    let is_secret_variable = names.first() == Some(&"env")
        && names.get(1).is_some_and(|name| is_secret(name.as_ref(), text.as_ref()));
    !is_known_to_cargo(names) || is_secret_variable || is_login(text)
}

fn is_known_to_cargo(names: &[&str]) -> bool {
    match names {
        ["registry", key] | ["registries", _, key] => CARGO_KEYS.contains(key),
        ["env", ..] => true,
        [table, ..] => CARGO_TABLES.contains(table),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_settings_without_a_login_are_shown() {
        let text = "\u{feff}[user]\n\tname = A \"B\" ; comment\n\temail = a@b.example\n[core] editor = vim\n\
                    [alias]\n\tst = status\n\tlg = log \\\n  --graph\n[url \"git@github.com:\"]\n\
                    \tinsteadOf = https://github.com/\n[url \"ssh://git@host/\"]\n\tinsteadOf = x:\n\
                    [credential \"https://github.com\"]\n\thelper = !/usr/bin/gh auth git-credential\n\
                    [http]\n\tsslVerify\n\tproxy = http://proxy.example:3128\n[includeIf \"gitdir:~/w/\"]\n\
                    \tpath = ~/.gitconfig-work\n";
        assert_eq!(in_git(text), None);
        assert_eq!(in_git(""), None);
    }

    #[test]
    fn git_settings_with_a_login_are_named_and_not_repeated() {
        let cases = [
            ("[http]\n\textraHeader = Authorization: Basic dTpw", "http.extraheader"),
            ("[http \"https://x/\"] extraheader = X: y", "http.extraheader"),
            ("[http]\n\tproxy = http://u:p@proxy:1", "http.proxy"),
            ("[sendemail]\n smtpPass = hunter2", "sendemail.smtppass"),
            ("[github]\n token = abc", "github.token"),
            ("[something]\n else = 1", "something.else"),
            ("[url \"https://oauth2:abc@host/\"]\n insteadOf = x", "the name of a section"),
            ("[remote \"o\"]\n url = https://abc@host/x", "remote.url"),
            ("[credential]\n helper = \"!f() { echo password=x; }; f\"", "credential.helper"),
            ("[credential]\n helper = \"!f() \\\n { echo x; }; f\"", "credential.helper"),
            ("[user", "a section that cannot be read"),
            ("stray = 1", ".stray"),
        ];
        for (text, setting) in cases {
            assert_eq!(in_git(text).as_deref(), Some(setting), "{text}");
        }
    }

    #[test]
    fn cargo_settings_are_judged_by_their_keys() {
        let clean = "[build]\nrustflags = [\"-C\", \"link-arg=-fuse-ld=lld\"]\n[env]\nFOO = \"1\"\n\
                     [registries.mine]\nindex = \"sparse+https://host/\"\n[net]\nretry = 3\n\
                     [source.crates-io]\nreplace-with = \"mirror\"\n[registry]\ndefault = \"mine\"\n";
        assert_eq!(in_cargo(clean), None);
        let cases = [
            ("[registry]\ntoken = \"x\"", "registry.token"),
            ("[registries.mine]\ntoken = \"x\"", "registries.mine.token"),
            ("[registries.mine]\nindex = \"https://u:p@host/\"", "registries.mine.index"),
            ("[http]\nproxy = \"http://u:p@host\"", "http.proxy"),
            ("[env]\nSERVICE_TOKEN = \"abc\"", "env.SERVICE_TOKEN"),
            ("[env]\nSERVICE_TOKEN = { value = \"abc\", force = true }", "env.SERVICE_TOKEN.value"),
            ("[credential-alias]\nx = [\"echo\", \"abc\"]", "credential-alias.x"),
            ("= broken", "its contents, which are no TOML"),
        ];
        for (text, setting) in cases {
            assert_eq!(in_cargo(text).as_deref(), Some(setting), "{text}");
        }
    }
}
