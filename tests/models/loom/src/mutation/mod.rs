//! Breaks one atomic operation of the protocol. An environment variable says which one and how, so the files under test
//! stay as they are.
//!
//! A mutant has a name such as `start_line.rs:store#1=relaxed`: the file below `hive/protocol/` or `hive/loops/`, the
//! operation, its number among the operations of that name in the file, and the change; see [`Change`]. The modelled
//! atomics in `sync/` ask [`at`] at each operation.

mod change;
mod list;
mod source;

use std::panic::Location;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) use change::Change;
pub(crate) use list::{Mutant, all, stale};
use source::Site;

/// The environment variable that names the mutant.
pub(crate) const VARIABLE: &str = "HIVE_MUTANT";

/// How often the broken operation has been run.
static HITS: AtomicU64 = AtomicU64::new(0);

/// The mutant of this process.
struct Active {
    site: Site,
    change: Change,
}

/// Returns the change to make to the operation at `location`, or `None` if this is not the operation to break. Counts
/// the hits.
#[inline]
pub(crate) fn at(location: &Location<'_>) -> Option<&'static Change> {
    static ACTIVE: OnceLock<Option<Active>> = OnceLock::new();
    let active = ACTIVE.get_or_init(from_environment).as_ref()?;
    active.site.is_at(location).then(|| {
        HITS.fetch_add(1, Ordering::Relaxed);
        &active.change
    })
}

/// How often the broken operation has been run. None: no operation is broken.
pub(crate) fn hits() -> Option<u64> {
    std::env::var_os(VARIABLE).map(|_| HITS.load(Ordering::Relaxed))
}

/// Ends a run whose change makes no sense for its operation.
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
