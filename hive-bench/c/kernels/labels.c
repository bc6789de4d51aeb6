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

uint64_t PART(relabel)(uint32_t *to, const uint32_t *from, const uint32_t *starts, const uint32_t *neighbours,
                       size_t begin, size_t end) {
    return relabel(to, from, starts, neighbours, begin, end);
}
