//! The verdict: the table of the text report, with each ratio drawn beside its figures.

use maud::{Markup, html};

use crate::standing::{HEADER, LEGEND, Standing, Standings, TITLE, Word};
use crate::stats::Spread;

/// Of the drawn ratio, in pixels; its ends are this many times as fast, or as slow.
const WIDTH: f64 = 180.0;
const END: f64 = 64.0;

pub(super) fn section(standings: &Standings) -> Markup {
    html! {
        section #verdict {
            h2 { "Verdict: " (TITLE) }
            @if standings.0.is_empty() {
                p { "hive had no rival in this run." }
            } @else {
                p.sentence { (standings.sentence()) }
                div.wide { (table(standings)) }
                p.legend { (LEGEND) }
            }
        }
    }
}

fn table(standings: &Standings) -> Markup {
    html! {
        table {
            thead { tr { @for title in HEADER { th { (title) } } th { "ratio, 1/64 to 64; left is better for hive" } } }
            tbody {
                @for standing in &standings.0 {
                    tr class=(class(standing.word)) {
                        @for (place, cell) in standing.cells().iter().enumerate() {
                            @if place == 0 { td { a href={ "#" (standing.case.name()) } { (cell) } } } @else { td { (cell) } }
                        }
                        td { @if let Some(ratio) = standing.ratio { (strip(standing, ratio)) } }
                    }
                }
            }
        }
    }
}

const fn class(word: Word) -> &'static str {
    match word {
        Word::Failed => "failed",
        Word::Behind => "behind",
        Word::NotTold => "not-told",
        Word::Level => "level",
        Word::Ahead => "ahead",
    }
}

/// The ratio as a dot, its middle half as a line, 1 in the middle.
fn strip(standing: &Standing, ratio: Spread) -> Markup {
    let place = |value: f64| {
        let share = value.clamp(1.0 / END, END).log(END);
        format!("{:.1}", WIDTH / 2.0 + share * (WIDTH / 2.0 - 6.0))
    };
    let told =
        format!("{} of {}: hive took {} times as long", standing.case.name(), standing.members, standing.cells()[5]);
    html! {
        svg.strip role="img" width=(WIDTH) height="16" viewBox=(format!("0 0 {WIDTH} 16")) {
            title { (told) }
            line.one x1=(WIDTH / 2.0) x2=(WIDTH / 2.0) y1="0" y2="16" {}
            line.half x1=(place(ratio.lower_quartile)) x2=(place(ratio.upper_quartile)) y1="8" y2="8" {}
            circle.dot cx=(place(ratio.median)) cy="8" r="4" {}
        }
    }
}
