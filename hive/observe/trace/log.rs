//! What one bee has done, and when: a list that only that bee adds to, and that anybody may read meanwhile.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use crate::observe::trace::event::Event;

/// Entries that come into being together.
const ENTRIES_PER_PAGE: usize = 4_096;

/// The most entries a bee: of 16 bytes each, and of some 70 in a file. What comes later is counted and not kept: what is known of how a program began
/// is whole, and nothing that has been written changes while it is read.
pub(crate) const MAX_ENTRIES: usize = 1 << 20;

/// A bee's log. Closed, and then it takes no entries, unless it has been opened.
#[derive(Default)]
pub(crate) struct Log {
    pages: OnceLock<Box<[OnceLock<Page>]>>,
    /// Entries in the pages.
    len: AtomicUsize,
    /// Those for which there was no room.
    dropped: AtomicUsize,
    /// A moment that another bee has marked. 0: none yet.
    marked_time: AtomicU64,
}

type Page = Box<[Entry]>;

#[derive(Default)]
struct Entry {
    time: AtomicU64,
    event: AtomicU64,
}

impl Log {
    /// Opens it for up to `most` entries.
    pub(crate) fn open(&self, max_entries: usize) {
        self.pages.get_or_init(|| (0..max_entries.div_ceil(ENTRIES_PER_PAGE)).map(|_| OnceLock::new()).collect());
    }

    /// Adds an entry. Called by the bee whose log it is; were there two at once, an entry would be lost.
    #[inline]
    pub(crate) fn write(&self, event: Event) {
        if let Some(pages) = self.pages.get() {
            self.append(pages, nanos_since_start(), event);
        }
    }

    /// As `write`, as if at the moment that another bee has marked since the last entry; if none has, as of now.
    pub(crate) fn write_at_mark(&self, event: Event) {
        let Some(pages) = self.pages.get() else { return };
        let last = self.entries().next_back().map_or(0, |(time, _)| time);
        self.append(pages, self.marked_time_since(last).unwrap_or_else(nanos_since_start), event);
    }

    /// Marks this moment, as another bee, for the owner to write down what it was.
    pub(crate) fn mark_time(&self) {
        if self.pages.get().is_some() {
            // Relaxed: for a reader's eyes. Who comes too early takes another moment for this.
            self.marked_time.store(nanos_since_start(), Ordering::Relaxed);
        }
    }

    /// The moment that has been marked last, if that was not before `time`.
    pub(crate) fn marked_time_since(&self, time: u64) -> Option<u64> {
        // Relaxed: as above.
        Some(self.marked_time.load(Ordering::Relaxed)).filter(|mark| *mark >= time)
    }

    fn append(&self, pages: &[OnceLock<Page>], time: u64, event: Event) {
        // Relaxed: only this bee writes it; the queen's place is handed on with the turn.
        let number = self.len.load(Ordering::Relaxed);
        let Some(page) = pages.get(number / ENTRIES_PER_PAGE) else {
            // Relaxed, both: as above, and for a reader's eyes.
            return self.dropped.store(self.dropped.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        };
        let page = page.get_or_init(|| (0..ENTRIES_PER_PAGE).map(|_| Entry::default()).collect());
        let entry = &page[number % ENTRIES_PER_PAGE];
        // Relaxed, both: published by the length.
        entry.time.store(time, Ordering::Relaxed);
        entry.event.store(event.to_bits(), Ordering::Relaxed);
        // Release: pairs with the Acquire in `deque_len`; publishes the entry.
        self.len.store(number + 1, Ordering::Release);
    }

    /// Entries so far.
    pub(crate) fn len(&self) -> usize {
        // Acquire: pairs with the Release in `add`.
        self.len.load(Ordering::Acquire)
    }

    /// Entries for which there was no room.
    pub(crate) fn dropped(&self) -> usize {
        // Relaxed: for a reader's eyes.
        self.dropped.load(Ordering::Relaxed)
    }

    /// The entries so far, each with its time, oldest first.
    pub(crate) fn entries(&self) -> impl DoubleEndedIterator<Item = (u64, Event)> {
        let pages = self.pages.get().map_or(&[][..], |pages| &**pages);
        (0..self.len()).map(|number| {
            let page = pages[number / ENTRIES_PER_PAGE]
                .get()
                .unwrap_or_else(|| unreachable!("entry {number} has been written"));
            let entry = &page[number % ENTRIES_PER_PAGE];
            // Relaxed, both: published by the length, and never written again.
            (entry.time.load(Ordering::Relaxed), Event::from_bits(entry.event.load(Ordering::Relaxed)))
        })
    }
}

/// Nanoseconds since the first log of the process was asked, by the system's monotonic clock: the same on all CPUs, steady, and safe to ask. (The
/// processor's own counter would take half as long, and would have to be compared with this one on each machine.)
pub(crate) fn nanos_since_start() -> u64 {
    // In hives it has been filled by `files.rs`, while no thread forked.
    static FIRST_USE: OnceLock<Instant> = OnceLock::new();
    FIRST_USE.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_in_order_and_time_does_not_go_back() {
        let log = Log::default();
        log.write(Event::TaskBegin);
        assert_eq!(log.len(), 0, "it is closed");
        log.open(MAX_ENTRIES);
        let written = |number: usize| if number.is_multiple_of(2) { Event::TaskBegin } else { Event::TaskEnd };
        (0..2 * ENTRIES_PER_PAGE + 10).for_each(|number| log.write(written(number)));
        assert!(log.entries().map(|(_, event)| event).eq((0..2 * ENTRIES_PER_PAGE + 10).map(written)));
        assert!(log.entries().is_sorted_by_key(|(time, _)| time));
        assert_eq!(log.dropped(), 0);
    }

    #[test]
    fn a_full_log_counts_the_entries_it_drops() {
        let log = Log::default();
        log.open(ENTRIES_PER_PAGE);
        (0..ENTRIES_PER_PAGE + 3).for_each(|_| log.write(Event::SearchBegin));
        assert_eq!((log.len(), log.dropped()), (ENTRIES_PER_PAGE, 3));
    }

    #[test]
    fn a_time_marked_by_another_bee_counts_once_and_not_before_the_last_entry() {
        let log = Log::default();
        log.open(MAX_ENTRIES);
        log.mark_time();
        std::thread::sleep(std::time::Duration::from_millis(1));
        log.write(Event::Sleep);
        let slept = log.entries().last().unwrap().0;
        assert_eq!(log.marked_time_since(slept), None, "that was before");
        std::thread::sleep(std::time::Duration::from_millis(1));
        log.mark_time();
        let marked = log.marked_time_since(slept).unwrap();
        log.write_at_mark(Event::Park);
        log.write_at_mark(Event::Resume { is_woken: true });
        let times: Vec<_> = log.entries().map(|(time, _)| time).collect();
        assert_eq!(times[1], marked);
        assert!(times[2] >= marked);
    }

    #[test]
    fn a_reader_sees_whole_entries_while_the_owner_writes() {
        let log = Log::default();
        log.open(ENTRIES_PER_PAGE);
        std::thread::scope(|scope| {
            scope.spawn(|| (0..ENTRIES_PER_PAGE as u32).for_each(|number| log.write(Event::BarrierBegin(number))));
            while log.len() < ENTRIES_PER_PAGE {
                let barriers = log.entries().map(|(_, event)| event).zip(0..);
                barriers.for_each(|(event, number)| assert_eq!(event, Event::BarrierBegin(number)));
            }
        });
    }
}
