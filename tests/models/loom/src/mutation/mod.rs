//! One operation of the protocol, broken: which one and how is named by the environment, so that the files under test stay as they are.
//!
//! A mutant is named like `start_line.rs:store#1=relaxed`: the file below `hive/protocol/` or `hive/loops/`, the operation, its number among those of that
//! name in the file, and the change. See [`PresenceChange`].

mod change;
mod list;
mod source;

use std::panic::Location;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) use change::Change;
pub(crate) use list::{Mutant, all};
use source::Site;

/// Names the mutant to be.
pub(crate) const VARIABLE: &str = "HIVE_MUTANT";

/// How often the broken operation was run.
static HITS: AtomicU64 = AtomicU64::new(0);

struct Active {
    site: Site,
    change: Change,
}

/// The change to make to the operation at `location`, if that is the one to break.
#[inline]
pub(crate) fn at(location: &Location<'_>) -> Option<&'static Change> {
    static ACTIVE: OnceLock<Option<Active>> = OnceLock::new();
    let active = ACTIVE.get_or_init(from_environment).as_ref()?;
    active.site.is_at(location).then(|| {
        HITS.fetch_add(1, Ordering::Relaxed);
        &active.change
    })
}

/// How often the broken operation was run; None: nothing is broken.
pub(crate) fn hits() -> Option<u64> {
    std::env::var_os(VARIABLE).map(|_| HITS.load(Ordering::Relaxed))
}

/// Ends a run whose mutation makes no sense for its operation.
pub(crate) fn reject_change(change: &Change) -> ! {
    panic!("{change:?} is nothing that can be done to this operation")
}

fn from_environment() -> Option<Active> {
    let name = std::env::var(VARIABLE).ok()?;
    Some(
        parse(&name).unwrap_or_else(|| {
            panic!("{VARIABLE}={name:?} is not FILE:OPERATION#NUMBER=CHANGE of an operation there is")
        }),
    )
}

fn parse(name: &str) -> Option<Active> {
    let (address, change) = name.split_once('=')?;
    let (file, operation) = address.split_once(':')?;
    let (operation, number) = operation.split_once('#')?;
    let number = number.parse().ok()?;
    let site = source::sites()
        .into_iter()
        .find(|site| site.file == file && site.operation == operation && site.number == number)?;
    Some(Active { site, change: Change::parse(change)? })
}
