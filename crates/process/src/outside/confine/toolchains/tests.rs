//! Tests of what commands see of homes.

use std::ffi::OsString;

use super::*;
use crate::outside::login_settings::withheld;
use jm_files::SandboxSettings;

#[test]
fn within_is_said_of_whole_names() {
    for path in ["/", "/a", "/a/b", "/a/b/c", "/ab", "/a/bc", "b", "b/c"] {
        for folder in ["/", "/a", "/a/b", "b", "/b"] {
            let (path, folder) = (Path::new(path), Path::new(folder));
            assert_eq!(is_within(path, folder), path.starts_with(folder), "{path:?} {folder:?}");
        }
    }
}

#[test]
fn a_home_is_known_by_its_programs() {
    let home = |path: &str| home_of(&plain(Path::new(path)));
    assert_eq!(home("/home/me/.cargo/bin"), Some("/home/me".into()));
    assert_eq!(home("/home/me//.cargo/./bin/"), Some("/home/me".into()));
    assert_eq!(home("/home/me/.nvm/versions/node/v22/bin"), Some("/home/me".into()));
    assert_eq!(home("/home/me/.opam/default/bin"), Some("/home/me".into()));
    assert_eq!(home("/home/me/.cargo/binaries"), None);
    assert_eq!(home("/usr/bin"), None);
}

/// A home with these files, and a sandbox elsewhere.
struct Home {
    base: tempfile::TempDir,
    sandbox: Sandbox,
}

impl Home {
    fn with(files: &[&str]) -> Self {
        let base = tempfile::tempdir().unwrap();
        std::fs::create_dir(base.path().join("w")).unwrap();
        let sandbox = Sandbox::new(&SandboxSettings::rooted_at(base.path().join("w"))).unwrap();
        let home = Self { base, sandbox };
        files.iter().for_each(|name| home.write(name, "x"));
        home
    }

    fn at(&self, name: &str) -> PathBuf {
        self.base.path().join("home").join(name)
    }

    fn write(&self, name: &str, content: &str) {
        std::fs::create_dir_all(self.at(name).parent().unwrap()).unwrap();
        std::fs::write(self.at(name), content).unwrap();
    }

    /// Tells whether a command sees these files; `~` in a value is the home.
    fn sees(&self, variables: &[(&str, &str)], files: &[&str]) -> Vec<bool> {
        let home = self.at("").components().collect::<PathBuf>();
        let value = |text: &str| OsString::from(text.replace('~', home.to_str().unwrap()));
        let all = [("HOME", "~"), ("PATH", "/usr/bin")].into_iter();
        let mut environment: Vec<(OsString, OsString)> = Vec::new();
        for (name, text) in variables.iter().copied().chain(all) {
            if !environment.iter().any(|(known, _)| known == name) {
                environment.push((name.into(), value(text)));
            }
        }
        let toolchains = NamedToolchains::of(&environment);
        let shown = toolchains.readable();
        let hidden = toolchains.secrets(&self.sandbox, &shown);
        let covers = |all: &[PathBuf], path: &Path| all.iter().any(|known| path.starts_with(known));
        let is_seen = |name: &&str| {
            let path = self.at(name);
            assert!(path.exists(), "{name}");
            covers(&shown, &path) && !covers(&hidden, &path)
        };
        files.iter().map(is_seen).collect()
    }
}

#[test]
fn a_toolchain_on_the_path_is_seen_with_its_parts_and_the_home_is_not() {
    let files = [
        ".cargo/bin/cargo",
        ".cargo/registry/x",
        ".rustup/toolchains/x",
        ".pyenv/shims/python",
        ".ssh/config",
        ".cargo/credentials.toml",
        "private",
    ];
    let home = Home::with(&files);
    let path = ("PATH", "~/.cargo/bin:~/.pyenv/shims:/usr/bin:~//:");
    let seen = home.sees(&[path, ("HOME", "/nonexistent"), ("NVM_DIR", "//")], &files);
    assert_eq!(seen, [true, true, true, true, false, false, false]);
}

