//! The predictions as text.

use std::fmt::Write;

use super::predict::Prediction;
use super::shape::Shape;
use crate::report::tables::{aligned, tick};

/// A shape that is ahead by less than this counts as level.
const LEVEL: f64 = 0.98;

/// What a prediction says, and its name.
type Figure = (&'static str, fn(&Prediction) -> f64);

const FIGURES: [Figure; 4] =
    [("region", |one| one.region), ("fork", |one| one.fork), ("join", |one| one.join), ("barrier", |one| one.barrier)];

/// The predictions for a size, one for each shape, in the order of their list.
pub(super) type Row = Vec<Prediction>;

/// A table for each figure, and below it which shape is ahead from which size on. The sizes ascend.
pub(super) fn text(rows: &[Row]) -> String {
    let mut text = String::new();
    let header = || std::iter::once("bees").chain(Shape::ALL.iter().map(|shape| shape.name())).map(str::to_owned);
    for (name, figure) in FIGURES {
        let cells = rows.iter().map(|row| {
            std::iter::once(row[0].bees.to_string())
                .chain(row.iter().map(|one| tick_of(figure(one))))
                .collect::<Vec<_>>()
        });
        let _ = write!(text, "\n{name}\n{}\n", aligned(header(), cells, &[]).trim_fmt());
        for ahead in 0..Shape::ALL.len() {
            for behind in (0..Shape::ALL.len()).filter(|behind| *behind != ahead) {
                text.extend(crossover(rows, ahead, behind, figure));
            }
        }
    }
    text
}

/// With few digits: three are already more than the model knows.
fn tick_of(nanoseconds: f64) -> String {
    let unit = 10_f64.powf((nanoseconds.max(1.0).log10() - 2.0).floor());
    tick((nanoseconds / unit).round() * unit)
}

/// From which size on one shape is ahead of another, and stays so.
fn crossover(rows: &[Row], ahead: usize, behind: usize, figure: fn(&Prediction) -> f64) -> Option<String> {
    let ratio = |row: &Row| figure(&row[ahead]) / figure(&row[behind]);
    let since = rows.iter().rposition(|row| ratio(row) >= LEVEL).map_or(0, |last| last + 1);
    let from = rows.get(since)?[0].bees;
    let since = match since.checked_sub(1) {
        Some(before) => format!("from {from} bees on (not at {})", rows[before][0].bees),
        None => format!("at all sizes, from {from} on"),
    };
    let (ahead, behind) = (Shape::ALL[ahead].name(), Shape::ALL[behind].name());
    let factor = 1.0 / ratio(rows.last()?);
    Some(format!("  {ahead} is ahead of {behind} {since}, by {factor:.1} times at the most bees\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_say_who_is_ahead_for_good() {
        let one = |bees, region| Prediction { bees, region, fork: 1.0, join: 1.0, barrier: 1.0 };
        let row = |bees, flat, node| vec![one(bees, flat), one(bees, flat), one(bees, node)];
        let text = text(&[row(2, 10.0, 9.0), row(4, 20.0, 30.0), row(8, 40.0, 30.0), row(64, 12_345.0, 1000.0)]);
        assert!(text.contains("12.3 us"), "{text}");
        assert!(text.contains("node is ahead of flat from 8 bees on (not at 4), by 12.3 times"), "{text}");
        assert!(!text.contains("flat is ahead") && !text.contains("cluster is ahead of flat"), "{text}");
    }
}
