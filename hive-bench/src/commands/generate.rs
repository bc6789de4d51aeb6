//! `hive-bench generate`: writes made-up matrices to files that `--matrix` and other programs read.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand, value_parser};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::matrix::{Entry, Laplacian, RandomGraph, Symmetry, coordinates};
use crate::system::exit::{Failure, Outcome};

/// Which matrix. Both are symmetric and positive definite, so that conjugate gradients converge.
#[derive(Debug, Subcommand)]
pub(crate) enum Generate {
    /// The 5-point Laplacian of a square grid: a row for each of its points
    Laplacian {
        /// Points along an edge of the grid
        #[arg(long, value_name = "K", value_parser = value_parser!(u32).range(1..=i64::from(Laplacian::LARGEST_SIDE)))]
        side: u32,
        #[command(flatten)]
        output: Output,
    },
    /// The Laplacian of a random graph, plus the identity: a row for each vertex
    RandomGraph {
        #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
        vertices: u32,
        /// The number of different edges
        #[arg(long, value_name = "M", value_parser = value_parser!(u64).range(1..))]
        edges: u64,
        /// The seed of the random numbers: another graph for each
        #[arg(long, value_name = "S", default_value_t = 1)]
        seed: u64,
        #[command(flatten)]
        output: Output,
    },
}

/// The file to write.
#[derive(Args, Debug)]
pub(crate) struct Output {
    /// The Matrix Market file to write, compressed if its name ends in .gz
    file: PathBuf,
    /// Overwrite the file when it exists
    #[arg(long)]
    force: bool,
}

/// Writes the file.
pub(crate) fn main(what: &Generate) -> Outcome {
    write(what).map_err(Failure::Usage)
}

fn write(what: &Generate) -> Result<(), String> {
    match what {
        Generate::Laplacian { side, output } => {
            let laplacian = Laplacian::new(*side);
            let rows = laplacian.rows().into();
            let comment = format!("hive-bench generate laplacian --side {side}");
            output.write(&comment, rows, laplacian.count(), laplacian.entries())
        }
        Generate::RandomGraph { vertices, edges, seed, output } => {
            let graph =
                RandomGraph::new(*vertices, *edges, *seed).map_err(|error| format!("--edges {edges}: {error}"))?;
            let comment =
                format!("hive-bench generate random-graph --vertices {vertices} --edges {edges} --seed {seed}");
            output.write(&comment, (*vertices).into(), graph.count(), graph.entries())
        }
    }
}

impl Output {
    /// A symmetric matrix: its lower half.
    fn write(&self, comment: &str, rows: u64, count: u64, entries: impl Iterator<Item = Entry>) -> Result<(), String> {
        let file = self.create()?;
        let whole = |out: &mut dyn Write| coordinates(out, comment, [rows, rows, count], Symmetry::Symmetric, entries);
        let outcome = if self.file.extension().is_some_and(|extension| extension == "gz") {
            let mut encoder = GzEncoder::new(BufWriter::new(file), Compression::default());
            whole(&mut encoder).and_then(|()| encoder.finish()).and_then(|mut out| out.flush())
        } else {
            whole(&mut BufWriter::new(file))
        };
        outcome.map_err(|error| format!("{}: not all of it could be written: {error}", self.file.display()))
    }

    fn create(&self) -> Result<File, String> {
        let mut options = OpenOptions::new();
        options.write(true).create(self.force).truncate(self.force).create_new(!self.force);
        options.open(&self.file).map_err(|error| {
            let file = self.file.display();
            match error.kind() {
                io::ErrorKind::AlreadyExists => format!("{file}: exists already; --force overwrites it"),
                _ => format!("{file}: cannot be written: {error}"),
            }
        })
    }
}
