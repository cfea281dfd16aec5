//! Ordinary work goes on inside.

use std::process::Command;

use crate::world::{User, World, is_root, users, works};

/// A task: what it needs on the machine, and a script that ends with 0 when it went well.
struct Task {
    name: &'static str,
    needs: &'static [&'static str],
    script: &'static str,
}

const TASKS: &[Task] = &[
    Task {
        name: "files come and go",
        needs: &[],
        script: "mkdir -p a/b && echo one > a/b/c && mv a/b/c a/d && cp -p a/d a/e && ln -s d a/f \
                 && ln a/d a/g && chmod 755 a/e && touch -d 2020-01-01 a/e && rm -r a",
    },
    Task {
        name: "temporary files",
        needs: &[],
        script: "f=$(mktemp) && echo x > \"$f\" && test \"$(cat \"$f\")\" = x && rm \"$f\"",
    },
    Task {
        name: "a compiler that writes to a temporary directory",
        needs: &["cc"],
        script: "printf 'int main(void){return 0;}' > m.c && cc -pipe -o m m.c && cc -save-temps \
                 -o m2 m.c && ./m && ./m2",
    },
    Task {
        name: "archives and copies that keep modes",
        needs: &["tar"],
        script: "mkdir -p a/b && echo x > a/b/c && chmod 750 a/b && chmod 555 a/b/c && chmod 1777 a && \
                 tar cf t.tar a && mkdir o && tar xpf t.tar -C o && cp -a o/a c && install -m 755 \
                 a/b/c d && test \"$(stat -c %a c c/b c/b/c d | tr '\\n' ' ')\" = '1777 750 555 755 ' && \
                 mkfifo f && mkdir -m 700 own && rm -r a o c d f own t.tar",
    },
    Task {
        name: "make",
        needs: &["make", "cc"],
        script: "printf 'all: m.o\\n\\tcp m.o out\\n' > Makefile && printf 'int f(void){return 1;}' \
                 > m.c && make -j2 && test -s out",
    },
    Task {
        name: "git looks and commits",
        needs: &["git"],
        script: "mkdir r && cd r && git init -q && echo a > f && git add f && git -c user.name=n -c \
                 user.email=e commit -qm one && echo b >> f && git status --short && git diff \
                 --stat && git log --oneline && test -z \"$(git stash list)\"",
    },
    Task {
        name: "git looks at the repository that is there",
        needs: &["git"],
        script: "git status --short > /dev/null && git diff && git ls-files",
    },
    Task {
        name: "a virtual environment",
        needs: &["python3"],
        script: "python3 -m venv --without-pip env && env/bin/python -c 'import sys, json, ssl, \
                 tempfile; print(sys.prefix)' && rm -r env",
    },
    Task {
        name: "processes and pipes of Python",
        needs: &["python3"],
        script: "python3 -c 'import multiprocessing as m, subprocess, threading; \
                 print(subprocess.run([\"echo\", \"x\"], capture_output=True).stdout); \
                 t = threading.Thread(target=print); t.start(); t.join(); p = m.Process(target=print); \
                 p.start(); p.join(); assert p.exitcode == 0'",
    },
    Task {
        name: "a test of npm",
        needs: &["npm", "node"],
        script: "printf '{\"name\":\"x\",\"version\":\"1.0.0\",\"scripts\":{\"test\":\"node -e \
                 process.exit\"}}' > package.json && npm test --silent --no-update-notifier && rm \
                 package.json",
    },
    Task {
        name: "devices and the process table",
        needs: &[],
        script: "echo x > /dev/null && head -c 8 /dev/urandom | wc -c && test -r /proc/self/status \
                 && ls -l /proc/self/fd && test -e /dev/fd/0 && grep -q . /proc/cpuinfo && nproc",
    },
    Task {
        name: "signals between its own processes",
        needs: &[],
        script: "sleep 60 & kill $! && wait $!; test $? -gt 128",
    },
];

/// Only where there is a tree, and so a network, of its own.
const OWN_NETWORK: &[Task] = &[
    Task {
        name: "a loopback of its own",
        needs: &["python3"],
        script: "python3 -c 'import socket; s = socket.create_server((\"127.0.0.1\", 0)); \
                 c = socket.create_connection(s.getsockname()); a, _ = s.accept(); c.send(b\"x\"); \
                 assert a.recv(1) == b\"x\"'",
    },
    Task {
        name: "sockets in the workspace",
        needs: &["python3"],
        script: "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.bind(\"s\"); \
                 s.listen(); c = socket.socket(socket.AF_UNIX); c.connect(\"s\")' && rm s",
    },
    Task {
        name: "a terminal of its own",
        needs: &["python3"],
        script: "python3 -c 'import pty; assert pty.spawn([\"true\"]) == 0' < /dev/null",
    },
    Task {
        name: "a directory of everybody",
        needs: &[],
        script: "echo x > /tmp/x && cat /tmp/x && echo y > \"$HOME/y\" && cat \"$HOME/y\"",
    },
];

