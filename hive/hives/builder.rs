//! `HiveSetBuilder`: how a program asks for several hives, and how they are built.
//!
//! `HiveSet::builder` and `per_node` come here. `build` divides the machine's CPUs among the hives
//! (`layout.rs`), claims them, builds one more hive for the leaders, and has each leader build its own hive.
//! `docs/hive-sets.md` describes the result.

use crate::hives::hive_set::HiveSet;
use crate::hives::layout::{Layout, distribute};
use crate::memory::nodes::common_node;
use crate::pool::build::DEFAULT_THREAD_NAME;
use crate::pool::builder::Builder;
use crate::pool::environment::Environment;
use crate::pool::error::{Error, ErrorKind};
use crate::sys::cpu_mask::CpuMask;
use crate::topology::binding_request::BindingRequest;
use crate::topology::claims::{self, Choice};
use crate::topology::machine::PlaceUnit;
use crate::topology::machine_info::MachineInfo;
use crate::topology::place_list::PlaceList;
use crate::topology::proc_bind::ProcBind;

impl HiveSet {
    /// Builds one hive for each NUMA node with CPUs that the process may use and that no other hive of the process has
    /// claimed. On a machine with one node that is one hive. All other properties are those of
    /// [`builder`](Self::builder).
    ///
    /// ```
    /// let hives = hive::HiveSet::per_node()?;
    /// hives.spmd(|bee| {
    ///     println!("bee {} of {}, in hive {} on node {:?}", bee.id(), bee.bees(), bee.hive(), bee.node());
    ///     bee.barrier();
    /// });
    /// # Ok::<(), hive::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`HiveSetBuilder::build`].
    pub fn per_node() -> Result<Self, Error> {
        Self::builder().build()
    }

    /// Returns a builder, for several hives with properties other than the default ones.
    ///
    /// ```
    /// let quiet = hive::Hive::builder().spin(std::time::Duration::ZERO);
    /// let hives = hive::HiveSet::builder().template(quiet).leave_free(1).build()?;
    /// assert!(hives.bees() >= hives.len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn builder() -> HiveSetBuilder {
        HiveSetBuilder {
            unit_kind: PlaceUnit::NumaDomains,
            free_cpus: 0,
            share_cpus: false,
            template: Builder::default(),
        }
    }
}

/// Asks for several hives: see [`HiveSet::builder`].
///
/// Each hive gets one CPU for each of its bees, whether or not hives of other processes have it. These environment
/// variables have an effect: `HIVE_NUM_BEES` is the number of bees over all hives, at most one for each CPU;
/// `HIVE_SHRINK`, `HIVE_SPIN` and `HIVE_TRACE` mean for each hive of the set what they mean for a single hive.
/// `HIVE_PIN`, `HIVE_PLACES` and `HIVE_PROC_BIND` have no effect.
///
/// ```
/// // A hive for each package, with one CPU of each left to the system.
/// let builder = hive::HiveSet::builder().each(hive::PlaceUnit::Sockets).leave_free(1);
/// println!("{}", builder.build()?.report());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until build() is called"]
pub struct HiveSetBuilder {
    /// The kind of machine unit that the hives are for: each unit of this kind gets one hive.
    unit_kind: PlaceUnit,
    /// How many CPUs of each unit stay unused.
    free_cpus: usize,
    /// Whether CPUs that other hives of this process have claimed may be used as well.
    share_cpus: bool,
    /// All other properties of each hive.
    template: Builder,
}

impl HiveSetBuilder {
    /// The kind of machine unit that the hives are for: each unit of this kind gets one hive. Default:
    /// [`PlaceUnit::NumaDomains`], memory nodes that have CPUs.
    ///
    /// ```
    /// use hive::{HiveSet, PlaceUnit};
    ///
    /// // One hive for the cores that share a last-level cache; many machines have several of these on a node.
    /// let hives = HiveSet::builder().each(PlaceUnit::LlCaches).build()?;
    /// assert!(!hives.is_empty());
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn each(self, unit: PlaceUnit) -> Self {
        Self { unit_kind: unit, ..self }
    }

