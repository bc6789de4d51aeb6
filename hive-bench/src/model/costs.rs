//! The cost of steps that are not transfers of a cache line.

/// Picoseconds, but for the share.
#[derive(Clone, Copy, Debug, PartialEq)]
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
}

impl Default for Costs {
    /// As measured on an AMD EPYC (docs/scaling.md).
    fn default() -> Self {
        Self { call: 4_000, part: 9_000, write: 2_000, poll: 7_000, serial: 1.0 }
    }
}

impl Costs {
    /// `name=value,...`, nanoseconds but for `serial`. What is not named is as by default.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut costs = Self::default();
        for item in text.split(',').filter(|item| !item.trim().is_empty()) {
            let (name, value) = named_number(item)?;
            match name {
                "call" => costs.call = picoseconds(value),
                "part" => costs.part = picoseconds(value),
                "write" => costs.write = picoseconds(value),
                "poll" => costs.poll = picoseconds(value),
                "serial" if value <= 1.0 => costs.serial = value,
                "serial" => return Err(format!("serial={value}: a share is from 0 to 1")),
                _ => return Err(format!("{name:?} is no cost: there are call, part, write, poll, serial")),
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
