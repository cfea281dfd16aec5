//! Work that may block, on a thread of its own.
//!
//! Law: a disk that hangs can hang nothing but the call that asked it. A short job costs little
//! more than itself: both sides look for each other for a moment before they go to sleep, because
//! waking a sleeping thread takes longer than reading a file. Where no thread is to be had, the job is
//! done by whoever asks.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

/// The time that either side spins before it sleeps.
const LOOK: Duration = Duration::from_micros(60);
/// The time that a thread without work stays.
const IDLE: Duration = Duration::from_secs(10);

type WorkerJob = Box<dyn FnOnce() + Send>;

/// The threads that wait for work; the one that worked last comes first.
static IDLE_WORKERS: Mutex<Vec<IdleWorker>> = Mutex::new(Vec::new());

struct IdleWorker {
    number: u64,
    jobs: Sender<WorkerJob>,
}

/// Runs `work` on another thread. A panic in it is the error.
pub async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Box<dyn Any + Send>> {
    let (tell, mut told) = oneshot::channel();
    submit(Box::new(move || {
        let outcome = catch_unwind(AssertUnwindSafe(work));
        // The caller may have given up, and then the answer is not needed.
        drop(tell.send(outcome));
    }));
    let until = Instant::now() + look();
    while Instant::now() < until {
        match told.try_recv() {
            Ok(outcome) => return outcome,
            Err(oneshot::error::TryRecvError::Empty) => std::hint::spin_loop(),
            Err(gone) => return Err(Box::new(gone)),
        }
    }
    told.await.unwrap_or_else(|gone| Err(Box::new(gone)))
}

/// On a single core, looking only keeps the other side from working.
fn look() -> Duration {
    static LOOK_FOR: OnceLock<Duration> = OnceLock::new();
    *LOOK_FOR.get_or_init(|| match std::thread::available_parallelism() {
        Ok(cores) if cores.get() > 1 => LOOK,
        _ => Duration::ZERO,
    })
}

fn submit(mut job: WorkerJob) {
    loop {
        let Some(worker) = idle().pop() else { break };
        match worker.jobs.send(job) {
            Ok(()) => return,
            // It left in this very moment; the job comes back.
            Err(returned) => job = returned.0,
        }
    }
    let first = Arc::new(Mutex::new(Some(job)));
    let theirs = Arc::clone(&first);
    let worker = std::thread::Builder::new().name("jm-work".to_owned());
    let started = worker.spawn(move || taken(&theirs).into_iter().for_each(serve));
    if started.is_err() {
        taken(&first).into_iter().for_each(|job| job());
    }
}

fn taken(first: &Mutex<Option<WorkerJob>>) -> Option<WorkerJob> {
    first.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// A worker's life: a job, then a look for the next one, then sleep, then the end.
fn serve(first: WorkerJob) {
    static NUMBERS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let number = NUMBERS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let (sender, jobs) = channel();
    let mut job = first;
    loop {
        idle_after(job, number, &sender);
        match next(&jobs) {
            Some(found) => job = found,
            None => match leave(number, &jobs) {
                Some(found) => job = found,
                None => return,
            },
        }
    }
}

fn idle_after(job: WorkerJob, number: u64, sender: &Sender<WorkerJob>) {
    job();
    idle().push(IdleWorker { number, jobs: sender.clone() });
}

fn next(jobs: &Receiver<WorkerJob>) -> Option<WorkerJob> {
    let until = Instant::now() + look();
    while Instant::now() < until {
        match jobs.try_recv() {
            Ok(job) => return Some(job),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => std::hint::spin_loop(),
        }
    }
    jobs.recv_timeout(IDLE).ok()
}

/// Takes itself off the list. If another thread was faster, a job is on its way.
fn leave(number: u64, jobs: &Receiver<WorkerJob>) -> Option<WorkerJob> {
    let mut workers = idle();
    match workers.iter().position(|worker| worker.number == number) {
        Some(place) => {
            workers.remove(place);
            None
        }
        None => {
            drop(workers);
            jobs.recv().ok()
        }
    }
}

fn idle() -> MutexGuard<'static, Vec<IdleWorker>> {
    IDLE_WORKERS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops where it fails")]
mod tests {
    use super::*;

    fn run<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
    }

    #[test]
    fn the_answer_comes_back() {
        assert_eq!(run(off_thread(|| 6 * 7)).unwrap(), 42);
    }

    #[test]
    fn a_panic_is_an_error_and_the_thread_goes_on() {
        run(async {
            for _ in 0..3 {
                let failed = off_thread(|| panic!("no")).await;
                let payload: Result<(), _> = failed;
                assert_eq!(payload.unwrap_err().downcast_ref::<&str>(), Some(&"no"));
                assert!(off_thread(|| true).await.unwrap());
            }
        });
    }

    #[test]
    fn one_that_hangs_holds_nobody_up() {
        let (release, held) = channel::<()>();
        run(async {
            let stuck = off_thread(move || held.recv().is_err());
            let given_up = tokio::time::timeout(Duration::from_millis(20), stuck).await;
            assert!(given_up.is_err());
            assert_eq!(off_thread(|| 1).await.unwrap(), 1);
        });
        drop(release);
    }

    #[test]
    fn many_at_once_all_answer() {
        let answers: Vec<usize> = run(async {
            let jobs = (0..64usize).map(|n| tokio::spawn(off_thread(move || n)));
            let mut answers = Vec::new();
            for job in jobs.collect::<Vec<_>>() {
                answers.push(job.await.unwrap().unwrap());
            }
            answers
        });
        assert_eq!(answers, (0..64).collect::<Vec<_>>());
    }
}
