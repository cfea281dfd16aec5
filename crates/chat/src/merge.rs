//! A three-way merge by block: what the program wants to write, into what a person wrote meanwhile.
//!
//! Law: nothing that either side wrote is lost. Where both changed one block, nothing is merged, and the
//! block is named.

use std::collections::HashMap;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::block::{BlockKind, ChatRole};
use crate::document::ChatDocument;
use crate::span::ByteRange;

/// A block that both sides changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {block} was edited meanwhile")]
pub struct MergeConflict {
    /// The line in the edited document, from 1.
    pub line: usize,
    /// The block in words, for the message.
    pub block: String,
}

/// Merges `ours` into `theirs`, both made from `base`.
pub fn merge(
    base: &ChatDocument,
    theirs: &ChatDocument,
    ours: &ChatDocument,
) -> Result<ChatDocument, MergeConflict> {
    if theirs.bytes() == base.bytes() {
        return Ok(ChatDocument::parse(ours.bytes()));
    }
    if ours.bytes() == base.bytes() {
        return Ok(ChatDocument::parse(theirs.bytes()));
    }
    let sides =
        Sides { base: Pieces::of(base), theirs: Pieces::of(theirs), ours: Pieces::of(ours) };
    let merged = sides.merge()?;
    let mut bytes = merged.lead.clone();
    for piece in &merged.pieces {
        bytes.extend_from_slice(piece.bytes);
        bytes.extend_from_slice(piece.gap);
    }
    let document = ChatDocument::parse(bytes);
    // A code block that one side left open may swallow what the other added.
    let found = Pieces::of(&document);
    let is_same = found.pieces.len() == merged.pieces.len()
        && found.pieces.iter().zip(&merged.pieces).all(|(found, piece)| found.same(piece));
    match is_same {
        true => Ok(document),
        false => {
            let differs =
                found.pieces.iter().zip(&merged.pieces).find(|(found, piece)| !found.same(piece));
            let piece = differs.map_or(found.pieces.last(), |(found, _)| Some(found));
            Err(conflict(piece))
        }
    }
}

/// A marker or block, with the blank lines behind it.
#[derive(Debug, Clone, Copy)]
struct Piece<'a> {
    bytes: &'a [u8],
    gap: &'a [u8],
    kind: PieceKind<'a>,
    line: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum PieceKind<'a> {
    FrontMatter,
    Preamble,
    Marker(ChatRole),
    Text(ChatRole),
    ToolUse(&'a [u8]),
    ToolResult(&'a [u8]),
    Thinking,
    Aborted,
    Malformed,
}

impl Piece<'_> {
    fn same(&self, other: &Piece<'_>) -> bool {
        self.kind == other.kind && self.bytes == other.bytes
    }
}

/// A document, cut into pieces that make up all of its bytes.
#[derive(Debug)]
struct Pieces<'a> {
    lead: &'a [u8],
    pieces: Vec<Piece<'a>>,
}

impl<'a> Pieces<'a> {
    fn of(document: &'a ChatDocument) -> Self {
        let bytes = document.bytes();
        let mut spans: Vec<(ByteRange, PieceKind<'a>, usize)> = Vec::new();
        spans.extend(document.front_matter().map(|front| (front.span, PieceKind::FrontMatter, 1)));
        spans.extend(document.preamble().map(|span| (span, PieceKind::Preamble, 1)));
        for section in document.sections() {
            spans.push((section.marker, PieceKind::Marker(section.role), section.line));
            for block in &section.blocks {
                let kind = match &block.kind {
                    BlockKind::Text => PieceKind::Text(section.role),
                    BlockKind::ToolUse(call) => PieceKind::ToolUse(call.id.of(bytes)),
                    BlockKind::ToolResult(result) => PieceKind::ToolResult(result.id.of(bytes)),
                    BlockKind::Thinking(_) => PieceKind::Thinking,
                    BlockKind::Aborted(_) => PieceKind::Aborted,
                    BlockKind::Malformed => PieceKind::Malformed,
                };
                spans.push((block.span, kind, block.line));
            }
        }
        let ends = spans.iter().skip(1).map(|(span, ..)| span.start).chain([bytes.len()]);
        let piece =
            |((span, kind, line), next): (&(ByteRange, PieceKind<'a>, usize), usize)| Piece {
                bytes: span.of(bytes),
                gap: ByteRange::new(span.end, next).of(bytes),
                kind: *kind,
                line: *line,
            };
        let pieces = spans.iter().zip(ends).map(piece).collect();
        let lead = spans.first().map_or(bytes, |(span, ..)| &bytes[..span.start]);
        Self { lead, pieces }
    }
}

struct Sides<'a> {
    base: Pieces<'a>,
    theirs: Pieces<'a>,
    ours: Pieces<'a>,
}

struct MergedPieces<'a> {
    lead: Vec<u8>,
    pieces: Vec<Piece<'a>>,
}

