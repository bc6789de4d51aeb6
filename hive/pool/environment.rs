//! Reads the environment variables that configure a hive (`HIVE_NUM_BEES`, `HIVE_PIN` and so on).
//!
//! `Builder::build` reads them once for each hive; `Builder::resolve` then uses them for everything that the program
//! has left unset. A value that cannot be parsed becomes a warning in the report, and the hive is built as if the
//! variable were not set.

use std::env::VarError;
use std::fmt::Display;
use std::num::NonZero;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use std::{env, process};

use crate::protocol::region::max_bees::MAX_BEES;
use crate::protocol::region::shape::BarrierShape;
use crate::sys::{parse_duration, privileges};
use crate::topology::binding_request::BindingRequest;
use crate::topology::pin_policy::Pin;
use crate::topology::place_list::PlaceList;
use crate::topology::proc_bind::ProcBind;
use crate::topology::shrink::Shrink;

/// The values of the variables that are set and could be parsed; None for the others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    /// `HIVE_NUM_BEES`: the number of bees to start with, from 1 to [`MAX_BEES`].
    pub(crate) bees: Option<usize>,
    /// `HIVE_PIN`, `HIVE_PLACES`, `HIVE_PROC_BIND` and `HIVE_SHRINK`.
    pub(crate) binding_options: BindingRequest,
    /// `HIVE_SPIN`: how long a waiting bee polls. `Duration::MAX`: for ever.
    pub(crate) spin: Option<Duration>,
    /// `HIVE_BARRIER`.
    pub(crate) barrier_shape: Option<BarrierShape>,
    /// `HIVE_POOL_PARTS`: into how many parts task pools have work divided, up to `MAX_BEES`. 0, which is None: as
    /// suits their threads.
    pub(crate) pool_parts: Option<NonZero<u32>>,
    /// `HIVE_POOL_THREADS`: how many of its threads a task pool uses.
    pub(crate) pool_threads: Option<usize>,
    /// `HIVE_TRACE`: the file for the timeline, `%p` already replaced by the process id.
    pub(crate) trace: Option<PathBuf>,
    /// One message for each variable that is set and was ignored.
    pub(crate) warnings: Vec<String>,
}

impl Environment {
    /// Reads the environment of this process. A file that it names is nothing for a program with raised privileges.
    pub(crate) fn read() -> Self {
        let mut read = Self::from_variables(|name| env::var(name));
        if privileges::are_raised() && read.trace.take().is_some() {
            let warning = "the environment variable HIVE_TRACE is ignored: the program has more rights than its user";
            read.warnings.push(warning.to_owned());
        }
        read
    }

    /// The same with another source of variables; tests pass a table.
    fn from_variables(variable: impl Fn(&str) -> Result<String, VarError>) -> Self {
        let mut warnings = Vec::new();
        let bees = read_variable(&variable, "HIVE_NUM_BEES", &mut warnings, number_from(1, "bees"));
        let binding_options = BindingRequest {
            pin: read_variable(&variable, "HIVE_PIN", &mut warnings, Pin::from_str),
            places: read_variable(&variable, "HIVE_PLACES", &mut warnings, PlaceList::from_str),
            proc_bind: read_variable(&variable, "HIVE_PROC_BIND", &mut warnings, ProcBind::from_str),
            shrink: read_variable(&variable, "HIVE_SHRINK", &mut warnings, Shrink::from_str),
            ..BindingRequest::default()
        };
        let spin = read_variable(&variable, "HIVE_SPIN", &mut warnings, parse_spin);
        let barrier_shape = read_variable(&variable, "HIVE_BARRIER", &mut warnings, BarrierShape::from_str);
        let pool_parts = read_variable(&variable, "HIVE_POOL_PARTS", &mut warnings, number_from(0, "parts"));
        let pool_parts = pool_parts.and_then(|parts| NonZero::new(parts as u32));
        let pool_threads = read_variable(&variable, "HIVE_POOL_THREADS", &mut warnings, number_from(1, "threads"));
        let trace = read_variable(&variable, "HIVE_TRACE", &mut warnings, parse_trace_file);
        Self { bees, binding_options, spin, barrier_shape, pool_parts, pool_threads, trace, warnings }
    }
}

