/* See kernels/mandelbrot.rs. */

#include "kernel.h"

enum { SIDE = 512, LIMIT = 256 };

static inline uint32_t iterations(double left, double up) {
    double x = 0.0, y = 0.0;
    uint32_t count = 0;
    while (count < LIMIT && x * x + y * y <= 4.0) {
        double next = x * x - y * y + left;
        y = 2.0 * x * y + up;
        x = next;
        count++;
    }
    return count;
}

BODY void compute_row(uint32_t *counts, size_t row) {
    for (size_t column = 0; column < SIDE; column++)
        counts[row * SIDE + column] =
            iterations(-2.25 + 3.0 * (double)column / SIDE, -1.5 + 3.0 * (double)row / SIDE);
}

void PART(mandelbrot)(uint32_t *counts, size_t begin, size_t end) {
    for (size_t row = begin; row < end; row++)
        compute_row(counts, row);
}
