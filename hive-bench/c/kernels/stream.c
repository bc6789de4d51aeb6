/* STREAM's loops but the triad. See kernels/stream.rs. */

#include "kernel.h"

#define SCALAR 3.0

SHORT_BODY void copy_item(double *to, const double *from, size_t i) { to[i] = from[i]; }

SHORT_BODY void scale_item(double *to, const double *from, size_t i) { to[i] = SCALAR * from[i]; }

SHORT_BODY void add_items(double *to, const double *a, const double *b, size_t i) { to[i] = a[i] + b[i]; }

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
