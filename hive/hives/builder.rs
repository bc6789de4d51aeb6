//! How several hives are asked for, and how they come about.

use crate::hives::hive_set::{HiveSet, SetInfo};
use crate::hives::layout::{HiveCpus, Layout, distribute};
use crate::memory::nodes::common_node;
use crate::pool::config::{Builder, DEFAULT_THREAD_NAME};
use crate::pool::environment::Environment;
use crate::pool::error::{BuildError, BuildProblem};
use crate::sys::cpu_mask::CpuMask;
use crate::topology::binding_request::BindingRequest;
use crate::topology::claims;
use crate::topology::machine::Unit;
use crate::topology::machine_info::MachineInfo;
use crate::topology::place_list::{PlaceList, PlaceUnit};
use crate::topology::proc_bind::ProcBind;

/// Asks for several hives: see [`HiveSet::builder`].
///
/// They have one CPU for each bee. Of the environment, `HIVE_NUM_BEES` is the number of bees over all hives, at most one for each of their CPUs; `HIVE_SHRINK`, `HIVE_SPIN` and `HIVE_TRACE` are for each
/// hive what they are for one; `HIVE_PIN`, `HIVE_PLACES` and `HIVE_PROC_BIND` have no effect.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until build() is called"]
pub struct HiveSetBuilder {
    unit_kind: PlaceUnit,
    free_cpus: usize,
    share_cpus: bool,
    template: Builder,
}

impl HiveSetBuilder {
    pub(crate) fn new() -> Self {
        Self { unit_kind: PlaceUnit::NumaDomains, free_cpus: 0, share_cpus: false, template: Builder::new() }
    }

    /// What there is a hive for each of. Default: [`PlaceUnit::NumaDomains`], memory nodes with CPUs.
    ///
    /// ```
    /// use hive::{HiveSet, PlaceUnit};
    ///
    /// // The cores that share a last-level cache: several a node on many machines.
    /// let hives = HiveSet::builder().each(PlaceUnit::LlCaches).build()?;
    /// assert!(!hives.is_empty());
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    pub fn each(mut self, unit: PlaceUnit) -> Self {
        self.unit_kind = unit;
        self
    }

    /// The number of CPUs of each unit that are left to others: those that bees would get last. One is used all the same. Default: 0.
    ///
    /// ```
    /// let hives = hive::HiveSet::builder().leave_free(1).build()?;
    /// assert!(hives.iter().all(|hive| hive.bees() >= 1));
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    pub fn leave_free(mut self, cpus: usize) -> Self {
        self.free_cpus = cpus;
        self
    }

    /// Whether CPUs that other hives of the process have are used all the same. Default: false; units all of whose CPUs others have get no hive.
    ///
    /// ```
    /// use hive::HiveSet;
    ///
    /// let all = hive::Hive::builder().pin(hive::Pin::Core).build()?;
    /// assert!(HiveSet::per_node().unwrap_err().to_string().contains("no CPU is left"));
    /// let hives = HiveSet::builder().share(true).build()?;
    /// # drop((all, hives));
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    pub fn share(mut self, share: bool) -> Self {
        self.share_cpus = share;
        self
    }

    /// What each of the hives is to be like in all else: how it waits, what its threads are called, its start handlers, and so on. Default: as [`Hive::builder`](crate::pool::handle::Hive::builder).
    ///
    /// `bees` is the number of bees that each hive starts with; default: one for each of its CPUs, as far as the process's quota goes. `shrink` is the order in which
    /// each hive gives up its CPUs. `pin_queen` binds the thread that builds them to the first place of hive 0. Threads are called "NAME-0-3", the hive's number and the bee's;
    /// leaders "NAME-lead-1".
    ///
    /// ```
    /// use hive::{Hive, HiveSet};
    ///
    /// let hives = HiveSet::builder().template(Hive::builder().bees(2).pin_queen(true).thread_name("solver")).build()?;
    /// assert!(hives.iter().all(|hive| hive.bees() == 2));
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    pub fn template(mut self, hive: Builder) -> Self {
        self.template = hive;
        self
    }

    /// Builds the hives, each on its leader's thread, so that what they share lies in their own nodes' memory.
    ///
    /// # Errors
    /// If other hives of the process have all of its CPUs, if the builder given to [`template`](Self::template) says where bees are bound, and as [`Builder::build`].
    pub fn build(self) -> Result<HiveSet, BuildError> {
        self.check_no_places()?;
        let (machine_info, environment) = (MachineInfo::detect(), Environment::read());
        let shrink = self.template.binding_options.shrink.or(environment.binding_options.shrink).unwrap_or_default();
        // Held until the hives have claims of their own.
        let (claim, layout) = claims::claim(|taken| {
            let taken = if self.share_cpus { CpuMask::new() } else { taken.clone() };
            let layout = Layout::new(&machine_info.machine, self.unit_kind, shrink, self.free_cpus, &taken);
            (layout.as_ref().map_or_else(|_| CpuMask::new(), Layout::mask), layout)
        });
        let layout = layout.map_err(|_| no_cpu_left(&machine_info))?;
        let (sizes, warning) = self.hive_sizes(&layout, &machine_info, &environment);
        let leaders = self.leaders_builder(&layout).build()?;
        let built = leaders.spmd_map(layout.hives.len(), |leader| {
            let number = leader.id();
            self.hive_builder(number, &layout.hives[number], sizes[number]).build()
        });
        let hives = built.into_iter().collect::<Result<Vec<_>, _>>()?;
        drop(claim);
        let info = self.info(&layout, warning);
        Ok(HiveSet { hives, leaders, info })
    }

