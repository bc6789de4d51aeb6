//! A case: from where, what in what, on hives of which sizes, and how their bees wait. It has a name that reads like the code.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use hive::SleepProtocol;

use super::super::common::task_helpers::PROTOCOLS;
use super::fault::{Fault, FaultPoint};

/// Where the outermost call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A thread that is nothing.
    Outside,
    /// The start handler of a bee of hive A, which somebody's region or task has been hired for.
    StartHandler,
}

/// What may be called. The comment says what does the rest of the nest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// A region of one, which does the rest.
    Alone,
    /// A region of all: the queen, while the others wait at a barrier.
    Queen,
    /// A region of all: the last bee, while the others wait at a barrier.
    Worker,
    /// A region of all, with results: every bee.
    Team,
    /// A loop: whoever gets the first index.
    ParFor,
    /// A reduction: whoever gets the first part.
    ParReduce,
    /// A loop inside a region of all: whoever gets the first index.
    ForEach,
    /// In a region of all: whoever comes first, while the others wait for it.
    Single,
    Install,
    /// The first half.
    Join,
    /// The second half.
    JoinSecond,
    /// The scope's body.
    Scope,
    /// One of the scope's tasks.
    ScopeTask,
    /// A task that its spawner waits for in a loop.
    Spawn,
    /// A task of the last bee's that its spawner waits for in a loop.
    SpawnOn,
    /// Beside a task that the innermost body waits for in a loop, wherever that is.
    SpawnAhead,
    /// A task that the case waits for at its end.
    Detach,
    /// The last bee.
    Broadcast,
    /// Between a resize to one more bee, with `settle`, and back.
    Grow,
    /// Between a resize to one bee, with `settle`, and back.
    Shrink,
    /// A task of a new hive that is dropped at once.
    DropNew,
    /// A task of a new hive, which has the last handle, and drops it.
    DropOwn,
    /// Inside a hot section.
    Hot,
    /// The panic handler, which a task's panic is for; its spawner waits in a loop.
    PanicHandler,
    /// The start handler of a new hive's last bee, which is built, used and dropped.
    StartHandler,
    /// The exit handler of that bee.
    ExitHandler,
    /// The destructor of a local variable of that bee's thread, after those of hive's own.
    BeeEnd,
    /// A destructor while the thread unwinds.
    Unwinding,
    /// A thread of the program's own, which is waited for.
    Thread,
    /// The destructor of a local variable of such a thread, after those of hive's own.
    ThreadEnd,
}

/// Whose hive a verb is called on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperationKind {
    /// One of the two of the case.
    Given,
    /// One that it builds, as large as hive A.
    New,
    /// None.
    NoHive,
}

const ORIGINS: [(Origin, &str); 2] = [(Origin::Outside, "outside"), (Origin::StartHandler, "start_handler")];

const OPERATIONS: [(Operation, &str); 30] = [
    (Operation::Alone, "alone"),
    (Operation::Queen, "queen"),
    (Operation::Worker, "worker"),
    (Operation::Team, "team"),
    (Operation::ParFor, "par_for"),
    (Operation::ParReduce, "par_reduce"),
    (Operation::ForEach, "for_each"),
    (Operation::Single, "single"),
    (Operation::Install, "install"),
    (Operation::Join, "join"),
    (Operation::JoinSecond, "join_second"),
    (Operation::Scope, "scope"),
    (Operation::ScopeTask, "scope_task"),
    (Operation::Spawn, "spawn"),
    (Operation::SpawnOn, "spawn_on"),
    (Operation::SpawnAhead, "spawn_ahead"),
    (Operation::Detach, "detach"),
    (Operation::Broadcast, "broadcast"),
    (Operation::Grow, "grow"),
    (Operation::Shrink, "shrink"),
    (Operation::DropNew, "drop"),
    (Operation::DropOwn, "drop_own"),
    (Operation::Hot, "hot"),
    (Operation::PanicHandler, "panic_handler"),
    (Operation::StartHandler, "start_handler"),
    (Operation::ExitHandler, "exit_handler"),
    (Operation::BeeEnd, "bee_end"),
    (Operation::Unwinding, "unwinding"),
    (Operation::Thread, "thread"),
    (Operation::ThreadEnd, "thread_end"),
];

impl Operation {
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        OPERATIONS.iter().map(|&(verb, _)| verb)
    }

    pub(crate) fn kind(self) -> OperationKind {
        match self {
            Self::DropNew | Self::DropOwn | Self::StartHandler | Self::ExitHandler | Self::BeeEnd => OperationKind::New,
            Self::Unwinding | Self::Thread | Self::ThreadEnd => OperationKind::NoHive,
            _ => OperationKind::Given,
        }
    }

    /// Whether it runs anything beside the rest of a nest.
    pub(crate) fn has_concurrent_parts(self) -> bool {
        use Operation::*;
        matches!(
            self,
            Queen | Worker | Team | ParFor | ParReduce | ForEach | Join | JoinSecond | Scope | ScopeTask | Broadcast
        )
    }

    pub(crate) fn name(self) -> &'static str {
        name_in(&OPERATIONS, self)
    }
}

