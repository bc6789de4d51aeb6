//! A case of the table: the place of the outermost call, the nested calls, the sizes of the hives, how their bees wait,
//! and a panic if there is one. Each case has a name that reads like code; this file also writes and parses these
//! names.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use hive::SleepProtocol;

use super::super::common::task_helpers::PROTOCOLS;
use super::fault::{Fault, FaultPoint};
use super::surroundings::Surroundings;

/// The place from which the outermost call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A thread that is not a bee and is not inside of anything.
    Outside,
    /// The start handler of a bee of hive A, which has been hired for a region or a task.
    StartHandler,
}

/// The calls of the table. Each comment says where the rest of the nest runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// A region of one bee, which runs the rest.
    Alone,
    /// A region of all bees. The queen runs the rest while the others wait at a barrier.
    Queen,
    /// A region of all bees. The last bee runs the rest while the others wait at a barrier.
    Worker,
    /// A region of all bees, with results. Every bee runs the rest.
    Team,
    /// A loop. The bee that gets the first index runs the rest.
    ParFor,
    /// A reduction. The bee that gets the first part runs the rest.
    ParReduce,
    /// A loop inside a region of all bees. The bee that gets the first index runs the rest.
    ForEach,
    /// `single` in a region of all bees. The bee that comes first runs the rest while the others wait for it.
    Single,
    Install,
    /// A join. The first half runs the rest.
    Join,
    /// A join. The second half runs the rest.
    JoinSecond,
    /// A scope. Its body runs the rest.
    Scope,
    /// A scope. One of its tasks runs the rest.
    ScopeTask,
    /// A spawned task runs the rest. Its spawner polls until the task is done.
    Spawn,
    /// A task for the last bee runs the rest. Its spawner polls until the task is done.
    SpawnOn,
    /// The rest runs beside a spawned task. The innermost body polls until that task is done, wherever the body runs.
    SpawnAhead,
    /// A task runs the rest. The case waits for it at its end.
    Detach,
    /// A task that suspends once runs the rest. Its caller polls until the task is done.
    SpawnAsync,
    /// The thread for calls of async code runs the rest. The caller polls until it has.
    RunAsync,
    /// The rest runs beside a suspended task and a call of async code, which are cancelled afterwards.
    CancelAsync,
    /// A broadcast. The last bee runs the rest.
    Broadcast,
    /// The rest runs between a resize to one more bee and a resize back. Each resize is followed by
    /// `wait_until_parked`.
    Grow,
    /// The rest runs between a resize to one bee and a resize back. Each resize is followed by `wait_until_parked`.
    Shrink,
    /// A task of a new hive runs the rest. The hive is dropped at once.
    DropNew,
    /// A task of a new hive runs the rest. The task has the last handle of the hive and drops it.
    DropOwn,
    /// The rest runs inside a section that keeps the bees spinning.
    Hot,
    /// The panic handler runs the rest, for the panic of a task. The spawner polls until it has.
    PanicHandler,
    /// The start handler of the last bee of a new hive runs the rest. The hive is built, used and dropped.
    StartHandler,
    /// The exit handler of the last bee of a new hive runs the rest.
    ExitHandler,
    /// A destructor of a thread-local of that bee's thread runs the rest, after the destructors of hive's own
    /// thread-locals.
    BeeEnd,
    /// A destructor runs the rest while the thread unwinds.
    Unwinding,
    /// A thread of the program's own runs the rest, and the caller waits for the thread.
    Thread,
    /// A destructor of a thread-local of such a thread runs the rest, after the destructors of hive's own
    /// thread-locals.
    ThreadEnd,
}

/// Which hive an operation is called on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperationKind {
    /// One of the two hives of the case.
    Given,
    /// A hive that it builds, as large as hive A.
    New,
    /// No hive.
    NoHive,
}

const ORIGINS: [(Origin, &str); 2] = [(Origin::Outside, "outside"), (Origin::StartHandler, "start_handler")];

const OPERATIONS: [(Operation, &str); 33] = [
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
    (Operation::SpawnAsync, "spawn_async"),
    (Operation::RunAsync, "run_async"),
    (Operation::CancelAsync, "cancel_async"),
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

    /// Whether the call runs anything beside the rest of the nest.
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
    /// Whether the place belongs to hive A.
    pub(crate) fn is_for_first_hive(self) -> bool {
        self == Self::StartHandler
    }
}

/// A call in a nest: the operation, and the hive that it is called on, 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    pub(crate) verb: Operation,
    pub(crate) on: usize,
}

/// How the bees of a case wait, and in which groups they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) sleep: SleepProtocol,
    /// None: the default.
    pub(crate) spin: Option<Duration>,
    pub(crate) groups: Groups,
}

