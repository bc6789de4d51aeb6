//! The matrix of the sparse kernels, and what has to be known about it before anything is measured.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::catalog::Case;
use crate::kernels::sparse::largest_error;
use crate::matrix::{self, Csr, Laplacian, Symmetry};
use crate::record::budget::Budget;

/// What runners have to know about the matrix.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Given {
    /// `None` stands for the Laplacian of a grid.
    file: Option<PathBuf>,
    /// The largest error that conjugate gradients may leave.
    cg_error: Option<f64>,
}

impl Given {
    /// Reads the file of `--matrix`, if there is one. If conjugate gradients are wanted, solves the system once, for
    /// the error that every runtime has to reach. Writes the size of the matrix into the budget.
    pub(crate) fn prepare(file: Option<&Path>, cases: &[Case], budget: &mut Budget) -> Result<Self, String> {
        let name = file.map_or_else(String::new, |file| format!("--matrix {}: ", file.display()));
        if !cases.iter().any(|case| case.is_sparse()) {
            return match file {
                Some(_) => Err(format!("{name}none of the chosen cases uses a matrix; only spmv and cg do")),
                None => Ok(Self::default()),
            };
        }
        let mut given = Self { file: file.map(Path::to_owned), cg_error: None };
        let solve = cases.contains(&Case::Cg);
        let matrix = match file {
            Some(file) => read(file, solve).map_err(|error| format!("--matrix {error}"))?,
            None => given.matrix(budget)?,
        };
        budget.matrix_nonzeros = matrix.nonzeros() as u64;
        if solve {
            let error = largest_error(&matrix, budget.cg_iterations);
            given.cg_error = Some(error.map_err(|error| format!("{name}{error}"))?);
        }
        Ok(given)
    }

    /// The largest error that conjugate gradients may leave.
    pub(crate) fn cg_error(&self) -> Result<f64, String> {
        self.cg_error.ok_or_else(|| "the job does not say what error conjugate gradients may leave".to_owned())
    }

    pub(crate) fn matrix(&self, budget: &Budget) -> Result<Csr, String> {
        match &self.file {
            Some(file) => matrix::file(file).map(|(matrix, _)| matrix),
            None => Ok(Laplacian::new(budget.grid_side).matrix()),
        }
    }
}

fn read(file: &Path, solve: bool) -> Result<Csr, String> {
    let name = file.display();
    if fs::metadata(file).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        return Err(format!("{name}: not a regular file, and each runner has to read it again"));
    }
    if file.to_str().is_none() {
        return Err(format!("{name}: the name is not Unicode, so it cannot be passed to the runners; rename the file"));
    }
    let (matrix, symmetry) = matrix::file(file)?;
    match fit_for_cg(matrix.rows(), matrix.columns(), symmetry) {
        Err(why_not) if solve => Err(format!("{name}: {why_not}; --case spmv takes any")),
        _ => Ok(matrix),
    }
}

