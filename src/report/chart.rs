//! A small chart in characters: a line of Braille dots, and marks for a second series.

/// Dots of a Braille character, by row and column: bits of its number above U+2800.
const DOTS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// What a chart shows: points by ascending x.
#[derive(Debug, Clone, Copy)]
pub struct Series<'a> {
    /// Drawn as a line.
    pub line: &'a [(f64, f64)],
    /// Drawn as marks, `·`, where there is no line.
    pub marks: &'a [(f64, f64)],
}

/// Draws a chart of so many columns and rows, labels of the axes included, one string a row; none if there is no room or no point.
///
/// The first points of a training are far below all others: the rows are for those of the last three quarters, and what is below
/// them is left out. Labels have as many decimals as tell rows apart.
pub fn chart(series: Series<'_>, columns: usize, rows: usize) -> Vec<String> {
    let all = || series.line.iter().chain(series.marks).filter(|(x, y)| x.is_finite() && y.is_finite());
    let last_x = all().map(|point| point.0).fold(f64::NEG_INFINITY, f64::max);
    let first_x = all().map(|point| point.0).fold(f64::INFINITY, f64::min).min(0.0);
    let late = || all().filter(|point| point.0 >= first_x + (last_x - first_x) / 4.0);
    let (low, high) =
        late().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &(_, y)| (low.min(y), high.max(y)));
    if !(low <= high && rows >= 4) {
        return Vec::new();
    }
    // A flat line lies in the middle.
    let margin = if high > low { 0.02 * (high - low) } else { 0.5 };
    let (low, high, n_rows) = (low - margin, high + margin, rows - 2);
    let decimals = (1.0 - ((high - low) / n_rows as f64).log10()).ceil().clamp(0.0, 8.0) as usize;
    let label = |row: usize| high - (high - low) * (row as f64 + 0.5) / n_rows as f64;
    let labels: Vec<String> = (0..n_rows).map(|row| format!("{:.decimals$}", label(row))).collect();
    let label_width = labels.iter().map(String::len).max().unwrap_or(0);
    let Some(n_columns) = columns.checked_sub(label_width + 2).filter(|&columns| columns >= 8) else {
        return Vec::new();
    };
    let mut canvas = Canvas {
        x: (first_x, last_x),
        y: (low, high),
        n_columns,
        n_rows,
        cells: vec![0; n_columns * n_rows],
    };
    canvas.draw_line(series.line);
    let marked = canvas.marks(series.marks);
    let mut text = Vec::new();
    for row in 0..n_rows {
        let labelled = row == 0 || row + 1 == n_rows || row == n_rows / 2 && n_rows > 4;
        let (label, axis) = if labelled { (labels[row].as_str(), '┤') } else { ("", '│') };
        let cell = |at: usize| match canvas.cells[at] {
            0 if marked[at] => '·',
            0 => ' ',
            dots => char::from_u32(0x2800 + dots).unwrap_or(' '),
        };
        let cells: String = (row * n_columns..(row + 1) * n_columns).map(cell).collect();
        text.push(format!("{label:>label_width$} {axis}{}", cells.trim_end()));
    }
    text.push(format!("{:label_width$} └{}", "", "─".repeat(n_columns)));
    let end = format!("{last_x:.2} epochs");
    let start = format!("{first_x:.0}");
    let gap = (n_columns + 1).saturating_sub(start.len() + end.len());
    text.push(format!("{:label_width$} {start}{:gap$}{end}", "", ""));
    text
}

/// Cells of dots.
struct Canvas {
    x: (f64, f64),
    y: (f64, f64),
    n_columns: usize,
    n_rows: usize,
    cells: Vec<u32>,
}

impl Canvas {
    /// Where a point is, in dots from the left and from the top; outside of the chart where it lies outside of its range.
    fn dot(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let share =
            |value: f64, (from, to): (f64, f64)| if to > from { (value - from) / (to - from) } else { 0.5 };
        let (n_x, n_y) = (2 * self.n_columns, 4 * self.n_rows);
        (share(x, self.x) * (n_x - 1) as f64, (1.0 - share(y, self.y)) * (n_y - 1) as f64)
    }

