//! What is in effect, in words.

use std::fmt;
use std::time::Duration;

use crate::build_info;
use crate::colony::Colony;
use crate::config::Config;
use crate::topology::{Machine, Source, Unit};
use crate::trace::{Log, MOST_ENTRIES, Tracer};

/// What is in effect in one hive at one moment, as lines of text. Comes from [`Hive::report`](crate::Hive::report), and of several
/// hives from [`Hives::report`](crate::Hives::report); print it.
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
    lines: Vec<(&'static str, String)>,
    warnings: Vec<String>,
}

impl Report {
    pub(crate) fn new(lines: Vec<(&'static str, String)>, warnings: Vec<String>) -> Self {
        Self { lines, warnings }
    }

    pub(crate) fn of(colony: &Colony) -> Self {
        let mut lines = vec![
            ("hive", build_info().to_string()),
            ("members", members(colony)),
            ("machine", machine(&colony.habitat.machine)),
            ("allowed CPUs", colony.habitat.machine.mask().to_string()),
            ("CPU quota", colony.habitat.quota.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string)),
            ("usable CPUs", usable(colony)),
            ("pinned to", pinned(colony)),
            ("places", places(colony)),
            ("barriers", colony.shaping.to_string()),
            ("waiting", waiting(&colony.config)),
        ];
        lines.extend(colony.tracer().map(|tracer| ("tracing", tracing(colony, tracer))));
        let mut warnings = colony.habitat.warnings.clone();
        warnings.extend(colony.shaping.warning.clone());
        if !colony.is_forked() {
            warnings.extend(colony.troubles());
        } else {
            warnings.push("this process was forked from the one that made this hive, and has none of its threads".to_owned());
        }
        Self::new(lines, warnings)
    }

    /// What was not as it should be: values that were ignored, places that could not be had, things that could not be read.
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

fn members(colony: &Colony) -> String {
    let (bees, max_bees, untucked) = (colony.crew.bees(), colony.config.max_bees, colony.crew.untucked());
    format!("{bees}, the queen among them; may grow to {max_bees}; {untucked} surplus bees still on a core")
}

fn machine(machine: &Machine) -> String {
    let count = |unit: Unit| {
        let count = machine.count(unit);
        format!("{count} {}{}", unit.name(), if count == 1 { "" } else { "s" })
    };
    let source = match machine.source() {
        Source::Hwloc { version } => format!("read by hwloc {version}"),
        Source::Flat => "a flat list: hwloc is not in use".to_owned(),
    };
    let units = [Unit::Core, Unit::Cluster, Unit::Node, Unit::Package].map(count).join(", ");
    format!("{} CPUs in {units}; {}{source}", machine.cpus().len(), kinds(machine))
}

/// Which CPUs are of faster and slower kinds of cores, if that is known and there are several.
fn kinds(machine: &Machine) -> String {
    match &machine.kinds()[..] {
        [] | [_] => String::new(),
        [fastest, slower @ ..] => {
            let slower = slower.iter().map(|cpus| format!(", then {cpus}")).collect::<String>();
            format!("fastest cores: CPUs {fastest}{slower}; ")
        }
    }
}

fn usable(colony: &Colony) -> String {
    let habitat = &colony.habitat;
    let usable = habitat.usable_cpus();
    let limit = if usable < habitat.machine.cpus().len() { "by the quota, rounded down" } else { "by the mask" };
    format!("{usable}, {limit}")
}

fn pinned(colony: &Colony) -> String {
    let by_default = if colony.housing.by_default { " (by default)" } else { "" };
    let binding = &colony.housing.binding;
    let shrink = colony.config.shrink;
    let order = if binding.has_hive_s_order() { format!("; order to shrink in: {shrink}") } else { String::new() };
    format!("{binding}{by_default}{order}")
}

/// The first few members' places: a report is read by people.
fn places(colony: &Colony) -> String {
    const SHOWN: u32 = 64;
    let bees = colony.crew.bees();
    let place = |member: u32| match colony.housing.of(member as usize) {
        Some(_) if member == 0 && !colony.config.pin_queen => "queen not bound".to_owned(),
        Some(place) => format!("{member} on {place}"),
        None if member == 0 => "queen not bound".to_owned(),
        None => format!("{member} not bound"),
    };
    let shown = (0..bees.min(SHOWN)).map(place).collect::<Vec<_>>().join("; ");
    if bees > SHOWN { format!("{shown}; and {} more", bees - SHOWN) } else { shown }
}

fn waiting(config: &Config) -> String {
    let spin = config.spin;
    let polls = if spin == Duration::MAX { "polls without end".to_owned() } else { format!("polls for {spin:?}, then sleeps") };
    let looks = config.poll.map_or_else(String::new, |every| format!(", and looks for work every {every:?}"));
    let watched =
        config.watchdog.map_or_else(String::new, |limit| format!("; regions that do not get on for {limit:?} are reported"));
    format!("{polls} by {:?}{looks}{watched}", config.sleep)
}

fn tracing(colony: &Colony, tracer: &Tracer) -> String {
    let all = |count: fn(&Log) -> usize| colony.crew.logs().map(count).sum::<usize>();
    let (kept, dropped) = (all(Log::len), all(Log::dropped));
    let file = tracer.path().display();
    format!("to {file}; {kept} events so far, {dropped} dropped, of up to {MOST_ENTRIES} a member")
}