impl<'a> Sides<'a> {
    fn merge(&self) -> Result<MergedPieces<'a>, MergeConflict> {
        let mut names = Names::default();
        let base = names.of(&self.base);
        let in_theirs = matches(&base, &names.of(&self.theirs));
        let in_ours = matches(&base, &names.of(&self.ours));
        let lead = three_way(self.base.lead, self.theirs.lead, self.ours.lead).to_vec();
        let mut merged = MergedPieces { lead, pieces: Vec::new() };
        let (mut b, mut t, mut o) = (0, 0, 0);
        for (at, pair) in in_theirs.iter().zip(&in_ours).enumerate() {
            let (Some(their), Some(our)) = pair else { continue };
            self.region((b, at), (t, *their), (o, *our), &mut merged)?;
            let piece = |side: &Pieces<'a>, at: usize| side.pieces[at];
            let (base, theirs, ours) =
                (piece(&self.base, at), piece(&self.theirs, *their), piece(&self.ours, *our));
            let gap = three_way(base.gap, theirs.gap, ours.gap);
            merged.pieces.push(Piece { gap, ..theirs });
            (b, t, o) = (at + 1, their + 1, our + 1);
        }
        let ends = (self.base.pieces.len(), self.theirs.pieces.len(), self.ours.pieces.len());
        self.region((b, ends.0), (t, ends.1), (o, ends.2), &mut merged)?;
        Ok(merged)
    }

    /// The pieces between two that all three have.
    fn region(
        &self,
        base: (usize, usize),
        theirs: (usize, usize),
        ours: (usize, usize),
        merged: &mut MergedPieces<'a>,
    ) -> Result<(), MergeConflict> {
        let base = &self.base.pieces[base.0..base.1];
        let theirs = &self.theirs.pieces[theirs.0..theirs.1];
        let ours = &self.ours.pieces[ours.0..ours.1];
        if is_same(theirs, base) {
            merged.pieces.extend(ours);
        } else if is_same(ours, base) || is_same(ours, theirs) {
            merged.pieces.extend(theirs);
        } else if let Some(pieces) = paired(base, theirs, ours).or(joined(base, theirs, ours)) {
            merged.pieces.extend(pieces);
        } else {
            let changed = theirs.iter().zip(base).find(|(their, base)| !their.same(base));
            let piece = changed.map(|(their, _)| their).or(theirs.last()).copied();
            // Where they removed a block, it is named, at the place where it was.
            let line = merged.pieces.last().map_or(1, |last| last.line);
            let removed = base.first().map(|base| Piece { line, ..*base });
            return Err(conflict(piece.or(removed).as_ref()));
        }
        Ok(())
    }
}

