//! The log of one bee: what it has done, and when. Only the bee itself adds to it; any thread may read it at the same
//! time.
//!
//! Each bee's slot has a [`Log`], which is opened if the hive is traced. The protocols write to it; `chrome_json.rs`
//! reads it when the file is written.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use crate::observe::trace::event::Event;

/// The entries that are allocated together: 64 KiB.
const ENTRIES_PER_PAGE: usize = 4_096;

/// The most entries that the log of one bee can have. An entry takes 16 bytes in memory and some 70 in the file. Later
/// entries are counted but not kept: so the record of the program's beginning is complete, and nothing that has been
/// written changes while it is read.
pub(crate) const MAX_ENTRIES: usize = 1 << 20;

/// A bee's log. It is closed until `open` is called; a closed log takes no entries.
#[derive(Default)]
pub(crate) struct Log {
    /// The memory of the entries, page by page. The outer cell is filled when the log is opened, each inner cell when
    /// the first entry of its page is written. Pages never move, so readers need no lock.
    pages: OnceLock<Box<[OnceLock<Page>]>>,
    /// The number of entries in the pages. The bee raises it after it has written an entry; readers read only the
    /// entries below it.
    len: AtomicUsize,
    /// The number of entries for which there was no room.
    dropped: AtomicUsize,
    /// The moment at which another thread has parked this bee in its sleep, in nanoseconds as in the entries. 0: never.
    marked_time: AtomicU64,
}

/// The entries of one page; a page is always allocated whole.
type Page = Box<[Entry]>;

/// One event and its moment. An entry is written once, before `len` counts it.
#[derive(Default)]
struct Entry {
    /// Nanoseconds, as `nanos_since_start` counts them.
    time: AtomicU64,
    /// The event, packed by `Event::to_bits`.
    event: AtomicU64,
}

impl Log {
    /// Opens the log for up to `max_entries` entries, rounded up to whole pages.
    pub(crate) fn open(&self, max_entries: usize) {
        self.pages.get_or_init(|| (0..max_entries.div_ceil(ENTRIES_PER_PAGE)).map(|_| OnceLock::new()).collect());
    }

    /// Adds an entry with the present time, if the log is open. Only the bee whose log it is may call this: of two
    /// threads that add at the same time, one would lose its entry.
    #[inline]
    pub(crate) fn write(&self, event: Event) {
        if let Some(pages) = self.pages.get() {
            self.append(pages, nanos_since_start(), event);
        }
    }

    /// As `write`, but with the moment that another thread has marked since the last entry, if there is one.
    pub(crate) fn write_at_mark(&self, event: Event) {
        let Some(pages) = self.pages.get() else { return };
        let last = self.entries().next_back().map_or(0, |(time, _)| time);
        self.append(pages, self.marked_time_since(last).unwrap_or_else(nanos_since_start), event);
    }

    /// Marks this moment. The thread that parks a sleeping bee calls this; the bee logs what happened at that moment
    /// when it wakes up.
    pub(crate) fn mark_time(&self) {
        if self.pages.get().is_some() {
            // Relaxed: the time is only shown to people. The bee, if it wakes up so soon that it does not see the mark,
            // logs the time of its waking instead.
            self.marked_time.store(nanos_since_start(), Ordering::Relaxed);
        }
    }

    /// The moment that was marked last, if it is not before `time`.
    pub(crate) fn marked_time_since(&self, time: u64) -> Option<u64> {
        // Relaxed: see `mark_time`.
        Some(self.marked_time.load(Ordering::Relaxed)).filter(|mark| *mark >= time)
    }

