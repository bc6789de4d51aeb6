//! `crowd`: what ordinary programs get, alone and beside other programs: how many loops a second, and how long the
//! slowest take.

pub(crate) mod busy;
pub(crate) mod runner;

use std::time::{Duration, SystemTime};
use std::{iter, thread};

use clap::{Args, value_parser};
use serde::{Deserialize, Serialize};

use crate::catalog::{RuntimeId, named, names};
use crate::kernels::roots;
use crate::report::tables::{aligned, number, or_dash};
use crate::run::own_process;
use crate::run::rounds::{self, Rounds};
use crate::runtimes::{self, openmp};
use crate::stats::median;
use crate::system::exit::{Failure, Outcome, fine_if};
use crate::system::quota::Quota;
use crate::system::{cpus, machine};
use runner::{Job, Measured};

/// Until all processes of a scene run and their teams are there.
const START: Duration = Duration::from_millis(200);

/// In CPUs.
const QUOTA: f64 = 1.5;

/// What is measured, and for how long.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Run loops for so long in each measurement
    #[arg(long, value_name = "S", default_value = "1", value_parser = seconds)]
    seconds: f64,
    /// Measure everything this often
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = value_parser!(u16).range(1..))]
    rounds: u16,
    /// Run loops that take so many microseconds on one thread
    #[arg(long, value_name = "US,...", value_delimiter = ',', default_value = "10,100")]
    #[arg(value_parser = value_parser!(u32).range(1..=1_000_000))]
    work: Vec<u32>,
    /// Measure only in these scenes [default: all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    scene: Vec<Scene>,
}

/// Seconds as typed, such as `1` or `0.2`.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0 && *seconds <= 3600.0);
    seconds.ok_or_else(|| "name seconds above 0, up to 3600, such as 1 or 0.2".to_owned())
}

/// A scene and a length of work in microseconds, with what was measured in each round, a figure for each way.
type Row = rounds::Row<(Scene, u32), Measured>;

/// Measures and prints. A way that fails in a scene does not keep the others from being measured.
pub(crate) fn main(arguments: &Arguments) -> Outcome {
    let second = cpus::in_order_of_use().get(1).copied();
    let rows = rows(arguments, second).map_err(Failure::Usage)?;
    let ways = Way::present();
    // Once for all: a process that found it out by itself, beside others, would run a shorter loop.
    let indices_a_ms = roots::count_for(Duration::from_millis(1));
    let indices = |us: u32| (indices_a_ms as u64 * u64::from(us)).div_ceil(1000) as usize;
    let rounds = Rounds { rounds: arguments.rounds, each: START + Duration::from_secs_f64(arguments.seconds) };
    let name = |(scene, us): (Scene, u32), way: Way| format!("{}: {} of {us} us", way.name(), scene.name());
    let (rows, fine) = rounds.measure(rows, &ways, name, |(scene, us), way| {
        let job = Job {
            way,
            threads: (scene == Scene::Eight).then_some(8),
            indices: indices(us),
            serial: if scene == Scene::Serial { indices(20) } else { 0 },
            begin: SystemTime::now() + START,
            seconds: arguments.seconds,
        };
        measure(scene, &job, second)
    });
    print!("{}", text(&machine::processor(), &ways, &rows));
    fine_if(fine)
}

/// The scenes and lengths of work. An error names the flag.
fn rows(arguments: &Arguments, second: Option<usize>) -> Result<Vec<(Scene, u32)>, String> {
    let can = |scene: &Scene| match scene {
        scene if scene.binds_busy() && second.is_none() => Err("this process may use one CPU only".to_owned()),
        Scene::Quota => Quota::new(QUOTA).map(drop),
        _ => Ok(()),
    };
    let wanted: Vec<_> = if arguments.scene.is_empty() {
        Scene::ALL.iter().copied().filter(|scene| can(scene).is_ok()).collect()
    } else {
        let or_why = |scene: &Scene| can(scene).map_err(|error| format!("--scene {}: {error}", scene.name()));
        arguments.scene.iter().map(|scene| or_why(scene).map(|()| *scene)).collect::<Result<_, _>>()?
    };
    Ok(wanted.iter().flat_map(|&scene| arguments.work.iter().map(move |&us| (scene, us))).collect())
}