impl Origin {
    /// Whether it is a place of hive A.
    pub(crate) fn is_for_first_hive(self) -> bool {
        self == Self::StartHandler
    }
}

/// A call in a nest: what, and on which hive, 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    pub(crate) verb: Operation,
    pub(crate) on: usize,
}

/// How the bees of a case wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) sleep: SleepProtocol,
    /// None: as long as by default.
    pub(crate) spin: Option<Duration>,
    pub(crate) groups: Groups,
}

/// In which groups the bees of a hive start and meet: see `docs/shape.md`. More than one on a machine that hwloc makes up only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Groups {
    One,
    /// The queen and bee 1, and the queen and bee 2.
    Split,
    /// The queen and bee 1, and bees 1 and 2.
    Relay,
}

impl Groups {
    /// The places of the bees, by the CPUs of [`MACHINE`](Self::MACHINE).
    pub(crate) fn places(self) -> Option<&'static str> {
        match self {
            Self::One => None,
            Self::Split => Some("{0},{1},{2}"),
            Self::Relay => Some("{0},{2},{3}"),
        }
    }

    /// Two nodes of two CPUs, as hwloc's environment describes them.
    pub(crate) const MACHINE: [(&str, &str); 2] =
        [("HWLOC_SYNTHETIC", "pack:2 [numa(memory=1GB)] core:2 pu:1"), ("HWLOC_THISSYSTEM", "0")];
}

impl Waiting {
    /// All that there are.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let groups: &'static [Groups] =
            if cfg!(feature = "hwloc") { &[Groups::One, Groups::Split, Groups::Relay] } else { &[Groups::One] };
        PROTOCOLS.into_iter().flat_map(move |sleep| {
            let with_groups = move |spin| groups.iter().map(move |&groups| Self { sleep, spin, groups });
            [None, Some(Duration::ZERO)].into_iter().flat_map(with_groups)
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) place: Origin,
    /// The bees of the two hives.
    pub(crate) sizes: [usize; 2],
    /// The calls, outermost first.
    pub(crate) levels: Vec<Level>,
    pub(crate) waiting: Waiting,
    pub(crate) fault: Option<Fault>,
    /// Whether another thread runs the same at the same time, with the two hives exchanged.
    pub(crate) is_mirrored: bool,
}

impl Case {
    /// Whether all waiting in it is hive's, so that no two of its kind can wait for each other by loops and threads of their own.
    pub(crate) fn can_be_mirrored(&self) -> bool {
        let waits_by_itself = |verb| {
            use Operation::*;
            matches!(verb, Spawn | SpawnOn | SpawnAhead | PanicHandler | DropOwn | Grow | Shrink | Thread | ThreadEnd)
        };
        // The thread from outside may wait as it likes: nobody waits for it.
        let first_may = |verb| matches!(verb, Operation::Spawn | Operation::SpawnOn | Operation::PanicHandler);
        let mut verbs = self.levels.iter().map(|level| level.verb);
        let first = verbs.next().is_none_or(|verb| first_may(verb) || !waits_by_itself(verb));
        self.place == Origin::Outside && first && !verbs.any(waits_by_itself)
    }

    /// The same with the two hives exchanged.
    pub(crate) fn mirrored(&self) -> Self {
        let levels = self.levels.iter().map(|&Level { verb, on }| Level { verb, on: 1 - on }).collect();
        Self { levels, ..self.clone() }
    }

    /// Whether it calls a hive.
    pub(crate) fn uses(&self, hive: usize) -> bool {
        let uses = |level: &Level| match level.verb.kind() {
            OperationKind::Given => level.on == hive,
            OperationKind::New => hive == 0,
            OperationKind::NoHive => false,
        };
        self.levels.iter().any(uses) || hive == 0 && self.place.is_for_first_hive()
    }

    /// What is called, and on what: "a2.install".
    pub(crate) fn call(&self, depth: usize) -> String {
        let level = self.levels[depth];
        let verb = level.verb.name();
        match level.verb.kind() {
            OperationKind::Given => format!("{}{}.{verb}", HIVE_LETTERS[level.on], self.sizes[level.on]),
            OperationKind::New => format!("new{}.{verb}", self.sizes[0]),
            OperationKind::NoHive => verb.to_owned(),
        }
    }
}

const HIVE_LETTERS: [char; 2] = ['a', 'b'];

/// The place with its hive's size, then the calls, then how bees wait, who else is there, and the panic, by the number of a call from 0:
/// `outside/a2.install/b1.team/a2.join:tickle:spin0:after1:caught0`.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_for_first_hive() {
            write!(f, "a{}.", self.sizes[0])?;
        }
        f.write_str(name_in(&ORIGINS, self.place))?;
        (0..self.levels.len()).try_for_each(|depth| write!(f, "/{}", self.call(depth)))?;
        match self.waiting.sleep {
            SleepProtocol::Tickle => f.write_str(":tickle")?,
            SleepProtocol::Notify => f.write_str(":notify")?,
            _ => {}
        }
        if self.waiting.spin.is_some() {
            f.write_str(":spin0")?;
        }
        match self.waiting.groups {
            Groups::One => {}
            Groups::Split => f.write_str(":split")?,
            Groups::Relay => f.write_str(":relay")?,
        }
        if self.is_mirrored {
            f.write_str(":mirrored")?;
        }
        let Some(Fault { at, caught_at: caught, panics_on_drop: explodes }) = self.fault else { return Ok(()) };
        match at {
            FaultPoint::Before(call) => write!(f, ":before{call}")?,
            FaultPoint::After(call) => write!(f, ":after{call}")?,
            FaultPoint::Concurrent(call) => write!(f, ":beside{call}")?,
            FaultPoint::Both(call) => write!(f, ":both{call}")?,
        }
        caught.map_or(Ok(()), |call| write!(f, ":caught{call}"))?;
        if explodes { f.write_str(":explodes") } else { Ok(()) }
    }
}

