/* See kernels/roots.rs. */

#include "kernel.h"

SHORT_BODY double root_of(double number) {
    KEEP_IN_MEMORY(number);
    return __builtin_sqrt(number);
}

double KERNEL(sum_of_roots)(int threads, const double *numbers, size_t len) {
    double sum = 0.0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : sum)
    for (size_t i = 0; i < len; i++)
        sum += root_of(numbers[i]);
    return sum;
}

double PART(sum_of_roots)(const double *numbers, size_t begin, size_t end) {
    double sum = 0.0;
    for (size_t i = begin; i < end; i++)
        sum += root_of(numbers[i]);
    return sum;
}
