/*
 * A bee's life, the same for every protocol. The protocol supplies
 *
 *   start_searching    the bee has nothing left to run
 *   stop_searching     it has found something, or goes away; `needed`: somebody else may have relied on it
 *   announce           it may fall asleep soon, and searches once more; or it may not, now, and goes on at `search`
 *   count_asleep       it counts itself asleep; or something has been posted, and it goes on at `announce`
 *   confirm            it is ASLEEP; `needed`: something has been posted meanwhile
 *   rise               for whoever takes a bee out of ASLEEP: counts it off
 *   park               the same for the resizer, who parks it
 *   tell               for whoever has published a job for anybody: wakes somebody for it if need be
 */

/* One look, which takes what it finds. Taking is a read-modify-write. */
inline look(place)
{
    d_step {
        if
        :: found == NOWHERE && queue[place] > 0 ->
            drain(me);
            queue[place]--;
            found = place;
            printf("bee %d takes from place %d\n", me, place)
        :: else
        fi
    }
}

inline search_own()
{
#if REGIONS > 0
    look(START(me));
#endif
#if BOUND > 0
    look(MAILBOX(me));
#endif
    skip
}

inline search_all()
{
#if SPAWNED > 0
    fence(me); /* a pop has one */
    look(DEQUE(me));
    look(DEQUE(OTHER(me)));
#endif
    look(INJECTOR)
}

/* The bee has something to do, or goes away. Posters relied on it as long as it was searching: it looks whether anything is left for others. */
inline work()
{
    if
    :: counted ->
        stop_searching();
        counted = false;
#ifdef NO_WAKE_WHEN_LEAVING
        needed = false;
#endif
        if
        :: needed -> hand_on(me)
        :: else
        fi
    :: else
    fi
}

#ifdef LATCH
bit waits[BEES]; /* whether the bee is in the middle of a job that waits for the latch */
#define WAITS waits[me]
#define IS_SET (queue[WAITED_FOR] > 0)

inline set_latch()
{
    d_step { BUFFER_IS_FREE(me) -> publish(me, WAITED_FOR) }
    POSTER_FENCE(me);
    if
    :: waits[OTHER(me)] ->
#ifdef LATCH_FORGETS_PARKED
        rouse(me, OTHER(me))
#else
        call(me, OTHER(me))
#endif
    :: else
    fi
}
#else
#define WAITS false
#define IS_SET false
#endif

inline run_found()
{
    if
    :: d_step { found == INJECTOR && to_spawn > 0 && BUFFER_IS_FREE(me) -> to_spawn--; publish(me, DEQUE(me)) }
        POSTER_FENCE(me);
        new_job(me);
#ifdef LATCH
        WAITS = true;
        found = NOWHERE;
        goto follow
#endif
    :: else
    fi;
    if
    :: d_step { found == long_one -> long_one = NOWHERE }
        left == 1
    :: else
    fi;
#ifdef LATCH
    if
    :: found == DEQUE(0) || found == DEQUE(1) -> set_latch()
    :: else
    fi;
#endif
    d_step { left--; found = NOWHERE; printf("bee %d has run it\n", me) }
}

/* What the bee must be up for. */
#ifdef LAST_LOOK_WITHOUT_LATCH
#define MUST_BE_UP (IS_CALLED(me) || queue[CLOSING] > 0)
#else
#define MUST_BE_UP (IS_CALLED(me) || queue[CLOSING] > 0 || (WAITS && IS_SET))
#endif

/* The last look before bed. That it goes over several places in one step changes nothing: each place has its own poster, who looks for sleepers afterwards. */
#if defined(LAST_LOOK_WITHOUT_QUEUES)
#define LAST_LOOK MUST_BE_UP
#elif defined(LAST_LOOK_WITHOUT_DEQUES)
#define LAST_LOOK (MUST_BE_UP || queue[INJECTOR] > 0)
#elif defined(LAST_LOOK_WITHOUT_CALLS)
#define LAST_LOOK (QUEUED || queue[CLOSING] > 0)
#elif defined(LAST_LOOK_WITHOUT_CLOSING)
#define LAST_LOOK (QUEUED || IS_CALLED(me))
#else
#define LAST_LOOK (MUST_BE_UP || QUEUED)
#endif

