/* The network's loss and gradients against those of a plain one in double and its central differences, its
 * dropout, and that training trains or says why it cannot. */
#include "made_data.h"
#include "plain_network.h"

#include "core/random.h"
#include "fit/autoencoder/train.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GRADIENT_BAR 2e-5 /* of the largest entry: it is made in float */
#define LOSS_BAR 1e-6
#define STEP 2e-5 /* of the differences: five points, so that their error is about STEP^4 */

enum { D = 7, Z = 3, B = 6, PARAMETERS_MAX = 400, CODES = 2 * B * Z };

static const rer_curve curves[] = {{1.577, .8951}, {7.4673e-7, 1.87817}, {.6, 1}, {2.5, .45}, {.05, 2.2}};
#define CURVES ((int)(sizeof curves / sizeof *curves))

typedef struct setup {
    rer_network network;
    rer_loss_settings settings;
    rer_draws draws;
    int32_t negatives[RER_NEGATIVES * B];
    double w[PARAMETERS_MAX], x[2 * B * D]; /* numbers that are floats */
    rer_scratch scratch;
} setup;

static rer_scratch allocate_scratch(int64_t bytes)
{
    void *memory = NULL;
    assert_int_equal(rer_allocate(&memory, bytes, 1, "scratch", NULL), RER_OK);
    return rer_scratch_over(memory, bytes);
}

static setup make_setup(const int32_t *hidden, int n_hidden, double dropout, rer_curve curve, double repulsion)
{
    setup made = {
        .network = rer_network_shape(D, hidden, n_hidden, Z),
        .settings = {.curve = curve, .weight = 20, .repulsion = repulsion, .dropout = dropout, .regularization = 1e-3},
        .draws = {.seed = 5, .key = 9, .step = 3},
    };
    uint64_t state = 11;
    assert_true(made.network.parameters <= PARAMETERS_MAX);
    for (int64_t i = 0; i < made.network.parameters; i++)
        made.w[i] = (double)(float)(.6 * made_normal(&state));
    for (int i = 0; i < 2 * B * D; i++)
        made.x[i] = (double)(float)made_uniform(&state);
    for (int n = 0; n < RER_NEGATIVES * B; n++)
        made.negatives[n] = (int32_t)(made_uniform(&state) * B);
    made.scratch = allocate_scratch(rer_network_scratch(&made.network, B));
    return made;
}

static void to_float(float *out, const double *in, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = (float)in[i];
}

static rer_loss step(setup *made, float *g)
{
    float w[PARAMETERS_MAX], x[2 * B * D];
    to_float(w, made->w, made->network.parameters);
    to_float(x, made->x, 2 * B * D);
    made->draws.negatives = made->negatives;
    return rer_network_step(&made->network, &made->settings, w, x, B, &made->draws, g, made->scratch,
                            rer_cpu_kernels());
}

static rer_loss plain_loss(setup *made)
{
    made->draws.negatives = made->negatives;
    return plain_network_loss(&made->network, &made->settings, made->w, made->x, B, &made->draws);
}

/* Loss that g is the gradient of: the regularisation's part is Adam's. */
static double smooth_loss(setup *made)
{
    rer_loss loss = plain_loss(made);
    return loss.reconstruction + loss.layout;
}

static double layout_loss(setup *made)
{
    return plain_layout_loss(made->x, B, Z, &made->settings, made->negatives);
}

/* That of the library, of the codes in x. */
static double layout_step(const setup *made, float *g)
{
    float z[CODES];
    to_float(z, made->x, CODES);
    return rer_layout_loss(z, B, Z, &made->settings, made->negatives, g);
}

static double difference(setup *made, double *variable, double (*loss)(setup *))
{
    double kept = *variable, sum = 0;
    static const double place[] = {-2, -1, 1, 2}, weight[] = {1, -8, 8, -1};
    for (int i = 0; i < 4; i++) {
        *variable = kept + place[i] * STEP;
        sum += weight[i] * loss(made);
    }
    *variable = kept;
    return sum / (12 * STEP);
}

static void assert_gradient(setup *made, double *variables, const float *g, int64_t n, double (*loss)(setup *),
                            const char *what)
{
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs((double)g[i]));
    assert_true(largest > 0 && isfinite(largest));
    for (int64_t i = 0; i < n; i++) {
        double expected = difference(made, variables + i, loss), off = fabs((double)g[i] - expected) / largest;
        if (!(off <= GRADIENT_BAR))
            fail_msg("%s[%lld]: gradient %.12g, differences %.12g, off by %.1e", what, (long long)i, (double)g[i],
                     expected, off);
    }
}

