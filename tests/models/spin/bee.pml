/*
 * The life of a bee, the same for every protocol. The protocol supplies the steps below, where "it" is the bee;
 * `sleep/mod.rs` has methods for the same.
 *
 *   search        the bee has nothing left to run
 *   take_notification  `is_told`: it has been told of work in the queue of another bee
 *   steal         it has found nothing in its own queues, nor where it was told to look
 *   find          it has found something, or goes away; `needed`: other bees may have relied on it
 *   announce      it may fall asleep soon, and searches once more; not `swapped`: it may not sleep now
 *   fall_asleep   `swapped`: it counts as asleep; otherwise something has been posted
 *   confirm       it is ASLEEP; `swapped`: nothing has been posted meanwhile
 *   leave_sleep   for the thread that takes a bee out of ASLEEP to run again: takes it off the protocol's count
 *   park          the same for the resizer, which parks a bee that is asleep
 *   unpark        it was parked while it was asleep, and runs again
 *   post          for a thread that has published a job for any bee; `needed`: that thread has to tell one bee, or,
 *                 with NOTIFY_ALL, all bees
 *   tell_of_work  tells a bee of such a job; `swapped`: it will look; `needed`: it is to be woken
 *   tell_of_mail  tells a bee of a job that only this bee may run
 */

/* For use in a step that looks into a place, and takes what it finds there. Taking is a read-modify-write. */
inline look(place)
{
    if
    :: found == NO_PLACE && queue[place] > 0 ->
        drain(me);
        queue[place]--;
        found = place;
        printf("bee %d takes from place %d\n", me, place)
    :: else
    fi
}

inline search_counted()
{
    /* Step: begin_search: search */
    search();
    counted = true
}

/* Looks for a job in all places. */
inline find_job()
{
#ifdef SOMETIMES_ELSEWHERE
    if
    :: true
    :: d_step { look(DEQUE(OTHER(me))) }
    :: d_step { look(INJECTOR) }
    /* Step: find_task_with: elsewhere */
    :: d_step { look(MAILBOX(me)) }
    fi;
#endif
    if
    /* Step: find_task_with: told */
    :: counted && found == NO_PLACE -> take_notification()
    :: else
    fi;
#if SPAWNED + BOUND > 0
    d_step {
        /* Step: find_task_with: mailbox */
        drain(me); look(MAILBOX(me)); /* steals and pops have a fence */
        /* Step: find_task_with: own */
        look(DEQUE(me))
    }
#endif
#if SPAWNED > 0
    if
    /* Step: find_task_with: where told */
    :: is_told -> d_step { look(DEQUE(OTHER(me))) }
    :: else
    fi;
#endif
    /* Step: find_task_with: injector */
    d_step { look(INJECTOR) }
    if
    :: counted && found == NO_PLACE ->
        /* Step: steal: steal */
        steal()
    :: else
    fi;
    is_told = false;
#if SPAWNED > 0
    /* Step: steal: others */
    d_step { look(DEQUE(OTHER(me))) }
#endif
    skip
}

/*
 * The bee has something to do, or goes away. As long as it was searching, the threads that post jobs relied on it. So
 * it looks whether there is anything left for other bees.
 */
inline work()
{
    if
    :: counted ->
        counted = false;
        /* Step: end_search_slow: find */
        find();
#ifdef NO_WAKE_WHEN_LEAVING
        needed = false;
#endif
        if
        /* Step: end_search_slow: pass on */
        :: needed -> needed = false;
            /* Step: replace_searcher: fence */
            fence(me);
            /* Step: replace_searcher: pass on */
            pass_on(me)
        :: else
        fi;
        reset_locals()
    :: else
    fi
}

#ifdef LATCH
bit waits[BEES]; /* whether the bee is in the middle of a job that waits for the latch */
#define WAITS waits[me]
#define WAITING (waits[0] + waits[1])
/* Whether a region waits for this bee, which is in the middle of such a job. */
#define IS_AWAITED(bee) (waits[bee] && queue[START(bee)] > 0)
#define IS_SET (queue[LATCH_PLACE] > 0)
#ifdef LATCH_BY_MAIL
#define SETS_LATCH(place) (place == MAILBOX(CALLED))
#else
#define SETS_LATCH(place) (place == DEQUE(0) || place == DEQUE(1))
#endif

inline set_latch()
{
    /* Step: set_latch: set */
    d_step { BUFFER_IS_FREE(me) -> publish(me, LATCH_PLACE) }
    /* Step: set_latch: fence */
    POSTER_FENCE(me);
    if
    :: waits[OTHER(me)] ->
#ifdef LATCH_FORGETS_PARKED
        wake_sleeper(me, OTHER(me))
#else
        /* Step: set_latch: call */
        call(me, OTHER(me))
#endif
    :: else
    fi
}
#else
#define WAITS false
#define WAITING 0
#define IS_AWAITED(bee) false
#define IS_SET false
#endif

