//! What steps cost that are not transfers of a line.

use serde::Serialize;

/// Picoseconds, but for the share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Costs {
    /// The queen, from the end of a region to the store that starts the next.
    pub(super) call: u64,
    /// A member, from the start it has seen to its arrival: it finds its part, and runs it.
    pub(super) part: u64,
    /// A store or an addition in a line that the core has to itself.
    pub(super) write: u64,
    /// From the loss of a polled copy to the next poll.
    pub(super) poll: u64,
    /// The share of a copy's transfer in which the line can serve nobody else.
    pub(super) serial: f64,
    /// A semaphore's post that wakes somebody, for who posts.
    pub(super) post: u64,
    /// From the end of that post until who was woken runs.
    pub(super) wake: u64,
}

impl Default for Costs {
    /// Fitted to two members on an AMD EPYC (docs/start.md), where a round trip took 51 ns, a region 56 and a barrier 26: the model says 51 and 25.5. What post and wake
    /// take is of the right order, no more.
    fn default() -> Self {
        Self { call: 8_000, part: 2_000, write: 2_000, poll: 7_000, serial: 1.0, post: 1_500_000, wake: 5_000_000 }
    }
}

impl Costs {
    /// `name=value,...` over what holds by default. Nanoseconds, but for `serial`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut costs = Self::default();
        for item in text.split(',').filter(|item| !item.trim().is_empty()) {
            let (name, value) = named_number(item)?;
            match name {
                "call" => costs.call = picoseconds(value),
                "part" => costs.part = picoseconds(value),
                "write" => costs.write = picoseconds(value),
                "poll" => costs.poll = picoseconds(value),
                "post" => costs.post = picoseconds(value),
                "wake" => costs.wake = picoseconds(value),
                "serial" if value <= 1.0 => costs.serial = value,
                "serial" => return Err(format!("{item}: a share is from 0 to 1")),
                _ => return Err(format!("{name:?} is no cost: there are call, part, write, poll, serial, post, wake")),
            }
        }
        Ok(costs)
    }

    /// How long a copy's transfer keeps its line busy.
    pub(super) fn share_of_read(&self, transfer: u64) -> u64 {
        (transfer as f64 * self.serial).round() as u64
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
        let costs = Costs::parse("call=3.5,serial=0.25").unwrap();
        assert_eq!(costs, Costs { call: 3500, serial: 0.25, ..Costs::default() });
        assert_eq!(costs.share_of_read(100), 25);
    }

    #[test]
    fn mistakes_are_named() {
        for (text, mention) in
            [("cal=3", "call"), ("call", "name=number"), ("call=-1", "-1"), ("serial=2", "0 to 1"), ("poll=x", "x")]
        {
            let error = Costs::parse(text).unwrap_err();
            assert!(error.contains(mention), "{text}: {error}");
        }
    }
}
