/* Rows of a noise channel (channel/channel.h), compiled once for each instruction set like kernels.c.
 * The letters are those of channel/channel.c. */
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

/* What the gradient and the flows of a row share; e = exp(z - top), f = exp(lambda (z - top)), in place of z and room. */
typedef struct row_parts {
    int32_t best;
    double Z, F;     /* sums of e and f */
    double rest;     /* Z - e_best */
    double S;        /* sum_k p_k A_k */
    double tilt;     /* sum_k b_k (z_k - top) */
    double G, H;     /* sums over k != c of p_k / (1 - p_k) and p_k / (1 - p_k)^2 */
    double p, b, l;  /* of the label */
    double q;        /* probability of the label */
    float own_below; /* z_c - top */
} row_parts;

static double rate_of(const rer_channel_row *row, int64_t k)
{
    if (k == row->code)
        return row->right;
    return row->rates != NULL ? (double)row->rates[k] : row->uniform;
}

static row_parts take_apart(float *restrict z, float *restrict f, const rer_channel_row *row, int64_t n)
{
    row_parts parts = {0};
    float top = find_top(z, n, &parts.best), lambda = (float)row->sharpness;
    double Z = 0, F = 0, tilt = 0, S = 0, G = 0, H = 0, rest = 0;
    parts.own_below = z[row->code] - top;
#pragma omp simd reduction(+ : Z, F, tilt)
    for (int64_t k = 0; k < n; k++) {
        float below = z[k] - top;
        below = below > DEEPEST ? below : DEEPEST;
        z[k] = exp_of_negative(below);
        f[k] = exp_of_negative(lambda * below);
        Z += (double)z[k];
        F += (double)f[k];
        tilt += (double)(f[k] * below);
    }
    float largest = z[parts.best], own = z[row->code];
    z[parts.best] = 0; /* where it has nearly everything, the rest counts */
#pragma omp simd reduction(+ : rest)
    for (int64_t k = 0; k < n; k++)
        rest += (double)z[k];
    z[parts.best] = largest;
    if (row->rates != NULL) {
#pragma omp simd reduction(+ : S)
        for (int64_t k = 0; k < n; k++)
            S += (double)(row->rates[k] * z[k]);
        S -= (double)(row->rates[row->code] * z[row->code]);
    } else {
        S = row->uniform * (Z - (double)z[row->code]);
    }
    S += row->right * (double)z[row->code];
    /* Without the label's class; but for the best one no p_k is above 1/2. */
    float all = (float)Z, half = .5f * all;
    z[row->code] = 0;
#pragma omp simd reduction(+ : G, H)
    for (int64_t k = 0; k < n; k++) {
        float e = z[k] <= half ? z[k] : 0, odds_of = e / (all - e);
        G += (double)odds_of;
        H += (double)(odds_of * all / (all - e));
    }
    if (z[parts.best] > half) {
        double left = rest > 1e-30 ? rest : 1e-30;
        G += (double)largest / left;
        H += (double)largest / left * (Z / left);
    }
    z[row->code] = own;
    parts.G = G;
    parts.H = H;
    parts.Z = Z;
    parts.F = F;
    parts.rest = rest;
    parts.S = S / Z;
    parts.tilt = tilt / F;
    parts.p = (double)own / Z;
    parts.b = (double)f[row->code] / F;
    parts.l = parts.p * parts.G;
    double q = (1 - row->blur) * ((1 - row->likeness) * parts.S + row->likeness * parts.l) + row->blur * parts.b;
    parts.q = q > 1e-300 ? q : 1e-300;
    return parts;
}

static double gradient(rer_channel_slope *slope, float *restrict z, float *restrict room, const rer_channel_row *row,
                       int64_t n)
{
    row_parts at = take_apart(z, room, row, n);
    double clear = (1 - row->blur) * (1 - row->likeness) / at.q, alike = (1 - row->blur) * row->likeness / at.q;
    double seen = row->blur * at.b / at.q, lambda = row->sharpness;
    float to_p = (float)(1 / at.Z), to_b = (float)(lambda * seen / at.F), all = (float)at.Z;
    float c1 = (float)clear, S = (float)at.S, c3 = (float)alike, own = (float)at.p, drag = (float)(at.l + at.p * at.H);
    float uniform = (float)row->uniform;
    const float *rates = row->rates;
#pragma omp simd
    for (int64_t k = 0; k < n; k++) {
        float e = z[k], p = e * to_p, without = all - (e < .75f * all ? e : 0), h = e * all / (without * without);
        float rate = rates != NULL ? rates[k] : uniform;
        z[k] = c1 * p * (rate - S) - to_b * room[k] + c3 * (own * h - p * drag);
    }
    double p = at.p;
    z[row->code] =
        (float)(clear * p * (row->right - at.S) + lambda * seen * (1 - at.b) + alike * (at.l - p * (at.l + p * at.H)));
    z[at.best] = 0; /* all slopes of a row sum to 0: the one that would cancel is what is left */
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < n; k++)
        sum += (double)z[k];
    z[at.best] = (float)-sum;
    slope->sharpness = seen * ((double)at.own_below - at.tilt);
    slope->blur = (at.b - (1 - row->likeness) * at.S - row->likeness * at.l) / at.q;
    slope->likeness = (1 - row->blur) * (at.l - at.S) / at.q;
    slope->uniform = n > 1 ? clear * ((1 - p) / (double)(n - 1) - p) : 0;
    return log(at.q);
}

static double flows(float *restrict z, float *restrict room, const rer_channel_row *row, int64_t n)
{
    row_parts at = take_apart(z, room, row, n);
    double clear = (1 - row->blur) * (1 - row->likeness) / at.q / at.Z;
    for (int64_t k = 0; k < n; k++)
        z[k] = (float)(clear * rate_of(row, k) * (double)z[k]);
    return log(at.q);
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
    .gradient = gradient,
    .flows = flows,
    .products = products,
    .row_products = row_products,
};
