//! The line to one child: a thread that reads, callers that write and wait.
//!
//! Law: the reader always reads, so the child can always write. Whoever waits past a call's time and a
//! little more ends the child with SIGKILL: nothing else stops a script inside a C function.

use std::collections::{BTreeMap, HashMap};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use jm_types::Cancel;
use rustix::net::{Shutdown, shutdown};
use serde_json::{Value, json};

use super::failure::{CallFailure, SourceFailure};
use super::host::{ScriptChild, ScriptHost};
use super::wait::{News, Waiting};
use crate::frame::{FrameReader, encode};
use crate::protocol::{
    Ask, Call, Failure, FromChild, JobOrder, LogLevel, MessageId, ScriptJobEnd, ScriptTool, Start,
    ToChild,
};

/// A script that is over its time has so long to end by itself.
const GRACE: Duration = Duration::from_millis(500);

pub(super) struct Line {
    shared: Arc<Shared>,
    reader: Option<JoinHandle<()>>,
}

/// The state that callers, the reader and jobs have in common.
struct Shared {
    host: Arc<dyn ScriptHost>,
    writer: Mutex<UnixStream>,
    child: Mutex<Box<dyn ScriptChild>>,
    waiting: Mutex<Waiting>,
    tools: Mutex<BTreeMap<String, ScriptTool>>,
    failures: Mutex<Vec<SourceFailure>>,
    /// Sources of tools that have begun and not ended.
    open_sources: AtomicUsize,
    jobs: Mutex<HashMap<MessageId, Job>>,
}

/// A program that runs for a script.
struct Job {
    /// The call that it was started for.
    call: Option<MessageId>,
    cancel: Cancel,
    thread: JoinHandle<()>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Line {
    /// Until `init.lua` has run; the error is why it has not.
    pub(super) fn open(
        socket: UnixStream,
        child: Box<dyn ScriptChild>,
        host: Arc<dyn ScriptHost>,
        start: Start,
    ) -> Result<Arc<Self>, String> {
        let patience = Duration::from_millis(start.limits.start_ms);
        let writer = socket.try_clone().map_err(|error| error.to_string())?;
        let shared = Arc::new(Shared {
            host,
            writer: Mutex::new(writer),
            child: Mutex::new(child),
            waiting: Mutex::default(),
            tools: Mutex::default(),
            failures: Mutex::default(),
            open_sources: AtomicUsize::new(0),
            jobs: Mutex::default(),
        });
        let (started, outcome) = channel();
        let own = Arc::clone(&shared);
        let reader = std::thread::Builder::new()
            .name("lua".to_owned())
            .spawn(move || own.read(socket, &started))
            .map_err(|error| error.to_string())?;
        let line = Arc::new(Self { shared, reader: Some(reader) });
        line.shared.write(&ToChild::Start(Box::new(start)), patience)?;
        match outcome.recv_timeout(patience + GRACE) {
            Ok(Ok(())) => Ok(line),
            Ok(Err(message)) => Err(message),
            Err(RecvTimeoutError::Timeout) => {
                Err(format!("did not end within {:.1} s and was stopped", patience.as_secs_f64()))
            }
            Err(RecvTimeoutError::Disconnected) => {
                let how = line.shared.how_it_ended();
                Err(format!("the Lua process ended while loading it ({how})"))
            }
        }
    }

    pub(super) fn is_alive(&self) -> bool {
        !lock(&self.shared.waiting).has_died()
    }

    pub(super) fn tools(&self) -> Vec<ScriptTool> {
        lock(&self.shared.tools).values().cloned().collect()
    }

    pub(super) fn has_open_sources(&self) -> bool {
        self.shared.open_sources.load(Ordering::Acquire) > 0
    }

    pub(super) fn source_failures(&self) -> Vec<SourceFailure> {
        lock(&self.shared.failures).clone()
    }

    pub(super) fn call(
        &self,
        call: Call,
        timeout: Duration,
        cancel: Option<&Cancel>,
    ) -> Result<Value, CallFailure> {
        let (id, sender, news) = lock(&self.shared.waiting).begin().map_err(CallFailure::Died)?;
        if let Some(cancel) = cancel {
            // The sender ends with the call, but the handle may live longer.
            cancel.on_cancel(move || sender.send(News::CancelAsked).unwrap_or_default());
        }
        let timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        let message = ToChild::Call { id, timeout_ms, call };
        let outcome = match self.shared.write(&message, timeout + GRACE) {
            Ok(()) => self.wait(id, &news, timeout),
            Err(why) => self.end_unwritten(&news, why),
        };
        lock(&self.shared.waiting).leave(id);
        // A program that outlived its call would change files that no call answers for.
        self.shared.end_jobs(|job| job.call == Some(id));
        outcome
    }

    fn wait(
        &self,
        id: MessageId,
        news: &Receiver<News>,
        timeout: Duration,
    ) -> Result<Value, CallFailure> {
        let mut until = Instant::now() + timeout + GRACE;
        let mut failure = CallFailure::Hung(timeout);
        loop {
            match news.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(News::Done(Ok(value))) => return Ok(value),
                Ok(News::Done(Err(Failure::Error(text)))) => return Err(CallFailure::Script(text)),
                Ok(News::Done(Err(Failure::TimedOut))) => {
                    return Err(CallFailure::TimedOut(timeout));
                }
                Ok(News::Done(Err(Failure::Cancelled))) => return Err(CallFailure::Cancelled),
                Ok(News::Died(how)) => return Err(CallFailure::Died(how)),
                Ok(News::CancelAsked) => {
                    // One that does not hear it is ended below.
                    self.shared.write(&ToChild::Cancel { id }, GRACE).unwrap_or_default();
                    until = until.min(Instant::now() + GRACE);
                    failure = CallFailure::Cancelled;
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.shared.kill("it hung and was stopped");
                    return Err(failure);
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(CallFailure::Died("its line was closed".to_owned()));
                }
            }
        }
    }

