//! The system calls for memory: mapping fresh pages, asking on which node a page is, and moving pages to another node.
//! The lowest layer of `memory/`: `numa_vec.rs` maps its memory here, `placement.rs` moves pages.

#![expect(unsafe_code, reason = "maps memory, and asks the kernel where it is")]

use std::io;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

pub(crate) use pages::page_size;

/// Fresh memory that begins at a page boundary and is unmapped when this is dropped. No thread has touched its pages
/// before, so they are still to be placed. That is why it does not come from malloc, which hands out memory again that
/// others have touched.
pub(crate) struct Mapping {
    /// Where the memory begins: at a page boundary.
    pub(crate) start: NonNull<u8>,
    /// How many bytes are mapped. 0: nothing is mapped, and `start` is dangling.
    bytes: usize,
}

// SAFETY: mapped memory belongs to the whole process, so any thread may unmap it. A `Mapping` itself writes nothing;
// its owner must ensure that accesses to the memory do not conflict.
unsafe impl Send for Mapping {}

// SAFETY: as for `Send`; a shared `Mapping` gives out only the address of the memory and a view to read.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `bytes` bytes of fresh memory; for 0 bytes, nothing. An error is the system's.
    pub(crate) fn new(bytes: usize) -> io::Result<Self> {
        // With 0 bytes there is never an access, so a dangling pointer is enough; it is aligned for all element types.
        let nothing = NonNull::<PageAligned>::dangling().cast();
        let start = if bytes == 0 { nothing } else { pages::map(bytes)? };
        Ok(Self { start, bytes })
    }

    /// All of the memory, whether it has been written to or not. While the slice is in use, nobody may write to the
    /// memory.
    pub(crate) fn memory(&self) -> &[MaybeUninit<u8>] {
        // SAFETY: the memory is mapped as long as `self` exists, and `MaybeUninit<u8>` may be any bytes. Nobody writes
        // to it meanwhile: `NumaVec::new` has no elements yet, and `NumaVec::memory` borrows its vector mutably for as
        // long as the slice is in use.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), self.bytes) }
    }
}

/// The alignment of a mapping, and so the largest that elements may have: no page is smaller.
#[repr(align(4096))]
struct PageAligned;

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: `pages::map` has mapped this many bytes at `start`, and nobody uses them any more, since the
            // owner of the mapping drops it.
            unsafe { pages::unmap(self.start, self.bytes) };
        }
    }
}

#[cfg(unix)]
mod pages {
    use std::io;
    use std::ptr::{NonNull, null_mut};

    /// Maps `bytes` bytes, more than 0, of fresh memory.
    pub(crate) fn map(bytes: usize) -> io::Result<NonNull<u8>> {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANON);
        // SAFETY: a mapping without an address and without MAP_FIXED goes where nothing else is mapped.
        let start = unsafe { libc::mmap(null_mut(), bytes, access, kind, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mmap returned address 0"))
    }

    /// # Safety
    /// `start` comes from `map(bytes)`, and nobody uses the memory any more.
    pub(crate) unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller promises that this is a whole mapping that nobody uses any more.
        let status = unsafe { libc::munmap(start.as_ptr().cast(), bytes) };
        debug_assert_eq!(status, 0, "munmap failed: {}", io::Error::last_os_error());
    }

    /// The size of the system's usual pages in bytes. Huge pages are larger.
    pub(crate) fn page_size() -> usize {
        // SAFETY: `sysconf` takes a number and returns one.
        let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(size).unwrap_or(super::MIN_PAGE_SIZE)
    }
}

/// On systems without `mmap`, memory comes from the allocator, and where its pages are is left to the system.
#[cfg(not(unix))]
mod pages {
    use std::alloc::{Layout, alloc, dealloc};
    use std::io;
    use std::ptr::NonNull;

    fn layout(bytes: usize) -> io::Result<Layout> {
        Layout::from_size_align(bytes, super::MIN_PAGE_SIZE).map_err(io::Error::other)
    }

    /// Allocates `bytes` bytes, more than 0.
    pub(crate) fn map(bytes: usize) -> io::Result<NonNull<u8>> {
        // SAFETY: the layout has more than 0 bytes, as the caller ensures.
        let start = unsafe { alloc(layout(bytes)?) };
        NonNull::new(start).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    /// # Safety
    /// `start` comes from `map(bytes)`, and nobody uses the memory any more.
    pub(crate) unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
        let layout = layout(bytes).expect("it was good enough to map");
        // SAFETY: the caller promises that `start` was allocated with this layout and that nobody uses the memory any
        // more.
        unsafe { dealloc(start.as_ptr(), layout) };
    }

    /// The assumed size of a page in bytes.
    pub(crate) fn page_size() -> usize {
        super::MIN_PAGE_SIZE
    }
}

/// The smallest page size of all systems that hive runs on.
pub(crate) const MIN_PAGE_SIZE: usize = align_of::<PageAligned>();

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
    // Without target nodes, the call only reports where the page is.
    let mut statuses = [STATUS_UNSET];
    move_pages_syscall(&[page], None, &mut statuses).ok()?;
    usize::try_from(statuses[0]).ok()
}

/// Moves the pages of `memory` to `node`, by the system's number. Pages that have not been touched yet do not exist, so
/// they are not moved. An error says why some pages were not moved.
pub(crate) fn move_pages(memory: &[MaybeUninit<u8>], node: usize) -> Result<(), String> {
    let wanted = i32::try_from(node).map_err(|_| format!("node {node} is beyond the system's numbers"))?;
    let mut not_moved = 0;
    for piece in memory.chunks(PAGES_PER_CALL * page_size()) {
        // Every page of this piece, all to the same node.
        let pages: Vec<_> = piece.chunks(page_size()).map(|page| page.as_ptr().cast::<u8>()).collect();
        let mut statuses = vec![STATUS_UNSET; pages.len()];
        move_pages_syscall(&pages, Some(&vec![wanted; pages.len()]), &mut statuses)
            .map_err(|error| format!("move_pages failed: {error}"))?;
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

/// The initial status of a page, which stays if the kernel did not get to this page: it may stop at one that it cannot
/// move.
const STATUS_UNSET: i32 = i32::MIN;

/// The kernel's status for a page that does not exist yet: -ENOENT.
const STATUS_ABSENT: i32 = -2;

/// The kernel's status for a page that has only been read, and is the shared page of zeros: -EFAULT.
const STATUS_ZERO_PAGE: i32 = -14;

/// Moves `pages` to the nodes `targets`, one for each page; without targets, only reports where the pages are. Writes
/// to `statuses` the node of each page, or a negative error number.
#[cfg(target_os = "linux")]
fn move_pages_syscall(pages: &[*const u8], targets: Option<&[i32]>, statuses: &mut [i32]) -> io::Result<()> {
    assert!(
        statuses.len() == pages.len() && targets.is_none_or(|targets| targets.len() == pages.len()),
        "a node a page"
    );
    let targets = targets.map_or(std::ptr::null(), <[i32]>::as_ptr);
    let (own_process, own_pages_only) = (0_i32, 1_i32 << 1);
    // SAFETY: the kernel reads `pages.len()` addresses and as many nodes, or none if `targets` is null, and writes as
    // many statuses; the assertion has checked the lengths. It does not access the addresses themselves: it moves their
    // pages without changing what they contain.
    let result = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            own_process,
            pages.len(),
            pages.as_ptr(),
            targets,
            statuses.as_mut_ptr(),
            own_pages_only,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(not(target_os = "linux"))]
fn move_pages_syscall(_pages: &[*const u8], _targets: Option<&[i32]>, _statuses: &mut [i32]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
