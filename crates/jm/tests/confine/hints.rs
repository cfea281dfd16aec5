//! When the walls bite, the answer says so: which path or host it was, and what would allow it.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::Value;

use crate::world::{World, own_all, users, works};

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
