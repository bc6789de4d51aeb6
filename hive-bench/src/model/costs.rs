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

impl Costs {
    /// `name=value,...`, nanoseconds but for `serial`. What is not named is as measured on an AMD EPYC
    /// (docs/scaling.md).
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let [call, part, write, poll, serial] = numbers("cost", ["call", "part", "write", "poll", "serial"], text)?;
        let serial = serial.unwrap_or(1.0);
        if serial > 1.0 {
            return Err(format!("serial={serial}: a share is from 0 to 1"));
        }
        Ok(Self {
            call: picoseconds(call.unwrap_or(4.0)),
            part: picoseconds(part.unwrap_or(9.0)),
            write: picoseconds(write.unwrap_or(2.0)),
            poll: picoseconds(poll.unwrap_or(7.0)),
            serial,
        })
    }

    /// How long a copy's transfer keeps its line busy.
    pub(super) fn share_of_read(&self, transfer: u64) -> u64 {
        (transfer as f64 * self.serial).round() as u64
    }
}

/// `name=number,...`: the numbers of those names that have one, none of them below zero. Each name is one of a `what`.
pub(super) fn numbers<const N: usize>(what: &str, names: [&str; N], text: &str) -> Result<[Option<f64>; N], String> {
    let mut numbers = [None; N];
    for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        let (name, value) = item.split_once('=').ok_or_else(|| format!("{item:?} should be name=number"))?;
        let place = names.iter().position(|known| *known == name);
        let place = place.ok_or_else(|| format!("{name:?} is no {what}: there are {}", names.join(", ")))?;
        let number = value.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
        numbers[place] = Some(number.ok_or_else(|| format!("{item:?}: {value:?} is no number of zero or more"))?);
    }
    Ok(numbers)
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
        assert_eq!(costs, Costs { call: 3500, serial: 0.25, ..Costs::parse("").unwrap() });
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
