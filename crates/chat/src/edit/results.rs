//! Placeholders and results: inserted beside their call, changed in their place.

use super::ByteSplice;
use crate::block::{ChatRole, ResultState, RoleSection, ToolResultBlock};
use crate::document::ChatDocument;
use crate::edit_error::EditError;
use crate::link::{BlockPlace, CallLink};
use crate::recognize::value_of;
use crate::span::{ByteRange, TextLine, is_blank};
use crate::status::{PlaceholderForm, ToolStatus};
use crate::tool_results::NewResult;
use crate::write::Writer;

/// A block to be inserted for a call.
struct NewBlock {
    link: CallLink,
    text: String,
}

impl ChatDocument {
    /// Inserts a placeholder for each call, in the order of the calls, into the `@You:` behind them, which is
    /// created when it is missing. A call that has a result or placeholder already is an error.
    pub fn with_placeholders(
        &self,
        statuses: &[(&str, ToolStatus)],
        form: PlaceholderForm,
    ) -> Result<Self, EditError> {
        let writer = self.writer();
        let block = |(id, status): &(&str, ToolStatus)| -> Result<NewBlock, EditError> {
            let link = self.link_or_error(id)?;
            if link.result.is_some() {
                return Err(EditError::Answered { id: (*id).to_owned() });
            }
            Ok(NewBlock { link, text: writer.placeholder(id, *status, form)? })
        };
        let blocks = statuses.iter().map(block).collect::<Result<Vec<_>, _>>()?;
        self.with_blocks(blocks)
    }

    /// Changes the status of a placeholder, and nothing but that word.
    pub fn with_status(&self, id: &str, status: ToolStatus) -> Result<Self, EditError> {
        let splice = self.status_splice(id, status)?;
        self.spliced(&[splice])
    }

    /// The splice that changes a status.
    pub fn status_splice(&self, id: &str, status: ToolStatus) -> Result<ByteSplice, EditError> {
        let no_placeholder = || EditError::NoPlaceholder { id: id.to_owned() };
        let place = self.link_or_error(id)?.result.ok_or_else(no_placeholder)?;
        match self.result_at(place).map(|result| result.state) {
            Some(ResultState::Placeholder { word, .. }) if word.is_empty() => {
                Ok(ByteSplice::insert(word.start, &self.missing_word(word.start, status)))
            }
            Some(ResultState::Placeholder { word, .. }) => {
                Ok(ByteSplice::replace(word, status.word()))
            }
            Some(ResultState::Given | ResultState::Failed) | None => Err(no_placeholder()),
        }
    }

    /// The word to insert where a placeholder names no status, or `status=` names nothing.
    fn missing_word(&self, at: usize, status: ToolStatus) -> String {
        match self.bytes()[..at].ends_with(b"status=") {
            true => status.word().to_owned(),
            false => format!(" status={}", status.word()),
        }
    }

    /// Puts a result in the place of a call's placeholder or earlier result, or inserts it.
    pub fn with_result(&self, id: &str, result: &NewResult) -> Result<Self, EditError> {
        let link = self.link_or_error(id)?;
        let found = link.result.and_then(|place| Some((place, self.result_at(place)?)));
        let Some((place, old)) = found else {
            let text = self.writer().result(id, result, &[])?;
            return self.with_blocks(vec![NewBlock { link, text }]);
        };
        let text = self.writer().result(id, result, &self.kept_words(old))?;
        self.spliced(&[ByteSplice::replace(self.block(place).span, &text)])
    }

    /// The words behind an id that say nothing about its status.
    fn kept_words(&self, result: &ToolResultBlock) -> Vec<String> {
        let is_status = |word: ByteRange| {
            let text = value_of(word, self.bytes(), "status").unwrap_or(word).of(self.bytes());
            text == b"error" || ToolStatus::read(text).is_some()
        };
        let kept = result.suffix.iter().filter(|word| !is_status(**word));
        kept.map(|word| word.text_of(self.bytes())).collect()
    }

