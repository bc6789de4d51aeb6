//! Connected components by label propagation: every vertex takes the least label around it, in rounds, until no label
//! changes. A test of many short loops one after the other, with a sum each (after the idea of ForkUnion's benchmark of
//! that name). A round reads the labels of the round before, so labels and number of rounds are the same for all.

use std::ops::Range;

use crate::kernels::check_all;
use crate::kernels::disjoint::Disjoint;
use crate::kernels::graph::Graph;
use crate::kernels::kernel::{Kernel, checksum};
use crate::kernels::shares::placed;
use crate::runtimes::{Runtime, loops::Loops};

/// A graph that fits into a core's cache, and so many rounds at least: the label 0 goes a vertex a round along the
/// chain.
const SCALE: u32 = 14;
const EDGE_FACTOR: usize = 8;
const CHAIN: usize = 250;

pub(crate) struct Labels {
    graph: Graph,
    /// What a round reads.
    from: Vec<u32>,
    /// What it writes.
    to: Vec<u32>,
    /// Whether labels changed in the last round.
    rounds: u64,
}

impl Labels {
    pub(crate) fn new(runtime: &mut impl Runtime) -> Self {
        Self::of(runtime, &Graph::rmat_with_chain(SCALE, EDGE_FACTOR, CHAIN))
    }

    fn of(runtime: &mut impl Runtime, graph: &Graph) -> Self {
        assert!(
            graph.neighbours.iter().all(|neighbour| (*neighbour as usize) < graph.vertices()),
            "a neighbour is no vertex"
        );
        let starts = placed(runtime, graph.starts.len(), |i| graph.starts[i]);
        let neighbours = placed(runtime, graph.neighbours.len(), |i| graph.neighbours[i]);
        let mut labels = || placed(runtime, graph.vertices(), |_| u32::MAX);
        Self { from: labels(), to: labels(), graph: Graph { starts, neighbours }, rounds: 0 }
    }

    /// Whether the labels still changed.
    fn round<L: Loops>(&mut self, by: &mut L) -> bool {
        let (graph, from, to) = (&self.graph, &self.from[..], Disjoint::new(&mut self.to));
        let changed = by.sum(from.len(), |vertices| {
            if L::IN_C {
                let (starts, neighbours) = (graph.starts.as_ptr(), graph.neighbours.as_ptr());
                let (begin, end) = (vertices.start, vertices.end);
                // SAFETY: labels for as many vertices as there are starts but the last, which are those of the
                // neighbours; a loop hands out each vertex once.
                let changed = unsafe { hb_relabel_part(to.pointer(), from.as_ptr(), starts, neighbours, begin, end) };
                return changed as f64;
            }
            // SAFETY: a loop hands out each vertex once.
            let to = unsafe { to.part(vertices.clone()) };
            relabel(to, from, graph, vertices) as f64
        });
        std::mem::swap(&mut self.from, &mut self.to);
        changed > 0.0
    }
}

/// How many labels changed.
fn relabel(to: &mut [u32], from: &[u32], graph: &Graph, vertices: Range<usize>) -> u64 {
    let ends = graph.starts[vertices.start..=vertices.end].windows(2);
    let mut changed = 0;
    for ((to, ends), old) in to.iter_mut().zip(ends).zip(&from[vertices]) {
        let neighbours = &graph.neighbours[ends[0] as usize..ends[1] as usize];
        *to = neighbours.iter().fold(*old, |least, neighbour| {
            // C does not check the bounds either; with a check a round takes a sixth longer.
            // SAFETY: `Labels::of` has checked that every neighbour is a vertex, and there is a label for each.
            let label = unsafe { from.get_unchecked(*neighbour as usize) };
            least.min(*label)
        });
        changed += u64::from(to != old);
    }
    changed
}

unsafe extern "C" {
    fn hb_relabel_part(
        to: *mut u32,
        from: *const u32,
        starts: *const u32,
        neighbours: *const u32,
        begin: usize,
        end: usize,
    ) -> u64;
}

impl Kernel for Labels {
    fn step<L: Loops>(&mut self, by: &mut L) {
        let vertices = self.from.len();
        let labels = Disjoint::new(&mut self.from);
        by.blocks(vertices, |vertices| {
            // SAFETY: a loop hands out each vertex once.
            let part = unsafe { labels.part(vertices.clone()) };
            part.iter_mut().zip(vertices).for_each(|(label, vertex)| *label = vertex as u32);
        });
        self.rounds = 1;
        while self.round(by) {
            self.rounds += 1;
        }
    }

    /// Rounds.
    fn units(&self) -> u64 {
        self.rounds
    }

    /// After the last round both arrays hold the same labels.
    fn answer(&self) -> Result<u64, String> {
        let expected = self.graph.least_reachable();
        check_all("the label of vertex", &self.from, |vertex| expected[vertex])?;
        Ok(checksum(self.to.iter().map(|label| u64::from(*label))) ^ self.rounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::kernel::tests::answers_agree;
    use crate::runtimes::sequential::Sequential;

    #[test]
    fn everybody_comes_to_the_same_answer() {
        answers_agree(|| Labels::of(&mut Sequential::<false>, &Graph::rmat_with_chain(8, 4, 30)), 2);
    }

    #[test]
    fn rounds_are_as_many_as_the_chain_is_long() {
        let mut labels = Labels::new(&mut Sequential::<false>);
        labels.run(&mut Sequential::<false>, 1);
        // One more round finds that nothing changes.
        assert_eq!(labels.units(), CHAIN as u64 + 1);
        labels.answer().unwrap();
    }

    #[test]
    fn a_wrong_label_is_found() {
        let mut labels = Labels::of(&mut Sequential::<false>, &Graph::of(3, &[(0, 2)]));
        labels.run(&mut Sequential::<false>, 1);
        labels.from[1] = 0;
        assert!(labels.answer().unwrap_err().contains("vertex 1 is 0, not 1"), "{:?}", labels.answer());
    }
}
