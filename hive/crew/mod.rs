//! The protocol by which a queen and her bees start, meet, sleep, park and end.
//!
//! Nothing here knows of threads, places or clocks: all that is shared comes through [`crate::sync`], so that the models
//! under `tests/models/` run these very files. The protocols, step by step and with their proofs, are in `docs/`:
//! `start.md`, `turn.md`, `muster.md`, `resize.md`, `sleep.md`, `waits.md`, `collectives.md`.

mod abort_on_unwind;
mod attendance;
mod awaited;
mod bee;
mod berth;
mod charge;
mod exchange;
mod group;
mod hand;
mod hired;
mod job;
mod kept;
mod latch;
mod lead;
mod member;
mod muster;
mod neighbours;
mod nested;
mod pages;
mod panics;
mod poison;
mod queen;
mod queues;
mod resize;
mod rest;
mod shape;
mod sight;
mod signal;
mod single;
mod sleep;
mod slot;
mod slots;
mod stage;
mod standstill;
mod task;
mod turn;
mod untucked;
mod work;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub(crate) use abort_on_unwind::AbortOnUnwind;
use attendance::Attendance;
pub(crate) use awaited::{Awaited, NOBODY, is_circle};
pub(crate) use bee::Life;
use crossbeam_utils::CachePadded;
pub(crate) use exchange::Shown;
use group::Group;
pub(crate) use hand::Hand;
use hired::Hired;
pub(crate) use job::Part;
pub(crate) use latch::Latch;
pub(crate) use lead::Lead;
use lead::Section;
pub(crate) use member::Member;
use muster::Muster;
use neighbours::Distance;
pub(crate) use neighbours::{Address, Neighbours};
use nested::Announced;
pub(crate) use pages::Operation;
use panics::Panics;
pub(crate) use panics::{Payload, as_heard_outside, drop_quietly, go_on, quietly, rethrow};
use poison::Poison;
use queues::Inbox;
use resize::Roster;
pub(crate) use shape::Shape;
pub use shape::{BarrierShape, ParseShapeError};
use sight::Notes;
pub(crate) use sight::{Seen, Sight};
pub(crate) use signal::MAX_TEAM;
use signal::Signal;
use single::Single;
pub(crate) use sleep::Sleep;
use slot::{Slot, State};
use slots::Slots;
pub(crate) use stage::{Follower, Leader, Stage};
pub(crate) use standstill::Standing;
use standstill::Standstill;
pub(crate) use task::{Run, Task};
pub(crate) use turn::Guard;
use turn::Turn;
use untucked::Untucked;
use work::Work;

use crate::sync::{Log, MOST_ENTRIES, Mutex, Posts, Tally, WaitPolicy, number_of_crew, within_region};

/// What a hive's members share.
pub(crate) struct Crew {
    /// In lines of its own: the queen writes it in every region.
    turn: CachePadded<Turn<Lead>>,
    attendance: Attendance,
    sleep: CachePadded<Sleep>,
    /// Tasks from outside.
    inbox: Inbox,
    /// Whose deques may have others.
    work: Work,
    untucked: Untucked,
    roster: Mutex<Roster>,
    announced: Announced,
    hired: Hired,
    panics: Panics,
    poison: Poison,
    single: Single,
    standstill: Standstill,
    /// In a hive whose sleepers look for work by themselves.
    posts: Option<Posts>,
    settled: CachePadded<Settled>,
}

/// What does not change any more; every member reads it in every region.
struct Settled {
    policy: WaitPolicy,
    /// One a member, made when it is hired; the queen's is there from the start.
    slots: Slots,
    neighbours: Neighbours,
    shape: Shape,
    /// One a group of the shape.
    groups: Box<[Group]>,
    /// The group in which the queen always says what region is on: that of member 1.
    root: u32,
    /// Of teams of one, who meet nobody: at hand without a look at any group.
    nowhere: Muster,
    /// No other crew has it.
    number: u64,
    /// What members write down of what they are doing.
    notes: Notes,
}

