/* Sampled rows of a noise channel (channel/channel.h), compiled once for each instruction set like kernels.c: log q of
 * the labels seen, its slopes, and how labels flow. Rows lie side by side, one in each lane of a vector, so that few
 * classes fill it as well as many. The letters are those of channel/channel.c.
 *
 * With e_k = exp(z_k - top), f_k = exp(lambda (z_k - top)), Z and F their sums, and c the label, a row has
 *   S = sum_k p_k A_k,  G and H = sums over k != c of p_k / (1 - p_k) and h_k = p_k / (1 - p_k)^2,
 *   q = (1 - e) [(1 - v) S + v p_c G] + e b_c
 *   q d log q / d z_k = (1 - e) [(1 - v) p_k (A_k - S) + v p_c (h_k - p_k (G + H))] - e lambda b_c b_k,
 *       with G in the place of h_k, and 1 - b_c in that of - b_k, at k = c.
 * The slopes of a row sum to 0: that of its best class, where others would cancel, is what is left. */
#include "backend/backend.h"

#include <math.h>
#include <stddef.h>

#define TABLE_NAME_OF(isa) rer_rows_kernels_##isa
#define TABLE_NAME(isa) TABLE_NAME_OF(isa)

extern const rer_rows_kernels TABLE_NAME(RER_ISA);

#if defined(__AVX512F__)
#include "backend/cpu/transpose.h"
#define LANES 16
#elif defined(__AVX2__)
#define LANES 8
#else
#define LANES 4
#endif
typedef float wide __attribute__((vector_size(LANES * sizeof(float)), may_alias));
typedef int32_t whole __attribute__((vector_size(LANES * sizeof(int32_t)), may_alias));

/* Scores further than this below the best tell nothing more; a class without rows has -INFINITY. */
#define DEEPEST (-1e4F)
#define LEAST 1e-37F /* q; four of them multiplied are a double */
/* Z without the best class. Beyond it labels are likely by likeness no more, before e itself ends at e^-87: there all
 * classes would be alike, and t without end would explain any label. */
#define LEAST_REST 1e-30F
/* Terms that are added up before they go into the sum: so many of a small sum are not lost beside a large one. */
#define TERMS 64

static inline wide all_of(float x)
{
    return x - (wide){0};
}

static inline wide where(whole mask, wide a)
{
    return (wide)(mask & (whole)a);
}

static inline wide larger(wide a, wide b)
{
    whole mask = a > b;
    return (wide)((mask & (whole)a) | (~mask & (whole)b));
}

/* e^x for x <= 0, as exp_of_negative does it: a float of this size has no bits behind the point. */
static inline wide exp_of_negatives(wide x)
{
    const wide rounds = all_of(12582912.0F); /* 1.5 x 2^23 */
    wide scaled = larger(x, all_of(-87.0F)) * 1.44269504F, shifted = scaled + rounds;
    wide f = (scaled - (shifted - rounds)) * 0.693147181F;
    wide p = 1.0F + f * (1.0F + f * (0.5F + f * (1.0F / 6 + f * (1.0F / 24 + f * (1.0F / 120 + f * (1.0F / 720))))));
    return p * (wide)(((whole)shifted - (whole)rounds + 127) << 23);
}

/* ---- rows and lanes ----------------------------------------------------------------------- */

#if defined(__AVX512F__)

/* out [n, LANES] = rows [LANES] of n, by squares. */
static void to_lanes(wide *out, const float *const *row, int64_t n)
{
    for (int64_t k = 0; k < n; k += LANES) {
        int64_t columns = n - k < LANES ? n - k : LANES;
        __mmask16 there = (__mmask16)((1u << columns) - 1);
        __m512i square[LANES];
        for (int l = 0; l < LANES; l++)
            square[l] = _mm512_maskz_loadu_epi32(there, row[l] + k);
        transpose(square);
        for (int64_t j = 0; j < columns; j++)
            out[k + j] = (wide)square[j];
    }
}

