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
    /// A plain store.
    Store(Cell, u64),
    /// Adds one, in one indivisible step.
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
    Snoop { line: usize, bee: usize },
    /// The answer is back at the bee.
    Reply(usize),
}

/// A line, and the bees that wait for it.
struct Site {
    line: Line,
    queue: VecDeque<(usize, Want)>,
    is_busy: bool,
    /// The bees that poll their copies until these are invalidated.
    pollers: Vec<usize>,
}

#[derive(Clone, Default)]
struct Bee {
    at: usize,
    marks: Vec<u64>,
    /// The purpose of a request that is under way, and what it has found.
    want: Option<Want>,
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

/// Carries out all programs to their ends. An error says which bee waits for what.
pub(super) fn run(setting: &Setting<'_>) -> Result<Marks, String> {
    let cores = setting.programs.len();
    let site = |owner: &usize| Site {
        line: Line::new(*owner, cores),
        queue: VecDeque::new(),
        is_busy: false,
        pollers: Vec::new(),
    };
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
        assert!(time >= simulation.now, "time runs backwards, from {} to {time}", simulation.now);
        simulation.now = time;
        match event {
            Event::Resume(bee) => simulation.resume(bee),
            Event::Serve(site) => {
                simulation.sites[site].is_busy = false;
                simulation.serve(site);
            }
            Event::Snoop { line, bee } => simulation.snoop(line, bee),
            Event::Reply(bee) => simulation.reply(bee),
        }
    }
    simulation.finish()
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
        let costs = self.setting.costs;
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
            Some(Step::Store(cell, _) | Step::Add(cell)) => {
                if self.sites[cell.line].line.is_exclusive(bee) {
                    self.write(bee);
                    self.advance(bee, costs.write);
                } else {
                    self.request(bee, cell.line, Want::Ownership);
                }
            }
            Some(Step::Await(cell, goal)) => self.look(bee, cell, goal),
        }
    }

    fn look(&mut self, bee: usize, cell: Cell, goal: u64) {
        let site = &mut self.sites[cell.line];
        if !site.line.has_copy(bee) {
            self.request(bee, cell.line, Want::Copy);
        } else if site.line.words[cell.word] >= goal {
            self.advance(bee, 0);
        } else {
            site.pollers.push(bee);
        }
    }

    fn request(&mut self, bee: usize, line: usize, want: Want) {
        self.bees[bee].want = Some(want);
        self.sites[line].queue.push_back((bee, want));
        self.serve(line);
    }

    /// One request at a time: the next begins when the line is free.
    fn serve(&mut self, site: usize) {
        let Site { line, queue, is_busy, .. } = &mut self.sites[site];
        if *is_busy {
            return;
        }
        let Some((bee, want)) = queue.pop_front() else {
            return;
        };
        *is_busy = true;
        let time = line.transfer(bee, want, &self.setting.one_way[bee]);
        let busy = if want == Want::Copy { self.setting.costs.share_of_read(time) } else { time };
        self.cause(time / 2, Event::Snoop { line: site, bee });
        self.cause(time, Event::Reply(bee));
        self.cause(busy, Event::Serve(site));
    }

    fn snoop(&mut self, site: usize, bee: usize) {
        let Some(want) = self.bees[bee].want else {
            unreachable!("bee {bee} has no request on its way");
        };
        let losers = self.sites[site].line.grant(bee, want);
        if want == Want::Ownership {
            self.write(bee);
        } else if let Some(Step::Await(cell, _)) = self.step(bee) {
            self.bees[bee].sample = self.sites[site].line.words[cell.word];
        }
        let pollers = std::mem::take(&mut self.sites[site].pollers);
        let (woken, left): (Vec<usize>, _) =
            pollers.into_iter().partition(|poller| losers.binary_search(poller).is_ok());
        self.sites[site].pollers = left;
        woken.into_iter().for_each(|poller| self.cause(self.setting.costs.poll, Event::Resume(poller)));
    }

    /// The store or the addition that the bee is at takes effect.
    fn write(&mut self, bee: usize) {
        let step = self.step(bee);
        let Some(Step::Store(cell, _) | Step::Add(cell)) = step else {
            unreachable!("bee {bee} writes nothing in {step:?}");
        };
        let line = &mut self.sites[cell.line].line;
        let value = match step {
            Some(Step::Store(_, value)) => value,
            _ => line.words[cell.word] + 1,
        };
        line.write(cell.word, value);
    }

    fn reply(&mut self, bee: usize) {
        let costs = self.setting.costs;
        self.bees[bee].want = None;
        match self.step(bee) {
            Some(Step::Await(_, goal)) if self.bees[bee].sample >= goal => self.advance(bee, 0),
            // The copy may still be there and have changed, or it may be gone.
            Some(Step::Await(..)) => self.cause(0, Event::Resume(bee)),
            _ => self.advance(bee, costs.write),
        }
    }

    fn finish(self) -> Result<Marks, String> {
        let stuck = (0..self.bees.len()).find_map(|bee| Some((bee, self.step(bee)?)));
        match stuck {
            Some((bee, step)) => Err(format!("the simulated protocol is stuck: bee {bee} is at {step:?} for ever")),
            None => Ok(self.bees.into_iter().map(|bee| bee.marks).collect()),
        }
    }
}

#[cfg(test)]
mod tests;