    fn check_no_places(&self) -> Result<(), BuildError> {
        let BindingRequest { pin, places, proc_bind, .. } = &self.template.binding_options;
        let asked = [("pin", pin.is_some()), ("places", places.is_some()), ("proc_bind", proc_bind.is_some())];
        match asked.iter().find(|(_, is_asked)| *is_asked) {
            Some((what, _)) => Err(BuildError(BuildProblem::Binding(format!(
                "the template of this set of hives was given {what}, but each hive gets the CPUs of its own unit; leave it out, and say by each() what these are"
            )))),
            None => Ok(()),
        }
    }

    /// The bees of each hive, and what of the environment is not heard.
    fn hive_sizes(
        &self,
        layout: &Layout,
        machine_info: &MachineInfo,
        environment: &Environment,
    ) -> (Vec<usize>, Option<String>) {
        if let Some(bees) = self.template.bees {
            return (vec![bees; layout.hives.len()], None);
        }
        let max_bees = self.template.max_bees.unwrap_or(usize::MAX);
        let capacities: Vec<_> = layout.hives.iter().map(|hive| hive.cpus.len().min(max_bees)).collect();
        let sizes = distribute(environment.bees.unwrap_or(machine_info.usable_cpus()), &capacities);
        let total = sizes.iter().sum::<usize>();
        let overridden = environment.bees.filter(|&bees| bees != total);
        let warning = overridden.map(|bees| {
            let hives = sizes.len();
            format!("HIVE_NUM_BEES={bees} is taken for {total}: the hives have at least one bee each, {hives}, and at most one for each CPU")
        });
        (sizes, warning)
    }

    /// The hive of the leaders: each is bound to where its hive's bee 0 belongs.
    fn leaders_builder(&self, layout: &Layout) -> Builder {
        let first_cpus: Vec<_> = layout.hives.iter().map(|hive| hive.cpus[0]).collect();
        let leaders = self.placed_builder("lead", &first_cpus, first_cpus.len());
        #[cfg(feature = "rayon")]
        // A leader may be a worker of its own hive's pool only.
        let leaders = leaders.host_rayon(false);
        leaders.pin_queen(false).max_bees(first_cpus.len())
    }

    fn hive_builder(&self, number: usize, hive: &HiveCpus, bees: usize) -> Builder {
        // The other leaders are bound already.
        let pin_queen = self.template.pin_queen && number == 0;
        self.placed_builder(&number.to_string(), &hive.cpus, bees).pin_queen(pin_queen)
    }

    /// A hive of `bees` on `cpus`, one each.
    fn placed_builder(&self, name: &str, cpus: &[usize], bees: usize) -> Builder {
        let base_name = self.template.thread_name.as_deref().unwrap_or(DEFAULT_THREAD_NAME);
        let places = PlaceList::Listed(cpus.iter().map(|&cpu| vec![cpu]).collect());
        let mut builder = self.template.clone().bees(bees).thread_name(format!("{base_name}-{name}"));
        builder.binding_options = BindingRequest {
            places: Some(places),
            proc_bind: Some(ProcBind::True),
            is_ordered: true,
            ..builder.binding_options
        };
        builder
    }

    fn info(&self, layout: &Layout, warning: Option<String>) -> SetInfo {
        let name = unit_name(self.unit_kind);
        let skipped = layout.skipped.iter().map(|(unit, cpus)| {
            format!("there is no hive for {name} {unit}: other hives of this process have its CPUs, {cpus}")
        });
        SetInfo {
            unit_kind: self.unit_kind,
            units: layout.hives.iter().map(|hive| hive.unit).collect(),
            nodes: layout.hives.iter().map(|hive| common_node(&hive.cpus)).collect(),
            warnings: skipped.chain(warning).collect(),
        }
    }
}

/// In the singular.
pub(crate) fn unit_name(unit_kind: PlaceUnit) -> &'static str {
    unit_kind.unit().map_or("CPU", Unit::name)
}

fn no_cpu_left(machine_info: &MachineInfo) -> BuildError {
    let allowed = machine_info.machine.mask();
    BuildError(BuildProblem::Binding(format!(
        "no CPU is left for a set of hives: other hives of this process have all that it may use, {allowed}; build these first, drop the others before, or share(true)"
    )))
}
