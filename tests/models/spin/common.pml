/*
 * What the three sleep protocols share: memory, the bees' states and semaphores, what is to be run.
 *
 * A protocol's file (jec, tickle, notify) includes this one, defines its word and its steps, and then includes bee.pml and scenario.pml, which
 * call them. A scene is a handful of -D:
 *
 *   INJECTED=n   jobs from outside into the injector; any bee may run them
 *   BOUND=n      jobs from outside into the mailbox of bee CALLED; only that bee may run them
 *   REGIONS=1    a region, whose start word calls bee CALLED
 *   SPAWNED=n    jobs that a bee pushes into its own deque while it runs one from the injector
 *   LATCH        the job that has spawned one waits for it: its bee works, and sleeps, until the latch is set
 *   LATCH_BY_MAIL  a job from the injector waits for the one in the mailbox, which may be that of its own bee
 *   OUTSIDERS=n  threads that publish all these, in any order; one if nothing is said
 *   FROM_START   the jobs for the injector are there before anything else happens
 *   LONG_JOB     the first job from the injector lasts until everything else has been run, but for a job that waits
 *   LONG_BOUND   the same of the first job from the mailbox
 *   LONG_SPAWNED the same of the job that was spawned
 *   LONG_PART    the same of the region's part
 *   SHRINK_TO=n  a resizer lays off the bees from n up; with GROW it brings them back, and lays them off once more
 *   ONE_BEE      bee 0 is the only bee: the other has been hired, and is parked from the start
 *   DISMISS      in the end each bee's state becomes DISMISSED
 *
 * "Step" and a name stands above what has that name in the source, too: README.md.
 *
 * The long ones ask for more than that no job is lost: no bee may sleep while one lies in a queue, however long the others are busy.
 */

#define BEES 2
#define OTHER(bee) (1 - bee)
/* The bee that regions and bound jobs call, and that a resizer lays off first. */
#define CALLED 1

#ifdef LATCH_BY_MAIL
#define LATCH
#endif
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

/* Where something may be published. The start word and the latch are counted like queues. */
#define NO_PLACE 0
#define INJECTOR 1
#define MAILBOX(bee) (2 + bee)
#define DEQUE(bee) (2 + BEES + bee)
#define START(bee) (2 + 2 * BEES + bee)
#define LATCH_PLACE (2 + 3 * BEES)
byte queue[3 + 3 * BEES];

/* What any bee may run. */
#define QUEUED (queue[INJECTOR] > 0 || queue[DEQUE(0)] > 0 || queue[DEQUE(1)] > 0)

/* The threads: the bees, the outsiders, and one that resizes or ends the hive. */
#define THREADS (BEES + OUTSIDERS)

/*
 * x86 keeps a thread's stores in a buffer that no other thread sees, while its loads go ahead. They reach memory at any time, and at the latest when
 * the thread comes to a fence or to an atomic read-modify-write. Buffered here are the stores that publish: one a thread, which
 * is enough, because each is followed by its fence. Whatever else changes is changed by a read-modify-write.
 */
byte buffer[THREADS + 1]; /* the place that the store goes to */

/* For use in a step that publishes; the step waits until BUFFER_IS_FREE. */
#define BUFFER_IS_FREE(thread) (buffer[thread] == NO_PLACE)
inline publish(thread, place)
{
    printf("thread %d publishes in place %d\n", thread, place);
    buffer[thread] = place
}

/* For use in a step that is a read-modify-write. */
inline drain(thread)
{
    if
    :: BUFFER_IS_FREE(thread)
    :: else ->
        printf("thread %d: place %d in memory\n", thread, buffer[thread]);
        queue[buffer[thread]]++;
        buffer[thread] = NO_PLACE
    fi
}

inline fence(thread)
{
    d_step { drain(thread) }
}

#ifdef POSTER_WITHOUT_FENCE
#define POSTER_FENCE(thread) skip
#else
#define POSTER_FENCE(thread) fence(thread)
#endif

