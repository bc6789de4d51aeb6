//! How several hives are asked for, and how they come about.

use super::layout::{Layout, Lot, deal};
use super::several::{About, Hives};
use crate::config::{Builder, DEFAULT_NAME};
use crate::environment::Environment;
use crate::error::{BuildError, BuildProblem};
use crate::habitat::Habitat;
use crate::memory::local_to;
use crate::topology::{self, Asked, CpuMask, PlaceList, PlaceUnit, ProcBind, Unit};

/// Asks for several hives: see [`Hives::builder`].
///
/// They have one CPU for each member. Of the environment, `HIVE_NUM_BEES` is the number of members over all hives, at most one for each of their CPUs; `HIVE_SHRINK`, `HIVE_SPIN` and `HIVE_TRACE` are for each
/// hive what they are for one; `HIVE_PIN`, `HIVE_PLACES` and `HIVE_PROC_BIND` have no effect.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until build() is called"]
pub struct HivesBuilder {
    each: PlaceUnit,
    free: usize,
    share: bool,
    like: Builder,
}

impl HivesBuilder {
    pub(super) fn new() -> Self {
        Self { each: PlaceUnit::NumaDomains, free: 0, share: false, like: Builder::new() }
    }

    /// What there is a hive for each of. Default: [`PlaceUnit::NumaDomains`], memory nodes with CPUs.
    ///
    /// ```
    /// use hive::{Hives, PlaceUnit};
    ///
    /// // The cores that share a last-level cache: several a node on many machines.
    /// let hives = Hives::builder().each(PlaceUnit::LlCaches).build()?;
    /// assert!(!hives.is_empty());
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    pub fn each(mut self, unit: PlaceUnit) -> Self {
        self.each = unit;
        self
    }

    /// The number of CPUs of each unit that are left to others: those that members would get last. One is used all the same. Default: 0.
    ///
    /// ```
    /// let hives = hive::Hives::builder().leave_free(1).build()?;
    /// assert!(hives.iter().all(|hive| hive.bees() >= 1));
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    pub fn leave_free(mut self, cpus: usize) -> Self {
        self.free = cpus;
        self
    }

    /// Whether CPUs that other hives of the process have are used all the same. Default: false; units all of whose CPUs others have get no hive.
    ///
    /// ```
    /// use hive::Hives;
    ///
    /// let all = hive::Hive::builder().pin(hive::Pin::Core).build()?;
    /// assert!(Hives::per_node().unwrap_err().to_string().contains("no CPU is left"));
    /// let hives = Hives::builder().share(true).build()?;
    /// # drop((all, hives));
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    pub fn share(mut self, share: bool) -> Self {
        self.share = share;
        self
    }

    /// What each of the hives is to be like in all else: how it waits, what its threads are called, its start handlers, and so on. Default: as [`Hive::builder`](crate::Hive::builder).
    ///
    /// `bees` is the number of members that each hive starts with; default: one for each of its CPUs, as far as the process's quota goes. `shrink` is the order in which
    /// each hive gives up its CPUs. `pin_queen` binds the thread that builds them to the first place of hive 0. Threads are called "NAME-0-3", the hive's number and the member's;
    /// leaders "NAME-lead-1".
    ///
    /// ```
    /// use hive::{Hive, Hives};
    ///
    /// let hives = Hives::builder().like(Hive::builder().bees(2).pin_queen(true).thread_name("solver")).build()?;
    /// assert!(hives.iter().all(|hive| hive.bees() == 2));
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    pub fn like(mut self, hive: Builder) -> Self {
        self.like = hive;
        self
    }

    /// Builds the hives, each on its leader's thread, so that what they share lies in their own nodes' memory.
    ///
    /// # Errors
    /// If other hives of the process have all of its CPUs, if the builder given to [`like`](Self::like) says where members are bound, and as [`Builder::build`].
    pub fn build(self) -> Result<Hives, BuildError> {
        self.refuse_places()?;
        let (habitat, environment) = (Habitat::survey(), Environment::read());
        let shrink = self.like.asked.shrink.or(environment.asked.shrink).unwrap_or_default();
        // Held until the hives have claims of their own.
        let (claim, layout) = topology::claim(|taken| {
            let taken = if self.share { CpuMask::new() } else { taken.clone() };
            let layout = Layout::new(&habitat.machine, self.each, shrink, self.free, &taken);
            (layout.as_ref().map_or_else(|_| CpuMask::new(), Layout::mask), layout)
        });
        let layout = layout.map_err(|_| all_taken(&habitat))?;
        let (sizes, warning) = self.sizes(&layout, &habitat, &environment);
        let leaders = self.leaders(&layout).build()?;
        let built = leaders.spmd_map(layout.lots.len(), |leader| {
            let number = leader.id();
            self.one(number, &layout.lots[number], sizes[number]).build()
        });
        let hives = built.into_iter().collect::<Result<Vec<_>, _>>()?;
        drop(claim);
        let about = self.about(&layout, warning);
        Ok(Hives { hives, leaders, about })
    }

