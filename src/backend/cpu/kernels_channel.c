/* A row of a noise channel (channel/channel.h) as its classes come in, and products of rows; compiled once for each
 * instruction set like kernels.c. The letters are those of channel/channel.c. */
#include "backend/backend.h"
#include "backend/cpu/exp.h"
#include "backend/cpu/search.h"

#include <float.h>

#define TABLE_NAME_OF(isa) rer_channel_kernels_##isa
#define TABLE_NAME(isa) TABLE_NAME_OF(isa)

extern const rer_channel_kernels TABLE_NAME(RER_ISA);

/* Scores further than this below the best tell nothing more; a class without rows has -INFINITY. */
#define DEEPEST (-1e4f)

static void scores(float *restrict z, const float *restrict bias, const rer_channel_evidence *evidence, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        z[k] = bias[k];
    for (int j = 0; j < evidence->count; j++) {
        const float *restrict value = evidence->value[j], weight = evidence->weight[j];
#pragma omp simd
        for (int64_t k = 0; k < n; k++)
            z[k] -= weight * value[k];
    }
}

/* Largest of z [n] and its place, the first of equals. */
static float find_top(const float *z, int64_t n, int32_t *best)
{
    float top = -INFINITY;
#pragma omp simd reduction(max : top)
    for (int64_t k = 0; k < n; k++)
        top = z[k] > top ? z[k] : top;
    *best = (int32_t)place_of(top, z, n);
    return top;
}

/* The best class, whose term is 1, is kept out of the loop: where it has nearly everything, the rest counts. */
static void sums(rer_channel_sums *sums, float *restrict z, const float *restrict rates, double sharpness, int64_t n)
{
    float top = find_top(z, n, &sums->best), lambda = (float)sharpness;
    double rest = 0, blurred = 0, flow = 0;
    z[sums->best] = -INFINITY;
#pragma omp simd reduction(+ : rest, blurred)
    for (int64_t k = 0; k < n; k++) {
        float below = z[k] - top;
        float e = exp_of_negative(below);
        z[k] = e;
        rest += (double)e;
        blurred += (double)exp_of_negative(lambda * (below > DEEPEST ? below : DEEPEST));
    }
    sums->top = top;
    sums->rest = rest - (double)z[sums->best];
    sums->blurred = 1 + (blurred - (double)exp_of_negative(lambda * DEEPEST));
    z[sums->best] = 1;
    if (rates != NULL)
#pragma omp simd reduction(+ : flow)
        for (int64_t k = 0; k < n; k++)
            flow += (double)(rates[k] * z[k]);
    sums->flow = flow;
}

static double odds(const float *restrict e, double total, int32_t best, int64_t n)
{
    float all = (float)total,
          least = 2 * FLT_MIN * all; /* below it quotients are no normal floats: slow, and nothing */
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < n; k++) {
        float counts = e[k] > least ? e[k] : 0;
        sum += (double)(counts / (all - (e[k] < .75f * all ? e[k] : 0)));
    }
    double counted = (double)(e[best] / (all - (e[best] < .75f * all ? e[best] : 0)));
    return sum - counted;
}

/* Vectors of the instruction set, and how many columns' sums fit its registers beside four rows. */
#if defined(__AVX512F__)
#define WIDE 16
#define COLUMNS 4
#elif defined(__AVX2__)
#define WIDE 8
#define COLUMNS 2
#else
#define WIDE 4
#define COLUMNS 2
#endif
typedef float wide __attribute__((vector_size(WIDE * sizeof(float)), aligned(4), may_alias));

/* Four by COLUMNS rows at a time; each pair has lanes of its own that are added up in one order, whatever it is done
 * together with. */
static void products(float *restrict out, const float *const *a, const float *const *b, int64_t n)
{
    int64_t whole = n / WIDE * WIDE;
    for (int first = 0; first < 4; first += COLUMNS) {
        wide sum[4][COLUMNS] = {{{0}}};
        for (int64_t j = 0; j < whole; j += WIDE) {
            wide y[COLUMNS];
            for (int k = 0; k < COLUMNS; k++)
                y[k] = *(const wide *)(b[first + k] + j);
            for (int i = 0; i < 4; i++) {
                wide x = *(const wide *)(a[i] + j);
                for (int k = 0; k < COLUMNS; k++)
                    sum[i][k] += x * y[k];
            }
        }
        float lane[4 * COLUMNS][WIDE];
        memcpy(lane, sum, sizeof lane);
        for (int half = WIDE / 2; half > 0; half /= 2)
            for (int pair = 0; pair < 4 * COLUMNS; pair++)
                for (int l = 0; l < half; l++)
                    lane[pair][l] += lane[pair][l + half];
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < COLUMNS; k++) {
                float total = lane[i * COLUMNS + k][0];
                for (int64_t j = whole; j < n; j++)
                    total += a[i][j] * b[first + k][j];
                out[4 * i + first + k] = total;
            }
    }
}

/* The same lanes, one row by four. */
static void row_products(float *restrict out, const float *restrict a, const float *const *b, int64_t n)
{
    int64_t whole = n / WIDE * WIDE;
    wide sum[4] = {{0}};
    for (int64_t j = 0; j < whole; j += WIDE) {
        wide x = *(const wide *)(a + j);
        for (int k = 0; k < 4; k++)
            sum[k] += x * *(const wide *)(b[k] + j);
    }
    float lane[4][WIDE];
    memcpy(lane, sum, sizeof lane);
    for (int half = WIDE / 2; half > 0; half /= 2)
        for (int k = 0; k < 4; k++)
            for (int l = 0; l < half; l++)
                lane[k][l] += lane[k][l + half];
    for (int k = 0; k < 4; k++) {
        for (int64_t j = whole; j < n; j++)
            lane[k][0] += a[j] * b[k][j];
        out[k] = lane[k][0];
    }
}

const rer_channel_kernels TABLE_NAME(RER_ISA) = {
    .scores = scores,
    .sums = sums,
    .odds = odds,
    .products = products,
    .row_products = row_products,
};
