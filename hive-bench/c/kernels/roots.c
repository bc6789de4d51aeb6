/* See kernels/roots.rs. */

#include "kernel.h"

SHORT_BODY double root_of(double number) {
    KEEP_IN_MEMORY(number);
    return __builtin_sqrt(number);
}

double PART(sum_of_roots)(const double *numbers, size_t begin, size_t end) {
    double sum = 0.0;
    for (size_t i = begin; i < end; i++)
        sum += root_of(numbers[i]);
    return sum;
}
