//! Rows of other ranks that this one needs, fetched for each step while it computes what does not need them.

use std::time::{Duration, Instant};

use ::mpi::datatype::{Partition, PartitionMut};
use ::mpi::request::{self, WaitGuard};
use ::mpi::traits::*;
use ::mpi::{Count, Rank};

use super::ranks::{Ranks, begins};
use super::rows::Rows;

/// Which rows each rank sends to which.
pub(super) struct Halo<'r> {
    ranks: &'r Ranks,
    /// Values in a row.
    width: usize,
    outgoing: Vec<Outgoing>,
    incoming: Vec<Incoming>,
    /// The rows that this rank needs, in their order.
    received: Vec<f64>,
    waited: Duration,
}

struct Outgoing {
    to: Rank,
    /// This rank's first is 0.
    rows: Vec<usize>,
    message: Vec<f64>,
}

struct Incoming {
    from: Rank,
    rows: usize,
}

impl<'r> Halo<'r> {
    /// Tells all other ranks which of their rows this one needs, in ascending order, and hears which of its own they
    /// need. All ranks must call it.
    pub(super) fn new(ranks: &'r Ranks, rows: &Rows, needed: &[usize], width: usize) -> Self {
        let mut of_owner = vec![0; ranks.count()];
        needed.iter().for_each(|row| of_owner[rows.owner(*row)] += 1);
        let (wanted, of_asker) = ask(ranks, needed, &of_owner);
        let first = rows.own().start;
        let mut wanted = wanted.iter().map(|row| *row as usize - first);
        let outgoing = of_asker.iter().zip(0..).filter(|(count, _)| **count > 0).map(|(count, to)| {
            let rows: Vec<usize> = wanted.by_ref().take(*count as usize).collect();
            Outgoing { to, message: vec![0.0; rows.len() * width], rows }
        });
        let outgoing = outgoing.collect();
        let incoming = of_owner.iter().zip(0..).filter(|(count, _)| **count > 0);
        let incoming = incoming.map(|(count, from)| Incoming { from, rows: *count as usize }).collect();
        Self { ranks, width, outgoing, incoming, received: vec![0.0; needed.len() * width], waited: Duration::ZERO }
    }

    /// Sends the rows of `own` that other ranks need, and runs `meanwhile` while messages are under way. Returns the
    /// rows that this rank needs, in their order. All ranks must call it.
    pub(super) fn exchange(&mut self, own: &[f64], meanwhile: impl FnOnce()) -> &[f64] {
        let Self { ranks, width, outgoing, incoming, received, waited } = self;
        for Outgoing { rows, message, .. } in &mut *outgoing {
            for (sent, row) in message.chunks_exact_mut(*width).zip(rows) {
                sent.copy_from_slice(&own[*row * *width..][..*width]);
            }
        }
        request::scope(|scope| {
            let mut under_way = Vec::with_capacity(incoming.len() + outgoing.len());
            let mut rest = &mut received[..];
            for Incoming { from, rows } in incoming {
                let (message, behind) = rest.split_at_mut(*rows * *width);
                under_way
                    .push(WaitGuard::from(ranks.world().process_at_rank(*from).immediate_receive_into(scope, message)));
                rest = behind;
            }
            for Outgoing { to, message, .. } in outgoing {
                under_way.push(WaitGuard::from(ranks.world().process_at_rank(*to).immediate_send(scope, &message[..])));
            }
            meanwhile();
            let begin = Instant::now();
            // Waits for all of them.
            drop(under_way);
            *waited += begin.elapsed();
        });
        &self.received
    }

    /// How long this rank has waited for messages, after it had done everything that it could meanwhile.
    pub(super) const fn waited(&self) -> Duration {
        self.waited
    }
}

/// Which of its rows this rank is asked for, by one rank after the other, and how many by each; `needed` has so many of
/// each owner.
fn ask(ranks: &Ranks, needed: &[usize], of_owner: &[Count]) -> (Vec<u64>, Vec<Count>) {
    let mut of_asker = vec![0; ranks.count()];
    ranks.world().all_to_all_into(of_owner, &mut of_asker[..]);
    let needed: Vec<u64> = needed.iter().map(|row| *row as u64).collect();
    let mut wanted = vec![0; of_asker.iter().map(|count| *count as usize).sum()];
    let questions = Partition::new(&needed[..], of_owner, begins(of_owner));
    let mut answers = PartitionMut::new(&mut wanted[..], &of_asker[..], begins(&of_asker));
    ranks.world().all_to_all_varcount_into(&questions, &mut answers);
    (wanted, of_asker)
}