/* The first `count` lanes of in [n, LANES] become rows [count, n]. */
static void from_lanes(float *rows, int64_t count, const wide *in, int64_t n)
{
    for (int64_t k = 0; k < n; k += LANES) {
        int64_t columns = n - k < LANES ? n - k : LANES;
        __mmask16 there = (__mmask16)((1u << columns) - 1);
        __m512i square[LANES];
        for (int64_t j = 0; j < LANES; j++)
            square[j] = (__m512i)in[k + (j < columns ? j : 0)];
        transpose(square);
        for (int64_t l = 0; l < count; l++)
            _mm512_mask_storeu_epi32(rows + l * n + k, there, square[l]);
    }
}

#else

static void to_lanes(wide *out, const float *const *row, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        for (int l = 0; l < LANES; l++)
            out[k][l] = row[l][k];
}

static void from_lanes(float *rows, int64_t count, const wide *in, int64_t n)
{
    for (int64_t l = 0; l < count; l++)
        for (int64_t k = 0; k < n; k++)
            rows[l * n + k] = in[k][l];
}

#endif

/* Of x [n, LANES] the number of each lane's class, */
static inline wide of_class(const wide *x, const int32_t *class)
{
    wide out;
    for (int l = 0; l < LANES; l++)
        out[l] = x[class[l]][l];
    return out;
}

/* and a number to it. */
static inline void put(wide *x, const int32_t *class, wide number)
{
    for (int l = 0; l < LANES; l++)
        x[class[l]][l] = number[l];
}

static double add_lanes(wide x)
{
    double sum = 0;
    for (int l = 0; l < LANES; l++)
        sum += (double)x[l];
    return sum;
}

/* ---- a batch ------------------------------------------------------------------------------ */

/* Rows, one a lane. */
typedef struct batch {
    int64_t count;                  /* lanes from there on repeat the last row, and count nothing */
    wide *value[RER_CHANNEL_KINDS]; /* [n] each, evidence */
    wide *rate;                     /* [n] A_k, NULL: the same for all but the own class */
    wide *e, *f, *h;                /* [n] */
    wide *sum;                      /* [n] of what all batches give */
    float *of_row;                  /* [LANES, n], where there are rates */
    int32_t code[LANES], best[LANES];
    wide stands; /* rows that each stands for, or 0 */
    wide right, top;
    wide own, below;   /* e_c, z_c - top */
    wide Z, F, rest;   /* rest: Z without the best class */
    wide S, tilt;      /* tilt: sum_k b_k (z_k - top) */
    wide p, b, pG, pH; /* of the label's class */
    wide q;
} batch;

static int64_t room_for(const rer_channel_rows *rows)
{
    return (rows->kinds + 2 * (rows->rates != NULL) + 4) * rows->n * (int64_t)sizeof(wide);
}

static wide *take(wide **room, int64_t n)
{
    wide *piece = *room;
    *room += n;
    return piece;
}

/* `room` is aligned as vectors are. */
static void begin(batch *at, const rer_channel_rows *rows, void *room)
{
    wide *left = room;
    int64_t n = rows->n;
    for (int j = 0; j < rows->kinds; j++)
        at->value[j] = take(&left, n);
    at->rate = rows->rates != NULL ? take(&left, n) : NULL;
    at->of_row = rows->rates != NULL ? (float *)take(&left, n) : NULL;
    at->e = take(&left, n);
    at->f = take(&left, n);
    at->h = take(&left, n);
    at->sum = take(&left, n);
    for (int64_t k = 0; k < n; k++)
        at->sum[k] = all_of(0);
}

