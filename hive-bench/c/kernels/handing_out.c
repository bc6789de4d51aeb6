/* See kernels/handing_out.rs. */

#include "kernel.h"

double KERNEL(sum_of_numbers)(int threads, size_t len) {
    double sum = 0.0;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) reduction(+ : sum)
    for (size_t i = 0; i < len; i++) {
        size_t number = i;
        KEEP(number);
        sum += (double)number;
    }
    return sum;
}
