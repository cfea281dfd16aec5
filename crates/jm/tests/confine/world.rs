//! A workspace to be confined to, and a world outside that must not notice.

use std::collections::BTreeMap;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use jm_files::git_control::Treatment;
use tempfile::TempDir;

/// Printed nowhere unless somebody read what they must not.
pub(crate) const CANARY: &str = "canary-5b1c77";
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
const ORDINARY: u32 = 65534;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    /// Whoever runs the tests.
    Own,
    /// Somebody without rights, where the tests may become that.
    Ordinary,
}

pub(crate) struct World {
    base: TempDir,
    pub(crate) user: User,
    pub(crate) backend: &'static str,
    victim: Child,
    listeners: Listeners,
    common: tempfile::NamedTempFile,
    shared: Option<PathBuf>,
    numbers: [String; 2],
    before: Snapshot,
}

struct Listeners {
    tcp: TcpListener,
    udp: UdpSocket,
    socket: UnixListener,
    datagram: UnixDatagram,
    abstract_name: String,
    abstract_socket: UnixListener,
}

type Snapshot = BTreeMap<PathBuf, (String, u32, u32, i64)>;

pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// The users that the tests can be.
#[track_caller]
pub(crate) fn users() -> Vec<User> {
    if jm_testing::has("superuser") { vec![User::Own, User::Ordinary] } else { vec![User::Own] }
}