static void load(batch *at, const rer_channel_rows *rows, int64_t first)
{
    const float *row[LANES];
    int64_t n = rows->n, place[LANES];
    at->count = rows->count - first < LANES ? rows->count - first : LANES;
    for (int l = 0; l < LANES; l++) {
        place[l] = first + (l < at->count ? l : at->count - 1);
        at->code[l] = rows->code[place[l]];
        at->stands[l] = l >= at->count ? 0 : rows->stands != NULL ? rows->stands[place[l]] : 1;
        at->right[l] = rows->right[at->code[l]];
    }
    for (int j = 0; j < rows->kinds; j++) {
        for (int l = 0; l < LANES; l++)
            row[l] = rows->value[j] + place[l] * n;
        to_lanes(at->value[j], row, n);
    }
    if (at->rate == NULL)
        return;
    for (int l = 0; l < LANES; l++)
        row[l] = rows->rates + at->code[l] * n;
    to_lanes(at->rate, row, n);
    put(at->rate, at->code, at->right);
}

/* e takes z. */
static void find_scores(batch *at, const rer_channel_rows *rows)
{
    wide top = all_of(-INFINITY);
    whole best = {0};
    for (int32_t k = 0; k < rows->n; k++) {
        wide z = all_of(rows->bias[k]);
        for (int j = 0; j < rows->kinds; j++)
            z -= rows->weight[j] * at->value[j][k];
        whole higher = z > top;
        best = (higher & k) | (~higher & best);
        top = larger(z, top);
        at->e[k] = z;
    }
    at->top = top;
    for (int l = 0; l < LANES; l++)
        at->best[l] = best[l];
    at->below = larger(of_class(at->e, at->code) - top, all_of(DEEPEST));
}

/* e and f, and the sums over them. */
static void find_sums(batch *at, const rer_channel_rows *rows)
{
    wide lambda = all_of((float)rows->sharpness), zero = {0};
    put(at->e, at->best, all_of(-INFINITY)); /* its 1 is added last: where it has nearly everything, the rest counts */
    at->rest = at->F = at->tilt = at->S = zero;
    for (int32_t first = 0; first < rows->n; first += TERMS) {
        int32_t end = rows->n - first < TERMS ? rows->n : first + TERMS;
        wide rest = zero, F = zero, tilt = zero, S = zero;
        for (int32_t k = first; k < end; k++) {
            wide below = at->e[k] - at->top;
            whole counts = below > -INFINITY;
            below = where(counts, larger(below, all_of(DEEPEST)));
            wide e = where(counts, exp_of_negatives(below)), f = where(counts, exp_of_negatives(lambda * below));
            at->e[k] = e;
            at->f[k] = f;
            rest += e;
            F += f;
            tilt += f * below;
            if (at->rate != NULL)
                S += at->rate[k] * e;
        }
        at->rest += rest;
        at->F += F;
        at->tilt += tilt;
        at->S += S;
    }
    at->Z = 1 + at->rest;
    at->F += 1;
    at->tilt /= at->F;
    at->own = exp_of_negatives(at->below);
    at->p = at->own / at->Z;
    at->b = exp_of_negatives(lambda * at->below) / at->F;
    if (at->rate != NULL)
        at->S += of_class(at->rate, at->best);
    else
        at->S = (float)rows->uniform * (at->Z - at->own) + at->right * at->own;
    at->S /= at->Z;
}

/* h, p_c G and p_c H, with e = 0 at the label and the best class; of other classes no p_k is above 1/2. */
static void find_odds(batch *at, int32_t n)
{
    wide zero = {0}, G = zero, H = zero;
    put(at->e, at->code, zero);
    for (int32_t first = 0; first < n; first += TERMS) {
        int32_t end = n - first < TERMS ? n : first + TERMS;
        wide g = zero, h = zero;
        for (int32_t k = first; k < end; k++) {
            wide inverse = 1 / (at->Z - at->e[k]), odds = at->e[k] * inverse;
            at->h[k] = odds * at->Z * inverse;
            g += odds;
            h += at->h[k];
        }
        G += g;
        H += h;
    }
    whole other = {0};
    for (int l = 0; l < LANES; l++)
        other[l] = at->best[l] != at->code[l] ? -1 : 0;
    /* the label's class is in the rest, then: own / rest <= 1 */
    wide left = larger(at->rest, all_of(LEAST_REST)), share = at->own / left;
    at->pG = at->p * G + where(other, share / at->Z);
    at->pH = at->p * H + where(other, share / left);
    put(at->e, at->code, where(other, at->own));
}

