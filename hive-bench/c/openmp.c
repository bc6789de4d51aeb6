/* OpenMP as its users write it. The caller passes counts and sizes, and the bodies of loops. The loops are in here, so
 * that only the directive comes between two regions. */

#include <omp.h>
#include <stddef.h>
#include <stdint.h>

#include "search.h"

/* The compiler may not drop a region that does nothing. */
static inline void keep(int id) { __asm__ volatile("" : : "r"(id) : "memory"); }

/* The caller passes the bodies of loops, so that every runtime runs the same machine code. Only the way in which
 * indices get to the threads differs, and here that is OpenMP's. */
typedef void part(const void *context, size_t begin, size_t end);
typedef double sum_of_part(const void *context, size_t begin, size_t end);

/* A part for each thread, by its number. */
void hb_region(int threads, part *body, const void *context) {
#pragma omp parallel num_threads(threads)
    {
        size_t id = (size_t)omp_get_thread_num();
        body(context, id, id + 1);
    }
}

void hb_empty_regions(int threads, uint64_t times) {
    for (uint64_t i = 0; i < times; i++) {
#pragma omp parallel num_threads(threads)
        keep(omp_get_thread_num());
    }
}

void hb_alternate(int threads, uint64_t pairs) {
    for (uint64_t i = 0; i < pairs; i++) {
#pragma omp parallel num_threads(1)
        keep(omp_get_thread_num());
#pragma omp parallel num_threads(threads)
        keep(omp_get_thread_num());
    }
}

void hb_barriers(int threads, uint64_t times) {
#pragma omp parallel num_threads(threads)
    for (uint64_t i = 0; i < times; i++) {
#pragma omp barrier
    }
}

double hb_sums(int threads, uint64_t times) {
    double total = 0.0;
    for (uint64_t i = 0; i < times; i++) {
        double sum = 0.0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
        {
            int id = omp_get_thread_num();
            keep(id);
            sum += (double)(id + 1);
        }
        total += sum;
    }
    return total;
}

/* In a region. */
void hb_barrier(void) {
#pragma omp barrier
}

/* Where block `id` of `threads` begins, and where the one before it ends: lengths differ by at most one. */
static inline size_t first_of(size_t id, size_t threads, size_t len) {
    size_t rest = len % threads;
    return len / threads * id + (id < rest ? id : rest);
}

/* A static schedule has a block for each thread, which the body gets at once. */
void hb_blocks(int threads, size_t len, part *body, const void *context) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t id = 0; id < (size_t)threads; id++)
        body(context, first_of(id, (size_t)threads, len), first_of(id + 1, (size_t)threads, len));
}

void hb_dynamic(int threads, size_t len, size_t chunk, part *body, const void *context) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (size_t begin = 0; begin < len; begin += chunk)
        body(context, begin, begin + chunk < len ? begin + chunk : len);
}

double hb_sum(int threads, size_t len, sum_of_part *body, const void *context) {
    double sum = 0.0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : sum)
    for (size_t id = 0; id < (size_t)threads; id++)
        sum += body(context, first_of(id, (size_t)threads, len), first_of(id + 1, (size_t)threads, len));
    return sum;
}

double hb_dynamic_sum(int threads, size_t len, size_t chunk, sum_of_part *body, const void *context) {
    double sum = 0.0;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) reduction(+ : sum)
    for (size_t begin = 0; begin < len; begin += chunk)
        sum += body(context, begin, begin + chunk < len ? begin + chunk : len);
    return sum;
}

/* Tasks: a thread makes them and the team runs them. */

static uint64_t fib(uint64_t n) {
    if (n < 2)
        return n;
    uint64_t a, b;
#pragma omp task shared(b) firstprivate(n)
    b = fib(n - 2);
    a = fib(n - 1);
#pragma omp taskwait
    return a + b;
}

uint64_t hb_fib(int threads, uint64_t n) {
    uint64_t result = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    result = fib(n);
    return result;
}

void hb_spawn(int threads, uint64_t tasks, part *body, const void *context) {
#pragma omp parallel num_threads(threads)
#pragma omp single
    for (uint64_t i = 0; i < tasks; i++) {
#pragma omp task
        body(context, 0, 0);
    }
}

static uint64_t count_children(node parent, uint32_t first, uint32_t end) {
    if (end - first == 1) {
        node child = child_of(parent, first);
        uint32_t children = children_of(child);
        return children == 0 ? 1 : 1 + count_children(child, 0, children);
    }
    uint32_t middle = first + (end - first) / 2;
    uint64_t a, b;
#pragma omp task shared(b) firstprivate(parent, middle, end)
    b = count_children(parent, middle, end);
    a = count_children(parent, first, middle);
#pragma omp taskwait
    return a + b;
}

/* The nodes from this one down. */
uint64_t hb_search(int threads, const node *root) {
    uint32_t children = children_of(*root);
    uint64_t nodes = 1;
#pragma omp parallel num_threads(threads)
#pragma omp single
    if (children > 0)
        nodes += count_children(*root, 0, children);
    return nodes;
}