/// Has one job done, by as many processes at once as the scene wants, beside a busy one if it wants that.
fn measure(scene: Scene, job: &Job, second: Option<usize>) -> Result<Measured, String> {
    let _quota = if scene == Scene::Quota { Some(Quota::new(QUOTA)?) } else { None };
    let has_busy = scene == Scene::Free || scene.binds_busy();
    let all = || {
        let library: Vec<_> = job.way.rival().and_then(openmp::preloaded).into_iter().collect();
        thread::scope(|scope| {
            let ask = || own_process::ask("crowd-runner", job, &library, job.seconds);
            let processes = if scene == Scene::Two { 2 } else { 1 };
            let started: Vec<_> = iter::repeat_with(|| scope.spawn(ask)).take(processes).collect();
            let ended = started.into_iter().map(|one| one.join().unwrap_or_else(|_| Err("a panic".to_owned())));
            ended.collect::<Result<Vec<Measured>, String>>()
        })
    };
    busy::beside(has_busy.then(|| second.filter(|_| scene.binds_busy())), all).map(|all| together(&all))
}

/// What several processes get: the loops of all, and the slow ones of the one that has the slowest.
fn together(all: &[Measured]) -> Measured {
    Measured {
        loops_a_second: all.iter().map(|one| one.loops_a_second).sum(),
        p999_us: all.iter().map(|one| one.p999_us).fold(0.0, f64::max),
    }
}

named! {
    /// What else goes on.
    Scene {
        Alone "alone" "Nothing";
        Bound "bound" "A busy process, bound to the second CPU";
        Free "free" "A busy process, bound to no CPU";
        Two "two" "A second process that measures the same; the figure is the sum of both";
        Eight "eight" "Nothing, but the team has eight threads";
        Quota "quota" "A quota of 1.5 CPUs, by a control group; left out where this process cannot make one";
        Serial "serial" "20 us of serial work between loops, beside a busy process that is bound to the second CPU";
    }
}

impl Scene {
    /// Whether there is a busy process that is bound to the second CPU.
    const fn binds_busy(self) -> bool {
        matches!(self, Self::Bound | Self::Serial)
    }
}

names! {
    /// Who runs the loop, and by which call.
    #[derive(Serialize, Deserialize)]
    Way {
        Plain "plain";
        Rayon "rayon";
        ParFor "par_for";
        ParReduce "par_reduce";
        Spmd "spmd";
        ParForUnbound "par_for unbound";
        ForkUnion "forkunion";
        Libgomp "libgomp";
        Libomp "libomp";
    }
}

impl Way {
    /// All that this build and this machine have, in the order of columns.
    pub(super) fn present() -> Vec<Self> {
        let is_there = |way: &Self| way.rival().is_none_or(|runtime| runtimes::availability(runtime).is_ok());
        Self::ALL.iter().copied().filter(is_there).collect()
    }

    /// The runtime that may be missing.
    fn rival(self) -> Option<RuntimeId> {
        match self {
            Self::ForkUnion => Some(RuntimeId::ForkUnion),
            Self::Libgomp => Some(RuntimeId::Libgomp),
            Self::Libomp => Some(RuntimeId::Libomp),
            _ => None,
        }
    }
}

/// A row for each scene and length of work, and a column for each way.
fn text(machine: &str, ways: &[Way], rows: &[Row]) -> String {
    let header = ["scene", "us", "loops/s"].into_iter().chain(ways.iter().map(|way| way.name())).map(str::to_owned);
    let cells = rows.iter().map(|((scene, us), rounds)| {
        let references: Vec<f64> = rounds.iter().filter_map(|round| reference(ways, round)).collect();
        let reference = or_dash(median(&references).map(|rate| format!("{rate:.0}")));
        let cells = (0..ways.len()).map(|way| cell(ways, way, rounds));
        [scene.name().to_owned(), us.to_string(), reference].into_iter().chain(cells).collect::<Vec<_>>()
    });
    format!(
        "loops a second on {machine}, as a multiple of the better of plain loop and Rayon (loops/s), and in brackets \
         the us that 99.9 % of the loops do not exceed; medians over the rounds\n{}\n",
        aligned(header, cells, &[0]).trim_fmt()
    )
}

