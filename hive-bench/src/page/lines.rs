//! Lines over something that grows: the time without work before a case, or the threads of the team.

use std::time::Duration;

use maud::{Markup, html};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::axis::{Axis, label_of};
use super::chart::{self, Frame, Painted, Plane, Position};
use super::palette::{self, Colour};
use crate::catalog::{Case, RuntimeId, Unit};
use crate::report::figures::{Figures, Key};

const SIZE: (u32, u32) = (620, 440);
/// Between the names at the ends of lines, in pixels.
const NAME_HEIGHT: i32 = 16;

/// One chart of lines, a line a runtime, each point the median of one case.
struct Lines {
    name: String,
    x: Axis,
    y_title: &'static str,
    /// In values of the axes, from left to right.
    lines: Vec<(RuntimeId, Vec<Position>)>,
}

/// How long there is nothing to do before a case.
type Gap = fn(Case) -> Option<Duration>;

/// Time against idleness, at the largest size: of regions, and of the start of tasks.
pub(crate) fn against_gap(figures: &Figures) -> Result<Vec<Markup>, String> {
    let kinds: [(&str, Gap); 5] = [
        ("a region after the program has done nothing", |case| case.gap().filter(|_| case != Case::IdleAsleep)),
        ("the start of a task after there was nothing to do", Case::wake_gap),
        ("a loop of 5 us after the program has done nothing", |case| gap_before(case, 5)),
        ("a loop of 50 us after the program has done nothing", |case| gap_before(case, 50)),
        ("a loop of 500 us after the program has done nothing", |case| gap_before(case, 500)),
    ];
    let mut charts = Vec::new();
    for (what, gap) in kinds {
        let Some(threads) =
            figures.groups().into_iter().filter(|(case, _)| gap(*case).is_some()).map(|(_, threads)| threads).max()
        else {
            continue;
        };
        let cases: Vec<(Case, f64)> =
            Case::ALL.iter().filter_map(|case| Some((*case, gap(*case)?.as_nanos() as f64))).collect();
        let points =
            |runtime| points(figures, cases.iter().map(|(case, gap)| (Key { case: *case, threads, runtime }, *gap)));
        let lines = lines(points);
        let gaps: Vec<f64> = lines.iter().flat_map(|(_, positions)| positions.iter().map(|(gap, _)| *gap)).collect();
        let x = Axis::log("nothing to do for", label_of(Unit::Nanoseconds), &gaps)
            .with_ticks(cases.iter().map(|(_, gap)| *gap).collect());
        let name = format!("{what}, {threads} threads: lower is better");
        charts.push(Lines { name, x, y_title: "time", lines }.chart()?);
    }
    Ok(charts)
}

/// The gap before a loop that takes so many microseconds on one thread.
fn gap_before(case: Case, work: u64) -> Option<Duration> {
    case.cold_loop().filter(|cold| cold.work == Duration::from_micros(work)).map(|cold| cold.gap)
}

/// Time against the size of the team, for cases that were measured at two sizes or more.
pub(crate) fn against_threads(figures: &Figures) -> Result<Vec<Markup>, String> {
    let mut charts = Vec::new();
    for case in [Case::Region, Case::Reduce, Case::Barrier] {
        let groups = figures.groups().into_iter();
        let sizes: Vec<usize> = groups.filter(|(of, _)| *of == case).map(|(_, threads)| threads).collect();
        if sizes.len() < 2 {
            continue;
        }
        let points = |runtime| {
            points(figures, sizes.iter().map(|threads| (Key { case, threads: *threads, runtime }, *threads as f64)))
        };
        let written: Vec<f64> = sizes.iter().map(|threads| *threads as f64).collect();
        let x = Axis::log("threads of the team", |threads| format!("{threads:.0}"), &written).with_ticks(written);
        let name = format!("{} ({}) against the size of the team: lower is better", case.name(), case.help());
        charts.push(Lines { name, x, y_title: "time", lines: lines(points) }.chart()?);
    }
    Ok(charts)
}

fn points(figures: &Figures, keys: impl Iterator<Item = (Key, f64)>) -> Vec<Position> {
    keys.filter_map(|(key, x)| Some((x, figures.value(key)?.median))).collect()
}

/// Those runtimes that have points.
fn lines(points: impl Fn(RuntimeId) -> Vec<Position>) -> Vec<(RuntimeId, Vec<Position>)> {
    let lines = RuntimeId::ALL.iter().map(|runtime| (*runtime, points(*runtime)));
    lines.filter(|(_, positions)| !positions.is_empty()).collect()
}

