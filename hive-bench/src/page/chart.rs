//! What all charts have in common: a frame with axes, a name for readers who cannot see it, and the runtimes' lines and
//! marks.

use std::io;

use maud::{Markup, PreEscaped, html};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::Axis;
use super::palette::{self, GRID, INK, Look, Mark};
use crate::catalog::RuntimeId;

/// What is drawn on: places are those of the axes.
pub(crate) type Plane<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;
pub(crate) type Painted = Result<(), DrawingAreaErrorKind<io::Error>>;
/// A place on a chart.
pub(crate) type Position = (f64, f64);

/// Text in pixels of the chart.
const TEXT: f64 = 15.5;

/// The size of a chart, and what lies around its plane, in pixels.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) size: (u32, u32),
    /// Left of the plane, for the labels of its y axis or for names.
    pub(crate) left: u32,
    /// Right of the plane, for what is written beside the figures.
    pub(crate) right: u32,
}

/// A chart as part of the page.
pub(crate) fn draw(
    name: &str,
    frame: &Frame,
    paint: impl FnOnce(&mut Plane<'_, '_>) -> Painted,
) -> Result<Markup, String> {
    let mut text = String::new();
    let painted = with_plane(&mut text, frame, paint);
    painted.map_err(|error| format!("the chart {name:?} cannot be drawn: {error}"))?;
    let name = html! { title { (name) } }.into_string();
    let named = text.replacen("<svg ", "<svg role=\"img\" ", 1).replacen(">\n", &format!(">{name}\n"), 1);
    // Attributes with their default values are removed: they are a quarter of the text.
    Ok(PreEscaped(named.replace(" opacity=\"1\"", "").replace(" font-family=\"sans-serif\"", "")))
}

fn with_plane(text: &mut String, frame: &Frame, paint: impl FnOnce(&mut Plane<'_, '_>) -> Painted) -> Painted {
    let root = SVGBackend::with_string(text, frame.size).into_drawing_area();
    let mut plane = ChartBuilder::on(&root)
        .margin(6)
        .margin_right(frame.right)
        .x_label_area_size(40)
        .y_label_area_size(frame.left)
        .build_cartesian_2d(frame.x.clone(), frame.y.clone())?;
    let grid = GRID.rgb();
    let mut mesh = plane.configure_mesh();
    mesh.axis_style(grid).bold_line_style(grid).light_line_style(TRANSPARENT).max_light_lines(0);
    mesh.label_style(font()).axis_desc_style(font());
    mesh.x_desc(&frame.x.title).y_desc(&frame.y.title).draw()?;
    paint(&mut plane)?;
    root.present()
}

fn font() -> TextStyle<'static> {
    ("sans-serif", TEXT).into_font().color(&INK.rgb())
}

/// Words at a distance in pixels from a position.
pub(crate) fn words(plane: &mut Plane<'_, '_>, at: Position, text: &str, offset: (i32, i32), side: HPos) -> Painted {
    let style = font().pos(Pos::new(side, VPos::Center));
    plane.draw_series([EmptyElement::at(at) + Text::new(text.to_owned(), offset, style)]).map(drop)
}

/// A line through positions, hive's thicker than others'.
pub(crate) fn line(positions: Vec<Position>, runtime: RuntimeId) -> PathElement<Position> {
    let width = if runtime == RuntimeId::Hive { 3 } else { 2 };
    PathElement::new(positions, palette::look(runtime).colour.rgb().stroke_width(width))
}

/// A runtime's sign.
pub(crate) fn mark(plane: &mut Plane<'_, '_>, at: Position, look: Look) -> Painted {
    let (here, style) = (EmptyElement::at(at), look.colour.rgb().filled());
    let drawn = match look.mark {
        Mark::Circle => plane.draw_series([here + Circle::new((0, 0), 5, style)]),
        Mark::Square => plane.draw_series([here + Rectangle::new([(-4, -4), (4, 4)], style)]),
        Mark::Triangle => plane.draw_series([here + TriangleMarker::new((0, 0), 6, style)]),
        Mark::Diamond => plane.draw_series([here + Polygon::new([(0, -6), (6, 0), (0, 6), (-6, 0)], style)]),
        Mark::Cross => plane.draw_series([here + Cross::new((0, 0), 4, look.colour.rgb().stroke_width(3))]),
    };
    drawn.map(drop)
}

/// Which line is whose, below a chart.
pub(crate) fn legend(runtimes: &[RuntimeId]) -> Markup {
    html! {
        ul.legend {
            @for runtime in runtimes { li { (swatch(*runtime)) (runtime.name()) } }
        }
    }
}

fn swatch(runtime: RuntimeId) -> Markup {
    let look = palette::look(runtime);
    let colour = look.colour.name();
    html! {
        svg width="26" height="12" viewBox="0 0 26 12" aria-hidden="true" {
            line x1="0" y1="6" x2="26" y2="6" stroke=(colour) stroke-width="2" {}
            @match look.mark {
                Mark::Circle => circle cx="13" cy="6" r="5" fill=(colour) {},
                Mark::Square => rect x="9" y="2" width="8" height="8" fill=(colour) {},
                Mark::Triangle => polygon points="13,0 18,10 8,10" fill=(colour) {},
                Mark::Diamond => polygon points="13,0 19,6 13,12 7,6" fill=(colour) {},
                Mark::Cross => path d="M9 2 L17 10 M17 2 L9 10" stroke=(colour) stroke-width="3" {},
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Unit;
    use crate::page::axis::label_of;

    #[test]
    fn a_chart_is_named_and_has_its_axes() {
        let x = Axis::linear("use", label_of(Unit::PercentOfCpu), &[50.0]);
        let y = Axis::log("time", label_of(Unit::Nanoseconds), &[1.0, 1e6]);
        let frame = Frame { x, y, size: (300, 200), left: 60, right: 20 };
        let chart = draw("less < more", &frame, |plane| {
            RuntimeId::ALL.iter().try_for_each(|runtime| mark(plane, (10.0, 3.0), palette::look(*runtime)))
        });
        let text = chart.unwrap().into_string();
        assert!(text.contains("<title>less &lt; more</title>"), "{text}");
        for part in ["role=\"img\"", "10 us", "40 %", "use", "time", "<circle", "<polygon"] {
            assert!(text.contains(part), "{part} is missing: {text}");
        }
    }
}
