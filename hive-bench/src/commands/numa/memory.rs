//! Arrays whose pages are placed on chosen nodes, and on which nodes they really are.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;

use hwlocality::Topology;
use hwlocality::bitmap::BitmapIndex;
use hwlocality::memory::binding::{Bytes, MemoryBindingFlags, MemoryBindingPolicy};
use hwlocality::memory::nodeset::NodeSet;

/// Where memory is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// On the node of this number.
    On(usize),
    /// Page by page on each of the nodes in turn.
    Interleaved,
    /// Each page on the node of the bee that fills it.
    FirstTouch,
}

/// An array of fresh pages.
pub(super) struct Array<'t> {
    bytes: Bytes<'t>,
}

impl<'t> Array<'t> {
    /// An error if the system does not give memory of that kind.
    pub(super) fn new(topology: &'t Topology, len: usize, placement: Placement) -> Result<Self, String> {
        let size = len.checked_mul(size_of::<f64>()).ok_or("so much memory has no address")?;
        let bound = |nodes: &NodeSet, policy| {
            let bytes = topology.allocate_bound_memory(size, nodes, policy, MemoryBindingFlags::STRICT);
            bytes.map_err(|error| error.to_string())
        };
        let bytes = match placement {
            Placement::On(node) => bound(&only(node)?, MemoryBindingPolicy::Bind),
            Placement::Interleaved => {
                bound(&topology.allowed_nodeset().clone_target(), MemoryBindingPolicy::Interleave)
            }
            Placement::FirstTouch => topology.allocate_memory(size).map_err(|error| error.to_string()),
        };
        Ok(Self { bytes: bytes? })
    }

    /// The numbers, not yet written.
    pub(super) fn empty(&mut self) -> &mut [MaybeUninit<f64>] {
        // SAFETY: bytes that may be anything are numbers that may be anything.
        #[expect(unsafe_code, reason = "memory from hwloc comes as bytes")]
        let (_, numbers, _) = unsafe { self.bytes.align_to_mut::<MaybeUninit<f64>>() };
        numbers
    }

    /// On which nodes its pages are, and how many of them on each. Pages that nobody has touched are on none.
    pub(super) fn pages(&self) -> Result<BTreeMap<usize, usize>, String> {
        let start = self.bytes.as_ptr();
        let page = page_size();
        let mut pages: Vec<_> = (0..self.bytes.len()).step_by(page).map(|offset| start.wrapping_add(offset)).collect();
        let mut nodes = vec![-1_i32; pages.len()];
        if !ask_where(&mut pages, &mut nodes) {
            return Err(format!("move_pages does not say where memory is: {}", std::io::Error::last_os_error()));
        }
        let mut counts = BTreeMap::new();
        for node in nodes.into_iter().filter_map(|node| usize::try_from(node).ok()) {
            *counts.entry(node).or_insert(0) += 1;
        }
        Ok(counts)
    }
}

/// Fills in the node that each of the pages is on, or an error's number below zero. `false` where the system does not
/// say.
#[cfg(target_os = "linux")]
fn ask_where(pages: &mut [*const MaybeUninit<u8>], nodes: &mut [i32]) -> bool {
    assert_eq!(pages.len(), nodes.len());
    // SAFETY: both arrays have as many entries as is said; without a list of nodes to go to nothing is moved.
    #[expect(unsafe_code, reason = "libc has no safe name for this call")]
    let failed = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            0,
            pages.len(),
            pages.as_mut_ptr(),
            std::ptr::null::<i32>(),
            nodes.as_mut_ptr(),
            0,
        )
    };
    failed == 0
}

/// Fills in the node that each of the pages is on. `false` where the system does not say.
#[cfg(not(target_os = "linux"))]
fn ask_where(_pages: &mut [*const MaybeUninit<u8>], _nodes: &mut [i32]) -> bool {
    false
}

fn only(node: usize) -> Result<NodeSet, String> {
    let index = BitmapIndex::try_from(node).map_err(|_| format!("{node} is no number of a node"))?;
    let mut nodes = NodeSet::new();
    nodes.set(index);
    Ok(nodes)
}

fn page_size() -> usize {
    // SAFETY: the call has no preconditions.
    #[expect(unsafe_code, reason = "libc has no safe name for this call")]
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_were_touched_are_somewhere() {
        let topology = Topology::new().unwrap();
        let mut array = Array::new(&topology, 10_000, Placement::FirstTouch).unwrap();
        array.empty().fill(MaybeUninit::new(1.0));
        assert_eq!(array.empty().len(), 10_000);
        // A sandbox may forbid the system call.
        if let Ok(pages) = array.pages() {
            assert_eq!(pages.values().sum::<usize>(), 80_000_usize.div_ceil(page_size()));
        }
    }
}
