//! `report`: the report of an earlier run, once more.

use std::path::PathBuf;

use clap::Args;

use crate::record;
use crate::report::figures::Figures;
use crate::report::ranking::{self, Row};
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
    /// Print only the ranking "hive against the best rival", as Markdown
    #[arg(long, conflicts_with = "full")]
    markdown: bool,
}

/// Prints it.
pub(crate) fn main(arguments: &Arguments) -> Outcome {
    let run = record::read(&arguments.run).map_err(Failure::Usage)?;
    if arguments.markdown {
        print!("{}", ranking::markdown(&Row::all(&Figures::of(&run.records))));
    } else {
        print!("{}", text(&run, Some(&arguments.run), arguments.full));
    }
    Ok(())
}
