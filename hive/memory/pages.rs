//! The pages of memory: how large they are, on which node one is, and moving them to another node. The lowest layer of
//! `memory/`: `placement.rs` moves pages.

#![cfg_attr(unix, expect(unsafe_code, reason = "asks the system how large pages are and where they are"))]

use std::io;
use std::mem::MaybeUninit;

/// The smallest page size of all systems that hive runs on.
pub(crate) const MIN_PAGE_SIZE: usize = 4096;

/// The size of the system's usual pages in bytes. Huge pages are larger.
#[cfg(unix)]
pub(crate) fn page_size() -> usize {
    // SAFETY: `sysconf` takes a number and returns one.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(MIN_PAGE_SIZE)
}

/// The assumed size of a page in bytes.
#[cfg(not(unix))]
pub(crate) fn page_size() -> usize {
    MIN_PAGE_SIZE
}

/// The NUMA node of the page that contains `address`, by the system's number (as in `numactl` and
/// `/proc/self/numa_maps`; see [`memory_nodes`](crate::memory::nodes::memory_nodes)).
///
/// None if no thread has touched the page yet, if nothing is mapped there, or if the system does not tell: systems
/// other than Linux, kernels without NUMA, and containers that forbid `move_pages`. Nothing is read from the address.
/// Costs a system call.
///
/// ```
/// let data = hive::global().alloc(1000, hive::Placement::FirstTouch, |i| i as f64);
/// if let Some(node) = hive::node_of(&data[999]) {
///     assert!(hive::memory_nodes().contains(&node) || hive::memory_nodes().is_empty());
/// }
/// ```
pub fn node_of<T: ?Sized>(address: *const T) -> Option<usize> {
    let address = address.cast::<u8>();
    let page = address.wrapping_sub(address.addr() % page_size());
    // Without a target, the call only reports where the page is.
    let statuses = move_pages_syscall(&[page], None).ok()?;
    usize::try_from(statuses[0]).ok()
}

/// Moves the pages of `memory` to `node`, by the system's number. Pages that have not been touched yet do not exist, so
/// they are not moved. An error says why some pages were not moved.
pub(crate) fn move_pages(memory: &[MaybeUninit<u8>], node: usize) -> Result<(), String> {
    let wanted = i32::try_from(node).map_err(|_| format!("node {node} is beyond the system's numbers"))?;
    let mut not_moved = 0;
    for piece in memory.chunks(PAGES_PER_CALL * page_size()) {
        let pages: Vec<_> = piece.chunks(page_size()).map(|page| page.as_ptr().cast::<u8>()).collect();
        let statuses = move_pages_syscall(&pages, Some(wanted));
        let statuses = statuses.map_err(|error| format!("move_pages failed: {error}"))?;
        // A page that does not exist, or is the shared page of zeros, has not failed to move.
        not_moved +=
            statuses.iter().filter(|status| ![wanted, STATUS_ABSENT, STATUS_ZERO_PAGE].contains(status)).count();
    }
    match not_moved {
        0 => Ok(()),
        _ => Err(format!("{not_moved} pages did not go to node {node}; they may be in use, or the node full")),
    }
}

/// How many pages to move with one system call, so that the lists for it stay small beside the memory.
const PAGES_PER_CALL: usize = 1 << 12;

/// The kernel's status for a page that does not exist yet: -ENOENT.
const STATUS_ABSENT: i32 = -2;

/// The kernel's status for a page that has only been read, and is the shared page of zeros: -EFAULT.
const STATUS_ZERO_PAGE: i32 = -14;

/// Moves `pages` to the node `target`; without that, only reports where the pages are. Returns the node of each page,
/// or a negative error number.
#[cfg(target_os = "linux")]
fn move_pages_syscall(pages: &[*const u8], target: Option<i32>) -> io::Result<Vec<i32>> {
    // This status stays if the kernel did not get to the page: it may stop at one that it cannot move.
    const UNSET: i32 = i32::MIN;
    let mut statuses = vec![UNSET; pages.len()];
    let targets = target.map(|node| vec![node; pages.len()]);
    let (own_process, own_pages_only) = (0_i32, 1_i32 << 1);
    // SAFETY: the kernel reads `pages.len()` addresses and as many nodes, or none if that pointer is null, and writes
    // as many statuses. It does not access the addresses themselves: it moves their pages without changing what they
    // contain.
    let result = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            own_process,
            pages.len(),
            pages.as_ptr(),
            targets.as_ref().map_or(std::ptr::null(), Vec::as_ptr),
            statuses.as_mut_ptr(),
            own_pages_only,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(statuses) }
}

#[cfg(not(target_os = "linux"))]
fn move_pages_syscall(_pages: &[*const u8], _target: Option<i32>) -> io::Result<Vec<i32>> {
    Err(io::ErrorKind::Unsupported.into())
}
