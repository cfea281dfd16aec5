//! Names that move while a command starts, and files that make whoever opens them wait.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::ground::{Ground, Session, exchange};
use crate::world::{CANARY, User, own_all, users, works};

/// Rounds of the strongest back end, all users together; the others have half as many.
fn rounds() -> usize {
    if std::env::var_os("JM_LONG").is_some() { 10_000 } else { 300 }
}

/// A background process of the session exchanges what is protected with links to the home.
const SWAPPER: &str = r#"
mkdir -p own/.git/private own/.vscode; echo x > own/.git/HEAD; echo {} > own/.vscode/tasks.json; echo x > own/.env
ln -s "$OUTSIDE" own/link; ln -s "$OUTSIDE" own/editor; ln -s "$OUTSIDE/private/secret.txt" own/settings
exec perl -e '$| = 1; my $n = (`uname -m` =~ /x86_64/) ? 316 : 276; my $count = 0;
    while (1) { for ([".git", "link"], [".vscode", "editor"], [".env", "settings"]) {
        my ($one, $other) = map { "own/$_" } @$_;
        $count++ if syscall($n, -100, $one, -100, $other, 2) == 0; }
        print "exchanged $count times\n" if $count % 300 == 0; select(undef, undef, undef, 0.00005) }'
"#;

/// The attempts of each command.
const REACH: &str = "for d in sub own; do cat $d/.git/private/secret.txt; echo x > $d/.git/file; done; \
    cat own/.vscode/private/secret.txt own/.env; echo x > own/.vscode/file; echo x > own/.env; true";

/// Somebody outside and a process in the background exchange protected names with links to the
/// home, as fast as the machine can.
fn check_exchanged(user: User, backend: &'static str, rounds: usize) {
    assert!(works(user, backend), "{backend} as {user:?}");
    let ground = Ground::new(user);
    let (git, link) = (ground.at("w/sub/.git"), ground.at("w/sub/link"));
    std::os::unix::fs::symlink(ground.at("home"), &link).unwrap();
    let mut session = ground.session(backend);
    let job = swap_in_background(&ground, &mut session);
    let stop = AtomicBool::new(false);
    let (mut ran, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                exchange(&git, &link);
                // Now and then the walk through the tree finds it where it was.
                std::thread::sleep(Duration::from_micros(50));
            }
        });
        let mut reached = None;
        for _ in 0..rounds {
            let answer = session.run(REACH);
            let is_run = answer["verdict"] == "ran";
            (ran, refused) = (ran + usize::from(is_run), refused + usize::from(!is_run));
            let said = answer.to_string();
            let secret = std::fs::read_to_string(ground.at("home/private/secret.txt"));
            let is_harmed =
                ground.at("home/file").exists() || secret.ok().as_deref() != Some(CANARY);
            if said.contains(CANARY) || is_harmed {
                reached = Some(said);
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert_eq!(reached, None, "{backend} as {user:?}: a command reached the home");
    });
    let seen = session.call("process", &json!({"action": "read", "id": job}));
    assert!(seen.to_string().contains("exchanged"), "nothing was exchanged: {seen}");
    println!("{backend} as {user:?}: {ran} commands ran, {refused} did not start");
    assert!(ran > 0, "{refused} commands did not start");
}

/// Starts it, and waits until it has begun.
fn swap_in_background(ground: &Ground, session: &mut Session) -> String {
    let script = SWAPPER.replace("$OUTSIDE", ground.at("home").to_str().unwrap());
    let started =
        session.call("start_process", &json!({"command": script, "lifetime_seconds": 3_600}));
    let told = started["content"].as_str().unwrap_or_default();
    let id = told.strip_prefix("Started ").and_then(|rest| rest.split(':').next());
    let id = id.unwrap_or_else(|| panic!("{started}")).to_owned();
    let until = json!({"action": "wait", "id": id, "until": "exchanged", "seconds": 20});
    session.call("process", &until);
    id
}

fn check_all_users(backend: &'static str, rounds: usize) {
    let users = users();
    let share = rounds / users.len();
    users.into_iter().for_each(|user| check_exchanged(user, backend, share));
}

#[test]
fn exchanged_names_never_lead_outside_in_namespaces() {
    check_all_users("namespaces", rounds());
}

#[test]
fn exchanged_names_never_lead_outside_behind_bwrap() {
    check_all_users("bwrap", rounds() / 2);
}

#[test]
fn exchanged_names_never_lead_outside_behind_landlock() {
    check_all_users("landlock", rounds() / 2);
}

#[test]
fn a_directory_around_a_denied_file_cannot_be_renamed() {
    for user in users() {
        let ground = Ground::new(user);
        std::fs::create_dir(ground.at("w/.docker")).unwrap();
        std::fs::write(ground.at("w/.docker/config.json"), CANARY).unwrap();
        own_all(&ground.at("w"), user);
        let answer = ground.session("namespaces").run("mv .docker dk; true");
        assert!(answer.to_string().contains("busy"), "{answer}");
        assert!(ground.at("w/.docker/config.json").exists());
    }
}

/// Opening a FIFO waits for whoever writes to it.
#[test]
fn a_fifo_with_a_protected_name_stops_no_command() {
    for name in [".envrc", ".env", ".vscode", "sub/.mcp.json", ".git"] {
        let ground = Ground::new(User::Own);
        let made = ground.command("mkfifo").arg(name).status().unwrap();
        assert!(made.success());
        let began = Instant::now();
        let answer = ground.session("namespaces").run("echo went on");
        assert!(answer.to_string().contains("went on"), "{name}: {answer}");
        assert!(began.elapsed() < Duration::from_secs(10), "{name}: {:?}", began.elapsed());
    }
}

/// Whoever empties a directory and gives it the mode of a placeholder fills it with the next command.
#[test]
fn a_directory_with_the_mode_of_a_placeholder_is_one_only_while_it_is_empty() {
    let ground = Ground::new(User::Own);
    let mut session = ground.session("namespaces");
    session.run("mkdir .vscode; echo evil > .vscode/tasks.json; chmod 1500 .vscode");
    let answer = session.run("chmod 755 .vscode; echo more >> .vscode/tasks.json; true");
    assert!(answer.to_string().to_lowercase().contains("read-only"), "{answer}");
}
