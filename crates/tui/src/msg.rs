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

/// A message to the screen.
#[derive(Debug)]
pub enum Msg {
    /// A key or a paste.
    Input(Input),
    /// The terminal has another size.
    Size {
        /// Columns.
        width: usize,
        /// Rows.
        height: usize,
    },
    /// Time has passed.
    Tick,
    /// A turn begins with these words of the person's.
    TurnBegins {
        /// The person's words.
        prompt: String,
    },
    /// Words of the model.
    Text(String),
    /// Thoughts of the model.
    Thinking(String),
    /// The model writes a call.
    CallWriting {
        /// The tool's name.
        name: String,
    },
    /// The request is sent again after a while.
    Retrying {
        /// Milliseconds.
        wait_ms: u64,
        /// The failure in one sentence.
        why: String,
    },
    /// The model's message is over.
    ResponseEnds,
    /// The calls of a message, whole.
    Calls(Vec<NewCall>),
    /// A call begins to run.
    CallStarted {
        /// The vendor's id of the call.
        id: String,
    },
    /// A command printed something.
    Output {
        /// The vendor's id of the call.
        id: String,
        /// Whole characters, not sanitised.
        chunk: String,
    },
    /// It has run; its result comes with those of its batch.
    CallFinished {
        /// The vendor's id of the call.
        id: String,
    },
    /// A call has its result.
    CallDone {
        /// The vendor's id of the call.
        id: String,
        /// Outcome and duration.
        end: End,
        /// The change that it made.
        diff: Option<String>,
    },
    /// A person has to decide about calls.
    Approval(Box<ApprovalQuestion>),
    /// A person has to choose.
    Question(PanelQuestion),
    /// Nobody waits for an answer any more.
    Withdrawn,
    /// A key has to be typed, unseen.
    Secret {
        /// The name of what is asked for.
        title: String,
    },
    /// Calls whose results come from outside.
    Waiting(Vec<Waiting>),
    /// The turn is over.
    TurnEnds(TurnEnd),
    /// A line beside the conversation.
    Note(Note),
    /// An answer to a command, such as a list.
    Lines(Vec<Line>),
    /// A text of ours in Markdown.
    Markdown(String),
    /// Other facts for the status line.
    Status(Box<Status>),
    /// Files for completion.
    Files(Vec<String>),
    /// Prompts of earlier sessions.
    History(Vec<String>),
    /// A list to choose from.
    Pick {
        /// The purpose of the choice.
        what: Picking,
        /// The heading.
        title: String,
        /// The rows, the first selected.
        rows: Vec<PickRow>,
    },
    /// A text on the whole screen.
    Page {
        /// The heading.
        title: String,
        /// The text.
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
        /// The words in the place of the picture.
        label: String,
    },
    /// Pasted text that is no picture after all.
    Pasted(String),
    /// Words that a command may take, for completion.
    Arguments {
        /// The command that takes them.
        command: &'static str,
        /// The words on offer.
        known: Vec<Completion>,
    },
    /// A line of code has its colours.
    Highlighted {
        /// The number of the block.
        block: u64,
        /// The line in it.
        index: usize,
        /// The line in colours.
        line: Line,
    },
    /// The terminal is ours again, after an editor or a stop.
    Returned,
    /// The screen ends.
    Quit,
}

/// A call as it is shown first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCall {
    /// The vendor's id.
    pub id: String,
    /// The journal's key.
    pub key: String,
    /// The tool's name.
    pub name: String,
    /// JSON text.
    pub arguments: String,
}

/// The end of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    /// The model has said everything.
    Finished,
    /// The person stopped it.
    Interrupted,
    /// Results have to come from outside.
    Waiting,
    /// There is no whole answer.
    Failed(Note),
}

/// An order of the screen to the program.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// These lines are finished: write them once.
    Print(Vec<Line>),
    /// A prompt.
    Submit(String),
    /// A `!command` that the person typed.
    Shell(String),
    /// A command with a slash.
    Command {
        /// The word of the list.
        name: &'static str,
        /// The text behind it.
        rest: String,
    },
    /// Stops the turn.
    Stop,
    /// The answer about calls.
    Answer(ApprovalAnswer),
    /// The answer to a question.
    Choose {
        /// The question's number.
        question: u64,
        /// The place of the choice.
        choice: usize,
    },
    /// The typed key; `None` for no answer.
    Secret(Option<String>),
    /// The next approval mode.
    CycleApproval,
    /// Asks for the files of the workspace.
    ListFiles,
    /// Asks for the prompts of this session.
    ListPrompts,
    /// The answer of a list.
    Picked {
        /// The purpose of the choice.
        what: Picking,
        /// The row's id.
        id: String,
    },
    /// Stores a prompt for later sessions.
    Remember(String),
    /// Adds a picture or file to the prompt.
    Attach(Attachment),
    /// Opens the text in the person's editor.
    Edit(String),
    /// Shows a text in the person's editor; what they make of it is dropped.
    Look(String),
    /// Stops the program until the shell brings it back.
    Suspend,
    /// Draws everything anew.
    Redraw,
    /// Work for the colours of code.
    Highlight(Highlight),
    /// The person may be elsewhere: a bell, or a notice where the terminal has them.
    Notify(String),
    /// Puts a text into the clipboard.
    Copy(String),
    /// Ends the program.
    Quit,
}

/// The place of a picture that goes with the next prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attachment {
    /// Text that was pasted and looks like the path of one.
    Path(String),
    /// The picture in the clipboard.
    Clipboard,
}

/// Code for the highlighter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Highlight {
    /// Code may come: syntaxes are loaded while the model thinks.
    Load,
    /// A block of code begins.
    Begin {
        /// The number of the block.
        block: u64,
        /// The word behind the fence.
        language: String,
    },
    /// A line of it.
    Line {
        /// The number of the block.
        block: u64,
        /// The line in it.
        index: usize,
        /// The line without its end.
        text: String,
    },
    /// The block is whole.
    End {
        /// The number of the block.
        block: u64,
    },
}