/// The groups in which the bees of a hive start and wait for each other; see `docs/shape.md`. More than one group needs
/// a machine that hwloc makes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Groups {
    One,
    /// The queen leads two groups: one with bee 1, and one with bee 2.
    Split,
    /// The queen leads a group with bee 1, and bee 1 leads one with bee 2.
    Relay,
}

impl Groups {
    /// The places of the bees, as CPUs of [`MACHINE`](Self::MACHINE).
    pub(crate) fn places(self) -> Option<&'static str> {
        match self {
            Self::One => None,
            Self::Split => Some("{0},{1},{2}"),
            Self::Relay => Some("{0},{2},{3}"),
        }
    }

    /// A machine of two nodes with two CPUs each, described by the environment variables of hwloc.
    pub(crate) const MACHINE: [(&str, &str); 2] =
        [("HWLOC_SYNTHETIC", "pack:2 [numa(memory=1GB)] core:2 pu:1"), ("HWLOC_THISSYSTEM", "0")];
}

impl Waiting {
    /// All ways of waiting.
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
    /// The number of bees of each of the two hives.
    pub(crate) sizes: [usize; 2],
    /// The calls, outermost first.
    pub(crate) levels: Vec<Level>,
    pub(crate) waiting: Waiting,
    pub(crate) fault: Option<Fault>,
    /// Whether another thread runs the same case at the same time, with the two hives exchanged.
    pub(crate) is_mirrored: bool,
    pub(crate) surroundings: Surroundings,
}

impl Case {
    /// Whether all waits of the case are made by hive, so that the case and its mirror image cannot wait for each other
    /// by loops and threads of their own.
    pub(crate) fn can_be_mirrored(&self) -> bool {
        let waits_by_itself = |verb| {
            use Operation::*;
            let polls = matches!(verb, Spawn | SpawnOn | SpawnAhead | SpawnAsync | RunAsync | PanicHandler | DropOwn);
            polls || matches!(verb, Grow | Shrink | Thread | ThreadEnd)
        };
        // The outermost call may wait by a loop of its own, because no other thread waits for the thread from outside.
        let first_may = |verb| matches!(verb, Operation::Spawn | Operation::SpawnOn | Operation::PanicHandler);
        let mut verbs = self.levels.iter().map(|level| level.verb);
        let first = verbs.next().is_none_or(|verb| first_may(verb) || !waits_by_itself(verb));
        self.place == Origin::Outside && first && !verbs.any(waits_by_itself)
    }

    /// Whether the case resizes one of its two hives.
    pub(crate) fn resizes(&self) -> bool {
        self.levels.iter().any(|level| matches!(level.verb, Operation::Grow | Operation::Shrink))
    }

    /// The same case with the two hives exchanged.
    pub(crate) fn mirrored(&self) -> Self {
        let levels = self.levels.iter().map(|&Level { verb, on }| Level { verb, on: 1 - on }).collect();
        Self { levels, ..self.clone() }
    }

    /// Whether the case calls this hive.
    pub(crate) fn uses(&self, hive: usize) -> bool {
        let uses = |level: &Level| match level.verb.kind() {
            OperationKind::Given => level.on == hive,
            OperationKind::New => hive == 0,
            OperationKind::NoHive => false,
        };
        self.levels.iter().any(uses) || hive == 0 && self.place.is_for_first_hive()
    }

    /// The call at `depth` and its hive: "a2.install".
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

/// The name: the place with its hive's size, the calls, how the bees wait, whether the case is mirrored, what goes on
/// around it, and the panic with the number of its call from 0:
/// `outside/a2.install/b1.team/a2.join:tickle:spin0:callers:after1:caught0`.
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
        if self.surroundings != Surroundings::Quiet {
            write!(f, ":{}", name_in(&Surroundings::NAMES, self.surroundings))?;
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
            surroundings: Surroundings::Quiet,
        };
        properties.split(':').filter(|property| !property.is_empty()).try_for_each(|property| case.set(property))?;
        Ok(case)
    }
}

impl Case {
    /// Reads one of the properties that follow the calls in a name.
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
            ("asleep" | "held" | "callers", _) => self.surroundings = find(&Surroundings::NAMES, word)?,
            ("before", fault) => *fault = at(FaultPoint::Before(call)),
            ("after", fault) => *fault = at(FaultPoint::After(call)),
            ("beside", fault) => *fault = at(FaultPoint::Concurrent(call)),
            ("both", fault) => *fault = at(FaultPoint::Both(call)),
            ("caught", Some(fault)) => fault.caught_at = Some(call),
            ("explodes", Some(fault)) => fault.panics_on_drop = true,
            _ => {
                return Err(format!(
                    "{property:?} is none of tickle, notify, spin0, split, relay, mirrored, asleep, held, callers, \
                     before0, after0, beside0, both0; and then caught0, explodes"
                ));
            }
        }
        Ok(())
    }
}

/// Splits a call into the hive and the word for the operation, and enters the hive's size into `sizes`.
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
