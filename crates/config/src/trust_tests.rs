//! The rights of a project over each key, and the effect of allowing and denying a tool.

use super::*;
use crate::tests::{loaded, project, user};

/// For each key something tighter than the default and something looser, where there is such.
const RULES: &[(&str, Option<&str>, Option<&str>)] = &[
    ("model", None, Some("'openai/x'")),
    ("toolset", None, None),
    ("profile", Some("'careful'"), None),
    ("notify", None, None),
    ("mcp", None, Some("{ a = { command = 'b' } }")),
    ("tools.mode", Some("'disabled'"), None),
    ("tools.allow_parallel", None, Some("true")),
    ("tools.max_tool_calls_per_batch", Some("31"), Some("33")),
    ("tools.max_tool_iterations_per_user_turn", Some("99"), Some("101")),
    ("tools.max_tool_args_bytes", Some("262143"), Some("262145")),
    ("tools.definitions", None, Some("[{ name = 'a', description = 'b', parameters = {} }]")),
    ("tools.sandbox.allowed_roots", None, Some("['.', '/']")),
    ("tools.sandbox.denied_patterns", Some("['secret/**']"), None),
    ("tools.sandbox.allow_absolute", None, Some("true")),
    ("tools.sandbox.include_default_denies", None, Some("false")),
    ("tools.sandbox.commands.backend", None, Some("'none'")),
    ("tools.sandbox.commands.layer", Some("'on'"), None),
    ("tools.sandbox.commands.network", None, Some("'on'")),
    ("tools.sandbox.commands.writable", None, Some("['/srv']")),
    ("tools.sandbox.commands.direct", None, Some("['target']")),
    ("tools.sandbox.commands.max_processes", Some("1023"), Some("1025")),
    ("tools.sandbox.commands.max_memory_bytes", Some("17179869183"), Some("17179869185")),
    ("tools.sandbox.commands.max_file_bytes", Some("17179869183"), Some("17179869185")),
    ("tools.timeouts.default_seconds", Some("29"), Some("31")),
    ("tools.timeouts.file_operations_seconds", Some("29"), Some("31")),
    ("tools.timeouts.shell_commands_seconds", Some("299"), Some("301")),
    ("tools.output.max_bytes", Some("102399"), Some("102401")),
    ("tools.output.keep_bytes", None, Some("1")),
    ("tools.external.schema_seconds", None, Some("2")),
    ("tools.external.read_only", None, Some("['weather']")),
    ("tools.lua.libraries", None, Some("['io']")),
    ("tools.environment.denylist", Some("['MINE']"), None),
    ("tools.approval.enabled", Some("false"), None),
    ("tools.approval.mode", Some("'deny'"), Some("'auto'")),
    ("tools.approval.allowlist", None, Some("['write_file']")),
    ("tools.approval.denylist", Some("['write_file']"), None),
    ("tools.approval.prompt_side_effects", None, Some("false")),
    ("tools.approval.run_readers", Some("false"), None),
    ("tools.approval.allow", None, Some("['write_file: docs/**']")),
    ("tools.approval.ask", Some("['write_file: docs/**']"), None),
    ("tools.approval.deny", Some("[{ rule = 'write_file: a', match = ['a'] }]"), None),
    ("tools.approval.auto_approve", None, Some("['$default']")),
    ("tools.approval.presets", None, Some("[{ name = 'a', approve = ['write_file'] }]")),
    ("tools.read_file.max_file_read_bytes", Some("204799"), Some("204801")),
    ("tools.read_file.max_scan_bytes", Some("2097151"), Some("2097153")),
    ("tools.apply_patch.max_patch_bytes", Some("524287"), Some("524289")),
    ("tools.list_directory.max_entries", Some("199"), Some("201")),
    ("tools.list_directory.max_depth", Some("3"), Some("5")),
    ("tools.forj.stage_changes", None, Some("true")),
    ("journal.outputs_bytes", None, Some("1")),
    ("journal.quota_bytes", None, Some("1")),
];

#[test]
fn the_rules_speak_of_every_key() {
    let ruled: Vec<_> = RULES.iter().map(|(path, ..)| *path).collect();
    let known: Vec<_> = KEYS.iter().map(|key| key.path).collect();
    assert_eq!(ruled, known);
}

