//! Environment variables: those that only change how things are shown, and those that decide what
//! runs.

use crate::command_risk::{Danger, worst};

/// Variables that change how a program shows things, never what it runs.
const HARMLESS: &[&str] =
    &["LANG", "LANGUAGE", "TZ", "NO_COLOR", "COLUMNS", "LINES", "TERM", "CI", "RUST_BACKTRACE"];

/// Further ones that a rule need not spell out.
const UNSPELT: &[&str] = &[
    "CARGO_TERM_COLOR",
    "CARGO_TERM_PROGRESS_WHEN",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "FORCE_COLOR",
    "GIT_TERMINAL_PROMPT",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "RUST_LOG",
];

/// Variables that loaders, shells and interpreters take code or the place of code from. A `*` ends a
/// family of names.
const HOOKS: &[&str] = &[
    "BASH*",
    "BROWSER",
    "CARGO_*",
    "CDPATH",
    "CLASSPATH",
    "DYLD_*",
    "EDITOR",
    "ELECTRON_RUN_AS_NODE",
    "EMACSLOADPATH",
    "ENV",
    "GCONV_PATH",
    "GIO_*",
    "GIT_*",
    "GOFLAGS",
    "GREP_OPTIONS",
    "GTK_*",
    "HOME",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LD_*",
    "LESSCLOSE",
    "LESSOPEN",
    "LOCPATH",
    "LUA_*",
    "MAKEFILES",
    "MAKEFLAGS",
    "MANPAGER",
    "NODE_OPTIONS",
    "NODE_PATH",
    "OPENSSL_CONF",
    "PAGER",
    "PATH",
    "PERL*",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "PIP_*",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS4",
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "PYTHON*",
    "RIPGREP_CONFIG_PATH",
    "RUBY*",
    "RUSTC*",
    "RUSTUP_*",
    "SHELL*",
    "SSH_*",
    "SUDO_*",
    "TAR_OPTIONS",
    "VISUAL",
    "ZDOTDIR",
    "_JAVA_OPTIONS",
    "npm_config_*",
    "NPM_CONFIG_*",
];

/// Names of the hooks' families that hold plain values.
const PLAIN_VALUES: &[&str] = &[
    "CARGO_INCREMENTAL",
    "CARGO_NET_OFFLINE",
    "GIT_AUTHOR_DATE",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_COMMITTER_DATE",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_OPTIONAL_LOCKS",
    "GIT_TERMINAL_PROMPT",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED",
    "PYTHONIOENCODING",
    "PYTHONUNBUFFERED",
    "PYTHONUTF8",
];

impl Danger {
    /// The danger of variables that are set for a command.
    pub fn of_environment<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        worst(names.into_iter().map(danger_of_setting))
    }
}

/// A variable set for one program.
pub(crate) fn danger_of_setting(name: &str) -> Danger {
    match HARMLESS.contains(&name) || name.starts_with("LC_") {
        true => Danger::none(),
        false => Danger::unknown(format!("sets {name}, which may change what runs")),
    }
}

/// A variable that a script sets for itself: only names that no program listens to.
pub(crate) fn danger_of_assigning(name: &str) -> Danger {
    let is_own = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && !name.ends_with("_proxy")
        && !name.starts_with("npm_config_")
        && !matches!(name, "histchars" | "path" | "auto_resume");
    if is_own { Danger::none() } else { danger_of_setting(name) }
}

/// Set without a word of the rule: it changes how things are shown. `None` for a value that is not
/// known before the command runs.
pub(crate) fn needs_no_spelling(name: &str, value: Option<&str>) -> bool {
    let is_pager = matches!(name, "PAGER" | "GIT_PAGER" | "MANPAGER") && value == Some("cat");
    !danger_of_setting(name).needs_person() || UNSPELT.contains(&name) || is_pager
}

/// Decides which code is loaded or run, so that no rule may set it.
pub(crate) fn is_hook(name: &str) -> bool {
    let holds = |hook: &&str| match hook.strip_suffix('*') {
        Some(family) => name.starts_with(family),
        None => **hook == *name,
    };
    HOOKS.iter().any(holds) && !PLAIN_VALUES.contains(&name)
}
