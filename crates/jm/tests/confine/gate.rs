//! A list of hosts: ordinary clients get through, and nothing else does.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use crate::escapes::{attempts, explains};
use crate::work::has;
use crate::world::{CANARY, User, World, users, works};

const BACKENDS: [&str; 3] = ["namespaces", "bwrap", "landlock"];

/// The listed server: gives the files of a folder, and notes what nobody should have asked it.
pub(crate) struct Server {
    pub(crate) port: u16,
    strange: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) fn start(folder: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let strange = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&strange);
        // It ends with the test.
        std::thread::spawn(move || {
            for client in listener.incoming().filter_map(Result::ok) {
                let (folder, noted) = (folder.clone(), Arc::clone(&noted));
                std::thread::spawn(move || serve(client, &folder, port, &noted));
            }
        });
        Self { port, strange }
    }

    pub(crate) fn strange(&self) -> Vec<String> {
        std::mem::take(&mut *self.strange.lock().unwrap())
    }
}

fn serve(client: TcpStream, folder: &Path, port: u16, noted: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(client.try_clone().unwrap());
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            if reader.read_until(b'\n', &mut head).unwrap_or(0) == 0 {
                if !head.is_empty() {
                    noted.lock().unwrap().push(format!("half a request: {head:?}"));
                }
                return;
            }
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let path = head.split(' ').nth(1).unwrap_or_default().split('?').next().unwrap();
        let field = |name: &str| {
            let fields = head.lines().filter_map(|line| line.split_once(": "));
            let mut named = fields.filter(|(known, _)| known.eq_ignore_ascii_case(name));
            named.next().map(|(_, value)| value.to_owned())
        };
        if ["/direct", "/smuggled", "/user"].contains(&path)
            || field("host") != Some(format!("localhost:{port}"))
            || head.contains("Proxy-")
        {
            noted.lock().unwrap().push(head.clone());
        }
        let length = field("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        reader.by_ref().take(length).read_to_end(&mut Vec::new()).unwrap();
        let file = folder.join(path.trim_start_matches('/'));
        let (line, body) = match (path, std::fs::read(file)) {
            ("/" | "/host", _) => ("200 OK", head.clone().into_bytes()),
            (_, Ok(content)) => ("200 OK", content),
            (_, Err(_)) => ("404 Not Found", Vec::new()),
        };
        let answer = format!(
            "HTTP/1.1 {line}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let body = if head.starts_with("HEAD ") { Vec::new() } else { body };
        let mut client = &client;
        if client.write_all(&[answer.as_bytes(), &body].concat()).is_err() {
            return;
        }
        if head.contains("Connection: close") {
            return;
        }
    }
}

fn check_attempts(user: User, backend: &'static str) {
    let all = attempts(include_str!("gate.md"));
    assert!(all.len() >= 30, "{}", all.len());
    let mut world = World::new(user, backend);
    let server = Server::start(world.at("x"));
    let flag = format!("--network=localhost:{}", server.port);
    let mut wrong = Vec::new();
    for attempt in &all {
        let [program, option, script] = attempt.words();
        let listed = format!("LISTED={}", server.port);
        let words = ["env", &listed, &program, &option, &script];
        let output = world.confined_with(&[&flag], &words);
        let said =
            [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text)).concat();
        let mut harm = world.harm();
        harm.extend(server.strange());
        harm.extend(said.contains(CANARY).then(|| "it read what it must not".to_owned()));
        harm.extend(said.contains("ESCAPED").then(|| "it says that it escaped".to_owned()));
        harm.extend((!explains(&said)).then(|| "it does not say why it failed".to_owned()));
        if !harm.is_empty() {
            wrong.push(format!("{}: {harm:#?}\n{said}", attempt.title));
            world = World::new(user, backend);
        }
    }
    assert!(wrong.is_empty(), "{backend} as {user:?}:\n{}", wrong.join("\n\n"));
}

#[test]
fn none_gets_around_the_gate() {
    for backend in BACKENDS {
        for user in users().into_iter().filter(|user| works(*user, backend)) {
            check_attempts(user, backend);
        }
    }
}

