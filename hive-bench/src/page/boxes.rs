//! Boxes within boxes: how the parts of a machine are laid out and drawn.

use maud::{Markup, html};

const CELL: (usize, usize) = (78, 44);
const GAP: usize = 8;
const TITLE: usize = 20;
const BAR: usize = 22;
/// The approximate width of a letter.
const LETTER: usize = 7;
/// The preferred ratio of width to height of a box.
const ASPECT: f64 = 1.6;

/// A part of the picture. Classes say how it looks.
pub(crate) enum Part {
    /// A small box with two lines.
    Cell { title: String, note: String, class: &'static str },
    /// A box with a name, bars of text below it, and parts in rows.
    Group { name: String, bars: Vec<String>, rows: Vec<Vec<Part>>, size: (usize, usize) },
}

impl Part {
    /// A box that is as large as its contents need. The length of its rows is chosen so that it is neither flat nor
    /// thin.
    pub(crate) fn group(name: String, bars: Vec<String>, parts: Vec<Self>) -> Self {
        let sizes: Vec<_> = parts.iter().map(Self::size).collect();
        let lengths = row_lengths(&sizes);
        let (wide, high) = rows_size(&sizes, &lengths);
        let texts = bars.iter().map(|bar| bar.len() + 2).chain([name.len()]);
        let width = texts.map(|letters| LETTER * letters).chain([wide]).max().unwrap_or(0) + 2 * GAP;
        let height = TITLE + bars.len() * (BAR + GAP) + high + if parts.is_empty() { 0 } else { GAP };
        let mut parts = parts.into_iter();
        let rows = lengths.iter().map(|length| parts.by_ref().take(*length).collect()).collect();
        Self::Group { name, bars, rows, size: (width, height) }
    }

    pub(crate) fn size(&self) -> (usize, usize) {
        match self {
            Self::Cell { .. } => CELL,
            Self::Group { size, .. } => *size,
        }
    }

    pub(crate) fn draw(&self, (x, y): (usize, usize)) -> Markup {
        match self {
            Self::Cell { title, note, class } => html! {
                rect class=(class) x=(x) y=(y) width=(CELL.0) height=(CELL.1) rx="4" {}
                text x=(x + CELL.0 / 2) y=(y + 19) text-anchor="middle" font-weight="bold" { (title) }
                text x=(x + CELL.0 / 2) y=(y + 35) text-anchor="middle" { (note) }
            },
            Self::Group { name, bars, rows, size } => html! {
                rect.group x=(x) y=(y) width=(size.0) height=(size.1) rx="5" {}
                text x=(x + GAP) y=(y + 14) { (name) }
                @for (place, bar) in bars.iter().enumerate() {
                    @let top = y + TITLE + place * (BAR + GAP);
                    rect.memory x=(x + GAP) y=(top) width=(size.0 - 2 * GAP) height=(BAR) rx="4" {}
                    text x=(x + 2 * GAP) y=(top + 15) { (bar) }
                }
                (draw_rows(rows, (x + GAP, y + TITLE + bars.len() * (BAR + GAP))))
            },
        }
    }
}

fn draw_rows(rows: &[Vec<Part>], (left, top): (usize, usize)) -> Markup {
    let mut drawn = Vec::new();
    let mut y = top;
    for row in rows {
        let mut x = left;
        for part in row {
            drawn.push(part.draw((x, y)));
            x += part.size().0 + GAP;
        }
        y += row.iter().map(|part| part.size().1).max().unwrap_or(0) + GAP;
    }
    html! { @for part in &drawn { (part) } }
}

/// How many parts each row has, for parts of these sizes.
fn row_lengths(sizes: &[(usize, usize)]) -> Vec<usize> {
    let widest = sizes.iter().map(|size| size.0 + GAP).max().unwrap_or(0);
    // As wide as the first so many, or as so many of the widest.
    let rooms =
        (1..=sizes.len()).flat_map(|count| [sizes[..count].iter().map(|size| size.0 + GAP).sum(), count * widest]);
    let candidates = rooms.map(|room| filled(sizes, room));
    let extent = |lengths: &Vec<usize>| {
        let (width, height) = rows_size(sizes, lengths);
        f64::max(width as f64, height as f64 * ASPECT)
    };
    candidates.min_by(|one, other| extent(one).total_cmp(&extent(other))).unwrap_or_default()
}

/// Rows that are no wider than `room`, each as long as it can be.
fn filled(sizes: &[(usize, usize)], room: usize) -> Vec<usize> {
    let (mut lengths, mut width) = (Vec::new(), 0);
    for (own, _) in sizes {
        width += own + GAP;
        match lengths.last_mut() {
            Some(length) if width <= room => *length += 1,
            _ => {
                lengths.push(1);
                width = own + GAP;
            }
        }
    }
    lengths
}

fn rows_size(sizes: &[(usize, usize)], lengths: &[usize]) -> (usize, usize) {
    let (mut wide, mut high, mut rest) = (0, 0, sizes);
    for length in lengths {
        let (row, behind) = rest.split_at(*length);
        wide = wide.max(row.iter().map(|size| size.0 + GAP).sum());
        high += row.iter().map(|size| size.1).max().unwrap_or(0) + GAP;
        rest = behind;
    }
    (wide.saturating_sub(GAP), high.saturating_sub(GAP))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(count: usize) -> Vec<Part> {
        let cell = |cpu| Part::Cell { title: format!("CPU {cpu}"), note: String::new(), class: "cpu" };
        (0..count).map(cell).collect()
    }

    #[test]
    fn many_go_on_in_the_next_row() {
        let Part::Group { rows, size, .. } = Part::group("all".to_owned(), Vec::new(), cells(192)) else {
            panic!("a group")
        };
        assert_eq!(rows.iter().map(Vec::len).sum::<usize>(), 192);
        assert!(rows.len() > 3 && size.0 > size.1 && size.0 < 3 * size.1, "{} rows, {size:?}", rows.len());
    }

    #[test]
    fn parts_that_differ_a_little_stand_in_even_rows() {
        let named = |letters: usize| Part::group("n".repeat(letters), Vec::new(), cells(1));
        let parts = [18, 18, 19, 19].map(named).into_iter().collect();
        let Part::Group { rows, .. } = Part::group("all".to_owned(), Vec::new(), parts) else { panic!("a group") };
        assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
    }

    #[test]
    fn a_box_has_room_for_its_texts() {
        let bars = vec!["something that is rather long".to_owned(); 2];
        let group = Part::group("short".to_owned(), bars, cells(1));
        assert_eq!(group.size(), (31 * LETTER + 2 * GAP, TITLE + 2 * (BAR + GAP) + CELL.1 + GAP));
        assert_eq!(Part::group(String::new(), Vec::new(), Vec::new()).size(), (2 * GAP, TITLE));
    }
}
