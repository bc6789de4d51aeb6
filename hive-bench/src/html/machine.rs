//! A picture of the machine: boxes within boxes, and on each CPU its place in the order of use.

use maud::{Markup, html};

use crate::machine::Machine;
use crate::topology::{Cache, Place};

const CPU: (usize, usize) = (78, 44);
const GAP: usize = 8;
const TITLE: usize = 20;
/// A row that is wider goes on in the next.
const WIDE: usize = 1000;

/// Something of the machine, and what is in it.
enum Part {
    Cpu { cpu: usize, member: usize },
    Group { name: String, parts: Vec<Part> },
}

/// A CPU's place in the order of use, and where it is.
type Seat<'a> = (usize, &'a Place);

/// What makes CPUs belong together, from the outside in: a name, and who shares it. `None` where the machine does not say.
type Level = fn(&Place) -> Option<String>;

const LEVELS: [Level; 6] = [
    |place| place.package.map(|package| format!("package {package}")),
    |place| place.node.map(|node| format!("NUMA node {node}")),
    |place| shared_cache(place, 4),
    |place| shared_cache(place, 3),
    |place| shared_cache(place, 2),
    core,
];

/// Only one that cores share is worth a box: others are named on their core.
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

fn parts(seats: &[Seat<'_>], levels: &[Level]) -> Vec<Part> {
    let Some((level, inner)) = levels.split_first() else {
        return seats.iter().map(|(member, place)| Part::Cpu { cpu: place.cpu, member: *member }).collect();
    };
    let mut groups: Vec<(Option<String>, Vec<Seat<'_>>)> = Vec::new();
    for seat in seats {
        let name = level(seat.1);
        match groups.iter_mut().find(|(of, _)| *of == name) {
            Some((_, members)) => members.push(*seat),
            None => groups.push((name, vec![*seat])),
        }
    }
    let group = |(name, seats): (Option<String>, Vec<Seat<'_>>)| match name {
        Some(name) => vec![Part::Group { name, parts: parts(&seats, inner) }],
        None => parts(&seats, inner),
    };
    groups.into_iter().flat_map(group).collect()
}

impl Part {
    /// The title of a box must fit into it.
    fn width(&self) -> usize {
        match self {
            Self::Cpu { .. } => CPU.0,
            Self::Group { name, parts } => (rows_size(parts).0 + 2 * GAP).max(7 * name.len() + 2 * GAP),
        }
    }

    fn height(&self) -> usize {
        match self {
            Self::Cpu { .. } => CPU.1,
            Self::Group { parts, .. } => TITLE + rows_size(parts).1 + GAP,
        }
    }

    fn draw(&self, (x, y): (usize, usize)) -> Markup {
        match self {
            Self::Cpu { cpu, member } => html! {
                rect.cpu x=(x) y=(y) width=(CPU.0) height=(CPU.1) rx="4" {}
                text x=(x + CPU.0 / 2) y=(y + 19) text-anchor="middle" font-weight="bold" { "CPU " (cpu) }
                text x=(x + CPU.0 / 2) y=(y + 35) text-anchor="middle" { "member " (member) }
            },
            Self::Group { name, parts } => html! {
                rect.group x=(x) y=(y) width=(self.width()) height=(self.height()) rx="5" {}
                text x=(x + GAP) y=(y + 14) { (name) }
                (draw_rows(parts, (x + GAP, y + TITLE)))
            },
        }
    }
}

/// Parts beside each other as long as there is room.
fn rows(parts: &[Part]) -> Vec<&[Part]> {
    let mut rows = Vec::new();
    let (mut first, mut width) = (0, 0);
    for (place, part) in parts.iter().enumerate() {
        width += part.width() + GAP;
        if width > WIDE && place > first {
            rows.push(&parts[first..place]);
            (first, width) = (place, part.width() + GAP);
        }
    }
    rows.push(&parts[first..]);
    rows
}

fn row_height(row: &[Part]) -> usize {
    row.iter().map(Part::height).max().unwrap_or(0)
}

/// What rows of parts need.
fn rows_size(parts: &[Part]) -> (usize, usize) {
    let rows = rows(parts);
    let width = |row: &&[Part]| row.iter().map(|part| part.width() + GAP).sum::<usize>().saturating_sub(GAP);
    let height: usize = rows.iter().map(|row| row_height(row) + GAP).sum();
    (rows.iter().map(width).max().unwrap_or(0), height.saturating_sub(GAP))
}

fn draw_rows(parts: &[Part], (left, top): (usize, usize)) -> Markup {
    let mut drawn = Vec::new();
    let mut y = top;
    for row in rows(parts) {
        let mut x = left;
        for part in row {
            drawn.push(part.draw((x, y)));
            x += part.width() + GAP;
        }
        y += row_height(row) + GAP;
    }
    html! { @for part in &drawn { (part) } }
}

pub(super) fn picture(machine: &Machine) -> Markup {
    let bare: Vec<Place> = machine.cpus.iter().map(|cpu| Place { cpu: *cpu, ..Place::default() }).collect();
    let told = machine.topology.len() == machine.cpus.len();
    // Files of earlier builds say which CPUs there are and nothing else.
    let (places, levels) = if told { (&machine.topology, &LEVELS[..]) } else { (&bare, &[][..]) };
    let seats: Vec<Seat<'_>> = places.iter().enumerate().collect();
    let parts = [Part::Group { name: machine.processor.clone(), parts: parts(&seats, levels) }];
    let (width, height) = rows_size(&parts);
    let (width, height) = (width + 2, height + 2);
    html! {
        svg.machine role="img" viewBox=(format!("0 0 {width} {height}")) width=(width) height=(height) {
            title { "The CPUs of the machine in the order of use, and what they share" }
            (draw_rows(&parts, (1, 1)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(cpu: usize, core: &str, node: usize) -> Place {
        let cache = |level, size: &str, cpus: &str| Cache { level, size: size.to_owned(), cpus: cpus.to_owned() };
        let caches =
            vec![cache(1, "32K", core), cache(2, "1024K", core), cache(3, "32768K", if node == 0 { "0-3" } else { "4-7" })];
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
        assert_eq!((count("package 0"), count("NUMA node"), count("core of"), count("class=\"cpu\"")), (1, 2, 3, 4), "{text}");
        assert!(text.contains("L3 32M of CPUs 0-3") && text.contains("core of 0-1, L1 32K, L2 1M"), "{text}");
        assert!(text.contains("CPU 1") && text.contains("member 3"), "{text}");
    }

    #[test]
    fn many_go_on_in_the_next_row() {
        let cpus: Vec<Part> = (0..30).map(|cpu| Part::Cpu { cpu, member: cpu }).collect();
        let rows = rows(&cpus);
        assert_eq!(rows.iter().map(|row| row.len()).sum::<usize>(), 30);
        assert!(rows.len() == 3 && rows_size(&cpus).0 <= WIDE, "{} rows", rows.len());
        assert_eq!(rows_size(&[]), (0, 0));
    }

    #[test]
    fn a_machine_of_which_little_is_known_is_a_row_of_cpus() {
        let text = drawn(Vec::new());
        assert_eq!((text.matches("class=\"cpu\"").count(), text.matches("class=\"group\"").count()), (4, 1), "{text}");
    }
}
