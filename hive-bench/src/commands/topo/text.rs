//! The machine in words: a line for each part of it. The CPUs of a core are on the line of the core.

use std::fmt::Write;

use hive::Pin;

use super::bees::{Bees, State};
use super::map::{Kind, Map, Thing};

pub(super) fn all(map: &Map, bees: &Bees) -> String {
    let mut text = format!("{}\n", map.summary);
    write(&mut text, &map.root, 0, map, bees);
    let left_out: Vec<usize> = map.root.cpus().into_iter().filter(|cpu| !map.may_use(*cpu)).collect();
    let kinds = map.kinds.all().map(|(name, list)| (format!("{name} cores"), cpus(list.to_vec())));
    let lines = [
        ("bound to", bees.binding.clone()),
        ("bees", numbers(bees.awake())),
        ("parked", numbers(bees.parked())),
        ("not bound", numbers(bees.unbound())),
        ("left out by the mask", cpus(left_out)),
        ("switched off", cpus(map.offline.clone())),
    ];
    let lines = lines.map(|(name, value)| (name.to_owned(), value));
    for (name, value) in kinds.chain(lines).filter(|(_, value)| !value.is_empty()) {
        let _ = writeln!(text, "{name}: {value}");
    }
    for warning in &bees.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    text
}

fn write(text: &mut String, thing: &Thing, depth: usize, map: &Map, bees: &Bees) {
    let indent = "  ".repeat(depth);
    match thing {
        Thing::Cpu(number) => {
            let _ = writeln!(text, "{indent}{}", cpu(*number, map, bees));
        }
        Thing::Group { kind: Kind::Core, name, memory, parts } if memory.is_empty() => {
            let threads = parts.iter().flat_map(Thing::cpus).map(|number| cpu(number, map, bees));
            let _ = writeln!(text, "{indent}{name}: {}", threads.collect::<Vec<_>>().join("; "));
        }
        Thing::Group { name, memory, parts, .. } => {
            let _ = writeln!(text, "{indent}{name}");
            for node in memory {
                let _ = writeln!(text, "{indent}  {node}");
            }
            parts.iter().for_each(|part| write(text, part, depth + 1, map, bees));
        }
    }
}

fn cpu(number: usize, map: &Map, bees: &Bees) -> String {
    format!("CPU {number} {}", use_of(number, map, bees))
}

/// What a CPU is used for, in few words.
pub(crate) fn use_of(cpu: usize, map: &Map, bees: &Bees) -> String {
    if !map.may_use(cpu) {
        return "left out".to_owned();
    }
    match bees.on(cpu) {
        State::Bound(who) if who.len() > 1 => format!("bees {}", numbers(who)),
        State::Bound(who) => format!("bee {}", numbers(who)),
        State::Parked(who) if who.len() > 1 => format!("all parked {}", numbers(who)),
        State::Parked(who) => format!("parked {}", numbers(who)),
        State::Free => "free".to_owned(),
    }
}

fn numbers(bees: impl IntoIterator<Item = usize>) -> String {
    cpus(bees.into_iter().collect())
}

/// As hive writes lists of CPUs: `0-3,8`.
fn cpus(list: Vec<usize>) -> String {
    if list.is_empty() { String::new() } else { Pin::Cpus(list).to_string() }
}
