//! A measurement in a process of its own. Job and figures travel as JSON.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::system::exit::{Failure, Outcome};
use crate::system::{machine, start};

/// What this program, started once more with this command, measures. It is killed after `limit`.
pub(crate) fn ask_within<J: Serialize, M: DeserializeOwned>(
    command: &str,
    job: &J,
    environment: &[(&str, String)],
    limit: Duration,
) -> Result<M, String> {
    let text = serde_json::to_string(job).map_err(|error| format!("cannot write the job: {error}"))?;
    let output = start::wait_for(start::command(&[command.to_owned(), text], environment)?, limit)?;
    serde_json::from_str(&output).map_err(|error| format!("the runner's answer cannot be read: {error}"))
}

/// The same for the commands that measure programs as they are by default, `crowd` and `numeric`: it should take
/// `seconds` if it has the machine to itself.
pub(crate) fn ask<J: Serialize, M: DeserializeOwned>(
    command: &str,
    job: &J,
    environment: &[(&str, String)],
    seconds: f64,
) -> Result<M, String> {
    // Far more than even threads need that wait for each other on too few CPUs.
    let limit = Duration::from_secs(20) + Duration::from_secs_f64(10.0 * seconds);
    ask_within(command, job, environment, limit * machine::runnable_per_cpu())
}

/// In that process: does the job that the parent sent, and prints what came out.
pub(crate) fn serve<J: DeserializeOwned, M: Serialize>(job: &str, measure: fn(&J) -> Result<M, String>) -> Outcome {
    let job = serde_json::from_str(job).map_err(|error| format!("cannot read the job: {error}"));
    let text =
        |measured| serde_json::to_string(&measured).map_err(|error| format!("cannot write the figures: {error}"));
    answer(job.and_then(|job| measure(&job)).and_then(text))
}

/// Prints the answer for the parent, or the reason why there is none.
pub(crate) fn answer(answer: Result<String, String>) -> Outcome {
    println!("{}", answer.map_err(Failure::Work)?);
    Ok(())
}
