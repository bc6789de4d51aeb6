//! `topo`: the machine as hwloc sees it, and where the bees of a hive are.

mod bees;
mod kinds;
mod map;
mod text;

use clap::Args;

use crate::system::exit::{Failure, Outcome};

use bees::{Bees, Wanted};
use map::Map;

/// What hive to build.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    wanted: Wanted,
}

/// Prints the machine.
pub(crate) fn main(arguments: &Arguments) -> Outcome {
    print!("{}", show(arguments).map_err(Failure::Usage)?);
    Ok(())
}

fn show(arguments: &Arguments) -> Result<String, String> {
    let map = Map::read()?;
    let bees = Bees::find(&arguments.wanted, map.is_foreign())?;
    Ok(text::all(&map, &bees))
}
