/*
 * All threads except the bees, and what must hold when no thread has anything left to do.
 */

#ifdef FROM_START
byte to_inject = 0;
#else
byte to_inject = INJECTED;
#endif
byte to_bind = BOUND;
byte to_start = REGIONS;
byte running_threads; /* how many of the outsiders and the resizer still run */

/* Whether a queen assumes that a bee sleeps. */
#ifndef ANY_SLEEPER
#define ANY_SLEEPER (sleepers > 0)
#endif

/* A thread that is not a bee. Each job that is left to publish is published by the first outsider that comes to it. */
proctype Outsider(byte me)
{
    LOCALS;
    do
    :: d_step { to_inject > 0 && BUFFER_IS_FREE(me) -> to_inject--; publish(me, INJECTOR) }
        notify_all_of(me);
        reset_locals()
    :: d_step { to_bind > 0 && BUFFER_IS_FREE(me) -> to_bind--; publish(me, MAILBOX(CALLED)) }
#ifdef BOUND_JOB_NOTIFIES_ANY_BEE
        notify_all_of(me);
#else
        send_to(me, CALLED);
#endif
        reset_locals()
    :: d_step { to_start > 0 && BUFFER_IS_FREE(me) -> to_start--; publish(me, START(CALLED)) }
        /* Step: is_any_asleep: fence */
        POSTER_FENCE(me);
        if
        /* Step: is_any_asleep: occupancy */
        :: ANY_SLEEPER || bees <= CALLED -> call(me, CALLED)
        :: else
        fi;
        reset_locals()
    :: to_inject + to_bind + to_start == 0 -> break
    od;
    running_threads--
}

#ifdef SHRINK_TO
/* Makes a bee surplus. A bee that is asleep is parked without being woken. */
inline make_surplus(bee)
{
    d_step {
        was = state[bee];
        if
        /* Step: make_surplus: awake */
        :: was == AWAKE || was == NOTIFIED -> become(THREADS, bee, SURPLUS); pending_parks++
        /* Step: make_surplus: asleep */
        :: was == ASLEEP -> become(THREADS, bee, PARKED)
        :: else
        fi
    }
    if
    :: was == ASLEEP ->
        /* Step: make_surplus: occupancy */
        d_step { assert(sleepers > 0); sleepers--; printf("sleepers %d\n", sleepers) }
        /* Step: make_surplus: park */
        park(THREADS, bee);
#ifndef RESIZER_DOES_NOT_LOOK
        /* Step: make_surplus: fence */
        fence(THREADS);
        /* Step: make_surplus: pass on */
        pass_on(THREADS);
#endif
        if
        /* Step: make_surplus: awaited */
        :: IS_AWAITED(bee) -> call(THREADS, bee)
        :: else
        fi
    :: else
    fi
}

/* Makes a surplus bee belong to the hive again. A bee that has not parked yet goes on without parking. */
inline reactivate(bee)
{
    d_step {
        was = state[bee];
        if
        /* Step: reactivate: surplus */
        :: was == SURPLUS -> become(THREADS, bee, AWAKE); pending_parks--
        /* Step: reactivate: parked */
        :: was == PARKED -> become(THREADS, bee, NOTIFIED)
        :: else
        fi
    }
    if
    :: was == PARKED -> unblock(bee, PARKED)
    :: else
    fi
}

inline shrink()
{
    bees = SHRINK_TO;
    bee = SHRINK_TO;
    do
    :: bee < BEES -> make_surplus(bee); reset_locals(); bee++
    :: else -> break
    od
}

inline grow()
{
    bee = SHRINK_TO;
    do
    :: bee < BEES -> reactivate(bee); reset_locals(); bee++
    :: else -> break
    od;
    bees = BEES
}

proctype Resizer()
{
    LOCALS;
    byte bee;
    shrink();
#ifdef GROW
    grow();
    shrink();
#endif
    atomic { bee = 0; running_threads-- }
}
#endif

/* The end of the hive, when no thread publishes or resizes any more. */
#ifdef TERMINATE
proctype Ender()
{
    LOCALS;
    byte bee;
    running_threads == 0;
    do
    :: bee < BEES ->
        d_step {
            was = state[bee];
            /* Step: terminate_all: terminate */
            become(THREADS, bee, TERMINATED);
            if
            :: was == SURPLUS -> pending_parks--
            :: else
            fi
        }
        if
        :: was == ASLEEP -> count_and_unblock(THREADS, bee)
        :: was == PARKED -> unblock(bee, PARKED)
        :: else
        fi;
        bee++
    :: else -> break
    od
}
#endif

#define IS_BLOCKED(bee) (state[bee] == ASLEEP || state[bee] == PARKED)
#define SLEEPERS ((state[0] == ASLEEP) + (state[1] == ASLEEP))

init {
    atomic {
#ifdef ONE_BEE
        state[1] = PARKED;
#endif
        run Memory();
        run Bee(0);
        run Bee(1);
#ifdef FROM_START
        queue[INJECTOR] = INJECTED;
#endif
#if !defined(FROM_START) || BOUND + REGIONS > 0
        running_threads = OUTSIDERS;
        run Outsider(BEES);
#if OUTSIDERS > 1
        run Outsider(BEES + 1);
#endif
#endif
#ifdef SHRINK_TO
        running_threads++;
        run Resizer();
#endif
#ifdef TERMINATE
        run Ender()
#endif
    }
    /* No thread can go on, and no store is in a buffer. */
    timeout ->
        assert(semaphore[0] == 0 && semaphore[1] == 0);
#ifdef TERMINATE
        assert(ended_bees == BEES);
        assert(left == 0);
        assert(sleepers == 0 && pending_parks == 0);
        assert(COUNTS_MATCH(0))
#else
        assert(left == 0);
        assert(pending_parks == 0); /* otherwise a wait for all surplus bees to park would never end */
        assert(IS_BLOCKED(0) && IS_BLOCKED(1));
        assert(sleepers == SLEEPERS);
        assert(COUNTS_MATCH(SLEEPERS))
#endif
}

/* Every run comes to this rest, if each thread that can go on does so in the end. */
#ifdef LIVENESS
#ifdef TERMINATE
ltl quiesces { <>[] (ended_bees == BEES) }
#else
ltl quiesces { <>[] (left == 0 && IS_BLOCKED(0) && IS_BLOCKED(1)) }
#endif
#endif
