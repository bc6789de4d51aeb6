//! What a hive is bound to, given what the program and the environment ask for.
//!
//! When a hive is built, `Builder` combines its own [`BindingRequest`] with that of the environment. The result is a
//! part of the hive's configuration, and `place_map.rs` makes places of it. The table "Which setting wins" in
//! `docs/places.md` lists the rules.

use std::fmt;

use crate::topology::machine::PlaceUnit;
use crate::topology::pin_policy::Pin;
use crate::topology::place_list::PlaceList;
use crate::topology::proc_bind::ProcBind;
use crate::topology::shrink::Shrink;

/// What the program or the environment asks for; each setting is `None` if it was not given.
#[derive(Clone, Debug, Default)]
pub(crate) struct BindingRequest {
    /// `Builder::pin` or `HIVE_PIN`.
    pub(crate) pin: Option<Pin>,
    /// `Builder::places` or `HIVE_PLACES`.
    pub(crate) places: Option<PlaceList>,
    /// `Builder::proc_bind` or `HIVE_PROC_BIND`.
    pub(crate) proc_bind: Option<ProcBind>,
    /// `Builder::shrink` or `HIVE_SHRINK`.
    pub(crate) shrink: Option<Shrink>,
    /// Whether the listed places are already in the order of `shrink`, so that no warning says that `shrink` has no
    /// effect on a list. A set of hives gives each of its hives such a list.
    pub(crate) is_ordered: bool,
}

/// What bees are bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Binding {
    /// A setting of [`Pin`].
    Pin(Pin),
    /// Places by OpenMP's grammar, and the policy by which bees get them.
    Places { list: PlaceList, proc_bind: ProcBind },
}

/// The text in the report, such as "core" or "places cores, bound by spread".
impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pin(pin) => pin.fmt(f),
            Self::Places { list, proc_bind: bind } => write!(f, "places {list}, bound by {bind}"),
        }
    }
}

impl Binding {
    /// Whether [`Shrink`] decides the order in which bees get places.
    pub(crate) fn is_ordered_by_hive(&self) -> bool {
        match self {
            Self::Pin(pin) => !matches!(pin, Pin::None | Pin::Cpus(_)),
            Self::Places { list, proc_bind } => *proc_bind == ProcBind::True && matches!(list, PlaceList::Named { .. }),
        }
    }
}

/// The settings that are in effect.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedBinding {
    /// `None` if hive chooses by itself, by the number of bees and free CPUs.
    pub(crate) binding: Option<Binding>,
    /// Whether a list of CPUs or places in `binding`, if there is one, came from the environment.
    pub(crate) is_from_environment: bool,
    /// The order in which a shrinking hive gives up places.
    pub(crate) shrink: Shrink,
    /// A warning for each setting that has no effect.
    pub(crate) warnings: Vec<String>,
}

/// Two settings that the program has both given and that exclude each other, by their names.
pub(crate) type Conflict = (&'static str, &'static str);

impl BindingRequest {
    /// Combines the program's request, `self`, with that of the `environment`. The program's settings win over those of
    /// the environment. Within each request, places and a policy win over pinning, and a policy that is an order of its
    /// own wins over [`Shrink`].
    ///
    /// # Errors
    /// If two settings of the program exclude each other.
    pub(crate) fn resolve(&self, environment: &Self) -> Result<ResolvedBinding, Conflict> {
        self.conflict().map_or(Ok(()), Err)?;
        let mut warnings = Vec::new();
        let bind = self.proc_bind.or_else(|| environment.proc_bind_with_shrink(self.shrink, &mut warnings));
        let binding = self.choose(environment, bind, &mut warnings);
        let shrink = self.shrink.or(environment.shrink);
        let is_ordered = self.is_ordered || binding.as_ref().is_none_or(Binding::is_ordered_by_hive);
        if let (Some(shrink), Some(binding), false) = (shrink, &binding, is_ordered) {
            warnings.push(format!(
                "the order to shrink in, {shrink}, has no effect: {binding} is an order of its own, or binds nobody"
            ));
        }
        let is_from_environment = self.pin.is_none() && self.places.is_none();
        Ok(ResolvedBinding { binding, is_from_environment, shrink: shrink.unwrap_or_default(), warnings })
    }

    /// Two settings of this request that exclude each other, if there are such settings.
    fn conflict(&self) -> Option<Conflict> {
        let is_order = self.proc_bind.is_some_and(ProcBind::assigns_places);
        match self {
            Self { pin: Some(_), places: Some(_), .. } => Some(("pin", "places")),
            Self { pin: Some(_), proc_bind: Some(_), .. } => Some(("pin", "proc_bind")),
            Self { shrink: Some(_), .. } if is_order => Some(("proc_bind with an order of its own", "shrink")),
            _ => None,
        }
    }

    /// The policy of the environment, which is `self`. If that policy is an order of its own and the program has asked
    /// for the order `shrink`, the policy counts as `true`, with a warning.
    fn proc_bind_with_shrink(&self, shrink: Option<Shrink>, warnings: &mut Vec<String>) -> Option<ProcBind> {
        let bind = self.proc_bind?;
        let Some(shrink) = shrink.filter(|_| bind.assigns_places()) else { return Some(bind) };
        let warning = "HIVE_PROC_BIND is taken for true: the program asks for another order than";
        warnings.push(format!("{warning} {bind}, {shrink}"));
        Some(ProcBind::True)
    }

