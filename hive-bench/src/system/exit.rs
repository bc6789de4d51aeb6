//! How the program ends: 0 when all is well, 1 when a measurement or a check failed, 2 for bad usage.

use std::process::ExitCode;

/// Why the program does not end with 0.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was asked for cannot be done.
    Usage(String),
    /// Something went wrong after the work had begun.
    Work(String),
    /// The same, and its message has been printed already.
    Silent,
}

/// What a command comes to.
pub(crate) type Outcome = Result<(), Failure>;

/// Success, or a failure whose message has been printed already.
pub(crate) const fn fine_if(fine: bool) -> Outcome {
    if fine { Ok(()) } else { Err(Failure::Silent) }
}

/// Prints the error, if there is one.
pub(crate) fn code(outcome: Outcome) -> ExitCode {
    let (code, error) = match outcome {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Silent) => return ExitCode::FAILURE,
        Err(Failure::Work(error)) => (1, error),
        Err(Failure::Usage(error)) => (2, error),
    };
    eprintln!("error: {error}");
    ExitCode::from(code)
}
