//! Where and with what a run was made: the head of the report, and part of its file.

use std::num::NonZero;
use std::{fs, thread};

use serde::{Deserialize, Serialize};

use super::{cpus, start};

/// Where a run was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) system: String,
    /// The CPUs that this process may use, in the order of use.
    pub(crate) cpus: Vec<usize>,
    /// The report of a hive like those that are measured: places, mask, quota, warnings.
    pub(crate) hive_report: String,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Build {
    /// What hive itself says about its build.
    pub(crate) hive: String,
    pub(crate) commit: String,
    /// The C compiler of the OpenMP rival, or why there is none.
    pub(crate) openmp: String,
}

/// What else went on while a run was made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Disturbance {
    /// Runnable threads in the minute before the run, where the system says.
    pub(crate) load_before: Option<f64>,
    /// Share of the machine's time that the hypervisor gave to others during the run, in percent,
    /// where the system says.
    pub(crate) stolen_percent: Option<f64>,
}

impl Machine {
    pub(crate) fn read() -> Self {
        let cpus = cpus::in_order_of_use();
        let hive_report = start::ask("hive-report", &[]).unwrap_or_else(|error| error);
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let system = format!("{} {}", std::env::consts::OS, release.trim()).trim_end().to_owned();
        Self { processor: processor(), system, cpus, hive_report }
    }
}

impl Build {
    pub(crate) fn read() -> Self {
        let info = hive::build_info();
        let openmp = env!("HIVE_BENCH_BUILT_OPENMP").to_owned();
        Self { hive: info.to_string(), commit: info.commit.to_owned(), openmp }
    }
}

/// The processor's name alone.
pub(crate) fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name"));
    name.map_or_else(|| std::env::consts::ARCH.to_owned(), |name| name.trim_start_matches([' ', '\t', ':']).to_owned())
}

/// How many threads want to run for each CPU just now, 1 at least: so many times as long takes what would have the
/// machine to itself otherwise.
pub(crate) fn runnable_per_cpu() -> u32 {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let cpus = thread::available_parallelism().map_or(1, NonZero::get);
    runnable(&load).unwrap_or(1).div_ceil(cpus as u32).max(1)
}

/// The runnable threads by the fourth field of `/proc/loadavg`, such as `3/120`.
fn runnable(load: &str) -> Option<u32> {
    load.split_whitespace().nth(3)?.split_once('/')?.0.parse().ok()
}

/// Looks at the machine before a run, and what is returned looks at it afterwards.
pub(crate) fn watch() -> impl FnOnce() -> Disturbance {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load_before = load.split_whitespace().next().and_then(|first| first.parse().ok());
    let before = ticks();
    move || Disturbance { load_before, stolen_percent: before.zip(ticks()).and_then(stolen_percent) }
}

/// The machine's clock ticks so far: those that were stolen, and all.
fn ticks() -> Option<[u64; 2]> {
    parse_ticks(&fs::read_to_string("/proc/stat").ok()?)
}

/// The first line of /proc/stat: user nice system idle iowait irq softirq steal, then guest times, which are counted in
/// user.
fn parse_ticks(text: &str) -> Option<[u64; 2]> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line.split_whitespace().take(8).map_while(|field| field.parse().ok()).collect();
    Some([*ticks.get(7)?, ticks.iter().sum()])
}

fn stolen_percent((before, after): ([u64; 2], [u64; 2])) -> Option<f64> {
    let all = after[1].checked_sub(before[1]).filter(|all| *all > 0)?;
    Some(100.0 * after[0].checked_sub(before[0])? as f64 / all as f64)
}

impl Disturbance {
    /// What a reader of the tables must know about the run.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(load) = self.load_before.filter(|load| *load > 0.5) {
            warnings.push(format!("the machine was not idle before the run: load {load:.1}"));
        }
        if let Some(stolen) = self.stolen_percent.filter(|stolen| *stolen > 0.5) {
            warnings.push(format!("the hypervisor gave {stolen:.1}% of the CPU time to others during the run"));
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_a_share_of_all() {
        let before = parse_ticks("cpu  10 0 10 70 0 0 0 10 5 0\ncpu0 1 2").unwrap();
        let after = parse_ticks("cpu  20 0 20 130 0 0 0 30 5 0\n").unwrap();
        assert_eq!(stolen_percent((before, after)), Some(20.0));
        assert_eq!(stolen_percent((before, before)), None);
        assert_eq!(parse_ticks("cpu  1 2 3\n"), None);
    }

    #[test]
    fn who_wants_to_run_is_counted() {
        assert_eq!(runnable("0.20 0.18 0.12 23/480 11206\n"), Some(23));
        assert_eq!(runnable("0.20 0.18"), None);
        assert!(runnable_per_cpu() >= 1);
    }

    #[test]
    fn a_quiet_machine_gives_no_warning() {
        assert!(Disturbance::default().warnings().is_empty());
        let busy = Disturbance { load_before: Some(1.9), stolen_percent: Some(3.0) };
        assert_eq!(busy.warnings().len(), 2);
    }
}