/// Whether a matrix is fit for conjugate gradients, as far as its size and its file say.
fn fit_for_cg(rows: usize, columns: usize, symmetry: Symmetry) -> Result<(), String> {
    if rows != columns {
        return Err(format!("cg needs a square matrix, and this has {rows} rows and {columns} columns"));
    }
    if symmetry != Symmetry::Symmetric {
        return Err(format!("cg needs a matrix that its file says is symmetric, and this is {}", symmetry.name()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file for one test, deleted at its end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str, kind: &str, rest: &str) -> Self {
            let path = std::env::temp_dir().join(format!("hive-bench-{}-given-{name}.mtx", std::process::id()));
            fs::write(&path, format!("%%MatrixMarket matrix coordinate real {kind}\n{rest}")).unwrap();
            Self(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            // A file that stays behind does no harm.
            let _ = fs::remove_file(&self.0);
        }
    }

    fn prepare(file: &Path, cases: &[Case]) -> Result<(Given, Budget), String> {
        let mut budget = Budget::QUICK;
        Given::prepare(Some(file), cases, &mut budget).map(|given| (given, budget))
    }

    fn refused(file: &Path, cases: &[Case], parts: &[&str]) {
        let error = prepare(file, cases).unwrap_err();
        for part in [&["--matrix ", file.to_str().unwrap()], parts].concat() {
            assert!(error.contains(part), "{part} is missing: {error}");
        }
    }

    #[test]
    fn without_a_file_it_is_a_laplacian_whose_size_is_known() {
        for mut budget in [Budget::STANDARD, Budget::QUICK] {
            let before = budget;
            let given = Given::prepare(None, &[Case::Spmv], &mut budget).unwrap();
            assert_eq!(budget, before);
            assert_eq!(given.matrix(&budget).unwrap().rows(), (budget.grid_side as usize).pow(2));
        }
        let given = Given::prepare(None, &[Case::Region, Case::Cg], &mut Budget::QUICK.clone()).unwrap();
        assert!((1e-9..0.5).contains(&given.cg_error().unwrap()), "{given:?}");
    }

    #[test]
    fn nothing_is_prepared_for_cases_without_a_matrix() {
        let mut budget = Budget::QUICK;
        assert_eq!(Given::prepare(None, &[Case::Region], &mut budget), Ok(Given::default()));
        refused(Path::new("/nowhere/at/all.mtx"), &[Case::Region], &["none of the chosen cases", "spmv and cg"]);
    }

    #[test]
    fn a_file_s_matrix_is_used_and_its_size_known() {
        let file = Scratch::new("good", "symmetric", "3 3 4\n1 1 4\n2 2 4\n3 3 4\n3 1 1\n");
        let (given, budget) = prepare(&file.0, &[Case::Spmv, Case::Cg]).unwrap();
        assert_eq!(budget.matrix_nonzeros, 5);
        assert_eq!(given.matrix(&budget).unwrap().nonzeros(), 5);
        assert!(given.cg_error().unwrap() < 1e-14);
    }

    #[test]
    fn cg_takes_only_what_is_symmetric() {
        let wide = Scratch::new("wide", "general", "2 3 1\n1 1 1\n");
        refused(&wide.0, &[Case::Cg], &["square", "2 rows and 3 columns", "--case spmv"]);
        let general = Scratch::new("general", "general", "2 2 2\n1 1 1\n2 2 1\n");
        refused(&general.0, &[Case::Spmv, Case::Cg], &["says is symmetric", "is general"]);
        for file in [&wide, &general] {
            assert_eq!(prepare(&file.0, &[Case::Spmv]).unwrap().0.cg_error, None);
        }
    }

    #[test]
    fn what_cg_breaks_down_on_is_reported_with_the_file() {
        let indefinite = Scratch::new("indefinite", "symmetric", "2 2 2\n1 1 1\n2 2 -2\n");
        refused(&indefinite.0, &[Case::Cg], &["iteration 1", "p.Ap is -7e0", "not positive definite"]);
        let huge = Scratch::new("huge", "symmetric", "2 2 2\n1 1 1e200\n2 2 1e-200\n");
        refused(&huge.0, &[Case::Cg], &[]);
    }

    #[test]
    fn what_cannot_be_read_is_reported() {
        refused(Path::new("/nowhere/at/all.mtx"), &[Case::Spmv], &["cannot be opened"]);
        refused(Path::new("/dev/null"), &[Case::Spmv], &["not a regular file"]);
        let broken = Scratch::new("broken", "symmetric", "2 2 1\n1 2 1\n");
        refused(&broken.0, &[Case::Spmv], &["line 3", "above the diagonal"]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_name_that_cannot_be_passed_to_runners_is_refused() {
        use std::os::unix::ffi::OsStrExt;
        let name = std::ffi::OsStr::from_bytes(b"/tmp/\xff.mtx");
        let error = prepare(Path::new(name), &[Case::Spmv]).unwrap_err();
        assert!(error.contains("not Unicode"), "{error}");
    }
}
