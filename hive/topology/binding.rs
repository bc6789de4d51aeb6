//! How what the program and the environment say of pinning, places and their order goes together.

use std::fmt;

use super::order::Shrink;
use super::place_list::{PlaceList, PlaceUnit};
use super::policy::Pin;
use super::proc_bind::ProcBind;

/// What the program, or the environment, asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) pin: Option<Pin>,
    pub(crate) places: Option<PlaceList>,
    pub(crate) proc_bind: Option<ProcBind>,
    pub(crate) shrink: Option<Shrink>,
    /// Whether the places are in the order to shrink in already.
    pub(crate) is_arranged: bool,
}

/// What members are bound to, and in which order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Binding {
    Pin(Pin),
    Places { list: PlaceList, bind: ProcBind },
}

/// As in the report: "core", "cores, bound by spread".
impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pin(pin) => pin.fmt(f),
            Self::Places { list, bind } => write!(f, "places {list}, bound by {bind}"),
        }
    }
}

impl Binding {
    /// Whether [`Shrink`] says in which order members have their places.
    pub(crate) fn has_hive_s_order(&self) -> bool {
        match self {
            Self::Pin(pin) => !matches!(pin, Pin::None | Pin::Cpus(_)),
            Self::Places { list, bind } => *bind == ProcBind::True && matches!(list, PlaceList::Named { .. }),
        }
    }
}

/// What is in effect.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    /// None: as fits the number of bees.
    pub(crate) binding: Option<Binding>,
    /// Whether the list of CPUs or places in it, if there is one, is the environment's.
    pub(crate) is_environment_s: bool,
    pub(crate) shrink: Shrink,
    /// What was said and is not heard.
    pub(crate) warnings: Vec<String>,
}

/// Two things that a program has asked for and that exclude one another.
pub(crate) type Contradiction = (&'static str, &'static str);

impl Asked {
    /// The program's word goes before that of the `environment`; within one of them places go before pinning, and a policy that
    /// is an order before [`Shrink`].
    pub(crate) fn resolve(&self, environment: &Self) -> Result<Resolved, Contradiction> {
        self.contradiction().map_or(Ok(()), Err)?;
        let mut warnings = Vec::new();
        let bind = self.proc_bind.or_else(|| environment.bind_beside(self.shrink, &mut warnings));
        let binding = self.binding(environment, bind, &mut warnings);
        let shrink = self.shrink.or(environment.shrink);
        let in_order = self.is_arranged || binding.as_ref().is_none_or(Binding::has_hive_s_order);
        if let (Some(shrink), Some(binding), false) = (shrink, &binding, in_order) {
            warnings.push(format!(
                "the order to shrink in, {shrink}, has no effect: {binding} is an order of its own, or binds nobody"
            ));
        }
        let is_environment_s = self.pin.is_none() && self.places.is_none();
        Ok(Resolved { binding, is_environment_s, shrink: shrink.unwrap_or_default(), warnings })
    }

    fn contradiction(&self) -> Option<Contradiction> {
        let order = self.proc_bind.is_some_and(ProcBind::is_order);
        match self {
            Self { pin: Some(_), places: Some(_), .. } => Some(("pin", "places")),
            Self { pin: Some(_), proc_bind: Some(_), .. } => Some(("pin", "proc_bind")),
            Self { shrink: Some(_), .. } if order => Some(("proc_bind with an order of its own", "shrink")),
            _ => None,
        }
    }

    /// The environment's policy, but for an order where the program has asked for another.
    fn bind_beside(&self, shrink: Option<Shrink>, warnings: &mut Vec<String>) -> Option<ProcBind> {
        match (self.proc_bind?, shrink) {
            (bind, Some(shrink)) if bind.is_order() => {
                warnings
                    .push(format!("HIVE_PROC_BIND is taken for true: the program asks for another order than {bind}, {shrink}"));
                Some(ProcBind::True)
            }
            (bind, _) => Some(bind),
        }
    }

