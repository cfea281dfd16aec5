//! Output cut to a limit in bytes (FR-OUT-04, FR-OUT-04a).
//!
//! Law: the result never exceeds the limit, marker included, and never splits a character. What a
//! command prints is cut in the middle, because compilers and tests put the verdict last.

use crate::text::utf8::unfinished_length;

/// Ends a text that was cut at its end. ASCII, so that it can itself be cut anywhere.
pub const MARKER: &str = "\n\n... [output truncated]";

/// Keeps the start of the output.
pub fn truncate(mut output: String, effective_max: usize) -> String {
    if output.len() <= effective_max {
        return output;
    }
    if effective_max <= MARKER.len() {
        return MARKER[..effective_max].to_owned();
    }
    // The marker counts against the limit (FR-OUT-04a), so we cut before appending it.
    output.truncate(output.floor_char_boundary(effective_max - MARKER.len()));
    output.push_str(MARKER);
    output
}

/// True if anything of an output is left when `truncate` has cut it, besides the marker.
pub fn leaves_some(length: usize, effective_max: usize) -> bool {
    length <= effective_max || effective_max > MARKER.len()
}

/// Joins the two ends of an output whose middle is missing, cutting more of the middle where they
/// do not fit. Without anything omitted, and with room for both, there is no marker.
pub fn head_and_tail(head: &str, tail: &str, omitted_bytes: u64, max: usize) -> String {
    joined(head, tail, omitted_bytes, max, middle_marker)
}

/// The same, and the mark says where all of it is.
pub fn head_and_tail_naming(
    head: &str,
    tail: &str,
    omitted_bytes: u64,
    max: usize,
    whole: &str,
) -> String {
    joined(head, tail, omitted_bytes, max, |omitted| naming_marker(omitted, whole))
}

fn naming_marker(omitted_bytes: u64, whole: &str) -> String {
    format!("\n... [{omitted_bytes} bytes omitted. Full output: {whole}] ...\n")
}

/// The same, with a mark of its own.
fn joined(
    head: &str,
    tail: &str,
    omitted_bytes: u64,
    max: usize,
    middle_marker: impl Fn(u64) -> String,
) -> String {
    let kept = head.len() + tail.len();
    if omitted_bytes == 0 && kept <= max {
        return [head, tail].concat();
    }
    let marker = middle_marker(omitted_bytes);
    if omitted_bytes > 0 && kept + marker.len() <= max {
        return [head, &marker, tail].concat();
    }
    // The most that could be omitted makes the longest marker, so what is reserved suffices.
    let reserved = middle_marker(omitted_bytes + kept as u64);
    if max <= reserved.len() {
        return reserved[..reserved.floor_char_boundary(max)].to_owned();
    }
    let (head, tail) = fit(head, tail, max - reserved.len());
    let marker = middle_marker(omitted_bytes + (kept - head.len() - tail.len()) as u64);
    [head, &marker, tail].concat()
}

fn middle_marker(omitted_bytes: u64) -> String {
    format!("\n... [{omitted_bytes} bytes omitted] ...\n")
}

/// Half of the room for each end; what a short end leaves over goes to the other.
fn fit<'a>(head: &'a str, tail: &'a str, room: usize) -> (&'a str, &'a str) {
    let half = room / 2;
    let head_room = head.len().min(half.max(room.saturating_sub(tail.len())));
    let tail_room = tail.len().min(room - head_room);
    let head_end = head.floor_char_boundary(head_room);
    let tail_start = tail.ceil_char_boundary(tail.len() - tail_room);
    (&head[..head_end], &tail[tail_start..])
}

/// An output whose middle may be missing, not cut to any limit yet.
///
/// Law: it is cut once, by whoever knows the room, so that the mark counts every byte that is missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ends {
    /// The beginning, to a whole character.
    pub head: String,
    /// The end, from a whole character.
    pub tail: String,
    /// How many bytes are missing between them.
    pub omitted: u64,
}

impl Ends {
    /// All of a text.
    pub fn whole(text: &str) -> Self {
        let (head, tail) = text.split_at(text.floor_char_boundary(text.len() / 2));
        Self { head: head.to_owned(), tail: tail.to_owned(), omitted: 0 }
    }

    /// How many bytes are here.
    pub fn kept(&self) -> usize {
        self.head.len() + self.tail.len()
    }

    /// Within `max` bytes; the mark says where all of it is, if it is kept.
    pub fn within(&self, max: usize, whole: Option<&str>) -> String {
        let Self { head, tail, omitted } = self;
        match whole {
            Some(whole) => head_and_tail_naming(head, tail, *omitted, max, whole),
            None => head_and_tail(head, tail, *omitted, max),
        }
    }

    /// This output, and another one behind it.
    #[must_use]
    pub fn then(self, next: Self) -> Self {
        match (self.omitted, next.omitted) {
            (0, omitted) => {
                let head = [self.head, self.tail, next.head].concat();
                Self { head, tail: next.tail, omitted }
            }
            (omitted, 0) => {
                let tail = [self.tail, next.head, next.tail].concat();
                Self { head: self.head, tail, omitted }
            }
            (mine, theirs) => {
                let between = (self.tail.len() + next.head.len()) as u64;
                Self { head: self.head, tail: next.tail, omitted: mine + theirs + between }
            }
        }
    }