proctype Bee(byte me)
{
    NOTES;
    byte found;      /* where the search has found something */
    mtype permit;
    bit announced;   /* whether the search that is on follows an announcement */
    bit counted;     /* whether the bee is counted among those without work, and nobody else will count it off */
    byte remembered; /* jec: the jobs event counter after the announcement */

#ifdef ONE_BEE
    if
    :: me == 1 -> goto rest
    :: else
    fi;
#endif

idle:
    if
    :: counted
    :: else -> start_searching(); counted = true
    fi;

search:
    forget();
#ifdef LATCH
    if
    :: WAITS && IS_SET -> announced = false; work(); d_step { WAITS = false; left--; printf("bee %d has waited\n", me) } goto follow
    :: else
    fi;
#endif
    search_own();
    search_all();
    if
    :: found != NOWHERE -> announced = false; work(); run_found(); goto follow
    :: (state[me] != AWAKE && ! WAITS) || queue[CLOSING] > 0 -> announced = false; goto follow
    :: else
    fi;
    if
    :: announced -> announced = false
    :: else ->
again:
        announce();
        announced = true;
        goto search
    fi;

#ifdef LAST_LOOK_FIRST
    if
    :: LAST_LOOK -> goto again
    :: else
    fi;
#endif
    count_asleep();
    d_step { drain(me); abed++; printf("abed %d\n", abed) }
    change(me, me, AWAKE, ASLEEP); /* a read-modify-write, so on x86 it is the sleeper's fence */
    if
    :: won
    :: else -> count_up(me); goto follow
    fi;
asleep:
    confirm();
    if
    :: needed -> needed = false
#ifndef LAST_LOOK_FIRST
    :: ! needed && LAST_LOOK
#endif
    :: else -> goto rest
    fi;
    change(me, me, ASLEEP, AWAKE);
    if
    :: won -> count_up(me); goto idle
    :: else
    fi;
    /*
     * Somebody else has ended this sleep: a post is on its way. Or a resizer has parked the bee where it lies, and no post is; and
     * who has looked before there was a sleeper has not called it.
     */
#ifndef PARKED_SLEEPER_DOES_NOT_CALL_ITSELF
    if
    :: MUST_BE_UP -> call(me, me)
    :: else
    fi;
#endif
    goto rest;

surplus:
    work();
    forget();
    search_own();
    if
    :: members == 0 -> search_all()
    :: else
    fi;
    if
    :: found != NOWHERE -> run_found(); goto follow
    :: else -> change(me, me, SURPLUS, PARKED)
    fi;
    if
    :: won
    :: else -> goto follow
    fi;
#ifndef PARKING_BEE_DOES_NOT_LOOK
    if
    :: MUST_BE_UP || (members == 0 && QUEUED) ->
        change(me, me, PARKED, SURPLUS);
        if
        :: won -> goto follow
        :: else
        fi
    :: else
    fi;
#endif
    d_step { drain(me); assert(untucked > 0); untucked-- }
#ifndef PARKING_BEE_DOES_NOT_HAND_ON
    hand_on(me);
#endif

rest:
    forget();
    remembered = 0;
end_in_bed:
    atomic { bed[me] != 0 -> permit = bed[me]; bed[me] = 0; printf("bee %d gets up\n", me) }
#ifndef WOKEN_BEE_TRUSTS_ITS_COUNT
    /* Woken from ASLEEP, it is still counted. Parked, it is not, even if it was parked in its sleep. */
    counted = (permit == ASLEEP);
#endif
    permit = 0;

follow:
    if
    :: queue[CLOSING] > 0 || state[me] == DISMISSED
    :: else ->
        if
        :: state[me] == NOTIFIED -> change(me, me, NOTIFIED, AWAKE); goto follow
        :: state[me] == SURPLUS && ! WAITS -> goto surplus
        :: else -> goto idle
        fi
    fi;
    work();
    forget();
    gone++
}