    fn binding(&self, environment: &Self, bind: Option<ProcBind>, warnings: &mut Vec<String>) -> Option<Binding> {
        if let Some(pin) = &self.pin {
            return Some(Binding::Pin(pin.clone()));
        }
        let list = self.places.as_ref().or(environment.places.as_ref());
        if list.is_none() && bind.is_none() {
            return environment.pin.clone().map(Binding::Pin);
        }
        warnings
            .extend(environment.pin.as_ref().map(|pin| format!("HIVE_PIN={pin} has no effect: places or a policy are given")));
        let list = list.cloned().unwrap_or(PlaceList::Named { each: PlaceUnit::Cores, count: None });
        Some(match bind.unwrap_or(ProcBind::True) {
            ProcBind::False => Binding::Pin(Pin::None),
            bind => Binding::Places { list, bind },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pin() -> Asked {
        Asked { pin: Some(Pin::Node), ..Asked::default() }
    }

    fn places() -> Asked {
        Asked { places: "sockets".parse().ok(), ..Asked::default() }
    }

    fn bound(bind: ProcBind) -> Asked {
        Asked { proc_bind: Some(bind), ..Asked::default() }
    }

    fn shrunk(shrink: Shrink) -> Asked {
        Asked { shrink: Some(shrink), ..Asked::default() }
    }

    fn both(one: Asked, other: Asked) -> Asked {
        Asked {
            pin: one.pin.or(other.pin),
            places: one.places.or(other.places),
            proc_bind: one.proc_bind.or(other.proc_bind),
            shrink: one.shrink.or(other.shrink),
            is_arranged: one.is_arranged || other.is_arranged,
        }
    }

    /// What is in effect, and how many warnings there are.
    fn effect(program: &Asked, environment: &Asked) -> (String, Shrink, usize) {
        let resolved = program.resolve(environment).unwrap();
        let binding = resolved.binding.map_or_else(|| "default".to_owned(), |binding| binding.to_string());
        (binding, resolved.shrink, resolved.warnings.len())
    }

    #[test]
    fn the_table_of_who_wins() {
        let (none, close) = (Asked::default(), bound(ProcBind::Close));
        let compact = Shrink::Compact;
        let cases = [
            (&none, &none, ("default", compact, 0)),
            (&none, &pin(), ("node", compact, 0)),
            (&none, &places(), ("places sockets, bound by true", compact, 0)),
            (&none, &close, ("places cores, bound by close", compact, 0)),
            (&none, &both(pin(), places()), ("places sockets, bound by true", compact, 1)),
            (&pin(), &both(places(), close.clone()), ("node", compact, 0)),
            (&places(), &both(pin(), close.clone()), ("places sockets, bound by close", compact, 1)),
            (&none, &both(places(), bound(ProcBind::False)), ("none", compact, 0)),
            (&bound(ProcBind::True), &close, ("places cores, bound by true", compact, 0)),
            (&none, &both(close.clone(), shrunk(Shrink::Spread)), ("places cores, bound by close", Shrink::Spread, 1)),
            (&shrunk(Shrink::Spread), &close, ("places cores, bound by true", Shrink::Spread, 1)),
            (&close, &shrunk(Shrink::Spread), ("places cores, bound by close", Shrink::Spread, 1)),
            (&shrunk(Shrink::KeepNodes), &shrunk(Shrink::Spread), ("default", Shrink::KeepNodes, 0)),
            (&both(pin(), shrunk(Shrink::KeepNodes)), &none, ("node", Shrink::KeepNodes, 0)),
        ];
        for (program, environment, (binding, shrink, warnings)) in cases {
            let found = effect(program, environment);
            assert_eq!(found, (binding.to_owned(), shrink, warnings), "program {program:?}, environment {environment:?}");
        }
    }

    #[test]
    fn an_order_that_has_no_effect_is_told() {
        let list = |text: &str| Asked { places: text.parse().ok(), ..Asked::default() };
        assert_eq!(effect(&both(list("{0},{1}"), shrunk(Shrink::Spread)), &Asked::default()).2, 1);
        assert_eq!(effect(&both(list("cores"), shrunk(Shrink::Spread)), &Asked::default()).2, 0);
        let arranged = Asked { is_arranged: true, ..list("{0},{1}") };
        assert_eq!(effect(&arranged, &shrunk(Shrink::Spread)).2, 0, "the order has had its effect");
        let cpus = Asked { pin: Some(Pin::Cpus(vec![1, 0])), ..Asked::default() };
        assert_eq!(effect(&cpus, &shrunk(Shrink::Spread)).2, 1);
    }

    #[test]
    fn a_program_that_contradicts_itself_is_told() {
        let contradiction = |asked: Asked| asked.resolve(&Asked::default()).unwrap_err();
        assert_eq!(contradiction(both(pin(), places())), ("pin", "places"));
        assert_eq!(contradiction(both(pin(), bound(ProcBind::True))), ("pin", "proc_bind"));
        assert_eq!(contradiction(both(bound(ProcBind::Close), shrunk(Shrink::Compact))).1, "shrink");
        assert!(both(bound(ProcBind::True), shrunk(Shrink::Compact)).resolve(&Asked::default()).is_ok());
    }
}
