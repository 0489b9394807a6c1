/* Each operation of a closed form on a device, for many shapes, beside the same in plain loops and doubles: a normalised
 * error of at most 1e-5, the same classes but where two are as near, and the same bits each time. */
#include "operations.h"

#include "made_data.h"

#include <stdlib.h>
#include <string.h>

typedef struct results {
    double *sum, *square, *scatter;
    rer_reduced_row *rows;
} results;

static results run_moments(machine *on, const problem *of)
{
    int64_t C = of->of->C, D = of->of->D;
    results made = {room(C * D, sizeof(double)), room(C * D, sizeof(double)), room(D * D, sizeof(double)), NULL};
    on->plugin->sums_begin(on->device);
    run_stretches(on, of, on->plugin->sums_add, NULL);
    on->plugin->sums_end(on->device, made.sum, made.square);
    on->plugin->scatter_begin(on->device, of->mean, 100 * (double)D);
    run_stretches(on, of, on->plugin->scatter_add, NULL);
    on->plugin->scatter_end(on->device, made.scatter);
    check_well(on);
    return made;
}
static void assert_close(const double *got, const double *want, int64_t n, int64_t columns, const shape *of,
                         const char *what)
{
    double error = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        bool above = columns > 0 && i % columns > i / columns; /* of the diagonal */
        error += above ? 0 : (got[i] - want[i]) * (got[i] - want[i]);
        size += above ? 0 : want[i] * want[i];
    }
    printf("  %-8s N %lld D %lld C %d: %.1e\n", what, (long long)of->N, (long long)of->D, of->C,
           sqrt(error / fmax(size, 1e-300)));
    EXPECT(sqrt(error) <= MOST * sqrt(size), "%s", what);
}

static void compare_moments(const results *got, const results *want, const shape *of)
{
    assert_close(got->sum, want->sum, of->C * of->D, 0, of, "sums");
    assert_close(got->square, want->square, of->C * of->D, 0, of, "squares");
    assert_close(got->scatter, want->scatter, of->D * of->D, of->D, of, "scatter");
}

/* ---- near rows --------------------------------------------------------------------------- */

/* Every third row asks for two classes, its own and the next; rows of every class in file order. */
static rer_device_near make_near(const problem *of, uint64_t seed)
{
    int64_t N = of->of->N, D = of->of->D, C = of->of->C, count = (N + 2) / 3, places = 2 * count;
    rer_device_near made = {.count = count, .slots = 2};
    int64_t *row = room(count, sizeof *row), *ask_start = room(C + 1, sizeof *ask_start);
    int64_t *asked = room(places, sizeof *asked), *start = room(C + 1, sizeof *start), asks = 0, witnesses = 0;
    int32_t *witness = room(N, sizeof *witness);
    uint8_t *doubted = room(N, sizeof *doubted);
    float *x = room(count * D, sizeof *x);
    double *center = room(D, sizeof *center);
    for (int64_t j = 0; j < D; j++)
        center[j] = .1 * made_normal(&seed);
    for (int64_t q = 0; q < count; q++) {
        double square = 0;
        row[q] = 3 * q;
        for (int64_t j = 0; j < D; j++) {
            x[q * D + j] = (float)made_normal(&seed);
            square += (double)x[q * D + j] * (double)x[q * D + j];
        }
        for (int64_t j = 0; j < D; j++)
            x[q * D + j] = (float)((double)x[q * D + j] / sqrt(square));
    }
    for (int64_t c = 0; c < C; c++) {
        ask_start[c] = asks;
        start[c] = witnesses;
        for (int64_t q = 0; q < count; q++)
            for (int64_t slot = 0; slot < 2; slot++)
                if ((of->rows.code[3 * q] + slot + C) % C == c)
                    asked[asks++] = 2 * q + slot;
        for (int64_t i = 0; i < N; i++)
            if (of->rows.code[i] == c)
                witness[witnesses++] = (int32_t)i;
    }
    ask_start[C] = asks;
    start[C] = witnesses;
    for (int64_t i = 0; i < N; i++)
        doubted[i] = made_uniform(&seed) < .3;
    made.row = row;
    made.ask_start = ask_start;
    made.asked = asked;
    made.start = start;
    made.witness = witness;
    made.doubted = doubted;
    made.x = x;
    made.center = center;
    made.list = room(places * RER_DEVICE_NEAR_KEPT, sizeof *made.list);
    made.trusted = room(places * RER_DEVICE_NEAR, sizeof *made.trusted);
    return made;
}

static void run_near(const machine *on, rer_device_near *near)
{
    int64_t places = near->count * near->slots;
    for (int64_t i = 0; i < places * RER_DEVICE_NEAR_KEPT; i++)
        near->list[i] = (rer_neighbor){INFINITY, INT32_MAX};
    for (int64_t i = 0; i < places * RER_DEVICE_NEAR; i++)
        near->trusted[i] = INFINITY;
    assert_true(on->plugin->near(on->device, near));
    check_well(on);
}

