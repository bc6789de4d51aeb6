//! A picture of curves: several charts of time against something, each with a named line for each shape.

use maud::{PreEscaped, html};
use plotters::prelude::*;

use crate::catalog::Unit;
use crate::page::axis::{Axis, label_of};
use crate::page::chart::{self, Frame, Painted, Plane, Position};
use crate::page::lines::{self, End};
use crate::page::palette;

const SIZE: (u32, u32) = (560, 360);
/// The height of the text above a chart, and above all charts.
const CAPTION: u32 = 30;

/// One chart.
pub(crate) struct Curves {
    pub(crate) name: &'static str,
    pub(crate) x_title: &'static str,
    /// Nanoseconds over a number, from left to right.
    pub(crate) lines: Vec<(&'static str, Vec<Position>)>,
}

/// All charts, two beside each other, as an SVG file. An error names the chart that could not be drawn.
pub(crate) fn picture(title: &str, charts: &[Curves]) -> Result<String, String> {
    let (width, height) = (SIZE.0 * 2, CAPTION + charts.len().div_ceil(2) as u32 * (SIZE.1 + CAPTION));
    let drawn = charts.iter().map(Curves::chart).collect::<Result<Vec<_>, _>>()?;
    let picture = html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(width) height=(height)
            viewBox=(format!("0 0 {width} {height}")) font-family="sans-serif" {
            rect width="100%" height="100%" fill="white" {}
            text x="12" y="22" font-size="15" { (title) }
            @for (place, (curves, chart)) in charts.iter().zip(drawn).enumerate() {
                @let left = (place as u32 % 2) * SIZE.0;
                @let top = CAPTION + place as u32 / 2 * (SIZE.1 + CAPTION);
                text x=(left + 80) y=(top + 22) font-size="17" font-weight="bold" { (curves.name) }
                svg x=(left) y=(top + CAPTION) width=(SIZE.0) height=(SIZE.1) { (PreEscaped(chart)) }
            }
        }
    };
    Ok(picture.into_string() + "\n")
}

impl Curves {
    fn chart(&self) -> Result<String, String> {
        let of = |part: fn(&Position) -> f64| {
            self.lines.iter().flat_map(|(_, positions)| positions.iter().map(part)).collect::<Vec<f64>>()
        };
        let (xs, ys) = (of(|position| position.0), of(|position| position.1));
        let x = Axis::log(self.x_title, |value| format!("{value:.0}"), &xs).with_ticks(powers_of_two(&xs));
        let y = Axis::log("time", label_of(Unit::Nanoseconds), &ys);
        let frame = Frame { x, y, size: SIZE, left: 66, right: 90 };
        chart::draw(self.name, &frame, |plane| self.paint(plane)).map(|chart| chart.into_string())
    }

    /// The first line is drawn on top of the others.
    fn paint(&self, plane: &mut Plane<'_, '_>) -> Painted {
        for (place, (_, positions)) in self.lines.iter().enumerate().rev() {
            let look = palette::by_number(place);
            plane.draw_series([PathElement::new(positions.clone(), look.colour.rgb().stroke_width(2))])?;
            positions.iter().try_for_each(|position| chart::mark(plane, *position, look))?;
        }
        let end = |(place, (name, positions)): (usize, &(&'static str, Vec<Position>))| {
            Some(End { name, colour: palette::by_number(place).colour, position: *positions.last()? })
        };
        lines::name_ends(plane, self.lines.iter().enumerate().filter_map(end).collect(), SIZE.1)
    }
}

/// The ticks that lie among the values.
fn powers_of_two(values: &[f64]) -> Vec<f64> {
    let (least, most) =
        (values.iter().copied().fold(f64::INFINITY, f64::min), values.iter().copied().fold(0.0, f64::max));
    (0..40).map(|power| 2_f64.powi(power)).filter(|value| (least..=most).contains(value)).collect()
}
