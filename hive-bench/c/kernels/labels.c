/* See kernels/labels.rs. */

#include "kernel.h"

static inline uint32_t least_around(const uint32_t *restrict labels, const uint32_t *restrict starts,
                                    const uint32_t *restrict neighbours, size_t vertex) {
    uint32_t least = labels[vertex];
    for (size_t i = starts[vertex]; i < starts[vertex + 1]; i++) {
        uint32_t label = labels[neighbours[i]];
        least = label < least ? label : least;
    }
    return least;
}

/* Rounds until nothing changes. The last of them leaves the same labels in both arrays. */
uint64_t KERNEL(labels)(int threads, size_t vertices, const uint32_t *starts, const uint32_t *neighbours,
                        uint32_t *from, uint32_t *to) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t vertex = 0; vertex < vertices; vertex++)
        from[vertex] = (uint32_t)vertex;
    uint64_t rounds = 0, changed;
    do {
        changed = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : changed)
        for (size_t vertex = 0; vertex < vertices; vertex++) {
            to[vertex] = least_around(from, starts, neighbours, vertex);
            changed += to[vertex] != from[vertex];
        }
        uint32_t *swap = from;
        from = to;
        to = swap;
        rounds++;
    } while (changed > 0);
    return rounds;
}
