//! How a hive is built from a `Builder`.
//!
//! For each setting, the value that the program gives to the builder comes first, then the environment variable, then
//! the default: [`Builder::resolve`] makes the `Config` of them. Building then goes through all layers in turn: the
//! bees get their places, the shared state is made, and the workers are hired.

use std::time::Duration;

use crate::observe::trace::Tracer;
use crate::pool::builder::Builder;
use crate::pool::config::Config;
use crate::pool::environment::Environment;
use crate::pool::error::{Error, ErrorKind};
use crate::pool::handle::Hive;
use crate::pool::shared::Shared;
use crate::protocol::region::max_bees::MAX_BEES;
#[cfg(unix)]
use crate::region::nesting;
#[cfg(unix)]
use crate::sys::cpu_locks::CpuLocks;
use crate::sys::warn_once::warn_once;
use crate::sys::{asymmetric_fence, process, sandbox};
#[cfg(unix)]
use crate::sys::{costly_yields, fork, presence};
use crate::topology::machine_info::MachineInfo;
use crate::topology::pinning::AffinityGuard;
use crate::topology::place_map::PlaceMap;

/// The limit on a hive's bees if the program does not set one with `max_bees`.
const DEFAULT_MAX_BEES: usize = 1024;

/// How long a waiting bee polls before it sleeps, if neither the program nor the environment sets a time.
const DEFAULT_SPIN: Duration = Duration::from_micros(200);

/// What the names of worker threads begin with, if the program does not set a name.
pub(crate) const DEFAULT_THREAD_NAME: &str = "hive-bee";

impl Hive {
    /// Builds a hive of `bees` bees, including the queen; all other settings are as [`builder`](Self::builder) has
    /// them.
    ///
    /// ```
    /// let hive = hive::Hive::new(3)?;
    /// assert_eq!(hive.spmd_map(3, |bee| bee.id()), [0, 1, 2]);
    /// # Ok::<(), hive::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Builder::build`].
    pub fn new(bees: usize) -> Result<Self, Error> {
        Self::builder().bees(bees).build()
    }

    /// Returns a builder, for a hive with settings other than the defaults.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// // For a machine that other programs use, too: the bees may be moved, and sleep soon when they wait.
    /// let hive = hive::Hive::builder().bees(2).pin(hive::Pin::None).spin(Duration::from_micros(20)).build()?;
    /// let mut x = vec![1.0; 1000];
    /// hive.par_for_mut(&mut x, hive::Schedule::Static, |_, x, _| x.iter_mut().for_each(|x| *x *= 2.0));
    /// assert_eq!(x, [2.0; 1000]);
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Binds the queen, and starts the guest, the workers and the observers.
    fn start(&mut self) -> Result<(), Error> {
        // If the program wants the queen bound, she leaves the workers' CPUs before they run there.
        self.bind_queen();
        // Before the workers are hired, because their threads run the code of the guest, rayon.
        let Config { bees, asked: Builder { handlers, guest, .. }, .. } = &self.shared.config;
        self.guest = guest.map(|start| start(*bees, handlers, &self.shared.thread_hosts)).transpose()?;
        self.shared.grow_to(*bees)?;
        self.shared.start_observers().map_err(|cause| {
            let message = format!("the system makes no thread for the watchdog: {cause}");
            Error::new(ErrorKind::Threads, message).caused_by(cause)
        })
    }

    /// Binds the calling thread to the place of bee 0, with `pin_queen(true)`. A failure is a warning in the report.
    fn bind_queen(&mut self) {
        let place = self.shared.place_map.place_of(0).filter(|_| self.shared.config.asked.pin_queen);
        if let Some(place) = place {
            match AffinityGuard::bind(place) {
                Ok(guard) => self._queen_affinity = guard,
                Err(error) => self.shared.add_warning(format!("the queen is not bound: {error}")),
            }
        }
    }
}

