//! A table fitted to the width: columns shrink, cells wrap; where that is hopeless, records.

use crate::text::wrap::wrap;
use crate::text::{Line, Role};

const SEPARATOR: &str = " │ ";
const NARROWEST: usize = 5;

#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<Line>>,
}

impl Table {
    pub(super) fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn cell(&mut self, cell: Line) {
        if let Some(row) = self.rows.last_mut() {
            row.push(cell);
        }
    }

    pub(super) fn lines(&self, room: usize) -> Vec<Line> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        if columns == 0 {
            return Vec::new();
        }
        match self.widths(columns, room) {
            Some(widths) => self.grid(&widths),
            None => self.records(),
        }
    }

    /// How wide each column is; none where they do not fit side by side.
    fn widths(&self, columns: usize, room: usize) -> Option<Vec<usize>> {
        let room = room.checked_sub((columns - 1) * 3)?;
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(Line::width).max().unwrap_or_default().max(1)
        };
        let mut widths: Vec<usize> = (0..columns).map(widest).collect();
        while widths.iter().sum::<usize>() > room {
            // The widest column gives way, so that narrow ones stay whole.
            let widest = widths.iter_mut().max()?;
            if *widest <= NARROWEST {
                return None;
            }
            *widest -= 1;
        }
        Some(widths)
    }

    fn grid(&self, widths: &[usize]) -> Vec<Line> {
        let mut lines = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            lines.extend(grid_row(row, widths, number == 0));
            if number == 0 {
                let parts: Vec<String> = widths.iter().map(|wide| "─".repeat(*wide)).collect();
                lines.push(Line::of(parts.join("─┼─"), Role::Muted));
            }
        }
        lines
    }

    fn records(&self) -> Vec<Line> {
        let Some((head, rows)) = self.rows.split_first() else { return Vec::new() };
        let mut lines = Vec::new();
        for (number, row) in rows.iter().enumerate() {
            if number > 0 {
                lines.push(Line::new());
            }
            for (name, cell) in head.iter().zip(row) {
                let mut line = name.clone().restyled(|style| style.bold());
                line.push(": ", Role::Muted);
                line.append(cell.clone());
                lines.push(line);
            }
        }
        lines
    }
}

fn grid_row(row: &[Line], widths: &[usize], is_head: bool) -> Vec<Line> {
    let empty = Line::new();
    let cells: Vec<Vec<Line>> = widths
        .iter()
        .enumerate()
        .map(|(column, wide)| wrap(row.get(column).unwrap_or(&empty), *wide))
        .collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(1);
    let row = |at: usize| {
        let mut line = Line::new();
        for (column, wide) in widths.iter().enumerate() {
            if column > 0 {
                line.push(SEPARATOR, Role::Muted);
            }
            let cell = cells[column].get(at).cloned().unwrap_or_default();
            let cell = if is_head { cell.restyled(|style| style.bold()) } else { cell };
            let is_last = column + 1 == widths.len();
            line.append(if is_last { cell } else { cell.padded(*wide) });
        }
        line
    };
    (0..height).map(row).collect()
}

#[cfg(test)]
mod tests {
    use crate::markdown::render;

    fn shown(width: usize) -> String {
        let source = "| name | says |\n|---|---|\n| a | one two three |\n| 漢字 | `x` |\n";
        render(source, width).iter().map(|line| line.plain() + "\n").collect()
    }

    #[test]
    fn a_table_fits_or_becomes_records() {
        assert_eq!(
            shown(40),
            "name │ says\n─────┼──────────────\na    │ one two three\n漢字 │ x\n"
        );
        assert_eq!(
            shown(15),
            "name │ says\n─────┼─────────\na    │ one two \n     │ three\n漢字 │ x\n"
        );
        assert_eq!(shown(8), "name: a\nsays: one two three\n\nname: 漢字\nsays: x\n");
        assert!(shown(40).lines().all(|line| line.chars().count() <= 40));
    }
}
