//! Reads a list of places, entry by entry. White space may be between any two symbols.

use std::num::NonZero;

use super::super::mask::{HIGHEST_CPU, LONGEST_LIST};
use super::{ParsePlacesError, PlaceList, PlaceUnit};

pub(super) fn read(text: &str) -> Result<PlaceList, ParsePlacesError> {
    let mut reader = Reader { text, at: 0 };
    let list = match reader.peek() {
        Some(first) if first.is_ascii_alphabetic() => reader.named()?,
        _ => PlaceList::Listed(reader.places()?),
    };
    match reader.peek() {
        None => Ok(list),
        Some(_) => Err(reader.expected("the end of the list or a \",\"")),
    }
}

struct Reader<'t> {
    text: &'t str,
    /// The bytes read so far.
    at: usize,
}

/// How often something is repeated, and how far apart; where that was written.
struct Interval {
    len: usize,
    stride: isize,
    at: usize,
}

impl<'t> Reader<'t> {
    /// `cores`, `cores(4)`
    fn named(&mut self) -> Result<PlaceList, ParsePlacesError> {
        let rest = self.rest();
        let word = &rest[..rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len())];
        let each = PlaceUnit::ALL.into_iter().find(|unit| unit.word().eq_ignore_ascii_case(word));
        let each =
            each.ok_or_else(|| self.expected("threads, cores, ll_caches, numa_domains, sockets or a place such as {0:4}"))?;
        self.at += word.len();
        if !self.take('(') {
            return Ok(PlaceList::Named { each, count: None });
        }
        let count = NonZero::new(self.positive("a number of places")?);
        if self.take(')') { Ok(PlaceList::Named { each, count }) } else { Err(self.expected("a \")\"")) }
    }

    /// `{0:4}:8:4, {40}, !{8:4}`
    fn places(&mut self) -> Result<Vec<Vec<usize>>, ParsePlacesError> {
        let mut places = Vec::new();
        let mut entries = 0;
        loop {
            self.peek();
            let at = self.at;
            if self.take('!') {
                let excluded = self.place()?;
                let before = places.len();
                places.retain(|place| *place != excluded);
                if places.len() == before {
                    return Err(self.wrong(at, "there is no such place before it to be left out"));
                }
            } else {
                let place = self.place()?;
                let interval = self.interval("a number of places")?;
                entries += interval.len.saturating_mul(place.len());
                if entries > LONGEST_LIST {
                    return Err(self.wrong(at, format!("the places come to more than {LONGEST_LIST} CPUs")));
                }
                for nth in 0..interval.len {
                    places.push(self.shifted(&place, nth, &interval)?);
                }
            }
            if !self.take(',') {
                return if places.is_empty() { Err(self.wrong(at, "no place is left")) } else { Ok(places) };
            }
        }
    }

    /// `{0:4, 9, !2}`, or a lone CPU such as `3`; its CPUs in ascending order.
    fn place(&mut self) -> Result<Vec<usize>, ParsePlacesError> {
        if !self.take('{') {
            return Ok(vec![self.cpu("\"{\" or the number of a CPU")?]);
        }
        let mut cpus = Vec::new();
        loop {
            self.peek();
            let at = self.at;
            if self.take('!') {
                let excluded = self.cpu("the number of a CPU")?;
                let before = cpus.len();
                cpus.retain(|&cpu| cpu != excluded);
                if cpus.len() == before {
                    return Err(self.wrong(at, "there is no such CPU before it to be left out"));
                }
            } else {
                let first = self.cpu("the number of a CPU")?;
                let interval = self.interval("a number of CPUs")?;
                for nth in 0..interval.len {
                    cpus.extend(self.shifted(&[first], nth, &interval)?);
                }
            }
            if cpus.len() > LONGEST_LIST {
                return Err(self.wrong(at, format!("the place comes to more than {LONGEST_LIST} CPUs")));
            }
            if self.take('}') {
                break;
            }
            if !self.take(',') {
                return Err(self.expected("\",\", \":\" or \"}\""));
            }
        }
        cpus.sort_unstable();
        cpus.dedup();
        if cpus.is_empty() { Err(self.wrong(self.at, "the place has no CPU left")) } else { Ok(cpus) }
    }

    /// `:8:4`, `:8`, or nothing.
    fn interval(&mut self, what: &str) -> Result<Interval, ParsePlacesError> {
        self.peek();
        let mut interval = Interval { len: 1, stride: 1, at: self.at };
        if self.take(':') {
            interval.len = self.positive(what)?;
            if self.take(':') {
                let backwards = self.take('-');
                if !backwards {
                    self.take('+');
                }
                let stride = self.number("a stride")? as isize;
                interval.stride = if backwards { -stride } else { stride };
            }
        }
        Ok(interval)
    }

    /// The CPUs of an interval's `nth` entry.
    fn shifted(&self, cpus: &[usize], nth: usize, interval: &Interval) -> Result<Vec<usize>, ParsePlacesError> {
        let shift = nth as isize * interval.stride;
        let shifted = cpus.iter().map(|&cpu| cpu.checked_add_signed(shift).filter(|&cpu| cpu <= HIGHEST_CPU)).collect();
        let out_of_range = || format!("the interval leaves the numbers that a CPU can have, 0 to {HIGHEST_CPU}");
        Option::ok_or_else(shifted, || self.wrong(interval.at, out_of_range()))
    }

    fn cpu(&mut self, what: &str) -> Result<usize, ParsePlacesError> {
        self.peek();
        let at = self.at;
        match self.number(what)? {
            cpu if cpu <= HIGHEST_CPU => Ok(cpu),
            above => Err(self.wrong(at, format!("{above} is above the highest CPU number, {HIGHEST_CPU}"))),
        }
    }

    fn positive(&mut self, what: &str) -> Result<usize, ParsePlacesError> {
        self.peek();
        let at = self.at;
        match self.number(what)? {
            0 => Err(self.wrong(at, format!("expected {what}, at least 1; found 0"))),
            number => Ok(number),
        }
    }

    /// A number without a sign; none of the numbers of a list is above the highest CPU's and one.
    fn number(&mut self, what: &str) -> Result<usize, ParsePlacesError> {
        self.peek();
        let rest = self.rest();
        let digits = &rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())];
        if digits.is_empty() {
            return Err(self.expected(what));
        }
        // All digits: a failure to parse can only mean that the number is too large.
        match digits.parse() {
            Ok(number) if number <= LONGEST_LIST => {
                self.at += digits.len();
                Ok(number)
            }
            _ => Err(self.wrong(self.at, format!("{digits} is above the highest CPU number, {HIGHEST_CPU}"))),
        }
    }

    /// The next symbol, past white space.
    fn peek(&mut self) -> Option<char> {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
        self.rest().chars().next()
    }

    /// Reads a symbol if it is the next one.
    fn take(&mut self, symbol: char) -> bool {
        let is_next = self.peek() == Some(symbol);
        self.at += if is_next { symbol.len_utf8() } else { 0 };
        is_next
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn expected(&mut self, what: &str) -> ParsePlacesError {
        let found = self.peek().map_or_else(|| "the end".to_owned(), |found| format!("{found:?}"));
        self.wrong(self.at, format!("expected {what}; found {found}"))
    }

    fn wrong(&self, at: usize, problem: impl Into<String>) -> ParsePlacesError {
        let character = self.text[..at].chars().count() + 1;
        ParsePlacesError { text: self.text.to_owned(), character, problem: problem.into() }
    }
}
