//! The report: which settings are in effect in a hive, as lines of text for people to read.
//!
//! [`Hive::report`](crate::pool::handle::Hive::report) makes one from the hive's shared state, and a hive set makes one
//! of its own with [`Report::new`]. Each function below writes one line.

use std::fmt;
use std::time::Duration;

use crate::observe::build_info::build_info;
use crate::observe::trace::Tracer;
use crate::observe::trace::log::{Log, MAX_ENTRIES as MAX_LOG_ENTRIES};
use crate::pool::builder::Builder;
use crate::pool::config::Config;
use crate::pool::error::FORKED;
use crate::pool::shared::Shared;
use crate::sys::affinity;
use crate::sys::cpu_mask::CpuMask;
use crate::topology::machine::{Machine, PlaceUnit};
use crate::topology::pinning;
use crate::topology::place_assignment::Place;

/// Which settings are in effect in one hive at one moment, as lines of text, for printing.
///
/// [`Hive::report`](crate::Hive::report) returns one for a hive, [`HiveSet::report`](crate::HiveSet::report) one for
/// several hives.
///
/// ```
/// let report = hive::global().report();
/// println!("{report}");
/// for warning in report.warnings() {
///     eprintln!("{warning}");
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Report {
    /// The name and the text of each line, in the order in which they are printed.
    lines: Vec<(&'static str, String)>,
    warnings: Vec<String>,
}

impl Report {
    pub(crate) fn new(lines: Vec<(&'static str, String)>, warnings: Vec<String>) -> Self {
        Self { lines, warnings }
    }

    /// The report of one hive.
    pub(crate) fn of(shared: &Shared) -> Self {
        let mut lines = vec![
            ("hive", build_info().to_string()),
            ("bees", bees_line(shared)),
            ("machine", machine_line(&shared.machine_info.machine)),
            ("allowed CPUs", shared.machine_info.machine.mask().to_string()),
            ("CPU quota", shared.machine_info.quota.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string)),
            ("usable CPUs", usable_cpus_line(shared)),
            ("pinned to", pinning_line(shared)),
            ("places", places_line(shared)),
            ("barriers", shared.barrier_choice.to_string()),
            ("waiting", waiting_line(&shared.config)),
        ];
        lines.extend(shared.tracer.as_ref().map(|tracer| ("tracing", tracing_line(shared, tracer))));
        let mut warnings = shared.machine_info.warnings.clone();
        if !shared.is_forked() {
            warnings.extend(shared.runtime_warnings());
        } else {
            warnings.push(FORKED.to_owned());
        }
        Self::new(lines, warnings)
    }

    /// The problems that hive has found: values that were ignored, places that were not available, files that could not
    /// be read.
    ///
    /// ```
    /// let hive = hive::Hive::builder().bees(1).trace("/no such folder/run.json").build()?;
    /// let report = hive.report();
    /// assert!(report.warnings().iter().any(|warning| warning.contains("/no such folder/run.json")));
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.lines {
            writeln!(f, "{:<14}{value}", format!("{name}:"))?;
        }
        if self.warnings.is_empty() {
            return writeln!(f, "{:<14}none", "warnings:");
        }
        self.warnings.iter().try_for_each(|warning| writeln!(f, "{:<14}{warning}", "warning:"))
    }
}

fn bees_line(shared: &Shared) -> String {
    let (bees, max_bees, pending_parks) = (shared.team.bees(), shared.config.max_bees, shared.team.pending_parks());
    format!("{bees}, the queen among them; may grow to {max_bees}; {pending_parks} surplus workers not parked yet")
}

fn machine_line(machine: &Machine) -> String {
    let count = |unit: PlaceUnit| {
        let count = machine.unit_count(unit);
        format!("{count} {}{}", unit.name(), if count == 1 { "" } else { "s" })
    };
    let units =
        [PlaceUnit::Cores, PlaceUnit::LlCaches, PlaceUnit::NumaDomains, PlaceUnit::Sockets].map(count).join(", ");
    format!("{} CPUs in {units}; {}{}", machine.cpus.len(), core_kinds(machine), machine.source)
}