/// Loops a second of the better of plain loop and Rayon in one round.
fn reference(ways: &[Way], round: &[Option<Measured>]) -> Option<f64> {
    let rates = ways.iter().zip(round).filter(|(way, _)| matches!(way, Way::Plain | Way::Rayon));
    rates.filter_map(|(_, measured)| measured.map(|one| one.loops_a_second)).reduce(f64::max)
}

/// A multiple is taken within its round, because the machine is not the same in all of them.
fn cell(ways: &[Way], way: usize, rounds: &[Vec<Option<Measured>>]) -> String {
    let figures = rounds.iter().filter_map(|round| {
        let Measured { loops_a_second, p999_us } = round[way]?;
        Some((loops_a_second / reference(ways, round)?, p999_us))
    });
    let (multiples, slow): (Vec<f64>, Vec<f64>) = figures.unzip();
    let middle = median(&multiples).zip(median(&slow));
    or_dash(middle.map(|(multiple, slow)| format!("{multiple:.2} ({})", number(slow))))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn check(line: &[&str], cpus: &[usize]) -> Result<Vec<(Scene, u32)>, String> {
        let line = iter::once("crowd").chain(line.iter().copied());
        let arguments = Line::try_parse_from(line).map_err(|error| error.to_string())?.arguments;
        rows(&arguments, cpus.get(1).copied())
    }

    #[test]
    fn a_row_for_each_scene_and_length() {
        let all = check(&[], &[0, 1]).unwrap();
        assert_eq!(all.iter().filter(|(scene, _)| *scene != Scene::Quota).count(), 12);
        assert!(check(&[], &[0]).unwrap().iter().all(|(scene, _)| !scene.binds_busy()));
        let chosen = check(&["--scene", "two,serial", "--work", "5"], &[0, 1]);
        assert_eq!(chosen, Ok(vec![(Scene::Two, 5), (Scene::Serial, 5)]));
        assert_eq!(check(&["--scene=free", "--work=1,2"], &[0]), Ok(vec![(Scene::Free, 1), (Scene::Free, 2)]));
    }

    #[test]
    fn what_cannot_be_done_is_refused_with_what_can() {
        let refused = |line: &[&str], parts: &[&str]| {
            let error = check(line, &[0]).unwrap_err();
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        };
        refused(&["--scene", "crowded"], &["--scene", "crowded", "alone", "serial"]);
        refused(&["--scene", "bound"], &["--scene bound", "one CPU"]);
        refused(&["--work", "0"], &["--work", "1.."]);
        refused(&["--rounds", "0"], &["--rounds"]);
        for wrong in ["0", "nan", "inf", "long"] {
            refused(&["--seconds", wrong], &["--seconds", "such as 1 or 0.2"]);
        }
    }

    #[test]
    fn two_processes_are_added_up() {
        let [one, other] =
            [(10.0, 5.0), (20.0, 4.0)].map(|(loops_a_second, p999_us)| Measured { loops_a_second, p999_us });
        assert_eq!(together(&[one, other]), Measured { loops_a_second: 30.0, p999_us: 5.0 });
        assert_eq!(together(&[one]), one);
    }

    #[test]
    fn the_better_of_two_is_one_in_every_round() {
        let ways = [Way::Plain, Way::Rayon, Way::ParFor, Way::Spmd];
        let one = |loops_a_second| Some(Measured { loops_a_second, p999_us: 12.34 });
        let rounds = vec![
            vec![one(100.0), one(50.0), one(90.0), None],
            vec![one(100.0), one(200.0), one(220.0), None],
            vec![None, one(400.0), one(480.0), None],
        ];
        let text = text("a machine", &ways, &[((Scene::Bound, 10), rounds)]);
        assert!(text.lines().next().is_some_and(|line| line.contains("a machine")), "{text}");
        let last = text.lines().last().unwrap_or_default();
        let words: Vec<_> = last.split_whitespace().collect();
        let expected = ["bound", "10", "200", "0.75", "(12.3)", "1.00", "(12.3)", "1.10", "(12.3)", "-"];
        assert_eq!(words, expected, "{text}");
    }
}
