//! Reads the text of a [`PlaceList`], for its `FromStr`: a recursive descent with one function for each rule of the
//! grammar, which is written down in `docs/places.md`. White space may be between any two symbols. Every error says at
//! which character it was found.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::ops::RangeInclusive;

use crate::sys::cpu_mask::{MAX_CPU, MAX_LIST_LEN};
use crate::sys::parse_error::{ParseError, ParseErrorKind, find_word};
use crate::topology::machine::PlaceUnit;
use crate::topology::place_list::PlaceList;

/// The numbers that a CPU may have, and how often something may be repeated.
const CPUS: RangeInclusive<usize> = 0..=MAX_CPU;
const COUNTS: RangeInclusive<usize> = 1..=MAX_LIST_LEN;

/// Reads a whole text as a list of places.
pub(crate) fn parse(text: &str) -> Result<PlaceList, ParseError> {
    let mut parser = Parser { text, offset: 0 };
    let list = match parser.peek() {
        // Words begin with a letter; lists of places with a brace, a digit or an exclamation mark.
        Some(first) if first.is_ascii_alphabetic() => parser.parse_named()?,
        _ => PlaceList::Listed(parser.parse_places()?),
    };
    match parser.peek() {
        None => Ok(list),
        Some(_) => Err(parser.expected_error("the end of the list or a \",\"")),
    }
}

/// A text and how much of it has been read.
struct Parser<'t> {
    text: &'t str,
    /// The number of bytes that have been read.
    offset: usize,
}

