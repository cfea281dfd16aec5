//! The table of toolchains: which sub-directories of which directories commands see.
//!
//! Law: a row names what is shown. Directories in which a tool also keeps logins (`~/.gem`,
//! `~/.stack`, `~/.julia`) are never shown whole, and a directory that a variable names is shown by
//! parts only, because the variable may name anything.

/// The visible part of a toolchain's directory.
#[derive(Debug, Clone, Copy)]
pub(super) enum Parts {
    /// Programs, libraries or packages and nothing else.
    Whole,
    /// These names in it; a slash goes deeper.
    Only(&'static [&'static str]),
    /// Each sub-directory that holds this name: the tool lets people choose theirs.
    EachWith(&'static str),
    /// Whole, if it holds this file.
    WholeWith(&'static str),
}

/// One toolchain: its usual directories in a home, and the variables that name another one.
#[derive(Debug)]
pub(super) struct Toolchain {
    pub(super) in_home: &'static [&'static str],
    pub(super) variables: &'static [&'static str],
    pub(super) parts: Parts,
}

const fn row(
    in_home: &'static [&'static str],
    variables: &'static [&'static str],
    parts: Parts,
) -> Toolchain {
    Toolchain { in_home, variables, parts }
}

use Parts::{EachWith, Only, Whole, WholeWith};

/// The layout of Python environments and other installations by prefix.
const PREFIX: &[&str] = &["bin", "lib", "lib64", "include", "share", "libexec", "pyvenv.cfg"];

const CONDA: Parts = Only(&[
    "bin",
    "condabin",
    "conda-meta",
    "compiler_compat",
    "envs",
    "include",
    "lib",
    "lib64",
    "libexec",
    "pkgs",
    "sbin",
    "share",
    "shell",
    "ssl/cacert.pem",
    "ssl/cert.pem",
    "ssl/openssl.cnf",
    "x86_64-conda-linux-gnu",
    "aarch64-conda-linux-gnu",
]);

