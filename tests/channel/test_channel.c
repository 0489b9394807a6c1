/* The odds that a channel makes of a row, for every instruction set, against its formulas written out plainly. */
#include "channel/channel.h"
#include "made_data.h"
#include "plain_channel.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- odds that a label is wrong ---------------------------------------------------------------- */

/* A channel whose row of rates for this label, shares and scores are those of the plain row: the bias holds the score,
 * and one kind of evidence is there that takes off half a nat a unit. */
typedef struct made_channel {
    rer_channel channel;
    float bias[MOST], rates[MOST * MOST], right[MOST], value[MOST];
} made_channel;

static void make_channel(made_channel *made, const plain_row *row, bool with_rates, uint64_t *seed)
{
    int32_t n = row->n;
    *made = (made_channel){.channel = {.C = n,
                                       .weight = {.5},
                                       .bias = made->bias,
                                       .blur = row->blur,
                                       .sharpness = row->lambda,
                                       .likeness = row->likeness,
                                       .uniform = row->rate[row->code == 0 ? 1 : 0] * (n - 1),
                                       .rates = with_rates ? made->rates : NULL,
                                       .right = made->right}};
    for (int32_t k = 0; k < n; k++) {
        made->value[k] = (float)(40 * made_uniform(seed));
        made->bias[k] = (float)(row->z[k] + .5 * (double)made->value[k]);
        made->rates[row->code * n + k] = (float)row->rate[k];
        made->right[k] = (float)row->rate[row->code];
    }
    made->rates[row->code * n + row->code] = 1e9f;
}

/* What the floats of a made channel come to. */
static plain_row row_of(const plain_row *row, const made_channel *made)
{
    plain_row same = *row;
    for (int32_t k = 0; k < row->n; k++)
        same.z[k] = (double)made->bias[k] - .5 * (double)made->value[k];
    return same;
}

static double plain_logit(const plain_row *row)
{
    plain_parts parts = plain(row);
    double wrong = 0, e = row->blur, v = row->likeness;
    int32_t c = row->code;
    for (int32_t k = 0; k < row->n; k++) /* summed as it is: q - right would cancel */
        if (k != c)
            wrong += parts.p[k] * (e * parts.b[c] +
                                   (1 - e) * ((1 - v) * row->rate[k] + v * parts.p[c] / without(parts.p, row->n, k)));
    return log(wrong) - log(parts.right);
}

/* Scores are rounded to floats of size 20. */
static void check_odds(double got, double want, const rer_kernels *kernels, const plain_row *row)
{
    if (!(fabs(got - want) < 2e-5 * (1 + fabs(want))))
        fail_msg("log odds (%s, %d classes): %.9g instead of %.9g", kernels->name, (int)row->n, got, want);
}

/* Perhaps no label is wrong, P0. A label that the channel explains has had its say in that; a new one is seen with p_c
 * then, and with q else. Bayes' rule, step by step; all in units of right + wrong, so that nothing is too small. */
static void check_perhaps_all_right(const rer_channel_state *state, const rer_channel *channel,
                                    const rer_kernels *kernels, const plain_row *row)
{
    plain_parts parts = plain(row);
    double P0 = channel->all_right, odds = plain_logit(row);
    double wrong = 1 / (1 + exp(-odds)), right = 1 / (1 + exp(odds));
    double p = right / (row->blur * parts.b[row->code] + (1 - row->blur) * (1 - row->likeness) * row->rate[row->code]);
    double now = P0 * p / (P0 * p + (1 - P0)), mistakes = (1 - P0) / (P0 * p + (1 - P0)); /* with this label, too */
    if (fabs(odds) > 600)
        return;
    check_odds(rer_channel_wrong(state, channel, row->code), log((1 - P0) * wrong) - log(P0 + (1 - P0) * right),
               kernels, row);
    check_odds(rer_channel_wrong_new(state, channel, row->code), log(mistakes * wrong) - log(now + mistakes * right),
               kernels, row);
}

