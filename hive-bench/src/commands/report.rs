//! `report`: the report of an earlier run, once more.

use std::path::PathBuf;

use clap::Args;

use crate::page;
use crate::record::saved;
use crate::report::figures::Figures;
use crate::report::ranking::Ranking;
use crate::report::{self, Files};
use crate::system::exit::{Failure, Outcome};
use crate::system::files;

/// Which run, and how much of it.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The file, gzipped or not
    run: PathBuf,
    /// Write the report as a page for a browser, with charts, into this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print every table, not only what fits one screen
    #[arg(long)]
    full: bool,
    /// Print only the ranking "hive against the best rival", as Markdown
    #[arg(long, conflicts_with = "full")]
    markdown: bool,
}

/// Prints it, and writes the page if one is wanted.
pub(crate) fn main(arguments: &Arguments) -> Outcome {
    show(arguments).map_err(Failure::Usage)
}

fn show(arguments: &Arguments) -> Result<(), String> {
    let run = saved::read(&arguments.run)?;
    let figures = Figures::of(&run.records);
    if let Some(path) = &arguments.html {
        files::write("--html", path, &page::page(&run, &figures)?)?;
    }
    if arguments.markdown {
        print!("{}", Ranking::of(&figures).markdown());
    } else {
        let files = Files { page: arguments.html.as_deref(), samples: Some(&arguments.run) };
        print!("{}", report::text(&run, &figures, files, arguments.full));
    }
    Ok(())
}
