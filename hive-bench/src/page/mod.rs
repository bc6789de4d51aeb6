//! The report as one page for a browser: text, tables and charts in a single file that needs nothing else.

mod axis;
mod bars;
mod boxes;
mod chart;
mod distribution;
mod lines;
mod machine;
mod palette;
mod ranking;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::catalog::Case;
use crate::record::Run;
use crate::report::figures::Figures;
use crate::report::notes::notes;
use crate::report::ranking::Ranking;
use crate::report::targets;

const STYLE: &str = include_str!("style.css");

/// The whole page. An error names the chart that could not be drawn.
pub(crate) fn page(run: &Run, figures: &Figures) -> Result<String, String> {
    let ranking = Ranking::of(figures);
    let (gaps, sizes, cases) = (lines::against_gap(figures)?, lines::against_threads(figures)?, cases(run, figures)?);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "hive beside its rivals, " (run.date) }
                style { (PreEscaped(STYLE)) (PreEscaped(palette::dark_rules())) }
            }
            body {
                header {
                    h1 { "hive beside its rivals" }
                    p.where {
                        (run.machine.processor) ", " (run.machine.system) ", "
                        time datetime=(run.date) { (run.date) }
                    }
                    (contents(!gaps.is_empty(), !sizes.is_empty()))
                }
                main {
                    (warnings(run))
                    (ranking::section(&ranking))
                    (targets(figures))
                    (machine(run))
                    @if !gaps.is_empty() {
                        section #gaps { h2 { "After idleness" } div.charts { @for chart in &gaps { (chart) } } }
                    }
                    @if !sizes.is_empty() {
                        section #sizes {
                            h2 { "Against the size of the team" }
                            div.charts { @for chart in &sizes { (chart) } }
                        }
                    }
                    section #cases { h2 { "Case by case" } (how_to_read()) @for case in &cases { (case) } }
                }
            }
        }
    };
    Ok(page.into_string())
}

fn contents(gaps: bool, sizes: bool) -> Markup {
    let entries = [
        ("#ranking", "Ranking", true),
        ("#targets", "Targets", true),
        ("#machine", "Machine and build", true),
        ("#gaps", "After idleness", gaps),
        ("#sizes", "Size of the team", sizes),
        ("#cases", "Case by case", true),
    ];
    html! {
        nav {
            @for (target, name, _) in entries.into_iter().filter(|(_, _, there)| *there) { a href=(target) { (name) } }
        }
    }
}

/// What went wrong or disturbed the run. It comes first, because a reader has to know it before any figure.
fn warnings(run: &Run) -> Markup {
    let notes = notes(run);
    html! {
        @for note in &notes {
            @let class = if note.starts_with("failed") { "note failed" } else { "note" };
            p class=(class) role="alert" { (note) }
        }
    }
}

fn targets(figures: &Figures) -> Markup {
    html! {
        section #targets {
            h2 { "What hive promises" }
            pre { (targets::text(figures)) }
        }
    }
}

fn machine(run: &Run) -> Markup {
    let percent =
        run.disturbance.stolen_percent.map_or_else(|| "not known".to_owned(), |stolen| format!("{stolen:.2} %"));
    let load = run.disturbance.load_before.map_or_else(|| "not known".to_owned(), |load| format!("{load:.2}"));
    let rounds = run.records.iter().map(|record| record.round + 1).max().unwrap_or(0);
    html! {
        section #machine {
            h2 { "Machine and build" }
            div.wide { (machine::picture(&run.machine)) }
            dl {
                dt { "command line" } dd { code { (run.command_line.join(" ")) } }
                dt { "hive" } dd { (run.build.hive) }
                dt { "OpenMP compiled by" } dd { (run.build.openmp) }
                dt { "measured" } dd { (run.records.len()) " processes in up to " (rounds) " rounds" }
                dt { "load before the run" } dd { (load) }
                dt { "CPU time that others got" } dd { (percent) }
            }
            details { summary { "What hive makes of this machine" } pre { (run.machine.hive_report) } }
        }
    }
}

fn how_to_read() -> Markup {
    html! {
        p {
            "Bars are medians over the rounds, and their whiskers the middle half of the rounds. Lines show the raw \
             samples of all rounds, of hive and its best rivals: how many percent of them are at most so long. A \
             runtime has the same colour and mark everywhere; those of hive are blue."
        }
    }
}

/// A part of the page for each case that was run.
fn cases(run: &Run, figures: &Figures) -> Result<Vec<Markup>, String> {
    let groups = figures.groups();
    let case = |case: Case, sizes: &mut dyn Iterator<Item = usize>| -> Result<Markup, String> {
        let groups = sizes.map(|threads| group(run, figures, case, threads)).collect::<Result<Vec<_>, _>>()?;
        Ok(html! {
            article id=(case.name()) {
                h3 { (case.name()) small { (case.help()) } }
                @for group in &groups { (group) }
            }
        })
    };
    let of_one_case = groups.chunk_by(|(one, _), (other, _)| one == other);
    of_one_case.map(|groups| case(groups[0].0, &mut groups.iter().map(|(_, threads)| *threads))).collect()
}

/// One case at one size: the figures, and the samples beside them.
fn group(run: &Run, figures: &Figures, case: Case, threads: usize) -> Result<Markup, String> {
    let bars = bars::chart(figures, case, threads).transpose()?;
    let distribution = distribution::chart(run, figures, case, threads).transpose()?;
    let of = if threads == 1 { "a team of one".to_owned() } else { format!("a team of {threads}") };
    Ok(html! {
        div.charts {
            @match bars {
                Some(bars) => figure { figcaption { (case.name()) ", " (of) ": median and middle half" } (bars) },
                None => p.note.failed { (case.name()) ", " (of) ": all failed" },
            }
            @if let Some(distribution) = distribution {
                figure { figcaption { (case.name()) ", " (of) ": all samples" } (distribution) }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Outcome;
    use crate::record::results::tests::run;

    fn page_of(run: &Run) -> String {
        page(run, &Figures::of(&run.records)).unwrap()
    }

    #[test]
    fn a_page_has_all_parts_and_nothing_from_elsewhere() {
        let text = page_of(&run());
        for part in [
            "hive beside its rivals",
            "hive is ahead in 1",
            "region, a team of 2",
            "libomp",
            "What hive promises",
            "CPU 1",
        ] {
            assert!(text.contains(part), "{part} is missing");
        }
        assert_eq!(text.replace("http://www.w3.org/2000/svg", "").matches("http").count(), 0);
        assert!(!text.contains("<script") && !text.contains("<link") && !text.contains("url("));
    }

    #[test]
    fn trouble_stands_in_boxes_and_text_is_escaped() {
        let mut run = run();
        run.disturbance.load_before = Some(3.0);
        run.records[0].outcome = Outcome::Failed("1 < 2".to_owned());
        let text = page_of(&run);
        assert!(text.contains("class=\"note failed\" role=\"alert\">failed: hive region of 2: 1 &lt; 2"), "{text}");
        assert!(text.contains("not idle before the run"), "{text}");
    }

    #[test]
    fn a_case_that_failed_altogether_is_named() {
        let mut run = run();
        run.records.iter_mut().for_each(|record| record.outcome = Outcome::Failed("gone".to_owned()));
        assert!(page_of(&run).contains("region, a team of 2: all failed"));
    }
}
