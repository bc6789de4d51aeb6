/*
 * Single bees are notified (after Mercury's engines). Beside its state each bee has a word: whether it is STEALING, that is, searching for the last time
 * before it sleeps, and whether it was HINTED then.
 *
 * Who posts a job for anybody hints it to one bee that is STEALING, by a swap of that word; if none is, it wakes one that is ASLEEP. A bee becomes
 * ASLEEP first, and then changes its word from STEALING to QUIET, unless it has been hinted. Mercury's IDLE is for what only one engine may run; here
 * that goes through the mailbox and the state.
 */
#include "common.pml"
mtype = { QUIET, STEALING, HINTED };
mtype word[BEES] = QUIET;

byte inactive; /* bees that search or sleep */

#define COUNTS_ARE(sleepers) (inactive == sleepers)

/* What the hint says, whose queue to look in first, makes no difference here: the bee looks in all. */
inline hint(thread, bee)
{
#ifdef HINT_GIVES_UP
    needed = (word[bee] != STEALING);
    if
    :: ! needed ->
        d_step {
            if
            :: word[bee] == STEALING -> drain(thread); word[bee] = HINTED
            :: else
            fi
        }
    :: else
    fi
#else
    d_step {
        needed = (word[bee] != STEALING);
        if
        :: ! needed -> drain(thread); word[bee] = HINTED; printf("bee %d: HINTED, by thread %d\n", bee, thread)
        :: else
        fi
    }
#endif
}

inline tell(thread)
{
    if
    :: inactive > 0 ->
        hint(thread, 0);
        if
        :: needed -> hint(thread, 1)
        :: else
        fi;
        if
        :: needed -> wake(thread, false)
        :: else
        fi
    :: else
    fi
}

inline count_inactive_off(thread)
{
    d_step { drain(thread); assert(inactive > 0); inactive--; needed = (inactive > 0); printf("inactive %d\n", inactive) }
}

inline rise(thread)
{
    skip
}

/* A bee that is ASLEEP may still be called STEALING, and nobody must rely on that when it is parked. */
inline park(thread, bee)
{
#ifndef PARKED_SLEEPER_STAYS_STEALING
    d_step { drain(thread); word[bee] = QUIET }
#endif
    count_inactive_off(thread)
}

inline start_searching()
{
    d_step { drain(me); inactive++; printf("inactive %d\n", inactive) }
}

/* It may have been hinted, and have found something else: so it looks whether anything is left, whoever else searches. */
inline stop_searching()
{
    d_step { drain(me); word[me] = QUIET; printf("bee %d: QUIET\n", me) }
    count_inactive_off(me)
}

/* A hint that this overwrites is used up by the search that follows. */
inline announce()
{
    d_step { drain(me); word[me] = STEALING; printf("bee %d: STEALING\n", me) }
}

inline turn_stealing_into_quiet()
{
    d_step {
#ifdef HINT_IS_OVERWRITTEN
        needed = false;
#else
        needed = (word[me] != STEALING);
#endif
        drain(me);
        word[me] = QUIET;
        printf("bee %d: QUIET\n", me)
    }
}

#ifdef WORD_BEFORE_STATE
inline count_asleep()
{
    turn_stealing_into_quiet();
    if
    :: needed -> needed = false; goto again
    :: else
    fi
}

inline confirm()
{
    skip
}
#else
inline count_asleep()
{
    skip
}

inline confirm()
{
    turn_stealing_into_quiet()
}
#endif

#include "bee.pml"
#include "scene.pml"
