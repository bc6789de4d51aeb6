use super::super::line::Word;
use super::*;

const START: Cell = Cell(0, Word::Start);
const LEFT: Cell = Cell(0, Word::Left);

/// Costs of nothing but transfers.
fn bare() -> Costs {
    Costs { call: 0, part: 0, write: 0, poll: 0, serial: 1.0 }
}

fn simulate(one_way: &[Vec<u64>], lines: &[usize], programs: Vec<Vec<Step>>) -> Marks {
    run(&Setting { one_way, costs: &bare(), lines: lines.to_vec(), programs })
}

/// Two cores, 100 apart.
fn pair() -> Vec<Vec<u64>> {
    vec![vec![0, 100], vec![100, 0]]
}

/// Three cores: 0 and 1 near each other, 2 far from both.
fn three() -> Vec<Vec<u64>> {
    vec![vec![0, 10, 50], vec![10, 0, 60], vec![50, 60, 0]]
}

#[test]
fn one_read_is_one_transfer() {
    let marks = simulate(&pair(), &[0], vec![vec![], vec![Step::Await(START, 0), Step::Mark]]);
    assert_eq!(marks[1], [100]);
}

#[test]
fn a_write_is_free_for_the_owner_and_a_transfer_for_another() {
    let write = vec![Step::Add(START), Step::Mark, Step::Add(START), Step::Mark];
    assert_eq!(simulate(&pair(), &[0], vec![write.clone(), vec![]])[0], [0, 0]);
    assert_eq!(simulate(&pair(), &[0], vec![vec![], write])[1], [100, 100]);
}

#[test]
fn additions_to_one_line_come_one_after_the_other() {
    let add = |wait| vec![Step::Work(wait), Step::Add(LEFT), Step::Mark];
    let marks = simulate(&three(), &[0], vec![add(0), add(1), add(2)]);
    // Core 1 fetches it from 0; core 2 waits for that, and fetches it from 1.
    assert_eq!(marks, [vec![0], vec![11], vec![71]]);
}

#[test]
fn polls_of_one_line_are_served_one_after_the_other() {
    let poll = |wait| vec![Step::Work(wait), Step::Await(START, 0), Step::Mark];
    let marks = simulate(&three(), &[0], vec![vec![], poll(0), poll(1)]);
    // Core 2 begins when core 1 has its copy, and has it from the nearer of the two holders.
    assert_eq!(marks[1..], [vec![10], vec![60]]);
}

#[test]
fn an_invalidation_takes_as_long_as_to_the_farthest() {
    let poll = |wait| vec![Step::Work(wait), Step::Await(START, 1), Step::Mark];
    let write = vec![Step::Work(200), Step::Add(START), Step::Mark];
    let marks = simulate(&three(), &[0], vec![write, poll(0), poll(1)]);
    // Both have copies by 60. The store takes them away; core 1 then has the line from 0, and core 2 its copy from core
    // 1.
    assert_eq!(marks, [vec![250], vec![260], vec![320]]);
}

#[test]
fn a_poll_that_comes_too_early_costs_the_writer_the_line() {
    let answer = vec![Step::Await(START, 1), Step::Mark];
    let in_time = simulate(&pair(), &[0], vec![vec![Step::Work(49), Step::Add(START)], answer.clone()]);
    assert_eq!(in_time[1], [100], "the store came before the request reached the line");
    let late = simulate(&pair(), &[0], vec![vec![Step::Work(60), Step::Add(START)], answer]);
    // A copy of the old value until 100; the store's request from 100 on; the next copy from 200 on.
    assert_eq!(late[1], [300]);
}

#[test]
fn a_bounce_is_a_round_trip() {
    let rounds = 1..=20_u64;
    let there = rounds.clone().flat_map(|k| [Step::Add(START), Step::Await(START, 2 * k), Step::Mark]);
    let back = rounds.clone().flat_map(|k| [Step::Await(START, 2 * k - 1), Step::Add(START)]);
    let marks = simulate(&pair(), &[0], vec![there.collect(), back.collect()]);
    assert!(marks[0].windows(2).all(|pair| pair[1] - pair[0] == 200), "{marks:?}");
}

#[test]
fn all_go_on_from_a_meeting_at_once() {
    let bee = |wait| vec![Step::Work(wait), Step::Meet, Step::Mark];
    assert_eq!(simulate(&three(), &[], vec![bee(5), bee(80), bee(20)]), [[80], [80], [80]]);
}

#[test]
#[should_panic(expected = "bee 1 is here for ever")]
fn who_waits_for_ever_is_named() {
    let programs = vec![vec![], vec![Step::Await(START, 1)]];
    simulate(&pair(), &[0], programs);
}

/// With other numbers the bees do the same at the same times.
#[test]
fn numbers_do_not_matter() {
    let order = [2, 0, 1];
    // No two bees do anything at the same time, because ties would be resolved by number.
    let bee = |k: u64| vec![Step::Work(1 + 7 * k), Step::Add(LEFT), Step::Mark, Step::Await(LEFT, 3), Step::Mark];
    let programs: Vec<_> = (0..3).map(bee).collect();
    let plain = simulate(&three(), &[0], programs.clone());
    let one_way: Vec<Vec<u64>> = order.iter().map(|a| order.iter().map(|b| three()[*a][*b]).collect()).collect();
    let owner = order.iter().position(|core| *core == 0).unwrap();
    let renumbered = simulate(&one_way, &[owner], order.iter().map(|core| programs[*core].clone()).collect());
    assert_eq!(renumbered, order.map(|core| plain[core].clone()));
}
