//! What has been measured is kept for the process, and in a file for later ones: `shape-HASH` in a [`Cache`].

use std::collections::BTreeMap;
use std::time::Duration;

use super::Times;
use super::cache::{Cache, Unused};
use crate::crew::BarrierShape;
use crate::process::ProcessLock;

/// By machine and places.
static OF_PROCESS: ProcessLock<BTreeMap<u64, Times>> = ProcessLock::new(BTreeMap::new());

/// The place for the measurements on one machine with the same members' places.
pub(super) struct Remembered {
    key: u64,
    cache: Option<Cache>,
    /// Why the file was not used, the first time.
    pub(super) problem: Option<String>,
}

impl Remembered {
    /// With a file in `cache`, if there is one.
    pub(super) fn of(key: u64, cache: Option<Cache>) -> Self {
        Self { key, cache, problem: None }
    }

    /// The times of all of `shapes`, if they are known, and of no others.
    pub(super) fn times(&mut self, shapes: &[BarrierShape]) -> Option<Times> {
        let known = OF_PROCESS.with(|known| known.get(&self.key).cloned());
        let times = match known {
            Some(times) => times,
            None => {
                let times = self.read()?;
                OF_PROCESS.with(|known| known.entry(self.key).or_insert(times).clone())
            }
        };
        shapes.iter().map(|shape| times.iter().find(|(known, _)| known == shape).copied()).collect()
    }

    fn file(&self) -> String {
        format!("shape-{:016x}", self.key)
    }

    fn read(&mut self) -> Option<Times> {
        let read = self.cache.as_ref()?.read(&self.file());
        parse(&self.noting(read)??)
    }

    pub(super) fn keep(&mut self, times: &Times) {
        OF_PROCESS.with(|known| known.insert(self.key, times.clone()));
        if let Some(cache) = &self.cache {
            // Without it the next process measures again.
            let written = cache.write(&self.file(), &format(times));
            self.noting(written);
        }
    }

    fn noting<T>(&mut self, used: Result<T, Unused>) -> Option<T> {
        used.map_err(|Unused(problem)| self.problem = self.problem.take().or(problem)).ok()
    }
}

/// A shape and its nanoseconds a line.
fn format(times: &Times) -> String {
    times.iter().map(|(shape, time)| format!("{shape} {}\n", time.as_nanos())).collect()
}

/// Each shape once, or it is none of hive's files.
fn parse(text: &str) -> Option<Times> {
    let mut times = Times::new();
    for line in text.lines() {
        let (shape, nanoseconds) = line.split_once(' ')?;
        let shape: BarrierShape = shape.parse().ok()?;
        if shape == BarrierShape::Auto || times.iter().any(|(known, _)| *known == shape) {
            return None;
        }
        times.push((shape, Duration::from_nanos(nanoseconds.parse().ok()?)));
    }
    Some(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times() -> Times {
        vec![(BarrierShape::Flat, Duration::from_nanos(900)), (BarrierShape::Cluster, Duration::from_nanos(1_700))]
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(parse(&format(&times())), Some(times()));
        assert_eq!(parse("flat 900\nround 3\n"), None);
        assert_eq!(parse("flat"), None);
        assert_eq!(parse("flat 900\nflat 901\n"), None, "twice");
        assert_eq!(parse("auto 900\n"), None);
    }

    #[test]
    fn a_later_process_finds_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("shapes");
        let of = |key| Remembered::of(key, Some(Cache::at(&path)));
        assert_eq!(of(1).times(&[BarrierShape::Flat]), None);
        of(1).keep(&times());
        std::fs::rename(path.join(of(1).file()), path.join(of(2).file())).unwrap();
        // Under another key this process does not know it, and reads it.
        assert_eq!(of(2).times(&[BarrierShape::Flat, BarrierShape::Cluster]), Some(times()));
        assert_eq!(of(2).times(&[BarrierShape::Cluster]), Some(times()[1..].to_vec()), "what was asked for");
        assert_eq!(of(2).times(&[BarrierShape::Node]), None, "not measured");
        directory.close().unwrap();
        assert_eq!(of(1).times(&[BarrierShape::Flat]), Some(times()[..1].to_vec()));
    }
}
