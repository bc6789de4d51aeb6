//! How the program ends: 0 when all is well, 1 when a measurement or a check failed, 2 for bad usage.

use std::process::ExitCode;

/// Why the program does not end with 0.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was asked for cannot be done.
    Usage(String),
    /// Something went wrong after the work had begun.
    Work(String),
    /// Only the exit code; the message has been printed already.
    Silent(u8),
}

/// What a command comes to.
pub(crate) type Outcome = Result<(), Failure>;

/// Success, or a failure whose message has been printed already.
pub(crate) const fn fine_if(fine: bool) -> Outcome {
    if fine { Ok(()) } else { Err(Failure::Silent(1)) }
}

impl Failure {
    /// The same with nothing left to say. Prints the error, unless another process does.
    #[cfg(feature = "mpi")]
    pub(crate) fn printed(self, prints: bool) -> Self {
        let (code, error) = self.parts();
        if let Some(error) = error.filter(|_| prints) {
            eprintln!("error: {error}");
        }
        Self::Silent(code)
    }

    /// The exit code, and what is to be said.
    fn parts(self) -> (u8, Option<String>) {
        match self {
            Self::Silent(code) => (code, None),
            Self::Work(error) => (1, Some(error)),
            Self::Usage(error) => (2, Some(error)),
        }
    }
}

/// Prints the error, if there is one.
pub(crate) fn code(outcome: Outcome) -> ExitCode {
    let Err(failure) = outcome else { return ExitCode::SUCCESS };
    let (code, error) = failure.parts();
    if let Some(error) = error {
        eprintln!("error: {error}");
    }
    ExitCode::from(code)
}
