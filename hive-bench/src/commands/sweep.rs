//! `sweep`: loops of every length against the plain loop, to find the length at which hive is at its worst.

use std::hint::black_box;
use std::thread;
use std::time::Duration;

use clap::{Args, value_parser};
use hive::{Hive, Reduction};

use crate::kernels::roots::sum_of_indices;
use crate::measure::timing;
use crate::record::Budget;
use crate::report::tables::{aligned, number};
use crate::stats::median;
use crate::system::exit::{Failure, Outcome};
use crate::system::machine;

/// The calls, after the plain loop.
const CALLS: [&str; 2] = ["par_for", "par_reduce"];
/// The longest loop has two to the power of this many indices.
const MOST: u32 = 20;
/// What a call may take by itself, in nanoseconds: without this, the shortest loops would always be the worst.
const CALL_NS: f64 = 25.0;
/// Passes for each length, and as many times the usual samples after a pause.
const PASSES: usize = 4;

/// When loops are run.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Sleep for so many microseconds before each loop [default: loops are run back to back]
    #[arg(long, value_name = "US", value_parser = value_parser!(u32).range(1..=10_000_000))]
    pause: Option<u32>,
}

/// Nanoseconds of one length: of the plain loop, and of the calls.
struct Point {
    indices: usize,
    plain: f64,
    calls: [f64; CALLS.len()],
}

/// Measures and prints.
pub(crate) fn main(arguments: &Arguments) -> Outcome {
    let hive = Hive::builder().build().map_err(|error| Failure::Work(format!("no hive: {error}")))?;
    let pause = arguments.pause.map(|us| Duration::from_micros(us.into()));
    let points: Vec<Point> = (0..=MOST).map(|power| point(&hive, 1 << power, pause)).collect();
    let when = arguments.pause.map_or_else(|| "back to back".to_owned(), |us| format!("after {us} us of sleep each"));
    print!("{}", text(&machine::processor(), &when, &points));
    Ok(())
}

fn point(hive: &Hive, indices: usize, pause: Option<Duration>) -> Point {
    let sum = Reduction::unordered(0.0, |a, b| a + b);
    let run = |which: usize| match which {
        0 => {
            black_box(sum_of_indices(black_box(0..indices)));
        }
        1 => hive.par_for(black_box(0..indices), |range, _| {
            black_box(sum_of_indices(range));
        }),
        _ => {
            black_box(hive.par_reduce(black_box(0..indices), &sum, sum_of_indices));
        }
    };
    let [plain, calls @ ..] = match pause {
        None => timing::medians_in_turn(PASSES, |which, times| (0..times).for_each(|_| run(which))),
        Some(pause) => after_pauses(pause, run),
    };
    Point { indices, plain, calls }
}

/// Medians of single loops after a sleep, the plain one and the calls in turn.
fn after_pauses(pause: Duration, run: impl Fn(usize)) -> [f64; 1 + CALLS.len()] {
    let mut samples = [const { Vec::new() }; 1 + CALLS.len()];
    for _ in 0..PASSES * Budget::STANDARD.samples_after_gap(pause) as usize {
        for (which, samples) in samples.iter_mut().enumerate() {
            thread::sleep(pause);
            samples.push(timing::nanoseconds(|| run(which)));
        }
    }
    samples.map(|samples| median(&samples).unwrap_or(f64::NAN))
}

/// Without what a call may take by itself, as a multiple of the plain loop.
fn ratio(point: &Point, call: usize) -> f64 {
    (point.calls[call] - CALL_NS) / point.plain
}

/// Which call is at its worst, and where.
fn worst(points: &[Point]) -> Option<(usize, &Point)> {
    let all = points.iter().flat_map(|point| (0..CALLS.len()).map(move |call| (call, point)));
    all.max_by(|(call, point), (other, there)| ratio(point, *call).total_cmp(&ratio(there, *other)))
}

fn text(machine: &str, when: &str, points: &[Point]) -> String {
    let titles = ["indices", "plain"].into_iter().chain(CALLS.iter().flat_map(|call| [*call, "x plain"]));
    let header = titles.map(str::to_owned);
    let rows = points.iter().map(|point| {
        let calls = point.calls.iter().flat_map(|call| [number(*call), format!("{:.2}", call / point.plain)]);
        [point.indices.to_string(), number(point.plain)].into_iter().chain(calls)
    });
    let worst = worst(points).map_or_else(String::new, |(call, point)| {
        let (name, indices, times) = (CALLS[call], point.indices, ratio(point, call));
        format!("worst: {name} of {indices} indices takes {times:.2} times the plain loop and {CALL_NS} ns\n")
    });
    format!("nanoseconds of a loop on {machine}, {when}; medians\n{}\n{worst}", aligned(header, rows, &[]).trim_fmt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_says_where_it_is_worst() {
        let points = [
            // Nine times the plain loop, but most of it is the call.
            Point { indices: 1, plain: 3.0, calls: [28.0, 27.0] },
            Point { indices: 512, plain: 500.0, calls: [525.0, 775.0] },
            Point { indices: 4096, plain: 4000.0, calls: [5025.0, 2000.0] },
        ];
        let text = text("a machine", "back to back", &points);
        assert!(text.lines().next().is_some_and(|line| line.contains("a machine")), "{text}");
        assert!(text.contains("9.33") && text.lines().count() == 6, "{text}");
        assert_eq!(
            text.lines().last(),
            Some("worst: par_reduce of 512 indices takes 1.50 times the plain loop and 25 ns")
        );
        assert!(worst(&[]).is_none());
    }

    #[test]
    fn a_pause_is_before_each_loop() {
        let medians = after_pauses(Duration::from_micros(1), |_| ());
        assert!(medians.iter().all(|ns| ns.is_finite()), "{medians:?}");
    }
}
