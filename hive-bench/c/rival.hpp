/* What a rival in C++ gives `runtimes/native.rs`: a table of functions. */

#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "search.h"

#ifdef __linux__
#include <sched.h>
#endif

/* The bodies of loops, as in openmp.c. */
typedef void part(const void *context, std::size_t begin, std::size_t end);
typedef double sum_of_part(const void *context, std::size_t begin, std::size_t end);

/* `Tree` of `kernels/joins.rs`. */
struct tree {
    std::uint64_t value;
    const tree *left, *right;
};

/* `Recursion` of `kernels/recursion.rs`. */
struct recursion {
    enum { fib, sums, search, queens, skynet } kind;
    union {
        std::uint64_t number, leaves;
        struct {
            const tree *root;
            std::uint64_t times;
        };
        node from;
        std::uint8_t columns;
    };
};

struct rival {
    /* Makes the pool from a thread that is bound to all of the CPUs, which becomes its first thread if it takes part.
     * Null if there can be none of this size. */
    void *(*create)(std::size_t threads, const std::size_t *cpus);
    void (*destroy)(void *pool);
    /* A part for each thread, by its number. */
    void (*region)(void *pool, part *body, const void *context);
    /* A loop by chunks that threads take one by one, or by a block a thread where `chunk` is 0. */
    void (*loop)(void *pool, std::size_t len, std::size_t chunk, part *body, const void *context);
    double (*sum)(void *pool, std::size_t len, std::size_t chunk, sum_of_part *body, const void *context);
    std::uint64_t (*recurse)(void *pool, const recursion *what);
};

extern "C" const rival hb_tbb, hb_citor, hb_libfork;

/* Binds the calling thread to a CPU. */
static inline void pin(std::size_t cpu) {
#ifdef __linux__
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(cpu, &only);
    sched_setaffinity(0, sizeof only, &only);
#else
    (void)cpu;
#endif
}

/* Some chunks of a loop, by their numbers, one after the other; the sum of what they come to, if that is numbers. */
auto of_some_chunks(std::size_t len, std::size_t chunk, std::size_t first, std::size_t end, const auto &body) {
    auto next = [&] {
        std::size_t begin = first++ * chunk;
        return body(begin, len - begin < chunk ? len : begin + chunk);
    };
    if constexpr (std::is_void_v<decltype(next())>) {
        while (first < end)
            next();
    } else {
        double sum = 0.0;
        while (first < end)
            sum += next();
        return sum;
    }
}

static inline std::size_t chunks_in(std::size_t len, std::size_t chunk) { return (len + chunk - 1) / chunk; }
