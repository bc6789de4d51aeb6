/* See src/kernels/sparse. Each thread has one block of rows; blocks have about equally many nonzeros. */

#include "kernel.h"

/* A row of a product, added up in the order of its columns, by twos as in Rust (matrix/csr.rs). */
static inline double row_times(const size_t *restrict starts, const uint32_t *restrict indices,
                               const double *restrict values, const double *restrict x, size_t row) {
    double sum = 0.0;
    size_t i = starts[row], end = starts[row + 1];
    for (; i + 1 < end; i += 2) {
        sum += values[i] * x[indices[i]];
        sum += values[i + 1] * x[indices[i + 1]];
    }
    if (i < end)
        sum += values[i] * x[indices[i]];
    return sum;
}

/* As in kernels/sparse/placed.rs. */
typedef struct {
    size_t blocks;
    const size_t *bounds, *starts;
    const uint32_t *indices;
    const double *values;
} matrix;

/* As in kernels/sparse/placed.rs. */
typedef struct {
    double *x, *r, *p, *q;
} vectors;

BODY void multiply_block(const matrix *all, const double *restrict x, double *restrict y, size_t block) {
    const size_t *restrict starts = all->starts;
    const uint32_t *restrict indices = all->indices;
    const double *restrict values = all->values;
    size_t end = all->bounds[block + 1];
    for (size_t row = all->bounds[block]; row < end; row++)
        y[row] = row_times(starts, indices, values, x, row);
}

/* q = A p in a block; its part of p . q. */
BODY double multiply_and_dot(const matrix *all, const double *restrict p, double *restrict q, size_t block) {
    const size_t *restrict starts = all->starts;
    const uint32_t *restrict indices = all->indices;
    const double *restrict values = all->values;
    size_t end = all->bounds[block + 1];
    double pq = 0.0;
    for (size_t row = all->bounds[block]; row < end; row++) {
        q[row] = row_times(starts, indices, values, p, row);
        pq += p[row] * q[row];
    }
    return pq;
}

/* r -= step q; the sum of the squares of what is left, kept apart by fours as in Rust. */
static inline double subtract(double *restrict r, double step, const double *restrict q, size_t len) {
    double sums[4] = {0.0, 0.0, 0.0, 0.0};
    size_t fours = len - len % 4;
    for (size_t i = 0; i < fours; i += 4)
        for (size_t lane = 0; lane < 4; lane++) {
            r[i + lane] -= step * q[i + lane];
            sums[lane] += r[i + lane] * r[i + lane];
        }
    double sum = (sums[0] + sums[2]) + (sums[1] + sums[3]);
    for (size_t i = fours; i < len; i++) {
        r[i] -= step * q[i];
        sum += r[i] * r[i];
    }
    return sum;
}

/* x += step p and r -= step q in the rows of a block; its part of r . r. */
BODY double advance(const matrix *a, const vectors *all, double step, size_t block) {
    size_t begin = a->bounds[block], end = a->bounds[block + 1];
    double *restrict x = all->x + begin;
    const double *restrict p = all->p + begin;
    for (size_t i = 0; i < end - begin; i++)
        x[i] += step * p[i];
    return subtract(all->r + begin, step, all->q + begin, end - begin);
}

/* p = r + kept p in the rows of a block. */
BODY void turn(const matrix *a, const vectors *all, double kept, size_t block) {
    size_t begin = a->bounds[block], end = a->bounds[block + 1];
    double *restrict p = all->p + begin;
    const double *restrict r = all->r + begin;
    for (size_t i = 0; i < end - begin; i++)
        p[i] = r[i] + kept * p[i];
}

void PART(multiply)(const matrix *all, const double *x, double *y, size_t begin, size_t end) {
    for (size_t block = begin; block < end; block++)
        multiply_block(all, x, y, block);
}

/* In conjugate gradients a thread has one block, so these are the bodies themselves. */

double PART(multiply_and_dot)(const matrix *a, const vectors *all, size_t block) {
    return multiply_and_dot(a, all->p, all->q, block);
}

double PART(advance)(const matrix *a, const vectors *all, double step, size_t block) {
    return advance(a, all, step, block);
}

void PART(turn)(const matrix *a, const vectors *all, double kept, size_t block) { turn(a, all, kept, block); }
