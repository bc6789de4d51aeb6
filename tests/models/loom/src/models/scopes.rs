//! Models of the count by which a scope knows that its body and all its tasks have ended.
//!
//! The count is described in `hive/protocol/tasks/scope_count.rs`. The models have no hive: each task runs on a thread
//! of its own. In the models of held credits (`held_credit.rs`) each thread is a bee.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use loom::thread::{self, JoinHandle};

use super::Model;
use crate::data::{Datum, data};
use crate::exploration;
use crate::protocol::tasks::held_credit::{CountedScope, HeldCredit};
use crate::protocol::tasks::scope_count::{Credit, ScopeCount};

pub(super) const MODELS: &[Model] = &[
    Model::exhaustive("scope_task", "the body spawns a task, and then waits by polling the count", one_task),
    Model::exhaustive("scope_tasks", "the body spawns a task, and that another one", || nested_tasks(false)),
    Model::bounded(3, "scope_tasks_two", "the body spawns two tasks, and the first of them another one", || {
        nested_tasks(true)
    }),
    Model::bounded(3, "scope_lent", "the body has another thread spawn a task, and a task spawns another one", lent),
    Model::exhaustive("scope_held_credit", "a bee runs what the body has spawned, and two jobs of that", held_credits),
    Model::exhaustive("scope_held_credit_lent", "the body has another bee spawn a job", lent_to_bee),
    Model::bounded(3, "scope_held_credit_two", "two bees run the bodies and jobs of two scopes in turn", two_scopes),
];

/// A scope, and what its body and its tasks have done.
struct Scope {
    count: ScopeCount,
    /// Each is written once, by the body or a task.
    done: Vec<Datum>,
    /// How many of them were the last to end.
    lasts: AtomicU32,
}

impl Scope {
    /// A scope whose body and tasks are `parts` in all.
    fn new(parts: u32) -> (Arc<Self>, Credit) {
        let count = ScopeCount::of_body();
        (Arc::new(Self { count, done: data(parts), lasts: AtomicU32::new(0) }), Credit::default())
    }

    /// What the body or task number `part` does before it ends.
    fn work(&self, part: usize) {
        self.done[part].set(1);
    }

