/*
 * What the three sleep protocols share: memory, the bees' state words and beds, and what is to be run.
 *
 * Order of inclusion: this file; the protocol (jec, tickle, notify), which defines its word and its steps; bee.pml and scene.pml,
 * which call them.
 *
 * A scene is a handful of numbers, each a -D of the runner:
 *
 *   INJECTED   jobs from outside, into the injector; any bee may run them
 *   BOUND      jobs from outside into the mailbox of CALLED; only that bee may run them
 *   REGIONS    regions (at most one) whose start word calls CALLED
 *   SPAWNED    jobs that a bee pushes into its own deque while it runs one from the injector
 *   OUTSIDERS  threads that publish all these, in any order
 *   LONG       a place: the first that is taken from there lasts until all other jobs and parts have been run
 *   SHRINK_TO  a resizer lays off the bees from this one up; with GROW it brings them back
 *   DISMISS    in the end each bee's state becomes DISMISSED
 *   CLOSE      in the end a word says that the hive closes, and everybody is woken to read it
 */

#define BEES 2
#define OTHER(bee) (1 - bee)
/* Who is called by regions and bound jobs: the bee that a resizer lays off first. */
#define CALLED 1

#ifndef INJECTED
#define INJECTED 0
#endif
#ifndef BOUND
#define BOUND 0
#endif
#ifndef REGIONS
#define REGIONS 0
#endif
#ifndef SPAWNED
#define SPAWNED 0
#endif
#ifndef OUTSIDERS
#define OUTSIDERS 1
#endif

/* ---- Memory ---------------------------------------------------------------------------------------------------------------- */

/*
 * What has been published. The start word and the closing word are counted like queues: seeing one takes it out.
 */
#define NOWHERE 0
#define INJECTOR 1
#define CLOSING 2
#define MAILBOX(bee) (3 + bee)
#define DEQUE(bee) (3 + BEES + bee)
#define START(bee) (3 + 2 * BEES + bee)
#define PLACES (3 + 3 * BEES)
byte queue[PLACES];

/*
 * x86 keeps a store in a buffer that only its own thread sees, while the loads after it go ahead. It leaves the buffer at any time, and
 * at the latest at a fence or an atomic read-modify-write of the thread. One store a thread is enough: each publishes
 * one thing before its fence. Buffered are the stores that publish; all other changes are read-modify-writes.
 */
#define THREADS (BEES + OUTSIDERS + 1)
#define STAFF (BEES + OUTSIDERS)
byte buffer[THREADS]; /* the place it goes to */

inline drain(thread)
{
    if
    :: buffer[thread] != NOWHERE -> queue[buffer[thread]]++; printf("in memory: place %d\n", buffer[thread]); buffer[thread] = NOWHERE
    :: else
    fi
}

inline fence(thread)
{
    d_step { drain(thread) }
}

proctype Memory()
{
    byte thread;
end:
    do
    :: d_step { buffer[0] != NOWHERE -> thread = 0; drain(thread) }
    :: d_step { buffer[1] != NOWHERE -> thread = 1; drain(thread) }
    :: d_step { buffer[2] != NOWHERE -> thread = 2; drain(thread) }
#if THREADS > 3
    :: d_step { buffer[3] != NOWHERE -> thread = 3; drain(thread) }
#endif
#if THREADS > 4
    :: d_step { buffer[4] != NOWHERE -> thread = 4; drain(thread) }
#endif
    od
}

/* Inside a d_step whose guard is BUFFER_FREE. */
#define BUFFER_FREE(thread) (buffer[thread] == NOWHERE)
inline publish(thread, place)
{
    buffer[thread] = place;
    printf("thread %d publishes to place %d\n", thread, place)
}

#ifdef BROKEN_POSTER_WITHOUT_FENCE
#define poster_fence(thread) skip
#else
#define poster_fence(thread) fence(thread)
#endif

/* ---- The state word and the bed -------------------------------------------------------------------------------------------- */