#[test]
fn an_untrusted_project_tightens_every_key_and_loosens_none() {
    for (path, tighter, looser) in RULES {
        if let Some(value) = tighter {
            let found = loaded(&[project(&format!("{path} = {value}"))], &[], Trust::Untrusted);
            let asked = loaded(&[user(&format!("{path} = {value}"))], &[], Trust::Untrusted);
            assert!(found.warnings.is_empty(), "{path}");
            assert_ne!(found.config, Config::default(), "{path}");
            assert_eq!(found.config, asked.config, "{path}");
        }
        if let Some(value) = looser {
            let layers = [project(&format!("\n{path} = {value}"))];
            let found = loaded(&layers, &[], Trust::Untrusted);
            let column = 1 + path.rfind('.').map_or(0, |dot| dot + 1);
            let warning = format!(
                ".journeyman/config.toml:2:{column}: `{path}` would loosen your settings and is \
                 ignored (allow it: `jm trust`)"
            );
            assert_eq!((found.config, found.warnings), (Config::default(), vec![warning]));
            let trusted = loaded(&layers, &[], Trust::Trusted);
            assert_ne!(trusted.config, Config::default(), "{path}");
            assert!(trusted.warnings.is_empty(), "{path}");
        }
    }
}

/// A rule of the person's own opts its tool in; a project's does not, trusted or not.
#[test]
fn a_rule_that_allows_some_commands_opts_the_tool_in() {
    let rule = "tools.approval.allow = ['run_command: cargo test *']";
    let is_denied = |found: &Loaded| found.denials.contains_key("run_command");
    let found = loaded(&[user(rule)], &[], Trust::Untrusted);
    assert!(!is_denied(&found) && found.denials.contains_key("bash"));
    assert!(!found.config.tools.approval.denylist.contains(&"run_command".to_owned()));
    let origin = &found.rule_origins[&(ALLOW_RULES, "run_command: cargo test *".to_owned())];
    assert_eq!(origin.to_string(), "config.toml:1:25");
    assert!(is_denied(&loaded(&[project(rule)], &[], Trust::Trusted)));
    let denied = user(&format!("{rule}\ntools.approval.denylist = ['run_command']"));
    let found = loaded(&[denied], &[], Trust::Untrusted);
    assert!(is_denied(&found) && found.warnings.len() == 1, "{:?}", found.warnings);
}

/// Tells if an untrusted project's text changes anything above the person's.
#[test]
fn tightening_is_measured_against_the_layers_below() {
    for (below, text, changes, warns) in [
        ("tools.mode = 'parse_only'", "tools.mode = 'enabled'", false, true),
        ("tools.mode = 'disabled'", "tools.mode = 'parse_only'", false, true),
        ("tools.mode = 'parse_only'", "tools.mode = 'disabled'", true, false),
        ("tools.allow_parallel = true", "tools.allow_parallel = true", false, false),
        ("tools.allow_parallel = true", "tools.allow_parallel = false", true, false),
        ("tools.approval.enabled = false", "tools.approval.enabled = true", false, true),
        ("profile = 'careful'", "profile = 'standard'", false, true),
        ("profile = 'careful'", "tools.max_tool_calls_per_batch = 9", false, true),
        ("profile = 'careful'", "tools.max_tool_calls_per_batch = 7", true, false),
        ("tools.output.max_bytes = 9", "tools.output.max_bytes = 10", false, true),
        ("tools.sandbox.allowed_roots = ['a']", "tools.sandbox.allowed_roots = ['.']", false, true),
        ("tools.approval.denylist = ['a']", "tools.approval.denylist = []", false, false),
        ("toolset = 'forge'", "toolset = 'forge'", false, false),
    ] {
        let before = loaded(&[user(below)], &[], Trust::Untrusted);
        let after = loaded(&[user(below), project(text)], &[], Trust::Untrusted);
        let found = (before.config != after.config, !after.warnings.is_empty());
        assert_eq!(found, (changes, warns), "{below} | {text}");
    }
}

