//! Where the bees of a hive are, and which of them are parked.

use clap::Args;
use hive::{Builder, Hive, Pin, Place, PlaceList, ProcBind, Shrink};

/// What hive to build. For an option that is not given, the environment (HIVE_PLACES and so on) decides, or hive's
/// default.
#[derive(Debug, Default, Args)]
pub(crate) struct Arguments {
    /// Bees of the hive, including the queen [default: one for each CPU that hive may use]
    #[arg(long, value_name = "N")]
    bees: Option<usize>,
    /// What the bees are bound to: none, core, cluster, node, package or a list of CPUs; this is the short form of the
    /// next two [default: that of hive]
    #[arg(long, value_name = "PLACE")]
    pin: Option<Pin>,
    /// The places there are, as in OMP_PLACES: threads, cores, ll_caches, numa_domains or sockets, with a count or
    /// without, or a list such as {0:4},{4:4}
    #[arg(long, value_name = "PLACES")]
    places: Option<PlaceList>,
    /// Which bee gets which place, as in OMP_PROC_BIND: false, true, primary, close or spread
    #[arg(long, value_name = "POLICY")]
    proc_bind: Option<ProcBind>,
    /// Which places are given up first when the hive shrinks: compact, spread or keep_nodes
    #[arg(long, value_name = "ORDER")]
    shrink: Option<Shrink>,
    /// Resize the hive to this, to see which bees are parked, or where further bees go
    #[arg(long, value_name = "M", visible_alias = "shrink-to")]
    size: Option<usize>,
}

impl Arguments {
    /// The queen is bound, too.
    fn builder(&self) -> Builder {
        let mut builder = Hive::builder().pin_queen(true);
        builder = self.bees.map_or(builder.clone(), |bees| builder.bees(bees));
        builder = self.pin.clone().map_or(builder.clone(), |pin| builder.pin(pin));
        builder = self.places.clone().map_or(builder.clone(), |places| builder.places(places));
        builder = self.proc_bind.map_or(builder.clone(), |bind| builder.proc_bind(bind));
        self.shrink.map_or(builder.clone(), |shrink| builder.shrink(shrink))
    }
}

/// The bees of one hive.
#[derive(Debug)]
pub(super) struct Bees {
    places: Vec<Option<Place>>,
    /// Bees with this id or a higher one are parked.
    awake: usize,
    /// What the bees are bound to, in the words of hive's report.
    binding: String,
    /// Warnings: of hive, or about what the kernel says.
    warnings: Vec<String>,
}

impl Bees {
    /// Builds a hive and looks where its bees are. An error is that of hive, with the flag that caused it, if that is
    /// known.
    pub(super) fn find(wanted: &Arguments, foreign: bool) -> Result<Self, String> {
        let hive = wanted.builder().build().map_err(|error| format!("no such hive: {error}"))?;
        let built = hive.bees();
        let awake = wanted.size.unwrap_or(built);
        let resize = |size| hive.resize(size).map_err(|error| format!("--size {awake}: {error}"));
        resize(awake.max(built))?;
        let (places, report) = (hive.places(), hive.report());
        let mut warnings = report.warnings().to_vec();
        if !foreign {
            warnings.extend(misplaced_bees(&hive, &places));
        }
        resize(awake)?;
        hive.wait_until_parked();
        let report = report.to_string();
        let binding = report.lines().find_map(|line| line.strip_prefix("pinned to:")).unwrap_or_default();
        Ok(Self { places, awake, binding: binding.trim().to_owned(), warnings })
    }

    /// What a CPU is used for, with the ids of the bees.
    pub(super) fn on(&self, cpu: usize) -> String {
        let is_there = |place: &Option<Place>| place.as_ref().is_some_and(|place| place.cpus().contains(&cpu));
        let (awake, parked): (Vec<usize>, Vec<usize>) =
            (0..self.places.len()).filter(|bee| is_there(&self.places[*bee])).partition(|bee| *bee < self.awake);
        match (awake.len(), parked.len()) {
            (0, 0) => "free".to_owned(),
            (0, 1) => format!("parked {}", list(parked)),
            (0, _) => format!("all parked {}", list(parked)),
            (1, _) => format!("bee {}", list(awake)),
            _ => format!("bees {}", list(awake)),
        }
    }

