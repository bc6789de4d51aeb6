//! Why a pool was not built.

use std::error::Error;
use std::{fmt, io};

use hive::adapters::task_pool::builder::BuildError;

/// Why a pool was not built: see [`ThreadPoolBuilder::build`](crate::ThreadPoolBuilder::build).
///
/// ```
/// let builder = rayon_core::ThreadPoolBuilder::new().spawn_handler(|_| Err(std::io::Error::other("no")));
/// assert_eq!(builder.build().unwrap_err().to_string(), "no");
/// ```
#[derive(Debug)]
pub struct ThreadPoolBuildError(Kind);

#[derive(Debug)]
enum Kind {
    GlobalPoolExists,
    AlreadyInPool,
    Io(io::Error),
}

const GLOBAL_POOL_EXISTS: &str = "The global thread pool has already been initialized.";
const ALREADY_IN_POOL: &str = "The current thread is already part of another thread pool.";

impl ThreadPoolBuildError {
    pub(crate) const GLOBAL_POOL_EXISTS: Self = Self(Kind::GlobalPoolExists);
}

impl From<BuildError> for ThreadPoolBuildError {
    fn from(error: BuildError) -> Self {
        Self(match error {
            BuildError::AlreadyInPool => Kind::AlreadyInPool,
            BuildError::Io(error) => Kind::Io(error),
        })
    }
}

impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::GlobalPoolExists => f.write_str(GLOBAL_POOL_EXISTS),
            Kind::AlreadyInPool => f.write_str(ALREADY_IN_POOL),
            Kind::Io(error) => error.fmt(f),
        }
    }
}

impl Error for ThreadPoolBuildError {
    #[allow(deprecated, reason = "code that was written for old Rust calls it")]
    fn description(&self) -> &str {
        match &self.0 {
            Kind::GlobalPoolExists => GLOBAL_POOL_EXISTS,
            Kind::AlreadyInPool => ALREADY_IN_POOL,
            Kind::Io(error) => error.description(),
        }
    }

    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            Kind::GlobalPoolExists | Kind::AlreadyInPool => None,
            Kind::Io(error) => Some(error),
        }
    }
}
