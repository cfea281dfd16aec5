//! The cost of a script: a resolver's answer, a tool's answer, the start of its process.
//!
//! A plain program: `cargo bench -p jm-lua`. It is the child too, started anew.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench prints, and stops where it fails"
)]

#[path = "../tests/scripts/world.rs"]
mod world;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jm_lua::ScriptLimits;
use jm_types::Cancel;
use serde_json::json;
use world::{World, context};

const INIT: &str = r#"
require("flemma.tools.approval").register("policy", {
  resolve = function(tool, input)
    if tool == "bash" and input.command:match("rm %-rf") then return "deny" end
  end,
})
require("flemma.tools").register("echo", { description = "", input_schema = {},
  execute = function(input) return { success = true, output = input } end })
"#;

fn main() -> ExitCode {
    if let Some(code) = jm_lua::inside::run_as_child() {
        return code;
    }
    let world = Arc::new(World::default());
    let scripts = world.scripts(INIT, ScriptLimits::default());
    scripts.tools().unwrap();
    measure("a resolver", 5_000, || {
        let answer = scripts.resolve(None, "bash", json!({"command": "ls -l"}), context());
        assert!(answer.unwrap().is_none());
    });
    let input = json!({"path": "src/main.rs", "lines": [1, 2, 3], "text": "x".repeat(1000)});
    measure("a tool, 1 KB of JSON both ways", 5_000, || {
        let cancel = Cancel::new();
        let second = Duration::from_secs(1);
        let answer = scripts.execute("echo", input.clone(), context(), second, &cancel);
        assert!(answer.unwrap().success);
    });
    measure("a start with an empty init.lua", 100, || {
        let scripts = world.scripts("", ScriptLimits::default());
        scripts.tools().unwrap();
    });
    ExitCode::SUCCESS
}

fn measure(name: &str, times: usize, mut run: impl FnMut()) {
    let mut all: Vec<Duration> = (0..times)
        .map(|_| {
            let began = Instant::now();
            run();
            began.elapsed()
        })
        .collect();
    all.sort();
    let at = |share: usize| all[all.len() * share / 100].as_secs_f64() * 1e6;
    println!("{name}: median {:.1} µs, 90 % under {:.1} µs", at(50), at(90));
}
