//! `crowd`: what ordinary programs get, alone and beside other programs: how many loops a second, and how long the
//! slowest take.

pub(crate) mod busy;
pub(crate) mod runner;
mod scene;
mod table;

use std::iter;
use std::thread;
use std::time::{Duration, SystemTime};

use clap::{Args, ValueEnum, value_parser};

use crate::kernels::roots;
use crate::system::exit::{Failure, Outcome, fine_if};
use crate::system::machine::{self, Machine};
use crate::system::{cpus, progress, start};
use busy::Busy;
use runner::{Job, Measured};
use scene::{Scene, Way};

/// Until all processes of a scene run and their teams are there.
const START: Duration = Duration::from_millis(200);
/// The order within a round, the same from run to run.
const SEED: u64 = 7;

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
    #[arg(
        long,
        value_name = "US,...",
        value_delimiter = ',',
        default_value = "10,100",
        value_parser = value_parser!(u32).range(1..=1_000_000)
    )]
    work: Vec<u32>,
    /// Measure only in these scenes [default: all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    scene: Vec<Scene>,
}

/// Seconds as typed, such as `1` or `0.2`.
fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0 && *seconds <= 3600.0);
    seconds.ok_or_else(|| "name seconds above 0, up to 3600, such as 1 or 0.2".to_owned())
}

/// A scene and a length of work, with what was measured in each round, a figure for each way.
struct Row {
    scene: Scene,
    work_us: u32,
    rounds: Vec<Vec<Option<Measured>>>,
}

/// Measures and prints. A way that fails in a scene does not keep the others from being measured.
pub(crate) fn main(arguments: &Arguments) -> Outcome {
    let (mut rows, second) = rows(arguments, &cpus::in_order_of_use()).map_err(Failure::Usage)?;
    let ways = Way::present();
    // Once for all: a process that found it out by itself, beside others, would run a shorter loop.
    let indices_a_ms = roots::count_for(Duration::from_millis(1));
    let measurements = rows.len() * ways.len() * usize::from(arguments.rounds);
    let expected = (START + Duration::from_secs_f64(arguments.seconds)) * measurements as u32;
    eprintln!("{measurements} measurements take about {} s", expected.as_secs() + 1);
    let bar = progress::bar(measurements, expected);
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut order: Vec<usize> = (0..ways.len()).collect();
    let mut fine = true;
    for _ in 0..arguments.rounds {
        for row in &mut rows {
            let mut round = vec![None; ways.len()];
            random.shuffle(&mut order);
            for &way in &order {
                bar.set_message(format!("{}: {} of {} us", ways[way].name(), row.scene.name(), row.work_us));
                let indices = |us: u32| (indices_a_ms as u64 * u64::from(us)).div_ceil(1000) as usize;
                let job = Job {
                    way: ways[way],
                    threads: row.scene.threads(),
                    indices: indices(row.work_us),
                    serial: indices(row.scene.serial_us()),
                    begin: SystemTime::now() + START,
                    seconds: arguments.seconds,
                };
                match measure(row.scene, &job, second) {
                    Ok(measured) => round[way] = Some(measured),
                    Err(error) => {
                        fine = false;
                        let (way, scene) = (ways[way].name(), row.scene.name());
                        bar.suspend(|| eprintln!("{way} in the scene {scene}: {error}"));
                    }
                }
                bar.inc(1);
            }
            row.rounds.push(round);
        }
    }
    bar.finish_and_clear();
    print!("{}", table::text(&Machine::read_name(), &ways, &rows));
    fine_if(fine)
}

/// The rows, still empty, and the second CPU if there is one. An error names the flag.
fn rows(arguments: &Arguments, cpus: &[usize]) -> Result<(Vec<Row>, Option<usize>), String> {
    let second = cpus.get(1).copied();
    let wanted = if arguments.scene.is_empty() { Scene::value_variants() } else { &arguments.scene };
    if let Some(scene) = wanted.iter().find(|scene| scene.binds_busy() && second.is_none()) {
        return Err(format!("--scene {}: this process may use one CPU only, and there is no second", scene.name()));
    }
    let of_scene = |scene: &Scene| {
        let scene = *scene;
        arguments.work.iter().map(move |&work_us| Row { scene, work_us, rounds: Vec::new() })
    };
    Ok((wanted.iter().flat_map(of_scene).collect(), second))
}

/// Has one job done, by as many processes at once as the scene wants, beside a busy one if it wants that.
fn measure(scene: Scene, job: &Job, second: Option<usize>) -> Result<Measured, String> {
    let mut busy = None;
    if scene.has_busy() {
        busy = Some(Busy::start(second.filter(|_| scene.binds_busy()))?);
    }
    let all: Result<Vec<Measured>, String> = thread::scope(|scope| {
        let started: Vec<_> = iter::repeat_with(|| scope.spawn(|| measure_one(job))).take(scene.processes()).collect();
        let ended = started.into_iter().map(|one| one.join().unwrap_or_else(|_| Err("a panic".to_owned())));
        ended.collect()
    });
    let all = all?;
    busy.as_mut().map_or(Ok(()), Busy::is_still_there)?;
    Ok(together(&all))
}

fn measure_one(job: &Job) -> Result<Measured, String> {
    let text = serde_json::to_string(job).map_err(|error| format!("cannot write the job: {error}"))?;
    // Far more than even threads need that wait for each other on too few CPUs.
    let limit = Duration::from_secs(20) + Duration::from_secs_f64(10.0 * job.seconds);
    let output = start::answer_of(&["crowd-runner".to_owned(), text], &[], limit * machine::runnable_per_cpu())?;
    serde_json::from_str(&output).map_err(|error| format!("the runner's answer cannot be read: {error}"))
}

/// What several processes get: the loops of all, and the slow ones of the one that has the slowest.
fn together(all: &[Measured]) -> Measured {
    Measured {
        loops_a_second: all.iter().map(|one| one.loops_a_second).sum(),
        p999_us: all.iter().map(|one| one.p999_us).fold(0.0, f64::max),
    }
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
        Ok(rows(&arguments, cpus)?.0.iter().map(|row| (row.scene, row.work_us)).collect())
    }

    #[test]
    fn a_row_for_each_scene_and_length() {
        assert_eq!(check(&[], &[0, 1]).map(|rows| rows.len()), Ok(12));
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
        refused(&["--scene", "bound"], &["--scene bound", "second"]);
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
}