    /// Writes an entry into the next free place, or counts it as dropped.
    fn append(&self, pages: &[OnceLock<Page>], time: u64, event: Event) {
        // Relaxed: only the owner writes the length. Slot 0 has one thread as its owner after the other, and each
        // passes on what it wrote when it releases the queen lock.
        let number = self.len.load(Ordering::Relaxed);
        let Some(page) = pages.get(number / ENTRIES_PER_PAGE) else {
            // Relaxed, both: only the owner writes the count, and it is only shown to people.
            return self.dropped.store(self.dropped.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        };
        let page = page.get_or_init(|| (0..ENTRIES_PER_PAGE).map(|_| Entry::default()).collect());
        let entry = &page[number % ENTRIES_PER_PAGE];
        // Relaxed, both: the store to `len` below publishes the entry.
        entry.time.store(time, Ordering::Relaxed);
        entry.event.store(event.to_bits(), Ordering::Relaxed);
        // Release: pairs with the Acquire in `len()`; publishes the entry.
        self.len.store(number + 1, Ordering::Release);
    }

    /// The number of entries so far. A thread that has called this may read all of them.
    pub(crate) fn len(&self) -> usize {
        // Acquire: pairs with the Release in `append`, so that the entries below the length are seen whole.
        self.len.load(Ordering::Acquire)
    }

    /// The number of entries for which there was no room.
    pub(crate) fn dropped(&self) -> usize {
        // Relaxed: the number is only shown to people.
        self.dropped.load(Ordering::Relaxed)
    }

    /// The entries so far, each with its time, oldest first.
    pub(crate) fn entries(&self) -> impl DoubleEndedIterator<Item = (u64, Event)> {
        let pages = self.pages.get().map_or(&[][..], |pages| &**pages);
        // The pages of all entries that the length counts are there.
        (0..self.len()).filter_map(|number| {
            let entry = &pages[number / ENTRIES_PER_PAGE].get()?[number % ENTRIES_PER_PAGE];
            // Relaxed, both: the Acquire in `len()` has made the entry visible, and it is never written again.
            Some((entry.time.load(Ordering::Relaxed), Event::from_bits(entry.event.load(Ordering::Relaxed))))
        })
    }
}

/// Nanoseconds since this was first called in the process, by the operating system's monotonic clock. That clock is the
/// same on all CPUs and never goes back. (The processor's own counter would take half the time to read, but would have
/// to be checked against this clock on each machine.)
pub(crate) fn nanos_since_start() -> u64 {
    // For hives, `claim_file_name` (in `file_names.rs`) has filled this under the lock that forks wait for, so no
    // forked child finds it half filled.
    static FIRST_USE: OnceLock<Instant> = OnceLock::new();
    FIRST_USE.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::trace::event::EventKind;

    #[test]
    fn what_is_written_is_read_in_order_and_time_does_not_go_back() {
        let log = Log::default();
        log.write(Event::begin(EventKind::Task));
        assert_eq!(log.len(), 0, "it is closed");
        log.open(MAX_ENTRIES);
        let written = |number: usize| {
            if number.is_multiple_of(2) { Event::begin(EventKind::Task) } else { Event::end(EventKind::Task) }
        };
        (0..2 * ENTRIES_PER_PAGE + 10).for_each(|number| log.write(written(number)));
        assert!(log.entries().map(|(_, event)| event).eq((0..2 * ENTRIES_PER_PAGE + 10).map(written)));
        assert!(log.entries().is_sorted_by_key(|(time, _)| time));
        assert_eq!(log.dropped(), 0);
    }

    #[test]
    fn a_full_log_counts_the_entries_it_drops() {
        let log = Log::default();
        log.open(ENTRIES_PER_PAGE);
        (0..ENTRIES_PER_PAGE + 3).for_each(|_| log.write(Event::begin(EventKind::Search)));
        assert_eq!((log.len(), log.dropped()), (ENTRIES_PER_PAGE, 3));
    }

    #[test]
    fn a_time_marked_by_another_bee_counts_once_and_not_before_the_last_entry() {
        let log = Log::default();
        log.open(MAX_ENTRIES);
        log.mark_time();
        std::thread::sleep(std::time::Duration::from_millis(1));
        log.write(Event::begin(EventKind::Sleep));
        let slept = log.entries().last().unwrap().0;
        assert_eq!(log.marked_time_since(slept), None, "that was before");
        std::thread::sleep(std::time::Duration::from_millis(1));
        log.mark_time();
        let marked = log.marked_time_since(slept).unwrap();
        log.write_at_mark(Event::begin(EventKind::Park));
        log.write_at_mark(Event::resume(true));
        let times: Vec<_> = log.entries().map(|(time, _)| time).collect();
        assert_eq!(times[1], marked);
        assert!(times[2] >= marked);
    }

    #[test]
    fn a_reader_sees_whole_entries_while_the_owner_writes() {
        let log = Log::default();
        log.open(ENTRIES_PER_PAGE);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (0..ENTRIES_PER_PAGE as u32)
                    .for_each(|number| log.write(Event::numbered(EventKind::Barrier, 0, number)))
            });
            while log.len() < ENTRIES_PER_PAGE {
                let barriers = log.entries().map(|(_, event)| event).zip(0..);
                barriers.for_each(|(event, number)| assert_eq!(event, Event::numbered(EventKind::Barrier, 0, number)));
            }
        });
    }
}
