/*
 * The others: threads from outside, a resizer, the end; and what must hold when nobody has anything left to do.
 */

byte hands = OUTSIDERS;    /* outsiders and the resizer, while they have something to do */

byte to_inject = INJECTED;
byte to_bind = BOUND;
byte to_start = REGIONS;

proctype Outsider(byte me)
{
    byte b;
    bit won;
    bit needed;
    mtype was;
    do
    :: d_step { to_inject > 0 && BUFFER_FREE(me) -> to_inject--; publish(me, INJECTOR) }
        poster_fence(me);
        new_job(me);
        forget()
    :: d_step { to_bind > 0 && BUFFER_FREE(me) -> to_bind--; publish(me, MAILBOX(CALLED)) }
        poster_fence(me);
        new_bound_job(me, CALLED);
        forget()
    :: d_step { to_start > 0 && BUFFER_FREE(me) -> to_start--; publish(me, START(CALLED)) }
        poster_fence(me);
        if
        :: SOMEBODY_SLEEPS || members <= CALLED -> call(me, CALLED)
        :: else
        fi;
        forget()
    :: to_inject + to_bind + to_start == 0 -> break
    od;
    hands--
}

#ifdef SHRINK_TO
/* Makes a bee surplus. One that sleeps is parked where it lies, and whoever does so looks after its work. */
inline lay_off(bee)
{
    d_step {
        was = state[bee];
        if
        :: IS_UP(was) || was == NOTIFIED -> state[bee] = SURPLUS; untucked++; printf("bee %d: %e -> SURPLUS\n", bee, was)
        :: was == ASLEEP -> state[bee] = PARKED; printf("bee %d: ASLEEP -> PARKED\n", bee)
        :: else
        fi
    }
    if
    :: was == ASLEEP ->
        count_off_parked(STAFF);
#ifndef BROKEN_RESIZER_DOES_NOT_LOOK
        pass_on(STAFF)
#endif
    :: else
    fi
}

inline bring_back(bee)
{
    d_step {
        was = state[bee];
        if
        :: was == SURPLUS -> state[bee] = AWAKE; untucked--; printf("bee %d: SURPLUS -> AWAKE\n", bee)
        :: was == PARKED -> state[bee] = NOTIFIED; printf("bee %d: PARKED -> NOTIFIED\n", bee)
        :: else
        fi
    }
    if
    :: was == PARKED -> post(bee, PARKED)
    :: else
    fi
}

proctype Resizer()
{
    byte bee;
    byte b;
    bit won;
    bit needed;
    mtype was;
    members = SHRINK_TO;
    bee = SHRINK_TO;
    do
    :: bee < BEES -> lay_off(bee); forget(); bee++
    :: else -> break
    od;
#ifdef GROW
    bee = SHRINK_TO;
    do
    :: bee < BEES -> bring_back(bee); bee++
    :: else -> break
    od;
    members = BEES;
#endif
    bee = 0;
    was = 0;
    hands--
}
#endif

#ifdef DISMISS
/* Each bee's state becomes DISMISSED, and who was in bed is posted. */
proctype Ender()
{
    byte bee;
    mtype was;
    hands == 0;
    do
    :: bee < BEES ->
        d_step {
            was = state[bee];
            state[bee] = DISMISSED;
            if
            :: was == SURPLUS -> untucked--
            :: else
            fi
        }
        if
        :: was == ASLEEP -> count_off_sleeper(STAFF); post(bee, ASLEEP)
        :: was == PARKED -> post(bee, PARKED)
        :: else
        fi;
        bee++
    :: else -> break
    od
}
#endif

#ifdef CLOSE
/* The hive is told by one word that it closes, and who is in bed is woken to read it. */
proctype Ender()
{
    byte bee;
    bit won;
    mtype was;
    hands == 0;
    publish(STAFF, CLOSING);
    poster_fence(STAFF);
    do
    :: bee < BEES -> call(STAFF, bee); bee++
    :: else -> break
    od
}
#endif

#if defined(DISMISS) || defined(CLOSE)
#define FINISHED (gone == BEES)
#else
#define FINISHED (left == 0)
#endif

init {
    atomic {
        run Memory();
        run Bee(0);
        run Bee(1);
        run Outsider(BEES);
#if OUTSIDERS > 1
        run Outsider(BEES + 1);
#endif
#ifdef SHRINK_TO
        hands++;
        run Resizer();
#endif
#if defined(DISMISS) || defined(CLOSE)
        run Ender();
#endif
    }
#ifndef LIVENESS
    /* Nobody can go on, nothing is left in a store buffer. */
    timeout ->
        assert(FINISHED);
        assert(bed[0] == 0 && bed[1] == 0);
#if defined(DISMISS) || defined(CLOSE)
        assert(AT_END)
#else
        assert(AT_REST);
        assert(untucked == 0) /* settle() returns */
#endif
#endif
}

#ifdef LIVENESS
ltl finishes { <> FINISHED }
#endif
