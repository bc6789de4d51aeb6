//! The ranking: the table of the text report, with each ratio drawn beside its figures.

use maud::{Markup, html};

use crate::report::ranking::{HEADER, LEGEND, Ranked, Ranking, Relation, TITLE};
use crate::stats::Spread;

/// The width of the drawn ratio in pixels, and the ratio at its right end.
const WIDTH: f64 = 180.0;
const END: f64 = 64.0;

pub(crate) fn section(ranking: &Ranking) -> Markup {
    html! {
        section #ranking {
            h2 { "Ranking: " (TITLE) }
            @if ranking.0.is_empty() {
                p { "hive had no rival in this run." }
            } @else {
                p.sentence { (ranking.sentence()) }
                div.wide { (table(ranking)) }
                p.legend { (LEGEND) " The drawn ratios go from 1/64 to 64." }
            }
        }
    }
}

fn table(ranking: &Ranking) -> Markup {
    html! {
        table {
            thead { tr { @for title in HEADER { th { (title) } } th { "ratio; left is better" } } }
            tbody {
                @for ranked in &ranking.0 {
                    tr class=(class(ranked.relation)) {
                        @for (place, cell) in ranked.cells().iter().enumerate() {
                            @if place == 0 {
                                td { a href={ "#" (ranked.case.name()) } { (cell) } }
                            } @else {
                                td { (cell) }
                            }
                        }
                        td { @if let Some(ratio) = ranked.ratio { (strip(ranked, ratio)) } }
                    }
                }
            }
        }
    }
}

const fn class(relation: Relation) -> &'static str {
    match relation {
        Relation::Failed => "failed",
        Relation::Behind => "behind",
        Relation::Inconclusive => "inconclusive",
        Relation::Level => "level",
        Relation::Ahead => "ahead",
    }
}

/// The ratio as a dot, its middle half as a line, 1 in the middle.
fn strip(ranked: &Ranked, ratio: Spread) -> Markup {
    let place = |value: f64| {
        let share = value.clamp(1.0 / END, END).log(END);
        format!("{:.1}", WIDTH / 2.0 + share * (WIDTH / 2.0 - 6.0))
    };
    let name = format!("{} of {}: hive took {} times as long", ranked.case.name(), ranked.threads, ranked.cells()[5]);
    html! {
        svg.strip role="img" width=(WIDTH) height="16" viewBox=(format!("0 0 {WIDTH} 16")) {
            title { (name) }
            line.one x1=(WIDTH / 2.0) x2=(WIDTH / 2.0) y1="0" y2="16" {}
            line.half x1=(place(ratio.lower_quartile)) x2=(place(ratio.upper_quartile)) y1="8" y2="8" {}
            circle.dot cx=(place(ratio.median)) cy="8" r="4" {}
        }
    }
}
