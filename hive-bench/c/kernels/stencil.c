/* See kernels/stencil.rs. */

#include "kernel.h"

enum { SIDE = 128, WIDTH = SIDE + 2, PLANE = WIDTH * WIDTH };

static void sweep_line(double *restrict to, const double *restrict here) {
    for (size_t x = 0; x < SIDE; x++) {
        double beside = here[x - 1] + here[x + 1];
        double around = beside + here[x - WIDTH] + here[x + WIDTH] + here[x - PLANE] + here[x + PLANE];
        to[x] = 0.4 * here[x] + 0.1 * around;
    }
}

BODY void sweep_plane(double *to, const double *from, size_t z) {
    for (size_t y = 1; y <= SIDE; y++) {
        size_t line = z * PLANE + y * WIDTH + 1;
        sweep_line(to + line, from + line);
    }
}

/* The first plane between the border's is 1. */
void PART(stencil)(double *to, const double *from, size_t begin, size_t end) {
    for (size_t z = begin; z < end; z++)
        sweep_plane(to, from, z);
}
