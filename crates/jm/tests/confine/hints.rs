//! When confinement refuses something, the answer says so: which path or host it was, and what would allow it.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::jobs::desk::{Desk, ps};
use crate::world::{User, World, is_root, own_all, users, works};

const BACKENDS: [&str; 3] = ["namespaces", "bwrap", "landlock"];

fn everywhere(check: impl Fn(&World)) {
    for user in users() {
        for backend in BACKENDS.into_iter().filter(|backend| works(user, backend)) {
            check(&World::new(user, backend));
        }
    }
}

/// An external tool of the world's person, which does what the script says.
fn make_tool(world: &World, name: &str, script: &str) {
    let folder = world.at("home/.config/journeyman/tools");
    std::fs::create_dir_all(&folder).unwrap();
    let schema = r#"{"name":"n","description":"d","parameters":{"type":"object"}}"#;
    let text =
        format!("#!/bin/sh\nif [ \"$1\" = --schema ]; then echo '{schema}'; exit; fi\n{script}\n");
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    own_all(&folder, world.user);
}

fn call_tool(world: &World, flags: &[&str], name: &str) -> Value {
    let mut jm = world.command(env!("CARGO_BIN_EXE_jm"));
    jm.env("JM_TOOLS_SANDBOX_COMMANDS_BACKEND", world.backend)
        .env("JM_TOOLS_EXTERNAL_SCHEMA_SECONDS", "30")
        .args(flags)
        .args(["--yes", "call", name])
        .stderr(Stdio::null());
    let output = jm.output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// IK-WRAP: the hint is in `error`, and the object has its fields and no others.
#[test]
fn an_external_tool_says_what_it_was_refused() {
    everywhere(|world| {
        let outside = world.at("x").display().to_string();
        make_tool(world, "writes", "echo x > \"$X/made\"");
        make_tool(world, "asks", "curl -sSf http://example.org/ > /dev/null");
        let unlisted = "host example.org was refused";
        let cases: &[(&[&str], &str, [&str; 2])] = &[
            (&[], "writes", ["/x/made", &format!("--writable {outside}")]),
            (&[], "asks", ["the sandbox gives commands no network", "--network"]),
            (&["--network=localhost:9"], "asks", [unlisted, "--network=example.org"]),
        ];
        for (flags, tool, expected) in cases {
            let answer = call_tool(world, flags, tool);
            let said = format!("{tool}, {} as {:?}: {answer}", world.backend, world.user);
            let fields: Vec<&String> = answer.as_object().unwrap().keys().collect();
            let shape = ["tool_success", "error", "error_code", "exit_code", "stdout", "stderr"];
            assert_eq!(fields, shape, "{said}");
            let error = answer["error"].as_str().unwrap();
            assert!(error.starts_with(&format!("Tool '{tool}' crashed with exit code ")), "{said}");
            assert!(expected.iter().all(|words| error.contains(words)), "{said}");
        }
        let answer = call_tool(world, &["--writable", &outside], "writes");
        assert_eq!(answer["error"], "Tool 'writes' returned no output", "{answer}");
    });
}

/// Failures that confinement did not cause are not blamed on it, and what would not help is not offered.
#[test]
fn wider_walls_are_offered_where_they_help() {
    everywhere(|world| {
        let said = |words: &[&str]| {
            let output = world.confined(words);
            String::from_utf8_lossy(&output.stderr).into_owned()
        };
        let refused = said(&["touch", "/usr/made"]);
        assert!(
            refused.contains("the sandbox does not allow commands to write /usr/made"),
            "{refused}"
        );
        let ordinary = world.user == User::Ordinary || !is_root();
        assert_eq!(refused.contains("--writable /usr"), !ordinary, "{refused}");
        if ordinary {
            let refused = said(&["cat", "/etc/shadow"]);
            assert!(refused.contains("/etc/shadow: Permission denied"), "{refused}");
            assert!(!refused.contains("jm: the sandbox"), "{refused}");
        }
    });
}

/// Every `hint:` line of an answer, which stand before what was printed.
fn hints(told: &str) -> Vec<&str> {
    told.lines().skip(1).map_while(|line| line.strip_prefix("hint: ")).collect()
}

/// The hints of a job's first two attempts at the same thing.
fn attempts(desk: &mut Desk, command: &str) -> [Vec<String>; 2] {
    let command = format!("while read line; do {command}; echo tried; done");
    let id = desk.start(&json!({"command": command, "lifetime_seconds": 60}));
    [(); 2].map(|()| {
        // What came of it may be part of the answer to typing already.
        let typed = desk.process("write", &id, &json!({"text": "go\n"}));
        let answers = [typed, desk.until(&id, "tried")];
        answers.iter().flat_map(|told| hints(told)).map(str::to_owned).collect()
    })
}

#[test]
fn a_job_says_what_it_was_refused_once() {
    everywhere(|world| {
        let outside = world.at("x").display().to_string();
        let unlisted = "host example.org was refused";
        let curl = "curl -sSf http://example.org/ > /dev/null";
        let cases: &[(&[&str], &str, [&str; 2])] = &[
            (&[], "echo x > \"$X/made\"", ["/x/made", &format!("--writable {outside}")]),
            (&[], curl, ["the sandbox gives commands no network", "--network"]),
            (&["--network=localhost:9"], curl, [unlisted, "--network=example.org"]),
        ];
        for (session, (flags, command, expected)) in ["a", "b", "c"].into_iter().zip(cases) {
            let mut desk = Desk::open_with(world, session, flags);
            let [first, second] = attempts(&mut desk, command);
            let said = format!("{command}, {} as {:?}: {first:?}", world.backend, world.user);
            let [hint] = &first[..] else { panic!("{said}") };
            assert!(expected.iter().all(|words| hint.contains(words)), "{said}");
            assert!(second.is_empty(), "{said}, then {second:?}");
            let printed = ps(world, &["--output", &format!("{session}-1")]);
            assert!(!printed.contains("hint: "), "{said}\n{printed}");
            desk.close();
        }
    });
}

/// The next session that finds it knows what the one before it was told.
#[test]
fn a_job_that_is_kept_remembers_what_was_told() {
    everywhere(|world| {
        let mut desk = Desk::open(world, "s");
        let command = "echo x > \"$X/made\"; read line; echo x > \"$X/made\"; echo x > \"$X/more\"";
        let args = json!({"command": command, "lifetime_seconds": 60, "keep_after_session": true});
        let started = desk.told("start_process", &args);
        let waited = desk.until("p1", "/x/made");
        let told = [started.lines().skip(2).collect::<Vec<_>>().join("\n"), waited];
        let told: Vec<&str> = told.iter().flat_map(|told| hints(told)).collect();
        assert!(matches!(told[..], [hint] if hint.contains("/x/made")), "{told:?}");
        desk.close();
        // Rules that are wider now are not those that it runs under.
        let outside = world.at("x").display().to_string();
        let mut desk = Desk::open_with(world, "s", &["--writable", &outside]);
        let typed = desk.process("write", "p1", &json!({"text": "go\n"}));
        let waited = desk.process("wait", "p1", &json!({"seconds": 20}));
        let told: Vec<&str> = [&typed, &waited].into_iter().flat_map(|told| hints(told)).collect();
        assert!(matches!(told[..], [hint] if hint.contains("/x/more")), "{typed}\n{waited}");
        desk.close();
    });
}

/// The settings that git misses are in a file that a command does not get, and that is said.
#[test]
fn a_command_that_misses_settings_is_told_why() {
    everywhere(|world| {
        let script = "git init -q \"$0\" && cd \"$0\" && git -c user.useConfigOnly=true commit -q \
                      --allow-empty -m x";
        let output = world.confined(&["sh", "-c", script, "one"]);
        let said = String::from_utf8_lossy(&output.stderr);
        let file = world.at("home/.gitconfig");
        let hidden = format!(
            "the sandbox hides {} from commands, because http.extraheader in it may hold a login",
            file.display()
        );
        assert!(said.contains(&hidden), "{} as {:?}: {said}", world.backend, world.user);
        // Without a login in it the file is there.
        std::fs::write(&file, "[user]\n\tname = N\n\temail = n@example.org\n").unwrap();
        let output = world.confined(&["sh", "-c", script, "two"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{} as {:?}: {said}", world.backend, world.user);
    });
}
