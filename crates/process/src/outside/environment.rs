//! The environment that a child process gets.
//!
//! Law: no secret, no hook that makes an interpreter or loader run something else, and no way into
//! the person's own session (CFG-ENV-01). Names match in any case on every system; a secret is also
//! known by its value; configuration can add patterns, never remove them.

use std::ffi::{OsStr, OsString};
use std::sync::{Mutex, PoisonError};

use jm_types::text::redact::looks_like_secret;

/// Names whose values are secrets.
const SECRETS: &[&str] = &[
    "*_KEY",
    "*_KEY_*",
    "*APIKEY*",
    "*API_KEY*",
    "*ACCESSKEY*",
    "*PRIVATEKEY*",
    "*TOKEN*",
    "*SECRET*",
    "*PASSWORD*",
    "*PASSWD*",
    "*PASSPHRASE*",
    "*_PASS",
    "*_PWD",
    "*_PAT",
    "*CREDENTIAL*",
    "*_AUTH",
    "*_AUTH_*",
    "*_JWT*",
    "*BEARER*",
    "*COOKIE*",
    "*WEBHOOK*",
    "*CONNECTION_STRING*",
    "OP_SESSION_*",
    "BW_SESSION",
];

/// Secret by the patterns above, yet their values only say where a secret is kept.
const POINTERS: &[&str] =
    &["*_FILE", "*_PATH", "*_DIR", "*_HOME", "*_SOCK", "GOOGLE_APPLICATION_CREDENTIALS"];

/// Accounts and services: what is in them is for no command.
const ACCOUNTS: &[&str] = &[
    "AWS_*",
    "ANTHROPIC_*",
    "OPENAI_*",
    "GEMINI_*",
    "GOOGLE_*",
    "GCP_*",
    "GCLOUD_*",
    "CLOUDSDK_*",
    "AZURE_*",
    "ARM_*",
    "GH_*",
    "GITHUB_*",
    "GITLAB_*",
    "VAULT_*",
    "JM_*",
    "DOCKER_HOST",
    "DOCKER_CONFIG",
    "KUBECONFIG",
    "*_DSN",
    "*DATABASE_URL",
    "MONGODB_URI",
    "PGPASSFILE",
    "NETRC",
    "SSLKEYLOGFILE",
];

/// Sockets through which a child could act as the person, or type into their terminal or editor.
const SESSION: &[&str] = &[
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "GNOME_KEYRING_CONTROL",
    "DBUS_*",
    "XAUTHORITY",
    "TMUX*",
    "STY",
    "ZELLIJ*",
    "KITTY_*",
    "WEZTERM_*",
    "ALACRITTY_*",
    "KONSOLE_*",
    "GNOME_TERMINAL_*",
    "VSCODE_*",
    "NVIM",
    "NVIM_LISTEN_ADDRESS",
    "EMACS_SOCKET_NAME",
    "EMACS_SERVER_FILE",
];

/// Variables that make a shell, loader, interpreter or tool load or run what they name.
const HOOKS: &[&str] = &[
    "LD_*",
    "DYLD_*",
    "GCONV_PATH",
    "LOCPATH",
    "NLSPATH",
    "GLIBC_TUNABLES",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "BASH_ENV",
    "ENV",
    "ZDOTDIR",
    "FPATH",
    "PROMPT_COMMAND",
    "PS4",
    "SHELLOPTS",
    "BASHOPTS",
    "BASH_FUNC_*",
    "BASH_LOADABLES_PATH",
    "IFS",
    "CDPATH",
    "GLOBIGNORE",
    "PYTHON*",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NPM_CONFIG_*",
    "RUBYOPT",
    "RUBYLIB",
    "PERL5*",
    "PERLLIB",
    "LUA_INIT*",
    "LUA_PATH*",
    "LUA_CPATH*",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "R_PROFILE*",
    "R_ENVIRON*",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "DOTNET_STARTUP_HOOKS",
    "CORECLR_*",
    "COR_*",
    "GIT_*",
    "*PAGER",
    "*EDITOR",
    "VISUAL",
    "BROWSER",
    "*ASKPASS",
    "LESSOPEN",
    "LESSCLOSE",
    "RIPGREP_CONFIG_PATH",
    "MAKEFLAGS",
    "GNUMAKEFLAGS",
    "MFLAGS",
    "MAKEFILES",
    "VIMINIT",
    "GVIMINIT",
    "EXINIT",
    "EMACSLOADPATH",
];

/// Decides which variables a child process may see.
pub struct EnvSanitizer {
    extra: Vec<String>,
    /// The last variables, and what was kept of them: a command is judged and started with the same ones.
    last: Mutex<Option<[Vec<Variable>; 2]>>,
}

