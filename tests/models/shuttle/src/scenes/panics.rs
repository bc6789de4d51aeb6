//! Members who panic or leave a barrier out, while the others wait for them.

use std::panic::resume_unwind;

use super::draw;
use crate::hive::Hive;
use crate::rounds;

const MOST_MEMBERS: u32 = 9;

/// A member's panic.
struct Thrown(u32);

pub(super) fn of_some() {
    let members = draw(2, MOST_MEMBERS);
    let hive = Hive::new(members, members);
    for _ in 0..2 {
        throw(&hive, draw(2, members));
        desert(&hive, draw(2, members));
        rounds::region(&hive, members, 1);
    }
    hive.end();
}

/// Some members panic before the first barrier or the second.
fn throw(hive: &Hive, team: u32) {
    let at: Vec<_> = (0..team).map(|_| draw(0, 3)).collect();
    let ended = hive.try_region(team, |member| {
        for barrier in 0..2 {
            if at[member.id() as usize] == barrier {
                resume_unwind(Box::new(Thrown(member.id())));
            }
            member.barrier();
        }
    });
    let lowest_at = |barrier| at.iter().position(|&at| at == barrier);
    match ended {
        Ok(()) => assert_eq!(lowest_at(0).or(lowest_at(1)), None, "a panic is lost"),
        Err(payload) => {
            let Thrown(id) = payload.downcast_ref().expect("a member's panic");
            match lowest_at(0) {
                // Nobody passes the first barrier then, and all who panic before it do.
                Some(lowest) => assert_eq!(*id as usize, lowest, "the wrong member's panic goes on"),
                // Whoever had not looked yet is let go from the first barrier by the panic at the second.
                None => assert_eq!(at[*id as usize], 1, "member {id} has not panicked"),
            }
        }
    }
}

/// One member leaves out the second of two barriers.
fn desert(hive: &Hive, team: u32) {
    let deserter = draw(0, team - 1);
    let ended = hive.try_region(team, |member| {
        member.barrier();
        if member.id() != deserter {
            member.barrier();
        }
    });
    let payload = ended.expect_err("a barrier without one of its members");
    let message = payload.downcast_ref::<String>().map_or("", String::as_str);
    assert!(message.contains("equally often"), "the region ended with {message:?}");
}