static void assert_loss(double made, double expected)
{
    if (!(fabs(made - expected) <= LOSS_BAR * fabs(expected)))
        fail_msg("loss %.9g, not %.9g", made, expected);
}

static void check_network(const int32_t *hidden, int n_hidden, double dropout, rer_curve curve, double repulsion)
{
    setup made = make_setup(hidden, n_hidden, dropout, curve, repulsion);
    float g[PARAMETERS_MAX];
    memset(g, 0x7f, sizeof g); /* what the step leaves alone would show */
    rer_loss loss = step(&made, g), plain = plain_loss(&made);
    assert_loss(loss.reconstruction, plain.reconstruction);
    assert_loss(loss.layout, plain.layout);
    assert_loss(loss.regularization, plain.regularization);
    assert_loss(loss.total, plain.total);
    for (int l = 0; l < made.network.layers; l++) {
        char what[120];
        int64_t weight = made.network.weight[l], bias = made.network.bias[l];
        (void)snprintf(what, sizeof what, "a %g b %g dropout %g: weights of layer %d", curve.a, curve.b, dropout, l);
        assert_gradient(&made, made.w + weight, g + weight, bias - weight, smooth_loss, what);
        (void)snprintf(what, sizeof what, "a %g b %g dropout %g: biases of layer %d", curve.a, curve.b, dropout, l);
        assert_gradient(&made, made.w + bias, g + bias, made.network.width[l + 1], smooth_loss, what);
    }
    free(made.scratch.base);
}

static void test_gradients_of_the_network(void **state)
{
    (void)state;
    static const int32_t one[] = {5}, two[] = {6, 4};
    for (int c = 0; c < CURVES; c++)
        for (int dropped = 0; dropped < 2; dropped++) {
            check_network(one, 1, dropped ? .3 : 0, curves[c], c % 2 ? .5 : 1);
            check_network(two, 2, dropped ? .3 : 0, curves[c], c % 2 ? 1 : .5);
        }
}

static void test_gradients_of_codes(void **state)
{
    (void)state;
    static const int32_t hidden[] = {5};
    for (int c = 0; c < CURVES; c++)
        for (int weak = 0; weak < 2; weak++) {
            setup made = make_setup(hidden, 1, 0, curves[c], weak ? .5 : 1);
            float g[CODES];
            for (int i = 0; i < CODES; i++) /* the first of x serve as codes, at the curve's own scale */
                made.x[i] = (double)(float)(made.x[i] * 3 * pow(curves[c].a, -.5 / curves[c].b));
            assert_loss(layout_step(&made, g), layout_loss(&made));
            assert_gradient(&made, made.x, g, CODES, layout_loss, "code");
            free(made.scratch.base);
        }
}

static void test_coincident_codes_are_left_alone(void **state)
{
    (void)state;
    static const int32_t hidden[] = {5};
    for (int c = 0; c < CURVES; c++) {
        setup made = make_setup(hidden, 1, 0, curves[c], 1);
        float g[CODES];
        for (int i = 0; i < CODES; i++)
            made.x[i] = .25 * (i % Z + 1);
        double loss = layout_step(&made, g);
        assert_true(fabs(loss - log(2)) < 1e-12); /* sigmoid(0) = 1/2, pulled and pushed */
        for (int i = 0; i < CODES; i++)
            assert_true(g[i] == 0);
        free(made.scratch.base);
    }
}

/* Rows that come several times in a batch are given once: the same loss and gradient as if given each time. */
static void test_shared_rows(void **state)
{
    (void)state;
    static const int32_t hidden[] = {6, 4}, rows[2 * B] = {0, 1, 2, 0, 0, 3, 4, 2, 2, 1, 4, 0};
    for (int dropped = 0; dropped < 2; dropped++) {
        setup made = make_setup(hidden, 2, dropped ? .3 : 0, curves[0], 1);
        double given[2 * B * D];
        float shared[PARAMETERS_MAX], each[PARAMETERS_MAX];
        memcpy(given, made.x, sizeof given);
        made.draws.rows = rows;
        made.draws.distinct = 5;
        rer_loss loss = step(&made, shared), alone = step(&made, NULL);
        assert_true(loss.total == alone.total);
        for (int p = 0; p < 2 * B; p++)
            memcpy(made.x + p * D, given + rows[p] * D, D * sizeof(double));
        made.draws.rows = NULL;
        assert_loss(loss.total, step(&made, each).total);
        for (int64_t i = 0; i < made.network.parameters; i++)
            if (!(fabsf(shared[i] - each[i]) <= 1e-6f * (1 + fabsf(each[i]))))
                fail_msg("gradient %lld: %.9g shared, %.9g not", (long long)i, (double)shared[i], (double)each[i]);
        free(made.scratch.base);
    }
}

