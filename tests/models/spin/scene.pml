/*
 * Everybody but the bees, and what must hold when nobody has anything left to do.
 */

#ifdef FROM_START
byte to_inject = 0;
#else
byte to_inject = INJECTED;
#endif
byte to_bind = BOUND;
byte to_start = REGIONS;
byte at_work; /* outsiders, and the resizer */

/* For queens. */
#ifndef SOMEBODY_SLEEPS
#define SOMEBODY_SLEEPS (abed > 0)
#endif

/* A thread that is no bee. What is left to publish is published by whichever comes first. */
proctype Outsider(byte me)
{
    NOTES;
    do
    :: d_step { to_inject > 0 && BUFFER_IS_FREE(me) -> to_inject--; publish(me, INJECTOR) }
        tell_of(me);
        forget()
    :: d_step { to_bind > 0 && BUFFER_IS_FREE(me) -> to_bind--; publish(me, MAILBOX(CALLED)) }
#ifdef BOUND_JOB_IS_TOLD_TO_ANYBODY
        tell_of(me);
#else
        post_to(me, CALLED);
#endif
        forget()
    :: d_step { to_start > 0 && BUFFER_IS_FREE(me) -> to_start--; publish(me, START(CALLED)) }
        /* Step: call_if_late: fence */
        POSTER_FENCE(me);
        if
        /* Step: call_if_late: attendance */
        :: SOMEBODY_SLEEPS || members <= CALLED -> call(me, CALLED)
        :: else
        fi;
        forget()
    :: to_inject + to_bind + to_start == 0 -> break
    od;
    at_work--
}

#ifdef SHRINK_TO
/* Makes a bee surplus. One that sleeps is parked where it lies. */
inline lay_off(bee)
{
    d_step {
        was = state[bee];
        if
        /* Step: lay_off: up */
        :: was == AWAKE || was == NOTIFIED -> become(STAFF, bee, SURPLUS); untucked++
        /* Step: lay_off: asleep */
        :: was == ASLEEP -> become(STAFF, bee, PARKED)
        :: else
        fi
    }
    if
    :: was == ASLEEP ->
        /* Step: lay_off: attendance */
        d_step { assert(abed > 0); abed--; printf("abed %d\n", abed) }
        /* Step: lay_off: park */
        park(STAFF, bee);
#ifndef RESIZER_DOES_NOT_LOOK
        /* Step: lay_off: fence */
        fence(STAFF);
        /* Step: lay_off: hand on */
        hand_on(STAFF);
#endif
        skip
    :: else
    fi
}

/* Makes a bee a member again. One that has not parked yet has its order cancelled. */
inline bring_back(bee)
{
    d_step {
        was = state[bee];
        if
        /* Step: bring_back: surplus */
        :: was == SURPLUS -> become(STAFF, bee, AWAKE); untucked--
        /* Step: bring_back: parked */
        :: was == PARKED -> become(STAFF, bee, NOTIFIED)
        :: else
        fi
    }
    if
    :: was == PARKED -> post_bed(bee, PARKED)
    :: else
    fi
}

inline shrink()
{
    members = SHRINK_TO;
    bee = SHRINK_TO;
    do
    :: bee < BEES -> lay_off(bee); forget(); bee++
    :: else -> break
    od
}

inline grow()
{
    bee = SHRINK_TO;
    do
    :: bee < BEES -> bring_back(bee); forget(); bee++
    :: else -> break
    od;
    members = BEES
}

proctype Resizer()
{
    NOTES;
    byte bee;
    shrink();
#ifdef GROW
    grow();
    shrink();
#endif
    atomic { bee = 0; at_work-- }
}
#endif

/* The end, when nobody publishes or resizes any more. */
#ifdef DISMISS
proctype Ender()
{
    NOTES;
    byte bee;
    at_work == 0;
    do
    :: bee < BEES ->
        d_step {
            was = state[bee];
            /* Step: dismiss_all: dismiss */
            become(STAFF, bee, DISMISSED);
            if
            :: was == SURPLUS -> untucked--
            :: else
            fi
        }
        if
        :: was == ASLEEP -> get_up(STAFF, bee)
        :: was == PARKED -> post_bed(bee, PARKED)
        :: else
        fi;
        bee++
    :: else -> break
    od
}
#endif

#define IS_ABED(bee) (state[bee] == ASLEEP || state[bee] == PARKED)
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
        at_work = OUTSIDERS;
        run Outsider(BEES);
#if OUTSIDERS > 1
        run Outsider(BEES + 1);
#endif
#endif
#ifdef SHRINK_TO
        at_work++;
        run Resizer();
#endif
#ifdef DISMISS
        run Ender()
#endif
    }
    /* Nobody can go on, and no store is in a buffer. */
    timeout ->
        assert(bed[0] == 0 && bed[1] == 0);
#ifdef DISMISS
        assert(gone == BEES);
        assert(left == 0);
        assert(abed == 0 && untucked == 0);
        assert(COUNTS_ARE(0))
#else
        assert(left == 0);
        assert(untucked == 0); /* or settle() would wait for ever */
        assert(IS_ABED(0) && IS_ABED(1));
        assert(abed == SLEEPERS);
        assert(COUNTS_ARE(SLEEPERS))
#endif
}

/* Not only does nobody get stuck: it does come to that, if each thread that could go on does so in the end. */
#ifdef LIVENESS
#ifdef DISMISS
ltl comes_to_rest { <>[] (gone == BEES) }
#else
ltl comes_to_rest { <>[] (left == 0 && IS_ABED(0) && IS_ABED(1)) }
#endif
#endif
