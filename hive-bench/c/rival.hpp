/* What a rival in C++ gives `runtimes/native.rs`: a table of functions. */

#pragma once

#include <cstddef>
#include <cstdint>

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

struct loops {
    /* A part for each thread, by its number. */
    void (*region)(void *pool, part *body, const void *context);
    void (*blocks)(void *pool, std::size_t len, part *body, const void *context);
    void (*dynamic)(void *pool, std::size_t len, std::size_t chunk, part *body, const void *context);
    double (*sum)(void *pool, std::size_t len, sum_of_part *body, const void *context);
    double (*dynamic_sum)(void *pool, std::size_t len, std::size_t chunk, sum_of_part *body, const void *context);
};

struct joins {
    std::uint64_t (*fib)(void *pool, std::uint64_t n);
    std::uint64_t (*sums)(void *pool, const tree *root, std::uint64_t times);
    std::uint64_t (*search)(void *pool, std::uint64_t hash, std::uint32_t depth, std::uint32_t children);
    std::uint64_t (*queens)(void *pool, std::uint8_t columns);
    std::uint64_t (*skynet)(void *pool, std::uint64_t leaves);
};

struct rival {
    /* Makes the pool from a thread that is bound to all of the CPUs, which becomes its first thread if it takes part.
     * Null if there can be none of this size. */
    void *(*create)(std::size_t threads, const std::size_t *cpus);
    void (*destroy)(void *pool);
    /* Null if it has none. */
    const loops *its_loops;
    joins its_joins;
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

/* A chunk of a loop, by its number. */
template <class Body> auto chunk_of(std::size_t len, std::size_t chunk, std::size_t number, const Body &body) {
    std::size_t begin = number * chunk;
    return body(begin, len - begin < chunk ? len : begin + chunk);
}

static inline std::size_t chunks_in(std::size_t len, std::size_t chunk) { return (len + chunk - 1) / chunk; }