mtype = { AWAKE, ASLEEP, NOTIFIED, SURPLUS, PARKED, DISMISSED };
#ifdef UP_STATES
mtype = { UP_STATES };
#endif
mtype state[BEES] = AWAKE;

/*
 * A bee's semaphore: 0, or a permit. The permit says which state it ended, ASLEEP or PARKED: whoever posts knows, and the bee
 * would not.
 */
mtype bed[BEES];

inline post(bee, ended)
{
    d_step {
        assert(bed[bee] == 0); /* never a second permit */
        bed[bee] = ended;
        printf("bee %d is posted\n", bee)
    }
}

/* Compare-and-swap of a bee's state. */
inline change(thread, bee, from, to)
{
    d_step {
        if
        :: state[bee] == from -> drain(thread); state[bee] = to; won = true; printf("bee %d: %e -> %e, by thread %d\n", bee, from, to, thread)
        :: else -> won = false
        fi
    }
}

/*
 * What a step found out is forgotten when nothing depends on it any more: the fewer states differ by it, the better.
 */
inline forget()
{
    d_step { won = false; needed = false; was = 0; b = 0 }
}

/* ---- Resize ---------------------------------------------------------------------------------------------------------------- */

byte members = BEES; /* bees that are not laid off */
byte untucked;       /* surplus bees still on a core */

/* ---- Waking one bee, and no other will do ---------------------------------------------------------------------------------- */

/*
 * Code that looks first, swaps if the look says so, and begins again if the swap fails, is one step here: nothing but the successful swap, or
 * the look that leads to none, does anything.
 */

/* Wakes a bee from ASLEEP, if that is where it is. */
inline rouse(thread, bee)
{
#ifdef BROKEN_IS_IT_BLOCKED
    won = (state[bee] == ASLEEP);
    if
    :: won -> state[bee] = NOTIFIED
    :: else
    fi;
#else
    change(thread, bee, ASLEEP, NOTIFIED);
#endif
    if
    :: won -> count_off_woken(thread); post(bee, ASLEEP)
    :: else
    fi
}

/* Makes sure that a bee comes: for a region, a bound job, or because all are parked. A parked one comes as a surplus bee. */
inline call(thread, bee)
{
    d_step {
        was = state[bee];
        if
        :: was == ASLEEP || MUST_BE_TOLD(was) -> drain(thread); state[bee] = NOTIFIED; printf("bee %d: %e -> NOTIFIED, by thread %d\n", bee, was, thread)
        :: was == PARKED -> drain(thread); state[bee] = SURPLUS; untucked++; printf("bee %d: PARKED -> SURPLUS, by thread %d\n", bee, thread)
        :: else /* up, or about to be, and looks before it goes to bed */
        fi
    }
    if
    :: was == ASLEEP -> count_off_woken(thread); post(bee, ASLEEP)
    :: was == PARKED -> post(bee, PARKED)
    :: else
    fi
}

/* ---- What is to be run ----------------------------------------------------------------------------------------------------- */

byte gone; /* bees that have ended */
byte left = INJECTED + BOUND + REGIONS + SPAWNED;
byte to_spawn = SPAWNED;
#if defined(LONG_JOB)
byte long_one = INJECTOR;
#elif defined(LONG_PART)
byte long_one = START(CALLED);
#else
byte long_one;
#endif

/* What any member may run. */
#define QUEUED (queue[INJECTOR] > 0 || queue[DEQUE(0)] > 0 || queue[DEQUE(1)] > 0)
/* What only this bee can see to. */
#define IS_CALLED(bee) (queue[START(bee)] > 0 || queue[MAILBOX(bee)] > 0)

/* For who takes a bee out of the hive, or leaves the search: the work that others thought was that bee's. */
inline pass_on(thread)
{
    if
    :: QUEUED -> wake_for_queue(thread); call_if_all_parked(thread)
    :: else
    fi
}

/* With nobody left, a bee is called for the job's sake. */
inline call_if_all_parked(thread)
{
    if
    :: members == 0 -> call(thread, 0)
    :: else
    fi
}
