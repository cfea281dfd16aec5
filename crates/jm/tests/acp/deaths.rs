//! `kill -9` of the client, the agent or a server of tools at random moments: nothing is left running, nothing is done
//! twice, and the session goes on.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::client::{Client, Home, PATIENCE};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mcp_server.py");
/// Deaths in `./test`, and with `JM_LONG`.
const DEATHS: (u64, u64) = (9, 300);
/// A turn takes about so long.
const TURN: u64 = 1500;

/// A client in a process of its own, which hands lines on in both directions.
const RELAY: &str = "
import subprocess, sys, threading
agent = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def down():
    for line in sys.stdin.buffer:
        agent.stdin.write(line)
        agent.stdin.flush()
    agent.stdin.close()
threading.Thread(target=down, daemon=True).start()
for line in agent.stdout:
    sys.stdout.buffer.write(line)
    sys.stdout.flush()
";

/// A command that counts its runs, a call of a server that counts its calls, and an edit.
const COUNTED: &str = r#"
[[turn]]
steps = [
  { call = "run_command", args = { command = "bash -c 'echo ran >> count; sleep 0.15'" } },
  { call = "read_file", args = { path = "app.conf" } },
]
[[turn]]
steps = [{ call = "s__count", args = {} }]
[[turn]]
steps = [{ call = "edit_file", args = { path = "app.conf", old_string = "8080", new_string = "9090" } }]
[[turn]]
steps = [{ text = "Done." }]
"#;
const AFTER: &str = "[[turn]]\nsteps = [{ text = \"I see.\" }]\n";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Agent,
    Client,
    Server,
}

fn noise(seed: u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for _ in 0..3 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    state
}

/// Processes that have a text in their command line or, as far as it can be read, in their environment.
fn processes(text: &str) -> Vec<(u32, String)> {
    let numbers = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let numbers = numbers.filter_map(|one| one.file_name().to_str()?.parse::<u32>().ok());
    let own = std::process::id();
    let read = |number: u32, name: &str| -> String {
        let bytes = std::fs::read(Path::new("/proc").join(number.to_string()).join(name));
        String::from_utf8_lossy(&bytes.unwrap_or_default()).replace('\0', " ")
    };
    numbers
        .filter(|number| *number != own)
        .map(|number| (number, read(number, "cmdline"), read(number, "environ")))
        .filter(|(_, line, environment)| line.contains(text) || environment.contains(text))
        .map(|(number, line, _)| (number, line))
        .collect()
}

fn assert_nothing_left(home: &Home, case: &str) {
    let until = Instant::now() + PATIENCE;
    let text = home.path().to_string_lossy().into_owned();
    while let left = processes(&text)
        && !left.is_empty()
    {
        assert!(Instant::now() < until, "{case}: still running: {left:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A home whose server of tools may write the workspace.
fn home(mark: &str) -> Home {
    let home = Home::new();
    let config = home.path().join(".config/journeyman");
    std::fs::create_dir_all(&config).unwrap();
    let command = json!(["python3", SERVER, "legacy", mark]);
    let table = format!("[mcp.s]\ncommand = {command}\nwritable = ['.']\n");
    std::fs::write(config.join("config.toml"), table).unwrap();
    home
}

/// Kills the victim; one that has not begun yet, or has ended, is none.
fn kill(victim: Victim, client: &mut Client, mark: &str) {
    match victim {
        Victim::Agent | Victim::Client => client.child.kill().unwrap(),
        Victim::Server => {
            for (number, _) in processes(mark) {
                // It may have ended in this moment.
                Command::new("kill").args(["-9", &number.to_string()]).output().unwrap();
            }
        }
    }
}

fn resumed(home: &Home, session: &str, case: &str) {
    let mut next = home.start(AFTER, &["--on-recovery", "keep"]);
    next.initialize(json!({}));
    let params = json!({"sessionId": session, "cwd": home.workspace(), "mcpServers": []});
    // One that died before anything was written down was never there.
    if next.request("session/resume", params).is_ok() {
        assert_eq!(next.prompt(session, "and?").unwrap()["stopReason"], "end_turn", "{case}");
        assert!(next.words().contains("I see."), "{case}: {}", next.words());
    }
    assert_eq!(next.leave(), 0, "{case}");
}

fn die_once(victim: Victim, delay: u64, case: &str) {
    let mark = format!("acp-death-{}-{delay}", std::process::id());
    let home = home(&mark);
    let agent = home.agent(COUNTED, &["--allow", "run_command", "--yes"]);
    let mut client = match victim {
        Victim::Agent | Victim::Server => home.connect(agent),
        Victim::Client => {
            let mut relay = Command::new("python3");
            relay.current_dir(home.path()).env_clear();
            relay.envs(agent.get_envs().filter_map(|(name, value)| Some((name, value?))));
            relay.args(["-c", RELAY]).arg(agent.get_program()).args(agent.get_args());
            home.connect(relay)
        }
    };
    let session = client.open(&home);
    let prompt = client.ask_prompt(&session, "go");
    std::thread::sleep(Duration::from_millis(delay));
    kill(victim, &mut client, &mark);
    if victim == Victim::Server {
        // The agent lives, tells what came of the call, and ends when its client leaves.
        let ended: Value = client.answer(prompt).unwrap();
        assert_eq!(ended["stopReason"], "end_turn", "{case}");
        assert_eq!(home.read("app.conf"), "port = 9090\nhost = local\n", "{case}");
        assert_eq!(client.leave(), 0, "{case}");
    } else {
        client.ended();
    }
    assert_nothing_left(&home, case);
    resumed(&home, &session, case);
    assert_nothing_left(&home, case);
    for (name, once) in [("count", "ran\n"), ("served", "served\n")] {
        let found = std::fs::read_to_string(home.workspace().join(name)).unwrap_or_default();
        assert!(found.is_empty() || found == once, "{case}: {name} twice: {found:?}");
    }
    let whole = ["port = 8080\nhost = local\n", "port = 9090\nhost = local\n"];
    assert!(whole.contains(&home.read("app.conf").as_str()), "{case}");
}

/// A few at a time, because most of it is waiting.
#[test]
fn whoever_is_killed_at_whatever_moment_nothing_is_left_and_nothing_is_done_twice() {
    assert!(jm_testing::has("namespaces"));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let seed = u64::try_from(now % u128::from(u64::MAX)).unwrap();
    let deaths = if std::env::var_os("JM_LONG").is_some() { DEATHS.1 } else { DEATHS.0 };
    let rounds: Vec<u64> = (0..deaths).collect();
    for some in rounds.chunks(3) {
        std::thread::scope(|scope| {
            for round in some {
                scope.spawn(move || {
                    let victim = [Victim::Agent, Victim::Client, Victim::Server]
                        [usize::try_from(round % 3).unwrap()];
                    let delay = noise(seed ^ (round + 1)) % TURN;
                    let case = format!("{victim:?} killed after {delay} ms");
                    die_once(victim, delay, &case);
                });
            }
        });
    }
}