/// The program that is needed, and a script that ends with 0.
const CLIENTS: &[(&str, &str)] = &[
    ("curl", "curl -sSf http://localhost:$LISTED/file | grep -q content"),
    ("curl", "curl -sSfp http://localhost:$LISTED/file | grep -q content"),
    ("curl", "curl -sSf --data-binary @probe.py http://localhost:$LISTED/ | grep -q POST"),
    (
        "curl",
        "curl -sSf -H 'Transfer-Encoding: chunked' -d x http://LOCALHOST:$LISTED/ -o /dev/null; true",
    ),
    ("wget", "wget -qO- http://localhost:$LISTED/file | grep -q content"),
    (
        "python3",
        "python3 -c \"import urllib.request as u; \
         assert b'content' in u.urlopen('http://localhost:$LISTED/file').read()\"",
    ),
    ("git", "git clone -q http://localhost:$LISTED/repository.git cloned && test -f cloned/file"),
    // A server of the command's own is reached beside the gate.
    (
        "python3",
        "test \"$BACKEND\" = landlock || { python3 -m http.server -b 127.0.0.1 8099 2>/dev/null & \
         for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.5; curl -sSf http://127.0.0.1:8099/ && exit 0; \
         done; exit 1; }",
    ),
];

fn check_clients(user: User, backend: &'static str) {
    let world = World::new(user, backend);
    let folder = world.at("served");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("file"), "content\n").unwrap();
    let made = Command::new("sh")
        .args([
            "-c",
            "git init -q r && cd r && cp ../file . && git add . && git -c user.name=n -c \
               user.email=e commit -qm one && git clone -q --bare . ../repository.git && cd \
               ../repository.git && git update-server-info",
        ])
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let server = Server::start(folder);
    let flag = format!("--network=localhost:{}", server.port);
    for (program, script) in CLIENTS {
        if !has(user, program) {
            continue;
        }
        let script = format!("LISTED={} BACKEND={backend}; {script}", server.port);
        let output = world.confined_with(&[&flag], &["sh", "-c", &script]);
        let said = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        assert!(output.status.success(), "{backend} as {user:?}: {script}\n{}", said.concat());
    }
}

#[test]
fn ordinary_clients_get_through_the_gate() {
    for backend in BACKENDS.into_iter().chain(["none"]) {
        for user in users() {
            if backend == "none" || works(user, backend) {
                check_clients(user, backend);
            }
        }
    }
}

/// A name that is listed, and that somebody has pointed at this machine.
#[test]
fn a_name_that_was_bent_leads_nowhere() {
    if !jm_testing::has("superuser") || !works(User::Own, "namespaces") {
        return;
    }
    let world = World::new(User::Own, "namespaces");
    std::fs::write(world.at("served"), "").unwrap();
    let server = Server::start(world.at("x"));
    let hosts = world.at("hosts");
    std::fs::write(&hosts, "127.0.0.1 localhost bent.example\n169.254.169.254 cloud.example\n")
        .unwrap();
    let ask = |flag: String, url: String| {
        let script = "mount --bind \"$HOSTS\" /etc/hosts && exec \"$JM\" sandbox \"$FLAG\" -- curl -sS \
                      -m 10 \"$URL\"";
        let mut jm = world.command("unshare");
        jm.args(["-m", "sh", "-c", script]).env("HOSTS", &hosts).env("FLAG", flag).env("URL", url);
        let output = jm.output().unwrap();
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text)).concat()
    };
    let port = server.port;
    let said =
        ask(format!("--network=bent.example:{port}"), format!("http://bent.example:{port}/"));
    assert!(said.contains("bent.example is 127.0.0.1"), "{said}");
    let said = ask("--network=cloud.example".into(), "http://cloud.example/".into());
    assert!(said.contains("cloud.example is 169.254.169.254"), "{said}");
    assert!(server.strange().is_empty());
    // The same name, with its address written down.
    let flag = format!("--network=localhost:{port}");
    assert!(ask(flag, format!("http://localhost:{port}/host")).contains("GET /host"));
}
