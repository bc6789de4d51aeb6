//! Models of barriers inside a region. At each barrier every bee hands data to every other bee.
//!
//! The protocol is described in `docs/barrier.md`.

use super::Model;
use crate::checked_region::CheckedRegion;
use crate::data::{Datum, data};
use crate::exploration;
use crate::hive::{Hive, PARK, SPIN, SPIN_THEN_PARK};
use crate::sync::WaitPolicy;

pub(super) const MODELS: &[Model] = &[
    Model::exhaustive("barrier_spin", "two bees, two barriers, no bee blocks", || play(SPIN, 2, 2, 1)),
    Model::bounded(4, "barrier_park", "two bees, one barrier; a waiting bee blocks", || play(PARK, 2, 1, 1)),
    Model::bounded(3, "barrier_spin_then_park", "the same, after a second poll", || play(SPIN_THEN_PARK, 2, 1, 1)),
    Model::bounded(3, "barrier_park_twice", "two bees, two barriers; a waiting bee blocks", || play(PARK, 2, 2, 1)),
    Model::bounded(
        3,
        "barrier_late_waker",
        "a barrier in each of two regions; the bee that wakes the other may be late",
        || play(PARK, 2, 1, 2),
    ),
    Model::bounded(1, "barrier_spin_three", "three bees, one barrier, no bee blocks", || play(SPIN, 3, 1, 1)),
    Model::bounded(2, "barrier_park_three", "three bees, one barrier; a waiting bee blocks", || play(PARK, 3, 1, 1)),
];

fn play(policy: WaitPolicy, bees: u32, barriers: u32, regions: u32) {
    barriers_in_regions(Hive::with_workers(bees, bees, policy), bees, barriers, regions);
}

/// Runs `regions` regions with `barriers` barriers each. Each bee checks after each barrier what every other bee wrote
/// before it.
pub(super) fn barriers_in_regions(hive: Hive, bees: u32, barriers: u32, regions: u32) {
    let cells = data(bees * barriers);
    let given = Datum::new(0);
    for region in 1..=regions {
        given.set(region);
        hive.region(bees, |context| {
            let id = context.id;
            assert_eq!(given.get(), region);
            for barrier in 0..barriers {
                cells[(barrier * bees + id) as usize].set(10 * region + id);
                context.barrier();
                for other in 0..bees {
                    assert_eq!(
                        cells[(barrier * bees + other) as usize].get(),
                        10 * region + other,
                        "bee {id} looks at {other}'s"
                    );
                }
            }
        });
    }
    exploration::stop_exploring();
    CheckedRegion::new(bees).run(&hive, bees);
    hive.end();
}