    /// The same with its text changed by `edit`, which sees all that is connected at once.
    #[must_use]
    pub fn map(self, edit: impl Fn(&str) -> String) -> Self {
        if self.omitted == 0 {
            return Self::whole(&edit(&[self.head, self.tail].concat()));
        }
        Self { head: edit(&self.head), tail: edit(&self.tail), omitted: self.omitted }
    }

    /// The same without the newline that ends it.
    #[must_use]
    pub fn without_final_newline(mut self) -> Self {
        let last = if self.tail.is_empty() { &mut self.head } else { &mut self.tail };
        if last.ends_with('\n') {
            last.pop();
        }
        self
    }
}

/// Collects output of any length in bounded memory: its first and its last bytes.
#[derive(Debug)]
pub struct HeadTail {
    head: Vec<u8>,
    head_limit: usize,
    /// A ring once it is full; `oldest` is then where the next byte goes.
    tail: Vec<u8>,
    tail_limit: usize,
    oldest: usize,
    total: u64,
}

impl HeadTail {
    /// Keeps so many bytes, half of them of each end.
    pub fn new(limit_bytes: usize) -> Self {
        let head_limit = limit_bytes / 2;
        Self {
            head: Vec::new(),
            head_limit,
            tail: Vec::new(),
            tail_limit: limit_bytes - head_limit,
            oldest: 0,
            total: 0,
        }
    }

    /// Takes the next bytes; those in the middle are forgotten.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let rest = fill(&mut self.head, self.head_limit, bytes);
        let rest = fill(&mut self.tail, self.tail_limit, rest);
        self.overwrite_oldest(rest);
    }

    /// How many bytes were pushed.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The first bytes, as far as they are kept apart from the last.
    pub fn first(&self) -> &[u8] {
        &self.head
    }

    /// How many of them are no longer here.
    pub fn omitted(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// Everything that was pushed, if nothing of it is missing.
    pub fn whole(&self) -> Option<Vec<u8>> {
        let (newer, older) = self.tail.split_at(self.oldest);
        (self.omitted() == 0).then(|| [self.head.as_slice(), older, newer].concat())
    }

    /// The first and the last bytes, and how many are missing between them. Where none are, the
    /// first are all there are.
    pub fn ends(&self) -> (Vec<u8>, Vec<u8>, u64) {
        match self.whole() {
            Some(whole) => (whole, Vec::new(), 0),
            None => {
                let (newer, older) = self.tail.split_at(self.oldest);
                (self.head.clone(), [older, newer].concat(), self.omitted())
            }
        }
    }

    /// The last bytes, at most `max` and at most what is kept of them, with no character cut in two.
    pub fn last(&self, max: usize) -> String {
        let (newer, older) = self.tail.split_at(self.oldest);
        let kept = self.whole().unwrap_or_else(|| [older, newer].concat());
        let start = kept.len().saturating_sub(max);
        let is_cut = start > 0 || self.omitted() > 0;
        let kept = if is_cut { whole_at_start(&kept[start..]) } else { &kept[..] };
        String::from_utf8_lossy(kept).into_owned()
    }

    /// The output within `max` bytes, its missing middle marked.
    pub fn render(&self, max: usize) -> String {
        self.text().within(max, None)
    }

    /// The kept text.
    pub fn text(&self) -> Ends {
        if let Some(whole) = self.whole() {
            return Ends::whole(&String::from_utf8_lossy(&whole));
        }
        let (newer, older) = self.tail.split_at(self.oldest);
        let tail = [older, newer].concat();
        let (head, tail) = (whole_at_end(&self.head), whole_at_start(&tail));
        let omitted = self.total - (head.len() + tail.len()) as u64;
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Ends { head: text(head), tail: text(tail), omitted }
    }

    fn overwrite_oldest(&mut self, bytes: &[u8]) {
        let ring = self.tail.len();
        // Of more than a ring's worth only the end would remain anyway.
        let mut rest = &bytes[bytes.len().saturating_sub(ring)..];
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(ring - self.oldest));
            self.tail[self.oldest..self.oldest + now.len()].copy_from_slice(now);
            self.oldest = (self.oldest + now.len()) % ring;
            rest = later;
        }
    }
}

/// Appends what fits and returns the rest.
fn fill<'a>(buffer: &mut Vec<u8>, limit: usize, bytes: &'a [u8]) -> &'a [u8] {
    let (fits, rest) = bytes.split_at(bytes.len().min(limit - buffer.len()));
    if buffer.capacity() - buffer.len() < fits.len() {
        // A vector left to itself would grow past the limit.
        let capacity = (buffer.capacity() * 2).clamp(buffer.len() + fits.len(), limit);
        buffer.reserve_exact(capacity - buffer.len());
    }
    buffer.extend_from_slice(fits);
    rest
}

/// Without the beginning of a character that our cut separated from its end.
fn whole_at_end(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len() - unfinished_length(bytes)]
}

/// Without the end of a character that our cut separated from its beginning.
fn whole_at_start(bytes: &[u8]) -> &[u8] {
    let continuation = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    &bytes[bytes.iter().take(3).take_while(continuation).count()..]
}

#[cfg(test)]
mod tests;
