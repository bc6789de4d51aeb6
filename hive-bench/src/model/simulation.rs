//! Bees that carry out their programs on simulated caches, event by event, in picoseconds. The same input always has
//! the same outcome: events at the same time happen in the order in which they were caused.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::costs::Costs;
use super::line::{Line, Want};
use super::program::{Cell, Step};

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
    Snoop { line: usize, member: usize },
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
struct Member {
    at: usize,
    marks: Vec<u64>,
    /// What the last addition made of its word.
    added: u64,
    /// The purpose of a request that is under way, and what it has found.
    want: Option<Want>,
    sample: u64,
}

struct Simulation<'a> {
    setting: &'a Setting<'a>,
    sites: Vec<Site>,
    members: Vec<Member>,
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
        members: vec![Member::default(); cores],
        events: BinaryHeap::new(),
        caused: 0,
        now: 0,
        at_meeting: Vec::new(),
    };
    (0..cores).for_each(|member| simulation.cause(0, Event::Resume(member)));
    while let Some(Reverse((time, _, event))) = simulation.events.pop() {
        assert!(time >= simulation.now, "time runs backwards, from {} to {time}", simulation.now);
        simulation.now = time;
        simulation.handle(event);
    }
    simulation.finish()
}

impl Simulation<'_> {
    fn cause(&mut self, delay: u64, event: Event) {
        self.events.push(Reverse((self.now + delay, self.caused, event)));
        self.caused += 1;
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Resume(member) => self.resume(member),
            Event::Serve(site) => {
                self.sites[site].is_busy = false;
                self.serve(site);
            }
            Event::Snoop { line, member } => self.snoop(line, member),
            Event::Reply(member) => self.reply(member),
        }
    }

    fn step(&self, member: usize) -> Option<Step> {
        self.setting.programs[member].get(self.members[member].at).copied()
    }

    /// The bee is done with its step after a while.
    fn advance(&mut self, member: usize, delay: u64) {
        self.members[member].at += 1;
        self.cause(delay, Event::Resume(member));
    }

    fn resume(&mut self, member: usize) {
        let costs = self.setting.costs;
        match self.step(member) {
            None => {}
            Some(Step::Work(time)) => self.advance(member, time),
            Some(Step::Mark) => {
                self.members[member].marks.push(self.now);
                self.advance(member, 0);
            }
            Some(Step::Meet) => self.meet(member),
            Some(Step::StoreIfLast { goal, .. }) if self.members[member].added != goal => self.advance(member, 0),
            Some(Step::Store(cell, _) | Step::StoreIfLast { cell, .. } | Step::Add(cell)) => {
                if self.sites[cell.line].line.is_exclusive(member) {
                    self.write(member);
                    self.advance(member, costs.write);
                } else {
                    self.request(member, cell.line, Want::Ownership);
                }
            }
            Some(Step::Await(cell, goal)) => self.look(member, cell, goal),
        }
    }

    fn meet(&mut self, member: usize) {
        self.at_meeting.push(member);
        if self.at_meeting.len() == self.members.len() {
            std::mem::take(&mut self.at_meeting).into_iter().for_each(|member| self.advance(member, 0));
        }
    }

    fn look(&mut self, member: usize, cell: Cell, goal: u64) {
        let site = &mut self.sites[cell.line];
        if !site.line.has_copy(member) {
            self.request(member, cell.line, Want::Copy);
        } else if site.line.words[cell.word] >= goal {
            self.advance(member, 0);
        } else {
            site.pollers.push(member);
        }
    }

    fn request(&mut self, member: usize, line: usize, want: Want) {
        self.members[member].want = Some(want);
        self.sites[line].queue.push_back((member, want));
        self.serve(line);
    }

    /// One request at a time: the next begins when the line is free.
    fn serve(&mut self, site: usize) {
        let Site { line, queue, is_busy, .. } = &mut self.sites[site];
        if *is_busy {
            return;
        }
        let Some((member, want)) = queue.pop_front() else {
            return;
        };
        *is_busy = true;
        let time = line.transfer(member, want, &self.setting.one_way[member]);
        let busy = if want == Want::Copy { self.setting.costs.share_of_read(time) } else { time };
        self.cause(time / 2, Event::Snoop { line: site, member });
        self.cause(time, Event::Reply(member));
        self.cause(busy, Event::Serve(site));
    }

    fn snoop(&mut self, site: usize, member: usize) {
        let Some(want) = self.members[member].want else {
            unreachable!("member {member} has no request on its way");
        };
        let losers = self.sites[site].line.grant(member, want);
        if want == Want::Ownership {
            self.write(member);
        } else if let Some(Step::Await(cell, _)) = self.step(member) {
            self.members[member].sample = self.sites[site].line.words[cell.word];
        }
        let pollers = std::mem::take(&mut self.sites[site].pollers);
        let (woken, left): (Vec<usize>, _) =
            pollers.into_iter().partition(|poller| losers.binary_search(poller).is_ok());
        self.sites[site].pollers = left;
        woken.into_iter().for_each(|poller| self.cause(self.setting.costs.poll, Event::Resume(poller)));
    }

    /// The store or the addition that the bee is at takes effect.
    fn write(&mut self, member: usize) {
        let step = self.step(member);
        let Some(Step::Store(cell, _) | Step::StoreIfLast { cell, .. } | Step::Add(cell)) = step else {
            unreachable!("member {member} writes nothing in {step:?}");
        };
        let line = &mut self.sites[cell.line].line;
        let value = match step {
            Some(Step::Store(_, value) | Step::StoreIfLast { value, .. }) => value,
            _ => line.words[cell.word] + 1,
        };
        line.write(cell.word, value);
        if let Some(Step::Add(_)) = step {
            self.members[member].added = value;
        }
    }

    fn reply(&mut self, member: usize) {
        let costs = self.setting.costs;
        self.members[member].want = None;
        match self.step(member) {
            Some(Step::Await(_, goal)) if self.members[member].sample >= goal => self.advance(member, 0),
            // The copy may still be there and have changed, or it may be gone.
            Some(Step::Await(..)) => self.cause(0, Event::Resume(member)),
            _ => self.advance(member, costs.write),
        }
    }

    fn finish(self) -> Result<Marks, String> {
        let stuck = (0..self.members.len()).find_map(|member| Some((member, self.step(member)?)));
        match stuck {
            Some((member, step)) => {
                Err(format!("the simulated protocol is stuck: member {member} is at {step:?} for ever"))
            }
            None => Ok(self.members.into_iter().map(|member| member.marks).collect()),
        }
    }
}

#[cfg(test)]
mod tests;
