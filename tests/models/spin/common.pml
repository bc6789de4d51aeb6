/*
 * What the models of the three sleep protocols share: memory, the states and semaphores of the bees, and the jobs.
 *
 * The file of a protocol (jec, tickle, notify) includes this one, defines the protocol's words and steps, and then
 * includes bee.pml and scenario.pml, which call those steps. A job is anything that a bee has to run: a task, or a
 * part of a region. Options of the form -D choose a scene:
 *
 *   INJECTED=n   n jobs from outside go into the injector; any bee may run them
 *   BOUND=n      n jobs from outside go into the mailbox of bee CALLED; only that bee may run them
 *   REGIONS=1    a region starts; its start word calls bee CALLED
 *   SPAWNED=n    bees push n jobs into their own deques, one for each job from the injector that they run
 *   LATCH        a job that has spawned another waits for it: its bee works, and sleeps, until the latch is set
 *   LATCH_BY_MAIL  a job from the injector waits for the job in the mailbox, which may belong to the same bee
 *   OUTSIDERS=n  n threads publish all these, in any order; the default is one thread
 *   FROM_START   the jobs for the injector are there before anything else happens
 *   LONG_JOB     the first job from the injector lasts until all other jobs have been run, except jobs that wait
 *   LONG_BOUND   the same for the first job from the mailbox
 *   LONG_SPAWNED the same for the first job that was spawned
 *   LONG_PART    the same for the part of the region
 *   SHRINK_TO=n  a resizer makes the bees from n up surplus; with GROW it reactivates them, and shrinks once more
 *   ONE_BEE      bee 0 is the only bee: the other has been hired, and is parked from the start
 *   TERMINATE    in the end the state of each bee becomes TERMINATED
 *
 * A comment with "Step" and a name stands above each step that has this name in the source, too: see README.md.
 *
 * A scene with a long job checks more than that no job is lost: no bee may sleep while a job is in a queue, however
 * long the other bees are busy.
 */

#define BEES 2
#define OTHER(bee) (1 - bee)
/* The bee that regions and bound jobs call, and that a resizer makes surplus first. */
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

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* The places where something may be published. The model counts the start words and the latch like queues. */
#define NO_PLACE 0
#define INJECTOR 1
#define MAILBOX(bee) (2 + bee)
#define DEQUE(bee) (2 + BEES + bee)
#define START(bee) (2 + 2 * BEES + bee)
#define LATCH_PLACE (2 + 3 * BEES)
byte queue[3 + 3 * BEES];

/* Whether there is a job that any bee may run. */
#define QUEUED (queue[INJECTOR] > 0 || queue[DEQUE(0)] > 0 || queue[DEQUE(1)] > 0)

/* The threads: the bees, the outsiders, and one thread that resizes or ends the hive. */
#define THREADS (BEES + OUTSIDERS)

/*
 * x86 keeps the stores of a thread in a buffer that no other thread sees, while the loads of the thread go ahead. A
 * store may reach memory at any time, and does so at the latest when the thread comes to a fence or to an atomic
 * read-modify-write. The model buffers the stores that publish. One entry for each thread is enough, because a fence
 * follows each of these stores. All other changes are made by read-modify-writes.
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

/* ---- States and semaphores --------------------------------------------------------------------------------------- */

mtype = { AWAKE, ASLEEP, NOTIFIED, SURPLUS, PARKED, TERMINATED };
mtype state[BEES] = AWAKE;

/*
 * Each bee has a semaphore, which is 0 or holds a permit. The permit says which state the post has ended, ASLEEP or
 * PARKED. The thread that posts knows this state. The bee could not tell, because either state may have become NOTIFIED
 * or SURPLUS.
 */
mtype semaphore[BEES];

/*
 * What queens look at: the size of the hive, which does not count the bees that a shrink has made surplus; and how many
 * bees are ASLEEP or about to be.
 */
#ifdef ONE_BEE
byte bees = 1;
#else
byte bees = BEES;
#endif
byte sleepers;