impl Crew {
    /// A crew of the queen alone, which can grow to `max_bees` members.
    pub(crate) fn new(
        max_bees: u32,
        policy: WaitPolicy,
        stage: Stage,
        sleep: Sleep,
        neighbours: Neighbours,
        shape: Shape,
    ) -> Self {
        assert!((1..=MAX_TEAM).contains(&max_bees), "a crew of up to {max_bees}");
        let slots = Slots::new(max_bees);
        slots.make(0, || Slot::new(0, State::Awake));
        let root = if max_bees > 1 { shape.listens(1) } else { 0 };
        let mut stage = Some(stage);
        let lines = |group| Group::new(if group == root { stage.take().unwrap_or_else(|| Stage::new(1)) } else { Stage::new(1) });
        let groups = (0..shape.count() as u32).map(lines).collect();
        Self {
            turn: CachePadded::new(Turn::new(Lead::new(&shape, 0))),
            attendance: Attendance::new(),
            sleep: CachePadded::new(sleep),
            inbox: Inbox::new(),
            work: Work::new(max_bees),
            untucked: Untucked::new(),
            roster: Mutex::new(Roster::default()),
            announced: Announced::new(),
            hired: Hired::new(),
            panics: Panics::new(),
            poison: Poison::new(),
            single: Single::new(),
            standstill: Standstill::new(),
            posts: policy.poll().map(|_| Posts::new()),
            settled: CachePadded::new(Settled {
                policy,
                slots,
                neighbours,
                shape,
                groups,
                root,
                nowhere: Muster::new(),
                number: number_of_crew(),
                notes: Notes::default(),
            }),
        }
    }

    /// Has members note what they are doing, for `sight`.
    pub(crate) fn watched(mut self) -> Self {
        self.settled.notes = self.settled.notes.and(Notes::WATCHED);
        self
    }

    /// Has members keep a log of what they do. Before any is hired.
    pub(crate) fn traced(mut self) -> Self {
        self.settled.notes = self.settled.notes.and(Notes::LOGGED);
        self.slot(0).log.open(MOST_ENTRIES);
        self.log_sizes();
        self
    }

    /// Members that are not surplus, the queen among them.
    #[inline(always)]
    pub(crate) fn bees(&self) -> u32 {
        self.attendance.read().bees()
    }

    /// Surplus bees that are still on a core. Whoever is about to change a bee's state counts it first, and may lose the change to somebody else: so for a moment there
    /// may seem to be more than there are bees.
    pub(crate) fn untucked(&self) -> u32 {
        self.untucked.count().min(self.hired.count())
    }

    pub(crate) fn policy(&self) -> &WaitPolicy {
        &self.settled.policy
    }