    /// Ends the body or the task that `credit` belongs to. The last one must see what all have done.
    #[expect(unsafe_code, reason = "ends what is counted")]
    fn end(&self, credit: Credit) {
        // SAFETY: the model counts what it ends, and keeps the count until all threads have ended.
        if unsafe { ScopeCount::subtract(&self.count, 1 + credit.take()) } {
            self.check_done();
            // Relaxed: a number of the model's own, which loom does not know.
            self.lasts.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn check_done(&self) {
        assert!(self.done.iter().all(|part| part.get() == 1), "nothing is left, but not everything has been done");
    }

    /// Called when all threads have ended.
    fn check(&self) {
        assert_eq!(self.lasts.load(Ordering::Relaxed), 1, "times that the last task has ended");
        assert!(self.count.is_zero(), "something is still counted");
    }
}

/// Runs, on a thread of its own, a task that has been counted, spawns nothing, and is number `part`.
fn run_leaf(scope: &Arc<Scope>, part: usize) -> JoinHandle<()> {
    let scope = Arc::clone(scope);
    thread::spawn(move || {
        scope.work(part);
        scope.end(Credit::default());
    })
}

/// Runs, on a thread of its own, a task that has been counted and is number `part`. It spawns a leaf, which is the next
/// number, before it does its own work. Returns the thread, which returns that of the leaf.
fn run_parent(scope: &Arc<Scope>, part: usize) -> JoinHandle<JoinHandle<()>> {
    let scope = Arc::clone(scope);
    thread::spawn(move || {
        let credit = Credit::default();
        scope.count.add(&credit);
        let leaf = run_leaf(&scope, part + 1);
        scope.work(part);
        scope.end(credit);
        leaf
    })
}

fn one_task() {
    let (scope, body) = Scope::new(2);
    exploration::explore();
    scope.count.add(&body);
    let task = run_leaf(&scope, 1);
    scope.work(0);
    scope.end(body);
    while !scope.count.is_zero() {
        thread::yield_now();
    }
    scope.check_done();
    task.join().expect("ends");
    scope.check();
}

fn nested_tasks(has_another: bool) {
    let (scope, body) = Scope::new(if has_another { 4 } else { 3 });
    exploration::explore();
    scope.count.add(&body);
    let parent = run_parent(&scope, 1);
    let other = has_another.then(|| {
        scope.count.add(&body);
        run_leaf(&scope, 3)
    });
    scope.work(0);
    scope.end(body);
    parent.join().expect("ends").join().expect("ends");
    other.into_iter().for_each(|other| other.join().expect("ends"));
    scope.check();
}

fn lent() {
    let (scope, body) = Scope::new(4);
    exploration::explore();
    scope.count.add(&body);
    let parent = run_parent(&scope, 1);
    // The body waits for the thread to which it has lent the scope, but not for the task that this one spawns.
    let borrower = {
        let scope = Arc::clone(&scope);
        thread::spawn(move || {
            scope.count.add_from_another_thread();
            run_leaf(&scope, 3)
        })
    };
    let other = borrower.join().expect("ends");
    scope.work(0);
    scope.end(body);
    parent.join().expect("ends").join().expect("ends");
    other.join().expect("ends");
    scope.check();
}

/// A scope that bees hold credits of.
struct CreditedScope {
    count: ScopeCount,
    /// Each is written once, by the body or a job.
    done: Vec<Datum>,
    /// Read by who uses the count, and written by the owner when the scope has ended and may go away.
    is_gone: Datum,
    /// How often the owner has been told of the end.
    ends: AtomicU32,
}

#[expect(unsafe_code, reason = "the trait says so")]
// SAFETY: the models keep their scopes until all threads have ended.
unsafe impl CountedScope for CreditedScope {
    fn count(&self) -> &ScopeCount {
        assert_eq!(self.is_gone.get(), 0, "the scope is gone");
        &self.count
    }

    unsafe fn set_ended(this: *const Self) {
        // SAFETY: the model keeps its scopes until all threads have ended.
        let scope = unsafe { &*this };
        scope.check_done();
        // The owner goes on now, and nobody else uses the scope any more.
        scope.is_gone.set(1);
        // Relaxed: a number of the model's own, which loom does not know.
        scope.ends.fetch_add(1, Ordering::Relaxed);
    }
}

impl CreditedScope {
    /// A scope whose body and jobs are `parts` in all.
    fn new(parts: u32) -> Arc<Self> {
        let (count, ends) = (ScopeCount::of_body(), AtomicU32::new(0));
        Arc::new(Self { count, done: data(parts), is_gone: data(1).remove(0), ends })
    }

    /// Begins the body or a job on the bee that has `held`.
    #[expect(unsafe_code, reason = "promises what the models keep to")]
    fn begin(&self, held: &HeldCredit) {
        // SAFETY: the model ends on this bee what it begins there, or gives back what the bee has.
        unsafe { held.turn_to(self) };
    }

    /// Runs the body or the job that is number `part`, which spawns nothing from here on.
    #[expect(unsafe_code, reason = "ends what is counted")]
    fn run(&self, part: usize, held: &HeldCredit) {
        self.begin(held);
        self.done[part].set(1);
        // SAFETY: the model counts what it runs, and runs it once.
        unsafe { held.end(self) };
    }

    fn check_done(&self) {
        assert!(self.done.iter().all(|part| part.get() == 1), "nothing is left, but not everything has been done");
    }

    /// Called when all threads have ended.
    fn check(&self) {
        assert_eq!(self.ends.load(Ordering::Relaxed), 1, "times that the owner was told of the end");
    }
}

/// The body spawns two jobs. Another bee runs one of them, which spawns two more: it runs one of these itself, and a
/// third bee the other one.
fn held_credits() {
    let scope = CreditedScope::new(5);
    exploration::explore();
    let own = HeldCredit::new();
    scope.begin(&own);
    own.add(&*scope);
    own.add(&*scope);
    let thief = {
        let scope = Arc::clone(&scope);
        thread::spawn(move || {
            let own = HeldCredit::new();
            scope.begin(&own);
            own.add(&*scope);
            own.add(&*scope);
            let third = {
                let scope = Arc::clone(&scope);
                thread::spawn(move || {
                    let own = HeldCredit::new();
                    scope.run(4, &own);
                    own.give_back();
                })
            };
            scope.run(1, &own);
            scope.run(3, &own);
            own.give_back();
            third
        })
    };
    scope.run(0, &own);
    scope.run(2, &own);
    own.give_back();
    thief.join().expect("ends").join().expect("ends");
    scope.check();
}

/// The body has another bee spawn a job, which goes on with something else and keeps nothing of the scope.
fn lent_to_bee() {
    let scope = CreditedScope::new(2);
    exploration::explore();
    let own = HeldCredit::new();
    scope.begin(&own);
    let borrower = {
        let scope = Arc::clone(&scope);
        thread::spawn(move || {
            let own = HeldCredit::new();
            own.add(&*scope);
            assert!(own.is_empty(), "the bee keeps the scope from ending");
        })
    };
    borrower.join().expect("ends");
    let other = {
        let scope = Arc::clone(&scope);
        thread::spawn(move || {
            let own = HeldCredit::new();
            scope.run(1, &own);
            own.give_back();
        })
    };
    scope.run(0, &own);
    own.give_back();
    other.join().expect("ends");
    scope.check();
}

/// Each of two bees is the owner of a scope with two jobs, and runs one job of either scope after its body.
fn two_scopes() {
    let scopes = [(); 2].map(|()| CreditedScope::new(3));
    exploration::explore();
    // All jobs have been spawned before the threads part, so each may run those of the other.
    let own = HeldCredit::new();
    for scope in [&scopes[1], &scopes[0]] {
        scope.begin(&own);
        own.add(&**scope);
        own.add(&**scope);
    }
    let other = {
        let scopes = scopes.clone();
        thread::spawn(move || {
            let own = HeldCredit::new();
            scopes[1].run(0, &own);
            scopes[0].run(2, &own);
            scopes[1].run(2, &own);
            own.give_back();
        })
    };
    scopes[0].run(0, &own);
    scopes[1].run(1, &own);
    scopes[0].run(1, &own);
    own.give_back();
    other.join().expect("ends");
    scopes.iter().for_each(|scope| scope.check());
}
