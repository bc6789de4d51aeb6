//! The hives that the cases of one process share, as the parts of a program would share theirs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use hive::{BarrierShape, Builder, Hive, Pin, ProcBind};

use super::case::{Case, Waiting};
use super::fault::{Payload, defuse_payload};
use super::panic_hook;
use super::run::message;

/// The payload of a panic that makes the panic handler run something.
pub(crate) struct OnPanic(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl OnPanic {
    pub(crate) fn new(handle: impl FnOnce() + Send + 'static) -> Self {
        Self(Mutex::new(Some(Box::new(handle))))
    }
}

/// The panic handler of all hives.
fn dispatch_panic(payload: Payload) {
    match payload.downcast::<OnPanic>() {
        Ok(asked) => {
            let handle = asked.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            handle.into_iter().for_each(|handle| handle());
        }
        Err(other) => match defuse_payload(other) {
            Ok(_) => panic_hook::count_planned(),
            Err(other) => panic_hook::record_unplanned(format!("the panic handler hears of: {}", message(&*other))),
        },
    }
}

/// A builder of hives whose bees wait in this way.
pub(crate) fn builder(waiting: Waiting) -> Builder {
    let builder = Hive::builder().sleep(waiting.sleep).panic_handler(dispatch_panic);
    let builder = match waiting.groups.places() {
        None => builder.pin(Pin::None),
        Some(places) => {
            builder.places(places.parse().expect("places")).proc_bind(ProcBind::Close).barrier(BarrierShape::Node)
        }
    };
    match waiting.spin {
        Some(spin) => builder.spin(spin),
        None => builder,
    }
}

/// A hive, and its number in `hive::current`.
#[derive(Clone)]
pub(crate) struct PooledHive {
    pub(crate) hive: Arc<Hive>,
    pub(crate) number: u64,
}

impl PooledHive {
    pub(crate) fn build(builder: Builder) -> Self {
        let hive = builder.build().expect("a hive");
        let number = hive.spmd_map(1, |_| hive::current())[0].expect("inside a region").hive;
        Self { hive: Arc::new(hive), number }
    }
}

/// The hives by their letter, their size and their way of waiting.
#[derive(Default)]
pub(crate) struct HivePool(BTreeMap<(usize, usize, String), PooledHive>);

impl HivePool {
    /// The two hives of a case.
    pub(crate) fn of(&mut self, case: &Case) -> [PooledHive; 2] {
        [0, 1].map(|letter| {
            let size = case.sizes[letter];
            let key = (letter, size, format!("{:?}", case.waiting));
            self.0.entry(key).or_insert_with(|| PooledHive::build(builder(case.waiting).bees(size))).clone()
        })
    }
}