    /// How many CPUs of each unit are left to others. They are the CPUs that the unit's bees would get last. At least
    /// one CPU of each unit is always used. Default: 0.
    ///
    /// ```
    /// let hives = hive::HiveSet::builder().leave_free(1).build()?;
    /// assert!(hives.iter().all(|hive| hive.bees() >= 1));
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn leave_free(self, cpus: usize) -> Self {
        Self { free_cpus: cpus, ..self }
    }

    /// Whether CPUs that other hives of this process have claimed are used all the same. Default: false; a unit whose
    /// CPUs are all claimed by other hives then gets no hive.
    ///
    /// ```
    /// use hive::HiveSet;
    ///
    /// let all = hive::Hive::builder().pin(hive::Pin::Core).build()?;
    /// assert!(HiveSet::per_node().unwrap_err().to_string().contains("no CPU is left"));
    /// let hives = HiveSet::builder().share(true).build()?;
    /// # drop((all, hives));
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn share(self, share: bool) -> Self {
        Self { share_cpus: share, ..self }
    }

    /// All other properties of the hives: how they wait, what their threads are called, their start handlers, and so
    /// on. Default: those of [`Hive::builder`](crate::pool::handle::Hive::builder).
    ///
    /// These settings mean something particular here:
    /// - `bees` is the number of bees that each hive starts with. By default a hive has one bee for each of its CPUs;
    ///   where the process has a quota of CPU time for fewer CPUs, the bees are dealt out evenly.
    /// - `shrink` is the order in which each hive gives up its CPUs.
    /// - `pin_queen` binds the thread that calls `build` to the first place of hive 0.
    /// - `thread_name` is the beginning of the threads' names: "NAME-0-3" is bee 3 of hive 0, and "NAME-lead-1" the
    ///   leader of hive 1.
    ///
    /// ```
    /// use hive::{Hive, HiveSet};
    ///
    /// let template = Hive::builder().bees(2).pin_queen(true).thread_name("solver");
    /// let hives = HiveSet::builder().template(template).build()?;
    /// assert!(hives.iter().all(|hive| hive.bees() == 2));
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn template(self, hive: Builder) -> Self {
        Self { template: hive, ..self }
    }

    /// Builds the hives. Each is built on its leader's thread, so that the memory that its bees share lies on its own
    /// node.
    ///
    /// ```
    /// match hive::HiveSet::builder().build() {
    ///     Ok(hives) => println!("{} hives with {} bees in all", hives.len(), hives.bees()),
    ///     Err(error) => println!("no hive for each node: {error}"),
    /// }
    /// ```
    ///
    /// # Errors
    /// If other hives of this process have claimed all of its CPUs, if the builder given to
    /// [`template`](Self::template) says where bees are bound, and as [`Builder::build`].
    pub fn build(self) -> Result<HiveSet, Error> {
        self.check_no_places()?;
        let (machine_info, environment) = (MachineInfo::detect(), Environment::read());
        let shrink = self.template.binding_options.shrink.or(environment.binding_options.shrink).unwrap_or_default();
        // This claim keeps the CPUs of the whole set from hives that other threads build meanwhile. It lasts until each
        // hive of the set has claimed its own, which it may, because its places are listed. Other processes neither see
        // nor prevent this claim; they see those of the hives.
        let (claim, layout) = claims::claim(&machine_info.machine, Choice::Unseen, |taken| {
            let taken = if self.share_cpus { CpuMask::new() } else { taken.clone() };
            let layout = Layout::new(&machine_info.machine, self.unit_kind, shrink, self.free_cpus, &taken);
            (layout.as_ref().map(Layout::mask).unwrap_or_default(), layout)
        });
        let layout = layout.ok_or_else(|| no_cpu_left(&machine_info))?;
        let (sizes, warning) = self.hive_sizes(&layout, environment.bees, machine_info.usable_cpus());
        let leaders = self.leaders_builder(&layout).build()?;
        let built = leaders.spmd_map(layout.hives.len(), |leader| {
            let number = leader.id();
            // The leaders are bound to their hives' first places, so each builds its hive, and touches its memory
            // first, there.
            let builder = self.placed_builder(&number.to_string(), &layout.hives[number].cpus, sizes[number]);
            // Only hive 0 has a leader that may be unbound: the calling thread. The other leaders are bound as workers
            // of the leaders' hive already.
            builder.pin_queen(self.template.pin_queen && number == 0).build()
        });
        let hives = built.into_iter().collect::<Result<Vec<_>, _>>()?;
        drop(claim);
        let skipped = layout.skipped.iter().map(|(unit, cpus)| {
            let name = self.unit_kind.name();
            format!("there is no hive for {name} {unit}: other hives of this process have its CPUs, {cpus}")
        });
        Ok(HiveSet {
            hives,
            leaders,
            unit_kind: self.unit_kind,
            units: layout.hives.iter().map(|hive| hive.unit).collect(),
            nodes: layout.hives.iter().map(|hive| common_node(&hive.cpus)).collect(),
            warnings: skipped.chain(warning).collect(),
        })
    }

