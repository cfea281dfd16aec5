//! Options of programs of which nothing is known, judged by their names.
//!
//! Law: in an unknown program only options whose names speak of what is shown pass a `*`; all that
//! speak of programs, code, files or places have to be spelt out.

/// Letters of options that in most programs say how much is shown or done, not what is run.
const PLAIN_LETTERS: &str = "vqhVnsajtwkA0123456789";

/// Pieces of long options' names that speak of programs, code, files or places.
const ACTING_PIECES: &[&str] = &[
    "exec",
    "execute",
    "command",
    "cmd",
    "run",
    "runner",
    "shell",
    "program",
    "prog",
    "eval",
    "script",
    "hook",
    "hooks",
    "plugin",
    "plugins",
    "load",
    "loader",
    "preload",
    "require",
    "import",
    "include",
    "config",
    "conf",
    "configuration",
    "cfg",
    "rc",
    "settings",
    "init",
    "output",
    "out",
    "outfile",
    "write",
    "save",
    "dump",
    "log",
    "logfile",
    "in",
    "inplace",
    "place",
    "fix",
    "prefix",
    "root",
    "rootdir",
    "directory",
    "dir",
    "chdir",
    "cwd",
    "path",
    "file",
    "home",
    "target",
    "editor",
    "pager",
    "browser",
    "wrapper",
    "filter",
    "pre",
    "post",
    "before",
    "after",
    "with",
    "use",
    "driver",
    "launcher",
    "interpreter",
    "compiler",
    "linker",
    "toolchain",
    "agent",
    "proxy",
    "host",
    "remote",
    "user",
    "identity",
    "key",
    "token",
    "module",
    "modules",
    "extension",
    "define",
    "set",
    "env",
    "environment",
    "option",
    "options",
    "arg",
    "args",
    "url",
    "registry",
    "index",
    "delete",
    "remove",
    "force",
    "global",
    "unsafe",
    "allow",
    "trust",
    "insecure",
    "privileged",
    "daemon",
    "server",
    "callback",
    "template",
    "theme",
    "reporter",
    "transform",
    "rule",
    "rules",
];

/// May run, load or write something in a program of which nothing is known.
pub(crate) fn acts_in_general(text: &str) -> bool {
    if let Some(long) = text.strip_prefix("--") {
        let name = long.split('=').next().unwrap_or_default();
        return pieces_of(name).iter().any(|piece| is_acting_piece(piece));
    }
    if let Some(letters) = text.strip_prefix('-') {
        return !letters.chars().all(|letter| PLAIN_LETTERS.contains(letter));
    }
    let (name, has_value) = text.split_once('=').map_or((text, false), |(name, _)| (name, true));
    let is_variable = has_value
        && !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_variable || text.starts_with(['@', '+'])
}

/// `--outDir`, `--out-dir` and `--out_dir` are all `out` and `dir`.
fn pieces_of(name: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() || (was_lower && c.is_ascii_uppercase()) {
            pieces.push(String::new());
        }
        was_lower = c.is_ascii_lowercase();
        if let (true, Some(last)) = (c.is_ascii_alphanumeric(), pieces.last_mut()) {
            last.push(c.to_ascii_lowercase());
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// One of the pieces, an abbreviation of one, or a word made with one.
fn is_acting_piece(piece: &str) -> bool {
    ACTING_PIECES.iter().any(|acting| {
        let is_abbreviation = piece.len() > 2 && acting.starts_with(piece);
        let is_compound = acting.len() > 3 && piece.starts_with(acting);
        *acting == piece || is_abbreviation || is_compound
    })
}