static void check_wrong(plain_row *row, const rer_kernels *kernels, bool with_rates)
{
    static uint64_t seed = 77;
    static made_channel made;
    float z[MOST];
    make_channel(&made, row, with_rates, &seed);
    plain_row same = row_of(row, &made);
    rer_channel_state state = rer_channel_begin();
    const float *value[RER_EVIDENCE_KINDS] = {made.value};
    rer_channel_take(&state, &made.channel, value, 0, row->n, row->code, z, kernels);
    check_odds(rer_channel_wrong(&state, &made.channel, row->code), plain_logit(&same), kernels, &same);
    made.channel.all_right = made_uniform(&seed);
    check_perhaps_all_right(&state, &made.channel, kernels, &same);
    int32_t best = -1;
    plain_parts parts = plain(&same);
    for (int32_t k = 0; k < row->n; k++)
        if (k != row->code && (best < 0 || (with_rates ? parts.p[k] * row->rate[k] > parts.p[best] * row->rate[best]
                                                       : parts.p[k] > parts.p[best])))
            best = k;
    assert_int_equal(rer_channel_suggest(&state, &made.channel, z, row->code), best);
}

static void test_wrong(void **state)
{
    (void)state;
    for_each_row(check_wrong);
}

/* ---- what else a label may be ------------------------------------------------------------------ */

/* share [n] of each class in the probability that the label is wrong. */
static void plain_shares(double *share, const plain_row *row)
{
    plain_parts parts = plain(row);
    double sum = 0, e = row->blur, v = row->likeness;
    int32_t c = row->code;
    for (int32_t k = 0; k < row->n; k++) {
        double by_likeness = v * parts.p[c] / without(parts.p, row->n, k);
        share[k] = k == c ? 0 : parts.p[k] * (e * parts.b[c] + (1 - e) * ((1 - v) * row->rate[k] + by_likeness));
        sum += share[k];
    }
    for (int32_t k = 0; k < row->n; k++)
        share[k] /= sum;
}

/* The suggestion comes first, and takes the mean with those that are above it; the others as they are. */
static void check_shares(const rer_channel_others *others, const double *share, int32_t suggested, int32_t n)
{
    double sum = share[suggested], got = 0, want = 0, above[RER_LIKELY_OTHERS] = {0};
    int pooled = 1, places = (int)rer_min(RER_LIKELY_OTHERS, n - 1);
    for (int i = 0; i < places && others->class[i] >= 0; i++) {
        double own = share[others->class[i]];
        got += others->share[i];
        want += own;
        above[i] = own;
        assert_true(i == 0 || others->share[i] <= others->share[i - 1]);
        for (int j = 0; j < i; j++)
            assert_int_not_equal(others->class[i], others -> class[j]);
        for (int32_t k = 0; i > 0 && k < n; k++) { /* none that is left out is above one that is listed */
            bool listed = false;
            for (int j = 0; j < places; j++)
                listed = listed || others->class[j] == k;
            assert_true(listed || share[k] <= own + 2e-5);
        }
    }
    assert_int_equal(others->class[0], suggested);
    for (int i = 1; i < places && above[i] > sum / pooled; i++, pooled++)
        sum += above[i];
    for (int i = 0; i < places && others->class[i] >= 0; i++)
        assert_float_equal(others->share[i], i < pooled ? sum / pooled : above[i], 2e-5);
    assert_float_equal(got, want, 5e-5);
}

static void check_others(plain_row *row, const rer_kernels *kernels, bool with_rates)
{
    static uint64_t seed = 78;
    static made_channel made;
    float z[MOST];
    double share[MOST];
    make_channel(&made, row, with_rates, &seed);
    plain_row same = row_of(row, &made);
    rer_channel_state state = rer_channel_begin();
    rer_channel_others others = rer_channel_no_others();
    const float *value[RER_EVIDENCE_KINDS] = {made.value};
    float top = rer_channel_take(&state, &made.channel, value, 0, row->n, row->code, z, kernels);
    int32_t suggested = rer_channel_suggest(&state, &made.channel, z, row->code);
    rer_channel_keep_others(&others, &state, &made.channel, z, top, 0, row->n, row->code);
    rer_channel_share_out(&others, suggested);
    plain_shares(share, &same);
    check_shares(&others, share, suggested, row->n);
}

static void test_others(void **state)
{
    (void)state;
    for_each_row(check_others);
}