/// Without the variables, among which are secrets.
impl std::fmt::Debug for EnvSanitizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EnvSanitizer").field("extra", &self.extra).finish_non_exhaustive()
    }
}

/// A name and its value.
type Variable = (OsString, OsString);

impl EnvSanitizer {
    /// `*` in a pattern stands for any characters; the patterns come on top of our own.
    pub fn new(extra_patterns: &[String]) -> Self {
        let extra = extra_patterns.iter().map(|pattern| pattern.to_uppercase()).collect();
        Self { extra, last: Mutex::default() }
    }

    /// Tells if a variable goes to commands: by its name, and by a value that looks like a secret.
    pub fn keeps(&self, name: &OsStr, value: &OsStr) -> bool {
        let name = folded(name);
        let value = value.to_string_lossy();
        // Old shells define a function from any variable with such a value (CVE-2014-6271).
        let is_function = value.trim_start().starts_with("()");
        !name.is_empty() && !self.denies(&name) && !is_function && !looks_like_secret(&value)
    }

    /// Keeps the variables that may pass, in the order given, with `PATH` reduced to absolute entries.
    pub fn sanitize<I>(&self, vars: I) -> Vec<Variable>
    where
        I: IntoIterator<Item = Variable>,
    {
        let vars: Vec<Variable> = vars.into_iter().collect();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some([before, kept]) = &*last
            && *before == vars
        {
            return kept.clone();
        }
        let passing = vars.iter().filter(|(name, value)| self.keeps(name, value));
        let kept = passing.filter_map(|(name, value)| {
            let is_path = folded(name) == "PATH";
            let value = if is_path { absolute_entries(value)? } else { value.clone() };
            Some((name.clone(), value))
        });
        let kept: Vec<Variable> = kept.collect();
        *last = Some([vars, kept.clone()]);
        kept
    }

    /// The secrets among what is dropped, for the redactor.
    pub fn denied_values<I>(&self, vars: I) -> Vec<String>
    where
        I: IntoIterator<Item = (OsString, OsString)>,
    {
        vars.into_iter()
            .filter_map(|(name, value)| {
                let (name, value) = (folded(&name), value.to_string_lossy().trim().to_owned());
                let is_secret = self.names_secret(&name) || looks_like_secret(&value);
                is_secret.then(|| secret_part(&value).to_owned())
            })
            .filter(|value| !value.is_empty())
            .collect()
    }

    fn denies(&self, name: &str) -> bool {
        let ours = [SECRETS, ACCOUNTS, SESSION, HOOKS];
        ours.iter().any(|patterns| any_matches(patterns, name)) || any_matches(&self.extra, name)
    }

    fn names_secret(&self, name: &str) -> bool {
        let is_secret = any_matches(SECRETS, name) || any_matches(&self.extra, name);
        is_secret && !any_matches(POINTERS, name)
    }
}

/// Tells whether a variable holds a secret, by its name or by the shape of its value.
pub(crate) fn is_secret(name: &OsStr, value: &OsStr) -> bool {
    let is_named = EnvSanitizer::new(&[]).names_secret(&folded(name));
    is_named || looks_like_secret(&value.to_string_lossy())
}

fn folded(name: &OsStr) -> String {
    name.to_string_lossy().to_uppercase()
}

fn any_matches<P: AsRef<str>>(patterns: &[P], name: &str) -> bool {
    patterns.iter().any(|pattern| matches(pattern.as_ref(), name))
}

/// Both in upper case. Taking the earliest place for each part is enough, because the last part is
/// held against the end.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        let Some(found) = name.find(part) else { return false };
        name = &name[found + part.len()..];
    }
    name.ends_with(last)
}

/// An empty or relative entry would run programs of the directory we happen to be in. Without any
/// entry left there is no variable: an empty one means that directory too.
fn absolute_entries(path: &OsStr) -> Option<OsString> {
    let entries: Vec<_> = std::env::split_paths(path).filter(|entry| entry.is_absolute()).collect();
    if entries.is_empty() { None } else { std::env::join_paths(entries).ok() }
}

/// Of an address only the password, or what stands in its place: the host is no secret.
fn secret_part(value: &str) -> &str {
    let userinfo = value
        .split_once("://")
        .map(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or(rest))
        .and_then(|authority| authority.rsplit_once('@'))
        .map(|(userinfo, _)| userinfo);
    match userinfo {
        Some(userinfo) => userinfo.split_once(':').map_or(userinfo, |(_, password)| password),
        None => value,
    }
}

#[cfg(test)]
mod tests;
