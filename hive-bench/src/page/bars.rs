//! A bar for each runtime of one case at one size, with the middle half of the rounds as a whisker.

use maud::Markup;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::axis::{Axis, label_of, title_of};
use super::chart::{self, Frame, Painted, Plane};
use super::palette::{self, INK};
use crate::catalog::{Case, RuntimeId, Unit};
use crate::report::figures::{Figures, Key};
use crate::report::tables::amount;
use crate::stats::Spread;

const WIDTH: u32 = 620;
const BAR: u32 = 25;
/// If the largest value is more than this many times the smallest, the axis is logarithmic; otherwise short bars could
/// not be seen.
const MOST_ON_LINEAR: f64 = 8.0;

/// `None` where nothing was measured.
pub(crate) fn chart(figures: &Figures, case: Case, threads: usize) -> Option<Result<Markup, String>> {
    let value = |runtime| Some((runtime, figures.value(Key { case, threads, runtime })?));
    let bars: Vec<(RuntimeId, Spread)> = figures.runtimes(case, threads).into_iter().filter_map(value).collect();
    let unit = case.unit();
    let name = format!("{} of {threads}: median of each runtime, less is better", case.name());
    let rows = u32::try_from(bars.len()).ok().filter(|rows| *rows > 0)?;
    let frame = Frame {
        x: axis(&bars, unit),
        y: Axis::linear("", |_| String::new(), &[f64::from(rows)]).with_ticks(Vec::new()),
        size: (WIDTH, BAR * rows + 54),
        left: 120,
        right: 76,
    };
    Some(chart::draw(&name, &frame, |plane| paint(plane, &frame, &bars, unit)))
}

fn axis(bars: &[(RuntimeId, Spread)], unit: Unit) -> Axis {
    let ends: Vec<f64> = bars.iter().flat_map(|(_, spread)| [spread.median, spread.upper_quartile]).collect();
    let medians = || bars.iter().map(|(_, spread)| spread.median);
    let (least, most) = (medians().fold(f64::INFINITY, f64::min), medians().fold(0.0, f64::max));
    let title = title_of(unit);
    if unit == Unit::PercentOfCpu || most <= MOST_ON_LINEAR * least {
        Axis::linear(&format!("{title}; less is better"), label_of(unit), &ends)
    } else {
        let title = format!("{title}, logarithmic: lengths are not in proportion; less is better");
        Axis::log(&title, label_of(unit), &ends).with_room_below()
    }
}

/// The first at the top.
fn paint(plane: &mut Plane<'_, '_>, frame: &Frame, bars: &[(RuntimeId, Spread)], unit: Unit) -> Painted {
    let begin = frame.x.range().start;
    for (row, (runtime, spread)) in bars.iter().enumerate() {
        let middle = bars.len() as f64 - row as f64 - 0.5;
        let (median, lower, upper) = (spread.median, spread.lower_quartile, spread.upper_quartile);
        let body = [(begin, middle + 0.34), (median, middle - 0.34)];
        let colour = palette::look(*runtime).colour.rgb();
        plane.draw_series([Rectangle::new(body, colour.filled())])?;
        let cap = |place| vec![(place, middle + 0.2), (place, middle - 0.2)];
        let whisker = [vec![(lower, middle), (upper, middle)], cap(lower), cap(upper)];
        plane.draw_series(whisker.map(|line| PathElement::new(line, INK.rgb())))?;
        chart::words(plane, (begin, middle), runtime.name(), (-8, 0), HPos::Right)?;
        chart::words(plane, (median.max(upper), middle), &amount(spread.median, unit), (7, 0), HPos::Left)?;
    }
    Ok(())
}