    /// A message that is too long was not written at all; after half a one there is no line any more.
    fn end_unwritten(&self, news: &Receiver<News>, why: String) -> Result<Value, CallFailure> {
        match news.try_recv() {
            Ok(News::Died(how)) => Err(CallFailure::Died(how)),
            _ if self.is_alive() => Err(CallFailure::Script(why)),
            _ => Err(CallFailure::Died(why)),
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.shared.kill("it was ended");
        if let Some(reader) = self.reader.take() {
            // A panic of the reader has ended the line like any other end.
            drop(reader.join());
        }
        self.shared.end_jobs(|_| true);
    }
}

impl Shared {
    /// Bounded in time: a child that does not read must not hold its callers.
    fn write(&self, message: &ToChild, most: Duration) -> Result<(), String> {
        let bytes = encode(message).map_err(|error| error.to_string())?;
        let mut writer = lock(&self.writer);
        // A timeout of zero would mean none.
        let most = Some(most.max(Duration::from_millis(1)));
        let written = writer.set_write_timeout(most).and_then(|()| writer.write_all(&bytes));
        drop(writer);
        written.map_err(|error| {
            self.kill("it did not read what it was sent");
            error.to_string()
        })
    }

    /// Until the child closes its end, which it does when it dies.
    fn read(self: Arc<Self>, mut socket: UnixStream, started: &Sender<Result<(), String>>) {
        let (mut frames, mut bytes) = (FrameReader::default(), vec![0; 64 * 1024]);
        loop {
            let count = match socket.read(&mut bytes) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            frames.push(&bytes[..count]);
            loop {
                match frames.take() {
                    Ok(Some(message)) => self.hear(message, started),
                    Ok(None) => break,
                    Err(error) => return self.kill(&format!("it sent no message: {error}")),
                }
            }
        }
        let how = self.how_it_ended();
        lock(&self.waiting).die(&how);
    }

