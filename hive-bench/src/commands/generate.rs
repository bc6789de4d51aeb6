//! `hive-bench generate`: writes a made-up matrix to a file that `--matrix` and other programs read.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Subcommand, value_parser};

use crate::matrix::{Laplacian, Symmetry, coordinates};
use crate::system::exit::{Failure, Outcome};
use crate::system::files;

/// Which matrix. It is symmetric and positive definite, so that conjugate gradients converge.
#[derive(Debug, Subcommand)]
pub(crate) enum Generate {
    /// The 5-point Laplacian of a square grid: a row for each of its points
    Laplacian {
        /// Points along an edge of the grid
        #[arg(long, value_name = "K", value_parser = value_parser!(u32).range(1..=i64::from(Laplacian::LARGEST_SIDE)))]
        side: u32,
        /// The Matrix Market file to write, compressed if its name ends in .gz
        file: PathBuf,
        /// Overwrite the file when it exists
        #[arg(long)]
        force: bool,
    },
}

/// Writes the file.
pub(crate) fn main(Generate::Laplacian { side, file, force }: &Generate) -> Outcome {
    write(*side, file, *force).map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))
}

fn write(side: u32, path: &Path, force: bool) -> Result<(), String> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create(force).truncate(force).create_new(!force).open(path);
    let file = file.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => "exists already; --force overwrites it".to_owned(),
        _ => format!("cannot be written: {error}"),
    })?;
    let laplacian = Laplacian::new(side);
    let (rows, comment) = (laplacian.rows().into(), format!("hive-bench generate laplacian --side {side}"));
    // The lower half.
    let outcome = files::fill(file, path, |out| {
        coordinates(out, &comment, [rows, rows, laplacian.count()], Symmetry::Symmetric, laplacian.entries())
    });
    outcome.map_err(|error| format!("not all of it could be written: {error}"))
}
