/* oneTBB as its users write it, in the arena that the calling thread has by itself. A loop is cut into a part for each
 * thread (`static_partitioner`), or further wherever threads have nothing to do (`auto_partitioner`, the default). Any
 * thread may run any part. */

#include <functional>
#include <vector>

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_reduce.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>

#include "recursions.hpp"

namespace {

typedef tbb::blocked_range<size_t> range;

/* Binds each thread when it enters the arena, and again only where it has another place than before. */
struct pool : tbb::task_scheduler_observer {
    const std::vector<size_t> cpus;
    const tbb::global_control limit;

    pool(size_t threads, const size_t *cpus)
        : cpus(cpus, cpus + threads), limit(tbb::global_control::max_allowed_parallelism, threads) {
        observe(true);
    }
    ~pool() { observe(false); }

    void on_scheduler_entry(bool is_worker) override {
        thread_local size_t bound_to = SIZE_MAX;
        int place = tbb::this_task_arena::current_thread_index();
        if (is_worker && place >= 0 && size_t(place) < cpus.size() && cpus[place] != bound_to)
            pin(bound_to = cpus[place]);
    }
};

/* A loop over blocks, or over chunks; `each` runs a body by a partitioner. Chunk by chunk (`simple_partitioner`) would
 * take many times as long where chunks are short. */
auto by_size(size_t len, size_t chunk, auto body, auto each) {
    if (chunk == 0)
        return each(range(0, len), tbb::static_partitioner(), body);
    auto of_chunks = [=](size_t first, size_t end) { return of_some_chunks(len, chunk, first, end, body); };
    return each(range(0, chunks_in(len, chunk)), tbb::auto_partitioner(), of_chunks);
}

void loop(const range &of, auto partitioner, auto body) {
    tbb::parallel_for(of, [=](const range &some) { body(some.begin(), some.end()); }, partitioner);
}

double sum(const range &of, auto partitioner, auto body) {
    auto add = [=](const range &some, double so_far) { return so_far + body(some.begin(), some.end()); };
    return tbb::parallel_reduce(of, 0.0, add, std::plus<double>(), partitioner);
}

struct invoke {
    void *pool;
    void operator()(const auto &a, const auto &b) const { tbb::parallel_invoke(a, b); }
};

}

const rival hb_tbb = {
    [](size_t threads, const size_t *cpus) -> void * { return new pool(threads, cpus); },
    [](void *of) { delete static_cast<pool *>(of); },
    [](void *of, part *body, const void *context) {
        size_t threads = static_cast<pool *>(of)->cpus.size();
        loop(range(0, threads), tbb::static_partitioner(), [=](size_t first, size_t end) {
            for (; first < end; first++)
                body(context, first, first + 1);
        });
    },
    [](void *, size_t len, size_t chunk, part *body, const void *context) {
        by_size(len, chunk, std::bind_front(body, context), [](auto... all) { loop(all...); });
    },
    [](void *, size_t len, size_t chunk, sum_of_part *body, const void *context) {
        return by_size(len, chunk, std::bind_front(body, context), [](auto... all) { return sum(all...); });
    },
    recurse<by_joins<invoke>>,
};
