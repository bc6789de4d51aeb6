/* The kernels, compiled twice: with OpenMP, and as the plain loops that they are without it. */

#include <stddef.h>
#include <stdint.h>

#ifdef _OPENMP
#define KERNEL(name) hb_openmp_##name
#else
#define KERNEL(name) hb_plain_##name
#endif

/* Where block `id` of `threads` begins, and where the one before it ends: lengths differ by at most one. */
static inline size_t first_of(size_t id, size_t threads, size_t len) {
    size_t rest = len % threads;
    return len / threads * id + (id < rest ? id : rest);
}

/* What a loop does with one index (a body, a tile, a block), which takes so long that a call does not count.
 * OpenMP's loop calls it, and so does the function `PART`: both run the same instructions at the same place. The
 * place matters: a short inner loop takes up to 1.3 times as long on an AMD EPYC if it begins where a cache line
 * does. */
#define BODY static __attribute__((noinline, aligned(64)))

/* The same for what takes less. It is inlined into both. */
#define SHORT_BODY static inline __attribute__((always_inline))

/* The same loop over the indices from `begin` up to `end`, for teams other than OpenMP's, which hand the indices out
 * themselves. Its pointers are not `restrict`, because in OpenMP's threads the compiler does not know that of its
 * pointers either. Rust calls the version that is compiled with OpenMP, so that the flags are the same, too. */
#define PART(name) KERNEL(name##_part)

/* The compiler may not look past this: what a step writes is written, and no two steps are made into one. */
#define END_OF_STEP() __asm__ volatile("" : : : "memory")

/* The compiler must have the value at hand. */
#define KEEP(value) __asm__ volatile("" : "+r"(value))

/* The same for a value of any type, as Rust's black_box does it. */
#define KEEP_IN_MEMORY(value) __asm__ volatile("" : "+m"(value))
