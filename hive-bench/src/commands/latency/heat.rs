//! The matrix of round trips as a heat map: a square for every pair, and the scale beside it.

use std::fmt::Write;

use maud::{Markup, html};

use super::Matrix;
use crate::catalog::Unit;
use crate::page::axis::{Axis, label_of};
use crate::page::picture;
use crate::report::tables::number;
use crate::system::distance::Distance;
use crate::system::topology::Place;

/// As many colours as one can tell apart on a scale. More would only make the file larger.
const STEPS: usize = 24;
/// From near to far, light to dark, so that it reads without colour, too.
const COLOURS: [(f64, f64, f64); 5] =
    [(252.0, 245.0, 200.0), (247.0, 190.0, 110.0), (226.0, 110.0, 90.0), (150.0, 45.0, 110.0), (45.0, 15.0, 80.0)];
/// Figures are written into squares up to this many CPUs; heads are written up to that many.
const WITH_FIGURES: usize = 24;
const WITH_HEADS: usize = 64;
/// The side of the plane, in pixels, for many CPUs.
const PLANE: usize = 800;
const MARGIN: usize = 60;
const SCALE: (usize, usize) = (22, 110);

/// The file of `--svg`.
pub(crate) fn picture(matrix: &Matrix, places: &[Place]) -> String {
    let count = matrix.cpus.len();
    let cell = if count <= WITH_FIGURES { 40.0 } else { PLANE as f64 / count as f64 };
    let side = (cell * count as f64).ceil() as usize;
    let values: Vec<f64> = matrix.pairs().map(|(row, column)| matrix.round_trip_ns[row][column]).collect();
    let axis = Axis::log("", label_of(Unit::Nanoseconds), &values);
    let drawn = html! {
        text.strong x="10" y="20" { "Round trip of a cache line, from CPU to CPU" }
        text.soft x="10" y="37" { (matrix.machine) }
        (squares(matrix, &axis, cell))
        (heads(matrix, cell))
        @if count <= WITH_FIGURES { (figures(matrix, &axis, cell)) }
        (borders(places, cell))
        @if !values.is_empty() { (scale(&axis, side)) }
    };
    let size = ((MARGIN + side + SCALE.0 + SCALE.1).max(340), (MARGIN + side).max(220) + 20);
    picture::file("Round trips of a cache line between CPUs, as a heat map", size, &drawn)
}

/// Which of the colours a value has.
fn step(axis: &Axis, value: f64) -> usize {
    ((axis.share(value) * STEPS as f64) as usize).min(STEPS - 1)
}

fn colour(step: usize) -> String {
    let place = step as f64 / (STEPS - 1) as f64 * (COLOURS.len() - 1) as f64;
    let (below, part) = ((place as usize).min(COLOURS.len() - 2), place.fract());
    let part = if place as usize == below { part } else { 1.0 };
    let (from, to) = (COLOURS[below], COLOURS[below + 1]);
    let mix = |from: f64, to: f64| (from + (to - from) * part).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
}

/// One path for each colour. An element for each square would be megabytes for two hundred CPUs.
fn squares(matrix: &Matrix, axis: &Axis, cell: f64) -> Markup {
    let mut paths = vec![String::new(); STEPS];
    for (row, column) in matrix.pairs().flat_map(|(row, column)| [(row, column), (column, row)]) {
        let path = &mut paths[step(axis, matrix.round_trip_ns[row][column])];
        let _ = write!(path, "M{column} {row}h1v1h-1z");
    }
    html! {
        g transform=(format!("translate({MARGIN} {MARGIN}) scale({cell:.4})")) shape-rendering="crispEdges" {
            @for (step, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
                path fill=(colour(step)) d=(path) {}
            }
        }
    }
}

/// The middle of a row or column.
fn middle(row: usize, cell: f64) -> f64 {
    ((row as f64 + 0.5) * cell + MARGIN as f64).round()
}