/// Reads and parses the variable `name`. None if it is not set; None and a message in `warnings` if it is not valid
/// Unicode or if `parse` rejects it. Blanks around the value are ignored.
fn read_variable<T, E: Display>(
    variable: impl Fn(&str) -> Result<String, VarError>,
    name: &str,
    warnings: &mut Vec<String>,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Option<T> {
    let problem = match variable(name) {
        Err(VarError::NotPresent) => return None,
        Err(error @ VarError::NotUnicode(_)) => error.to_string(),
        Ok(text) => match parse(text.trim()) {
            Ok(value) => return Some(value),
            Err(error) => format!("{text:?}: {error}"),
        },
    };
    warnings.push(format!("the environment variable {name} is ignored: {problem}"));
    None
}

/// Parses a number of `what`, from `least` to [`MAX_BEES`].
fn number_from(least: usize, what: &str) -> impl Fn(&str) -> Result<usize, String> {
    move |text| {
        let number = text.parse().ok().filter(|number| (least..=MAX_BEES as usize).contains(number));
        number.ok_or_else(|| format!("expected a number of {what} from {least} to {MAX_BEES}"))
    }
}

/// A time with its unit, such as `200us`; or `0`; or `inf`, which means `Duration::MAX`.
fn parse_spin(text: &str) -> Result<Duration, String> {
    match text {
        "inf" | "infinite" => Ok(Duration::MAX),
        "0" => Ok(Duration::ZERO),
        _ => parse_duration::parse_duration(text)
            .map_err(|error| format!("expected a time with its unit, such as 200us or 1ms, or 0, or inf ({error})")),
    }
}

/// A file name. `%p` in it stands for the process id.
fn parse_trace_file(text: &str) -> Result<PathBuf, &'static str> {
    match text {
        "" => Err("expected the name of a file"),
        _ => Ok(PathBuf::from(text.replace("%p", &process::id().to_string()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        Environment::from_variables(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned()).ok_or(VarError::NotPresent)
        })
    }

    fn is_empty(read: &Environment) -> bool {
        let Environment {
            bees,
            binding_options: BindingRequest { pin, places, proc_bind, shrink, .. },
            spin,
            barrier_shape: barrier,
            pool_parts,
            pool_threads,
            trace,
            warnings: _,
        } = read;
        let no_binding_options = pin.is_none() && places.is_none() && proc_bind.is_none() && shrink.is_none();
        let no_sizes = bees.is_none() && pool_parts.is_none() && pool_threads.is_none();
        no_binding_options && no_sizes && spin.is_none() && barrier.is_none() && trace.is_none()
    }

    #[test]
    fn good_values_are_read() {
        let read = environment(&[("HIVE_NUM_BEES", " 12 "), ("HIVE_PIN", "0,2-3"), ("HIVE_SPIN", "50us")]);
        assert_eq!(read.bees, Some(12));
        assert_eq!(read.binding_options.pin, Some(Pin::Cpus(vec![0, 2, 3])));
        assert_eq!(read.spin, Some(Duration::from_micros(50)));
        assert!(read.warnings.is_empty());
        let read =
            environment(&[("HIVE_PLACES", "cores(2)"), ("HIVE_PROC_BIND", "close"), ("HIVE_SHRINK", "Keep_Nodes")])
                .binding_options;
        assert_eq!(read.places, "cores(2)".parse().ok());
        assert_eq!((read.proc_bind, read.shrink), (Some(ProcBind::Close), Some(Shrink::KeepNodes)));
        assert_eq!(environment(&[("HIVE_SPIN", "inf")]).spin, Some(Duration::MAX));
        assert_eq!(environment(&[("HIVE_SPIN", "0")]).spin, Some(Duration::ZERO));
        let read = environment(&[("HIVE_POOL_PARTS", "64"), ("HIVE_POOL_THREADS", "3")]);
        assert_eq!((read.pool_parts, read.pool_threads), (NonZero::new(64), Some(3)));
        let file = format!("a {}.json", process::id());
        assert_eq!(environment(&[("HIVE_TRACE", "a %p.json")]).trace, Some(PathBuf::from(file)));
    }

    #[test]
    fn bad_values_are_warnings_that_name_the_variable_the_value_and_what_is_expected() {
        for (name, value, expected) in [
            ("HIVE_NUM_BEES", "0", "from 1 to 65535"),
            ("HIVE_NUM_BEES", "-3", "from 1 to 65535"),
            ("HIVE_NUM_BEES", "99999999999999999999", "from 1 to 65535"),
            ("HIVE_PIN", "socks", "none, core"),
            ("HIVE_PLACES", "{0:4", "at character 5"),
            ("HIVE_PROC_BIND", "spread,close", "one of false, true"),
            ("HIVE_SHRINK", "most", "compact, spread or keep_nodes"),
            ("HIVE_SPIN", "200", "with its unit"),
            ("HIVE_SPIN", "", "with its unit"),
            ("HIVE_SPIN", "1ns 18446744073709551615s 999999999ns", "longer than"),
            ("HIVE_BARRIER", "round", "flat, cluster, node or auto"),
            ("HIVE_POOL_PARTS", "-1", "a number of parts from 0 to 65535"),
            ("HIVE_POOL_THREADS", "0", "a number of threads from 1 to 65535"),
            ("HIVE_TRACE", "", "name of a file"),
        ] {
            let read = environment(&[(name, value)]);
            assert!(is_empty(&read));
            let [warning] = &read.warnings[..] else { panic!("{:?}", read.warnings) };
            let all_there = [name, &format!("{value:?}"), expected].iter().all(|part| warning.contains(part));
            assert!(all_there, "{warning}");
        }
    }

    #[test]
    fn nothing_set_is_nothing_asked() {
        let read = environment(&[]);
        assert!(is_empty(&read));
        assert!(read.warnings.is_empty());
    }

    /// A copy of this program that is set-uid reads no file's name from the environment of the user who starts it.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_program_with_raised_privileges_takes_no_file_names_from_its_user() {
        use std::fs::{Permissions, copy, set_permissions};
        use std::os::unix::fs::PermissionsExt;
        use std::os::unix::process::CommandExt;
        use std::process::Command;

        const COPY_VARIABLE: &str = "HIVE_TEST_COPY";
        const NAME: &str = "a_program_with_raised_privileges_takes_no_file_names_from_its_user";
        const ANOTHER_USER: u32 = 65_534;
        const SET_UID: u32 = 0o4755;
        if env::var_os(COPY_VARIABLE).is_some() {
            assert!(privileges::are_raised(), "skipped: the file system ignores set-uid");
            let read = Environment::read();
            assert!(read.trace.is_none() && read.warnings[0].contains("HIVE_TRACE is ignored"));
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("copy");
        copy(env::current_exe().unwrap(), &program).unwrap();
        set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
        set_permissions(&program, Permissions::from_mode(SET_UID)).unwrap();
        let mut command = Command::new(&program);
        command.args([NAME, "--nocapture"]).current_dir("/").uid(ANOTHER_USER);
        command.envs([(COPY_VARIABLE, "1"), ("HIVE_TRACE", "/t.json")]);
        let output = match command.output() {
            Ok(output) => output,
            Err(error) => return println!("skipped: only the superuser can become somebody else: {error}"),
        };
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        match text.split_once("skipped: ") {
            Some((_, reason)) => println!("skipped: {reason}"),
            None => assert!(output.status.success() && text.contains("1 passed"), "{text}"),
        }
    }
}
