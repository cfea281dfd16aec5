//! Variables that a command inherits.

use super::{EnvSanitizer, matches};
use proptest::prelude::*;
use proptest::sample::select;
use std::ffi::{OsStr, OsString};

const SECRET_NAMES: &[&str] = &[
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "AZURE_CLIENT_SECRET",
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "GITLAB_PRIVATE_TOKEN",
    "NPM_TOKEN",
    "npm_config__authToken",
    "npm_config__auth",
    "my_api_key",
    "CARGO_REGISTRY_TOKEN",
    "TWINE_PASSWORD",
    "PYPI_API_TOKEN",
    "DOCKER_AUTH_CONFIG",
    "DATABASE_URL",
    "SENTRY_DSN",
    "PGPASSWORD",
    "MYSQL_PWD",
    "DB_PASS",
    "STRIPE_SECRET_KEY",
    "SLACK_BOT_TOKEN",
    "SLACK_WEBHOOK_URL",
    "TWILIO_AUTH_TOKEN",
    "SENDGRID_API_KEY",
    "HEROKU_API_KEY",
    "DIGITALOCEAN_ACCESS_TOKEN",
    "CLOUDFLARE_API_TOKEN",
    "VAULT_TOKEN",
    "HF_TOKEN",
    "JWT_SECRET",
    "SSH_PRIVATE_KEY",
    "GPG_PASSPHRASE",
    "AZURE_DEVOPS_EXT_PAT",
    "CI_JOB_JWT_V2",
    "OPENAIAPIKEY",
    "SPRING_DATASOURCE_PASSWORD",
    "JM_STATE_DIR",
    "OP_SESSION_work",
    "encryption_key",
];

const HOOK_NAMES: &[&str] = &[
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "DYLD_INSERT_LIBRARIES",
    "BASH_ENV",
    "ENV",
    "PROMPT_COMMAND",
    "PS4",
    "SHELLOPTS",
    "BASHOPTS",
    "BASH_FUNC_ls%%",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONHOME",
    "PYTHONBREAKPOINT",
    "NODE_OPTIONS",
    "RUBYOPT",
    "RUBYLIB",
    "PERL5LIB",
    "PERL5OPT",
    "GIT_SSH_COMMAND",
    "GIT_DIR",
    "PAGER",
    "GIT_PAGER",
    "MANPAGER",
    "EDITOR",
    "GIT_EDITOR",
    "VISUAL",
    "BROWSER",
    "SSH_ASKPASS",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "GCONV_PATH",
    "IFS",
    "CDPATH",
    "GLOBIGNORE",
    "MAKEFLAGS",
    "LESSOPEN",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "DOCKER_HOST",
    "KUBECONFIG",
    "TMUX",
    "NVIM",
];

const KEPT: &[(&str, &str)] = &[
    ("HOME", "/home/joe"),
    ("LANG", "de_DE.UTF-8"),
    ("LC_ALL", "C"),
    ("TERM", "xterm-256color"),
    ("TZ", "Europe/Berlin"),
    ("USER", "joe"),
    ("LOGNAME", "joe"),
    ("SHELL", "/bin/bash"),
    ("PWD", "/src"),
    ("OLDPWD", "/"),
    ("TMPDIR", "/tmp"),
    ("CARGO_HOME", "/home/joe/.cargo"),
    ("RUSTUP_HOME", "/r"),
    ("RUSTFLAGS", "-Dwarnings"),
    ("GOPATH", "/go"),
    ("GOFLAGS", "-mod=mod"),
    ("JAVA_HOME", "/usr/lib/jvm"),
    ("VIRTUAL_ENV", "/venv"),
    ("CONDA_PREFIX", "/conda"),
    ("NVM_DIR", "/nvm"),
    ("CC", "clang"),
    ("CFLAGS", "-O2"),
    ("CI", "true"),
    ("COLUMNS", "80"),
    ("COLORTERM", "truecolor"),
    ("NO_COLOR", "1"),
    ("XDG_RUNTIME_DIR", "/run/user/1000"),
    ("DISPLAY", ":0"),
    ("HTTPS_PROXY", "http://proxy:3128"),
    ("COMMIT", "9fceb02d0ae598e95dc970b74767f19372d61af8"),
    ("KEYBOARD", "de"),
    ("MONKEY", "see"),
    ("HF_HOME", "/hf"),
    ("AUTHOR", "joe"),
    ("ENVIRONMENT", "test"),
    ("LESS", "-R"),
    ("empty", ""),
];

fn keeps(name: &str, value: &str) -> bool {
    EnvSanitizer::new(&[]).keeps(OsStr::new(name), OsStr::new(value))
}

