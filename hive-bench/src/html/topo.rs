//! The picture of `topo`: the machine as boxes within boxes, and on each CPU who is there.

use maud::{Markup, html};

use super::boxes::Part;
use super::picture;
use crate::topo::{Map, Members, State, Thing, use_of};

const MARGIN: usize = 10;
const LEGEND: usize = 34;
/// Letters that fit into the box of a CPU.
const ROOM: usize = 11;
/// What a note about several bees begins with: it is left to the colour.
const LONG_WORDS: [&str; 2] = ["bees ", "all parked "];
/// What the colours of CPUs mean, and where that stands.
const MEANINGS: [(&str, &str, usize); 5] = [
    ("cpu bound", "bees are bound here", 0),
    ("cpu parked", "parked", 195),
    ("cpu", "free", 280),
    ("cpu left-out", "left out by the mask", 345),
    ("cpu off", "switched off", 500),
];
/// Room for all that.
const LEAST_WIDTH: usize = 620;

/// The file of `--svg`.
pub(crate) fn picture(map: &Map, members: &Members) -> String {
    let machine = part(&map.root, map, members);
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

fn part(thing: &Thing, map: &Map, members: &Members) -> Part {
    match thing {
        Thing::Cpu(cpu) => {
            let class = match members.on(*cpu) {
                _ if !map.may_use(*cpu) => "cpu left-out",
                State::Bound(_) => "cpu bound",
                State::Parked(_) => "cpu parked",
                State::Free => "cpu",
            };
            Part::Cell { title: format!("CPU {cpu}"), note: shortened(&use_of(*cpu, map, members)), class }
        }
        Thing::Group { name, memory, parts, .. } => {
            let parts = parts.iter().map(|thing| part(thing, map, members)).collect();
            Part::group(name.clone(), memory.clone(), parts)
        }
    }
}

/// Where these CPUs belong in the machine nobody says.
fn switched_off(cpus: &[usize]) -> Part {
    let cell = |cpu: &usize| Part::Cell { title: format!("CPU {cpu}"), note: String::new(), class: "cpu off" };
    Part::group("switched off".to_owned(), Vec::new(), cpus.iter().map(cell).collect())
}

/// Of several bees only the list is shown; one that is too long ends in dots.
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
