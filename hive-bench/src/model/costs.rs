//! The cost of steps that are not transfers of a cache line.

use serde::Serialize;

use crate::measure::reference::steps::Steps;

/// Picoseconds, but for the share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Costs {
    /// The queen's steps from the arrival that she has read to the start of the next region.
    pub(super) call: u64,
    /// A worker's steps from the start that it has read to its arrival, if there is nothing to do: it finds its part,
    /// runs it, and adds one.
    pub(super) part: u64,
    /// A store or an addition in a line that the core has to itself.
    pub(super) write: u64,
    /// From the loss of a polled copy to the next poll.
    pub(super) poll: u64,
    /// The share of a copy's transfer in which the line can serve no other core.
    pub(super) serial: f64,
    /// A semaphore's post that wakes a thread, for the thread that posts.
    pub(super) post: u64,
    /// From the end of that post until the woken thread runs.
    pub(super) wake: u64,
}

impl Default for Costs {
    /// `call` and `part` as `hive-bench latency` measures them on an AMD EPYC (docs/scaling.md); `write` and `poll`
    /// were measured there, too. The costs of a post and a wake are only of the right order.
    fn default() -> Self {
        Self { call: 4_000, part: 9_000, write: 2_000, poll: 7_000, serial: 1.0, post: 1_500_000, wake: 5_000_000 }
    }
}

impl Costs {
    /// With what was measured on a machine.
    pub(super) fn measured(self, steps: Steps) -> Self {
        Self { call: picoseconds(steps.call), part: picoseconds(steps.part), ..self }
    }

    /// Nanoseconds, but for `serial`.
    fn set(&mut self, name: &str, value: f64) -> Result<(), String> {
        match name {
            "call" => self.call = picoseconds(value),
            "part" => self.part = picoseconds(value),
            "write" => self.write = picoseconds(value),
            "poll" => self.poll = picoseconds(value),
            "post" => self.post = picoseconds(value),
            "wake" => self.wake = picoseconds(value),
            "serial" if value <= 1.0 => self.serial = value,
            "serial" => return Err(format!("serial={value}: a share is from 0 to 1")),
            _ => return Err(format!("{name:?} is no cost: there are call, part, write, poll, serial, post, wake")),
        }
        Ok(())
    }

    /// How long a copy's transfer keeps its line busy.
    pub(super) fn share_of_read(&self, transfer: u64) -> u64 {
        (transfer as f64 * self.serial).round() as u64
    }
}

/// What `--costs` says. What it does not name stays as it is.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes(Vec<(String, f64)>);

impl Changes {
    /// `name=value,...`
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let items = text.split(',').filter(|item| !item.trim().is_empty());
        let known = items.map(|item| {
            let (name, value) = named_number(item)?;
            Costs::default().set(name, value).map(|()| (name.to_owned(), value))
        });
        known.collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn over(&self, mut costs: Costs) -> Costs {
        for (name, value) in &self.0 {
            costs.set(name, *value).unwrap_or_else(|error| unreachable!("tried before: {error}"));
        }
        costs
    }
}

/// `name=number`, the number not below zero.
pub(super) fn named_number(item: &str) -> Result<(&str, f64), String> {
    let (name, value) = item.trim().split_once('=').ok_or_else(|| format!("{item:?} should be name=number"))?;
    let number = value.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.map(|number| (name, number)).ok_or_else(|| format!("{item:?}: {value:?} is no number of zero or more"))
}

/// From nanoseconds.
pub(super) fn picoseconds(nanoseconds: f64) -> u64 {
    (nanoseconds * 1000.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_named_stays() {
        let measured = Costs::default().measured(Steps { call: 9.0, part: 5.0 });
        let costs = Changes::parse("call=3.5,serial=0.25").unwrap().over(measured);
        assert_eq!(costs, Costs { call: 3500, part: 5000, serial: 0.25, ..Costs::default() });
        assert_eq!(costs.share_of_read(100), 25);
    }

    #[test]
    fn mistakes_are_named() {
        for (text, mention) in
            [("cal=3", "call"), ("call", "name=number"), ("call=-1", "-1"), ("serial=2", "0 to 1"), ("poll=x", "x")]
        {
            let error = Changes::parse(text).unwrap_err();
            assert!(error.contains(mention), "{text}: {error}");
        }
    }
}
