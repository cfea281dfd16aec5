//! Parts of what a job has printed.

use std::io::Result;

use super::folder::{Job, OUTPUT};
use crate::outside::spool::{SpoolPart, Spooled};

/// Some of what a job has printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobExcerpt {
    /// The range that was asked for, as far as it is there.
    pub start: u64,
    /// The offset behind the last byte.
    pub end: u64,
    /// Bytes printed so far.
    pub total: u64,
    /// Bytes between `start` and `end` that are not kept.
    pub dropped: u64,
    /// The bytes that are shown, each run with its place; what lies between them is left out or dropped.
    pub pieces: Vec<(u64, Vec<u8>)>,
}

impl Job {
    /// From `start` to `end`, or to the last byte; at most `most` bytes, the first and the last.
    pub fn read(&self, start: u64, end: Option<u64>, most: usize) -> Result<JobExcerpt> {
        let found: Option<Spooled> = self.spools().find(OUTPUT)?.into_iter().next();
        let total = found.as_ref().map_or(0, |found| found.total);
        let end = end.unwrap_or(total).min(total);
        let start = start.min(end);
        let parts = found.map(|found| found.parts).unwrap_or_default();
        let within = |part: &SpoolPart| (part.start.max(start), (part.start + part.size).min(end));
        let kept: Vec<(u64, u64)> = parts.iter().map(within).filter(|(a, b)| a < b).collect();
        let length = |spans: &[(u64, u64)]| -> u64 { spans.iter().map(|(a, b)| b - a).sum() };
        let wanted = both_ends(&kept, length(&kept), most as u64);
        let mut pieces = Vec::new();
        for (from, to) in &wanted {
            let holds = |part: &&SpoolPart| part.start <= *from && *to <= part.start + part.size;
            let part = parts.iter().find(holds);
            pieces
                .extend(part.map(|part| part.read(*from, *to)).transpose()?.into_iter().flatten());
        }
        // The writer may take away a piece while it is read.
        let read: u64 = pieces.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        let lost = length(&wanted) - read;
        Ok(JobExcerpt { start, end, total, dropped: end - start - length(&kept) + lost, pieces })
    }
}

/// The spans, and of more than `most` bytes the first and the last.
fn both_ends(spans: &[(u64, u64)], sum: u64, most: u64) -> Vec<(u64, u64)> {
    if sum <= most {
        return spans.to_vec();
    }
    let mut head = Vec::new();
    let mut left = most / 2;
    for (from, to) in spans.iter().filter(|(from, to)| from < to) {
        let take = left.min(to - from);
        head.extend((take > 0).then_some((*from, from + take)));
        left -= take;
    }
    let mut tail = Vec::new();
    let mut left = most - most / 2;
    for (from, to) in spans.iter().rev() {
        let take = left.min(to - from);
        tail.extend((take > 0).then_some((to - take, *to)));
        left -= take;
    }
    head.into_iter().chain(tail.into_iter().rev()).collect()
}

#[cfg(test)]
mod tests {
    use super::both_ends;

    #[test]
    fn the_first_and_the_last_bytes_are_taken() {
        type Spans = &'static [(u64, u64)];
        let cases: &[(Spans, u64, Spans)] = &[
            (&[], 10, &[]),
            (&[(0, 10)], 10, &[(0, 10)]),
            (&[(0, 11)], 10, &[(0, 5), (6, 11)]),
            (&[(5, 100)], 3, &[(5, 6), (98, 100)]),
            (&[(0, 4), (90, 100)], 14, &[(0, 4), (90, 100)]),
            (&[(0, 4), (90, 100)], 10, &[(0, 4), (90, 91), (95, 100)]),
            (&[(0, 4), (90, 100)], 0, &[]),
        ];
        for (spans, most, expected) in cases {
            let sum = spans.iter().map(|(from, to)| to - from).sum();
            assert_eq!(both_ends(spans, sum, *most), *expected, "{spans:?} {most}");
        }
    }
}