    /// What bees are bound to, given the policy `bind` that is in effect. `None` if neither the program nor the
    /// environment says anything about it.
    fn choose(&self, environment: &Self, bind: Option<ProcBind>, warnings: &mut Vec<String>) -> Option<Binding> {
        if let Some(pin) = &self.pin {
            return Some(Binding::Pin(pin.clone()));
        }
        let list = self.places.as_ref().or(environment.places.as_ref());
        if list.is_none() && bind.is_none() {
            return environment.pin.clone().map(Binding::Pin);
        }
        warnings.extend(
            environment.pin.as_ref().map(|pin| format!("HIVE_PIN={pin} has no effect: places or a policy are given")),
        );
        // A policy without places is for cores, and places without a policy are for the policy `true`.
        let list = list.cloned().unwrap_or(PlaceList::Named { each: PlaceUnit::Cores, count: None });
        Some(match bind.unwrap_or(ProcBind::True) {
            ProcBind::False => Binding::Pin(Pin::None),
            bind => Binding::Places { list, proc_bind: bind },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pin_request() -> BindingRequest {
        BindingRequest { pin: Some(Pin::Node), ..BindingRequest::default() }
    }

    fn places_request() -> BindingRequest {
        BindingRequest { places: "sockets".parse().ok(), ..BindingRequest::default() }
    }

    fn proc_bind_request(bind: ProcBind) -> BindingRequest {
        BindingRequest { proc_bind: Some(bind), ..BindingRequest::default() }
    }

    fn shrink_request(shrink: Shrink) -> BindingRequest {
        BindingRequest { shrink: Some(shrink), ..BindingRequest::default() }
    }

    /// A request with the settings of both; those of `one` win.
    fn merged(one: BindingRequest, other: BindingRequest) -> BindingRequest {
        BindingRequest {
            pin: one.pin.or(other.pin),
            places: one.places.or(other.places),
            proc_bind: one.proc_bind.or(other.proc_bind),
            shrink: one.shrink.or(other.shrink),
            is_ordered: one.is_ordered || other.is_ordered,
        }
    }

    /// The binding and the order that are in effect, and the number of warnings.
    fn resolve_for_test(program: &BindingRequest, environment: &BindingRequest) -> (String, Shrink, usize) {
        let resolved = program.resolve(environment).unwrap();
        let binding = resolved.binding.map_or_else(|| "default".to_owned(), |binding| binding.to_string());
        (binding, resolved.shrink, resolved.warnings.len())
    }

    #[test]
    fn the_table_of_who_wins() {
        let (none, close) = (BindingRequest::default(), proc_bind_request(ProcBind::Close));
        let compact = Shrink::Compact;
        let cases = [
            (&none, &none, ("default", compact, 0)),
            (&none, &pin_request(), ("node", compact, 0)),
            (&none, &places_request(), ("places sockets, bound by true", compact, 0)),
            (&none, &close, ("places cores, bound by close", compact, 0)),
            (&none, &merged(pin_request(), places_request()), ("places sockets, bound by true", compact, 1)),
            (&pin_request(), &merged(places_request(), close.clone()), ("node", compact, 0)),
            (&places_request(), &merged(pin_request(), close.clone()), ("places sockets, bound by close", compact, 1)),
            (&none, &merged(places_request(), proc_bind_request(ProcBind::False)), ("none", compact, 0)),
            (&proc_bind_request(ProcBind::True), &close, ("places cores, bound by true", compact, 0)),
            (
                &none,
                &merged(close.clone(), shrink_request(Shrink::Spread)),
                ("places cores, bound by close", Shrink::Spread, 1),
            ),
            (&shrink_request(Shrink::Spread), &close, ("places cores, bound by true", Shrink::Spread, 1)),
            (&close, &shrink_request(Shrink::Spread), ("places cores, bound by close", Shrink::Spread, 1)),
            (&shrink_request(Shrink::KeepNodes), &shrink_request(Shrink::Spread), ("default", Shrink::KeepNodes, 0)),
            (&merged(pin_request(), shrink_request(Shrink::KeepNodes)), &none, ("node", Shrink::KeepNodes, 0)),
        ];
        for (program, environment, (binding, shrink, warnings)) in cases {
            let found = resolve_for_test(program, environment);
            assert_eq!(
                found,
                (binding.to_owned(), shrink, warnings),
                "program {program:?}, environment {environment:?}"
            );
        }
    }

    #[test]
    fn an_order_that_has_no_effect_is_told() {
        let list = |text: &str| BindingRequest { places: text.parse().ok(), ..BindingRequest::default() };
        assert_eq!(
            resolve_for_test(&merged(list("{0},{1}"), shrink_request(Shrink::Spread)), &BindingRequest::default()).2,
            1
        );
        assert_eq!(
            resolve_for_test(&merged(list("cores"), shrink_request(Shrink::Spread)), &BindingRequest::default()).2,
            0
        );
        let arranged = BindingRequest { is_ordered: true, ..list("{0},{1}") };
        assert_eq!(resolve_for_test(&arranged, &shrink_request(Shrink::Spread)).2, 0, "the order has had its effect");
        let cpus = BindingRequest { pin: Some(Pin::Cpus(vec![1, 0])), ..BindingRequest::default() };
        assert_eq!(resolve_for_test(&cpus, &shrink_request(Shrink::Spread)).2, 1);
    }

    #[test]
    fn a_program_that_contradicts_itself_is_told() {
        let contradiction = |asked: BindingRequest| asked.resolve(&BindingRequest::default()).unwrap_err();
        assert_eq!(contradiction(merged(pin_request(), places_request())), ("pin", "places"));
        assert_eq!(contradiction(merged(pin_request(), proc_bind_request(ProcBind::True))), ("pin", "proc_bind"));
        assert_eq!(
            contradiction(merged(proc_bind_request(ProcBind::Close), shrink_request(Shrink::Compact))).1,
            "shrink"
        );
        assert!(
            merged(proc_bind_request(ProcBind::True), shrink_request(Shrink::Compact))
                .resolve(&BindingRequest::default())
                .is_ok()
        );
    }
}
