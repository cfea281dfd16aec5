//! The reader of keys, on a thread of its own. It can be made to stop reading, for an editor or a
//! stop of the program, and it costs nothing while nobody types.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crossterm::event;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::stdio::stdin;
use signal_hook::consts::{SIGCONT, SIGWINCH};

use crate::key::Input;
use crate::mailbox::Mailbox;
use crate::msg::Msg;

/// The least that crossterm looks at its input for; with nothing at all it does not look.
const MOMENT: Duration = Duration::from_millis(1);

const NOT_STOPPED: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// The thread that reads the terminal.
#[derive(Debug)]
pub struct Reader {
    state: Arc<State>,
    wake: OwnedFd,
}

#[derive(Debug, Default)]
struct State {
    is_paused: Mutex<bool>,
    resumed: Condvar,
}

impl State {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_paused.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reader {
    /// Starts the thread, which puts everything into the mailbox.
    pub fn start(mailbox: Arc<Mailbox>) -> io::Result<Self> {
        let (woken, wake) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let signals: OwnedFd = wake.try_clone()?;
        signal_hook::low_level::pipe::register(SIGWINCH, signals)?;
        let state = Arc::new(State::default());
        let own = Arc::clone(&state);
        std::thread::Builder::new()
            .name("keys".into())
            .spawn(move || read(&own, &woken, &mailbox))?;
        Ok(Self { state, wake })
    }

    /// Returns when the terminal is no longer read.
    pub fn pause(&self) {
        *self.state.lock() = true;
        rustix::io::write(&self.wake, b"p").unwrap_or_default();
    }

    /// Lets the thread read on after another program had the terminal.
    pub fn resume(&self) {
        *self.state.lock() = false;
        self.state.resumed.notify_all();
    }
}

/// The signal that ends a stop (SIGCONT), heard from here on.
#[derive(Debug)]
pub struct Continued(OwnedFd);

impl Continued {
    /// Listens for SIGCONT.
    pub fn listen() -> io::Result<Self> {
        let (heard, signals) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        signal_hook::low_level::pipe::register(SIGCONT, signals)?;
        Ok(Self(heard))
    }

    /// Another thread may be the one that is stopped first, so whoever sent the stop waits here until
    /// it is over; where nobody could be stopped, not for long.
    pub fn wait(&self) {
        let mut sources = [PollFd::from_borrowed_fd(self.0.as_fd(), PollFlags::IN)];
        retry_on_intr(|| poll(&mut sources, Some(&NOT_STOPPED))).map(drop).unwrap_or_default();
        rustix::io::read(&self.0, &mut [0u8; 64]).map(drop).unwrap_or_default();
    }
}

/// Until the terminal is gone.
fn read(state: &State, woken: &OwnedFd, mailbox: &Mailbox) {
    let mut scratch = [0; 64];
    loop {
        let mut is_paused = state.lock();
        while *is_paused {
            is_paused = state.resumed.wait(is_paused).unwrap_or_else(PoisonError::into_inner);
        }
        drop(is_paused);
        let input = stdin();
        let mut sources = [
            PollFd::new(&input, PollFlags::IN),
            PollFd::from_borrowed_fd(woken.as_fd(), PollFlags::IN),
        ];
        if retry_on_intr(|| poll(&mut sources, None)).is_err() {
            return mailbox.send(Msg::Quit);
        }
        let (keys, woke) = (sources[0].revents(), sources[1].revents());
        if !woke.is_empty() {
            rustix::io::read(woken, &mut scratch).unwrap_or_default();
            // A new size, or a pause.
            mailbox.send(Msg::Tick);
        }
        let is_paused = state.lock();
        if *is_paused || keys.is_empty() {
            continue;
        }
        if !take_all(mailbox) || keys.contains(PollFlags::HUP) {
            return mailbox.send(Msg::Quit);
        }
    }
}

/// Everything that is there; whether there is a terminal still.
fn take_all(mailbox: &Mailbox) -> bool {
    loop {
        match event::poll(MOMENT) {
            Ok(true) => {}
            Ok(false) => return true,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return false,
        }
        match event::read() {
            Ok(event) => Input::of(event).into_iter().for_each(|input| mailbox.input(input)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
}
