/* STREAM's loops but the triad, which `openmp.c` has. See kernels/stream.rs. */

#include "kernel.h"

#define SCALAR 3.0

SHORT_BODY void copy_item(double *to, const double *from, size_t i) { to[i] = from[i]; }

SHORT_BODY void scale_item(double *to, const double *from, size_t i) { to[i] = SCALAR * from[i]; }

SHORT_BODY void add_items(double *to, const double *a, const double *b, size_t i) { to[i] = a[i] + b[i]; }

void KERNEL(copy)(int threads, uint64_t steps, size_t len, double *restrict to, const double *restrict from) {
    for (uint64_t step = 0; step < steps; step++) {
#pragma omp parallel for num_threads(threads) schedule(static)
        for (size_t i = 0; i < len; i++)
            copy_item(to, from, i);
        END_OF_STEP();
    }
}

void KERNEL(scale)(int threads, uint64_t steps, size_t len, double *restrict to, const double *restrict from) {
    for (uint64_t step = 0; step < steps; step++) {
#pragma omp parallel for num_threads(threads) schedule(static)
        for (size_t i = 0; i < len; i++)
            scale_item(to, from, i);
        END_OF_STEP();
    }
}

void KERNEL(add)(int threads, uint64_t steps, size_t len, double *restrict to, const double *restrict a,
                 const double *restrict b) {
    for (uint64_t step = 0; step < steps; step++) {
#pragma omp parallel for num_threads(threads) schedule(static)
        for (size_t i = 0; i < len; i++)
            add_items(to, a, b, i);
        END_OF_STEP();
    }
}

void PART(copy)(double *to, const double *from, size_t begin, size_t end) {
    for (size_t i = begin; i < end; i++)
        copy_item(to, from, i);
}

void PART(scale)(double *to, const double *from, size_t begin, size_t end) {
    for (size_t i = begin; i < end; i++)
        scale_item(to, from, i);
}

void PART(add)(double *to, const double *a, const double *b, size_t begin, size_t end) {
    for (size_t i = begin; i < end; i++)
        add_items(to, a, b, i);
}
