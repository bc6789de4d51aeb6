//! What has been measured is kept for the process, and in a file for later ones: `shape-HASH` in the directory that `HIVE_CACHE` names, by default `hive`
//! in the user's directory for such. `HIVE_CACHE=off`: no files. A file that cannot be read or written is as good as none.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::time::Duration;

use super::Times;
use crate::crew::BarrierShape;
use crate::process::ProcessLock;

/// By machine and places.
static OF_PROCESS: ProcessLock<BTreeMap<u64, Times>> = ProcessLock::new(BTreeMap::new());

/// The place for the measurements on one machine with the same members' places.
pub(super) struct Remembered {
    key: u64,
    file: Option<PathBuf>,
}

impl Remembered {
    /// With files in `directory`, if there is one.
    pub(super) fn of(key: u64, directory: Option<PathBuf>) -> Self {
        Self { key, file: directory.map(|directory| directory.join(format!("shape-{key:016x}"))) }
    }

    /// The times of all of `shapes`, if they are known.
    pub(super) fn times(&self, shapes: &[BarrierShape]) -> Option<Times> {
        let known = OF_PROCESS.with(|known| known.get(&self.key).cloned());
        let times = match known {
            Some(times) => times,
            None => {
                let times = self.read()?;
                OF_PROCESS.with(|known| known.entry(self.key).or_insert(times).clone())
            }
        };
        let is_known = |shape: &BarrierShape| times.iter().any(|(known, _)| known == shape);
        shapes.iter().all(is_known).then_some(times)
    }

    fn read(&self) -> Option<Times> {
        parse(&fs::read_to_string(self.file.as_ref()?).ok()?)
    }

    pub(super) fn keep(&self, times: &Times) {
        OF_PROCESS.with(|known| known.insert(self.key, times.clone()));
        if let Some(file) = &self.file {
            // Without it the next process measures again.
            let _ = write(file, &format(times));
        }
    }
}

/// A shape and its nanoseconds a line.
fn format(times: &Times) -> String {
    times.iter().map(|(shape, time)| format!("{shape} {}\n", time.as_nanos())).collect()
}

fn parse(text: &str) -> Option<Times> {
    let line = |line: &str| {
        let (shape, nanoseconds) = line.split_once(' ')?;
        Some((shape.parse().ok()?, Duration::from_nanos(nanoseconds.parse().ok()?)))
    };
    text.lines().map(line).collect()
}

/// Whole or not at all, also where other processes write it at the same time.
fn write(file: &Path, text: &str) -> std::io::Result<()> {
    fs::create_dir_all(file.parent().unwrap_or(Path::new(".")))?;
    let unfinished = file.with_extension(process::id().to_string());
    fs::write(&unfinished, text)?;
    fs::rename(&unfinished, file)
}

/// Where files are to be.
pub(super) fn directory() -> Option<PathBuf> {
    match env::var_os("HIVE_CACHE") {
        Some(off) if off == "off" => None,
        Some(directory) => Some(directory.into()),
        None => {
            let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|cache| cache.is_absolute());
            Some(cache.or_else(|| Some(env::home_dir()?.join(".cache")))?.join("hive"))
        }
    }
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
    }

    #[test]
    fn a_later_process_finds_the_file() {
        let directory = env::temp_dir().join(format!("hive-shapes-{}", process::id()));
        let of = |key| Remembered { key, file: Some(directory.join("shape")) };
        assert_eq!(of(1).times(&[BarrierShape::Flat]), None);
        of(1).keep(&times());
        // Under another key this process does not know it, and reads it.
        assert_eq!(of(2).times(&[BarrierShape::Flat, BarrierShape::Cluster]), Some(times()));
        assert_eq!(of(2).times(&[BarrierShape::Node]), None, "not measured");
        fs::remove_dir_all(&directory).unwrap();
        assert_eq!(of(1).times(&[BarrierShape::Flat]), Some(times()));
    }
}
