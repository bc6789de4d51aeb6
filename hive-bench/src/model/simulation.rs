//! Bees that carry out their programs on simulated caches, event by event, in picoseconds. The same input always has
//! the same outcome: events at the same time happen in the order in which they were caused.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::costs::Costs;
use super::line::{Cell, Line, Want};

/// One step of a bee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Work that other bees do not see, for so many picoseconds.
    Work(u64),
    /// Adds one: by a plain store, if nobody else writes the word, else in one indivisible step.
    Add(Cell),
    /// Polls until the word is no less.
    Await(Cell, u64),
    /// Notes the time.
    Mark,
    /// Waits until all bees are here, at no cost.
    Meet,
}

/// What is simulated.
pub(super) struct Setting<'a> {
    /// Picoseconds of a transfer from one bee's core to another's.
    pub(super) one_way: &'a [Vec<u64>],
    pub(super) costs: &'a Costs,
    /// The bee in whose cache each line is at first.
    pub(super) lines: Vec<usize>,
    /// One program for each bee.
    pub(super) programs: Vec<Vec<Step>>,
}

/// The times that each bee noted.
pub(super) type Marks = Vec<Vec<u64>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A bee goes on with its current step.
    Resume(usize),
    /// A line can serve the next request in its queue.
    Serve(usize),
    /// A request has reached the caches that it concerns: here it takes effect.
    Snoop(usize),
    /// The answer is back at the bee.
    Reply(usize),
}

/// A line, and the bees that wait for it.
struct Site {
    line: Line,
    queue: VecDeque<usize>,
    is_busy: bool,
    /// The bees that poll their copies until these are invalidated.
    pollers: Vec<usize>,
}

#[derive(Clone, Default)]
struct Bee {
    at: usize,
    marks: Vec<u64>,
    /// What a request that is under way has found.
    sample: u64,
}

struct Simulation<'a> {
    setting: &'a Setting<'a>,
    sites: Vec<Site>,
    bees: Vec<Bee>,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    caused: u64,
    now: u64,
    at_meeting: Vec<usize>,
}

/// Carries out all programs to their ends.
///
/// # Panics
/// If a bee waits for ever for what the others never do.
pub(super) fn run(setting: &Setting<'_>) -> Marks {
    let cores = setting.programs.len();
    let site =
        |owner: &usize| Site { line: Line::new(*owner), queue: VecDeque::new(), is_busy: false, pollers: Vec::new() };
    let mut simulation = Simulation {
        setting,
        sites: setting.lines.iter().map(site).collect(),
        bees: vec![Bee::default(); cores],
        events: BinaryHeap::new(),
        caused: 0,
        now: 0,
        at_meeting: Vec::new(),
    };
    (0..cores).for_each(|bee| simulation.cause(0, Event::Resume(bee)));
    while let Some(Reverse((time, _, event))) = simulation.events.pop() {
        simulation.now = time;
        match event {
            Event::Resume(bee) => simulation.resume(bee),
            Event::Serve(site) => {
                simulation.sites[site].is_busy = false;
                simulation.serve(site);
            }
            Event::Snoop(bee) => simulation.snoop(bee),
            Event::Reply(bee) => simulation.reply(bee),
        }
    }
    for bee in 0..cores {
        let step = simulation.step(bee);
        assert_eq!(step, None, "the simulated protocol is stuck: bee {bee} is here for ever");
    }
    simulation.bees.into_iter().map(|bee| bee.marks).collect()
}

impl Simulation<'_> {
    fn cause(&mut self, delay: u64, event: Event) {
        self.events.push(Reverse((self.now + delay, self.caused, event)));
        self.caused += 1;
    }

    fn step(&self, bee: usize) -> Option<Step> {
        self.setting.programs[bee].get(self.bees[bee].at).copied()
    }

    /// The bee is done with its step after a while.
    fn advance(&mut self, bee: usize, delay: u64) {
        self.bees[bee].at += 1;
        self.cause(delay, Event::Resume(bee));
    }

    fn resume(&mut self, bee: usize) {
        match self.step(bee) {
            None => {}
            Some(Step::Work(time)) => self.advance(bee, time),
            Some(Step::Mark) => {
                self.bees[bee].marks.push(self.now);
                self.advance(bee, 0);
            }
            Some(Step::Meet) => {
                self.at_meeting.push(bee);
                if self.at_meeting.len() == self.bees.len() {
                    std::mem::take(&mut self.at_meeting).into_iter().for_each(|bee| self.advance(bee, 0));
                }
            }
            Some(Step::Add(Cell(line, word))) if self.sites[line].line.is_exclusive(bee) => {
                self.sites[line].line.add(word);
                self.advance(bee, self.setting.costs.write);
            }
            Some(Step::Await(Cell(line, word), goal)) if self.sites[line].line.has_copy(bee) => {
                if self.sites[line].line.word(word) >= goal {
                    self.advance(bee, 0);
                } else {
                    self.sites[line].pollers.push(bee);
                }
            }
            Some(Step::Add(Cell(line, _)) | Step::Await(Cell(line, _), _)) => {
                self.sites[line].queue.push_back(bee);
                self.serve(line);
            }
        }
    }

    /// What the bee requests.
    fn want(&self, bee: usize) -> Want {
        if matches!(self.step(bee), Some(Step::Await(..))) { Want::Copy } else { Want::Ownership }
    }

    /// One request at a time: the next begins when the line is free.
    fn serve(&mut self, line: usize) {
        let site = &mut self.sites[line];
        if site.is_busy {
            return;
        }
        let Some(bee) = site.queue.pop_front() else { return };
        site.is_busy = true;
        let want = self.want(bee);
        let time = self.sites[line].line.transfer(bee, want, &self.setting.one_way[bee]);
        let busy = if want == Want::Copy { self.setting.costs.share_of_read(time) } else { time };
        self.cause(time / 2, Event::Snoop(bee));
        self.cause(time, Event::Reply(bee));
        self.cause(busy, Event::Serve(line));
    }

    fn snoop(&mut self, bee: usize) {
        let Some(Step::Add(Cell(line, word)) | Step::Await(Cell(line, word), _)) = self.step(bee) else {
            unreachable!("bee {bee} has no request on its way");
        };
        let want = self.want(bee);
        let site = &mut self.sites[line];
        let losers = site.line.grant(bee, want);
        match want {
            Want::Ownership => site.line.add(word),
            Want::Copy => self.bees[bee].sample = site.line.word(word),
        }
        let pollers = std::mem::take(&mut site.pollers).into_iter();
        let (woken, left): (Vec<usize>, _) = pollers.partition(|poller| losers.contains(poller));
        site.pollers = left;
        woken.into_iter().for_each(|poller| self.cause(self.setting.costs.poll, Event::Resume(poller)));
    }

    fn reply(&mut self, bee: usize) {
        match self.step(bee) {
            Some(Step::Await(_, goal)) if self.bees[bee].sample >= goal => self.advance(bee, 0),
            // The copy may still be there and have changed, or it may be gone.
            Some(Step::Await(..)) => self.cause(0, Event::Resume(bee)),
            _ => self.advance(bee, self.setting.costs.write),
        }
    }
}

#[cfg(test)]
mod tests;