impl Builder {
    /// Builds the hive and starts its workers, which park or sleep until they are needed.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let hive = hive::Hive::builder().bees(2).spin(Duration::from_millis(1)).thread_name("solver").build()?;
    /// assert_eq!(hive.bees(), 2);
    /// # Ok::<(), hive::Error>(())
    /// ```
    ///
    /// # Errors
    /// - A number is out of range.
    /// - A list of CPUs to pin to contains one that the process may not use, or no place of a list of places has a CPU
    ///   that it may use, or other hives of the process have claimed all cores.
    /// - Two settings exclude one another.
    /// - There is no room for so many threads, or the system makes no more of them. The error says which limit it is.
    ///   The threads made so far have then ended.
    ///
    /// It is no error if a thread cannot be bound: [`Hive::report`] has a warning.
    pub fn build(self) -> Result<Hive, Error> {
        // Before anything else, so that a fork cannot leave a child with a library that is half initialised.
        prepare_process();
        let mut machine_info = MachineInfo::detect();
        let environment = Environment::read();
        let config = self.resolve(&environment, machine_info.usable_cpus())?;
        // Not later, when regions are running, nor after the calibration, whose thread may not have ended entirely.
        asymmetric_fence::register(!self.is_urgent);
        // Warnings found so far are collected for the report.
        machine_info.warnings.extend(environment.warnings);
        machine_info.warnings.extend_from_slice(&config.places.warnings);
        let (bees, max_bees) = (config.bees as usize, config.max_bees as usize);
        let place_map = PlaceMap::build(&config.places, bees, max_bees, &machine_info)
            .map_err(|error| Error::new(ErrorKind::Places, error.to_string()))?;
        if let Some(warning) = &place_map.warning {
            machine_info.warnings.push(warning.clone());
            // A person who sets an environment variable seldom sees the report, so this goes to standard error as well.
            if config.places.is_from_environment {
                warn_once(warning);
            }
        }
        // A timeline that cannot be written does not keep the hive from being built.
        let tracer = config.trace.as_deref().map(Tracer::open).transpose();
        let tracer = tracer.unwrap_or_else(|warning| {
            machine_info.warnings.push(warning);
            None
        });
        let shared = Shared::new(config, machine_info, place_map, tracer, None);
        let mut hive = Hive { shared, _queen_affinity: None, guest: None };
        let started = hive.start();
        // On an error, `hive` is dropped here, which ends the workers hired so far.
        if let (Err(_), Some(tracer)) = (&started, &hive.shared.tracer) {
            tracer.give_back_name();
        }
        started.map(|()| hive)
    }

    /// Combines this builder with `environment`, for a machine with `cpus` usable CPUs, and checks the result.
    pub(crate) fn resolve(&self, environment: &Environment, cpus: usize) -> Result<Config, Error> {
        let default_bees = environment.bees.unwrap_or(cpus);
        let max_bees = self.max_bees.unwrap_or(DEFAULT_MAX_BEES.max(default_bees));
        // If the environment or the machine asks for more bees than the program's `max_bees`, the hive is cut to that
        // limit; only a number that the program itself has set too high is an error.
        let bees = self.bees.unwrap_or(default_bees.min(max_bees));
        check_bees(bees, max_bees)?;
        let name = self.thread_name.clone().unwrap_or_else(|| DEFAULT_THREAD_NAME.to_owned());
        let error = |message: &str| Error::new(ErrorKind::Settings, message);
        if name.contains('\0') {
            return Err(error(&format!("the thread name {name:?} contains a NUL byte")));
        }
        if self.poll_interval == Some(Duration::ZERO) {
            let text = "poll(0 s) would have sleeping bees look for work all the time; ask for a longer time, or None";
            return Err(error(text));
        }
        if self.watchdog_limit == Some(Duration::ZERO) {
            return Err(error("deadlock_watchdog(0 s) would report every wait; ask for a longer time, or None"));
        }
        let contradiction = |(one, other)| {
            format!("the builder was given {one} as well as {other}, which exclude one another; leave one of them out")
        };
        let places = self.binding_options.resolve(&environment.binding_options);
        let places = places.map_err(|pair| error(&contradiction(pair)))?;
        Ok(Config {
            bees: bees as u32,
            max_bees: max_bees as u32,
            places,
            barrier_shape: self.barrier_shape.or(environment.barrier_shape).unwrap_or_default(),
            spin: self.spin.or(environment.spin).unwrap_or(DEFAULT_SPIN),
            learns_to_poll: self.spin.or(environment.spin).is_none(),
            trace: self.trace.clone().or_else(|| environment.trace.clone()),
            thread_name: name,
            asked: self.clone(),
        })
    }
}

