//! A picture of the machine: boxes within boxes, and on each CPU its place in the order of use.

use maud::{Markup, html};

use super::boxes::Part;
use crate::system::machine::Machine;
use crate::system::topology::{Cache, Place};

/// A CPU's place in the order of use, and where it is.
type Slot<'a> = (usize, &'a Place);

/// What makes CPUs belong together, from the outside in: a name, and the CPUs that share it. `None` where the machine
/// does not say.
type Level = fn(&Place) -> Option<String>;

const LEVELS: [Level; 6] = [
    |place| place.package.map(|package| format!("package {package}")),
    |place| place.node.map(|node| format!("NUMA node {node}")),
    |place| shared_cache(place, 4),
    |place| shared_cache(place, 3),
    |place| shared_cache(place, 2),
    core,
];

/// A cache gets a box only if several cores share it. Other caches are named on their core.
fn shared_cache(place: &Place, level: usize) -> Option<String> {
    let cache = place.caches.iter().find(|cache| cache.level == level && cache.cpus != place.core)?;
    Some(format!("{} of CPUs {}", cache_name(cache), cache.cpus))
}

fn core(place: &Place) -> Option<String> {
    let own = place.caches.iter().filter(|cache| cache.cpus == place.core).map(cache_name);
    let name = format!("core of {}", place.core);
    Some(std::iter::once(name).chain(own).collect::<Vec<_>>().join(", "))
}

fn cache_name(cache: &Cache) -> String {
    let kibibytes = cache.size.strip_suffix('K').and_then(|size| size.parse::<usize>().ok());
    let whole = kibibytes.filter(|size| size % 1024 == 0);
    let size = whole.map_or_else(|| cache.size.clone(), |size| format!("{}M", size / 1024));
    format!("L{} {size}", cache.level)
}

fn cpu(cpu: usize, thread_id: usize) -> Part {
    Part::Cell { title: format!("CPU {cpu}"), note: format!("thread {thread_id}"), class: "cpu" }
}

fn parts(slots: &[Slot<'_>], levels: &[Level]) -> Vec<Part> {
    let Some((level, inner)) = levels.split_first() else {
        return slots.iter().map(|(thread_id, place)| cpu(place.cpu, *thread_id)).collect();
    };
    let mut groups: Vec<(Option<String>, Vec<Slot<'_>>)> = Vec::new();
    for slot in slots {
        let name = level(slot.1);
        match groups.iter_mut().find(|(of, _)| *of == name) {
            Some((_, threads)) => threads.push(*slot),
            None => groups.push((name, vec![*slot])),
        }
    }
    let group = |(name, slots): (Option<String>, Vec<Slot<'_>>)| match name {
        Some(name) => vec![Part::group(name, Vec::new(), parts(&slots, inner))],
        None => parts(&slots, inner),
    };
    groups.into_iter().flat_map(group).collect()
}

pub(crate) fn picture(machine: &Machine) -> Markup {
    let bare: Vec<Place> = machine.cpus.iter().map(|cpu| Place { cpu: *cpu, ..Place::default() }).collect();
    let is_known = machine.topology.len() == machine.cpus.len();
    // Files of earlier builds say which CPUs there are and nothing else.
    let (places, levels) = if is_known { (&machine.topology, &LEVELS[..]) } else { (&bare, &[][..]) };
    let slots: Vec<Slot<'_>> = places.iter().enumerate().collect();
    let whole = Part::group(machine.processor.clone(), Vec::new(), parts(&slots, levels));
    let (width, height) = whole.size();
    let (width, height) = (width + 2, height + 2);
    html! {
        svg.machine role="img" viewBox=(format!("0 0 {width} {height}")) width=(width) height=(height) {
            title { "The CPUs of the machine in the order of use, and what they share" }
            (whole.draw((1, 1)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(cpu: usize, core: &str, node: usize) -> Place {
        let cache = |level, size: &str, cpus: &str| Cache { level, size: size.to_owned(), cpus: cpus.to_owned() };
        let caches = vec![
            cache(1, "32K", core),
            cache(2, "1024K", core),
            cache(3, "32768K", if node == 0 { "0-3" } else { "4-7" }),
        ];
        Place { cpu, core: core.to_owned(), caches, node: Some(node), package: Some(0) }
    }

    fn drawn(topology: Vec<Place>) -> String {
        let cpus = [0, 2, 4, 1].to_vec();
        picture(&Machine { processor: "a processor".to_owned(), cpus, topology, ..Machine::default() }).into_string()
    }

    #[test]
    fn boxes_lie_in_boxes() {
        let text = drawn(vec![place(0, "0-1", 0), place(2, "2-3", 0), place(4, "4-5", 1), place(1, "0-1", 0)]);
        let count = |part: &str| text.matches(part).count();
        assert_eq!(
            (count("package 0"), count("NUMA node"), count("core of"), count("class=\"cpu\"")),
            (1, 2, 3, 4),
            "{text}"
        );
        assert!(text.contains("L3 32M of CPUs 0-3") && text.contains("core of 0-1, L1 32K, L2 1M"), "{text}");
        assert!(text.contains("CPU 1") && text.contains("thread 3"), "{text}");
    }

    #[test]
    fn a_machine_of_which_little_is_known_is_a_row_of_cpus() {
        let text = drawn(Vec::new());
        assert_eq!((text.matches("class=\"cpu\"").count(), text.matches("class=\"group\"").count()), (4, 1), "{text}");
    }
}
