//! `topo`: the machine as hwloc sees it, and where the bees of a hive are.

mod bees;
mod map;

use crate::system::exit::{Failure, Outcome};

use bees::Bees;
use map::Map;

pub(crate) use bees::Arguments;

/// Prints the machine and the bees.
pub(crate) fn main(arguments: &Arguments) -> Outcome {
    let map = Map::read().map_err(Failure::Usage)?;
    let bees = Bees::find(arguments, map.is_foreign()).map_err(Failure::Usage)?;
    print!("{}{}", map.text(&bees), bees.text());
    Ok(())
}