byte pending_parks; /* surplus bees that are still on a core */

/*
 * What a thread has just found out: whether its swap has succeeded, which state the swap has ended, and whether
 * something more is needed; and the number of a bee in a loop. They are reset when nothing depends on them any more,
 * because SPIN would take states that differ in them for different states.
 */
#define LOCALS bit swapped; mtype was; bit needed; byte b
inline reset_locals()
{
    atomic { swapped = false; was = 0; needed = false; b = 0 }
}

/* For use in a step that has looked at the state, and is a read-modify-write of the state. */
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

/* Takes a bee that has left ASLEEP to run again off the counts. The thread whose swap ended the sleep calls this. */
inline uncount_sleeper(thread, bee)
{
    /* Step: uncount_sleeper: occupancy */
    d_step { drain(thread); assert(sleepers > 0); sleepers--; printf("sleepers %d\n", sleepers) }
    /* Step: uncount_sleeper: leave sleep */
    leave_sleep(thread, bee)
}

/*
 * The rest of the work of another thread that has made a bee leave ASLEEP to run again: it takes the bee off the
 * counts, and then posts. The bee runs after the post, and must be off the counts before it counts anything itself.
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
 * From here on, code that looks, tries a swap if the look calls for one, and looks again if the swap fails, is a single
 * step: other threads can see only the swap that succeeds, or nothing if a look leads to no swap.
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
    /* Step: wake_as: semaphore */
    :: swapped -> count_and_unblock(thread, bee)
    :: else
    fi
}

/*
 * Tells one bee, or all bees, of a job that any bee may run. A bee that is awake will look for it; a bee that is asleep
 * is woken. The nearest bee, which is told first, is the one that may be CALLED for something else and made surplus.
 */
inline notify_some(thread, everybody)
{
    b = BEES;
    do
    :: b > 0 ->
        b--;
        /* Step: notify_of_work: tell */
        tell_of_work(thread, b); /* `swapped`: the bee will look; `needed`: it is to be woken, if it is asleep */
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
/* For a bee that was woken for several jobs and asked to wake others: it wakes the other bee. There are only two. */
inline wake_some(thread)
{
    b = BEES;
    do
    :: b > 0 ->
        b--;
        /* Step: wake_first_of: unblock */
        /* Step: wake_claimed: semaphore */
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

/* Makes sure that a bee runs, for something that no other bee can do. A PARKED bee becomes SURPLUS by it. */
inline call(thread, bee)
{
    d_step {
        was = state[bee];
#ifdef TERMINATED_IS_UNREACHABLE
        assert(was != TERMINATED);
#endif
        if
        /* Step: wake_bee_as: asleep */
        :: was == ASLEEP -> become(thread, bee, NOTIFIED)
        /* Step: wake_bee_as: parked */
        :: was == PARKED -> become(thread, bee, SURPLUS); pending_parks++
        /*
         * The bee is awake, or has been posted already, and looks before it goes to sleep. If it is terminated, what is
         * left is run by the bee, or by the thread that ends the hive.
         */
        :: else
        fi
    }
    if
    :: was == ASLEEP -> count_and_unblock(thread, bee)
    :: was == PARKED -> unblock(bee, PARKED)
    :: else
    fi
}

/* ---- Jobs -------------------------------------------------------------------------------------------------------- */

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
bit is_long_one_run; /* only the first job is long */

/* Tells the other bees of a job that any bee may run. If all bees are parked, calls bee 0 to run the job. */
inline notify_all_of(thread)
{
    /* Step: notify_of_jobs: fence */
    POSTER_FENCE(thread);
    /* Step: notify_of_jobs: post */
    post(thread);
    if
    :: needed -> needed = false; notify_some(thread, NOTIFY_ALL)
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

/* For a thread that takes a bee away from the queues: the threads that have posted jobs may have relied on this bee. */
inline pass_on(thread)
{
    if
    /* Step: notify_of_queued: tell */
    :: QUEUED -> notify_all_of(thread)
    :: else
    fi
}
