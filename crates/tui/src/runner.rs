//! The loop of the screen's own thread: hear, update, draw. A key is drawn at once; words that
//! stream are gathered for a moment, so that a thousand tokens a second are sixty frames.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::app::{App, update};
use crate::highlight;
use crate::mailbox::Mailbox;
use crate::msg::{Effect, Highlight, Msg};
use crate::terminal::modes;
use crate::terminal::{Continued, RawMode, Reader, Settings, Writer};
use crate::text::Line;
use crate::view::view;

/// Between two frames that no key asked for.
const PACE: Duration = Duration::from_millis(16);

/// How a person who is elsewhere is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// Silence.
    Off,
    /// The terminal's bell.
    Bell,
    /// OSC 9, a notice of the desktop.
    Desktop,
}

/// The settings of a screen.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The colours and abilities of the terminal.
    pub drawing: Settings,
    /// The sign at the end of a long turn.
    pub notice: Notice,
    /// Ask for kitty's keyboard protocol.
    pub keyboard: bool,
}

/// The work that the screen cannot do itself.
pub trait ScreenHost {
    /// Carries out an effect; must not wait.
    fn effect(&mut self, effect: Effect);
    /// Takes the sequence to write to the terminal should this program die, after each change of it.
    fn rescue(&mut self, sequence: &str);
    /// Lets the person edit a text; the terminal is theirs meanwhile.
    fn edit(&mut self, text: &str) -> Option<String>;
    /// Stops the program until the shell continues it.
    fn suspend(&mut self);
}

/// Shows the app until it quits. The terminal is as before afterwards, whatever happens.
pub fn run(
    app: App,
    mailbox: &Arc<Mailbox>,
    out: impl Write,
    options: Options,
    host: &mut dyn ScreenHost,
) -> io::Result<()> {
    host.rescue(&modes::rescue(options.keyboard, false));
    let raw = RawMode::enter()?;
    let writer = Writer::new(out, options.drawing, modes::size());
    let reader = Reader::start(Arc::clone(mailbox))?;
    let colours = highlight::start(Arc::clone(mailbox));
    let mut screen =
        Screen { app, writer, options, raw, reader, colours, finished: Vec::new(), host };
    screen.writer.raw(modes::begin(options.keyboard))?;
    let outcome = screen.run(mailbox);
    let closed = screen.close();
    outcome.and(closed)
}

struct Screen<'a, W: Write> {
    app: App,
    writer: Writer<W>,
    options: Options,
    raw: RawMode,
    reader: Reader,
    colours: Sender<Highlight>,
    /// Lines for the next frame.
    finished: Vec<Line>,
    host: &'a mut dyn ScreenHost,
}

/// The next step of the screen.
#[derive(PartialEq, Eq)]
enum Next {
    Continue,
    Quit,
}

