/* See kernels/matmul.rs. */

#include "kernel.h"

enum { SIDE = 512, TILE = 64, TILES = SIDE / TILE, UNROLL = 4, LINE = 8 };

/* Four rows of the right matrix at a time: a row of the product is then read and written a fourth as often.
 * A loop over cache lines takes equally long wherever it lies, a loop over numbers up to 1.3 times as long. */
static inline void add_rows(double *restrict out, const double *restrict factors, const double *restrict rows) {
    double f0 = factors[0], f1 = factors[1], f2 = factors[2], f3 = factors[3];
    for (size_t line = 0; line < TILE; line += LINE)
        for (size_t j = line; j < line + LINE; j++)
            out[j] = out[j] + f0 * rows[j] + f1 * rows[j + SIDE] + f2 * rows[j + 2 * SIDE] + f3 * rows[j + 3 * SIDE];
}

BODY void multiply_tile(double *product, const double *left, const double *right, size_t top, size_t side) {
    for (size_t first = 0; first < SIDE; first += TILE)
        for (size_t i = top; i < top + TILE; i++) {
            double *out = product + i * SIDE + side;
            if (first == 0)
                for (size_t j = 0; j < TILE; j++)
                    out[j] = 0.0;
            for (size_t k = first; k < first + TILE; k += UNROLL)
                add_rows(out, left + i * SIDE + k, right + k * SIDE + side);
        }
}

void PART(matmul)(double *product, const double *left, const double *right, size_t begin, size_t end) {
    for (size_t tile = begin; tile < end; tile++)
        multiply_tile(product, left, right, tile / TILES * TILE, tile % TILES * TILE);
}
