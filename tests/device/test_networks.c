/* Networks on a device: the errors of rows under them beside plain loops, and their training beside the CPU's. */
#include "operations.h"

#include "fit/autoencoder/train.h"
#include "made_data.h"

#include <stdlib.h>
#include <string.h>

/* Adam divides a gradient by its own size: of a weight whose gradient is all rounding, the step of 1e-3 is as well. */
#define TRAINED_MOST 3e-4

/* ---- networks ---------------------------------------------------------------------------- */

typedef struct network_shape {
    shape of;
    int32_t hidden[RER_HIDDEN_MAX + 1]; /* 0 ends them */
    int64_t Z;
} network_shape;

static const network_shape network_shapes[] = {
    {{.N = 1, .D = 4, .rows = 1024, .C = 2}, {3}, 1},
    {{.N = 1030, .D = 7, .rows = 1024, .C = 3}, {9}, 2},
    {{.N = 300, .D = 33, .rows = 1024, .C = 5}, {31, 12}, 3},
    {{.N = 200, .D = 512, .rows = 1024, .C = 20}, {256}, 10}, /* few classes: all in float */
    {{.N = 1300, .D = 20, .rows = 1024, .C = 130}, {256}, 10},
    {{.N = 20, .D = 512, .rows = 1024, .C = 520}, {256}, 10}, /* many: in half precision, those that count in float */
    {{.N = 9, .D = 300, .rows = 1024, .C = 900}, {250}, 16},
    {{.N = 5, .D = 600, .rows = 1024, .C = 440}, {260}, 17}, /* too large for that */
};

static int count_hidden(const network_shape *of)
{
    int n = 0;
    while (of->hidden[n] > 0)
        n++;
    return n;
}

/* Rows in 0..1, and weights as a training begins with them. */
static float *make_networks(const problem *made, const rer_network *layers, uint64_t *seed)
{
    int64_t P = layers->parameters, C = made->of->C;
    float *w = room(C * P, sizeof *w);
    for (int64_t c = 0; c < C; c++)
        for (int l = 0; l < layers->layers; l++) {
            double bound = sqrt(6.0 / (double)(layers->width[l] + layers->width[l + 1]));
            for (int64_t i = layers->weight[l]; i < layers->bias[l] + layers->width[l + 1]; i++)
                w[c * P + i] = (float)((i < layers->bias[l] ? bound : .1) * (2 * made_uniform(seed) - 1));
        }
    for (int64_t i = 0; i < made->of->N * made->of->D; i++)
        made->rows.x[i] = isnan(made->rows.x[i]) ? NAN : (float)fmin(1, fmax(0, .5 + .12 * made_normal(seed)));
    return w;
}

static void check_networks(const rer_device_plugin *plugin, const network_shape *one)
{
    uint64_t seed = 9;
    const shape *of = &one->of;
    problem made = make_problem(of);
    rer_device_networks networks = {.shape = rer_network_shape(of->D, one->hidden, count_hidden(one), one->Z)};
    float *weights = make_networks(&made, &networks.shape, &seed), *own = room(of->N, sizeof *own);
    machine on = open_machine(plugin, of), plain = open_machine(rer_device_load(), of);
    networks.weights = weights;
    for (int64_t i = 0; i < of->N; i++)
        own[i] = i % 50 == 0 ? NAN : (float)made_uniform(&seed);
    for (int kind = 0; kind < 3; kind++) {
        rer_device_channel channel = {
            .weight = 3 / (double)of->D, .sharpness = .4, .bias = made.bias, .rates = made.rates, .whole = true};
        networks.own = kind > 0 ? own : NULL;
        rer_device_model model = {.networks = &networks, .channel = kind > 1 ? &channel : NULL};
        rer_reduced_row *a = run_scores(&on, &made, &model), *b = run_scores(&plain, &made, &model),
                        *c = run_scores(&on, &made, &model);
        compare_rows(a, b, &made, kind == 0 ? "networks" : kind == 1 ? "cross-fitted" : "with a channel", kind > 1);
        EXPECT(memcmp(a, c, (size_t)of->N * sizeof *a) == 0, "other bits the second time");
        free(a);
        free(b);
        free(c);
    }
    on.plugin->close(on.device);
    plain.plugin->close(plain.device);
    free(weights);
    free(own);
    free_problem(&made);
}

/* ---- training ---------------------------------------------------------------------------- */

static bool goes_on(void *context)
{
    (void)context;
    return false;
}

typedef struct training_shape {
    int64_t D, n, batch, Z;
    int32_t hidden[RER_HIDDEN_MAX + 1], networks;
    double dropout;
    int64_t epochs;
} training_shape;

static const training_shape training_shapes[] = {
    {.D = 3, .n = 20, .batch = 5, .Z = 1, .hidden = {4}, .networks = 1, .epochs = 1},
    {.D = 24, .n = 90, .batch = 16, .Z = 2, .hidden = {30}, .networks = 7, .dropout = .1, .epochs = 1},
    {.D = 40, .n = 150, .batch = 64, .Z = 10, .hidden = {64, 32}, .networks = 5, .dropout = .01, .epochs = 3},
    {.D = 512, .n = 100, .batch = 64, .Z = 10, .hidden = {256}, .networks = 9, .dropout = .01, .epochs = 2},
};

static rer_training settings_of(const training_shape *of)
{
    int n = 0;
    while (of->hidden[n] > 0)
        n++;
    return (rer_training){
        .network = rer_network_shape(of->D, of->hidden, n, of->Z),
        .loss = {.curve = rer_curve_fit(25, 24),
                 .weight = 20,
                 .repulsion = 1,
                 .dropout = of->dropout,
                 .regularization = 1e-6},
        .graph = {.neighbors = 10, .epochs = of->epochs},
        .batch = of->batch,
        .learning_rate = 1e-3,
        .seed = 7,
    };
}

