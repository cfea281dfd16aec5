//! A program for scripts to run in: real children, real jobs, files in memory.

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jm_lua::{
    CHILD_WORD, JobOrder, LogLevel, ModuleSource, ScriptChild, ScriptContext, ScriptHost,
    ScriptJobEnd, ScriptLimits, ScriptSettings, Scripts, StartChild,
};
use jm_types::Cancel;
use rustix::fd::OwnedFd;

pub(crate) const PROJECT: &str = "/project";

#[derive(Default)]
pub(crate) struct World {
    pub(crate) files: Mutex<BTreeMap<String, String>>,
    pub(crate) log: Mutex<Vec<String>>,
    /// The numbers of the processes that were started.
    pub(crate) children: Mutex<Vec<u32>>,
}

struct Process(Child);

impl ScriptChild for Process {
    fn kill(&mut self) {
        drop(self.0.kill());
    }

    fn ending(&mut self) -> Option<String> {
        let until = Instant::now() + Duration::from_secs(1);
        while Instant::now() < until {
            if let Ok(Some(status)) = self.0.try_wait() {
                return Some(match (status.code(), status.signal()) {
                    (_, Some(signal)) => format!("signal {signal}"),
                    (code, None) => format!("exit code {}", code.unwrap_or_default()),
                });
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        None
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl World {
    pub(crate) fn starter(self: &Arc<Self>) -> StartChild {
        let world = Arc::clone(self);
        Box::new(move || {
            let (ours, theirs) = UnixStream::pair()?;
            let child = Command::new(std::env::current_exe()?)
                .arg(CHILD_WORD)
                .env_clear()
                .stdin(Stdio::from(OwnedFd::from(theirs)))
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()?;
            world.children.lock().unwrap().push(child.id());
            Ok((ours, Box::new(Process(child))))
        })
    }

    pub(crate) fn scripts(self: &Arc<Self>, init: &str, limits: ScriptLimits) -> Scripts {
        let init = ModuleSource { name: "init.lua".to_owned(), text: init.to_owned() };
        let (allow, default_timeout) = (Vec::new(), Duration::from_secs(30));
        let default_auto_approve = vec!["$default".to_owned()];
        let settings =
            ScriptSettings { init, limits, allow, default_timeout, default_auto_approve };
        Scripts::new(settings, Arc::clone(self) as Arc<dyn ScriptHost>, self.starter())
    }
}

pub(crate) fn context() -> ScriptContext {
    let (cwd, tool_id) = (PROJECT.to_owned(), "toolu_01".to_owned());
    ScriptContext { cwd, tool_id, timeout: 30, ..ScriptContext::default() }
}

impl ScriptHost for World {
    fn module(&self, name: &str) -> Result<Option<ModuleSource>, String> {
        let name = format!("lua/{}.lua", name.replace('.', "/"));
        let text = self.files.lock().unwrap().get(&name).cloned();
        Ok(text.map(|text| ModuleSource { name, text }))
    }

    fn is_path_writable(&self, path: &str) -> bool {
        path.starts_with(PROJECT)
    }

    fn wrap_command(&self, argv: Vec<String>) -> Result<Vec<String>, String> {
        match argv[0].as_str() {
            "forbidden" => Err("no command may run here".to_owned()),
            _ => Ok(["confined".to_owned()].into_iter().chain(argv).collect()),
        }
    }

    fn read_file(&self, path: &str) -> Result<String, String> {
        let files = self.files.lock().unwrap();
        files.get(path).cloned().ok_or_else(|| format!("{path}: no such file"))
    }

    fn write_file(&self, path: &str, text: &str) -> Result<(), String> {
        if !self.is_path_writable(path) {
            return Err(format!("{path}: outside the workspace"));
        }
        self.files.lock().unwrap().insert(path.to_owned(), text.to_owned());
        Ok(())
    }

    fn run_job(&self, order: JobOrder, cancel: &Cancel) -> ScriptJobEnd {
        let mut command = Command::new(&order.argv[0]);
        command.args(&order.argv[1..]).stdin(Stdio::null()).stdout(Stdio::piped());
        let Ok(mut child) = command.spawn() else {
            return ScriptJobEnd {
                code: -1,
                stderr: "cannot start".to_owned(),
                ..ScriptJobEnd::default()
            };
        };
        while matches!(child.try_wait(), Ok(None)) {
            if cancel.is_cancelled() {
                drop(child.kill());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let output = child.wait_with_output().unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        ScriptJobEnd { code: output.status.code().unwrap_or(-1), stdout, stderr: String::new() }
    }

    fn log(&self, level: LogLevel, text: &str) {
        let level = format!("{level:?}").to_lowercase();
        self.log.lock().unwrap().push(format!("{level}: {text}"));
    }
}