/* log(1 + u) is no number for u below -1, even where log(2 + u) and log(1 + 1 / (1 + u)) are. */
static void test_no_loss_below_minus_one(void **state)
{
    (void)state;
    rer_loss_settings settings = {.curve = {-1.5, 1}, .repulsion = 1};
    float z[] = {0, 10, 1, 11}, g[4]; /* pulled over 1: u = -1.5; pushed over 9 and 11 */
    int32_t negatives[2 * RER_NEGATIVES] = {1, 1, 1, 1, 1};
    assert_true(isnan(rer_layout_loss(z, 2, 1, &settings, negatives, g)));
}

/* With weights of 0 and biases of 1, every hidden unit that is kept is 1 / (1 - p), of the head as of
 * the tail. The gradient of the second layer's weights is (h_head - h_tail) dz: 0, but for rounding,
 * unless one of the two units was dropped and the other was not. */
static void test_dropout_rate(void **state)
{
    (void)state;
    enum { UNITS = 1000, ROUNDS = 40 };
    static const double rates[] = {.01, .1, .3, .6};
    static const int32_t hidden[] = {UNITS};
    for (int r = 0; r < 4; r++) {
        rer_network network = rer_network_shape(1, hidden, 1, 1);
        rer_loss_settings settings = {.curve = {1, 1}, .repulsion = .5, .dropout = rates[r]};
        float *w = calloc((size_t)network.parameters, sizeof *w), *g = calloc((size_t)network.parameters, sizeof *g);
        int32_t negatives[RER_NEGATIVES] = {0};
        uint64_t random = 7;
        float x[2] = {.5f, .5f};
        double sum = 0;
        rer_scratch scratch = allocate_scratch(rer_network_scratch(&network, 1));
        for (int64_t i = network.bias[0]; i < network.bias[0] + UNITS; i++)
            w[i] = 1;
        for (int64_t i = network.weight[1]; i < network.bias[1]; i++)
            w[i] = (float)made_uniform(&random); /* so that no two sums of kept units are the same */
        for (uint64_t round = 0; round < ROUNDS; round++) {
            rer_draws draws = {.seed = 1, .key = 2, .step = round, .negatives = negatives};
            (void)rer_network_step(&network, &settings, w, x, 1, &draws, g, scratch, rer_cpu_kernels());
            double largest = 0;
            for (int64_t i = network.weight[1]; i < network.bias[1]; i++)
                largest = fmax(largest, fabs((double)g[i]));
            for (int64_t i = network.weight[1]; i < network.bias[1]; i++)
                sum += fabs((double)g[i]) > largest / 2;
        }
        double expected = 2 * rates[r] * (1 - rates[r]), n = UNITS * ROUNDS;
        double deviation = sqrt(expected * (1 - expected) / n);
        if (!(fabs(sum / n - expected) < 4 * deviation))
            fail_msg("dropout %g: one of two units dropped in %g of the pairs, not %g", rates[r], sum / n, expected);
        free(scratch.base);
        free(g);
        free(w);
    }
}

/* ---- training ---------------------------------------------------------------------------- */

enum { ROWS = 150, FEATURES = 20 };

static rer_training make_training(rer_curve curve)
{
    static const int32_t hidden[] = {16};
    return (rer_training){
        .network = rer_network_shape(FEATURES, hidden, 1, 4),
        .loss = {.curve = curve, .weight = 20, .repulsion = 1, .dropout = .01, .regularization = 1e-6},
        .graph = {.neighbors = 15, .epochs = 20},
        .batch = 32,
        .learning_rate = 1e-3,
        .seed = 1,
    };
}

/* Rows near a plane within 0..1. */
static void make_rows(float *x)
{
    uint64_t state = 3;
    double across[2][FEATURES];
    for (int j = 0; j < 2 * FEATURES; j++)
        across[j / FEATURES][j % FEATURES] = made_uniform(&state) - .5;
    for (int i = 0; i < ROWS; i++) {
        double u = made_uniform(&state) - .5, v = made_uniform(&state) - .5;
        for (int j = 0; j < FEATURES; j++)
            x[i * FEATURES + j] = (float)(.5 + u * across[0][j] + v * across[1][j] + .02 * made_normal(&state));
    }
}

