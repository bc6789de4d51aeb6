//! The report of a hive set: what is in effect, in words.
//!
//! It has a line for the build, one for the set, one for each hive and one for the leaders, and the warnings of all
//! hives.

use crate::hives::hive_set::HiveSet;
use crate::memory::nodes::memory_nodes;
use crate::observe::build_info::build_info;
use crate::pool::handle::Hive;
use crate::pool::report::Report;
use crate::sys::cpu_mask::CpuMask;

impl HiveSet {
    /// What is in effect: the hives, their CPUs and bees, what was left out, and every warning of each hive. A hive's
    /// own [`Hive::report`] says more about that hive.
    ///
    /// ```
    /// println!("{}", hive::HiveSet::per_node()?.report());
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn report(&self) -> Report {
        let all = format!("{}, one for each {}; {} bees in all", self.len(), self.unit_kind.name(), self.bees());
        let mut lines = vec![("hive", build_info().to_string()), ("hives", all)];
        lines.extend((0..self.len()).map(|number| ("hive", hive_line(self, number))));
        lines.push(("leaders", leaders_line(self)));
        let other_nodes =
            memory_nodes().into_iter().filter(|node| !self.nodes.contains(&Some(*node))).collect::<CpuMask>();
        if !other_nodes.is_empty() {
            lines.push(("other memory", format!("nodes {other_nodes}, which no hive has for its own")));
        }
        Report::new(lines, warnings(self))
    }
}

/// The line of one hive, such as "0: node 0, 4 bees on CPUs 0-3; memory node 0".
fn hive_line(hives: &HiveSet, number: usize) -> String {
    let (hive, unit) = (&hives[number], hives.units[number]);
    let cpus = hive.places().iter().flatten().flat_map(|place| place.cpus().to_vec()).collect::<CpuMask>();
    let node = hives.node(number).map_or_else(String::new, |node| format!("; memory node {node}"));
    let bees = hive.bees();
    let plural = if bees == 1 { "" } else { "s" };
    format!("{number}: {} {unit}, {bees} bee{plural} on CPUs {cpus}{node}", hives.unit_kind.name())
}

/// The line that says which threads lead the hives and whether they are bound.
fn leaders_line(hives: &HiveSet) -> String {
    let is_queen_bound = hives[0].shared.config.asked.pin_queen;
    let queen =
        if is_queen_bound { "the builder's thread, bound to hive 0's first place" } else { "the caller, not bound" };
    let others = if hives.len() == 1 { "" } else { "; of the other hives bees, bound to their first places" };
    format!("{queen}{others}")
}

/// All warnings: first those of the set, then those that every hive has, then those of single hives and of the leaders,
/// each of these with the hive's number or "leaders" before it.
fn warnings(hives: &HiveSet) -> Vec<String> {
    let of = |hive: &Hive| hive.report().warnings().to_vec();
    let per_hive: Vec<_> = hives.iter().map(of).collect();
    // A warning that each of the hives has is listed once, without a number.
    let common: Vec<_> =
        per_hive[0].iter().filter(|warning| per_hive.iter().all(|own| own.contains(warning))).cloned().collect();
    let own = per_hive.iter().enumerate().flat_map(|(number, own)| {
        let own = own.iter().filter(|warning| !common.contains(warning));
        own.map(move |warning| format!("hive {number}: {warning}"))
    });
    let leaders = of(&hives.leaders).into_iter().filter(|warning| !common.contains(warning));
    let leaders = leaders.map(|warning| format!("leaders: {warning}"));
    hives.warnings.iter().chain(&common).cloned().chain(own).chain(leaders).collect()
}