impl<W: Write> Screen<'_, W> {
    fn run(&mut self, mailbox: &Mailbox) -> io::Result<()> {
        let started = Instant::now();
        let mut last_frame: Option<Instant> = None;
        self.draw()?;
        loop {
            let patience = self.app.next_tick().map(Duration::from_millis);
            let mut msgs = mailbox.receive(patience);
            let is_key = msgs.iter().any(|msg| matches!(msg, Msg::Input(_)));
            if let (false, Some(last)) = (is_key || msgs.is_empty(), last_frame) {
                let pause = PACE.saturating_sub(last.elapsed());
                if !pause.is_zero() {
                    gather(mailbox, pause, &mut msgs);
                }
            }
            if msgs.is_empty() {
                msgs.push(Msg::Tick);
            }
            self.app.clock = started.elapsed().as_millis() as u64;
            for msg in msgs {
                if self.take(msg)? == Next::Quit {
                    return self.draw();
                }
            }
            self.draw()?;
            last_frame = Some(Instant::now());
        }
    }

    fn take(&mut self, msg: Msg) -> io::Result<Next> {
        let size = modes::size();
        if size != (self.app.width, self.app.height) {
            self.app.resize(size.0, size.1);
        }
        for effect in update(&mut self.app, msg) {
            match effect {
                Effect::Print(lines) => self.finished.extend(lines),
                // Without its worker code goes without colours.
                Effect::Highlight(job) => self.colours.send(job).unwrap_or_default(),
                Effect::Notify(text) => self.notify(&text)?,
                Effect::Copy(text) => {
                    let encoded = STANDARD.encode(text);
                    self.writer.raw(&format!("\x1b]52;c;{encoded}\x07"))?;
                }
                Effect::Redraw => self.writer.redraw(),
                Effect::Edit(text) => self.edit(&text)?,
                Effect::Look(text) => self.lend(|host| host.edit(&text)).map(drop)?,
                Effect::Suspend => self.suspend()?,
                Effect::Quit => {
                    self.host.effect(Effect::Quit);
                    return Ok(Next::Quit);
                }
                other => self.host.effect(other),
            }
        }
        Ok(Next::Continue)
    }

    fn draw(&mut self) -> io::Result<()> {
        let size = modes::size();
        self.app.resize(size.0, size.1);
        let frame = view(&self.app);
        let was_full = self.writer.is_full();
        let finished = match frame.is_full {
            true => Vec::new(),
            false => std::mem::take(&mut self.finished),
        };
        if frame.is_full != was_full {
            self.host.rescue(&modes::rescue(self.options.keyboard, frame.is_full));
        }
        self.writer.frame(&finished, &frame, size)
    }

    fn notify(&mut self, text: &str) -> io::Result<()> {
        match self.options.notice {
            Notice::Off => Ok(()),
            Notice::Bell => self.writer.raw("\x07"),
            Notice::Desktop => {
                let text = crate::text::Line::text(text).plain();
                self.writer.raw(&format!("\x1b]9;jm: {text}\x07"))
            }
        }
    }

    /// The terminal is somebody else's while `work` runs.
    fn lend<T>(&mut self, work: impl FnOnce(&mut dyn ScreenHost) -> T) -> io::Result<T> {
        self.reader.pause();
        self.writer.clear()?;
        self.writer.raw(&modes::end(self.options.keyboard, false))?;
        self.raw.leave()?;
        let outcome = work(self.host);
        self.raw.enter_again()?;
        self.writer.forget();
        self.writer.raw(modes::begin(self.options.keyboard))?;
        self.reader.resume();
        Ok(outcome)
    }

    fn edit(&mut self, text: &str) -> io::Result<()> {
        let edited = self.lend(|host| host.edit(text))?;
        self.take(edited.map_or(Msg::NotEdited, Msg::Edited)).map(drop)
    }

    fn suspend(&mut self) -> io::Result<()> {
        let continued = Continued::listen()?;
        self.lend(|host| {
            host.suspend();
            continued.wait();
        })
    }

    fn close(&mut self) -> io::Result<()> {
        self.writer.clear()?;
        self.writer.raw(&modes::end(self.options.keyboard, false))?;
        self.raw.leave()?;
        self.host.rescue("");
        Ok(())
    }
}

impl<W: Write> Drop for Screen<'_, W> {
    /// After a panic too; what was closed already is closed twice, which changes nothing.
    fn drop(&mut self) {
        if std::thread::panicking() {
            let sequence = modes::rescue(self.options.keyboard, self.writer.is_full());
            self.writer.raw(&sequence).unwrap_or_default();
        }
    }
}

/// Gathers the messages that come within a moment, unless one is a key.
fn gather(mailbox: &Mailbox, moment: Duration, msgs: &mut Vec<Msg>) {
    let until = Instant::now() + moment;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        let more = mailbox.receive(Some(left));
        let is_key = more.iter().any(|msg| matches!(msg, Msg::Input(_)));
        // Keys first, as everywhere.
        match is_key {
            true => {
                msgs.splice(0..0, more);
                return;
            }
            false => msgs.extend(more),
        }
    }
}
