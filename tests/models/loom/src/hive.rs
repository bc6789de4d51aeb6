//! The hive of a model: a crew, and its bees on threads of loom's.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;

use loom::thread;

use crate::crew::{Address, BarrierShape, Crew, Hand, Life, Member, Neighbours, Part, Shape, Sleep, Stage};
use crate::sync::{Semaphore, WaitPolicy};
use crate::{stage, verdict};

/// Polls once and then sleeps.
pub(crate) const SLEEPY: WaitPolicy = WaitPolicy::Polls(0);

/// Polls twice and then sleeps.
pub(crate) const PATIENT: WaitPolicy = WaitPolicy::Polls(1);

/// Never sleeps.
pub(crate) const HOT: WaitPolicy = WaitPolicy::Endless;

struct Body<F>(F);

impl<F: Fn(&Member<'_>) + Sync> Part for Body<F> {
    fn run(&self, member: &Member<'_>) {
        (self.0)(member);
    }
}

/// A modelled hive. Clones share it.
#[derive(Clone)]
pub(crate) struct Hive {
    pub(crate) crew: Arc<Crew>,
    /// The bees' hands, for tasks that use them.
    hands: Rc<RefCell<Vec<BeesHand>>>,
}

/// The hand of a bee, for what runs on that bee. Not seen by loom, whose threads take turns on one of the system's.
#[derive(Clone)]
pub(crate) struct BeesHand(Rc<Cell<*const Hand<'static>>>);

#[expect(unsafe_code, reason = "lets the parts of regions use it")]
// SAFETY: loom's threads take turns on one of the system's.
unsafe impl Sync for BeesHand {}

impl BeesHand {
    fn new() -> Self {
        Self(Rc::new(Cell::new(ptr::null())))
    }

    /// Calls `use_it` with the hand. On the bee itself.
    #[expect(unsafe_code, reason = "follows a pointer to further up the stack")]
    pub(crate) fn lend(&self, use_it: impl FnOnce(&Hand<'_>)) {
        // SAFETY: a task of the bee runs while its life does, which has the hand.
        use_it(unsafe { &*self.0.get() });
    }
}

impl Hive {
    /// Of the queen alone.
    pub(crate) fn new(max_bees: u32, policy: WaitPolicy) -> Self {
        Self::with(max_bees, policy, Sleep::without_tasks())
    }

    fn with(max_bees: u32, policy: WaitPolicy, sleep: Sleep) -> Self {
        Self::at(&[], max_bees, policy, sleep)
    }

    /// With the first members at these addresses, in groups by node.
    fn at(addresses: &[Address], max_bees: u32, policy: WaitPolicy, sleep: Sleep) -> Self {
        let shape = Shape::new(BarrierShape::Node, addresses, max_bees);
        let crew = Crew::new(max_bees, policy, Stage::new(1), sleep, Neighbours::new(addresses), shape);
        Self { crew: Arc::new(crew), hands: Rc::default() }
    }

    /// Of the queen alone, who may have a bee for tasks.
    pub(crate) fn alone_with_tasks(max_bees: u32, sleep: Sleep) -> Self {
        Self::with(max_bees, SLEEPY, sleep)
    }

    /// Of `bees` members, who poll, and as many parked ones as make up `hired`. How they come to that is not explored; what follows is.
    pub(crate) fn staffed(hired: u32, bees: u32, policy: WaitPolicy) -> Self {
        Self::rising(hired, bees, policy).up(hired)
    }

    /// Of a member on each of these nodes, who poll.
    pub(crate) fn on_nodes(nodes: &[usize], policy: WaitPolicy) -> Self {
        Self::on_nodes_with_tasks(nodes, policy, Sleep::without_tasks())
    }

    /// The same, and the bees run tasks and sleep by `sleep`.
    pub(crate) fn on_nodes_with_tasks(nodes: &[usize], policy: WaitPolicy, sleep: Sleep) -> Self {
        let addresses: Vec<Address> = nodes.iter().map(|&node| [None, None, Some(node)]).collect();
        let members = nodes.len() as u32;
        Self::at(&addresses, members, policy, sleep).raise(members, members).up(members)
    }

    /// Of `bees` members, who poll. The play is still to begin.
    pub(crate) fn assembled(bees: u32, policy: WaitPolicy) -> Self {
        let hive = Self::rising(bees, bees, policy);
        hive.settle_in(bees);
        hive
    }

    /// As `staffed`, and the bees run tasks and sleep by `sleep`.
    pub(crate) fn with_tasks(hired: u32, bees: u32, policy: WaitPolicy, sleep: Sleep) -> Self {
        Self::with(hired, policy, sleep).raise(hired, bees).up(hired)
    }

    /// As `with_tasks`, of `bees` members, with room for `max_bees`.
    pub(crate) fn with_room(max_bees: u32, bees: u32, policy: WaitPolicy, sleep: Sleep) -> Self {
        Self::with(max_bees, policy, sleep).raise(bees, bees).up(bees)
    }

    /// As `with_tasks`, with `bees` members who poll, and the last bee is the queen's nearest.
    pub(crate) fn with_last_nearest(bees: u32, policy: WaitPolicy, sleep: Sleep) -> Self {
        let core = |member: u32| if member + 1 == bees { 0 } else { member as usize };
        let addresses: Vec<Address> = (0..bees).map(|member| [Some(core(member)), None, None]).collect();
        Self::at(&addresses, bees, policy, sleep).raise(bees, bees).up(bees)
    }

    fn up(self, hired: u32) -> Self {
        self.settle_in(hired);
        stage::play();
        self
    }

    fn settle_in(&self, hired: u32) {
        // Each gets as far as it can before the others.
        (0..2 * hired).for_each(|_| thread::yield_now());
    }

    /// As `staffed`, and the bees have just been woken for the first time. The play is still to begin.
    pub(crate) fn rising(hired: u32, bees: u32, policy: WaitPolicy) -> Self {
        Self::new(hired, policy).raise(hired, bees)
    }

    fn raise(self, hired: u32, bees: u32) -> Self {
        let contracts = RefCell::new(Vec::new());
        let sign = |id, epoch| {
            contracts.borrow_mut().push((id, epoch));
            Ok::<(), Infallible>(())
        };
        self.crew.hire(hired, sign).unwrap_or_else(|never| match never {});
        self.crew.grow_to(bees, sign).unwrap_or_else(|never| match never {});
        contracts.take().into_iter().for_each(|(id, epoch)| self.begin(id, epoch));
        self
    }

    fn begin(&self, id: u32, epoch: u64) {
        self.begin_with(id, epoch, |_| ());
    }

    fn begin_with(&self, id: u32, epoch: u64, start_handler: impl FnOnce(&Hand<'_>) + 'static) {
        let crew = Arc::clone(&self.crew);
        let place = self.hand_of(id);
        thread::spawn(move || {
            let hand = Hand::new(&crew, id);
            place.0.set(ptr::from_ref(&hand).cast());
            start_handler(&hand);
            Life::new(&hand, epoch).live();
        });
    }

    /// The hand of bee `id`.
    pub(crate) fn hand_of(&self, id: u32) -> BeesHand {
        let mut hands = self.hands.borrow_mut();
        while hands.len() <= id as usize {
            hands.push(BeesHand::new());
        }
        hands[id as usize].clone()
    }

    fn hire(&self, id: u32, epoch: u64) -> Result<(), Infallible> {
        self.begin(id, epoch);
        Ok(())
    }

    pub(crate) fn resize(&self, bees: u32) {
        self.crew.resize(bees, |id, epoch| self.hire(id, epoch)).unwrap_or_else(|never| match never {});
    }

    /// Hires parked bees, each with a start handler, so that the hive has those of a hive of `bees` members.
    pub(crate) fn hire_with(&self, bees: u32, start_handler: impl Fn(&Hand<'_>) + Clone + 'static) {
        let hired = self.crew.hire(bees, |id, epoch| {
            self.begin_with(id, epoch, start_handler.clone());
            Ok::<(), Infallible>(())
        });
        hired.unwrap_or_else(|never| match never {});
    }

    /// Has the bee that tasks need, as the library does.
    pub(crate) fn have_a_bee(&self) {
        if !self.crew.has_bee() {
            self.hire_with(2, |_| ());
        }
    }

    pub(crate) fn grow_to(&self, bees: u32) {
        self.crew.grow_to(bees, |id, epoch| self.hire(id, epoch)).unwrap_or_else(|never| match never {});
    }

    /// Runs a region that nobody panics in. As the library does, it grows the hive first if it is too small.
    pub(crate) fn region(&self, team: u32, body: impl Fn(&Member<'_>) + Sync) {
        if self.try_region(team, body).is_err() {
            verdict::fail("a region in which nobody panicked ended by a panic");
        }
    }

    /// Runs a region and returns the payload that it ends with. The turn is given back after the unwinding, because loom's threads
    /// share one thread's count of panics.
    pub(crate) fn try_region(&self, team: u32, body: impl Fn(&Member<'_>) + Sync) -> std::thread::Result<()> {
        if team == 1 {
            // As the library does, without the crew.
            return catch_unwind(AssertUnwindSafe(|| body(&Member::alone(&self.crew))));
        }
        let mut turn = self.crew.take_turn();
        if team > self.crew.bees() {
            self.grow_to(team);
        }
        catch_unwind(AssertUnwindSafe(|| self.crew.region(&mut turn, team, &mut Body(body))))
    }

    /// Runs a region if it need not wait for any task, as the library does for a thread that others may be waiting for. No other
    /// region is on.
    pub(crate) fn nested_region(&self, team: u32, body: impl Fn(&Member<'_>) + Sync) {
        let mut turn = self.crew.take_turn();
        if self.crew.announce_region(&turn, team) {
            self.crew.region(&mut turn, team, &mut Body(body));
            self.crew.give_up_region();
        }
    }

    /// Ends the bees, in one order of steps.
    pub(crate) fn end(self) {
        stage::end();
        self.dismiss();
    }

    /// Ends the bees. That their threads end is for loom to see, which calls a thread that does not a deadlock.
    pub(crate) fn dismiss(self) {
        self.crew.dismiss_all();
    }
}

/// A thread beside the queen's and the bees'.
pub(crate) struct Helper {
    done: Arc<Semaphore>,
}

impl Helper {
    pub(crate) fn spawn(hive: &Hive, work: impl FnOnce(&Hive) + 'static) -> Self {
        let done = Arc::new(Semaphore::new());
        let (hive, signal) = (hive.clone(), Arc::clone(&done));
        thread::spawn(move || {
            work(&hive);
            drop(hive);
            signal.post();
        });
        Self { done }
    }

    /// Waits for the end of its work. Not by loom's `join`, which prints.
    pub(crate) fn join(self) {
        self.done.wait();
    }
}