/// Which CPUs belong to the faster and which to the slower kinds of cores. Empty if that is not known or if all cores
/// are of one kind.
fn core_kinds(machine: &Machine) -> String {
    match &machine.core_kinds()[..] {
        [] | [_] => String::new(),
        [fastest, slower @ ..] => {
            let slower = slower.iter().map(|cpus| format!(", then {cpus}")).collect::<String>();
            format!("fastest cores: CPUs {fastest}{slower}; ")
        }
    }
}

fn usable_cpus_line(shared: &Shared) -> String {
    let machine_info = &shared.machine_info;
    let usable = machine_info.usable_cpus();
    let limit = if usable < machine_info.machine.cpus.len() { "by the quota, rounded down" } else { "by the mask" };
    format!("{usable}, {limit}")
}

fn pinning_line(shared: &Shared) -> String {
    let place_map = &shared.place_map;
    let by_default = match (place_map.is_default, &place_map.taken) {
        (false, _) => "",
        (true, None) => " (by default)",
        (true, Some(taken)) => &format!(" (by default, since other hives or processes have CPUs {taken})"),
    };
    let binding = &place_map.binding;
    let shrink = shared.config.places.shrink;
    let order = if binding.is_ordered_by_hive() { format!("; order to shrink in: {shrink}") } else { String::new() };
    // All workers that may ever sleep unbound are allowed to when they start, and the first of them is bee 1.
    let may_be_unbound = shared.team.has_worker() && shared.team.sleep_binding(1).is_allowed();
    let asleep = if may_be_unbound { "; not while they sleep between short regions" } else { "" };
    format!("{binding}{by_default}{order}{asleep}")
}

/// The places of the bees. Only the first 64 are listed, since people read the report.
fn places_line(shared: &Shared) -> String {
    const SHOWN: u32 = 64;
    let bees = shared.team.bees();
    let place = |bee: u32| match shared.place_map.place_of(bee as usize) {
        Some(_) if bee == 0 && !shared.config.asked.pin_queen => "queen not bound".to_owned(),
        Some(place) => match mask_of_others(shared, bee, place) {
            Some(mask) => format!("{bee} on {place} by hive, but changed from outside to cpus {mask}"),
            None => format!("{bee} on {place}"),
        },
        None if bee == 0 => "queen not bound".to_owned(),
        None => format!("{bee} not bound"),
    };
    let shown = (0..bees.min(SHOWN)).map(place).collect::<Vec<_>>().join("; ");
    if bees > SHOWN { format!("{shown}; and {} more", bees - SHOWN) } else { shown }
}

/// What somebody else than hive has made of the mask of a bee that hive has bound to `place`. None: nothing, or that
/// cannot be known.
fn mask_of_others(shared: &Shared, bee: u32, place: &Place) -> Option<CpuMask> {
    if shared.is_forked() || place.is_foreign {
        return None;
    }
    if bee > 0 {
        return shared.team.sleep_binding(bee).mask_of_others();
    }
    // The queen's thread may have ended, unless it is this one.
    let mask = affinity::query().ok().filter(|_| pinning::bound_place().as_ref() == Some(place))?;
    (mask != place.mask()).then_some(mask)
}

fn waiting_line(config: &Config) -> String {
    let polls = match config.spin {
        Duration::MAX => "polls without end".to_owned(),
        spin if config.learns_to_poll => format!("polls for up to {spin:?}, as long as that pays, then sleeps"),
        spin => format!("polls for {spin:?}, then sleeps"),
    };
    let Builder { poll_interval, watchdog_limit, sleep, .. } = &config.asked;
    let tasks = poll_interval.map_or_else(String::new, |every| format!(", and polls for tasks every {every:?}"));
    let reported = |limit| format!("; regions that make no progress for {limit:?} are reported");
    format!("{polls} by {sleep:?}{tasks}{}", watchdog_limit.map_or_else(String::new, reported))
}

fn tracing_line(shared: &Shared, tracer: &Tracer) -> String {
    let all = |count: fn(&Log) -> usize| shared.team.logs().map(count).sum::<usize>();
    let (recorded, dropped) = (all(Log::len), all(Log::dropped));
    let file = tracer.path.display();
    format!("to {file}; {recorded} events so far, {dropped} dropped, of up to {MAX_LOG_ENTRIES} a bee")
}