/* Labels may be wrong by likeness: not where v is nothing to a float. */
static bool with_odds(const rer_channel_rows *rows)
{
    return (float)rows->likeness > 0;
}

/* Everything about the rows of a batch that slopes and flows share; e and f are 0 at the best class. */
static void take_apart(batch *at, const rer_channel_rows *rows)
{
    double e = rows->blur, v = rows->likeness;
    wide zero = {0};
    find_scores(at, rows);
    find_sums(at, rows);
    at->pG = at->pH = zero;
    if (with_odds(rows))
        find_odds(at, rows->n);
    at->q = (float)((1 - e) * (1 - v)) * at->S + (float)((1 - e) * v) * at->pG + (float)e * at->b;
    at->q = larger(at->q, all_of(LEAST));
}

/* ---- slopes ------------------------------------------------------------------------------- */

/* Sum of log q, four rows at a time. e and v are those of all rows: rounded to floats, they would be off in the same
 * direction in each, and the sum would jump as they move. */
static double add_logs(const batch *at, const rer_channel_rows *rows)
{
    double sum = 0, e = rows->blur, v = rows->likeness;
    for (int l = 0; l < LANES; l += 4) {
        double product = 1;
        for (int i = l; i < l + 4 && i < at->count; i++) {
            double clear = (1 - v) * (double)at->S[i] + v * (double)at->pG[i];
            double q = fmax((1 - e) * clear + e * (double)at->b[i], (double)LEAST);
            if (rows->stands == NULL)
                product *= q;
            else
                sum += (double)at->stands[i] * log(q);
        }
        if (rows->stands == NULL)
            sum += log(product);
    }
    return sum;
}

/* Those of the scores become slopes of the biases, in at->sum, and of the weights. */
static void add_score_slopes(rer_channel_slopes *sums, batch *at, const rer_channel_rows *rows, wide clear, wide alike,
                             wide seen)
{
    int32_t n = rows->n;
    bool odds = with_odds(rows);
    float lambda = (float)rows->sharpness;
    wide by_rate = clear / at->Z, by_e = by_rate * at->S + alike * (at->pG + at->pH) / at->Z, by_h = alike * at->p,
         by_f = lambda * seen / at->F, uniform = all_of((float)rows->uniform), all = {0},
         weight[RER_CHANNEL_KINDS] = {{0}};
    wide at_own = alike * at->pG + lambda * seen;
    if (at->rate == NULL)
        at_own += by_rate * (at->right - uniform) * at->own;
    for (int l = 0; l < LANES; l++)
        at_own[l] = at->code[l] != at->best[l] ? at_own[l] : 0;
    for (int32_t first = 0; first < n; first += TERMS) {
        int32_t end = n - first < TERMS ? n : first + TERMS;
        wide some = {0}, weights[RER_CHANNEL_KINDS] = {{0}};
        for (int32_t k = first; k < end; k++) {
            wide rate = at->rate != NULL ? at->rate[k] : uniform;
            wide slope = at->e[k] * (by_rate * rate - by_e) - by_f * at->f[k];
            if (odds)
                slope += by_h * at->h[k];
            some += slope;
            at->sum[k] += slope;
            for (int j = 0; j < rows->kinds; j++)
                weights[j] += at->value[j][k] * slope;
        }
        all += some;
        for (int j = 0; j < rows->kinds; j++)
            weight[j] += weights[j];
    }
    all += at_own;
    put(at->sum, at->code, of_class(at->sum, at->code) + at_own);
    put(at->sum, at->best, of_class(at->sum, at->best) - all);
    for (int j = 0; j < rows->kinds; j++) {
        const wide *value = at->value[j];
        sums->weight[j] -= add_lanes(weight[j] + of_class(value, at->code) * at_own - of_class(value, at->best) * all);
    }
}