    /// The cell of a dot, and the dot in it; none outside.
    fn cell(&self, (x, y): (f64, f64)) -> Option<(usize, u32)> {
        let (x, y) = (x.round(), y.round());
        let inside = |at: f64, n: usize| (0.0..n as f64).contains(&at).then_some(at as usize);
        let (x, y) = (inside(x, 2 * self.n_columns)?, inside(y, 4 * self.n_rows)?);
        Some((y / 4 * self.n_columns + x / 2, DOTS[y % 4][x % 2]))
    }

    fn draw_line(&mut self, points: &[(f64, f64)]) {
        let points: Vec<(f64, f64)> = points
            .iter()
            .filter(|(x, y)| x.is_finite() && y.is_finite())
            .map(|&point| self.dot(point))
            .collect();
        let single = points.first().map(|&point| (point, point));
        let pairs = points.windows(2).map(|pair| (pair[0], pair[1]));
        for (from, to) in single.into_iter().chain(pairs) {
            // A step to a place far outside is cut off: as many dots as the chart is high show where it goes.
            let most = 8 * (self.n_columns + self.n_rows);
            let far = (to.0 - from.0).abs().max((to.1 - from.1).abs());
            let n_dots = (far.ceil().max(1.0) as usize).min(most * 16);
            for at in 0..=n_dots {
                let share = at as f64 / n_dots as f64;
                let dot = (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1));
                if let Some((cell, bit)) = self.cell(dot) {
                    self.cells[cell] |= bit;
                }
            }
        }
    }

    fn marks(&self, points: &[(f64, f64)]) -> Vec<bool> {
        let mut marked = vec![false; self.cells.len()];
        for cell in points.iter().filter_map(|&point| self.cell(self.dot(point))) {
            marked[cell.0] = true;
        }
        marked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rising_line_with_labels() {
        let line: Vec<(f64, f64)> = (0..=10).map(|x| (f64::from(x), f64::from(x))).collect();
        let drawn = chart(Series { line: &line, marks: &[(5.0, 10.0)] }, 20, 8);
        assert_eq!(drawn.len(), 8);
        // The shape of a line is a matter of rounding: what counts is that it rises, row by row.
        let begins: Vec<usize> = drawn[..6]
            .iter()
            .map(|row| row.chars().position(|c| ('\u{2801}'..='\u{28ff}').contains(&c)).unwrap())
            .collect();
        assert!(begins.is_sorted_by(|a, b| a > b), "{drawn:#?}");
        assert!(drawn[0].contains('·') && drawn[0].starts_with("9."), "{drawn:#?}");
        assert!(drawn[7].trim_start().starts_with('0') && drawn[7].ends_with("10.00 epochs"), "{drawn:#?}");
        assert!(drawn.iter().all(|row| row.chars().count() <= 20), "{drawn:#?}");
    }

    #[test]
    fn odd_points_and_small_places() {
        let nothing =
            |line: &[(f64, f64)], columns, rows| chart(Series { line, marks: &[] }, columns, rows).is_empty();
        assert!(nothing(&[], 80, 20));
        assert!(nothing(&[(1.0, f64::NAN)], 80, 20));
        assert!(
            nothing(&[(1.0, 1.0)], 5, 20) && nothing(&[(1.0, 1.0)], 80, 3) && nothing(&[(1.0, 1.0)], 0, 0)
        );
        // One point, the same points, and a first one far below: none is at a loss.
        for line in
            [&[(1.0, -3.0)][..], &[(1.0, -3.0), (2.0, -3.0)], &[(1.0, -1e300), (4.0, -3.0), (8.0, -2.0)]]
        {
            let drawn = chart(Series { line, marks: &[] }, 40, 10);
            assert!(
                drawn.len() == 10 && drawn.concat().chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c)),
                "{drawn:#?}"
            );
        }
    }
}