    fn refuse_places(&self) -> Result<(), BuildError> {
        let Asked { pin, places, proc_bind, .. } = &self.like.asked;
        let asked = [("pin", pin.is_some()), ("places", places.is_some()), ("proc_bind", proc_bind.is_some())];
        match asked.iter().find(|(_, is_asked)| *is_asked) {
            Some((what, _)) => Err(BuildError(BuildProblem::Pin(format!(
                "the builder that several hives are to be like was given {what}, and each of them has its own unit's CPUs; leave it out, and say by each() what these are"
            )))),
            None => Ok(()),
        }
    }

    /// The members of each hive, and what of the environment is not heard.
    fn sizes(&self, layout: &Layout, habitat: &Habitat, environment: &Environment) -> (Vec<usize>, Option<String>) {
        if let Some(bees) = self.like.bees {
            return (vec![bees; layout.lots.len()], None);
        }
        let most = self.like.max_bees.unwrap_or(usize::MAX);
        let room: Vec<_> = layout.lots.iter().map(|lot| lot.cpus.len().min(most)).collect();
        let sizes = deal(environment.bees.unwrap_or(habitat.usable_cpus()), &room);
        let members = sizes.iter().sum::<usize>();
        let unheard = environment.bees.filter(|&bees| bees != members);
        let warning = unheard.map(|bees| {
            let hives = sizes.len();
            format!("HIVE_NUM_BEES={bees} is taken for {members}: the hives have at least one member each, {hives}, and at most one for each CPU")
        });
        (sizes, warning)
    }

    /// The hive of the leaders: each is bound to where its hive's member 0 belongs.
    fn leaders(&self, layout: &Layout) -> Builder {
        let firsts: Vec<_> = layout.lots.iter().map(|lot| lot.cpus[0]).collect();
        let leaders = self.placed("lead", &firsts, firsts.len());
        #[cfg(feature = "rayon")]
        // A leader may be a worker of its own hive's pool only.
        let leaders = leaders.host_rayon(false);
        leaders.pin_queen(false).max_bees(firsts.len())
    }

    fn one(&self, number: usize, lot: &Lot, bees: usize) -> Builder {
        // The other leaders are bound already.
        let pin_queen = self.like.pin_queen && number == 0;
        self.placed(&number.to_string(), &lot.cpus, bees).pin_queen(pin_queen)
    }

    /// A hive of `bees` on `cpus`, one each.
    fn placed(&self, name: &str, cpus: &[usize], bees: usize) -> Builder {
        let all = self.like.thread_name.as_deref().unwrap_or(DEFAULT_NAME);
        let places = PlaceList::Listed(cpus.iter().map(|&cpu| vec![cpu]).collect());
        let mut builder = self.like.clone().bees(bees).thread_name(format!("{all}-{name}"));
        builder.asked = Asked { places: Some(places), proc_bind: Some(ProcBind::True), is_arranged: true, ..builder.asked };
        builder
    }

    fn about(&self, layout: &Layout, warning: Option<String>) -> About {
        let name = unit_name(self.each);
        let left_out = layout
            .left_out
            .iter()
            .map(|(unit, cpus)| format!("there is no hive for {name} {unit}: other hives of this process have its CPUs, {cpus}"));
        About {
            each: self.each,
            units: layout.lots.iter().map(|lot| lot.unit).collect(),
            nodes: layout.lots.iter().map(|lot| local_to(&lot.cpus)).collect(),
            warnings: left_out.chain(warning).collect(),
        }
    }
}

/// In the singular.
pub(super) fn unit_name(each: PlaceUnit) -> &'static str {
    each.unit().map_or("CPU", Unit::name)
}

fn all_taken(habitat: &Habitat) -> BuildError {
    let allowed = habitat.machine.mask();
    BuildError(BuildProblem::Pin(format!(
        "no CPU is left for several hives: other hives of this process have all that it may use, {allowed}; build these first, drop the others before, or share(true)"
    )))
}
