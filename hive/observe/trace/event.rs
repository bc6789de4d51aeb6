//! `Event`: one entry of a bee's log, in a hive that is traced.
//!
//! The protocols write events through `Team::log`, `Team::set_activity` and the slots' logs; `chrome_json.rs` turns
//! them into the slices and instants of the file. An event is packed into one word, so that an entry of the log is two
//! words. What the watchdog reads of each bee is such a word, too (`activity.rs`).

/// What lasts on a bee from a begin to an end, or happens at one moment. "It" is the bee whose log the event is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// It runs the body of a region. `large` is the low 32 bits of the region's epoch, here and in the other events of
    /// an activity; `small` is the size of the team.
    Region,
    /// It waits at a barrier of its region, of number `small`. The first barrier is number 1.
    Barrier,
    /// It waits, in the middle of its region, for something that another bee of the region does and that is not a
    /// barrier. The end: the other bee has done it, or never will.
    Wait,
    /// It is the queen and waits at the end of a region for the other bees. This ends with the region.
    QueenWait,
    /// It wakes bees that are asleep, for its region.
    Wake,
    /// A thread has taken the queen's slot in order to run tasks.
    QueenSlot,
    /// It runs a task.
    Task,
    /// It has nothing to do and searches for a task.
    Search,
    /// It sleeps because there was nothing to do. The end, also that of `Park` and of `Block`: it is awake again;
    /// `small` is 1 if another thread has woken it, and 0 if it woke up by itself.
    Sleep,
    /// It parks, or was parked while it slept.
    Park,
    /// It blocks in the middle of a region: at a barrier or, as the queen, at the region's end.
    Block,
    /// A moment: it has stolen a task from the queue of bee `large`; `small` is the `Distance` between the two, as a
    /// number.
    Steal,
    /// A moment: it was woken because of tasks, by bee `large` or on that bee's behalf.
    Woken,
    /// A moment: the hive has `large` bees from now on. This is in the hive's list of sizes, not in a bee's log.
    TeamSize,
}

impl EventKind {
    /// All kinds, in their order, and their names in the file.
    const ALL: [(Self, &'static str); 14] = [
        (Self::Region, "region"),
        (Self::Barrier, "barrier"),
        (Self::Wait, "wait"),
        (Self::QueenWait, "end of region"),
        (Self::Wake, "wake bees"),
        (Self::QueenSlot, "queen's place"),
        (Self::Task, "task"),
        (Self::Search, "search"),
        (Self::Sleep, "sleep"),
        (Self::Park, "parked"),
        (Self::Block, "blocked"),
        (Self::Steal, "steal"),
        (Self::Woken, "woken"),
        (Self::TeamSize, "bees"),
    ];

    pub(crate) fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// The largest number in an event's 24 bits for the small one. Only numbers of barriers can be larger, which count as
/// this one then; but a log is full before that.
const MAX_SMALL: u32 = (1 << 24) - 1;

/// What begins, ends or happens on a bee at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) kind: EventKind,
    pub(crate) is_end: bool,
    /// A number; packed, at most `MAX_SMALL`.
    pub(crate) small: u32,
    pub(crate) large: u32,
}

impl Event {
    /// It begins, or happens, and has no numbers.
    pub(crate) fn begin(kind: EventKind) -> Self {
        Self::numbered(kind, 0, 0)
    }

    /// As `begin`, with its numbers.
    pub(crate) fn numbered(kind: EventKind, small: u32, large: u32) -> Self {
        Self { kind, is_end: false, small, large }
    }

    pub(crate) fn end(kind: EventKind) -> Self {
        Self { is_end: true, ..Self::begin(kind) }
    }

    /// The end of a sleep, of being parked or of being blocked.
    pub(crate) fn resume(is_woken: bool) -> Self {
        Self { small: is_woken.into(), ..Self::end(EventKind::Sleep) }
    }

    /// Whether this event, which is an end, is that of what `begin` began.
    pub(crate) fn is_end_of(self, begin: Self) -> bool {
        let is_resumed = matches!(begin.kind, EventKind::Park | EventKind::Block);
        self.kind == if is_resumed { EventKind::Sleep } else { begin.kind }
    }

    /// The packed word: the kind in bits 0 to 6, whether it is an end in bit 7, the small number in bits 8 to 31, and
    /// the large one in bits 32 to 63.
    pub(crate) fn to_bits(self) -> u64 {
        let Self { kind, is_end, small, large } = self;
        u64::from(large) << 32 | u64::from(small.min(MAX_SMALL)) << 8 | u64::from(is_end) << 7 | kind as u64
    }

    /// The event that `to_bits` packed into this word.
    pub(crate) fn from_bits(bits: u64) -> Self {
        let (kind, _) = EventKind::ALL[(bits & 0x7f) as usize];
        Self { kind, is_end: bits >> 7 & 1 == 1, small: bits as u32 >> 8, large: (bits >> 32) as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_read_as_it_was_written() {
        for (number, (kind, _)) in EventKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
            for event in [Event::begin(kind), Event::end(kind), Event::numbered(kind, 65_535, u32::MAX)] {
                assert_eq!(Event::from_bits(event.to_bits()), event);
            }
        }
        for event in [Event::resume(true), Event::resume(false)] {
            assert_eq!(Event::from_bits(event.to_bits()), event);
        }
        let many_barriers = Event::numbered(EventKind::Barrier, u32::MAX, 5);
        assert_eq!(Event::from_bits(many_barriers.to_bits()), Event { small: MAX_SMALL, ..many_barriers });
    }
}
