/* STREAM's loops but the triad, which `openmp.c` has. See kernels/stream.rs. */

#include "kernel.h"

#define SCALAR 3.0

void KERNEL(copy)(int threads, uint64_t steps, size_t len, double *restrict to, const double *restrict from) {
    for (uint64_t step = 0; step < steps; step++) {
#pragma omp parallel for num_threads(threads) schedule(static)
        for (size_t i = 0; i < len; i++)
            to[i] = from[i];
        END_OF_STEP();
    }
}

void KERNEL(scale)(int threads, uint64_t steps, size_t len, double *restrict to, const double *restrict from) {
    for (uint64_t step = 0; step < steps; step++) {
#pragma omp parallel for num_threads(threads) schedule(static)
        for (size_t i = 0; i < len; i++)
            to[i] = SCALAR * from[i];
        END_OF_STEP();
    }
}

void KERNEL(add)(int threads, uint64_t steps, size_t len, double *restrict to, const double *restrict a,
                 const double *restrict b) {
    for (uint64_t step = 0; step < steps; step++) {
#pragma omp parallel for num_threads(threads) schedule(static)
        for (size_t i = 0; i < len; i++)
            to[i] = a[i] + b[i];
        END_OF_STEP();
    }
}