inline run_found()
{
    if
#ifdef LATCH_BY_MAIL
    :: d_step { found == INJECTOR -> WAITS = true; found = NO_PLACE } goto top
#else
    :: d_step { found == INJECTOR && to_spawn > 0 && BUFFER_IS_FREE(me) -> to_spawn--; publish(me, DEQUE(me)) }
        notify_all_of(me);
        reset_locals();
#ifdef LATCH
        d_step { WAITS = true; found = NO_PLACE }
        goto top
#endif
#endif
    :: else
    fi;
    if
    :: d_step { IS_LONG(found) && ! is_long_one_run -> is_long_one_run = true }
        left == 1 + WAITING
    :: else
    fi;
#ifdef LATCH
    if
    :: SETS_LATCH(found) -> set_latch()
    :: else
    fi;
#endif
    d_step { left--; found = NO_PLACE; printf("bee %d has run it\n", me) }
}

/* What the bee must be awake for: the jobs in its mailbox, and a region or a latch that it is called for. */
#if BOUND > 0
#define HAS_MAIL (queue[MAILBOX(me)] > 0)
#else
#define HAS_MAIL false
#endif
#ifdef LAST_CHECK_WITHOUT_LATCH
#define IS_CALLED (! WAITS && queue[START(me)] > 0)
#else
#define IS_CALLED (WAITS -> IS_SET : queue[START(me)] > 0)
#endif

/*
 * The last check before the bee sleeps. The model reads several places in one step. This changes nothing, because each
 * place has a poster of its own, which looks for sleepers afterwards.
 */
#if defined(LAST_CHECK_WITHOUT_QUEUES)
#define LAST_CHECK (IS_CALLED || HAS_MAIL)
#elif defined(LAST_CHECK_WITHOUT_DEQUES)
#define LAST_CHECK (IS_CALLED || HAS_MAIL || queue[INJECTOR] > 0)
#elif defined(LAST_CHECK_WITHOUT_START_WORD)
#define LAST_CHECK QUEUED
#else
#define LAST_CHECK (IS_CALLED || HAS_MAIL || QUEUED)
#endif