/// Files in which tools are known to keep logins, in directories of which parts are shown.
const LOGINS: &[&str] = &[
    ".gem/credentials",
    ".local/share/gem/credentials",
    ".stack/upload/credentials.json",
    ".stack/config.yaml",
    ".opam/plugins/opam-publish/me.token",
    ".local/share/uv/credentials/credentials.toml",
    ".julia/servers/pkg.julialang.org/auth.toml",
    ".julia/config/startup.jl",
    ".julia/logs/repl_history.jl",
    ".dotnet/corefx/cryptography/x509stores/my/x.pfx",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".npm/_logs/x.log",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".gradle/init.d/x.gradle",
    ".cabal/config",
    ".nuget/NuGet/NuGet.Config",
    ".nvm/.git/config",
    ".asdf/.git/config",
    ".pyenv/.git/config",
    ".cache/deno/location_data/x",
    ".config/git/credentials",
    "miniconda3/.condarc",
    ".local/bin/service.key",
    ".local/bin/.env",
    ".local/lib/.netrc",
    ".rvm/user/db",
    ".linuxbrew/etc/my.cnf",
    "go/src/private/x",
];

#[test]
fn logins_in_directories_of_toolchains_are_not_seen() {
    let home = Home::with(LOGINS);
    for (name, is_seen) in LOGINS.iter().zip(home.sees(&[], LOGINS)) {
        assert!(!is_seen, "{name}");
    }
}

#[test]
fn programs_and_packages_of_toolchains_are_seen() {
    let files = [
        ".gem/ruby/3.3.0/gems/x/x.rb",
        ".stack/programs/x",
        ".opam/default/bin/ocaml",
        ".opam/default/.opam-switch/switch-state",
        ".opam/repo/x",
        ".local/share/uv/python/cpython/bin/python3",
        ".julia/packages/X/x.jl",
        ".dotnet/sdk/x",
        ".local/bin/tool",
        "miniconda3/ssl/cacert.pem",
        "miniconda3/envs/x/bin/python",
        ".pyenv/versions/3.13/lib/python3.13/site-packages/certifi/cacert.pem",
        ".rustup/settings.toml",
        "go/bin/gopls",
        ".config/git/ignore",
    ];
    let home = Home::with(&files);
    for (name, is_seen) in files.iter().zip(home.sees(&[], &files)) {
        assert!(is_seen, "{name}");
    }
}

#[test]
fn a_variable_never_opens_a_directory_whole() {
    for row in TOOLCHAINS.iter().filter(|row| !row.variables.is_empty()) {
        assert!(!matches!(row.parts, Parts::Whole), "{row:?}");
    }
    let files = [".aws/credentials", ".config/gh/hosts.yml", "private/notes", "jdk/bin/java"];
    let home = Home::with(&files);
    for row in TOOLCHAINS {
        for name in row.variables {
            for value in ["~", "~/.aws", "~/.config", "~/private", "/"] {
                let seen = home.sees(&[(name, value)], &files);
                assert_eq!(seen, [false; 4], "{name}={value}");
            }
        }
    }
    assert_eq!(home.sees(&[("JAVA_HOME", "~/jdk")], &files), [false, false, false, true]);
}

#[test]
fn a_directory_of_programs_hides_what_tools_are_denied() {
    let files = [
        "tools/run",
        "tools/.env",
        "tools/deep/.netrc",
        "tools/deep/lib",
        ".mine/config",
        ".mine/run",
    ];
    let home = Home::with(&files);
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(home.at(".mine/run"), executable).unwrap();
    let path = ("PATH", "~/tools:~/.mine:/usr/bin");
    assert_eq!(home.sees(&[path], &files), [true, false, false, true, false, true]);
    // Too large to be looked through for each command: what stands beside the programs remains.
    (0..MOST_NAMES).for_each(|number| home.write(&format!("tools/deep/{number}"), ""));
    assert_eq!(home.sees(&[path], &files), [true, false, false, false, false, true]);
}

#[test]
fn settings_with_a_login_are_not_seen() {
    let files = [".gitconfig", ".config/git/config", ".cargo/config.toml"];
    let home = Home::with(&files);
    for name in &files[..2] {
        home.write(name, "[user]\n\tname = N\n");
    }
    home.write(files[2], "[build]\njobs = 2\n");
    assert_eq!(home.sees(&[], &files), [true, true, true]);
    assert_eq!(withheld(&home.at("")), []);
    home.write(files[0], "[http]\n\textraHeader = Authorization: Basic dTpw\n");
    home.write(files[2], "[registry]\ntoken = \"x\"\n");
    assert_eq!(home.sees(&[], &files), [false, true, false]);
    let reasons = withheld(&home.at("")).into_iter().map(|one| one.setting);
    assert_eq!(reasons.collect::<Vec<_>>(), ["http.extraheader", "registry.token"]);
}