impl Lines {
    fn chart(self) -> Result<Markup, String> {
        let values: Vec<f64> =
            self.lines.iter().flat_map(|(_, positions)| positions.iter().map(|(_, value)| *value)).collect();
        let y = Axis::log(self.y_title, label_of(Unit::Nanoseconds), &values);
        let frame = Frame { x: self.x, y, size: SIZE, left: 66, right: 124 };
        let drawn = chart::draw(&self.name, &frame, |plane| paint(plane, &self.lines))?;
        Ok(html! { figure { figcaption { (self.name) } (drawn) } })
    }
}

/// hive's on top of the others, which come later in the list.
fn paint(plane: &mut Plane<'_, '_>, lines: &[(RuntimeId, Vec<Position>)]) -> Painted {
    for (runtime, positions) in lines.iter().rev() {
        plane.draw_series([chart::line(positions.clone(), *runtime)])?;
        positions.iter().try_for_each(|position| chart::mark(plane, *position, palette::look(*runtime)))?;
    }
    let end = |(runtime, positions): &(RuntimeId, Vec<Position>)| {
        Some(End { name: runtime.name(), colour: palette::look(*runtime).colour, position: *positions.last()? })
    };
    name_ends(plane, lines.iter().filter_map(end).collect(), SIZE.1)
}

/// Where a line ends, and what is written there.
pub(crate) struct End {
    pub(crate) name: &'static str,
    pub(crate) colour: Colour,
    pub(crate) position: Position,
}

/// Writes each line's name at the right edge, level with the line's last point if there is room, and joins the two by a
/// thin stroke. `height`: of the chart, in pixels.
pub(crate) fn name_ends(plane: &mut Plane<'_, '_>, mut ends: Vec<End>, height: u32) -> Painted {
    let place = |end: &End| plane.backend_coord(&end.position).1;
    ends.sort_by_key(place);
    let heights: Vec<i32> = ends.iter().map(place).collect();
    let (top, bottom) = (0, i32::try_from(height).unwrap_or(i32::MAX) - 50);
    let moved = apart(&heights, top + NAME_HEIGHT, bottom);
    let right = plane.x_range().end;
    for ((End { name, colour, position }, was), is) in ends.into_iter().zip(heights).zip(moved) {
        let (x, _) = plane.backend_coord(&(right, position.1));
        let along = x - plane.backend_coord(&position).0;
        let connector = PathElement::new(vec![(6, 0), (along + 6, is - was), (along + 14, is - was)], colour.rgb());
        plane.draw_series([EmptyElement::at(position) + connector])?;
        chart::words(plane, position, name, (along + 18, is - was), HPos::Left)?;
    }
    Ok(())
}

/// Ascending heights, moved as little as need be so that they lie apart and within the bounds where there is room.
fn apart(heights: &[i32], top: i32, bottom: i32) -> Vec<i32> {
    let mut moved = heights.to_vec();
    for place in 0..moved.len() {
        let least = if place == 0 { top } else { moved[place - 1] + NAME_HEIGHT };
        moved[place] = moved[place].max(least);
    }
    for place in (0..moved.len()).rev() {
        let most = if place + 1 == moved.len() { bottom } else { moved[place + 1] - NAME_HEIGHT };
        moved[place] = moved[place].min(most);
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures::tests::record;

    #[test]
    fn names_lie_apart() {
        assert_eq!(apart(&[50, 52, 200], 0, 400), [50, 66, 200]);
        assert_eq!(apart(&[380, 395, 396], 0, 400), [368, 384, 400]);
        assert_eq!(apart(&[], 0, 400), [0; 0]);
    }

    #[test]
    fn gaps_and_sizes_make_charts() {
        let of = |case, threads| record(Key { case, threads, runtime: RuntimeId::Hive }, 0, &[40.0], &[]);
        let records = [
            of(Case::Idle2ms, 2),
            of(Case::Idle20ms, 2),
            of(Case::Region, 1),
            of(Case::Region, 2),
            of(Case::Barrier, 2),
        ];
        let figures = Figures::of(&records);
        assert_eq!(against_gap(&figures).unwrap().len(), 1);
        let sizes = against_threads(&figures).unwrap();
        assert_eq!(sizes.len(), 1);
        assert!(sizes[0].0.contains("threads of the team"), "{}", sizes[0].0);
    }
}
