//! The picture of `topo`: the machine as boxes within boxes, and on each CPU the bees that are bound to it.

use maud::{Markup, html};

use super::bees::{Bees, State};
use super::map::{Map, Thing};
use super::text::use_of;
use crate::page::boxes::Part;
use crate::page::picture;

const MARGIN: usize = 10;
const LEGEND: usize = 34;
/// Letters that fit into the box of a CPU.
const ROOM: usize = 11;
/// The beginnings of notes about several bees. They are left out, because the colour says the same.
const LONG_WORDS: [&str; 2] = ["bees ", "all parked "];
/// What the colours of CPUs mean, and where in the legend that is written.
const MEANINGS: [(&str, &str, usize); 5] = [
    ("cpu bound", "bees are bound here", 0),
    ("cpu parked", "parked", 195),
    ("cpu", "free", 280),
    ("cpu left-out", "left out by the mask", 345),
    ("cpu off", "switched off", 500),
];
/// The room that the legend needs.
const LEAST_WIDTH: usize = 620;

/// The file of `--svg`.
pub(crate) fn draw(map: &Map, bees: &Bees) -> String {
    let machine = part(&map.root, map, bees);
    let off = (!map.offline.is_empty()).then(|| switched_off(&map.offline));
    let (width, height) = machine.size();
    let (off_width, off_height) = off.as_ref().map_or((0, 0), |off| (off.size().0, off.size().1 + MARGIN));
    let drawn = html! {
        (legend())
        (machine.draw((MARGIN, LEGEND)))
        @if let Some(off) = &off { (off.draw((MARGIN, LEGEND + height + MARGIN))) }
    };
    let size = ((width.max(off_width) + 2 * MARGIN).max(LEAST_WIDTH), LEGEND + height + off_height + MARGIN);
    picture::file("The machine, and where the bees of a hive are", size, &drawn)
}

fn part(thing: &Thing, map: &Map, bees: &Bees) -> Part {
    match thing {
        Thing::Cpu(cpu) => {
            let class = match bees.on(*cpu) {
                _ if !map.may_use(*cpu) => "cpu left-out",
                State::Bound(_) => "cpu bound",
                State::Parked(_) => "cpu parked",
                State::Free => "cpu",
            };
            Part::Cell { title: format!("CPU {cpu}"), note: shortened(&use_of(*cpu, map, bees)), class }
        }
        Thing::Group { name, memory, parts, .. } => {
            let parts = parts.iter().map(|thing| part(thing, map, bees)).collect();
            Part::group(name.clone(), memory.clone(), parts)
        }
    }
}

/// CPUs that are switched off: the system does not say to which core they belong.
fn switched_off(cpus: &[usize]) -> Part {
    let cell = |cpu: &usize| Part::Cell { title: format!("CPU {cpu}"), note: String::new(), class: "cpu off" };
    Part::group("switched off".to_owned(), Vec::new(), cpus.iter().map(cell).collect())
}

/// Of several bees only the list of ids is shown. A list that is too long ends in dots.
fn shortened(text: &str) -> String {
    let text = LONG_WORDS.iter().find_map(|word| text.strip_prefix(word)).unwrap_or(text);
    if text.chars().count() <= ROOM { text.to_owned() } else { text.chars().take(ROOM - 1).chain(['…']).collect() }
}

fn legend() -> Markup {
    html! {
        @for (class, meaning, left) in MEANINGS {
            rect class=(class) x=(MARGIN + left) y="10" width="14" height="14" rx="3" {}
            text x=(MARGIN + left + 20) y="21" { (meaning) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_ends_in_dots() {
        assert_eq!(shortened("bee 1000"), "bee 1000");
        assert_eq!(shortened("bees 0-3,8"), "0-3,8");
        assert_eq!(shortened("bees 0-3,8-11,16-19"), "0-3,8-11,1…");
    }
}
