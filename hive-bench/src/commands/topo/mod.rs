//! `topo`: the machine as hwloc sees it, and where the bees of a hive are.

mod bees;
mod kinds;
mod map;
mod picture;
mod text;

use std::path::PathBuf;

use clap::Args;

use crate::system::exit::{Failure, Outcome};
use crate::system::files;

use bees::{Bees, Wanted};
use map::Map;

/// What hive to build, and where the picture goes.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Draw the machine into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    wanted: Wanted,
}

/// Prints the machine.
pub(crate) fn main(arguments: &Arguments) -> Outcome {
    print!("{}", show(arguments).map_err(Failure::Usage)?);
    Ok(())
}

fn show(arguments: &Arguments) -> Result<String, String> {
    arguments.svg.as_ref().map_or(Ok(()), |path| files::writable("--svg", path))?;
    let map = Map::read()?;
    let bees = Bees::find(&arguments.wanted, map.is_foreign())?;
    if let Some(path) = &arguments.svg {
        files::write("--svg", path, &picture::draw(&map, &bees))?;
    }
    Ok(text::all(&map, &bees))
}
