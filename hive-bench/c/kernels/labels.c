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

/* The next labels of a block of vertices. Returns how many are other ones. */
BODY uint64_t relabel(uint32_t *to, const uint32_t *from, const uint32_t *starts, const uint32_t *neighbours,
                      size_t begin, size_t end) {
    uint64_t changed = 0;
    for (size_t vertex = begin; vertex < end; vertex++) {
        to[vertex] = least_around(from, starts, neighbours, vertex);
        changed += to[vertex] != from[vertex];
    }
    return changed;
}

SHORT_BODY void number(uint32_t *labels, size_t vertex) { labels[vertex] = (uint32_t)vertex; }

/* Rounds until nothing changes. The last of them leaves the same labels in both arrays. */
uint64_t KERNEL(labels)(int threads, size_t vertices, const uint32_t *starts, const uint32_t *neighbours,
                        uint32_t *from, uint32_t *to) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t vertex = 0; vertex < vertices; vertex++)
        number(from, vertex);
    uint64_t rounds = 0, changed;
    do {
        changed = 0;
        /* One block a thread, as a static loop over the vertices has it. */
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : changed)
        for (size_t id = 0; id < (size_t)threads; id++)
            changed += relabel(to, from, starts, neighbours, first_of(id, (size_t)threads, vertices),
                               first_of(id + 1, (size_t)threads, vertices));
        uint32_t *swap = from;
        from = to;
        to = swap;
        rounds++;
    } while (changed > 0);
    return rounds;
}

void PART(number)(uint32_t *labels, size_t begin, size_t end) {
    for (size_t vertex = begin; vertex < end; vertex++)
        number(labels, vertex);
}

uint64_t PART(relabel)(uint32_t *to, const uint32_t *from, const uint32_t *starts, const uint32_t *neighbours,
                       size_t begin, size_t end) {
    return relabel(to, from, starts, neighbours, begin, end);
}
