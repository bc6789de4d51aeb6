//! `topo`: the machine as hwloc sees it, and where the bees of a hive are.

mod kinds;
mod map;
mod members;
mod text;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::html;
use crate::{options, write_file};

pub(crate) use map::{Map, Thing};
pub(crate) use members::{Members, State};
pub(crate) use text::use_of;

use members::Wanted;

/// What hive to build, and where the picture goes.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Draw the machine into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    wanted: Wanted,
}

/// Prints the machine. Exit codes as for a run.
pub(crate) fn main(arguments: &Arguments) -> ExitCode {
    match show(arguments) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn show(arguments: &Arguments) -> Result<String, String> {
    arguments.svg.as_ref().map_or(Ok(()), |path| options::writable("--svg", path))?;
    let map = Map::read()?;
    let members = Members::find(&arguments.wanted, map.is_foreign())?;
    if let Some(path) = &arguments.svg {
        write_file("--svg", path, &html::topo::picture(&map, &members))?;
    }
    Ok(text::all(&map, &members))
}
