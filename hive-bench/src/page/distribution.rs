//! The raw samples of hive and its best rivals: the share of the samples that are at most so long.

use maud::{Markup, html};

use super::axis::{Axis, label_of, title_of};
use super::chart::{self, Frame};
use super::palette;
use crate::catalog::{Case, RuntimeId, Unit};
use crate::record::{Outcome, Run};
use crate::report::figures::Figures;
use crate::report::ranking::best_rivals;
use crate::stats::quantiles;

const SIZE: (u32, u32) = (620, 304);
/// More lines would hide each other.
const RIVALS: usize = 4;
/// The most points of a line. A page with all samples would be too large.
const POINTS: usize = 60;
/// Marks on a line, so that one can tell it apart without its colour.
const MARKS: usize = 4;

/// `None` if there are too few samples.
pub(crate) fn chart(run: &Run, figures: &Figures, case: Case, threads: usize) -> Option<Result<Markup, String>> {
    let lines: Vec<(RuntimeId, Vec<f64>)> = shown(figures, case, threads)
        .into_iter()
        .map(|runtime| (runtime, samples(run, case, threads, runtime)))
        .collect();
    let lines: Vec<_> = lines.into_iter().filter(|(_, samples)| samples.len() > 1).collect();
    if lines.is_empty() {
        return None;
    }
    Some(draw(case, threads, &lines))
}

/// hive's own, then the best of the others.
fn shown(figures: &Figures, case: Case, threads: usize) -> Vec<RuntimeId> {
    let own = figures.runtimes(case, threads).into_iter().filter(|runtime| runtime.is_hive());
    own.chain(best_rivals(figures, case, threads).into_iter().map(|(rival, _)| rival).take(RIVALS)).collect()
}

/// Of all rounds.
fn samples(run: &Run, case: Case, threads: usize, runtime: RuntimeId) -> Vec<f64> {
    let wanted =
        run.records.iter().filter(|record| (record.case, record.threads, record.runtime) == (case, threads, runtime));
    let samples = wanted.filter_map(|record| match &record.outcome {
        Outcome::Measured(measured) => Some(measured.samples.iter().copied()),
        Outcome::Failed(_) => None,
    });
    samples.flatten().collect()
}

fn draw(case: Case, threads: usize, lines: &[(RuntimeId, Vec<f64>)]) -> Result<Markup, String> {
    let unit = case.unit();
    let name = format!("{} of {threads}: distribution of the raw samples, further left is better", case.name());
    let all: Vec<f64> = lines.iter().flat_map(|(_, samples)| samples.iter().copied()).collect();
    let title = format!("{} of a sample; further left is better", title_of(unit));
    let x = match unit {
        Unit::Nanoseconds | Unit::Regions => Axis::log(&title, label_of(unit), &all),
        Unit::PercentOfCpu => Axis::linear(&title, label_of(unit), &all),
    };
    let y = Axis::linear("share of the samples", label_of(Unit::PercentOfCpu), &[98.0])
        .with_ticks(vec![0.0, 25.0, 50.0, 75.0, 100.0]);
    let frame = Frame { x, y, size: SIZE, left: 66, right: 30 };
    let drawn = chart::draw(&name, &frame, |plane| {
        for (runtime, samples) in lines.iter().rev() {
            let curve = curve(samples);
            let look = palette::look(*runtime);
            let every = curve.len().div_ceil(MARKS);
            plane.draw_series([chart::line(curve.clone(), *runtime)])?;
            curve.iter().skip(every / 2).step_by(every).try_for_each(|position| chart::mark(plane, *position, look))?;
        }
        Ok(())
    })?;
    let runtimes: Vec<RuntimeId> = lines.iter().map(|(runtime, _)| *runtime).collect();
    Ok(html! { (drawn) (chart::legend(&runtimes)) })
}

/// From 0 to 100 percent of the samples.
fn curve(samples: &[f64]) -> Vec<chart::Position> {
    let points = samples.len().clamp(2, POINTS);
    let share = |point: usize| point as f64 / (points - 1) as f64;
    let shares: Vec<f64> = (0..points).map(share).collect();
    quantiles(samples, &shares).into_iter().zip(&shares).map(|(value, share)| (value, 100.0 * share)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::results::tests::run;

    #[test]
    fn a_curve_rises_from_the_least_to_the_most() {
        let many: Vec<f64> = (0..10_000).map(f64::from).rev().collect();
        let curve = curve(&many);
        assert_eq!((curve.len(), curve[0], curve[POINTS - 1]), (POINTS, (0.0, 0.0), (9999.0, 100.0)));
        assert!(curve.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1));
    }

    #[test]
    fn samples_of_all_rounds_are_shown_for_hive_and_its_rivals() {
        let run = run();
        let figures = Figures::of(&run.records);
        assert_eq!(shown(&figures, Case::Region, 2), [RuntimeId::Hive, RuntimeId::Libomp]);
        assert_eq!(samples(&run, Case::Region, 2, RuntimeId::Libomp), [500.0; 3]);
        assert!(chart(&run, &figures, Case::Barrier, 2).is_none());
    }
}
