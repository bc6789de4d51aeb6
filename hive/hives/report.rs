//! What is in effect in several hives, in words.

use super::builder::unit_name;
use super::several::Hives;
use crate::build_info;
use crate::hive::Hive;
use crate::memory::memory_nodes;
use crate::report::Report;
use crate::topology::CpuMask;

pub(super) fn of(hives: &Hives) -> Report {
    let about = &hives.about;
    let all = format!("{}, one for each {}; {} members in all", hives.len(), unit_name(about.each), hives.bees());
    let mut lines = vec![("hive", build_info().to_string()), ("hives", all)];
    lines.extend((0..hives.len()).map(|number| ("hive", one(hives, number))));
    lines.push(("leaders", leaders(hives)));
    let without = memory_nodes().into_iter().filter(|node| !about.nodes.contains(&Some(*node))).collect::<CpuMask>();
    if !without.is_empty() {
        lines.push(("other memory", format!("nodes {without}, which no hive has for its own")));
    }
    Report::new(lines, warnings(hives))
}

/// One hive: "0: node 0, 4 members on CPUs 0-3; memory node 0".
fn one(hives: &Hives, number: usize) -> String {
    let (hive, unit) = (&hives[number], hives.about.units[number]);
    let cpus = hive.places().iter().flatten().flat_map(|place| place.cpus().to_vec()).collect::<CpuMask>();
    let node = hives.node(number).map_or_else(String::new, |node| format!("; memory node {node}"));
    let members = match hive.bees() {
        1 => "1 member".to_owned(),
        bees => format!("{bees} members"),
    };
    format!("{number}: {} {unit}, {members} on CPUs {cpus}{node}", unit_name(hives.about.each))
}

fn leaders(hives: &Hives) -> String {
    let is_bound = hives[0].colony.config.pin_queen;
    let queen = if is_bound { "the builder's thread, bound to hive 0's first place" } else { "the caller, not bound" };
    match hives.len() {
        1 => queen.to_owned(),
        _ => format!("{queen}; of the other hives bees, bound to their first places"),
    }
}

/// Those of each hive by its number, unless all hives have it.
fn warnings(hives: &Hives) -> Vec<String> {
    let of = |hive: &Hive| hive.report().warnings().to_vec();
    let every: Vec<_> = hives.iter().map(of).collect();
    let common: Vec<_> = every[0].iter().filter(|warning| every.iter().all(|own| own.contains(warning))).cloned().collect();
    let own = every.iter().enumerate().flat_map(|(number, own)| {
        let own = own.iter().filter(|warning| !common.contains(warning));
        own.map(move |warning| format!("hive {number}: {warning}"))
    });
    let leaders = of(&hives.leaders).into_iter().filter(|warning| !common.contains(warning));
    let leaders = leaders.map(|warning| format!("leaders: {warning}"));
    hives.about.warnings.iter().chain(&common).cloned().chain(own).chain(leaders).collect()
}