    fn hear(self: &Arc<Self>, message: FromChild, started: &Sender<Result<(), String>>) {
        match message {
            // Whoever started it may have given up.
            FromChild::Started => started.send(Ok(())).unwrap_or_default(),
            FromChild::StartFailed { message } => started.send(Err(message)).unwrap_or_default(),
            FromChild::Tool(tool) => {
                lock(&self.tools).insert(tool.name.clone(), *tool);
            }
            FromChild::SourceBegan { .. } => {
                self.open_sources.fetch_add(1, Ordering::AcqRel);
            }
            FromChild::SourceEnded { name, error } => {
                let less = |open: usize| open.checked_sub(1);
                // A child that is not ours to believe may send an end too many.
                self.open_sources.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).ok();
                if let Some(error) = error {
                    self.host.log(LogLevel::Warn, &format!("source {name}: {error}"));
                    lock(&self.failures).push(SourceFailure { source: name, error });
                }
            }
            FromChild::Done { id, outcome } => lock(&self.waiting).end(id, outcome),
            FromChild::Ask { id, ask } => {
                let answer = answer(&*self.host, ask);
                // What cannot be sent is noticed by whoever waits for the script.
                self.write(&ToChild::Answer { id, answer }, GRACE).unwrap_or_default();
            }
            FromChild::StartJob { job, call, order } => self.start_job(job, call, order),
            FromChild::StopJob { job } => {
                if let Some(job) = lock(&self.jobs).get(&job) {
                    job.cancel.cancel();
                }
            }
            FromChild::Log { level, text } => self.host.log(level, &text),
        }
    }

    fn start_job(self: &Arc<Self>, job: MessageId, call: Option<MessageId>, order: JobOrder) {
        // A call that nobody waits for any more starts nothing.
        if call.is_some_and(|call| !lock(&self.waiting).is_open(call)) {
            return;
        }
        let (cancel, own) = (Cancel::new(), Arc::clone(self));
        let mut jobs = lock(&self.jobs);
        let handle = cancel.clone();
        let started = std::thread::Builder::new().name("lua job".to_owned()).spawn(move || {
            let end = own.host.run_job(order, &handle);
            own.end_job(job, end);
        });
        match started {
            Ok(thread) => drop(jobs.insert(job, Job { call, cancel, thread })),
            Err(error) => {
                drop(jobs);
                self.end_job(
                    job,
                    ScriptJobEnd { code: -1, stderr: error.to_string(), ..ScriptJobEnd::default() },
                );
            }
        }
    }

    fn end_job(&self, job: MessageId, end: ScriptJobEnd) {
        lock(&self.jobs).remove(&job);
        // A child that is gone has no use for it.
        self.write(&ToChild::JobEnded { job, end }, GRACE).unwrap_or_default();
    }

    fn end_jobs(&self, is_meant: impl Fn(&Job) -> bool) {
        let jobs: Vec<_> = lock(&self.jobs).extract_if(|_, job| is_meant(job)).collect();
        for (_, job) in &jobs {
            job.cancel.cancel();
        }
        for (_, job) in jobs {
            drop(job.thread.join());
        }
    }

    fn kill(&self, why: &str) {
        lock(&self.waiting).die(why);
        lock(&self.child).kill();
        // The reader may wait for a grandchild that holds the other end.
        shutdown(&*lock(&self.writer), Shutdown::Both).unwrap_or_default();
    }

    fn how_it_ended(&self) -> String {
        lock(&self.child).ending().unwrap_or_else(|| "it closed its end".to_owned())
    }
}

fn answer(host: &dyn ScriptHost, ask: Ask) -> Result<Value, String> {
    match ask {
        Ask::Module(name) => {
            let module = host.module(&name)?;
            Ok(module.map_or(Value::Null, |found| json!({"name": found.name, "text": found.text})))
        }
        Ask::IsPathWritable(path) => Ok(Value::Bool(host.is_path_writable(&path))),
        Ask::WrapCommand(argv) => host.wrap_command(argv).map(Value::from),
        Ask::ReadFile(path) => host.read_file(&path).map(Value::from),
        Ask::WriteFile { path, text } => host.write_file(&path, &text).map(|()| Value::Bool(true)),
    }
}