    /// Takes the turn to be queen, waiting for it.
    #[inline]
    pub(crate) fn take_turn(&self) -> Turned<'_> {
        self.turn.take(self.policy())
    }

    /// Queues a task from outside.
    pub(crate) fn inject(&self, task: Task) {
        // In the queen's name.
        self.post(0, None, || self.inbox.push(task));
    }

    /// Queues a task that only bee `id`, which has been hired, may run.
    pub(crate) fn send(&self, id: u32, task: Task) {
        self.post_to(id, task);
    }

    /// Whether there is a bee `id`, be it parked.
    pub(crate) fn is_hired(&self, id: usize) -> bool {
        (1..=self.hired.count() as usize).contains(&id)
    }

    /// Whether there is a bee, be it parked.
    pub(crate) fn has_bee(&self) -> bool {
        self.is_hired(1)
    }

    /// Runs what nobody has run, after the end of all bees.
    pub(crate) fn finish_tasks(&self) {
        let mail = || self.all_slots().find_map(|slot| slot.desk.take_mail().or_else(|| slot.desk.steal()));
        while let Some(task) = self.inbox.take().or_else(mail) {
            task.run();
        }
    }

    /// Takes the turn to be queen if nobody has it.
    #[inline]
    pub(crate) fn try_take_turn(&self) -> Option<Turned<'_>> {
        self.turn.try_take()
    }

    /// Where the queen always says what region is on.
    #[inline(always)]
    fn root(&self) -> &Signal {
        self.group(self.settled.root).signal()
    }

    #[inline(always)]
    fn group(&self, group: u32) -> &Group {
        &self.settled.groups[group as usize]
    }

    #[inline(always)]
    fn slot(&self, id: u32) -> &Slot {
        self.settled.slots.of(id)
    }

    /// The members hired so far.
    fn all_slots(&self) -> impl Iterator<Item = &Slot> {
        (0..=self.hired.count()).map(|id| self.slot(id))
    }

    /// What the members hired so far have done.
    pub(crate) fn tallies(&self) -> impl Iterator<Item = &Tally> {
        self.all_slots().map(|slot| &*slot.tally)
    }

    /// The logs of the members hired so far.
    pub(crate) fn logs(&self) -> impl Iterator<Item = &Log> {
        self.all_slots().map(|slot| &*slot.log)
    }

    /// The other members hired so far, the nearest to `member` first.
    fn others(&self, member: u32) -> impl Iterator<Item = (&Slot, Distance)> {
        let (neighbours, hired) = (&self.settled.neighbours, self.hired.count());
        let near = neighbours.of(member).filter(move |&(id, _)| id <= hired);
        let strangers = neighbours.first_stranger()..=hired;
        let far = strangers.filter(move |&id| id != member).map(|id| (id, Distance::Far));
        near.chain(far).map(|(id, distance)| (self.slot(id), distance))
    }

    /// The members of a group, as far as they have slots: all of a team do.
    fn slots_of(&self, group: u32) -> impl Iterator<Item = &Slot> {
        let members = self.settled.shape.members(group);
        members.iter().map_while(|&id| self.settled.slots.if_made(id))
    }

    /// Runs a member's part. A panic in it is kept, and lets the others go from their barriers.
    #[inline(always)]
    fn perform(&self, member: &Member<'_>, part: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(part)) {
            self.end_part(member, payload);
        }
    }

    /// Ends the part of `member` with a panic.
    #[cold]
    fn end_part(&self, member: &Member<'_>, payload: Payload) {
        if let Some(spare) = self.panics.keep(member.id(), member.region_key(), payload) {
            self.poison(member.region());
            // When nobody waits for this member at a barrier any more, and as a member still: the drop is the program's
            // code, and may call hive.
            within_region(member, || drop(spare));
        }
    }

    /// Ends a poisoned region, whose queen has seen all leave. As its queen still, because the panic hook is the
    /// program's code, and the turn has not been given back.
    ///
    /// # Panics
    /// As [`Panics::end`].
    #[cold]
    fn end_poisoned(&self, queen: &Member<'_>) {
        within_region(queen, || self.panics.end(queen.team()));
    }

    /// Ends the barriers of `region`, which is on.
    #[cold]
    fn poison(&self, region: u64) {
        self.poison.put_in(region);
        for (group, lines) in (0..).zip(&self.settled.groups) {
            lines.musters().for_each(|muster| muster.rouse(self.slots_of(group)));
        }
    }

    /// Brings `member`, a bee, to the end of its region. `own` is its group; from the caller's registers, not from where the part may have looked.
    #[inline(always)]
    fn arrive(&self, own: &Section<'_>, member: &Member<'_>) {
        // Nothing is made ready for the sleepers before the arrival: every step here keeps the head waiting.
        if let Some(left) = own.muster.leave() {
            let head = self.slot(self.settled.shape.members(own.group)[0]);
            own.muster.wake_sleepers(left, &member.account(), head, self.slots_of(own.group));
        }
    }
}

/// The turn to be queen, held.
pub(crate) type Turned<'c> = Guard<'c, Lead>;
