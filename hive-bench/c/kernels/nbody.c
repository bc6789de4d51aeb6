/* See kernels/nbody.rs. */

#include "kernel.h"

enum { BODIES = 512, LANES = 16 };
static const float SOFTENING = 0.01f, TIME = 1e-5f;

typedef struct {
    float x[BODIES], y[BODIES], z[BODIES];
} points;

/* One Newton step from a guess by the bits. */
static inline float inverse_root(float square) {
    union {
        float number;
        uint32_t bits;
    } guess = {square};
    guess.bits = 0x5f3759df - (guess.bits >> 1);
    return guess.number * (1.5f - 0.5f * square * guess.number * guess.number);
}

static inline float total(float *lanes) {
    for (size_t half = LANES / 2; half > 0; half /= 2)
        for (size_t lane = 0; lane < half; lane++)
            lanes[lane] += lanes[lane + half];
    return lanes[0];
}

BODY void pull(points *restrict pulls, const points *restrict places, const float *restrict masses, size_t body) {
    float x = places->x[body], y = places->y[body], z = places->z[body];
    float sum_x[LANES] = {0}, sum_y[LANES] = {0}, sum_z[LANES] = {0};
    for (size_t first = 0; first < BODIES; first += LANES) {
        float strengths[LANES];
        for (size_t lane = 0; lane < LANES; lane++) {
            size_t other = first + lane;
            float dx = places->x[other] - x, dy = places->y[other] - y, dz = places->z[other] - z;
            float inverse = inverse_root(dx * dx + dy * dy + dz * dz + SOFTENING);
            strengths[lane] = masses[other] * (inverse * inverse * inverse);
        }
        for (size_t lane = 0; lane < LANES; lane++) {
            size_t other = first + lane;
            sum_x[lane] += strengths[lane] * (places->x[other] - x);
            sum_y[lane] += strengths[lane] * (places->y[other] - y);
            sum_z[lane] += strengths[lane] * (places->z[other] - z);
        }
    }
    pulls->x[body] = total(sum_x);
    pulls->y[body] = total(sum_y);
    pulls->z[body] = total(sum_z);
}

SHORT_BODY void move(points *restrict places, points *restrict speeds, const points *restrict pulls, size_t body) {
    speeds->x[body] += TIME * pulls->x[body];
    speeds->y[body] += TIME * pulls->y[body];
    speeds->z[body] += TIME * pulls->z[body];
    places->x[body] += TIME * speeds->x[body];
    places->y[body] += TIME * speeds->y[body];
    places->z[body] += TIME * speeds->z[body];
}

void PART(pull)(points *places, points *pulls, const float *masses, size_t begin, size_t end) {
    for (size_t body = begin; body < end; body++)
        pull(pulls, places, masses, body);
}

void PART(move)(points *places, points *speeds, points *pulls, size_t begin, size_t end) {
    for (size_t body = begin; body < end; body++)
        move(places, speeds, pulls, body);
}