    /// Inserts blocks, each behind the results of the calls before it.
    fn with_blocks(&self, mut blocks: Vec<NewBlock>) -> Result<Self, EditError> {
        blocks.sort_by_key(|block| (block.link.call.section, block.link.call.block));
        let mut splices: Vec<ByteSplice> = Vec::new();
        let mut groups: Vec<(Anchor, Vec<String>)> = Vec::new();
        for block in blocks {
            let anchor = self.anchor(block.link);
            match groups.last_mut() {
                Some((last, texts)) if *last == anchor => texts.push(block.text),
                _ => groups.push((anchor, vec![block.text])),
            }
        }
        for (anchor, texts) in groups {
            let end = self.line_end();
            let text = texts.join(&format!("{end}{end}"));
            splices.push(self.insertion(anchor, &text));
        }
        self.spliced(&splices)
    }

    /// The place of a new answer to a call.
    fn anchor(&self, link: CallLink) -> Anchor {
        let of_message = |other: &&CallLink| other.call.section == link.call.section;
        let earlier = self.links().iter().filter(of_message);
        let earlier = earlier.take_while(|other| other.call.block < link.call.block);
        let behind = earlier.filter_map(|other| other.result);
        if let Some(place) = behind.max_by_key(|place| (place.section, place.block)) {
            return Anchor::Behind(place);
        }
        let next = link.call.section + 1;
        match self.sections().get(next) {
            Some(section) if section.role == ChatRole::You => Anchor::Section(next),
            Some(_) | None => Anchor::NewSection(next),
        }
    }

    fn insertion(&self, anchor: Anchor, text: &str) -> ByteSplice {
        let end = self.line_end();
        match anchor {
            Anchor::Behind(place) => {
                let at = self.block(place).span.end;
                ByteSplice::insert(at, &format!("{end}{end}{text}"))
            }
            Anchor::Section(number) => self.at_start_of(&self.sections()[number], text),
            Anchor::NewSection(number) => {
                let section = format!("{}{end}{text}{end}", ChatRole::You.marker());
                match self.sections().get(number) {
                    Some(next) => {
                        let lead = self.separation(next.marker.start);
                        ByteSplice::insert(next.marker.start, &format!("{lead}{section}{end}"))
                    }
                    None => {
                        let at = self.bytes().len();
                        ByteSplice::insert(at, &format!("{}{section}", self.separation(at)))
                    }
                }
            }
        }
    }

    /// Inserts behind the marker of a section, before everything that it says.
    fn at_start_of(&self, section: &RoleSection, text: &str) -> ByteSplice {
        let end = self.line_end();
        let after = section.marker.end;
        let line = TextLine::at(self.bytes(), after).unwrap_or(TextLine {
            start: after,
            end: after,
            next: after,
        });
        let rest = line.range().of(self.bytes());
        if !is_blank(rest) {
            let at = line.start + crate::span::leading_blanks(rest);
            return ByteSplice::insert(at, &format!("{end}{text}{end}{end}"));
        }
        let next = TextLine::at(self.bytes(), line.next);
        let has_words = next.is_some_and(|next| !is_blank(next.range().of(self.bytes())));
        let tail = if has_words || line.next == line.end { end } else { "" };
        ByteSplice::insert(line.end, &format!("{end}{text}{tail}"))
    }

    fn link_or_error(&self, id: &str) -> Result<CallLink, EditError> {
        self.link_of(id).ok_or_else(|| EditError::NoCall { id: id.to_owned() })
    }

    pub(super) fn writer(&self) -> Writer {
        Writer { line_end: self.line_end() }
    }
}

/// The place where an answer is inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Anchor {
    /// Behind this result.
    Behind(BlockPlace),
    /// At the start of this `@You:`.
    Section(usize),
    /// In a new `@You:`, which becomes this section.
    NewSection(usize),
}
