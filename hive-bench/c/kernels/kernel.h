/* The bodies of the kernels' loops in C. Whoever runs them hands their indices out: OpenMP (`c/openmp.c`), hive, or
 * nobody but the calling thread. */

#include <stddef.h>
#include <stdint.h>

/* What a loop does with one index (a row, a tile, a block), which takes so long that a call does not count. The place
 * matters: a short inner loop takes up to 1.3 times as long on an AMD EPYC if it begins where a cache line does. */
#define BODY static __attribute__((noinline, aligned(64)))

/* The same for what takes less. It is inlined. */
#define SHORT_BODY static inline __attribute__((always_inline))

/* A loop over the indices from `begin` up to `end`. */
#define PART(name) hb_##name##_part

/* The compiler must have the value at hand. */
#define KEEP(value) __asm__ volatile("" : "+r"(value))

/* The same for a value of any type, as Rust's black_box does it. */
#define KEEP_IN_MEMORY(value) __asm__ volatile("" : "+m"(value))