/// A program as that user.
pub(crate) fn program(user: User, program: impl AsRef<std::ffi::OsStr>) -> Command {
    if user == User::Own {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    let id = ORDINARY.to_string();
    command.args(["--reuid", &id, "--regid", &id, "--clear-groups"]).arg(program.as_ref());
    command
}

/// The back end works here for this user, as the machine itself shows without the program's help.
#[track_caller]
pub(crate) fn works(user: User, backend: &str) -> bool {
    match user {
        User::Own => jm_testing::has(backend),
        User::Ordinary => jm_testing::has_as(ORDINARY, backend),
    }
}

impl World {
    pub(crate) fn new(user: User, backend: &'static str) -> Self {
        let base = tempfile::tempdir().unwrap();
        let at = |name: &str| base.path().join(name);
        for name in
            ["w/.git/hooks", "w/.git/objects/info", "w/.git/refs", "w/.journeyman", "x", "second"]
                .into_iter()
                .chain([
                    "home/.ssh",
                    "home/.config/journeyman",
                    "state",
                    "second/idea",
                    "w/deep/inner/.vscode",
                    "home/.npm/_cacache",
                    "home/.gem",
                    "home/.stack/upload",
                    "home/.julia/servers/x",
                    "home/.local/share/uv/credentials",
                    "home/.opam/plugins/opam-publish",
                    "home/.dotnet/corefx",
                    "home/.cargo",
                    "home/.local/bin",
                ])
        {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        let files = [
            ("w/.git/HEAD", "ref: refs/heads/main\n"),
            ("w/.git/config", "[core]\n\trepositoryformatversion = 0\n"),
            ("w/.git/hooks/pre-push", "#!/bin/sh\n"),
            ("w/.journeyman/config.toml", "profile = \"careful\"\n"),
            ("w/.env", CANARY),
            ("w/deep/inner/.env", CANARY),
            ("w/deep/inner/.vscode/tasks.json", "{}\n"),
            ("w/probe.py", include_str!("probe.py")),
            ("x/secret", CANARY),
            ("x/victim", "untouched\n"),
            ("home/.ssh/id_rsa", CANARY),
            ("home/.bashrc", CANARY),
            ("home/.config/journeyman/config.toml", "# canary-5b1c77\n"),
            ("state/secret", CANARY),
            ("second/idea/tasks.xml", "<tasks/>\n"),
            ("home/.npm/_cacache/entry", "cached\n"),
            ("home/.gem/credentials", CANARY),
            ("home/.stack/upload/credentials.json", CANARY),
            ("home/.julia/servers/x/auth.toml", CANARY),
            ("home/.local/share/uv/credentials/x", CANARY),
            ("home/.opam/plugins/opam-publish/x.token", CANARY),
            ("home/.dotnet/corefx/x", CANARY),
            ("home/.gitconfig", "[http]\n\textraHeader = Authorization: canary-5b1c77\n"),
            ("home/.cargo/config.toml", "[registry]\ntoken = \"canary-5b1c77\"\n"),
            ("home/.local/bin/service.key", CANARY),
            ("home/.local/bin/.env", CANARY),
        ];
        for (name, content) in files {
            std::fs::write(at(name), content).unwrap();
        }
        std::os::unix::fs::symlink("idea", at("second/.idea")).unwrap();
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(at("state"), private).unwrap();
        let listeners = Listeners::open(&at("x"));
        own_all(base.path(), user);
        std::fs::set_permissions(base.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut victim = program(user, "sleep");
        victim.arg("600").current_dir(at("x")).env("NOTE", CANARY);
        let victim = victim.stdin(Stdio::null()).spawn().unwrap();
        let common = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(common.path(), CANARY).unwrap();
        let everybody = std::fs::Permissions::from_mode(0o666);
        std::fs::set_permissions(common.path(), everybody.clone()).unwrap();
        let shared = Path::new("/dev/shm").join(&listeners.abstract_name);
        let shared = std::fs::write(&shared, CANARY).ok().map(|()| shared);
        if let Some(shared) = &shared {
            std::fs::set_permissions(shared, everybody).unwrap();
        }
        let numbers = [ipc(user, &["-M", "64"]), ipc(user, &["-Q"])];
        let mut world = Self {
            base,
            user,
            backend,
            victim,
            listeners,
            common,
            shared,
            numbers,
            before: Snapshot::new(),
        };
        world.before = world.look();
        world
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    /// The port of a listener on the loopback outside.
    pub(crate) fn port(&self) -> u16 {
        self.listeners.tcp.local_addr().unwrap().port()
    }

    /// A command in this world's surroundings, as its user.
    pub(crate) fn command(&self, name: &str) -> Command {
        let mut command = program(self.user, name);
        command
            .current_dir(self.at("w"))
            .env_clear()
            .env("PATH", PATH)
            .env("HOME", self.at("home"))
            .env("JM_STATE_DIR", self.at("state"))
            .env("LC_ALL", "C.UTF-8")
            .env("API_TOKEN", CANARY)
            .env("JM", env!("CARGO_BIN_EXE_jm"))
            .env("W", self.at("w"))
            .env("X", self.at("x"))
            .env("STATE", self.at("state"))
            .env("SECOND", self.at("second"))
            .env("VICTIM", self.victim.id().to_string())
            .env("SOCKET", self.at("x/socket"))
            .env("ABSTRACT", &self.listeners.abstract_name)
            .env("PORT", self.listeners.tcp.local_addr().unwrap().port().to_string())
            .env("UDP", self.listeners.udp.local_addr().unwrap().port().to_string())
            .env("COMMON", self.common.path())
            .env("SHARED", &self.numbers[0])
            .env("QUEUE", &self.numbers[1])
            .stdin(Stdio::null());
        command
    }

    /// Runs words confined.
    pub(crate) fn confined(&self, words: &[&str]) -> Output {
        self.confined_with(&[], words)
    }

    /// The same, with more flags.
    pub(crate) fn confined_with(&self, flags: &[&str], words: &[&str]) -> Output {
        self.command(env!("CARGO_BIN_EXE_jm"))
            .args(["sandbox", "--backend", self.backend, "--timeout", "30"])
            .args(flags)
            .arg("--root")
            .arg(self.at("w"))
            .arg("--root")
            .arg(self.at("second"))
            .arg("--")
            .args(words)
            .output()
            .unwrap()
    }

    /// Takes the world as it is now for what it was before.
    pub(crate) fn look_again(&mut self) {
        self.before = self.look();
    }

    /// Traces that a command left in the world outside; none, if all is well.
    pub(crate) fn harm(&mut self) -> Vec<String> {
        let mut harm = self.listeners.heard();
        let now = self.look();
        for (path, was) in &self.before {
            if now.get(path) != Some(was) {
                harm.push(format!("{}: {was:?} is now {:?}", path.display(), now.get(path)));
            }
        }
        let new = now.keys().filter(|path| !self.before.contains_key(*path));
        harm.extend(new.map(|path| format!("{} is new", path.display())));
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.victim.id()));
        let state = stat.unwrap_or_default();
        let state = state.rsplit(") ").next().unwrap_or_default().chars().next();
        if state != Some('S') {
            harm.push(format!("the victim is in state {state:?}"));
        }
        harm
    }

    fn look(&self) -> Snapshot {
        let mut found = Snapshot::new();
        let watched = ["x", "home", "state", "w/.git/hooks", "w/.git/config", "w/.journeyman"];
        let absent = jm_files::git_control::SURFACE.iter();
        let absent = absent.filter(|entry| entry.treatment == Treatment::PutAside);
        let absent = absent.map(|entry| format!("w/.git/{}", entry.name));
        let more = ["w/.env", "w/deep", "second"];
        let watched = watched.into_iter().chain(more).map(str::to_owned).chain(absent);
        for name in watched.collect::<Vec<_>>().iter().map(String::as_str) {
            note(&self.at(name), &mut found);
        }
        note(self.common.path(), &mut found);
        self.shared.iter().for_each(|path| note(path, &mut found));
        found
    }
}

fn note(path: &Path, found: &mut Snapshot) {
    let Ok(metadata) = path.symlink_metadata() else { return };
    let kind = metadata.file_type();
    let content = match () {
        () if kind.is_symlink() => format!("{:?}", std::fs::read_link(path)),
        () if kind.is_file() => String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned(),
        () => String::new(),
    };
    // A directory's time changes while a placeholder stands in it.
    let time = if kind.is_dir() { 0 } else { metadata.mtime_nsec() + metadata.mtime() };
    found.insert(path.to_owned(), (content, metadata.mode(), metadata.gid(), time));
    if kind.is_dir() {
        std::fs::read_dir(path).unwrap().for_each(|entry| note(&entry.unwrap().path(), found));
    }
}

pub(crate) fn own_all(path: &Path, user: User) {
    if user == User::Own {
        return;
    }
    std::os::unix::fs::lchown(path, Some(ORDINARY), Some(ORDINARY)).unwrap();
    if path.symlink_metadata().unwrap().is_dir() {
        std::fs::read_dir(path).unwrap().for_each(|entry| own_all(&entry.unwrap().path(), user));
    }
    chown(path, Some(ORDINARY), Some(ORDINARY)).unwrap();
}

/// A piece of System V communication, by its number.
fn ipc(user: User, kind: &[&str]) -> String {
    let made = program(user, "ipcmk").args(kind).args(["-p", "0666"]).output().unwrap();
    String::from_utf8_lossy(&made.stdout).rsplit(' ').next().unwrap_or_default().trim().to_owned()
}

impl Listeners {
    fn open(folder: &Path) -> Self {
        let abstract_name =
            format!("jm-{}", folder.parent().unwrap().file_name().unwrap().display());
        let address = SocketAddr::from_abstract_name(abstract_name.as_bytes()).unwrap();
        let all = Self {
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            udp: UdpSocket::bind("127.0.0.1:0").unwrap(),
            socket: UnixListener::bind(folder.join("socket")).unwrap(),
            datagram: UnixDatagram::bind(folder.join("socket.dgram")).unwrap(),
            abstract_socket: UnixListener::bind_addr(&address).unwrap(),
            abstract_name,
        };
        all.tcp.set_nonblocking(true).unwrap();
        all.udp.set_nonblocking(true).unwrap();
        all.socket.set_nonblocking(true).unwrap();
        all.datagram.set_nonblocking(true).unwrap();
        all.abstract_socket.set_nonblocking(true).unwrap();
        all
    }

    fn heard(&self) -> Vec<String> {
        let mut byte = [0; 1];
        let heard = [
            ("tcp", self.tcp.accept().is_ok()),
            ("udp", self.udp.recv(&mut byte).is_ok()),
            ("unix", self.socket.accept().is_ok()),
            ("datagram", self.datagram.recv(&mut byte).is_ok()),
            ("abstract", self.abstract_socket.accept().is_ok()),
        ];
        let spoken = heard.into_iter().filter(|(_, heard)| *heard);
        spoken.map(|(name, _)| format!("somebody spoke to {name}")).collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.victim.kill().ok();
        self.victim.wait().ok();
        self.shared.iter().for_each(|path| drop(std::fs::remove_file(path)));
        let [shared, queue] = &self.numbers;
        Command::new("ipcrm").args(["-m", shared, "-q", queue]).output().ok();
    }
}
