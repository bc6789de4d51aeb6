/* The recursions of `kernels/recursion.rs`, once for all rivals in C++. Each is a type of work: `splits` goes down as
 * long as there is one way only, and says what it has met, and whether two halves are left. */

#pragma once

#include "rival.hpp"

struct fib_work {
    uint64_t n;

    bool splits(uint64_t &own) const {
        own = n < 2 ? n : 0;
        return n >= 2;
    }
    fib_work left() const { return {n - 1}; }
    fib_work right() const { return {n - 2}; }
};

struct sum_work {
    const tree *root;

    bool splits(uint64_t &own) const {
        own = root ? root->value : 0;
        return root;
    }
    sum_work left() const { return {root->left}; }
    sum_work right() const { return {root->right}; }
};

/* Some of a node's children. */
struct search_work {
    node parent;
    uint32_t first, end;

    bool splits(uint64_t &own) {
        for (own = 0; end - first == 1; own++) {
            parent = child_of(parent, first);
            first = 0;
            end = children_of(parent);
        }
        return end > 0;
    }
    uint32_t middle() const { return first + (end - first) / 2; }
    search_work left() const { return {parent, first, middle()}; }
    search_work right() const { return {parent, middle(), end}; }
};

/* A board with some rows filled, and some of the columns in which the next queen is safe. */
struct queens_work {
    static constexpr int most = 16;
    uint8_t columns, rows, first, end;
    uint8_t queens[most], safe[most];

    explicit queens_work(uint8_t columns) : columns(columns), rows(0) { choose(); }

    bool is_safe(int column) const {
        for (int row = 0; row < rows; row++) {
            int aside = queens[row] > column ? queens[row] - column : column - queens[row];
            if (aside == 0 || aside == rows - row)
                return false;
        }
        return true;
    }
    void choose() {
        first = end = 0;
        for (uint8_t column = 0; column < columns; column++)
            if (is_safe(column))
                safe[end++] = column;
    }
    bool splits(uint64_t &own) {
        own = 0;
        while (end - first == 1) {
            queens[rows++] = safe[first];
            if (rows == columns) {
                own = 1;
                return false;
            }
            choose();
        }
        return end > 0;
    }
    uint8_t middle() const { return first + (end - first) / 2; }
    queens_work left() const {
        queens_work half = *this;
        half.end = middle();
        return half;
    }
    queens_work right() const {
        queens_work half = *this;
        half.first = middle();
        return half;
    }
};

/* Some nodes of so many leaves each. */
struct skynet_work {
    uint64_t first, leaves_each, nodes;

    bool splits(uint64_t &own) {
        own = 0;
        while (nodes == 1) {
            if (leaves_each < 10) {
                own = first;
                return false;
            }
            leaves_each /= 10;
            nodes = 10;
        }
        return true;
    }
    skynet_work left() const { return {first, leaves_each, nodes / 2}; }
    skynet_work right() const {
        return {first + nodes / 2 * leaves_each, leaves_each, nodes - nodes / 2};
    }
};

/* Any of them, by a rival whose `run` does some work so many times, and adds up what it comes to. */
template <class Rival> uint64_t recurse(void *pool, const recursion *what) {
    switch (what->kind) {
    case recursion::fib:
        return Rival::run(pool, fib_work{what->number}, 1);
    case recursion::sums:
        return Rival::run(pool, sum_work{what->root}, what->times);
    case recursion::search:
        if (uint32_t children = children_of(what->from))
            return 1 + Rival::run(pool, search_work{what->from, 0, children}, 1);
        return 1;
    case recursion::queens:
        return Rival::run(pool, queens_work(what->columns), 1);
    default:
        return Rival::run(pool, skynet_work{0, what->leaves, 1}, 1);
    }
}

/* Such a `run` for rivals that join two calls. */
template <class Join> struct by_joins {
    template <class Work> static uint64_t once(Join join, Work work) {
        uint64_t own, a, b;
        if (!work.splits(own))
            return own;
        join([&] { a = once(join, work.left()); }, [&] { b = once(join, work.right()); });
        return own + a + b;
    }
    template <class Work> static uint64_t run(void *pool, Work work, uint64_t times) {
        uint64_t total = 0;
        for (; times > 0; times--)
            total += once(Join{pool}, work);
        return total;
    }
};