#[track_caller]
pub(crate) fn has(user: User, program: &str) -> bool {
    works(user, program)
}

fn check(user: User, backend: &'static str, tasks: &[Task]) {
    let world = World::new(user, backend);
    let mut wrong = Vec::new();
    for task in tasks {
        if let Some(missing) = task.needs.iter().find(|program| !has(user, program)) {
            println!("{}: there is no {missing}", task.name);
            continue;
        }
        let output = world.confined(&["sh", "-c", task.script]);
        if !output.status.success() {
            let said = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
            wrong.push(format!("{}: {:?}\n{}", task.name, output.status.code(), said.concat()));
        }
    }
    assert!(wrong.is_empty(), "{backend} as {user:?}:\n{}", wrong.join("\n"));
}

#[test]
fn ordinary_work_goes_on() {
    for user in users() {
        for backend in ["namespaces", "bwrap", "landlock", "none"] {
            if backend == "none" || works(user, backend) {
                check(user, backend, TASKS);
            }
            if backend != "landlock" && backend != "none" && works(user, backend) {
                check(user, backend, OWN_NETWORK);
            }
        }
    }
}

/// A virtual environment that is a link, and the programs of packages, before all others on the path.
#[test]
fn programs_of_the_project_are_found_and_can_be_changed() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    for backend in ["namespaces", "bwrap", "landlock"].into_iter().filter(|b| works(User::Own, b)) {
        let world = World::new(User::Own, backend);
        for folder in ["w/real/bin", "w/packages/bin"] {
            std::fs::create_dir_all(world.at(folder)).unwrap();
        }
        symlink("real", world.at("w/environment")).unwrap();
        let tool = world.at("w/real/bin/tool");
        std::fs::write(&tool, "#!/bin/sh\necho works\n").unwrap();
        std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = ["w/environment/bin", "w/packages/bin"].map(|name| world.at(name));
        let path = path.into_iter().chain(["/usr/bin".into(), "/bin".into()]);
        let script = "tool && cp environment/bin/tool packages/bin/more && more && rm -r real";
        let mut jm = world.command(env!("CARGO_BIN_EXE_jm"));
        jm.args(["sandbox", "--backend", backend, "--", "sh", "-c", script]);
        let output = jm.env("PATH", std::env::join_paths(path).unwrap()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(said, "works\nworks\n", "{backend}: {output:?}");
        assert!(output.status.success(), "{backend}: {output:?}");
    }
}

/// `cargo` of whoever runs the tests: its toolchain lies in a home, of which nothing else is seen.
#[test]
fn cargo_builds_and_tests_offline() {
    let own = |name: &str| std::env::var_os(name).unwrap_or_default();
    for backend in ["namespaces", "bwrap", "landlock"] {
        if !works(User::Own, backend) {
            continue;
        }
        let world = World::new(User::Own, backend);
        let script = "cargo init -q --name small --lib && cargo build -q --offline && cargo test -q \
                      --offline";
        let output = Command::new(env!("CARGO_BIN_EXE_jm"))
            .args(["sandbox", "--backend", backend, "--timeout", "300", "--", "sh", "-c", script])
            .current_dir(world.at("second"))
            .env("PATH", own("PATH"))
            .env("HOME", own("HOME"))
            .env("JM_STATE_DIR", world.at("state"))
            .env_remove("CARGO_TARGET_DIR")
            .output()
            .unwrap();
        let said = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        assert!(output.status.success(), "{backend} (root: {}): {}", is_root(), said.concat());
    }
}

/// Placeholders for names that must not come into being are not needed where nobody can make them.
#[test]
fn a_workspace_of_somebody_else_can_be_looked_at() {
    use std::os::unix::fs::{PermissionsExt, chown};
    for user in users().into_iter().filter(|user| *user == User::Ordinary) {
        for backend in ["namespaces", "bwrap", "landlock"].into_iter().filter(|b| works(user, b)) {
            let world = World::new(user, backend);
            let script = "cat note && ! touch .journeyman && ! mkdir .git";
            let run = || {
                let mut jm = world.command(env!("CARGO_BIN_EXE_jm"));
                jm.args(["sandbox", "--backend", backend, "--", "sh", "-c", script]);
                jm.current_dir(world.at("theirs")).output().unwrap()
            };
            std::fs::create_dir(world.at("theirs")).unwrap();
            std::fs::write(world.at("theirs/note"), "read\n").unwrap();
            let output = run();
            assert_eq!(output.stdout, b"read\n", "{backend}: {output:?}");
            assert!(output.status.success(), "{backend}: {output:?}");
            // Whoever owns it could open it again.
            let closed = std::fs::Permissions::from_mode(0o555);
            std::fs::set_permissions(world.at("theirs"), closed).unwrap();
            chown(world.at("theirs"), Some(65534), Some(65534)).unwrap();
            let (output, is_held) = (run(), backend != "landlock");
            assert_eq!(output.status.code() == Some(2), is_held, "{backend}: {output:?}");
        }
    }
}
