//! Finds the calls in a stream of text while it comes.
//!
//! Law: a block is a call only when its fence has closed, and never inside another block.

use std::collections::{BTreeMap, BTreeSet};

use jm_types::fenced_call::OPENING;
use jm_types::text::Fence;
use jm_types::{
    FencedCall, FencedFault, NoCall, StopReason, StreamEvent, ToolCall, parse_fenced_call,
};

#[derive(Default)]
pub(super) struct FencedReader {
    /// The place of the next part of the answer.
    next: usize,
    /// The place in the answer of each part of the stream.
    places: BTreeMap<usize, usize>,
    /// The parts of the stream that are text.
    texts: BTreeSet<usize>,
    text: Text,
    calls: usize,
}

/// The text so far, as far as it is not understood yet.
#[derive(Default)]
struct Text {
    /// The place in the answer of the words that go on.
    place: Option<usize>,
    /// The line that has not ended, if it may be a fence or stands in a call.
    line: String,
    /// Something of the line was passed on already, so it is no fence.
    is_passed: bool,
    open: Option<Block>,
}

struct Block {
    fence: Fence,
    /// The lines of a call; nothing for any other block.
    call: Option<String>,
}

impl FencedReader {
    pub(super) fn event(&mut self, event: StreamEvent) -> Vec<StreamEvent> {
        let mut out = Vec::new();
        match event {
            StreamEvent::Text { index, delta } => {
                self.texts.insert(index);
                delta.split_inclusive('\n').for_each(|piece| self.read(piece, &mut out));
            }
            StreamEvent::Thinking { index, delta } => {
                let index = self.place_of(index);
                out.push(StreamEvent::Thinking { index, delta });
            }
            // What the vendor keeps of a text holds the calls too, which would be said twice.
            StreamEvent::PartSealed { index, .. } if self.texts.contains(&index) => {}
            StreamEvent::PartSealed { index, native } => {
                let index = self.place_of(index);
                out.push(StreamEvent::PartSealed { index, native });
            }
            StreamEvent::Stop { reason } => self.stop(reason, &mut out),
            // A model without tools that calls one all the same is not answered in its own words.
            StreamEvent::CallStarted { .. }
            | StreamEvent::CallArguments { .. }
            | StreamEvent::CallSealed { .. } => {}
            StreamEvent::Usage(_) | StreamEvent::Retrying { .. } => out.push(event),
        }
        out
    }

    /// Reads a piece of one line, with its end if that has come.
    fn read(&mut self, piece: &str, out: &mut Vec<StreamEvent>) {
        let in_call = matches!(&self.text.open, Some(Block { call: Some(_), .. }));
        self.text.line.push_str(piece);
        if piece.ends_with('\n') {
            let line = std::mem::take(&mut self.text.line);
            let is_passed = std::mem::take(&mut self.text.is_passed);
            return self.end_line(&line, is_passed, out);
        }
        if !in_call && (self.text.is_passed || !may_be_fence(&self.text.line)) {
            self.text.is_passed = true;
            let words = std::mem::take(&mut self.text.line);
            self.say(words, out);
        }
    }

    fn end_line(&mut self, line: &str, is_passed: bool, out: &mut Vec<StreamEvent>) {
        let opened = if is_passed { None } else { Fence::opened_by(line) };
        match (&mut self.text.open, opened) {
            (None, Some((fence, word))) => {
                let is_call = fence.is_of_backquotes() && word == OPENING;
                let call = is_call.then(String::new);
                self.text.open = Some(Block { fence, call });
                if !is_call {
                    self.say(line.to_owned(), out);
                }
            }
            (Some(block), _) if !is_passed && block.fence.is_closed_by(line) => {
                match self.text.open.take().and_then(|block| block.call) {
                    Some(call) => self.call(&call, Ended::Yes, out),
                    None => self.say(line.to_owned(), out),
                }
            }
            (Some(Block { call: Some(call), .. }), _) => call.push_str(line),
            (None | Some(Block { call: None, .. }), _) => self.say(line.to_owned(), out),
        }
    }

    fn say(&mut self, delta: String, out: &mut Vec<StreamEvent>) {
        if delta.is_empty() {
            return;
        }
        let index = match self.text.place {
            Some(place) => place,
            None => self.place(),
        };
        self.text.place = Some(index);
        out.push(StreamEvent::Text { index, delta });
    }

    fn call(&mut self, block: &str, ended: Ended, out: &mut Vec<StreamEvent>) {
        let index = self.place();
        self.text.place = None;
        self.calls += 1;
        let ToolCall { id, name, arguments } = parse(block, ended);
        out.push(StreamEvent::CallStarted { index, id, name });
        out.push(StreamEvent::CallArguments { index, fragment: arguments });
        out.push(StreamEvent::CallSealed { index, arguments: None });
    }

    fn stop(&mut self, reason: StopReason, out: &mut Vec<StreamEvent>) {
        let line = std::mem::take(&mut self.text.line);
        if !line.is_empty() {
            // The last line may lack its end; a fence is a fence all the same.
            let is_passed = std::mem::take(&mut self.text.is_passed);
            self.end_line(&line, is_passed, out);
        }
        if let Some(Block { call: Some(call), .. }) = self.text.open.take() {
            self.call(&call, Ended::No, out);
        }
        let reason = match reason {
            StopReason::EndTurn if self.calls > 0 => StopReason::ToolUse,
            other => other,
        };
        out.push(StreamEvent::Stop { reason });
    }

    fn place(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    fn place_of(&mut self, index: usize) -> usize {
        if let Some(place) = self.places.get(&index) {
            return *place;
        }
        let place = self.place();
        self.text.place = None;
        self.places.insert(index, place);
        place
    }
}

/// True for a line that has not ended and may still become a fence.
fn may_be_fence(line: &str) -> bool {
    let bare = line.trim_start();
    bare.is_empty() || bare.starts_with(['`', '~'])
}

/// True once a block's fence has closed.
#[derive(PartialEq, Eq)]
enum Ended {
    Yes,
    No,
}

/// The call that a block is, or what is wrong with it.
fn parse(block: &str, ended: Ended) -> ToolCall {
    let fault = |why: String| NoCall { why, written: block.trim_end().to_owned() };
    if ended == Ended::No {
        let why = "the tool-call block has no closing fence".to_owned();
        return ToolCall::malformed(String::new(), &fault(why));
    }
    let FencedCall { id, name, mut args, meta } = match parse_fenced_call(block) {
        Ok(call) => call,
        Err(FencedFault { id, why, .. }) => {
            return ToolCall::malformed(id.unwrap_or_default(), &fault(why));
        }
    };
    if let (Some(meta), Some(args)) = (meta, args.as_object_mut()) {
        // The set whose protocol this is finds it among the arguments; any other refuses it there.
        args.insert("meta".to_owned(), meta);
    }
    ToolCall::new(id, name, &args)
}