/* d log q / d A_k = (1 - e)(1 - v) p_k / q of each row, to those of its label. It takes h. */
static void add_pair_slopes(float *pairs, batch *at, wide clear, int64_t n)
{
    wide by_rate = clear / at->Z;
    for (int64_t k = 0; k < n; k++)
        at->h[k] = by_rate * at->e[k];
    put(at->h, at->code, by_rate * at->own);
    put(at->h, at->best, by_rate);
    from_lanes(at->of_row, at->count, at->h, n);
    for (int64_t l = 0; l < at->count; l++) {
        float *restrict of_label = pairs + at->code[l] * n;
        const float *restrict slope = at->of_row + l * n;
        for (int64_t k = 0; k < n; k++)
            of_label[k] += slope[k];
    }
}

static void slopes(rer_channel_slopes *sums, const rer_channel_rows *rows, void *room)
{
    batch at;
    double e = rows->blur, v = rows->likeness;
    float by_clear = (float)((1 - e) * (1 - v)), by_alike = (float)((1 - e) * v);
    begin(&at, rows, room);
    for (int64_t i = 0; i < rows->count; i += LANES) {
        load(&at, rows, i);
        take_apart(&at, rows);
        wide inverse = at.stands / at.q, clear = by_clear * inverse, seen = (float)e * at.b * inverse;
        add_score_slopes(sums, &at, rows, clear, by_alike * inverse, seen);
        sums->value += add_logs(&at, rows);
        sums->sharpness += add_lanes(seen * (at.below - at.tilt));
        sums->blur += add_lanes((at.b - (float)(1 - v) * at.S - (float)v * at.pG) * inverse);
        sums->likeness += add_lanes((float)(1 - e) * (at.pG - at.S) * inverse);
        if (sums->pairs != NULL)
            add_pair_slopes(sums->pairs, &at, clear, rows->n);
        else if (rows->n > 1)
            sums->uniform += add_lanes(clear * ((1 - at.p) / (float)(rows->n - 1) - at.p));
    }
    for (int64_t k = 0; k < rows->n; k++)
        sums->bias[k] += (float)add_lanes(at.sum[k]);
}

/* ---- flows -------------------------------------------------------------------------------- */

/* P(k, clearly seen | label) into at->sum; with rates that of other classes than the label's is left in h. */
static wide add_flows(batch *at, const rer_channel_rows *rows, wide clear)
{
    wide by_e = clear / at->Z, uniform = all_of((float)rows->uniform), wrong = {0};
    wide by_row = by_e * at->stands;
    put(at->e, at->best, all_of(1));
    if (at->rate == NULL) {
        for (int32_t k = 0; k < rows->n; k++)
            at->sum[k] += by_row * uniform * at->e[k];
        put(at->sum, at->code, of_class(at->sum, at->code) + by_row * (at->right - uniform) * at->own);
        return clear * at->stands * uniform * (1 - at->p);
    }
    for (int32_t k = 0; k < rows->n; k++) {
        at->h[k] = by_e * at->e[k] * at->rate[k];
        at->sum[k] += at->stands * at->h[k];
    }
    put(at->h, at->code, all_of(0));
    for (int32_t k = 0; k < rows->n; k++)
        wrong += at->h[k];
    return at->stands * wrong;
}

static void flows(rer_channel_flows *out, const rer_channel_rows *rows, void *room)
{
    batch at;
    float clearly = (float)((1 - rows->blur) * (1 - rows->likeness));
    begin(&at, rows, room);
    for (int64_t i = 0; i < rows->count; i += LANES) {
        load(&at, rows, i);
        take_apart(&at, rows);
        wide clear = clearly / at.q;
        out->wrong += add_lanes(add_flows(&at, rows, clear));
        if (out->directed != NULL)
            from_lanes(out->directed + i * rows->n, at.count, at.h, rows->n);
    }
    for (int64_t k = 0; k < rows->n; k++)
        out->totals[k] += (float)add_lanes(at.sum[k]);
}

const rer_rows_kernels TABLE_NAME(RER_ISA) = {
    .room = room_for,
    .slopes = slopes,
    .flows = flows,
};
