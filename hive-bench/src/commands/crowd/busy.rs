//! A process that has always something to do, as another program on the machine would.

use std::hint::black_box;
use std::process::{Child, Stdio};
use std::{io, process, thread};

use crate::kernels::roots::sum_of_indices;
use crate::system::exit::{Failure, Outcome};
use crate::system::{cpus, start};

/// The process. It ends when this is dropped, and also if this program ends before that.
struct Busy(Child);

/// Measures beside such a process, bound to a CPU or to none, if one is wanted.
pub(in crate::commands) fn beside<T>(
    busy: Option<Option<usize>>,
    measure: impl FnOnce() -> Result<T, String>,
) -> Result<T, String> {
    let Some(cpu) = busy else { return measure() };
    let arguments: Vec<_> = std::iter::once("busy".to_owned()).chain(cpu.map(|cpu| cpu.to_string())).collect();
    let child = start::command(&arguments, &[])?.stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
    let mut busy = Busy(child.map_err(|error| format!("cannot start a busy process: {error}"))?);
    let measured = measure()?;
    // What was measured beside it counts only if it has been there all the time.
    match busy.0.try_wait() {
        Ok(None) => Ok(measured),
        Ok(Some(status)) => Err(format!("the busy process ended too early, with {status}")),
        Err(error) => Err(format!("nothing is known of the busy process: {error}")),
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        // If it has ended already, so much the better.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What the process does, until its parent closes the pipe or ends, in whatever way.
pub(crate) fn main(cpu: Option<usize>) -> Outcome {
    // Before this thread is bound, so that the other one is not. Nobody writes into the pipe, so the read ends with it.
    thread::spawn(|| {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        process::exit(0);
    });
    if let Some(cpu) = cpu.filter(|cpu| !cpus::pin(*cpu)) {
        return Err(Failure::Work(format!("the busy process cannot be bound to CPU {cpu}")));
    }
    loop {
        black_box(sum_of_indices(black_box(0..1000)));
    }
}
