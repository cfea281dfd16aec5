//! Ports of background processes that are published: reached at 127.0.0.1 of this machine and nowhere else, and gone with
//! their process, whoever dies first.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::desk::{Desk, PATIENCE, await_true, listed, ps};
use crate::gate::Server;
use crate::world::{User, World, users, works};

/// Answers with the number of bytes that a client has sent, when the client has no more.
const COUNTING: &str = "python3 -uc 'import socket
server = socket.create_server((\"ADDRESS\", PORT), family=socket.FAMILY, backlog=200)
print(\"ready\")
while True:
    client, _ = server.accept()
    count = 0
    while piece := client.recv(65536):
        count += len(piece)
    client.sendall(b\"x\" * count + b\"%d\" % count)
    client.close()'";

fn counting(port: u16, address: &str) -> String {
    let family = if address.contains(':') { "AF_INET6" } else { "AF_INET" };
    let script = COUNTING.replace("PORT", &port.to_string()).replace("ADDRESS", address);
    script.replace("FAMILY", family)
}

/// A port that nothing on this machine has.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn started(command: &str, publish: &[u16]) -> Value {
    json!({"command": command, "lifetime_seconds": 600, "publish": publish})
}

/// The server's answer to so many bytes; `None` where there is none.
fn counted(port: u16, bytes: usize) -> Option<String> {
    let mut client = TcpStream::connect(("127.0.0.1", port)).ok()?;
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut sender = client.try_clone().unwrap();
    let sent = std::thread::spawn(move || {
        sender.write_all(&vec![b'y'; bytes]).and_then(|()| sender.shutdown(Shutdown::Write))
    });
    let mut answer = Vec::new();
    let read = client.read_to_end(&mut answer);
    (sent.join().unwrap().is_ok() && read.is_ok()).then_some(())?;
    let answer = String::from_utf8(answer).unwrap();
    Some(answer.trim_start_matches('x').to_owned())
}

fn is_open(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}

/// The addresses on which this machine listens on a port, as the kernel lists them.
fn listeners(port: u16) -> Vec<String> {
    let all =
        ["/proc/net/tcp", "/proc/net/tcp6"].map(|file| std::fs::read_to_string(file).unwrap());
    let lines = all.iter().flat_map(|text| text.lines().skip(1));
    let fields = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
    let listening = fields.filter(|fields| fields[3] == "0A");
    let local = listening.map(|fields| fields[1].to_owned());
    local.filter(|local| local.ends_with(&format!(":{port:04X}"))).collect()
}

/// The children of a process that were started with a word, as their folders in `/proc`.
fn children(parent: u64, word: &str) -> Vec<String> {
    let list = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap();
    let folders = list.split_whitespace().map(|pid| format!("/proc/{pid}"));
    let line = |folder: &String| std::fs::read_to_string(format!("{folder}/cmdline"));
    folders.filter(|folder| line(folder).is_ok_and(|line| line.contains(word))).collect()
}

fn world(user: User) -> World {
    World::new(user, "namespaces")
}

/// The users for whom processes can be in a shared loopback.
fn everybody() -> Vec<User> {
    users().into_iter().filter(|user| works(*user, "namespaces")).collect()
}

#[test]
fn a_published_port_is_reached_at_127_0_0_1_alone_and_closes_with_its_process() {
    for user in everybody() {
        let world = world(user);
        let mut desk = Desk::open(&world, "s");
        for address in ["127.0.0.1", "::1"] {
            let port = free_port();
            let id = desk.start(&started(&counting(port, address), &[port]));
            desk.until(&id, "ready");
            assert_eq!(listeners(port), [format!("0100007F:{port:04X}")], "{user:?}");
            assert_eq!(counted(port, 0).as_deref(), Some("0"), "{user:?}, {address}");
            // More than any buffer holds, in both directions.
            assert_eq!(counted(port, 20_000_000).as_deref(), Some("20000000"), "{address}");
            assert_eq!(listed(&world).last().unwrap()["published"], json!([port]));
            desk.process("stop", &id, &json!({}));
            assert!(!is_open(port), "{user:?}: the port is open when the process has ended");
            assert_eq!(listed(&world).last().unwrap()["published"], json!([]));
            // The very port is free for the next one.
            let id = desk.start(&started("echo next; sleep 600", &[port]));
            desk.process("stop", &id, &json!({}));
        }
        desk.close();
    }
}

#[test]
fn whoever_is_killed_the_port_is_gone() {
    for user in everybody() {
        let world = world(user);
        let (port, kept) = (free_port(), free_port());
        let mut desk = Desk::open(&world, "s");
        let id = desk.start(&started(&counting(port, "127.0.0.1"), &[port]));
        desk.until(&id, "ready");
        let mut args = started(&counting(kept, "127.0.0.1"), &[kept]);
        args["keep_after_session"] = json!(true);
        let id = desk.start(&args);
        desk.until(&id, "ready");
        desk.kill();
        await_true("the port closes with its session", || !is_open(port));
        assert_eq!(counted(kept, 5).as_deref(), Some("5"), "a kept process is still reached");
        let daemon = listed(&world).last().unwrap()["pid"].as_u64().unwrap();
        let makers = children(daemon, "__sockets");
        assert_eq!(makers.len(), 1, "{makers:?}");
        let killed = Command::new("kill").args(["-9", &daemon.to_string()]).status().unwrap();
        assert!(killed.success());
        await_true("the port closes with the daemon", || !is_open(kept));
        await_true("no process of it is left", || {
            !Path::new(&makers[0]).exists()
                && listed(&world).iter().all(|job| job["running"] == false)
        });
    }
}

#[test]
fn a_port_that_another_program_has_starts_nothing() {
    let Some(user) = everybody().into_iter().next() else { return };
    let world = world(user);
    let mut desk = Desk::open(&world, "s");
    for address in ["127.0.0.1:0", "0.0.0.0:0"] {
        let taken = TcpListener::bind(address).unwrap();
        let port = taken.local_addr().unwrap().port();
        let answer = desk.call("start_process", &started("touch ran; sleep 600", &[port]));
        let said = answer["content"].as_str().unwrap();
        assert_eq!(answer["verdict"], "failed", "{answer}");
        assert!(said.contains(&format!("port {port} is in use on this machine")), "{said}");
        assert!(!world.at("w/ran").exists());
    }
    assert!(listed(&world).is_empty(), "{:?}", listed(&world));
    desk.close();
}

#[test]
fn leave_for_a_port_outlives_the_process_that_had_it_first() {
    let Some(user) = everybody().into_iter().next() else { return };
    let world = world(user);
    let port = free_port();
    let mut desk = Desk::open_with(&world, "s", &["--publish", &port.to_string()]);
    let first = json!({"command": "echo first; sleep 600", "lifetime_seconds": 600});
    let told = desk.told("start_process", &first);
    assert!(told.contains(&format!("(port {port} is published: ")), "{told}");
    let second = json!({"command": counting(port, "127.0.0.1"), "lifetime_seconds": 600});
    let told = desk.told("start_process", &second);
    assert!(told.contains(&format!("(port {port} is published by p1 ")), "{told}");
    desk.until("p2", "ready");
    assert_eq!(counted(port, 7).as_deref(), Some("7"));
    desk.process("stop", "p1", &json!({}));
    await_true("the second publishes it", || counted(port, 8).as_deref() == Some("8"));
    // A port that is asked for twice is told apart from one that a stranger has.
    let answer = desk.call("start_process", &started("sleep 600", &[port]));
    let said = answer["content"].as_str().unwrap();
    assert!(said.contains(&format!("port {port} is already published by p2")), "{said}");
    desk.close();
}

#[test]
fn a_command_of_another_session_does_not_reach_a_published_port() {
    for user in everybody() {
        let world = world(user);
        let port = free_port();
        let (mut desk, mut other) = (Desk::open(&world, "s"), Desk::open(&world, "other"));
        let id = desk.start(&started(&counting(port, "127.0.0.1"), &[port]));
        desk.until(&id, "ready");
        // The other session has a loopback too.
        other.start(&json!({"command": "echo up; sleep 600", "lifetime_seconds": 600}));
        let script = "import socket\nfor host in (\"127.0.0.1\", \"::1\"):\n    try:\n        \
                      socket.create_connection((host, PORT), 5); print(\"ESCAPED\")\n    except \
                      OSError as error:\n        print(error.strerror)";
        std::fs::write(world.at("w/reach.py"), script.replace("PORT", &port.to_string())).unwrap();
        let told = other.told("run_command", &json!({"command": "python3 reach.py"}));
        assert_eq!(told, "Connection refused\nConnection refused\n", "{user:?}");
        let told = desk.told("run_command", &json!({"command": "python3 reach.py"}));
        assert!(told.starts_with("ESCAPED\n"), "the session itself reaches it: {told}");
        desk.close();
        other.close();
    }
}

#[test]
fn the_person_publishes_a_port_of_a_running_process() {
    let Some(user) = everybody().into_iter().next() else { return };
    let world = world(user);
    let (port, quiet) = (free_port(), free_port());
    let mut desk = Desk::open(&world, "s");
    let id = desk.start(&started(&counting(port, "127.0.0.1"), &[]));
    desk.until(&id, "ready");
    assert!(!is_open(port));
    let said = ps(&world, &["--publish", &port.to_string(), "s-1"]);
    assert_eq!(said, format!("s-1 port {port} is published at 127.0.0.1:{port}\n"));
    assert_eq!(counted(port, 3).as_deref(), Some("3"));
    // No process listens on this one: what connects is told so, and nothing hangs.
    ps(&world, &["--publish", &quiet.to_string(), "s-1"]);
    assert_eq!(counted(quiet, 0), None);
    assert!(ps(&world, &["s-1", "--publish", &world.port().to_string()]).contains("is in use"));
    let told = desk.process("list", "p1", &json!({}));
    let (low, high) = (port.min(quiet), port.max(quiet));
    let both = format!("published at 127.0.0.1:{low}, 127.0.0.1:{high}: ");
    assert!(told.contains(&both), "{told}");
    desk.process("stop", &id, &json!({}));
    assert!(!is_open(port));
    assert!(ps(&world, &["--publish", &port.to_string(), "s-1"]).contains("s-1 is not running"));
    desk.close();
}

#[test]
fn where_nothing_can_be_published_that_is_said_before_anything_starts() {
    for backend in ["bwrap", "landlock"].into_iter().filter(|one| works(User::Own, one)) {
        let world = World::new(User::Own, backend);
        let mut desk = Desk::open(&world, "s");
        let answer = desk.call("start_process", &started("touch ran; sleep 600", &[free_port()]));
        let said = answer["content"].as_str().unwrap();
        let why = format!("a port cannot be published with the sandbox back end {backend}");
        assert!(said.contains(&why), "{said}");
        assert!(!world.at("w/ran").exists());
        desk.start(&json!({"command": "echo up; sleep 600", "lifetime_seconds": 600}));
        let said = ps(&world, &["--publish", &free_port().to_string(), "s-2"]);
        assert!(said.contains("cannot be published: it is in no loopback of a session"), "{said}");
        desk.close();
    }
    // The process has this machine's own network: it is reached as it is.
    let world = World::new(User::Own, "none");
    let port = free_port();
    let mut desk = Desk::open(&world, "s");
    let told = desk.told("start_process", &started(&counting(port, "127.0.0.1"), &[port]));
    assert!(told.contains(&format!("(port {port} needs no publishing: ")), "{told}");
    desk.until("p1", "ready");
    assert_eq!(counted(port, 4).as_deref(), Some("4"));
    desk.close();
}

/// Others of the session can connect to the proxy of a command, because they share its loopback.
#[test]
fn in_a_shared_loopback_each_proxy_wants_the_password_of_its_own_command() {
    for user in everybody() {
        let world = world(user);
        std::fs::write(world.at("x/file"), "content\n").unwrap();
        let server = Server::start(world.at("x"));
        let flag = format!("--network=localhost:{}", server.port);
        let mut desk = Desk::open_with(&world, "s", &[&flag]);
        let url = format!("http://localhost:{}/file", server.port);
        let own = format!(
            "echo \"$http_proxy\" | sed 's,//.*@,//,' > proxy; curl -sS {url}; echo up; sleep 600"
        );
        let id = desk.start(&json!({"command": own, "lifetime_seconds": 600}));
        desk.until(&id, "up");
        let told = desk.process("read", &id, &json!({"from": 0}));
        assert!(told.ends_with("]\ncontent\nup\n"), "{told}");
        let others = format!(
            "own=$(echo \"$http_proxy\" | sed 's,.*//\\(.*\\)@.*,\\1,'); test -n \"$own\" || exit 9
             get() {{ curl -sS -o /dev/null -w '%{{http_code}}\\n' \"$@\" {url}; }}
             get; get --proxy \"$(cat proxy)\"; get --proxy-user \"$own\" --proxy \"$(cat proxy)\"; \
             get --proxy-user jm:guess --proxy \"$(cat proxy)\""
        );
        let told = desk.told("run_command", &json!({"command": others}));
        assert_eq!(told, "200\n407\n407\n407\n", "{user:?}");
        desk.close();
    }
}
