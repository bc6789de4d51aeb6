/* See kernels/roots.rs. */

#include "kernel.h"

double KERNEL(sum_of_roots)(int threads, const double *numbers, size_t len) {
    double sum = 0.0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : sum)
    for (size_t i = 0; i < len; i++) {
        double number = numbers[i];
        KEEP_IN_MEMORY(number);
        sum += __builtin_sqrt(number);
    }
    return sum;
}
