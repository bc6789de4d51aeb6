/* libfork: joins of coroutines, on its pool whose threads sleep when there is nothing to do. The calling thread is none
 * of them. It has no loops. */

#include <cstdlib>

#include <libfork.hpp>

#include "recursions.hpp"

namespace {

constexpr auto once = [](auto once, auto work) -> lf::task<uint64_t> {
    uint64_t own, a, b;
    if (!work.splits(own))
        co_return own;
    co_await lf::fork(&a, once)(work.left());
    co_await lf::call(&b, once)(work.right());
    co_await lf::join;
    co_return own + a + b;
};

/* So many times, one after the other, without the calling thread in between. */
constexpr auto often = [](auto, auto work, uint64_t times) -> lf::task<uint64_t> {
    uint64_t total = 0, one;
    for (; times > 0; times--) {
        co_await lf::call(&one, once)(work);
        co_await lf::join;
        total += one;
    }
    co_return total;
};

/* Goes from thread to thread, and binds each. */
constexpr auto bind = [](auto, lf::lazy_pool *pool, const size_t *cpus) -> lf::task<void> {
    for (lf::worker_context *thread : pool->contexts()) {
        co_await lf::resume_on(thread);
        pin(*cpus++);
    }
};

struct coroutines {
    static uint64_t run(void *pool, auto work, uint64_t times) {
        return lf::sync_wait(*static_cast<lf::lazy_pool *>(pool), often, work, times);
    }
};

}

const rival hb_libfork = {
    [](size_t threads, const size_t *cpus) -> void * {
        auto pool = new lf::lazy_pool(threads);
        lf::sync_wait(*pool, bind, pool, cpus);
        return pool;
    },
    [](void *pool) { delete static_cast<lf::lazy_pool *>(pool); },
    [](void *, part *, const void *) { std::abort(); },
    [](void *, size_t, size_t, part *, const void *) { std::abort(); },
    [](void *, size_t, size_t, sum_of_part *, const void *) -> double { std::abort(); },
    recurse<coroutines>,
};