/// Both sides still have every piece, and no piece was changed by both; one side may have added some.
fn paired<'a>(
    base: &[Piece<'a>],
    theirs: &[Piece<'a>],
    ours: &[Piece<'a>],
) -> Option<Vec<Piece<'a>>> {
    let (their_own, our_own) = (theirs.get(..base.len())?, ours.get(..base.len())?);
    let mut pieces = Vec::new();
    for ((base, their), our) in base.iter().zip(their_own).zip(our_own) {
        if their.kind != base.kind || our.kind != base.kind {
            return None;
        }
        let gap = three_way(base.gap, their.gap, our.gap);
        let piece = match (their.same(base), our.same(base)) {
            (true, _) => our,
            (false, true) => their,
            (false, false) if their.same(our) => their,
            (false, false) => return None,
        };
        pieces.push(Piece { gap, ..*piece });
    }
    match (&theirs[base.len()..], &ours[base.len()..]) {
        ([], added) | (added, []) => pieces.extend(added),
        (their, our) if is_same(their, our) => pieces.extend(their),
        (_, _) => return None,
    }
    Some(pieces)
}

/// One side changed what was there, the other only added something behind it.
fn joined<'a>(
    base: &[Piece<'a>],
    theirs: &[Piece<'a>],
    ours: &[Piece<'a>],
) -> Option<Vec<Piece<'a>>> {
    let extends =
        |side: &[Piece<'a>]| side.len() > base.len() && is_same(&side[..base.len()], base);
    if base.is_empty() {
        return None;
    }
    let (changed, added) = match (extends(theirs), extends(ours)) {
        (false, true) => (theirs, ours),
        (true, false) => (ours, theirs),
        (true, true) | (false, false) => return None,
    };
    let mut pieces = changed.to_vec();
    if let Some(last) = pieces.last_mut() {
        last.gap = added[base.len() - 1].gap;
    }
    pieces.extend(&added[base.len()..]);
    Some(pieces)
}

fn is_same(one: &[Piece<'_>], other: &[Piece<'_>]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.same(other))
}

/// Blank lines: where both sides changed them, ours separate what we added.
fn three_way<'a>(base: &'a [u8], theirs: &'a [u8], ours: &'a [u8]) -> &'a [u8] {
    if ours == base { theirs } else { ours }
}

/// A number for each different piece.
#[derive(Default)]
struct Names<'a>(HashMap<(PieceKind<'a>, &'a [u8]), usize>);

impl<'a> Names<'a> {
    fn of(&mut self, side: &Pieces<'a>) -> Vec<usize> {
        let name = |piece: &Piece<'a>| {
            let next = self.0.len();
            *self.0.entry((piece.kind, piece.bytes)).or_insert(next)
        };
        side.pieces.iter().map(name).collect()
    }
}

/// For each piece of `base`, the piece of the side that it is.
fn matches(base: &[usize], side: &[usize]) -> Vec<Option<usize>> {
    let mut found = vec![None; base.len()];
    for op in capture_diff_slices(Algorithm::Myers, base, side) {
        if let DiffOp::Equal { old_index, new_index, len } = op {
            for at in 0..len {
                found[old_index + at] = Some(new_index + at);
            }
        }
    }
    found
}

fn conflict(piece: Option<&Piece<'_>>) -> MergeConflict {
    let Some(piece) = piece else {
        return MergeConflict { line: 1, block: "the document".to_owned() };
    };
    let quoted = |id: &[u8]| String::from_utf8_lossy(id).into_owned();
    let block = match piece.kind {
        PieceKind::FrontMatter => "the front matter".to_owned(),
        PieceKind::Preamble => "the text before the first role".to_owned(),
        PieceKind::Marker(role) => format!("the section {}", role.marker()),
        PieceKind::Text(role) => format!("the text of {}", role.marker()),
        PieceKind::ToolUse(id) => format!("the tool use `{}`", quoted(id)),
        PieceKind::ToolResult(id) => format!("the tool result `{}`", quoted(id)),
        PieceKind::Thinking => "the thinking block".to_owned(),
        PieceKind::Aborted => "the mark of the interruption".to_owned(),
        PieceKind::Malformed => "the malformed tool block".to_owned(),
    };
    MergeConflict { line: piece.line, block }
}