#[test]
fn a_project_is_measured_against_a_profile_that_a_flag_chose() {
    let flag = ConfigLayer { source: Source::Flag, text: "profile = 'careful'".to_owned() };
    let layers = [project("tools.max_tool_calls_per_batch = 20"), flag];
    let found = loaded(&layers, &[], Trust::Untrusted);
    assert_eq!(found.config, Config::of(Profile::Careful));
}

#[test]
fn a_project_never_takes_a_denial_away() {
    for trust in [Trust::Trusted, Trust::Untrusted] {
        let layers = [
            user("tools.approval.denylist = ['a']\ntools.sandbox.denied_patterns = ['x']"),
            project("tools.approval.denylist = []\ntools.sandbox.denied_patterns = []"),
        ];
        let found = loaded(&layers, &[], trust).config.tools;
        assert_eq!(
            (found.approval.denylist, found.sandbox.denied_patterns),
            (
                ["run_command", "bash", "start_process", "a"].map(str::to_owned).to_vec(),
                vec!["x".into()]
            )
        );
    }
}

#[test]
fn a_tool_that_is_allowed_and_denied_is_told_until_a_flag_decides() {
    let mut found =
        loaded(&[project("tools.approval.allowlist = ['run_command']")], &[], Trust::Trusted);
    assert_eq!(
        found.warnings,
        ["`run_command` is in `tools.approval.allowlist` but denied by \
          `tools.approval.denylist` (default)"]
    );
    found.allow("run_command").unwrap();
    assert_eq!(found.warnings, [""; 0]);
}

/// Denies, then allows, and compares both lists, or the refusal.
#[test]
fn allowing_and_denying() {
    type ToolsSection = &'static [&'static str];
    type Case<'a> = (
        &'a [ConfigLayer],
        ToolsSection,
        ToolsSection,
        Result<(ToolsSection, ToolsSection), &'static str>,
    );
    let cases: &[Case<'_>] = &[
        (&[], &[], &["run_command"], Ok((&["run_command"], &["bash", "start_process"]))),
        (
            &[],
            &[],
            &["run_command", "run_command"],
            Ok((&["run_command"], &["bash", "start_process"])),
        ),
        (
            &[],
            &["write_file"],
            &["read_file"],
            Ok((&["read_file"], &["run_command", "bash", "start_process", "write_file"])),
        ),
        (
            &[],
            &["run_command", "run_command"],
            &[],
            Ok((&[], &["run_command", "bash", "start_process"])),
        ),
        (
            &[],
            &["run_command"],
            &["run_command"],
            Err("`run_command` is allowed here and denied by command line"),
        ),
        (
            &[user("[tools.approval]\ndenylist = ['run_command']")],
            &[],
            &["run_command"],
            Err("`run_command` is allowed here and denied by config.toml:2:1"),
        ),
        (
            &[user("tools.approval.denylist = []")],
            &[],
            &["run_command"],
            Ok((&["run_command"], &["bash", "start_process"])),
        ),
        (
            &[project("tools.approval.denylist = ['run_command']")],
            &[],
            &["run_command"],
            Err("`run_command` is allowed here and denied by .journeyman/config.toml:1:16"),
        ),
        (
            &[project("tools.approval.denylist = ['edit_file']")],
            &[],
            &["edit_file"],
            Err("`edit_file` is allowed here and denied by .journeyman/config.toml:1:16"),
        ),
    ];
    for (layers, denied, allowed, expected) in cases {
        let mut loaded = loaded(layers, &[], Trust::Untrusted);
        denied.iter().for_each(|tool| loaded.deny(tool));
        let outcome = allowed.iter().try_for_each(|tool| loaded.allow(tool));
        let approval = &loaded.config.tools.approval;
        let lists = outcome.map(|()| (approval.allowlist.clone(), approval.denylist.clone()));
        let owned = |list: &[&str]| list.iter().map(|tool| (*tool).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            lists.map_err(|refusal| refusal.to_string()),
            expected.map(|(allow, deny)| (owned(allow), owned(deny))).map_err(str::to_owned),
            "{layers:?} {denied:?} {allowed:?}"
        );
    }
}