/* Networks that the device has trained from the same rows and draws as the CPU: the first steps are the same to
 * rounding; networks of different sizes end at different steps. */
static void check_training(const rer_device_plugin *plugin, const training_shape *of)
{
    rer_training training = settings_of(of);
    rer_device_training on_device = rer_training_on_device(&training);
    const rer_kernels *kernels = rer_cpu_kernels();
    shape opened = {.N = of->n, .D = of->D, .rows = 1024, .C = 2};
    machine on = open_machine(plugin, &opened);
    int64_t P = training.network.parameters, D = of->D;
    int32_t count = of->networks;
    rer_device_trainee *trainees = room(count, sizeof *trainees);
    rer_trained *trained = room(count, sizeof *trained);
    rer_edge_draws *draws = room(count, sizeof *draws);
    float *want = room(count * P, sizeof *want), *got = room(count * P, sizeof *got),
          *again = room(count * P, sizeof *got);
    float *x = room(count * of->n * D, sizeof *x), *errors = room(count * of->n, sizeof *errors);
    float expected[2048];
    uint64_t seed = 3;
    void *memory = room(rer_network_sweep_scratch(&training.network, of->n), 1);
    normalised weights = {0}, held = {0}, losses = {0};
    int64_t steps = 0, most = 0;
    assert_true(rer_backend_enter());
    for (int64_t i = 0; i < count * of->n * D; i++)
        x[i] = (float)fmin(1, fmax(0, .5 + .15 * made_normal(&seed)));
    for (int32_t i = 0; i < count; i++) {
        int64_t n = of->n - i * of->n / (2 * count);
        uint64_t key = (uint64_t)i << 7 | 3;
        const float *rows = x + i * of->n * D;
        assert_int_equal(rer_edge_draws_make(&draws[i], &training, rows, n, key, kernels, NULL), RER_OK);
        assert_int_equal(rer_train(want + i * P, &trained[i], &training, rows, n, key, "one", NULL, kernels, NULL),
                         RER_OK);
        trainees[i] = (rer_device_trainee){.key = key,
                                           .x = rows,
                                           .n = n,
                                           .head = draws[i].head,
                                           .tail = draws[i].tail,
                                           .draws = draws[i].count,
                                           .held = rows,
                                           .n_held = n / 2 + i % 2,
                                           .errors = errors + i * of->n};
    }
    for (int turn = 0; turn < 2; turn++) {
        for (int32_t i = 0; i < count; i++)
            trainees[i].w = (turn == 0 ? got : again) + i * P;
        assert_true(plugin->train(on.device, &on_device, trainees, count, goes_on, NULL));
        check_well(&on);
    }
    EXPECT(memcmp(got, again, (size_t)(count * P) * sizeof *got) == 0, "other bits the second time");
    for (int32_t i = 0; i < count; i++) {
        int64_t n = trainees[i].n_held;
        for (int64_t k = 0; k < P; k++)
            take_error(&weights, (double)got[i * P + k], (double)want[i * P + k]);
        rer_network_errors(&training.network, want + i * P, trainees[i].held, n, expected, 1,
                           rer_scratch_over(memory, rer_network_sweep_scratch(&training.network, of->n)), kernels);
        for (int64_t k = 0; k < n; k++)
            take_error(&held, (double)errors[i * of->n + k], (double)expected[k]);
        take_error(&losses, trainees[i].first_loss, trained[i].first_loss);
        take_error(&losses, trainees[i].last_loss, trained[i].last_loss);
        EXPECT(trainees[i].is_finite, "losses");
        EXPECT(trainees[i].steps == trained[i].steps, "%lld steps instead of %lld", (long long)trainees[i].steps,
               (long long)trained[i].steps);
        steps += trained[i].steps;
        most = trained[i].steps > most ? trained[i].steps : most;
    }
    printf("  training D %lld, %d networks, %lld steps (at most %lld): weights %.1e errors %.1e losses %.1e\n",
           (long long)D, count, (long long)steps, (long long)most, sqrt(weights.error / weights.size),
           sqrt(held.error / held.size), sqrt(losses.error / losses.size));
    EXPECT(sqrt(weights.error) <= TRAINED_MOST * sqrt(weights.size), "weights");
    EXPECT(sqrt(held.error) <= TRAINED_MOST * sqrt(held.size), "errors of rows that were held out");
    EXPECT(sqrt(losses.error) <= MOST * sqrt(losses.size), "losses");
    rer_backend_leave();
    for (int32_t i = 0; i < count; i++)
        rer_edge_draws_free(&draws[i]);
    void *all[] = {trainees, trained, draws, want, got, again, x, errors, memory};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    plugin->close(on.device);
}
static void test_networks(void **state)
{
    (void)state;
    const rer_device_plugin *plugin = find_plugin();
    wrong = 0;
    for (size_t i = 0; i < sizeof network_shapes / sizeof *network_shapes; i++)
        if (!is_left_out(network_shapes[i].of.N * network_shapes[i].of.D * network_shapes[i].of.C))
            check_networks(plugin, &network_shapes[i]);
    assert_int_equal(wrong, 0);
}

static void test_training(void **state)
{
    (void)state;
    const rer_device_plugin *plugin = find_plugin();
    wrong = 0;
    for (size_t i = 0; i < sizeof training_shapes / sizeof *training_shapes; i++)
        if (!is_left_out(training_shapes[i].D * training_shapes[i].n * training_shapes[i].networks))
            check_training(plugin, &training_shapes[i]);
    assert_int_equal(wrong, 0);
}
int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_training), cmocka_unit_test(test_networks)};
    return cmocka_run_group_tests_name("device.networks", tests, NULL, NULL);
}
