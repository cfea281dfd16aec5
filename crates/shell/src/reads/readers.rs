//! Programs that only read, each with the options that leave it so: the table `readers.txt`.

use crate::options::{HarmlessOptions, UnknownWords};

const TABLE: &str = include_str!("readers.txt");

/// The options of a program that only reads; `None` for any other.
pub(crate) fn reader_options(program: &str) -> Option<HarmlessOptions> {
    let mut unknown_words = UnknownWords::Harmless;
    for line in TABLE.lines() {
        if line.starts_with("[some") {
            unknown_words = UnknownWords::MayDoHarm;
        }
        let mut fields = line.split(' ');
        if fields.next() == Some(program) && !program.starts_with(['[', '#']) {
            let mut field = || fields.next().filter(|field| *field != "-").unwrap_or_default();
            let (short, valued, long) = (field(), field(), field());
            return Some(HarmlessOptions { short, valued, long, unknown_words });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_a_program_with_three_lists() {
        let is_row = |line: &&str| !line.is_empty() && !line.starts_with(['#', '[']);
        let rows: Vec<&str> = TABLE.lines().filter(is_row).collect();
        assert!(rows.len() > 80, "{}", rows.len());
        for row in rows {
            let fields: Vec<&str> = row.split(' ').collect();
            assert_eq!(fields.len(), 4, "{row}");
            assert!(fields.iter().all(|field| !field.is_empty()), "{row}");
            assert!(reader_options(fields[0]).is_some(), "{row}");
        }
        assert!(reader_options("[some").is_none() && reader_options("rm").is_none());
    }
}
