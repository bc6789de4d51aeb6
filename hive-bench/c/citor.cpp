/* citor as its documentation says: `runPlex` for what each thread has to do once, its loops, sums and joins. */

#include <functional>
#include <vector>

#include <citor/thread_pool.h>

#include "recursions.hpp"

namespace {

struct by_blocks : citor::StaticHints {
    static constexpr bool cancellationChecks = false;
};

struct one_by_one : citor::DynamicHints {
    static constexpr std::size_t chunk = 1;
    static constexpr bool cancellationChecks = false;
};

/* A number of each thread, on cache lines of its own. */
struct alignas(128) slot {
    double number;
};

citor::ThreadPool &of(void *pool) { return *static_cast<citor::ThreadPool *>(pool); }

struct fork_join {
    void *pool;
    void operator()(const auto &a, const auto &b) const { of(pool).forkJoin<citor::CcdLocalForkJoinHints>(a, b); }
};

/* Its sums have blocks only, so for chunks each thread adds up what it gets. */
double sum_of_chunks(void *pool, size_t len, size_t chunk, auto body) {
    std::vector<slot> sums(of(pool).participants());
    of(pool).parallelFor<one_by_one>(0, chunks_in(len, chunk), [&](size_t first, size_t end) {
        sums[citor::ThreadPool::workerIndex()].number += of_some_chunks(len, chunk, first, end, body);
    });
    double sum = 0.0;
    for (const slot &one : sums)
        sum += one.number;
    return sum;
}

}

const rival hb_citor = {
    [](size_t threads, const size_t *cpus) -> void * {
        auto pool = new citor::ThreadPool(threads);
        if (pool->participants() != threads) {
            delete pool;
            return nullptr;
        }
        pool->runPlex<by_blocks>(1, threads, [=](size_t, size_t id, size_t, size_t) { pin(cpus[id]); });
        return pool;
    },
    [](void *pool) { delete &of(pool); },
    [](void *pool, part *body, const void *context) {
        of(pool).runPlex<by_blocks>(1, of(pool).participants(), [=](size_t, size_t id, size_t, size_t) {
            body(context, id, id + 1);
        });
    },
    [](void *pool, size_t len, size_t chunk, part *body, const void *context) {
        auto some = std::bind_front(body, context);
        if (chunk == 0)
            return of(pool).parallelFor<by_blocks>(0, len, some);
        of(pool).parallelFor<one_by_one>(0, chunks_in(len, chunk), [=](size_t first, size_t end) {
            of_some_chunks(len, chunk, first, end, some);
        });
    },
    [](void *pool, size_t len, size_t chunk, sum_of_part *body, const void *context) {
        auto some = std::bind_front(body, context);
        if (chunk == 0)
            return of(pool).parallelReduce<by_blocks>(0, len, 0.0, some, std::plus<double>());
        return sum_of_chunks(pool, len, chunk, some);
    },
    recurse<by_joins<fork_join>>,
};