static double mean_error(const rer_network *network, const float *w, const float *x)
{
    float errors[ROWS];
    double sum = 0;
    rer_scratch scratch = allocate_scratch(rer_network_sweep_scratch(network, ROWS));
    rer_network_errors(network, w, x, ROWS, errors, 1, scratch, rer_cpu_kernels());
    for (int i = 0; i < ROWS; i++)
        sum += (double)errors[i] / ROWS;
    free(scratch.base);
    return sum;
}

static double train(rer_training training, const float *x, float *w)
{
    rer_error error = {0};
    rer_trained trained = {0};
    rer_status status = rer_train(w, &trained, &training, x, ROWS, 1, "one", NULL, rer_cpu_kernels(), &error);
    if (status != RER_OK)
        fail_msg("%s", error.message);
    assert_true(trained.steps > 0);
    if (training.learning_rate > 1e-6)
        assert_true(trained.last_loss < trained.first_loss);
    return mean_error(&training.network, w, x);
}

static void test_training_trains(void **state)
{
    (void)state;
    float x[ROWS * FEATURES];
    make_rows(x);
    for (int c = 0; c < 2; c++) {
        rer_training training = make_training(curves[c]);
        float *w = calloc((size_t)training.network.parameters, sizeof *w);
        training.learning_rate = 1e-12; /* as it starts */
        double start = train(training, x, w);
        training.learning_rate = 1e-3;
        training.graph.epochs = 200;
        double end = train(training, x, w), spread = 0;
        for (int j = 0; j < FEATURES; j++) { /* what the mean row alone would leave */
            double mean = 0;
            for (int i = 0; i < ROWS; i++)
                mean += (double)x[i * FEATURES + j] / ROWS;
            for (int i = 0; i < ROWS; i++)
                spread += pow((double)x[i * FEATURES + j] - mean, 2) / ROWS;
        }
        if (!(end < .5 * start && end < spread))
            fail_msg("mean squared error %g at the start, %g at the end, %g of the mean row", start, end, spread);
        free(w);
    }
}

static void test_same_seed_same_bits(void **state)
{
    (void)state;
    float x[ROWS * FEATURES];
    make_rows(x);
    rer_training training = make_training(curves[0]);
    size_t bytes = (size_t)training.network.parameters * sizeof(float);
    float *first = malloc(bytes), *again = malloc(bytes);
    (void)train(training, x, first);
    (void)train(training, x, again);
    assert_memory_equal(first, again, bytes);
    training.seed = 2;
    (void)train(training, x, again);
    assert_memory_not_equal(first, again, bytes);
    free(first);
    free(again);
}

static void test_a_curve_without_a_loss_is_named(void **state)
{
    (void)state;
    float x[ROWS * FEATURES];
    make_rows(x);
    rer_training training = make_training((rer_curve){-.0178, -21.7079}); /* the released code's */
    float *w = calloc((size_t)training.network.parameters, sizeof *w);
    rer_error error = {0};
    assert_int_equal(rer_train(w, NULL, &training, x, ROWS, 1, "pad thai", NULL, rer_cpu_kernels(), &error),
                     RER_BAD_INPUT);
    assert_non_null(strstr(error.message, "class 'pad thai'"));
    assert_non_null(strstr(error.message, "at step 1 "));
    assert_non_null(strstr(error.message, "--a"));
    free(w);
}

/* One and two rows have no edges: the row itself is learnt. */
static void test_tiny_classes(void **state)
{
    (void)state;
    float x[ROWS * FEATURES];
    make_rows(x);
    rer_training training = make_training(curves[0]);
    float *w = calloc((size_t)training.network.parameters, sizeof *w);
    for (int64_t n = 1; n <= 4; n++) {
        rer_error error = {0};
        assert_int_equal(rer_train(w, NULL, &training, x, n, 1, "one", NULL, rer_cpu_kernels(), &error), RER_OK);
        assert_true(isfinite(mean_error(&training.network, w, x)));
    }
    free(w);
}

static int enter(void **state)
{
    (void)state;
    return rer_backend_enter() ? 0 : 1;
}

static int leave(void **state)
{
    (void)state;
    rer_backend_leave();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients_of_the_network),
        cmocka_unit_test(test_gradients_of_codes),
        cmocka_unit_test(test_coincident_codes_are_left_alone),
        cmocka_unit_test(test_shared_rows),
        cmocka_unit_test(test_no_loss_below_minus_one),
        cmocka_unit_test(test_dropout_rate),
        cmocka_unit_test(test_training_trains),
        cmocka_unit_test(test_same_seed_same_bits),
        cmocka_unit_test(test_a_curve_without_a_loss_is_named),
        cmocka_unit_test(test_tiny_classes),
    };
    return cmocka_run_group_tests_name("autoencoder.network", tests, enter, leave);
}