/// Every toolchain that builds find in a home.
pub(super) const TOOLCHAINS: &[Toolchain] = &[
    // Not `credentials.toml`; its settings are judged by what is in them.
    row(&[".cargo"], &["CARGO_HOME"], Only(&["bin", "registry", "git", "env"])),
    row(
        &[".rustup"],
        &["RUSTUP_HOME"],
        Only(&["toolchains", "settings.toml", "update-hashes", "downloads", "tmp"]),
    ),
    row(&[".elan"], &[], Only(&["bin", "env", "settings.toml", "toolchains", "update-hashes"])),
    row(&[".npm/_cacache"], &[], Whole),
    // Not its clone of a repository, whose address may hold a login.
    row(
        &[".nvm"],
        &["NVM_DIR"],
        Only(&["alias", "bash_completion", "nvm-exec", "nvm.sh", "versions"]),
    ),
    row(&[".fnm", ".local/share/fnm"], &[], Only(&["aliases", "node-versions"])),
    row(&[".volta"], &["VOLTA_HOME"], Only(&["bin", "tools", "cache", "layout.v4", "log"])),
    row(
        &[".asdf"],
        &["ASDF_DIR"],
        Only(&[
            "asdf.sh",
            "bin",
            "completions",
            "defaults",
            "help.txt",
            "installs",
            "lib",
            "libexec",
            "plugins",
            "shims",
            "version.txt",
        ]),
    ),
    row(
        &[".local/share/mise"],
        &["MISE_DATA_DIR"],
        Only(&["bin", "downloads", "installs", "plugins", "shims"]),
    ),
    row(
        &[".pyenv"],
        &["PYENV_ROOT"],
        Only(&[
            "bin",
            "completions",
            "libexec",
            "plugins",
            "pyenv.d",
            "shims",
            "version",
            "versions",
        ]),
    ),
    // Not `credentials`.
    row(&[".local/share/uv"], &[], Only(&["python", "tools"])),
    row(&[".cache/uv", ".cache/pip"], &[], Whole),
    row(&[], &["UV_CACHE_DIR"], WholeWith("CACHEDIR.TAG")),
    row(&[], &["PIP_CACHE_DIR"], Only(&["http", "http-v2", "selfcheck", "wheels"])),
    row(&[".local/bin", ".local/lib"], &[], Whole),
    row(
        &[".local/pipx", ".local/share/pipx"],
        &[],
        Only(&["py", "shared", "trash", "venvs", "pipx_metadata.json"]),
    ),
    row(&[".local/share/virtualenv"], &[], Only(&["py_info", "unzip", "wheel"])),
    row(&[], &["VIRTUAL_ENV"], Only(PREFIX)),
    row(
        &[".local/share/pnpm"],
        &["PNPM_HOME"],
        Only(&[".tools", "bin", "global", "links", "nodejs", "store"]),
    ),
    row(&[".cache/yarn"], &[], Whole),
    row(&[".yarn"], &[], Only(&["berry/cache", "berry/index", "bin", "releases", "switch"])),
    row(&[".bun"], &["BUN_INSTALL"], Only(&["bin", "install/cache", "install/global"])),
    row(&[".deno"], &[], Only(&["bin"])),
    // Not what scripts store for an origin.
    row(&[".cache/deno"], &[], Only(&["deps", "gen", "npm", "registries", "remote"])),
    row(&["go"], &[], Only(&["bin", "pkg"])),
    row(
        &[],
        &["GOROOT"],
        Only(&["VERSION", "api", "bin", "go.env", "lib", "misc", "pkg", "src", "test"]),
    ),
    row(
        &[],
        &["JAVA_HOME"],
        Only(&["bin", "conf", "include", "jmods", "jre", "legal", "lib", "lib64", "release"]),
    ),
    row(
        &[".rbenv"],
        &["RBENV_ROOT"],
        Only(&[
            "bin",
            "completions",
            "libexec",
            "plugins",
            "rbenv.d",
            "shims",
            "version",
            "versions",
        ]),
    ),
    row(
        &[".rvm"],
        &[],
        Only(&[
            "RELEASE",
            "VERSION",
            "bin",
            "config",
            "contrib",
            "environments",
            "gems",
            "gemsets",
            "help",
            "hooks",
            "lib",
            "patches",
            "patchsets",
            "rubies",
            "scripts",
            "usr",
            "wrappers",
        ]),
    ),
    // Not `credentials`.
    row(
        &[".gem", ".local/share/gem"],
        &["GEM_HOME"],
        Only(&[
            "bin",
            "build_info",
            "bundler",
            "cache",
            "doc",
            "environment",
            "extensions",
            "gems",
            "jruby",
            "plugins",
            "ruby",
            "specifications",
            "specs",
            "truffleruby",
            "wrappers",
        ]),
    ),
    row(
        &[".sdkman"],
        &["SDKMAN_DIR"],
        Only(&["bin", "candidates", "etc", "libexec", "src", "var"]),
    ),
    // Not `settings.xml`, `gradle.properties`, `init.d`, cabal's `config`.
    row(&[".m2/repository", ".gradle/caches", ".gradle/wrapper"], &[], Whole),
    row(&[".cabal"], &[], Only(&["bin", "packages", "store"])),
    row(&[".ghcup"], &[], Only(&["bin", "cache", "env", "ghc", "hls", "share"])),
    // Not `upload`.
    row(
        &[".stack"],
        &[],
        Only(&[
            "compiler-tools",
            "global-project",
            "pantry",
            "programs",
            "script",
            "setup-exe-cache",
            "setup-exe-src",
            "snapshots",
            "stack.sqlite3",
            "templates",
        ]),
    ),
    // Not `plugins`, where publishing tools keep tokens.
    row(&[".opam"], &[], Only(&["config", "download-cache", "opam-init", "repo", "plugins/bin"])),
    row(&[".opam"], &[], EachWith(".opam-switch")),
    row(&[".juliaup"], &[], Only(&["bin", "juliaup.json"])),
    // Not `servers`, `config/startup.jl`, `logs`, and what packages store for themselves.
    row(
        &[".julia"],
        &[],
        Only(&[
            "artifacts",
            "bin",
            "compiled",
            "conda",
            "dev",
            "environments",
            "juliaup",
            "packages",
            "registries",
        ]),
    ),
    // Not `corefx`, which holds private keys.
    row(
        &[".dotnet"],
        &[],
        Only(&[
            "dotnet",
            "dnx",
            "host",
            "library-packs",
            "metadata",
            "packs",
            "sdk",
            "sdk-manifests",
            "shared",
            "templates",
            "tools",
            "workloads",
        ]),
    ),
    row(&[".nuget/packages"], &[], Whole),
    row(
        &[".linuxbrew"],
        &[],
        Only(&[
            "Cellar",
            "Homebrew",
            "bin",
            "etc/ca-certificates/cert.pem",
            "etc/openssl@3/cert.pem",
            "etc/openssl@3/openssl.cnf",
            "include",
            "lib",
            "libexec",
            "opt",
            "sbin",
            "share",
        ]),
    ),
    row(&["miniconda3", "miniforge3", "anaconda3"], &["CONDA_PREFIX"], CONDA),
    row(&[".config/git"], &[], Only(&["attributes", "ignore"])),
];

/// Names under which tools keep logins, besides what the sandbox denies. Compared folded.
pub(super) const CREDENTIALS: &[&str] = &[
    "credentials",
    "credentials.*",
    "*credentials.json",
    ".credentials*",
    "auth.toml",
    "auth.json",
    "auth.ini",
    "*.token",
    "secrets.*",
    "*.kdbx",
    "*.keystore",
    "*.jks",
    "*.keytab",
    "x509stores",
    ".condarc",
    ".yarnrc.yml",
    ".git-credentials",
];

/// Bundles of public certificates, although they are named like keys.
pub(super) const PUBLIC: &[&str] = &["cacert.pem", "cert.pem"];
