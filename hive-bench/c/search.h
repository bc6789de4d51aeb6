/* The tree of `kernels/search.rs`. */

#pragma once

#include <stdint.h>

typedef struct {
    uint64_t hash;
    uint32_t depth;
} node;

/* The root has the hash 18. */
static inline uint32_t children_of(node parent) {
    if (parent.depth == 0)
        return 0;
    return parent.hash == 18 ? 32 : 4 * (uint32_t)__builtin_ctzll(~parent.hash | 1ull << 63);
}

static inline node child_of(node parent, uint32_t number) {
    uint64_t mixed = parent.hash + (number + 1ull) * 0x9e3779b97f4a7c15ull;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ull;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebull;
    node child = {mixed ^ (mixed >> 31), parent.depth - 1};
    return child;
}