impl<'t> Parser<'t> {
    /// Reads a word with or without a number, such as `cores` or `cores(4)`.
    fn parse_named(&mut self) -> Result<PlaceList, ParseError> {
        let rest = self.remaining();
        let keyword = &rest[..rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len())];
        let each = find_word(&PlaceUnit::WORDS, keyword).ok_or_else(|| {
            self.expected_error("threads, cores, ll_caches, numa_domains, sockets or a place such as {0:4}")
        })?;
        self.offset += keyword.len();
        if !self.eat('(') {
            return Ok(PlaceList::Named { each, count: None });
        }
        let count = NonZero::new(self.parse_number("a number of places", COUNTS)?);
        if self.eat(')') { Ok(PlaceList::Named { each, count }) } else { Err(self.expected_error("a \")\"")) }
    }

    /// Reads a list of places, such as `{0:4}:8:4, {40}, !{8:4}`.
    fn parse_places(&mut self) -> Result<Vec<Vec<usize>>, ParseError> {
        let (places, last) = self.parse_entries("place", "the places come", Self::parse_place)?;
        if places.is_empty() { Err(self.error_at(last, "no place is left")) } else { Ok(places) }
    }

    /// Reads one place, such as `{0:4, 9, !2}` or a CPU without braces such as `3`. Returns its CPUs in ascending
    /// order, each once.
    fn parse_place(&mut self) -> Result<Vec<usize>, ParseError> {
        if !self.eat('{') {
            return Ok(vec![self.parse_number("\"{\" or the number of a CPU", CPUS)?]);
        }
        let parse_cpu = |parser: &mut Self| Ok(vec![parser.parse_number("the number of a CPU", CPUS)?]);
        let (entries, _) = self.parse_entries("CPU", "the place comes", parse_cpu)?;
        if !self.eat('}') {
            return Err(self.expected_error("\",\", \":\" or \"}\""));
        }
        let cpus: BTreeSet<_> = entries.into_iter().flatten().collect();
        if cpus.is_empty() {
            return Err(self.error_at(self.offset, "the place has no CPU left"));
        }
        Ok(cpus.into_iter().collect())
    }

    /// Reads entries with commas between them, each by `parse`: with or without an interval, or after an exclamation
    /// mark, which takes all that is equal out of what has been listed before it. Returns the CPUs of each, and where
    /// the last one begins. `what` is an entry, and `all_come` what all of them come to, for errors.
    fn parse_entries(
        &mut self,
        what: &str,
        all_come: &str,
        parse: impl Fn(&mut Self) -> Result<Vec<usize>, ParseError>,
    ) -> Result<(Vec<Vec<usize>>, usize), ParseError> {
        let (mut entries, mut cpus) = (Vec::new(), 0);
        loop {
            self.peek();
            let at = self.offset;
            if self.eat('!') {
                let (excluded, listed) = (parse(self)?, entries.len());
                entries.retain(|entry| *entry != excluded);
                if entries.len() == listed {
                    return Err(self.error_at(at, format!("there is no such {what} before it to be left out")));
                }
                cpus -= (listed - entries.len()) * excluded.len();
            } else {
                let entry = parse(self)?;
                self.peek();
                let interval_at = self.offset;
                let (len, stride) = self.parse_interval(&format!("a number of {what}s"))?;
                // The limit is checked before the repetitions are written out, which could fill the memory.
                cpus += len.saturating_mul(entry.len());
                if cpus > MAX_LIST_LEN {
                    return Err(self.error_at(at, format!("{all_come} to more than {MAX_LIST_LEN} CPUs")));
                }
                for nth in 0..len as isize {
                    let shifted =
                        shifted(&entry, nth * stride).map_err(|problem| self.error_at(interval_at, problem))?;
                    entries.push(shifted);
                }
            }
            if !self.eat(',') {
                return Ok((entries, at));
            }
        }
    }

    /// Reads the interval after a CPU or a place, such as `:8:4` or `:8`. Returns how often that is repeated, 1 without
    /// an interval, and how much higher the CPUs of each repetition are than those of the one before. `what` names the
    /// thing to be repeated, for errors.
    fn parse_interval(&mut self, what: &str) -> Result<(usize, isize), ParseError> {
        if !self.eat(':') {
            return Ok((1, 1));
        }
        let len = self.parse_number(what, COUNTS)?;
        if !self.eat(':') {
            return Ok((len, 1));
        }
        let is_backwards = self.eat('-');
        if !is_backwards {
            self.eat('+');
        }
        let stride = self.parse_number("a stride", 0..=MAX_LIST_LEN)? as isize;
        Ok((len, if is_backwards { -stride } else { stride }))
    }

    /// Reads a number in `range`. `what` says what it is of, for errors.
    fn parse_number(&mut self, what: &str, range: RangeInclusive<usize>) -> Result<usize, ParseError> {
        self.peek();
        let rest = self.remaining();
        let digits = &rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())];
        if digits.is_empty() {
            return Err(self.expected_error(what));
        }
        // The text has digits only, so parsing can fail only because the number is too large.
        match digits.parse() {
            Ok(number) if range.contains(&number) => {
                self.offset += digits.len();
                Ok(number)
            }
            Ok(0) => Err(self.error_at(self.offset, format!("expected {what}, at least 1; found 0"))),
            _ => Err(self.error_at(self.offset, format!("{digits} is above the highest CPU number, {MAX_CPU}"))),
        }
    }

    /// Skips white space and returns the next symbol without reading it; `None` at the end of the text.
    fn peek(&mut self) -> Option<char> {
        let rest = self.remaining();
        self.offset += rest.len() - rest.trim_start().len();
        self.remaining().chars().next()
    }

    /// Reads the next symbol if it is `symbol`. Returns whether it was.
    fn eat(&mut self, symbol: char) -> bool {
        let is_next = self.peek() == Some(symbol);
        self.offset += if is_next { symbol.len_utf8() } else { 0 };
        is_next
    }

    /// The text that has not been read.
    fn remaining(&self) -> &'t str {
        &self.text[self.offset..]
    }

    /// An error at the next symbol, which is not `what` was expected.
    fn expected_error(&mut self, what: &str) -> ParseError {
        let found = self.peek().map_or_else(|| "the end".to_owned(), |found| format!("{found:?}"));
        self.error_at(self.offset, format!("expected {what}; found {found}"))
    }

    /// An error at the character after `offset` bytes.
    fn error_at(&self, offset: usize, problem: impl Into<String>) -> ParseError {
        let character = self.text[..offset].chars().count() + 1;
        let message = format!("{:?} is not a list of places: at character {character}, {}", self.text, problem.into());
        ParseError::new(ParseErrorKind::PlaceList, message)
    }
}

/// The CPUs, each raised by `shift`.
fn shifted(cpus: &[usize], shift: isize) -> Result<Vec<usize>, String> {
    let shifted = |&cpu: &usize| cpu.checked_add_signed(shift).filter(|&cpu| cpu <= MAX_CPU);
    let out_of_range = || format!("the interval leaves the numbers that a CPU can have, 0 to {MAX_CPU}");
    cpus.iter().map(shifted).collect::<Option<_>>().ok_or_else(out_of_range)
}
