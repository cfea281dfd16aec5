//! Markdown as it comes: what is finished is given out at once, the rest waits.
//!
//! Law: whatever the pieces, what is given out in the end is the same, and a line is given out once.
//! The rest that waits is bounded, so a paragraph without end costs no more than one with.

use jm_types::text::Fence;
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

use super::render::{options, render};
use crate::text::{Line, Role};

/// More than this is not held back for the sake of its layout.
const MOST_PENDING: usize = 64 * 1024;
/// So much of what waits is looked at to draw its end.
const MOST_LIVE: usize = 8 * 1024;

/// A finished part of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Lines that will not change any more.
    Lines(Vec<Line>),
    /// A block of code begins; its lines follow one by one, to be highlighted elsewhere.
    CodeBegins {
        /// The number of the block.
        block: u64,
        /// The word behind the fence.
        language: String,
    },
    /// A line of code.
    CodeLine {
        /// The number of the block.
        block: u64,
        /// The line without its end.
        text: String,
    },
    /// The closing fence came.
    CodeEnds {
        /// The number of the block.
        block: u64,
    },
}

/// Markdown that comes in pieces, rendered as soon as it cannot change.
#[derive(Debug, Default)]
pub struct Stream {
    pending: String,
    /// Up to here `pending` was looked at and nothing was finished.
    fence: Option<(Fence, u64)>,
    blocks: u64,
    last: Last,
}

/// The last block that was given out.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Last {
    #[default]
    Nothing,
    ListItems,
    Other,
}

/// A block of the topmost level.
struct Block {
    start: usize,
    end: usize,
    kind: Kind,
    /// The offsets at which the items of a list begin.
    items: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Paragraph,
    /// Ends with its line.
    OneLine,
    Fenced,
    List,
    Other,
}

impl Stream {
    /// Takes the next piece, and gives what is settled by it.
    pub fn push(&mut self, delta: &str, width: usize) -> Vec<Piece> {
        self.pending.push_str(delta);
        let mut pieces = Vec::new();
        if delta.contains('\n') {
            while self.advance(width, &mut pieces) {}
        }
        if self.pending.len() > MOST_PENDING {
            let text = std::mem::take(&mut self.pending);
            match self.fence {
                Some((_, block)) => pieces.push(Piece::CodeLine { block, text }),
                None => self.give(&text, Last::Other, width, &mut pieces),
            }
        }
        pieces
    }

    /// The text is over.
    pub fn finish(&mut self, width: usize) -> Vec<Piece> {
        let mut pieces = Vec::new();
        if !self.pending.is_empty() && !self.pending.ends_with('\n') {
            self.pending.push('\n');
        }
        while self.advance(width, &mut pieces) {}
        let rest = std::mem::take(&mut self.pending);
        if let Some((_, block)) = self.fence.take() {
            pieces.push(Piece::CodeEnds { block });
        } else if !rest.trim().is_empty() {
            self.give(&rest, Last::Other, width, &mut pieces);
        }
        self.last = Last::Nothing;
        pieces
    }

