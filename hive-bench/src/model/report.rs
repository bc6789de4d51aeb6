//! The predictions as text.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};

use super::crossover::{self, Crossover, FIGURES, Figure};
use super::forecast::Forecast;
use super::predict::Prediction;
use super::shape::Shape;
use crate::catalog::Unit;
use crate::report::tables::tick;

/// A table for each figure, and below it which shape is ahead from which size on.
pub(super) fn text(forecast: &Forecast) -> String {
    let mut text = format!("{}\nround trips: {}\n{}\n", forecast.machine, forecast.latency, steps(forecast));
    let shapes = shapes(&forecast.predictions);
    for figure in FIGURES {
        let _ = write!(text, "\n{}\n{}\n", figure.0, table(&forecast.predictions, &shapes, figure));
        for crossover in crossover::all(&forecast.predictions, &shapes, figure) {
            let _ = writeln!(text, "{}", sentence(&crossover));
        }
    }
    text
}

fn steps(forecast: &Forecast) -> String {
    let [call, part] = [forecast.costs.call, forecast.costs.part].map(|cost| cost as f64 / 1000.0);
    format!(
        "steps of a region beside its lines: {call:.1} ns of the queen, {part:.1} ns of a bee ({})",
        forecast.steps_from
    )
}

/// Those that were asked for, in the order of the predictions.
fn shapes(predictions: &[Prediction]) -> Vec<Shape> {
    let first = predictions.first().map(|one| one.bees);
    predictions.iter().filter(|one| Some(one.bees) == first).map(|one| one.shape).collect()
}

fn table(predictions: &[Prediction], shapes: &[Shape], figure: Figure) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_header(std::iter::once("bees").chain(shapes.iter().map(|shape| shape.name())));
    for row in predictions.chunks(shapes.len().max(1)) {
        let cells = row.iter().map(|one| tick_of(figure.1(one)));
        table.add_row(row.first().map(|one| one.bees.to_string()).into_iter().chain(cells));
    }
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table
}

/// With few digits: three are already more than the model knows.
fn tick_of(nanoseconds: f64) -> String {
    let unit = 10_f64.powf((nanoseconds.max(1.0).log10() - 2.0).floor());
    tick((nanoseconds / unit).round() * unit, Unit::Nanoseconds)
}

fn sentence(crossover: &Crossover) -> String {
    let Crossover { ahead, behind, after, from, factor } = crossover;
    let since = match after {
        Some(after) => format!("from {from} bees on (not at {after})"),
        None => format!("at all sizes, from {from} on"),
    };
    format!("  {} is ahead of {} {since}, by {factor:.1} times at the most bees", ahead.name(), behind.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::costs::Costs;

    fn forecast() -> Forecast {
        let prediction = |(bees, shape, region)| Prediction {
            bees,
            shape,
            region,
            fork: 1.0,
            join: 2.0,
            barrier: 3.0,
            cold_wake: 4000.0,
            crossings: 0,
            back_off: 0.0,
        };
        let predictions =
            [(2, Shape::Flat, 60.0), (2, Shape::Node, 60.0), (64, Shape::Flat, 12_345.0), (64, Shape::Node, 1000.0)];
        let predictions = predictions.map(prediction).to_vec();
        Forecast {
            machine: "pack:2".to_owned(),
            latency: "far=2".to_owned(),
            costs: Costs::default(),
            steps_from: "nowhere",
            predictions,
        }
    }

    #[test]
    fn tables_say_who_is_ahead() {
        let text = text(&forecast());
        assert!(
            text.contains("pack:2") && text.contains("12.3 us") && text.contains("9.0 ns of a bee (nowhere)"),
            "{text}"
        );
        assert!(text.contains("node is ahead of flat from 64 bees on (not at 2), by 12.3 times"), "{text}");
    }
}
