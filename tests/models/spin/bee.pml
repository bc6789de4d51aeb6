/*
 * A bee's life, the same for every protocol. The protocol supplies:
 *
 *   turn_idle      the bee has nothing left to run and begins to search
 *   get_sleepy     it announces that it may fall asleep; one more search follows
 *   fall_asleep    it counts itself and becomes ASLEEP; goes to `announce`, `search`, `lost` or `follow` if it may not
 *   leave_idle     it has found something, or is surplus: it is not to be reckoned with by others
 *   out_of_bed     it has taken its permit
 *   leave          it ends
 *   IS_UP          whether a state is that of a bee that may go on as it is
 */

/* One look, which takes what is there. The taking is a read-modify-write. */
inline look(place)
{
    d_step {
        if
        :: found == NOWHERE && queue[place] > 0 -> drain(me); queue[place]--; found = place; printf("bee %d takes from place %d\n", me, place)
        :: else
        fi
    }
}

/* What only this bee sees to, and its own deque, whose pop has a fence. */
inline search_own()
{
    found = NOWHERE;
#if REGIONS > 0
    look(START(me));
#endif
#if BOUND > 0
    look(MAILBOX(me));
#endif
}

inline search_all()
{
#if SPAWNED > 0
    fence(me);
    look(DEQUE(me));
#endif
    look(INJECTOR);
#if SPAWNED > 0
    look(DEQUE(OTHER(me)));
#endif
}

/* The last look before bed: at whatever comes from outside. */
#ifdef NO_DEQUES
#define SEEN_QUEUED (queue[INJECTOR] > 0)
#else
#define SEEN_QUEUED QUEUED
#endif
#ifdef BROKEN_LAST_LOOK_WITHOUT_CLOSING
#define LAST_LOOK (SEEN_QUEUED || IS_CALLED(me))
#else
#define LAST_LOOK (SEEN_QUEUED || IS_CALLED(me) || queue[CLOSING] > 0)
#endif
#ifdef BROKEN_NO_INJ
#undef LAST_LOOK
#define LAST_LOOK (IS_CALLED(me) || queue[CLOSING] > 0)
#endif

inline run_found()
{
    if
    :: d_step { found == INJECTOR && to_spawn > 0 -> to_spawn--; publish(me, DEQUE(me)) }
        poster_fence(me);
        new_job(me)
    :: else
    fi;
    if
    :: d_step { found != NOWHERE && found == long_one -> long_one = NOWHERE }
        left == 1
    :: else
    fi;
    d_step { left--; printf("bee %d has run what it took\n", me) }
}

proctype Bee(byte me)
{
    byte found;      /* where the search has found something */
    mtype permit;
    mtype was;       /* the state that a change by this thread has ended */
    byte remembered; /* jec: the jobs event counter after the announcement */
    byte b;          /* for loops over the bees */
    bit won;         /* the last compare-and-swap */
    bit needed;      /* whether somebody is to be woken */
    bit counted;     /* whether the bee is in the protocol's count of searching or sleeping bees */
    bit announced;

idle:
    skip;
    forget();
    permit = 0;
    remembered = 0;
    turn_idle();

search:
    skip;
    forget();
    search_own();
    search_all();
    if
    :: found != NOWHERE ->
        leave_idle();
        announced = false;
        run_found();
        goto follow
    :: else
    fi;
    if
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

#ifdef BROKEN_LAST_LOOK_FIRST
    if
    :: LAST_LOOK -> goto announce
    :: else
    fi;
    fall_asleep();
    goto rest;
#endif
    fall_asleep();
    if
    :: LAST_LOOK ->
        change(me, me, ASLEEP, AWAKE);
        if
        :: won -> count_off_sleeper(me); goto idle
        :: else -> goto lost
        fi
    :: else -> goto rest
    fi;

lost:
    /* Somebody else has ended this sleep: a post is on its way. Or the bee was parked where it lies, which brings no post, and who called
     * it may have looked before there was a sleeper to see. */
    if
    :: IS_CALLED(me) || queue[CLOSING] > 0 -> call(me, me)
    :: else
    fi;
    goto rest;

surplus:
    leave_idle();
    search_own();
    if
    :: members == 0 -> search_all()
    :: else
    fi;
    if
    :: found != NOWHERE -> run_found(); goto follow
    :: else
    fi;
    change(me, me, SURPLUS, PARKED);
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
    :: else -> 
#ifndef BROKEN_PARKING_BEE_DOES_NOT_LOOK
    pass_on(me)
#endif
    skip
    fi;
    untucked--;

rest:
end_abed:
    atomic { bed[me] != 0 -> permit = bed[me]; bed[me] = 0; printf("bee %d gets up\n", me) }
    out_of_bed();

follow:
    if
    :: state[me] == DISMISSED || queue[CLOSING] > 0 -> goto dismissed
    :: state[me] == NOTIFIED -> change(me, me, NOTIFIED, AWAKE); goto follow
    :: state[me] == SURPLUS -> goto surplus
    :: else -> goto idle
    fi;

dismissed:
    leave();
    gone++
}
