//! What the system is asked for: fresh pages, and where a page is.

#![expect(unsafe_code, reason = "maps memory, and asks the kernel where it is")]

use std::io;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Fresh memory that begins at a page and is unmapped when this is dropped. It is nobody else's, and not touched yet: not from malloc, which hands out again what others have touched.
pub(crate) struct Mapping {
    start: NonNull<u8>,
    /// 0: nothing is mapped.
    bytes: usize,
}

// SAFETY: memory is the whole process's; who writes to it when is for the owner to see to.
unsafe impl Send for Mapping {}

// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    pub(crate) fn new(bytes: usize) -> io::Result<Self> {
        // Nothing is ever read from or written to where nothing is mapped, whatever the alignment.
        let nothing = NonNull::<PageAligned>::dangling().cast();
        let start = if bytes == 0 { nothing } else { pages::map(bytes)? };
        Ok(Self { start, bytes })
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// All of it, written to or not.
    pub(crate) fn memory(&self) -> &[MaybeUninit<u8>] {
        // SAFETY: mapped as long as `self` is there, and bytes that may be uninitialised are valid whatever they are; to write to them meanwhile takes an `UnsafeCell`'s care, and
        // those who call this do so before there are elements, or have them borrowed.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), self.bytes) }
    }
}

/// As aligned as any element may be: no page is smaller.
#[repr(align(4096))]
struct PageAligned;

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: mapped by `map_pages` with so many bytes, and nobody has a part of it any more.
            unsafe { pages::unmap(self.start, self.bytes) };
        }
    }
}

#[cfg(unix)]
mod pages {
    use std::io;
    use std::ptr::{NonNull, null_mut};

    pub(crate) fn map(bytes: usize) -> io::Result<NonNull<u8>> {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANON);
        // SAFETY: without an address and without MAP_FIXED a mapping takes nothing away from anybody.
        let start = unsafe { libc::mmap(null_mut(), bytes, access, kind, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mmap returned address 0"))
    }

    /// # Safety
    /// `start` is from `map_pages(bytes)`, and nobody uses the memory any more.
    pub(crate) unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller's promise.
        let status = unsafe { libc::munmap(start.as_ptr().cast(), bytes) };
        debug_assert_eq!(status, 0, "munmap failed: {}", io::Error::last_os_error());
    }

    pub(crate) fn size() -> usize {
        // SAFETY: takes a number and returns one.
        let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(size).unwrap_or(super::MIN_PAGE_SIZE)
    }
}

/// Elsewhere the allocator's memory has to do: where it is, is the system's affair.
#[cfg(not(unix))]
mod pages {
    use std::alloc::{Layout, alloc, dealloc};
    use std::io;
    use std::ptr::NonNull;

    fn layout(bytes: usize) -> io::Result<Layout> {
        Layout::from_size_align(bytes, super::MIN_PAGE_SIZE).map_err(io::Error::other)
    }

    pub(crate) fn map(bytes: usize) -> io::Result<NonNull<u8>> {
        // SAFETY: only called with more than 0 bytes.
        let start = unsafe { alloc(layout(bytes)?) };
        NonNull::new(start).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    /// # Safety
    /// `start` is from `map_pages(bytes)`, and nobody uses the memory any more.
    pub(crate) unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
        let layout = layout(bytes).expect("it was good enough to map");
        // SAFETY: the caller's promise.
        unsafe { dealloc(start.as_ptr(), layout) };
    }

    pub(crate) fn size() -> usize {
        super::MIN_PAGE_SIZE
    }
}

/// No system that this runs on has smaller pages.
pub(crate) const MIN_PAGE_SIZE: usize = align_of::<PageAligned>();

/// The bytes of a page, other than a huge one.
pub(crate) fn page_size() -> usize {
    pages::size()
}

/// The NUMA node that the page at `location` is on, by the system's number (as in `numactl` and `/proc/self/numa_maps`; see [`memory_nodes`](crate::memory::nodes::memory_nodes)).
///
/// None if nobody has touched the page yet, if nothing is mapped there, or if the system does not tell: other systems than Linux, kernels without NUMA, and containers
/// that forbid `move_pages`. Nothing is read from the address. Costs a system call.
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
    let mut statuses = [STATUS_UNSET];
    move_pages_syscall(&[page], None, &mut statuses).ok()?;
    usize::try_from(statuses[0]).ok()
}

/// Moves the pages of `memory` to `node`, by the system's number. What has not been touched yet has no page to move. Or says why some were not moved.
pub(crate) fn move_pages(memory: &[MaybeUninit<u8>], node: usize) -> Result<(), String> {
    let wanted = i32::try_from(node).map_err(|_| format!("node {node} is beyond the system's numbers"))?;
    let mut not_moved = 0;
    for piece in memory.chunks(PAGES_PER_CALL * page_size()) {
        let pages: Vec<_> = piece.chunks(page_size()).map(|page| page.as_ptr().cast::<u8>()).collect();
        let mut statuses = vec![STATUS_UNSET; pages.len()];
        move_pages_syscall(&pages, Some(&vec![wanted; pages.len()]), &mut statuses)
            .map_err(|error| format!("move_pages failed: {error}"))?;
        not_moved +=
            statuses.iter().filter(|status| ![wanted, STATUS_ABSENT, STATUS_ZERO_PAGE].contains(status)).count();
    }
    if not_moved > 0 {
        Err(format!("{not_moved} pages did not go to node {node}; they may be in use, or the node full"))
    } else {
        Ok(())
    }
}

/// So that the lists are short beside the memory.
const PAGES_PER_CALL: usize = 1 << 12;

/// For a page that the kernel has not come to: it stops at the first that does not move.
const STATUS_UNSET: i32 = i32::MIN;

/// What the kernel has for a page that is not there yet: -ENOENT.
const STATUS_ABSENT: i32 = -2;

/// For one that has only been read, and is all zeros: -EFAULT.
const STATUS_ZERO_PAGE: i32 = -14;

/// Moves `pages`, each to its node of `targets`, or only looks where they are: writes to `statuses` the node of each, or a negative error.
#[cfg(target_os = "linux")]
fn move_pages_syscall(pages: &[*const u8], targets: Option<&[i32]>, statuses: &mut [i32]) -> io::Result<()> {
    assert!(
        statuses.len() == pages.len() && targets.is_none_or(|targets| targets.len() == pages.len()),
        "a node a page"
    );
    let targets = targets.map_or(std::ptr::null(), <[i32]>::as_ptr);
    let (own_process, own_pages_only) = (0_i32, 1_i32 << 1);
    // SAFETY: the kernel reads as many addresses and nodes as there are pages, and writes as many; it reads and writes nothing at the addresses themselves, or moves what is there unseen.
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
