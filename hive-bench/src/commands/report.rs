//! `report`: the report of an earlier run, once more.

use std::path::PathBuf;

use clap::Args;

use crate::record;
use crate::report::text;
use crate::system::exit::{Failure, Outcome};

/// Which run, and how much of it.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The file, gzipped or not
    run: PathBuf,
    /// Print every table, not only what fits one screen
    #[arg(long)]
    full: bool,
}

/// Prints it.
pub(crate) fn main(arguments: &Arguments) -> Outcome {
    let run = record::read(&arguments.run).map_err(Failure::Usage)?;
    print!("{}", text(&run, Some(&arguments.run), arguments.full));
    Ok(())
}
