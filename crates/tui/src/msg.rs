//! Messages that the screen hears, and effects that it wants.
//!
//! Law: both are data. Whoever reads a `Msg` and an `Effect` knows everything that passed between the
//! screen and the rest of the program.

use crate::block::call::End;
use crate::block::{Note, Waiting};
use crate::editor::Completion;
use crate::key::Input;
use crate::panel::question::PanelQuestion;
use crate::status::Status;
use crate::text::Line;

use jm_types::{ApprovalAnswer, ApprovalQuestion};

pub use crate::panel::full::{PickRow, Picking};

#[derive(Debug)]
pub enum Msg {
    Input(Input),
    Size {
        width: usize,
        height: usize,
    },
    /// Time has passed.
    Tick,
    /// A turn begins with these words of the person's.
    TurnBegins {
        prompt: String,
    },
    Text(String),
    Thinking(String),
    /// The model writes a call.
    CallWriting {
        name: String,
    },
    Retrying {
        wait_ms: u64,
        why: String,
    },
    /// The model's message is over.
    ResponseEnds,
    Calls(Vec<NewCall>),
    CallStarted {
        id: String,
    },
    Output {
        id: String,
        chunk: String,
    },
    /// It has run; its result comes with those of its batch.
    CallFinished {
        id: String,
    },
    CallDone {
        id: String,
        end: End,
        diff: Option<String>,
    },
    Approval(Box<ApprovalQuestion>),
    Question(PanelQuestion),
    /// Nobody waits for an answer any more.
    Withdrawn,
    Secret {
        title: String,
    },
    Waiting(Vec<Waiting>),
    TurnEnds(TurnEnd),
    Note(Note),
    /// An answer to a command, such as a list.
    Lines(Vec<Line>),
    Markdown(String),
    Status(Box<Status>),
    Files(Vec<String>),
    History(Vec<String>),
    Pick {
        what: Picking,
        title: String,
        rows: Vec<PickRow>,
    },
    Page {
        title: String,
        lines: Vec<Line>,
    },
    /// Names with what they are, one a line, fitted to the width.
    Rows(Vec<(String, String)>),
    /// The editor was left with this text.
    Edited(String),
    /// The editor could not be used.
    NotEdited,
    /// Puts text into an empty prompt.
    Draft(String),
    /// A picture was attached; this stands for it in the prompt.
    Picture {
        label: String,
    },
    /// Pasted text that is no picture after all.
    Pasted(String),
    /// Words that a command may take, for completion.
    Arguments {
        command: &'static str,
        known: Vec<Completion>,
    },
    Highlighted {
        block: u64,
        index: usize,
        line: Line,
    },
    /// The terminal is ours again, after an editor or a stop.
    Returned,
    Quit,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCall {
    pub id: String,
    pub key: String,
    pub name: String,
    pub arguments: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    Finished,
    Interrupted,
    Waiting,
    Failed(Note),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// These lines are finished: write them once.
    Print(Vec<Line>),
    Submit(String),
    /// A `!command` that the person typed.
    Shell(String),
    Command {
        name: &'static str,
        rest: String,
    },
    Stop,
    Answer(ApprovalAnswer),
    Choose {
        question: u64,
        choice: usize,
    },
    Secret(Option<String>),
    CycleApproval,
    ListFiles,
    ListPrompts,
    Picked {
        what: Picking,
        id: String,
    },
    Remember(String),
    Attach(Attachment),
    Edit(String),
    /// Shows a text in the person's editor; what they make of it is dropped.
    Look(String),
    Suspend,
    Redraw,
    Highlight(Highlight),
    /// The person may be elsewhere: a bell, or a notice where the terminal has them.
    Notify(String),
    Copy(String),
    Quit,
}

/// The place of a picture that goes with the next prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attachment {
    /// Text that was pasted and looks like the path of one.
    Path(String),
    Clipboard,
}

/// Code for the highlighter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Highlight {
    /// Code may come: syntaxes are loaded while the model thinks.
    Load,
    Begin {
        block: u64,
        language: String,
    },
    Line {
        block: u64,
        index: usize,
        text: String,
    },
    End {
        block: u64,
    },
}
