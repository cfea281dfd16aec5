//! Loading, from texts and variables to a configuration or to its faults.

use std::path::PathBuf;

use super::*;

/// Every sample of the document's section on configuration, joined.
pub(super) const SAMPLE: &str = r#"
[tools]
mode = "parse_only"      # disabled | parse_only | enabled
allow_parallel = false
max_tool_calls_per_batch = 8
max_tool_iterations_per_user_turn = 4
max_tool_args_bytes = 262144

[[tools.definitions]]
name = "read_file"
description = "Read file contents"
parameters = { "type"="object", "properties"={ "path"={ "type"="string" } }, "required"=["path"] }

[tools.sandbox]
allowed_roots = ["."]
denied_patterns = ["**/.ssh/**", "**/*.pem"]
allow_absolute = false
include_default_denies = true

[tools.timeouts]
default_seconds = 30
file_operations_seconds = 30
shell_commands_seconds = 300

[tools.output]
max_bytes = 102400

[tools.environment]
denylist = ["*_KEY", "*_TOKEN", "*_SECRET", "*_PASSWORD", "AWS_*", "ANTHROPIC_*", "OPENAI_*"]

[tools.approval]
enabled = true
mode = "prompt"           # auto | prompt | deny
allowlist = ["read_file"]
denylist = ["run_command"]
prompt_side_effects = true

[tools.read_file]
max_file_read_bytes = 204800
max_scan_bytes = 2097152

[tools.apply_patch]
max_patch_bytes = 524288
"#;

pub(super) fn user(text: &str) -> ConfigLayer {
    ConfigLayer { source: Source::User(PathBuf::from("config.toml")), text: text.to_owned() }
}

pub(super) fn project(text: &str) -> ConfigLayer {
    let path = PathBuf::from(".journeyman/config.toml");
    ConfigLayer { source: Source::Project(path), text: text.to_owned() }
}

fn flag(text: &str) -> ConfigLayer {
    ConfigLayer { source: Source::Flag, text: text.to_owned() }
}