    /// Tells if nothing waits to be settled.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.fence.is_none()
    }

    /// The end of what is not finished, as it looks so far.
    pub fn live(&self, width: usize) -> Vec<Line> {
        let mut from = self.pending.len().saturating_sub(MOST_LIVE);
        while !self.pending.is_char_boundary(from) {
            from += 1;
        }
        let text = &self.pending[from..];
        match self.fence {
            Some(_) if text.is_empty() => Vec::new(),
            Some(_) => text.lines().map(|line| Line::of(line, Role::Code)).collect(),
            None => render(text, width),
        }
    }

    /// Gives out the next finished part; whether there was one.
    fn advance(&mut self, width: usize, pieces: &mut Vec<Piece>) -> bool {
        if let Some((fence, block)) = self.fence {
            return self.advance_code(fence, block, pieces);
        }
        let Some(last) = self.pending.rfind('\n') else { return false };
        let blocks = top_level(&self.pending[..=last]);
        let Some(open) = blocks.last() else {
            // Blank lines only.
            self.pending.drain(..=last);
            return false;
        };
        // Code goes line by line, so what stands before it goes first.
        let code = blocks.iter().position(|block| block.kind == Kind::Fenced);
        let given = code.unwrap_or(blocks.len() - 1);
        if given > 0 {
            let is_list = given == 1 && blocks[0].kind == Kind::List;
            let now = if is_list { Last::ListItems } else { Last::Other };
            return self.give_up_to(blocks[given].start, now, width, pieces);
        }
        match blocks[0].kind {
            Kind::Fenced => self.begin_code(blocks[0].start, pieces),
            Kind::OneLine => self.give_up_to(open.end, Last::Other, width, pieces),
            Kind::Paragraph if self.pending[..=last].ends_with("\n\n") => {
                self.give_up_to(last + 1, Last::Other, width, pieces)
            }
            Kind::List if open.items.len() > 1 => {
                let end = open.items[open.items.len() - 1];
                self.give_up_to(end, Last::ListItems, width, pieces)
            }
            Kind::Paragraph | Kind::List | Kind::Other => false,
        }
    }

    fn give_up_to(&mut self, end: usize, as_: Last, width: usize, out: &mut Vec<Piece>) -> bool {
        let text: String = self.pending.drain(..end).collect();
        self.give(&text, as_, width, out);
        true
    }

    fn give(&mut self, text: &str, now: Last, width: usize, pieces: &mut Vec<Piece>) {
        let mut lines = render(text, width);
        if lines.is_empty() {
            return;
        }
        let is_list = starts_with_item(text);
        let goes_on = self.last == Last::ListItems && is_list;
        if self.last != Last::Nothing && !goes_on {
            lines.insert(0, Line::new());
        }
        self.last = now;
        pieces.push(Piece::Lines(lines));
    }

    fn begin_code(&mut self, start: usize, pieces: &mut Vec<Piece>) -> bool {
        let Some(end) = self.pending[start..].find('\n').map(|at| start + at) else { return false };
        let line = self.pending[start..end].to_owned();
        let Some((fence, language)) = Fence::opened_by(&line) else { return false };
        self.blocks += 1;
        let block = self.blocks;
        if self.last != Last::Nothing {
            pieces.push(Piece::Lines(vec![Line::new()]));
        }
        self.last = Last::Other;
        pieces.push(Piece::CodeBegins { block, language: language.to_owned() });
        self.fence = Some((fence, block));
        self.pending.drain(..=end);
        true
    }

    fn advance_code(&mut self, fence: Fence, block: u64, pieces: &mut Vec<Piece>) -> bool {
        let Some(end) = self.pending.find('\n') else { return false };
        let line: String = self.pending.drain(..=end).collect();
        let line = line.trim_end_matches(['\n', '\r']);
        if fence.is_closed_by(line) {
            self.fence = None;
            pieces.push(Piece::CodeEnds { block });
        } else {
            pieces.push(Piece::CodeLine { block, text: line.to_owned() });
        }
        true
    }
}

fn starts_with_item(text: &str) -> bool {
    top_level(text).first().is_some_and(|block| block.kind == Kind::List)
}

fn top_level(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut depth = 0usize;
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if depth == 0 {
                    let kind = kind(&tag, &text[range.clone()]);
                    blocks.push(Block { start: range.start, end: range.end, kind, items: vec![] });
                } else if depth == 1
                    && tag == Tag::Item
                    && let Some(list) = blocks.last_mut()
                {
                    list.items.push(range.start);
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Rule if depth == 0 => {
                let (start, end) = (range.start, range.end);
                blocks.push(Block { start, end, kind: Kind::OneLine, items: vec![] });
            }
            _ => {}
        }
    }
    blocks
}

fn kind(tag: &Tag<'_>, text: &str) -> Kind {
    match tag {
        Tag::Paragraph => Kind::Paragraph,
        Tag::Heading { .. } if text.trim_start().starts_with('#') => Kind::OneLine,
        Tag::CodeBlock(CodeBlockKind::Fenced(_)) => Kind::Fenced,
        Tag::List(_) => Kind::List,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests;