fn pairs(vars: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    vars.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

#[test]
fn secrets_and_hooks_go_in_any_case() {
    for name in SECRET_NAMES.iter().chain(HOOK_NAMES) {
        for spelling in [(*name).to_owned(), name.to_lowercase(), name.to_uppercase()] {
            assert!(!keeps(&spelling, "x"), "{spelling}");
        }
    }
}

#[test]
fn what_programs_need_stays() {
    for (name, value) in KEPT {
        assert!(keeps(name, value), "{name}");
    }
    assert_eq!(EnvSanitizer::new(&[]).sanitize(pairs(KEPT)), pairs(KEPT));
}

#[test]
fn secret_values_go_under_any_name() {
    let values = [
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "sk-proj-abcDEF0123456789abcd",
        "AKIAIOSFODNN7EXAMPLE",
        "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEAx2vX0YxP0b9q\n-----END PRIVATE KEY-----",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmN",
        "http://joe:hunter2@proxy:3128",
        "() { :;}; echo vulnerable",
    ];
    for value in values {
        assert!(!keeps("HOME", value), "{value}");
    }
}

#[test]
fn configured_patterns_are_added() {
    let sanitizer = EnvSanitizer::new(&["corp_*".to_owned(), "*Internal*".to_owned()]);
    for name in ["CORP_X", "corp_y", "MyInternalThing", "AWS_REGION", "LD_PRELOAD"] {
        assert!(!sanitizer.keeps(OsStr::new(name), OsStr::new("x")), "{name}");
    }
    assert!(sanitizer.keeps(OsStr::new("HOME"), OsStr::new("/home/joe")));
}

#[cfg(unix)]
#[test]
fn relative_path_entries_go() {
    let cases = [
        ("/usr/bin:/bin", Some("/usr/bin:/bin")),
        (".:/bin", Some("/bin")),
        (":/bin:", Some("/bin")),
        ("/bin::node_modules/.bin:~/bin:/sbin", Some("/bin:/sbin")),
        ("", None),
        (".", None),
    ];
    for (path, expected) in cases {
        let expected: Vec<_> = expected.map(|path| ("PATH", path)).into_iter().collect();
        let kept = EnvSanitizer::new(&[]).sanitize(pairs(&[("PATH", path)]));
        assert_eq!(kept, pairs(&expected), "{path}");
    }
}

#[test]
fn only_secrets_go_to_the_redactor() {
    let sanitizer = EnvSanitizer::new(&["CORP_*".to_owned()]);
    let cases = [
        ("DB_PASSWORD", "correct horse\n", &["correct horse"][..]),
        ("DATABASE_URL", "postgres://joe:hunter22@db/x", &["hunter22"]),
        ("DATABASE_URL", "postgres://localhost/x", &[]),
        ("SENTRY_KEY", "https://0123abcd@sentry.io/1", &["0123abcd"]),
        ("SLACK_WEBHOOK", "https://hooks.slack.com/T/B/x", &["https://hooks.slack.com/T/B/x"]),
        ("CORP_PIN", "swordfish", &["swordfish"]),
        ("EDITOR", "ghp_0123456789abcdefghijABCD", &["ghp_0123456789abcdefghijABCD"]),
        ("AWS_REGION", "eu-central-1", &[]),
        ("SSH_AUTH_SOCK", "/run/agent", &[]),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/joe/key.json", &[]),
        ("HOME", "/home/joe", &[]),
        ("API_TOKEN", "", &[]),
    ];
    for (name, value, expected) in cases {
        assert_eq!(sanitizer.denied_values(pairs(&[(name, value)])), expected, "{name}={value}");
    }
}

#[test]
fn patterns() {
    let cases = [
        ("ENV", "ENV", true),
        ("ENV", "ENVX", false),
        ("A*", "A", true),
        ("A*", "BA", false),
        ("*A", "BA", true),
        ("*A", "AB", false),
        ("*A*", "BAB", true),
        ("*A*", "BB", false),
        ("A*A", "A", false),
        ("A*A", "AA", true),
        ("A*B*C", "AXBXBC", true),
        ("A*B*C", "ACB", false),
        ("*AB*AB", "AB", false),
        ("*AB*AB", "ABAB", true),
        ("*", "", true),
        ("**", "X", true),
        ("", "X", false),
    ];
    for (pattern, name, expected) in cases {
        assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
    }
}

fn tries(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern, name) {
        ([], []) => true,
        ([b'*', rest @ ..], _) => (0..=name.len()).any(|skipped| tries(rest, &name[skipped..])),
        ([first, pattern @ ..], [same, name @ ..]) => first == same && tries(pattern, name),
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_secret_name_never_survives(
        before in "[A-Za-z0-9]{0,8}", after in "[A-Za-z0-9_]{0,8}", value in any::<String>(),
        word in select(&["_TOKEN", "_Secret", "_PASSWORD", "_api_key", "_credential"][..]),
    ) {
        let name = format!("{before}{word}{after}");
        prop_assert!(!keeps(&name, &value));
    }

    #[test]
    fn matching_agrees_with_trying_everything(pattern in "[AB*]{0,6}", name in "[AB]{0,8}") {
        prop_assert_eq!(matches(&pattern, &name), tries(pattern.as_bytes(), name.as_bytes()));
    }
}