proctype Memory()
{
    byte thread;
end:
    do
    :: d_step { ! BUFFER_IS_FREE(0) -> thread = 0; drain(thread) }
    :: d_step { ! BUFFER_IS_FREE(1) -> thread = 1; drain(thread); thread = 0 }
    :: d_step { ! BUFFER_IS_FREE(2) -> thread = 2; drain(thread); thread = 0 }
    :: d_step { ! BUFFER_IS_FREE(3) -> thread = 3; drain(thread); thread = 0 }
#if OUTSIDERS > 1
    :: d_step { ! BUFFER_IS_FREE(4) -> thread = 4; drain(thread); thread = 0 }
#endif
    od
}

/* ---- States and semaphores ------------------------------------------------------------------------------------------------------- */

mtype = { AWAKE, ASLEEP, NOTIFIED, SURPLUS, PARKED, DISMISSED };
mtype state[BEES] = AWAKE;

/*
 * A semaphore each: 0, or a permit. It says which state it ended, ASLEEP or PARKED. Whoever posts knows that; the bee could not tell, because
 * both may have become NOTIFIED, or SURPLUS.
 */
mtype semaphore[BEES];

/* What queens look at: the hive's size, that is, bees that are not laid off, and how many bees are ASLEEP, or about to be. */
#ifdef ONE_BEE
byte bees = 1;
#else
byte bees = BEES;
#endif
byte sleepers;

byte pending_parks; /* surplus bees on a core */

/*
 * What a thread has just found out: whether its swap succeeded, the state that it ended, whether something more is needed; and a bee
 * in a loop. Forgotten when nothing depends on it any more, because states that differ in it would be told apart.
 */
#define LOCALS bit swapped; mtype was; bit needed; byte b
inline reset_locals()
{
    atomic { swapped = false; was = 0; needed = false; b = 0 }
}

/* For use in a step that has looked at the state, and is a read-modify-write of it. */
inline become(thread, bee, to)
{
    drain(thread);
    printf("bee %d: %e -> %e, by thread %d\n", bee, state[bee], to, thread);
    state[bee] = to
}

/* Compare-and-swap. */
inline change(thread, bee, from, to)
{
    d_step {
        swapped = (state[bee] == from);
        if
        :: swapped -> become(thread, bee, to)
        :: else
        fi
    }
}

inline unblock(bee, ended)
{
    d_step {
        printf("bee %d is posted\n", bee);
        assert(semaphore[bee] == 0); /* never a second permit */
        semaphore[bee] = ended
    }
}

/* Counts off a bee that has left ASLEEP for an upright state: for whoever swapped that swap. */
inline uncount_sleeper(thread, bee)
{
    /* Step: uncount_sleeper: occupancy */
    d_step { drain(thread); assert(sleepers > 0); sleepers--; printf("sleepers %d\n", sleepers) }
    /* Step: uncount_sleeper: leave sleep */
    leave_sleep(thread, bee)
}

/*
 * The rest of the work of whoever else made a bee leave ASLEEP for an upright state: counts it off, then posts. After the post the bee
 * runs, and its own counting must find itself counted off.
 */
inline count_and_unblock(thread, bee)
{
#ifdef POST_BEFORE_COUNTING
    unblock(bee, ASLEEP);
    uncount_sleeper(thread, bee)
#else
    uncount_sleeper(thread, bee);
    unblock(bee, ASLEEP)
#endif
}

/*
 * Code that looks, swaps if the look says so, and looks again if the swap fails, is one step from here on: nobody sees anything of it but
 * the swap that succeeds, or the look that leads to none.
 */

/* Wakes a bee that is asleep. */
inline wake_sleeper(thread, bee)
{
#ifdef TEST_INSTEAD_OF_SWAP
    swapped = (state[bee] == ASLEEP);
    if
    :: swapped -> state[bee] = NOTIFIED
    :: else
    fi;
#else
    /* Step: begin_wake: state */
    change(thread, bee, ASLEEP, NOTIFIED);
#endif
    if
    /* Step: begin_wake: uncount sleeper */
    /* Step: wake: semaphore */
    :: swapped -> count_and_unblock(thread, bee)
    :: else
    fi
}