    fn check_no_places(&self) -> Result<(), Error> {
        let BindingRequest { pin, places, proc_bind, .. } = &self.template.binding_options;
        let asked = [("pin", pin.is_some()), ("places", places.is_some()), ("proc_bind", proc_bind.is_some())];
        let Some((what, _)) = asked.iter().find(|(_, is_asked)| *is_asked) else { return Ok(()) };
        let message = format!(
            "the template of this set of hives was given {what}, but each hive gets the CPUs of its own unit; leave it \
             out, and say by each() what these are"
        );
        Err(Error::new(ErrorKind::Places, message))
    }

    /// The number of bees that each hive starts with, and a warning if that is not what `HIVE_NUM_BEES` asks for.
    /// `wanted` is that number.
    fn hive_sizes(&self, layout: &Layout, wanted: Option<usize>, usable_cpus: usize) -> (Vec<usize>, Option<String>) {
        // A number in the template holds for each hive, and the environment does not matter.
        if let Some(bees) = self.template.bees {
            return (vec![bees; layout.hives.len()], None);
        }
        let max_bees = self.template.max_bees.unwrap_or(usize::MAX);
        let capacities: Vec<_> = layout.hives.iter().map(|hive| hive.cpus.len().min(max_bees)).collect();
        // Otherwise the bees are dealt out: as many as the environment says, or as many as the process has CPUs to use.
        let sizes = distribute(wanted.unwrap_or(usable_cpus), &capacities);
        let total = sizes.iter().sum::<usize>();
        let overridden = wanted.filter(|&bees| bees != total);
        let warning = overridden.map(|bees| {
            let hives = sizes.len();
            format!(
                "HIVE_NUM_BEES={bees} is taken for {total}: the hives have at least one bee each, {hives}, \
                 and at most one for each CPU"
            )
        });
        (sizes, warning)
    }

    /// The builder of the leaders' hive. Each of its bees is bound to the place of bee 0 of the hive that it leads.
    fn leaders_builder(&self, layout: &Layout) -> Builder {
        let first_cpus: Vec<_> = layout.hives.iter().map(|hive| hive.cpus[0]).collect();
        let leaders = self.placed_builder("lead", &first_cpus, first_cpus.len());
        #[cfg(feature = "rayon")]
        // rayon's worker on a leader's thread must belong to the pool of the hive that it leads, and to no other pool.
        let leaders = leaders.host_rayon(false);
        leaders.pin_queen(false).max_bees(first_cpus.len())
    }

    /// The builder of a hive of `bees` bees on `cpus`, one bee for each CPU, whose threads are called after `name`.
    fn placed_builder(&self, name: &str, cpus: &[usize], bees: usize) -> Builder {
        let base_name = self.template.thread_name.as_deref().unwrap_or(DEFAULT_THREAD_NAME);
        let places = PlaceList::Listed(cpus.iter().map(|&cpu| vec![cpu]).collect());
        let builder = self.template.clone().bees(bees).thread_name(format!("{base_name}-{name}"));
        let mut builder = builder.places(places).proc_bind(ProcBind::True);
        builder.binding_options.is_ordered = true;
        builder
    }
}

fn no_cpu_left(machine_info: &MachineInfo) -> Error {
    let allowed = machine_info.machine.mask();
    let message = format!(
        "no CPU is left for a set of hives: other hives of this process have all that it may use, {allowed}; build \
         these first, drop the others before, or share(true)"
    );
    Error::new(ErrorKind::Places, message)
}
