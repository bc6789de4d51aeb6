/* The kernels, compiled twice: with OpenMP, and as the plain loops that they are without it. */

#include <stddef.h>
#include <stdint.h>

#ifdef _OPENMP
#define KERNEL(name) hb_openmp_##name
#else
#define KERNEL(name) hb_plain_##name
#endif

/* The compiler may not look past this: what a step writes is written, and no two steps are made into one. */
#define END_OF_STEP() __asm__ volatile("" : : : "memory")

/* The compiler must have the value at hand. */
#define KEEP(value) __asm__ volatile("" : "+r"(value))

/* The same for a value of any type, as Rust's black_box does it. */
#define KEEP_IN_MEMORY(value) __asm__ volatile("" : "+m"(value))