    /// A line for each thing that can be said of them.
    pub(super) fn text(&self) -> String {
        let unbound = (0..self.places.len()).filter(|bee| self.places[*bee].is_none());
        let lines = [
            ("bound to", self.binding.clone()),
            ("bees", list((0..self.awake).collect())),
            ("parked", list((self.awake..self.places.len()).collect())),
            ("not bound", list(unbound.collect())),
        ];
        let warnings = self.warnings.iter().map(|warning| ("warning", warning.clone()));
        let lines = lines.into_iter().filter(|(_, value)| !value.is_empty()).chain(warnings);
        lines.map(|(name, value)| format!("{name}: {value}\n")).collect()
    }
}

/// As hive writes lists of CPUs: `0-3,8`.
pub(super) fn list(numbers: Vec<usize>) -> String {
    if numbers.is_empty() { String::new() } else { Pin::Cpus(numbers).to_string() }
}

/// A warning for each bee that the kernel lets run elsewhere than hive says.
fn misplaced_bees(hive: &Hive, places: &[Option<Place>]) -> Vec<String> {
    let allowed = hive.spmd_map(places.len(), |_| allowed());
    let warning = |(bee, (place, allowed)): (usize, (&Option<Place>, Option<Vec<usize>>))| {
        let (mut wanted, allowed) = (place.as_ref()?.cpus().to_vec(), allowed?);
        wanted.sort_unstable();
        (wanted != allowed).then(|| {
            format!("bee {bee} belongs on CPUs {}, and the kernel lets it run on {}", list(wanted), list(allowed))
        })
    };
    places.iter().zip(allowed).enumerate().filter_map(warning).collect()
}

/// The CPUs that the kernel lets the calling thread run on, in ascending order, where it says.
fn allowed() -> Option<Vec<usize>> {
    Some(core_affinity::get_core_ids()?.into_iter().map(|core| core.id).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::cpus;

    fn find(wanted: &Arguments) -> Result<Bees, String> {
        Bees::find(wanted, false)
    }

    #[test]
    fn parked_bees_are_listed_apart_from_awake_ones() {
        let first = cpus::in_order_of_use()[0];
        let wanted =
            Arguments { bees: Some(3), pin: Some(Pin::Cpus(vec![first])), size: Some(2), ..Arguments::default() };
        let bees = find(&wanted).unwrap();
        assert!(bees.text().ends_with("bees: 0-1\nparked: 2\n"), "{}", bees.text());
        assert_eq!((bees.on(first).as_str(), bees.on(70_000).as_str()), ("bees 0-1", "free"));
    }

    #[test]
    fn bees_by_which_a_hive_grows_have_places() {
        let first = cpus::in_order_of_use()[0];
        let places = format!("{{{first}}}").parse().ok();
        let wanted = Arguments {
            bees: Some(1),
            places,
            proc_bind: Some(ProcBind::Primary),
            size: Some(3),
            ..Arguments::default()
        };
        let bees = find(&wanted).unwrap();
        assert_eq!(bees.on(first), "bees 0-2");
        assert!(bees.binding.contains("bound by primary"), "{}", bees.binding);
    }

    #[test]
    fn bees_without_a_place_are_reported() {
        let bees = find(&Arguments { bees: Some(2), pin: Some(Pin::None), ..Arguments::default() }).unwrap();
        assert!(bees.text().contains("not bound: 0-1\n"), "{}", bees.text());
    }

    #[test]
    fn what_hive_refuses_is_reported_in_its_words() {
        for (size, mention) in [(0, "at least 1 bee"), (70_000, "limit is 1024")] {
            let error = find(&Arguments { bees: Some(2), size: Some(size), ..Arguments::default() }).unwrap_err();
            assert!(error.contains(&format!("--size {size}")) && error.contains(mention), "{error}");
        }
        let both = Arguments { pin: Some(Pin::Core), proc_bind: Some(ProcBind::Close), ..Arguments::default() };
        assert!(find(&both).unwrap_err().contains("no such hive: "));
    }
}
