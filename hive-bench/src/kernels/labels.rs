//! Connected components by label propagation: every vertex takes the least label around it, in rounds, until no label
//! changes. A test of many short loops one after the other, with a sum each (after the idea of ForkUnion's benchmark of
//! that name). A round reads the labels of the round before, so labels and number of rounds are the same for all.

use std::ops::Range;

use crate::kernels::disjoint::Disjoint;
use crate::kernels::graph::Graph;
#[cfg(openmp_compiled)]
use crate::kernels::in_c::{InC, Pointers, compiled_twice, parts_in_c};
use crate::kernels::kernel::{Kernel, checksum};
use crate::kernels::shares::{placed, write_blocks};
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
    fn round(&mut self, by: &mut impl Loops) -> bool {
        let (graph, from, to) = (&self.graph, &self.from[..], Disjoint::new(&mut self.to));
        let changed = by.sum(from.len(), |vertices| {
            // SAFETY: a loop hands out each vertex once.
            #[expect(unsafe_code, reason = "several threads write one array")]
            let to = unsafe { to.part(vertices.clone()) };
            relabel(to, from, graph, vertices) as f64
        });
        std::mem::swap(&mut self.from, &mut self.to);
        changed > 0.0
    }

    /// The same with the loop's body in C.
    #[cfg(openmp_compiled)]
    fn round_in_c(&mut self, by: &mut impl Loops) -> bool {
        let Graph { starts, neighbours } = &self.graph;
        let arrays = Pointers::new((self.to.as_mut_ptr(), self.from.as_ptr(), starts.as_ptr(), neighbours.as_ptr()));
        let changed = by.sum(self.from.len(), |vertices| {
            let (to, from, starts, neighbours) = arrays.get();
            // SAFETY: labels for as many vertices as there are starts but the last, which are those of the neighbours;
            // a loop hands out each vertex once.
            #[expect(unsafe_code, reason = "loops in C")]
            let changed = unsafe { relabel_part(to, from, starts, neighbours, vertices) };
            changed as f64
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
            #[allow(unsafe_code)]
            let label = unsafe { from.get_unchecked(*neighbour as usize) };
            least.min(*label)
        });
        changed += u64::from(to != old);
    }
    changed
}

#[cfg(openmp_compiled)]
compiled_twice! {
    fn labels_in_c = hb_openmp_labels, hb_plain_labels(
        vertices: usize, starts: *const u32, neighbours: *const u32, from: *mut u32, to: *mut u32) -> u64;
}

#[cfg(openmp_compiled)]
parts_in_c! {
    fn number_part = "hb_openmp_number_part"(labels: *mut u32);
    fn relabel_part = "hb_openmp_relabel_part"(
        to: *mut u32, from: *const u32, starts: *const u32, neighbours: *const u32) -> u64;
}

impl Kernel for Labels {
    fn run(&mut self, by: &mut impl Loops, steps: u64) {
        for _ in 0..steps {
            write_blocks(by, &mut self.from, 1, |vertices, labels| {
                labels.iter_mut().zip(vertices).for_each(|(label, vertex)| *label = vertex as u32);
            });
            self.rounds = 1;
            while self.round(by) {
                self.rounds += 1;
            }
        }
    }

    #[cfg(openmp_compiled)]
    fn run_in_c(&mut self, by: InC, steps: u64) {
        let Graph { starts, neighbours } = &self.graph;
        for _ in 0..steps {
            let (from, to) = (self.from.as_mut_ptr(), self.to.as_mut_ptr());
            // SAFETY: labels for as many vertices as there are starts but the last, which are those of the neighbours.
            #[expect(unsafe_code, reason = "loops in C")]
            let rounds = unsafe { labels_in_c(by, self.from.len(), starts.as_ptr(), neighbours.as_ptr(), from, to) };
            self.rounds = rounds;
        }
    }

    #[cfg(openmp_compiled)]
    fn run_parts_in_c(&mut self, by: &mut impl Loops, steps: u64) {
        for _ in 0..steps {
            let labels = Pointers::new(self.from.as_mut_ptr());
            // SAFETY: a label for each vertex, and a loop hands out each vertex once.
            #[expect(unsafe_code, reason = "loops in C")]
            by.blocks(self.from.len(), |vertices| unsafe { number_part(labels.get(), vertices) });
            self.rounds = 1;
            while self.round_in_c(by) {
                self.rounds += 1;
            }
        }
    }

    /// Rounds.
    fn units(&self) -> u64 {
        self.rounds
    }

    /// After the last round both arrays hold the same labels.
    fn answer(&self) -> Result<u64, String> {
        let expected = self.graph.least_reachable();
        match (0..expected.len()).find(|&vertex| self.from[vertex] != expected[vertex]) {
            Some(vertex) => Err(format!(
                "wrong answer: the label of vertex {vertex} is {}, not {}",
                self.from[vertex], expected[vertex]
            )),
            None => Ok(checksum(self.to.iter().map(|label| u64::from(*label))) ^ self.rounds),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::kernel::tests::answers_agree;
    use crate::runtimes::sequential::Sequential;

    #[test]
    fn everybody_comes_to_the_same_answer() {
        answers_agree(|| Labels::of(&mut Sequential, &Graph::rmat_with_chain(8, 4, 30)), 2);
    }

    #[test]
    fn rounds_are_as_many_as_the_chain_is_long() {
        let mut labels = Labels::new(&mut Sequential);
        labels.run(&mut Sequential, 1);
        // One more round finds that nothing changes.
        assert_eq!(labels.units(), CHAIN as u64 + 1);
        labels.answer().unwrap();
    }

    #[test]
    fn a_wrong_label_is_found() {
        let mut labels = Labels::of(&mut Sequential, &Graph::of(3, &[(0, 2)]));
        labels.run(&mut Sequential, 1);
        labels.from[1] = 0;
        assert!(labels.answer().unwrap_err().contains("vertex 1 is 0, not 1"), "{:?}", labels.answer());
    }
}