/*
 * Tells one of the bees of a job for anybody, or all of them: one that is up and will look, or one that sleeps and is woken. The nearest is the one that may be
 * CALLED for something else, and laid off.
 */
inline notify_some(thread, everybody)
{
    b = BEES;
    do
    :: b > 0 ->
        b--;
        /* Step: notify_of_work: tell */
        tell_of_work(thread, b); /* `swapped`: it will look; `needed`: it is to be woken, if it is asleep */
        if
        :: needed -> needed = false;
            /* Step: notify_of_work: wake */
            wake_sleeper(thread, b)
        :: else
        fi;
        if
        :: swapped && ! everybody -> break
        :: else
        fi
    :: else -> break
    od;
    swapped = false; b = 0
}

#ifdef WAKE_RANGE
/* What one that was woken for several jobs has been told to do: wakes another. There are no more. */
inline wake_some(thread)
{
    b = BEES;
    do
    :: b > 0 ->
        b--;
        /* Step: wake_sleepers: unblock */
        /* Step: wake_sleepers: semaphore */
        wake_sleeper(thread, b);
        if
        :: swapped -> break
        :: else
        fi
    :: else -> break
    od;
    swapped = false; b = 0
}
#endif

/* Makes sure that a bee comes, for something that no other can do. From PARKED it comes as a surplus bee. */
inline call(thread, bee)
{
    d_step {
        was = state[bee];
#ifdef DISMISSED_IS_UNREACHABLE
        assert(was != DISMISSED);
#endif
        if
        /* Step: wake_bee: asleep */
        :: was == ASLEEP -> become(thread, bee, NOTIFIED)
        /* Step: wake_bee: parked */
        :: was == PARKED -> become(thread, bee, SURPLUS); pending_parks++
        :: else /* up, or posted already; and before it goes to sleep it looks; dismissed, it runs what is left, or who ends the hive does */
        fi
    }
    if
    :: was == ASLEEP -> count_and_unblock(thread, bee)
    :: was == PARKED -> unblock(bee, PARKED)
    :: else
    fi
}

/* ---- Jobs ------------------------------------------------------------------------------------------------------------------ */

byte ended_bees; /* bees that have ended */
byte left = INJECTED + BOUND + REGIONS + SPAWNED;
byte to_spawn = SPAWNED;
#if defined(LONG_JOB)
#define IS_LONG(place) (place == INJECTOR)
#elif defined(LONG_BOUND)
#define IS_LONG(place) (place == MAILBOX(CALLED))
#elif defined(LONG_SPAWNED)
#define IS_LONG(place) (place == DEQUE(0) || place == DEQUE(1))
#elif defined(LONG_PART)
#define IS_LONG(place) (place == START(CALLED))
#else
#define IS_LONG(place) false
#endif
bit is_long_one_run; /* only the first is long */

/* Tells the others of a job that any of them may run. If the whole hive is parked, a bee is called for the job's sake. */
inline notify_all_of(thread)
{
    /* Step: notify_of_jobs: fence */
    POSTER_FENCE(thread);
    /* Step: notify_of_jobs: post */
    post(thread);
    if
    :: needed -> needed = false; notify_some(thread, NOTIFY_EVERYBODY)
    :: else
    fi;
    if
    /* Step: notify_of_jobs: lone queen */
    :: bees == 0 && QUEUED -> call(thread, 0)
    :: else
    fi
}

inline send_to(thread, bee)
{
    /* The caller has put a job into the bee's mailbox, in the step before this. */
    /* Step: send_to_mailbox: mailbox */
    /* Step: send_to_mailbox: fence */
    POSTER_FENCE(thread);
    /* Step: send_to_mailbox: tell */
    tell_of_mail(thread, bee);
    /* Step: send_to_mailbox: call */
    call(thread, bee)
}

/* For whoever takes a bee away from the queues: others may have relied on it. */
inline pass_on(thread)
{
    if
    /* Step: notify_of_queued: tell */
    :: QUEUED -> notify_all_of(thread)
    :: else
    fi
}