/* Classes in two tiles: the same odds as all at once. Likeness and rates need whole rows. */
static void test_tiles(void **state)
{
    (void)state;
    static made_channel made;
    uint64_t seed = 5;
    const rer_kernels *kernels = rer_cpu_kernels();
    for (int size = 0; size < SIZES; size++)
        for (int draw = 0; draw < DRAWS; draw++) {
            int32_t n = sizes[size], first = 1 + (int32_t)((n - 1) * made_uniform(&seed));
            plain_row row = draw_row(n, draw % 3 == 0 ? .5 : draw % 3 == 1 ? 3 : 12, draw % 2 == 0, false, &seed);
            float z[MOST];
            row.likeness = 0;
            if (first == 1 && row.code == 0) /* a tile of the label alone has no other class */
                continue;
            if (first == n - 1 && row.code == n - 1)
                continue;
            make_channel(&made, &row, false, &seed);
            plain_row same = row_of(&row, &made);
            rer_channel_state states = rer_channel_begin();
            const float *low[RER_EVIDENCE_KINDS] = {made.value}, *high[RER_EVIDENCE_KINDS] = {made.value + first};
            rer_channel_others others = rer_channel_no_others();
            double share[MOST];
            float top = rer_channel_take(&states, &made.channel, low, 0, first, row.code, z, kernels);
            rer_channel_keep_others(&others, &states, &made.channel, z, top, 0, first, row.code);
            top = rer_channel_take(&states, &made.channel, high, first, n - first, row.code, z, kernels);
            rer_channel_keep_others(&others, &states, &made.channel, z, top, first, n - first, row.code);
            rer_channel_share_out(&others, states.sums.best);
            plain_shares(share, &same);
            check_shares(&others, share, states.sums.best, n);
            double got = rer_channel_wrong(&states, &made.channel, row.code), want = plain_logit(&same);
            if (!(fabs(got - want) < 2e-5 * (1 + fabs(want))))
                fail_msg("log odds of %d classes in tiles: %.9g instead of %.9g", (int)n, got, want);
            int32_t best = row.code == 0 ? 1 : 0;
            for (int32_t k = 0; k < n; k++)
                best = k != row.code && same.z[k] > same.z[best] ? k : best;
            assert_int_equal(states.sums.best, best);
        }
}

/* Where the label is alone in its tile, that tile has no part in the sums. */
static void test_label_alone_in_a_tile(void **state)
{
    (void)state;
    static made_channel made;
    uint64_t seed = 6;
    for (int draw = 0; draw < DRAWS; draw++) {
        int32_t n = 10;
        bool at_end = draw % 2 == 0;
        plain_row row = draw_row(n, 3, false, false, &seed);
        float z[MOST];
        row.likeness = 0;
        row.code = at_end ? n - 1 : 0;
        for (int32_t k = 0; k < n; k++)
            row.rate[k] = k == row.code ? .9 : .005;
        make_channel(&made, &row, false, &seed);
        plain_row same = row_of(&row, &made);
        int32_t first = at_end ? n - 1 : 1;
        rer_channel_state states = rer_channel_begin();
        const float *low[RER_EVIDENCE_KINDS] = {made.value}, *high[RER_EVIDENCE_KINDS] = {made.value + first};
        rer_channel_take(&states, &made.channel, low, 0, first, row.code, z, rer_cpu_kernels());
        rer_channel_take(&states, &made.channel, high, first, n - first, row.code, z, rer_cpu_kernels());
        double got = rer_channel_wrong(&states, &made.channel, row.code), want = plain_logit(&same);
        if (!(fabs(got - want) < 2e-5 * (1 + fabs(want))))
            fail_msg("log odds, the label alone in a tile: %.9g instead of %.9g", got, want);
    }
}