static void check_near(const machine *on, const machine *plain, const problem *of)
{
    rer_device_near a = make_near(of, 3), b = make_near(of, 3);
    int64_t places = 2 * a.count, other = 0, known = 0;
    normalised near = {0}, trusted = {0};
    run_near(on, &a);
    run_near(plain, &b);
    for (int64_t i = 0; i < places * RER_DEVICE_NEAR_KEPT; i++) {
        take_error(&near, (double)a.list[i].distance, (double)b.list[i].distance);
        near.size += 1; /* of products up to 1, even where all rows are at the same place */
        other += a.list[i].index != b.list[i].index;
        known += b.list[i].index != INT32_MAX;
    }
    for (int64_t i = 0; i < places * RER_DEVICE_NEAR; i++)
        take_error(&trusted, (double)a.trusted[i], (double)b.trusted[i]), trusted.size += 1;
    printf("  %-22s N %lld D %lld C %d: %.0e %.0e, %lld other rows of %lld\n", "near rows", (long long)of->of->N,
           (long long)of->of->D, of->of->C, sqrt(near.error / fmax(near.size, 1e-300)),
           sqrt(trusted.error / fmax(trusted.size, 1e-300)), (long long)other, (long long)known);
    EXPECT(sqrt(near.error) <= MOST * sqrt(near.size), "near rows");
    EXPECT(sqrt(trusted.error) <= MOST * sqrt(trusted.size), "trusted rows");
    EXPECT(of->of->D < 4 || of->of->copies || other <= known / 1000, "near rows"); /* there many lie as near */
    rer_neighbor *first = a.list;
    a.list = room(places * RER_DEVICE_NEAR_KEPT, sizeof *a.list);
    run_near(on, &a);
    EXPECT(memcmp(a.list, first, (size_t)(places * RER_DEVICE_NEAR_KEPT) * sizeof *first) == 0,
           "other bits the second time");
    free(first);
    rer_device_near *all[] = {&a, &b};
    for (int i = 0; i < 2; i++) {
        const void *parts[] = {all[i]->row,   all[i]->x,       all[i]->center,  all[i]->ask_start, all[i]->asked,
                               all[i]->start, all[i]->witness, all[i]->doubted, all[i]->list,      all[i]->trusted};
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
            free((void *)parts[k]);
    }
}
static void check_shape(const rer_device_plugin *plugin, const shape *of)
{
    static const struct {
        const char *name;
        bool root, left_out, channel, rates, whole;
    } kinds[] = {
        {"as they are", false, false, false, false, false},
        {"in a metric", true, false, false, false, false},
        {"left out", true, true, false, false, false},
        {"uniform channel", true, true, true, false, true},
        {"rates", true, true, true, true, true},
        {"in tiles", true, true, true, false, false},
    };
    problem made = make_problem(of);
    machine on = open_machine(plugin, of), plain = open_machine(rer_device_load(), of);
    results got = run_moments(&on, &made), want = run_moments(&plain, &made), again = run_moments(&on, &made);
    compare_moments(&got, &want, of);
    EXPECT(memcmp(got.sum, again.sum, (size_t)(of->C * of->D) * sizeof(double)) == 0, "other bits the second time");
    EXPECT(memcmp(got.scatter, again.scatter, (size_t)(of->D * of->D) * sizeof(double)) == 0,
           "other bits the second time");
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        rer_device_channel channel = {.weight = 3 / (double)of->D,
                                      .edge = kinds[k].whole ? .8 * (double)of->D : 0,
                                      .sharpness = .4,
                                      .bias = made.bias,
                                      .rates = kinds[k].rates ? made.rates : NULL,
                                      .whole = kinds[k].whole};
        rer_device_model model = {.mean = made.mean,
                                  .root = kinds[k].root ? made.root : NULL,
                                  .u = made.u,
                                  .norm = made.norm,
                                  .pairs = of->C > 2048 ? NULL : made.pairs, /* too many: it makes them itself */
                                  .n = made.n,
                                  .weight = .01 / (double)of->D,
                                  .left_out = kinds[k].left_out,
                                  .channel = kinds[k].channel ? &channel : NULL};
        rer_reduced_row *a = run_scores(&on, &made, &model), *b = run_scores(&plain, &made, &model),
                        *c = run_scores(&on, &made, &model);
        compare_rows(a, b, &made, kinds[k].name, kinds[k].channel);
        EXPECT(memcmp(a, c, (size_t)of->N * sizeof *a) == 0, "other bits the second time");
        free(a);
        free(b);
        free(c);
    }
    check_near(&on, &plain, &made);
    results *all[] = {&got, &want, &again};
    for (size_t i = 0; i < 3; i++) {
        free(all[i]->sum);
        free(all[i]->square);
        free(all[i]->scatter);
    }
    on.plugin->close(on.device);
    plain.plugin->close(plain.device);
    free_problem(&made);
}

static void test_operations(void **state)
{
    (void)state;
    const rer_device_plugin *plugin = find_plugin();
    wrong = 0;
    for (size_t i = 0; i < n_shapes; i++)
        if (!is_left_out(shapes[i].N * shapes[i].D * shapes[i].C))
            check_shape(plugin, &shapes[i]);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_operations)};
    return cmocka_run_group_tests_name("device.operations", tests, NULL, NULL);
}