fn variables(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

pub(super) fn loaded(layers: &[ConfigLayer], env: &[(&str, &str)], trust: Trust) -> Loaded {
    load(layers, &variables(env), trust).unwrap_or_else(|errors| panic!("{errors:#?}"))
}

fn value_of(loaded: &Loaded, path: &str) -> String {
    let pointer = format!("/config/{}", path.replace('.', "/"));
    render_json(loaded).pointer(&pointer).unwrap().to_string()
}

/// The errors as `place: message (hint)`.
fn faults(layers: &[ConfigLayer], env: &[(&str, &str)]) -> Vec<String> {
    let errors = load(layers, &variables(env), Trust::Trusted).unwrap_err();
    errors
        .iter()
        .map(|error| match &error.hint {
            Some(hint) => format!("{error} ({hint})"),
            None => error.to_string(),
        })
        .collect()
}

#[test]
fn faults_of_a_text() {
    let cases: &[(&str, &[&str])] = &[
        (
            "[tools.sandbox]\n  alow_absolute = true",
            &[
                "config.toml:2:3: unknown key `tools.sandbox.alow_absolute` (did you mean `allow_absolute`?)",
            ],
        ),
        ("[tool]\nmode = 1", &["config.toml:1:2: unknown key `tool` (did you mean `tools`?)"]),
        (
            "[tools.sandbx]\nallow_absolute = true",
            &["config.toml:1:8: unknown key `tools.sandbx` (did you mean `sandbox`?)"],
        ),
        (
            "denylist = []",
            &[
                "config.toml:1:1: unknown key `denylist` (did you mean `tools.environment.denylist` or `tools.approval.denylist`?)",
            ],
        ),
        (
            "'tools.mode' = 'enabled'",
            &["config.toml:1:1: unknown key `tools.mode` (write it without quotes)"],
        ),
        (
            "temperature = 1",
            &[
                "config.toml:1:1: unknown key `temperature` (`jm config --reference` describes every key)",
            ],
        ),
        (
            "\"\\u001b[2J\" = 1",
            &[
                "config.toml:1:1: unknown key `\\u{1b}[2J` (`jm config --reference` describes every key)",
            ],
        ),
        ("tools = 3", &["config.toml:1:9: `tools`: expected a table, found a whole number"]),
        (
            "[tools.timeouts]\ndefault_seconds = \"30\"",
            &[
                "config.toml:2:19: `tools.timeouts.default_seconds`: expected a whole number, found a string",
            ],
        ),
        (
            "[tools.timeouts]\ndefault_seconds = 1.5",
            &[
                "config.toml:2:19: `tools.timeouts.default_seconds`: expected a whole number, found a decimal number",
            ],
        ),
        (
            "tools.output.max_bytes = 0",
            &["config.toml:1:26: `tools.output.max_bytes`: expected 1 to 1073741824, found 0"],
        ),
        (
            "tools.output.max_bytes = -5",
            &["config.toml:1:26: `tools.output.max_bytes`: expected 1 to 1073741824, found -5"],
        ),
        (
            "tools.timeouts.default_seconds = 99999999999999999999",
            &[
                "config.toml:1:34: `tools.timeouts.default_seconds`: expected 1 to 86400, found 99999999999999999999",
            ],
        ),
        (
            "tools.allow_parallel = 1",
            &[
                "config.toml:1:24: `tools.allow_parallel`: expected `true` or `false`, found a whole number",
            ],
        ),
        (
            "tools.mode = \"enabeld\"",
            &["config.toml:1:14: `tools.mode`: unknown value `enabeld` (did you mean `enabled`?)"],
        ),
        (
            "profile = \"other\"",
            &["config.toml:1:11: `profile`: unknown value `other` (known: `standard`, `careful`)"],
        ),
        ("profile = 2026-01-01", &["config.toml:1:11: `profile`: expected a string, found a date"]),
        (
            "tools.approval.allowlist = \"read_file\"",
            &[
                "config.toml:1:28: `tools.approval.allowlist`: expected a list of strings, found a string",
            ],
        ),
        (
            "tools.approval.allowlist = [\"a\", 1, \" \"]",
            &[
                "config.toml:1:34: `tools.approval.allowlist`: expected a string, found a whole number",
                "config.toml:1:37: `tools.approval.allowlist`: found a blank string",
            ],
        ),
        (
            "tools.sandbox.allowed_roots = []",
            &["config.toml:1:31: `tools.sandbox.allowed_roots`: expected at least one entry"],
        ),
        (
            "[tools.definitions]\nname = \"a\"",
            &["config.toml:1:1: `tools.definitions`: expected a list of tables, found a table"],
        ),
        (
            "[tools]\ndefinitions = [1]",
            &["config.toml:2:16: `tools.definitions`: expected a table, found a whole number"],
        ),
        (
            "[[tools.definitions]]\nname = \"a\"\nparameter = {}",
            &[
                "config.toml:1:1: `tools.definitions`: a definition needs `description`",
                "config.toml:1:1: `tools.definitions`: a definition needs `parameters`",
                "config.toml:3:1: `tools.definitions`: unknown key `parameter` (did you mean `parameters`?)",
            ],
        ),
        (
            "[tools]\ndefinitions = [\n{name='a',description='b',parameters={}},\n{name='a',description='b',parameters={}}]",
            &["config.toml:4:1: `tools.definitions`: `a` is defined twice"],
        ),
        (
            "[[tools.definitions]]\nname='a'\ndescription='b'\nparameters={ x=[nan], y=2026-01-01 }",
            &[
                "config.toml:4:17: `tools.definitions`: found a decimal number, which JSON cannot express",
                "config.toml:4:25: `tools.definitions`: found a date, which JSON cannot express",
            ],
        ),
        (
            "profile = 'careful'\nprofile = 'careful'",
            &["config.toml:2:1: duplicate key: `profile`"],
        ),
        ("[tools\nmode = 1", &["config.toml:1:7: unclosed table, expected `]`"]),
        (
            "[tools]\nmode = perhaps",
            &["config.toml:2:8: string values must be quoted, expected literal string: `perhaps`"],
        ),
        (
            "[tools]\nmode = 1\nsandbox = 2\nmod = 3",
            &[
                "config.toml:2:8: `tools.mode`: expected a string, found a whole number",
                "config.toml:3:11: `tools.sandbox`: expected a table, found a whole number",
                "config.toml:4:1: unknown key `tools.mod` (did you mean `mode`?)",
            ],
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(faults(&[user(text)], &[]), *expected, "{text}");
    }
}

#[test]
fn faults_of_every_layer_are_told_at_once() {
    assert_eq!(
        faults(
            &[user("profile = 1"), project("a b"), flag("profile = 'x'")],
            &[("JM_TOOLS_MODE", "on")]
        ),
        [
            "config.toml:1:11: `profile`: expected a string, found a whole number",
            ".journeyman/config.toml:1:3: key with no value, expected `=`",
            "environment: `JM_TOOLS_MODE`: unknown value `on` (known: `enabled`, `parse_only`, `disabled`)",
            "command line: `profile`: unknown value `x` (known: `standard`, `careful`)",
        ]
    );
}

#[test]
fn hostile_texts_are_refused_and_their_faults_are_few() {
    let cases = [
        (
            "#".repeat(1024 * 1024 + 1),
            1,
            "config.toml: 1048577 bytes, more than the 1048576 allowed",
        ),
        ("a = 1\n".repeat(100_000), 100, "config.toml:2:1: duplicate key: `a`"),
        (format!("{}a = 1", "a.".repeat(100_000)), 1, "config.toml: recursion limit"),
        (
            format!("tools.approval.denylist = [{}]", "1,".repeat(100_000)),
            100,
            "config.toml:1:28: `tools.approval.denylist`: expected a string, found a whole number",
        ),
    ];
    for (text, count, first) in cases {
        let faults = faults(&[user(&text)], &[]);
        assert_eq!((faults.len(), faults[0].as_str()), (count, first));
    }
}

#[test]
fn variables_with_faults() {
    let cases = [
        (
            ("JM_TOOLS_SANDBOX_ALOW_ABSOLUTE", "true"),
            "environment: unknown variable `JM_TOOLS_SANDBOX_ALOW_ABSOLUTE` (did you mean `JM_TOOLS_SANDBOX_ALLOW_ABSOLUTE`?)",
        ),
        (
            ("JM_TOOLS_OUTPUT_MAX_BYTES", "many"),
            "environment: `JM_TOOLS_OUTPUT_MAX_BYTES`: expected a whole number, found a string",
        ),
        (
            ("JM_TOOLS_OUTPUT_MAX_BYTES", "0"),
            "environment: `JM_TOOLS_OUTPUT_MAX_BYTES`: expected 1 to 1073741824, found 0",
        ),
        (
            ("JM_TOOLS_ALLOW_PARALLEL", "yes"),
            "environment: `JM_TOOLS_ALLOW_PARALLEL`: expected `true` or `false`, found a string",
        ),
        (
            ("JM_TOOLS_APPROVAL_DENYLIST", "a,,b"),
            "environment: `JM_TOOLS_APPROVAL_DENYLIST`: found a blank string",
        ),
        (
            ("JM_TOOLS_DEFINITIONS", "[]"),
            "environment: `JM_TOOLS_DEFINITIONS`: tables cannot be set in the environment (set `tools.definitions` in the configuration file)",
        ),
    ];
    for (variable, expected) in cases {
        assert_eq!(faults(&[], &[variable]), [expected]);
    }
}

#[test]
fn variables_that_are_no_settings() {
    let cases: &[(&str, &[&str])] = &[
        ("JM_STATE_DIR", &[]),
        ("JM_CONFIG", &[]),
        ("HOME", &[]),
        ("MY_JM_TOOLS_MODE", &[]),
        (
            "JM_PROFIEL",
            &["environment: unknown variable `JM_PROFIEL` is ignored; did you mean `JM_PROFILE`?"],
        ),
        ("JM_ZZZZZZZZZZZZ", &["environment: unknown variable `JM_ZZZZZZZZZZZZ` is ignored"]),
    ];
    for (name, warnings) in cases {
        let loaded = loaded(&[], &[(name, "x")], Trust::Untrusted);
        assert_eq!(loaded.warnings, *warnings, "{name}");
        assert_eq!(loaded.config, Config::default(), "{name}");
    }
}

/// The value of a key, and who is said to have set it, after some layers.
#[test]
fn layers() {
    type Variables = &'static [(&'static str, &'static str)];
    let calls = "tools.max_tool_calls_per_batch";
    let patterns = "tools.sandbox.denied_patterns";
    let cases: &[(&[ConfigLayer], Variables, &str, &str, &str)] = &[
        (&[], &[], calls, "32", "default"),
        (&[user("profile = 'careful'")], &[], calls, "8", "config.toml:1:1"),
        (&[user("\u{feff}profile = 'careful'")], &[], calls, "8", "config.toml:1:1"),
        (
            &[user("tools.max_tool_calls_per_batch = 50"), flag("profile = 'careful'")],
            &[],
            calls,
            "50",
            "config.toml:1:7",
        ),
        (
            &[user("[tools]\nmax_tool_calls_per_batch = 1_0")],
            &[("JM_TOOLS_MAX_TOOL_CALLS_PER_BATCH", " 20 ")],
            calls,
            "20",
            "environment",
        ),
        (
            &[flag("tools.mode = 'disabled'"), user("tools.mode = 'enabled'")],
            &[("JM_TOOLS_MODE", "parse_only")],
            "tools.mode",
            "\"disabled\"",
            "command line",
        ),
        (
            &[
                user("tools.sandbox.denied_patterns = ['a', 'b', 'a']"),
                project("tools.sandbox.denied_patterns = ['b', 'c']"),
            ],
            &[("JM_TOOLS_SANDBOX_DENIED_PATTERNS", "d, a")],
            patterns,
            r#"["a","b","c","d"]"#,
            "default, config.toml:1:15, .journeyman/config.toml:1:15, environment",
        ),
        (
            &[user("tools.approval.allowlist = ['a']"), flag("tools.approval.allowlist = ['b']")],
            &[],
            "tools.approval.allowlist",
            r#"["b"]"#,
            "command line",
        ),
        (
            &[user("tools.approval.denylist = []")],
            &[],
            "tools.approval.denylist",
            r#"["run_command","bash","start_process"]"#,
            "default, config.toml:1:16",
        ),
        (
            &[user("tools.approval.denylist = ['a']")],
            &[("JM_TOOLS_APPROVAL_DENYLIST", "")],
            "tools.approval.denylist",
            r#"["run_command","bash","start_process","a"]"#,
            "default, config.toml:1:16, environment",
        ),
        (
            &[user("tools.approval.denylist = ['a']"), project("tools.approval.denylist = ['b']")],
            &[],
            "tools.approval.denylist",
            r#"["run_command","bash","start_process","a","b"]"#,
            "default, config.toml:1:16, .journeyman/config.toml:1:16",
        ),
        (
            &[user("tools.approval.allowlist = ['run_command']")],
            &[],
            "tools.approval.denylist",
            r#"["bash","start_process"]"#,
            "default",
        ),
        (
            &[project("tools.approval.allowlist = ['run_command']")],
            &[],
            "tools.approval.denylist",
            r#"["run_command","bash","start_process"]"#,
            "default",
        ),
        (
            &[user("[tools.environment]\ndenylist = ['MINE']")],
            &[],
            "tools.environment.denylist",
            r#"["*_KEY","*_TOKEN","*_SECRET","*_PASSWORD","AWS_*","ANTHROPIC_*","OPENAI_*","MINE"]"#,
            "default, config.toml:2:1",
        ),
    ];
    for (layers, env, path, value, origin) in cases {
        let loaded = loaded(layers, env, Trust::Trusted);
        let origins: Vec<_> =
            loaded.provenance[path].iter().map(SettingOrigin::to_string).collect();
        let found = (value_of(&loaded, path), origins.join(", "));
        assert_eq!(found, ((*value).to_owned(), (*origin).to_owned()), "{layers:?} {env:?}");
    }
}

#[test]
fn the_sample_of_the_document_differs_from_the_defaults_where_it_says_so() {
    let found = loaded(&[user(SAMPLE)], &[], Trust::Untrusted);
    let mut expected = Config::of(Profile::Careful);
    expected.profile = Profile::Standard;
    expected.tools.mode = ToolsMode::ParseOnly;
    expected.tools.sandbox.denied_patterns = vec!["**/.ssh/**".to_owned(), "**/*.pem".to_owned()];
    expected.tools.approval.allowlist = vec!["read_file".to_owned()];
    let schema = r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}"#;
    expected.tools.definitions = vec![Definition {
        name: "read_file".to_owned(),
        description: "Read file contents".to_owned(),
        parameters: serde_json::from_str(schema).unwrap(),
    }];
    assert_eq!(found.config, expected);
    // The order of a schema's keys is kept, which comparing maps does not see.
    assert_eq!(
        serde_json::to_string(&found.config.tools.definitions[0].parameters).unwrap(),
        schema
    );
}