proctype Bee(byte me)
{
    LOCALS;
    byte found;      /* the place where the search has found something */
    mtype permit;
    bit counted;     /* whether the bee counts as without work, and no other thread will take it off that count */
    bit is_told;     /* notify: whether it has been told of work in the queue of the other bee */
    byte remembered; /* jec: the jobs event counter after the announcement */

#ifdef ONE_BEE
    if
    :: me == 1 -> goto in_bed
    :: else
    fi;
#endif

/*
 * The bee comes here between any two things that it does. In the middle of a job that waits, it looks at the latch, and
 * neither at its start word nor at its state.
 */
top:
    reset_locals();
    if
#ifdef LATCH
    :: WAITS && IS_SET -> work(); d_step { WAITS = false; left--; printf("bee %d has waited\n", me) } goto top
    :: WAITS && ! IS_SET
#endif
    :: ! WAITS ->
#if REGIONS > 0
        d_step { look(START(me)) }
        if
        :: found != NO_PLACE -> work(); run_found(); goto top
        :: else
        fi;
#endif
        if
        :: state[me] != AWAKE -> goto follow_state
        :: else
        fi
    fi;
    if
    :: ! WAITS && ! counted -> search_counted()
    :: else
    fi;
    find_job();
    if
    :: found != NO_PLACE -> work(); run_found(); goto top
    :: else
    fi;

/*
 * The spinner of the bee has come to its end. In the middle of a job that waits, the bee does not go back to the top,
 * where it begins to search, before the latch is set.
 */
rest:
#ifdef LATCH
    if
    :: WAITS && IS_SET -> goto top
    /* Step: sleep_or_park: surplus */
    :: WAITS && ! IS_SET && state[me] == SURPLUS -> goto surplus
    /* Step: sleep_or_park: terminated */
    :: WAITS && ! IS_SET && state[me] == TERMINATED -> goto top
    /* Step: sleep_or_park: sleep */
    :: else
    fi;
#endif

    if
    :: counted
    /* Step: go_to_sleep: search */
    :: else -> search_counted()
    fi;
    /* Step: go_to_sleep: announce */
    announce();
    if
    :: swapped -> swapped = false
    :: else ->
        /* Step: go_to_sleep: not now */
        find_job();
        if
        :: found != NO_PLACE -> work(); run_found(); goto top
        :: else -> goto wake_up
        fi
    fi;
    /* Step: go_to_sleep: look again */
    find_job();
    if
    :: found != NO_PLACE -> work(); run_found(); goto top
    :: else
    fi;
#ifdef LAST_CHECK_FIRST
    if
    :: LAST_CHECK -> goto wake_up
    :: else
    fi;
#endif
    /* Step: go_to_sleep: fall asleep */
    fall_asleep();
    if
    :: swapped -> swapped = false
    :: else -> goto wake_up
    fi;
    /* Step: go_to_sleep: occupancy */
    d_step { drain(me); sleepers++; printf("sleepers %d\n", sleepers) }
    /* Step: go_to_sleep: asleep */
    change(me, me, AWAKE, ASLEEP);
    if
    :: swapped -> swapped = false
    /* Step: go_to_sleep: not awake */
    :: else -> uncount_sleeper(me, me); goto wake_up
    fi;
#ifdef COUNTED_UNDER_A_LOCK
asleep:
#endif
    /* Step: go_to_sleep: fence */
    fence(me); /* on x86 the swap before it is one */
    /* Step: go_to_sleep: confirm */
    confirm();
    if
    :: ! swapped
#ifndef LAST_CHECK_FIRST
    /* Step: go_to_sleep: last check */
    :: swapped && LAST_CHECK
#endif
    :: else -> goto in_bed
    fi;
    /* Step: go_to_sleep: awake */
    change(me, me, ASLEEP, AWAKE);
    if
    :: swapped ->
        /* Step: go_to_sleep: uncount sleeper */
        uncount_sleeper(me, me); goto wake_up
    :: else
    fi;
    /*
     * Another thread has ended this sleep. Either its post is about to come, or it is a resizer that has parked the bee
     * in its sleep, and then there is no post; a thread that has looked before there was a sleeper has not called the
     * bee either. So the bee calls itself, or passes on what is queued.
     */
    if
#ifndef PARKED_SLEEPER_DOES_NOT_CALL_ITSELF
    /* Step: go_to_sleep: wake itself */
    :: IS_CALLED || HAS_MAIL -> call(me, me)
#endif
#ifdef PARKED_SLEEPER_DOES_NOT_PASS_ON
    :: else
#else
    /* Step: go_to_sleep: pass on */
    :: else -> pass_on(me)
#endif
    fi;
    goto in_bed;

/* What a surplus bee does, also in the middle of a job that waits. */
surplus:
    reset_locals();
    if
#ifdef SURPLUS_WAITER_IGNORES_MAILBOX
    :: WAITS
#endif
    /* Step: surplus_task: mailbox */
    :: else -> d_step { look(MAILBOX(me)) }
    fi;
    if
    /* Step: surplus_task: any */
    :: (bees == 0 || IS_AWAITED(me)) && found == NO_PLACE -> find_job()
    :: else
    fi;
    if
    :: found != NO_PLACE -> work(); run_found(); goto top
    :: else
    fi;
    /* Step: park: work */
    work();
    /* Step: park: parked */
    change(me, me, SURPLUS, PARKED);
    if
    :: swapped -> swapped = false
    :: else -> goto wake_up
    fi;
    /* Step: park: fence */
    fence(me); /* on x86 the swap before it is one */
#ifndef PARKING_BEE_DOES_NOT_LOOK
    if
    /* Step: park: last check */
    :: IS_CALLED || HAS_MAIL || ((bees == 0 || IS_AWAITED(me)) && QUEUED) ->
        /* Step: park: surplus */
        change(me, me, PARKED, SURPLUS);
        if
        :: swapped -> goto wake_up
        :: else
        fi
    :: else
    fi;
#endif
#ifndef PARKING_BEE_DOES_NOT_PASS_ON
    /* Step: park: pass on */
    pass_on(me);
#endif
    /* Step: park: parked */
    d_step { drain(me); assert(pending_parks > 0); pending_parks-- }
    /* In the middle of a job that waits, the bee looks for others now and then while a region waits for it. */
    do
    :: ! IS_AWAITED(me) || semaphore[me] != 0 -> break
    :: IS_AWAITED(me) && semaphore[me] == 0 && QUEUED ->
        d_step {
            was = state[me];
            if
            /* Step: wait_until_unparked: get up */
            :: was == PARKED -> become(me, me, SURPLUS); pending_parks++
            :: else
            fi
        }
        if
        :: was == PARKED -> goto wake_up
        :: else -> break
        fi
    od;

in_bed:
    reset_locals();
    remembered = 0;
end_in_bed:
    atomic { semaphore[me] != 0 -> permit = semaphore[me]; semaphore[me] = 0; printf("bee %d is unblocked\n", me) }
#ifndef WOKEN_BEE_SKIPS_COUNT
    /* A bee that was woken from ASLEEP is still counted. A parked bee is not, even if it was parked in its sleep. */
    if
    :: permit == PARKED && counted ->
        counted = false;
        /* Step: resume_from_sleep: unpark */
        unpark()
    :: else
    fi;
#endif
#ifdef WAKE_RANGE
    if
    /* Step: wake_requested: wake others */
    :: permit == ASLEEP && QUEUED -> wake_some(me)
    :: true
    fi;
#endif
    permit = 0;

wake_up:
    if
    :: state[me] == NOTIFIED ->
        /* Step: finish_waking: awake */
        change(me, me, NOTIFIED, AWAKE)
    :: else
    fi;
    reset_locals();
    if
    :: WAITS -> goto rest
    :: else -> goto top
    fi;

follow_state:
    if
    /* Step: handle_state: notified */
    :: state[me] == NOTIFIED -> goto wake_up
    /* Step: handle_state: surplus */
    :: state[me] == SURPLUS -> goto surplus
    /* Step: handle_state: terminated */
    :: state[me] == TERMINATED
    :: else -> goto top
    fi;
    /* Step: handle_state: find */
    find_job();
    if
    :: found != NO_PLACE -> work(); run_found(); goto top
    :: else
    fi;
    work();
    reset_locals();
    ended_bees++
}