/* Rows without a label: odds of the likeliest class. */
static void test_right(void **state)
{
    (void)state;
    static made_channel made;
    uint64_t seed = 8;
    for (int size = 0; size < SIZES; size++)
        for (int draw = 0; draw < DRAWS; draw++) {
            plain_row row = draw_row(sizes[size], draw % 2 == 0 ? 1 : 6, true, false, &seed);
            float z[MOST];
            make_channel(&made, &row, false, &seed);
            plain_row same = row_of(&row, &made);
            plain_parts parts = plain(&same);
            rer_channel_state states = rer_channel_begin();
            const float *value[RER_EVIDENCE_KINDS] = {made.value};
            rer_channel_take(&states, &made.channel, value, 0, row.n, -1, z, rer_cpu_kernels());
            int32_t k = states.sums.best;
            double got = rer_channel_right(&states);
            for (int32_t j = 0; j < row.n; j++)
                assert_true(parts.p[j] <= parts.p[k] * (1 + 1e-5));
            double want = log(parts.p[k]) - log(without(parts.p, row.n, k));
            if (!(fabs(got - want) < 2e-5 * (1 + fabs(want))))
                fail_msg("log odds of class %d of %d: %.9g instead of %.9g", (int)k, (int)row.n, got, want);
        }
}

/* Evidence beyond the edge is worth what it is worth there. */
static void test_edge(void **state)
{
    (void)state;
    static made_channel made;
    uint64_t seed = 9;
    plain_row row = draw_row(10, 2, false, false, &seed);
    float z[MOST], least = INFINITY;
    make_channel(&made, &row, false, &seed);
    for (int32_t k = 0; k < row.n; k++) {
        made.value[k] += 50;
        least = fminf(least, made.value[k]);
    }
    made.channel.edge[RER_GLOBAL] = (double)least / 4;
    plain_row same = row;
    for (int32_t k = 0; k < row.n; k++)
        same.z[k] = (double)made.bias[k] - .5 / 4 * (double)made.value[k];
    const float *value[RER_EVIDENCE_KINDS] = {made.value};
    for (int at = 0; at < 2; at++) { /* beyond, and on it: then nothing changes */
        rer_channel_state states = rer_channel_begin();
        rer_channel_take(&states, &made.channel, value, 0, row.n, row.code, z, rer_cpu_kernels());
        double got = rer_channel_wrong(&states, &made.channel, row.code), want = plain_logit(&same);
        if (!(fabs(got - want) < 2e-5 * (1 + fabs(want))))
            fail_msg("log odds of an odd row: %.9g instead of %.9g", got, want);
        made.channel.edge[RER_GLOBAL] = (double)least;
        for (int32_t k = 0; k < row.n; k++)
            same.z[k] = (double)made.bias[k] - .5 * (double)made.value[k];
    }
}

/* And that of a row without a label: it does not go to one class for certain. */
static void test_right_beyond_the_edge(void **state)
{
    (void)state;
    static made_channel made;
    uint64_t seed = 11;
    for (int draw = 0; draw < DRAWS; draw++) {
        plain_row row = draw_row(10, 2, true, false, &seed);
        float z[MOST], least = INFINITY;
        make_channel(&made, &row, false, &seed);
        for (int32_t k = 0; k < row.n; k++) {
            made.bias[k] = (float)made_normal(&seed);
            made.value[k] += 200;
            least = fminf(least, made.value[k]);
        }
        made.channel.edge[RER_GLOBAL] = (double)least / 20;
        plain_row same = row;
        for (int32_t k = 0; k < row.n; k++)
            same.z[k] = (double)made.bias[k] - .5 / 20 * (double)made.value[k];
        plain_parts parts = plain(&same);
        rer_channel_state states = rer_channel_begin();
        const float *value[RER_EVIDENCE_KINDS] = {made.value};
        rer_channel_take(&states, &made.channel, value, 0, row.n, -1, z, rer_cpu_kernels());
        int32_t best = states.sums.best;
        double got = rer_channel_right(&states);
        double want = log(parts.p[best]) - log(without(parts.p, row.n, best));
        if (!(fabs(got - want) < 2e-5 * (1 + fabs(want))))
            fail_msg("log odds of the best class of an odd row: %.9g instead of %.9g", got, want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_label_alone_in_a_tile),
        cmocka_unit_test(test_right),
        cmocka_unit_test(test_edge),
        cmocka_unit_test(test_right_beyond_the_edge),
    };
    return cmocka_run_group_tests_name("channel.channel", tests, NULL, NULL);
}