/// The numbers of the CPUs; with many of them, of some.
fn heads(matrix: &Matrix, cell: f64) -> Markup {
    let every = matrix.cpus.len().div_ceil(WITH_HEADS);
    html! {
        @for (row, cpu) in matrix.cpus.iter().enumerate().step_by(every) {
            @let place = middle(row, cell);
            text.soft x=(MARGIN - 6) y=(place + 4.0) text-anchor="end" { (cpu) }
            @if cell * every as f64 >= 24.0 {
                text.soft x=(place) y=(MARGIN - 6) text-anchor="middle" { (cpu) }
            } @else {
                text.soft transform=(format!("translate({} {}) rotate(-90)", place + 4.0, MARGIN - 6)) { (cpu) }
            }
        }
    }
}

fn figures(matrix: &Matrix, axis: &Axis, cell: f64) -> Markup {
    html! {
        @for (row, column) in matrix.pairs().flat_map(|(row, column)| [(row, column), (column, row)]) {
            @let value = matrix.round_trip_ns[row][column];
            text class=(if step(axis, value) > STEPS / 2 { "on-dark" } else { "on-light" })
                x=(middle(column, cell)) y=(middle(row, cell) + 4.0) text-anchor="middle" { (short(value)) }
        }
    }
}

/// At most four characters: in microseconds where nanoseconds have more figures.
fn short(nanoseconds: f64) -> String {
    match nanoseconds {
        10_000.0.. => format!("{:.0}us", nanoseconds / 1000.0),
        1000.0.. => format!("{:.0}", nanoseconds),
        value => number(value),
    }
}

/// Lines where the last-level cache changes, and thicker ones where the node does.
fn borders(places: &[Place], cell: f64) -> Markup {
    let side = cell * places.len() as f64;
    let (begin, end) = (MARGIN as f64, MARGIN as f64 + side);
    let border = |row: usize| {
        let width = match Distance::between(&places[row - 1], &places[row]) {
            Distance::Core | Distance::Cluster => return None,
            Distance::Node => 1,
            Distance::Package | Distance::Far => 3,
        };
        Some((begin + row as f64 * cell, width))
    };
    html! {
        rect.line x=(begin) y=(begin) width=(side) height=(side) {}
        @for (place, width) in (1..places.len()).filter_map(border) {
            path.line stroke-width=(width) style=(format!("stroke-width:{width}"))
                d=(format!("M{begin} {place:.1}H{end:.1}M{place:.1} {begin}V{end:.1}")) {}
        }
    }
}

/// The scale, far above near, with the values at its ticks.
fn scale(axis: &Axis, side: usize) -> Markup {
    let (left, height) = (MARGIN + side + SCALE.0, side.max(140));
    let up = |share: f64| MARGIN as f64 + height as f64 * (1.0 - share);
    let tall = height as f64 / STEPS as f64;
    html! {
        @for step in 0..STEPS {
            rect x=(left) y=(format!("{:.1}", up((step + 1) as f64 / STEPS as f64))) width=(SCALE.0)
                height=(format!("{:.1}", tall + 0.3)) fill=(colour(step)) {}
        }
        @for (value, label) in axis.labels() {
            @let place = up(axis.share(value));
            path.line d=(format!("M{} {place:.1}h6", left + SCALE.0)) {}
            text x=(left + SCALE.0 + 10) y=(format!("{:.1}", place + 4.0)) { (label) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::latency::tests::machine;

    #[test]
    fn near_is_light_and_far_is_dark() {
        assert_eq!((colour(0).as_str(), colour(STEPS - 1).as_str()), ("#fcf5c8", "#2d0f50"));
        let axis = Axis::log("", label_of(Unit::Nanoseconds), &[10.0, 1000.0]);
        assert_eq!((step(&axis, 1.0), step(&axis, 5000.0)), (0, STEPS - 1));
        assert!((STEPS / 2 - 1..=STEPS / 2).contains(&step(&axis, 100.0)));
    }

    #[test]
    fn a_large_machine_is_a_file_of_reasonable_size() {
        let (matrix, places) = machine(24);
        let text = picture(&matrix, &places);
        assert!(text.len() < 1_000_000, "{} bytes", text.len());
        // Three distances, so three colours of squares; too many for figures.
        assert_eq!(text.matches("h1v1h-1z\"").count(), 3);
        assert!(!text.contains("class=\"on-dark\""));
    }

    #[test]
    fn figures_fit_their_squares() {
        assert_eq!([9.123, 56.78, 230.4, 4321.0, 56_789.0].map(short), ["9.12", "56.8", "230", "4321", "57us"]);
    }
}