/// What is done in each process before its first hive is built.
pub(crate) fn prepare_process() {
    #[cfg(unix)]
    {
        static INHERITED: [fn(); 4] =
            [presence::forget_workers, nesting::forget_other_bees, costly_yields::forget_trial, CpuLocks::forget];
        fork::forget_in_children(&INHERITED);
    }
    process::initialize_libraries();
    sandbox::begin();
}

/// Checks that `1 <= bees <= max_bees <= MAX_BEES`.
fn check_bees(bees: usize, max_bees: usize) -> Result<(), Error> {
    let limit = MAX_BEES as usize;
    if !(1..=limit).contains(&max_bees) {
        Err(Error::new(ErrorKind::Settings, format!("max_bees is {max_bees}; it must be from 1 to {limit}")))
    } else if !(1..=max_bees).contains(&bees) {
        Err(Error::out_of_range(bees, max_bees))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::binding_request::{Binding, BindingRequest};
    use crate::topology::pin_policy::Pin;

    fn resolve(builder: &Builder, environment: &Environment) -> Result<Config, String> {
        builder.resolve(environment, 4).map_err(|error| error.to_string())
    }

    #[test]
    fn the_builder_goes_before_the_environment_and_that_before_the_defaults() {
        let environment = Environment {
            bees: Some(3),
            binding_options: BindingRequest { pin: Some(Pin::Node), ..BindingRequest::default() },
            spin: Some(Duration::from_micros(7)),
            trace: Some("e".into()),
            ..Environment::default()
        };
        let pinned = |pin| Some(Binding::Pin(pin));
        let config = resolve(&Builder::default(), &Environment::default()).unwrap();
        assert_eq!((config.bees, config.max_bees, config.places.binding, config.spin), (4, 1024, None, DEFAULT_SPIN));
        let config = resolve(&Builder::default(), &environment).unwrap();
        assert_eq!((config.bees, config.places.binding, config.spin), (3, pinned(Pin::Node), Duration::from_micros(7)));
        assert_eq!(config.trace, Some("e".into()));
        let builder = Builder::default().bees(2).pin(Pin::None).spin(Duration::ZERO).trace("b");
        let config = resolve(&builder, &environment).unwrap();
        assert_eq!((config.bees, config.places.binding, config.spin), (2, pinned(Pin::None), Duration::ZERO));
        assert_eq!(config.trace, Some("b".into()));
    }

    #[test]
    fn sizes_out_of_range_are_refused_with_the_numbers() {
        let none = Environment::default();
        assert!(resolve(&Builder::default().bees(0), &none).unwrap_err().contains("0 bees were asked for"));
        let above = resolve(&Builder::default().bees(9).max_bees(8), &none).unwrap_err();
        assert!(above.contains("9 bees") && above.contains("limit is 8"), "{above}");
        let absurd = resolve(&Builder::default().bees(1).max_bees(1 << 40), &none).unwrap_err();
        assert!(absurd.contains("1099511627776") && absurd.contains("65535"), "{absurd}");
        assert!(resolve(&Builder::default().bees(usize::MAX), &none).is_err());
        assert!(resolve(&Builder::default().thread_name("a\0b"), &none).unwrap_err().contains("NUL"));
    }

    #[test]
    fn a_machine_or_environment_above_the_program_s_limit_is_cut_to_it() {
        assert_eq!(resolve(&Builder::default().max_bees(2), &Environment::default()).unwrap().bees, 2);
        let many = Environment { bees: Some(2000), ..Environment::default() };
        let config = resolve(&Builder::default(), &many).unwrap();
        assert_eq!((config.bees, config.max_bees), (2000, 2000));
    }
}
