/*
 * A bee's life, the same for every protocol. The protocol supplies
 *
 *   turn_idle          the bee has nothing left to run
 *   get_sleepy         it announces that it may fall asleep; one more search follows
 *   fall_asleep        it counts itself and becomes ASLEEP, or goes on at `announce`, `idle`, `lost` or `follow`
 *   leave_idle         it has found something, or is surplus: others must not rely on it any more
 *   out_of_bed, leave  it has taken its permit; it ends
 *   count_off_sleeper, count_off_parked
 *                      for whoever takes a bee out of ASLEEP: to an upright state, to PARKED
 *   IS_UP              whether a state is that of a bee that nobody wants anything else from
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

inline run_found()
{
    if
    :: d_step { found == INJECTOR && to_spawn > 0 && BUFFER_IS_FREE(me) -> to_spawn--; publish(me, DEQUE(me)) }
        POSTER_FENCE(me);
        new_job(me)
    :: else
    fi;
    if
    :: d_step { found == long_one -> long_one = NOWHERE }
        left == 1
    :: else
    fi;
    d_step { left--; found = NOWHERE; printf("bee %d has run it\n", me) }
}

/* The last look before bed: at what nobody would tell the bee who saw it up. */
#if defined(LAST_LOOK_WITHOUT_QUEUES)
#define SEES_JOBS false
#elif defined(LAST_LOOK_AT_DEQUES)
#define SEES_JOBS QUEUED
#else
#define SEES_JOBS (queue[INJECTOR] > 0)
#endif
#ifdef LAST_LOOK_WITHOUT_CLOSING
#define LAST_LOOK (SEES_JOBS || IS_CALLED(me))
#else
#define LAST_LOOK (SEES_JOBS || IS_CALLED(me) || queue[CLOSING] > 0)
#endif

proctype Bee(byte me)
{
    NOTES;
    byte found;      /* where the search has found something */
    mtype permit;
    bit announced;   /* whether the search that is on follows an announcement */
    bit counted;     /* whether the protocol's count of idle bees has this one in it, and nobody else will count it off */
    byte remembered; /* jec: the jobs event counter after the announcement */

idle:
    turn_idle();

search:
    forget();
    search_own();
    search_all();
    if
    :: found != NOWHERE -> announced = false; leave_idle(); run_found(); goto follow
    :: ! IS_UP(state[me]) || queue[CLOSING] > 0 -> announced = false; goto follow
    :: else
    fi;
    if
    :: announced -> announced = false
    :: else ->
announce:
        get_sleepy();
        announced = true;
        goto search
    fi;

#ifdef LAST_LOOK_FIRST
    if
    :: LAST_LOOK -> goto announce
    :: else
    fi;
    fall_asleep();
    goto rest;
#endif
    /* Every protocol's fall_asleep ends in a read-modify-write, which on x86 is the sleeper's fence. */
    fall_asleep();
    if
    :: LAST_LOOK -> change(me, me, ASLEEP, AWAKE)
    :: else -> goto rest
    fi;
    if
    :: won -> count_off_sleeper(me); goto idle
    :: else
    fi;

lost:
    /*
     * Somebody else has ended this sleep: a post is on its way. Or a resizer has parked the bee where it lies, and no post is; and a
     * queen who has looked before there was a sleeper has not called it.
     */
#ifndef PARKED_SLEEPER_DOES_NOT_CALL_ITSELF
    if
    :: IS_CALLED(me) || queue[CLOSING] > 0 -> call(me, me)
    :: else
    fi;
#endif
    goto rest;

surplus:
    leave_idle();
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
    if
    :: IS_CALLED(me) || queue[CLOSING] > 0 ->
        change(me, me, PARKED, SURPLUS);
        if
        :: won -> goto follow
        :: else
        fi
#ifndef PARKING_BEE_DOES_NOT_LOOK
    :: else -> pass_on(me)
#else
    :: else
#endif
    fi;
    untucked--;

rest:
    forget();
    remembered = 0;
end_in_bed:
    atomic { bed[me] != 0 -> permit = bed[me]; bed[me] = 0; printf("bee %d gets up\n", me) }
    out_of_bed();
    permit = 0;

follow:
    if
    :: queue[CLOSING] > 0 || state[me] == DISMISSED
    :: else ->
        if
        :: state[me] == NOTIFIED -> change(me, me, NOTIFIED, AWAKE); goto follow
        :: state[me] == SURPLUS -> goto surplus
        :: else -> goto idle
        fi
    fi;
    leave();
    gone++
}
