/* Training steps against umap-learn's model in Keras on the same numbers (reference.json, made by
 * make_reference.py): the loss of a batch, then the weights after Adam with clipped gradients. */
#include "plain_network.h"
#include "reference.h"

#include "fit/autoencoder/train.h"

#define LOSS_BAR 1e-9   /* of the plain network in double */
#define FLOAT_LOSS 1e-6 /* in float */
#define WEIGHT_BAR 1e-6

typedef struct steps_case {
    const json_t *known;
    rer_training training;
    int64_t D, B;
    float *x, *w; /* [2B, D], [parameters] */
    int32_t *negatives;
    rer_scratch scratch;
} steps_case;

static void *allocate(int64_t count, size_t size)
{
    void *memory = calloc((size_t)count, size);
    assert_non_null(memory);
    return memory;
}

static steps_case make_case(const json_t *known, double scale)
{
    steps_case made = {.known = known, .D = reference_integer(known, "D"), .B = reference_integer(known, "B")};
    const json_t *sizes = json_object_get(known, "hidden");
    int32_t hidden[RER_HIDDEN_MAX];
    int n_hidden = (int)json_array_size(sizes);
    for (int i = 0; i < n_hidden; i++)
        hidden[i] = (int32_t)json_integer_value(json_array_get(sizes, (size_t)i));
    made.training = (rer_training){
        .network = rer_network_shape(made.D, hidden, n_hidden, reference_integer(known, "Z")),
        .loss = {.curve = {json_number_value(json_object_get(known, "a")),
                           json_number_value(json_object_get(known, "b"))},
                 .weight = json_number_value(json_object_get(known, "weight")),
                 .repulsion = 1,
                 .regularization = json_number_value(json_object_get(known, "l2"))},
        .batch = made.B,
        .learning_rate = 1e-3,
    };
    int64_t P = made.training.network.parameters, pairs = RER_NEGATIVES * made.B;
    double *x = reference_numbers(known, "x", 2 * made.B * made.D), *start = reference_numbers(known, "start", P);
    double *order = reference_numbers(known, "order", pairs);
    made.x = allocate(2 * made.B * made.D, sizeof(float));
    made.w = allocate(P, sizeof(float));
    made.negatives = allocate(pairs, sizeof(int32_t));
    for (int64_t i = 0; i < 2 * made.B * made.D; i++)
        made.x[i] = (float)(x[i] / scale);
    for (int64_t i = 0; i < P; i++)
        made.w[i] = (float)(start[i] / scale);
    for (int64_t n = 0; n < pairs; n++)
        made.negatives[n] = (int32_t)order[n] / RER_NEGATIVES;
    assert_int_equal(
        rer_allocate(&made.scratch.base, rer_network_scratch(&made.training.network, made.B), 1, "scratch", NULL),
        RER_OK);
    made.scratch.size = rer_network_scratch(&made.training.network, made.B);
    free(x);
    free(start);
    free(order);
    return made;
}

static void free_case(steps_case *made)
{
    free(made->x);
    free(made->w);
    free(made->negatives);
    free(made->scratch.base);
}

static double known_loss(const steps_case *made, size_t step)
{
    return json_number_value(json_array_get(json_object_get(made->known, "losses"), step));
}

static void check_loss(const steps_case *made)
{
    int64_t P = made->training.network.parameters;
    double *w = allocate(P, sizeof *w), *x = allocate(2 * made->B * made->D, sizeof *x);
    rer_draws draws = {.negatives = made->negatives};
    for (int64_t i = 0; i < P; i++)
        w[i] = (double)made->w[i];
    for (int64_t i = 0; i < 2 * made->B * made->D; i++)
        x[i] = (double)made->x[i];
    rer_loss loss = plain_network_loss(&made->training.network, &made->training.loss, w, x, made->B, &draws);
    if (!(fabs(loss.total / known_loss(made, 0) - 1) <= LOSS_BAR))
        fail_msg("loss %.12g, not %.12g", loss.total, known_loss(made, 0));
    free(w);
    free(x);
}

static void check_weights(const steps_case *made, const char *which)
{
    int64_t P = made->training.network.parameters;
    double *known = reference_numbers(made->known, which, P);
    for (int64_t i = 0; i < P; i++)
        if (!(fabs((double)made->w[i] - known[i]) <= WEIGHT_BAR))
            fail_msg("%s step, weight %lld: %.9g, not %.9g", which, (long long)i, (double)made->w[i], known[i]);
    free(known);
}

static void check_steps(steps_case *made)
{
    int64_t P = made->training.network.parameters;
    size_t steps = json_array_size(json_object_get(made->known, "losses"));
    float *g = allocate(P, sizeof *g);
    rer_adam adam = {made->w, allocate(P, sizeof *g), allocate(P, sizeof *g), 1, 1};
    rer_draws draws = {.negatives = made->negatives};
    for (size_t step = 0; step < steps; step++) {
        rer_loss loss = rer_network_step(&made->training.network, &made->training.loss, made->w, made->x, made->B,
                                         &draws, g, made->scratch, rer_cpu_kernels());
        assert_true(fabs(loss.total / known_loss(made, step) - 1) <= FLOAT_LOSS);
        rer_adam_step(&adam, g, &made->training, rer_cpu_kernels());
        if (step == 0)
            check_weights(made, "first");
    }
    check_weights(made, "last");
    free(adam.m);
    free(adam.v);
    free(g);
}

static void test_against_keras(void **state)
{
    const json_t *cases = json_object_get(*state, "steps"), *known;
    size_t index;
    assert_true(json_array_size(cases) >= 4);
    json_array_foreach(cases, index, known)
    {
        steps_case made = make_case(known, json_number_value(json_object_get(*state, "scale")));
        check_loss(&made);
        check_steps(&made);
        free_case(&made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_keras)};
    return cmocka_run_group_tests_name("autoencoder.against_keras", tests, reference_open, reference_close);
}