impl FromStr for Case {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let (path, properties) = name.split_once(':').unwrap_or((name, ""));
        let mut sizes = [None; 2];
        let mut calls = path.split('/');
        let place = read_call(calls.next().unwrap_or_default(), &mut sizes)?;
        let place = find(&ORIGINS, place.1)?;
        let levels = calls.map(|call| {
            let (on, verb) = read_call(call, &mut sizes)?;
            Ok(Level { verb: find(&OPERATIONS, verb)?, on })
        });
        let levels = levels.collect::<Result<_, String>>()?;
        let waiting = Waiting { sleep: SleepProtocol::Jec, spin: None, groups: Groups::One };
        let mut case = Self {
            place,
            sizes: sizes.map(|size| size.unwrap_or(2)),
            levels,
            waiting,
            fault: None,
            is_mirrored: false,
        };
        properties.split(':').filter(|property| !property.is_empty()).try_for_each(|property| case.set(property))?;
        Ok(case)
    }
}

impl Case {
    /// Reads what comes after the calls of a name.
    fn set(&mut self, property: &str) -> Result<(), String> {
        let word = property.trim_end_matches(|digit: char| digit.is_ascii_digit());
        let call = property[word.len()..].parse().unwrap_or(0);
        let at = |at| Some(Fault { at, caught_at: None, panics_on_drop: false });
        match (word, &mut self.fault) {
            ("jec", _) => self.waiting.sleep = SleepProtocol::Jec,
            ("tickle", _) => self.waiting.sleep = SleepProtocol::Tickle,
            ("notify", _) => self.waiting.sleep = SleepProtocol::Notify,
            ("spin", _) => self.waiting.spin = Some(Duration::ZERO),
            ("split", _) => self.waiting.groups = Groups::Split,
            ("relay", _) => self.waiting.groups = Groups::Relay,
            ("mirrored", _) => self.is_mirrored = true,
            ("before", fault) => *fault = at(FaultPoint::Before(call)),
            ("after", fault) => *fault = at(FaultPoint::After(call)),
            ("beside", fault) => *fault = at(FaultPoint::Concurrent(call)),
            ("both", fault) => *fault = at(FaultPoint::Both(call)),
            ("caught", Some(fault)) => fault.caught_at = Some(call),
            ("explodes", Some(fault)) => fault.panics_on_drop = true,
            _ => {
                return Err(format!(
                    "{property:?} is none of tickle, notify, spin0, split, relay, mirrored, before0, after0, beside0, both0; and then caught0, explodes"
                ));
            }
        }
        Ok(())
    }
}

/// The hive and the verb of a call; notes the hive's size.
fn read_call<'n>(call: &'n str, sizes: &mut [Option<usize>; 2]) -> Result<(usize, &'n str), String> {
    let Some((hive, verb)) = call.split_once('.') else { return Ok((0, call)) };
    let digits = hive.trim_start_matches(char::is_alphabetic);
    let on = match &hive[..hive.len() - digits.len()] {
        "a" | "new" => 0,
        "b" => 1,
        _ => return Err(format!("{hive:?} in {call:?}: a hive is a, b or new, and its size")),
    };
    let size = digits.parse().map_err(|_| format!("{hive:?} in {call:?} has no size"))?;
    match sizes[on].replace(size) {
        Some(other) if other != size => Err(format!("{hive:?} in {call:?} was of {other} before")),
        _ => Ok((on, verb)),
    }
}

fn name_in<T: PartialEq>(names: &[(T, &'static str)], value: T) -> &'static str {
    names.iter().find(|(named, _)| *named == value).expect("each has a name").1
}

fn find<T: Copy>(names: &[(T, &'static str)], name: &str) -> Result<T, String> {
    let found = names.iter().find(|(_, known)| *known == name).map(|&(value, _)| value);
    let all = || names.iter().map(|(_, known)| *known).collect::<Vec<_>>().join(", ");
    found.ok_or_else(|| format!("{name:?} is none of {}", all()))
}
