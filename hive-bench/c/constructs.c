/* The cost of a construct beside the work in it, measured as in EPCC's syncbench and schedbench: many of one construct,
 * with a delay in each. The caller passes the delay, which is the same for every runtime. */

#include <omp.h>
#include <stdint.h>

typedef void delay(uint64_t length);

/* The order of `Construct` in `src/catalog/construct.rs`. */
enum construct {
    PARALLEL,
    FOR,
    PARALLEL_FOR,
    BARRIER,
    SINGLE,
    ORDERED,
    REDUCTION,
    LOOP_STATIC,
    LOOP_STATIC_1,
    LOOP_DYNAMIC_1,
    LOOP_GUIDED_1,
};

/* A loop of so many iterations for each thread, in one region, by a schedule. */
#define LOOPS(SCHEDULE)                                                                             \
    _Pragma("omp parallel num_threads(threads)") for (uint64_t j = 0; j < times; j++) {             \
        _Pragma(SCHEDULE) for (uint64_t i = 0; i < iterations; i++) wait(length);                   \
    }

static double reductions(int threads, uint64_t times, delay *wait, uint64_t length) {
    double total = 0.0;
    for (uint64_t j = 0; j < times; j++) {
        double sum = 0.0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
        {
            wait(length);
            sum += 1.0;
        }
        total += sum;
    }
    return total;
}

/* The number of threads that took part in all reductions, else 0. */
double hb_constructs(int threads, int construct, uint64_t times, delay *wait, uint64_t length, uint64_t iterations) {
    switch ((enum construct)construct) {
    case PARALLEL:
        for (uint64_t j = 0; j < times; j++) {
#pragma omp parallel num_threads(threads)
            wait(length);
        }
        break;
    case FOR:
#pragma omp parallel num_threads(threads)
        for (uint64_t j = 0; j < times; j++) {
#pragma omp for
            for (int i = 0; i < threads; i++)
                wait(length);
        }
        break;
    case PARALLEL_FOR:
        for (uint64_t j = 0; j < times; j++) {
#pragma omp parallel for num_threads(threads)
            for (int i = 0; i < threads; i++)
                wait(length);
        }
        break;
    case BARRIER:
#pragma omp parallel num_threads(threads)
        for (uint64_t j = 0; j < times; j++) {
            wait(length);
#pragma omp barrier
        }
        break;
    case SINGLE:
#pragma omp parallel num_threads(threads)
        for (uint64_t j = 0; j < times; j++) {
#pragma omp single
            wait(length);
        }
        break;
    case ORDERED:
#pragma omp parallel for ordered schedule(static, 1) num_threads(threads)
        for (uint64_t j = 0; j < times; j++) {
#pragma omp ordered
            wait(length);
        }
        break;
    case REDUCTION:
        return reductions(threads, times, wait, length);
    case LOOP_STATIC:
        LOOPS("omp for schedule(static)")
        break;
    case LOOP_STATIC_1:
        LOOPS("omp for schedule(static, 1)")
        break;
    case LOOP_DYNAMIC_1:
        LOOPS("omp for schedule(dynamic, 1)")
        break;
    case LOOP_GUIDED_1:
        LOOPS("omp for schedule(guided, 1)")
        break;
    }
    return 0.0;
}
