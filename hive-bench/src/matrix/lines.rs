//! The lines of a text, one at a time with their numbers: only the present one is in memory.

use std::fmt;
use std::io::{BufRead, Read};

/// Bytes of the longest line that is taken for one. The format itself allows 1,024.
const LONGEST: usize = 1 << 16;

/// What is wrong with a text, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    line: u64,
    what: String,
}

impl Fault {
    pub(crate) fn at(line: u64, wrong: &Wrong) -> Self {
        Self { line, what: format!("found {}, expected {}", wrong.found, wrong.expected) }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

/// What is wrong with a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) found: String,
    pub(crate) expected: String,
}

impl Wrong {
    pub(crate) fn new(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { found: found.into(), expected: expected.into() }
    }
}

/// Bytes as they are shown in a message: shortened, and without control characters.
pub(crate) fn shown(bytes: &[u8]) -> String {
    const MOST: usize = 40;
    let text = String::from_utf8_lossy(bytes);
    let dots = if text.chars().count() > MOST { "..." } else { "" };
    let begin: String = text.chars().take(MOST).collect();
    format!("`{}{dots}`", begin.escape_debug())
}

pub(crate) struct Lines<R> {
    source: R,
    number: u64,
    text: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(crate) const fn new(source: R) -> Self {
        Self { source, number: 0, text: Vec::new() }
    }

    /// The number of the line that was read last; the first is 1.
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// What is wrong with the line that was read last.
    pub(crate) fn fault(&self, wrong: &Wrong) -> Fault {
        Fault::at(self.number, wrong)
    }

    /// The next line without its end, and without blanks on either side; `None` after the last.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, Fault> {
        self.text.clear();
        let mut within = (&mut self.source).take(LONGEST as u64 + 1);
        let read = within
            .read_until(b'\n', &mut self.text)
            .map_err(|error| Fault { line: self.number + 1, what: format!("cannot be read: {error}") })?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        if read > LONGEST {
            return Err(
                self.fault(&Wrong::new(format!("more than {LONGEST} bytes in a line"), "lines that somebody can read"))
            );
        }
        Ok(Some(self.text.trim_ascii()))
    }

    /// The next line that is neither blank nor a comment.
    pub(crate) fn next_of_content(&mut self) -> Result<Option<&[u8]>, Fault> {
        loop {
            match self.next()? {
                None => return Ok(None),
                Some(line) if line.is_empty() || line[0] == b'%' => {}
                // Borrowed once more, because the borrow from the loop would last into its next turn.
                Some(_) => return Ok(Some(self.text.trim_ascii())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_with_those_that_say_nothing() {
        let mut lines = Lines::new(&b"% comment\r\n\r\n  one \r\n\t\n%\ntwo"[..]);
        assert_eq!(lines.next_of_content(), Ok(Some(&b"one"[..])));
        assert_eq!(lines.number(), 3);
        assert_eq!(lines.next_of_content(), Ok(Some(&b"two"[..])));
        assert_eq!(lines.number(), 6);
        assert_eq!(lines.next_of_content(), Ok(None));
        assert_eq!(lines.number(), 6);
    }

    #[test]
    fn a_line_without_end_is_not_kept() {
        let endless = std::io::BufReader::new(std::io::repeat(b'x'));
        let mut lines = Lines::new(endless);
        let fault = lines.next().unwrap_err().to_string();
        assert!(fault.starts_with("line 1: ") && fault.contains("65536 bytes"), "{fault}");
        assert!(lines.text.capacity() < 4 * LONGEST);
        let fits = [&[b'x'; LONGEST - 1][..], b"\n2"].concat();
        assert_eq!(Lines::new(&fits[..]).next().map(|line| line.map(<[u8]>::len)), Ok(Some(LONGEST - 1)));
    }

    #[test]
    fn what_is_shown_is_short_and_harmless() {
        assert_eq!(shown(b"1.x"), "`1.x`");
        assert_eq!(shown(b"\x1b[31m\xff"), "`\\u{1b}[31m\u{fffd}`");
        assert!(shown(&[b'a'; 1000]).len() < 50);
    }
}
