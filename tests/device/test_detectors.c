/* What detectors have a device do, for many shapes, beside plain loops and doubles: lists of neighbours and groups of
 * copies are the same ones, the sums of logistic regressions have a normalised error of at most 1e-5; the same bits each
 * time. */
#include "operations.h"

#include "made_data.h"

#include <stdlib.h>
#include <string.h>

#define FOLDS 5

/* ---- neighbours -------------------------------------------------------------------------- */

static rer_neighbor *run_neighbors(const machine *on, const problem *of, const uint8_t *among)
{
    int64_t N = of->of->N, *rows = room(N, sizeof *rows);
    rer_neighbor *list = room(N * RER_DEVICE_LISTED, sizeof *list);
    for (int64_t i = 0; i < N; i++)
        rows[i] = i;
    assert_true(on->plugin->neighbors_begin(on->device, among));
    for (int64_t first = 0; first < N; first += 1000)
        on->plugin->neighbors_find(on->device, rows + first, N - first < 1000 ? N - first : 1000,
                                   list + first * RER_DEVICE_LISTED);
    on->plugin->neighbors_end(on->device);
    check_well(on);
    free(rows);
    return list;
}

/* Lists are exact: two rows change places only where their distances round to neighbouring floats. */
static void check_neighbors(const machine *on, const machine *plain, const problem *of)
{
    int64_t N = of->of->N, other = 0;
    normalised far = {0};
    uint8_t *among = room(N, 1);
    if (of->of->D < 2) {
        assert_false(on->plugin->neighbors_begin(on->device, among));
        free(among);
        return;
    }
    for (int64_t i = 0; i < N; i++)
        among[i] = of->rows.code[i] >= 0;
    rer_neighbor *a = run_neighbors(on, of, among), *b = run_neighbors(plain, of, among),
                 *c = run_neighbors(on, of, among);
    for (int64_t i = 0; i < N * RER_DEVICE_LISTED; i++) {
        take_error(&far, (double)a[i].distance, (double)b[i].distance);
        other += a[i].index != b[i].index && !(fabsf(a[i].distance - b[i].distance) <= 2.4e-7f);
    }
    printf("  %-22s N %lld D %lld C %d: %.0e, %lld other rows\n", "neighbours", (long long)N, (long long)of->of->D,
           of->of->C, error_of(&far), (long long)other);
    EXPECT(sqrt(far.error) <= MOST * sqrt(far.size), "neighbours");
    EXPECT(other == 0, "neighbours");
    EXPECT(memcmp(a, c, (size_t)(N * RER_DEVICE_LISTED) * sizeof *a) == 0, "other bits the second time");
    free(among);
    free(a);
    free(b);
    free(c);
}

/* ---- copies ------------------------------------------------------------------------------ */

static int32_t *run_copies(const machine *on, const problem *of, double limit)
{
    int64_t N = of->of->N;
    uint8_t *among = room(N, 1);
    int32_t *group = room(N, sizeof *group);
    for (int64_t i = 0; i < N; i++)
        among[i] = of->rows.code[i] >= -1;
    assert_true(on->plugin->neighbors_begin(on->device, among));
    for (int64_t first = 0; first < N; first += 1000)
        on->plugin->copies_join(on->device, limit, first, N - first < 1000 ? N - first : 1000);
    on->plugin->copies_take(on->device, group);
    on->plugin->neighbors_end(on->device);
    check_well(on);
    free(among);
    return group;
}

static void check_copies(const machine *on, const machine *plain, const problem *of)
{
    static const double limits[] = {3e-8, 1e-4, .02};
    int64_t N = of->of->N;
    for (size_t k = 0; of->of->D > 1 && k < sizeof limits / sizeof *limits; k++) {
        int32_t *a = run_copies(on, of, limits[k]), *b = run_copies(plain, of, limits[k]);
        int64_t other = 0, joined = 0;
        for (int64_t i = 0; i < N; i++) {
            other += a[i] != b[i];
            joined += b[i] != i;
        }
        printf("  %-22s N %lld D %lld C %d: limit %.0e, %lld joined, %lld otherwise\n", "copies", (long long)N,
               (long long)of->of->D, of->of->C, limits[k], (long long)joined, (long long)other);
        EXPECT(other == 0, "copies");
        EXPECT(!of->of->copies || joined > N / 2, "copies");
        free(a);
        free(b);
    }
}

/* ---- logistic regression ----------------------------------------------------------------- */

/* Rows in FOLDS folds, each in turn; labels leave the last class out, which one regression does not know. */
typedef struct regressions {
    rer_device_logistic of;
    double *mean;
    int64_t start[FOLDS + 1], *row;
    int32_t *label;
    float *w, *bias;
} regressions;

static void make_regressions(regressions *made, const problem *of, bool unit)
{
    int64_t N = of->of->N, D = of->of->D, C = of->of->C, used = 0;
    uint64_t seed = 5;
    *made = (regressions){.mean = room(D, sizeof(double)),
                          .row = room(N, sizeof(int64_t)),
                          .label = room(N, sizeof(int32_t)),
                          .w = room(FOLDS * C * D, sizeof(float)),
                          .bias = room(FOLDS * C, sizeof(float))};
    for (int32_t fold = 0; fold < FOLDS; fold++) {
        for (int64_t i = fold; i < N; i += FOLDS)
            if (of->rows.code[i] >= 0) {
                made->row[used] = i;
                made->label[used++] = of->rows.code[i] % (int32_t)(C - 1);
            }
        made->start[fold + 1] = used;
    }
    for (int64_t j = 0; j < D; j++)
        made->mean[j] = .1 * made_normal(&seed);
    for (int64_t i = 0; i < FOLDS * C * D; i++)
        made->w[i] = (float)(made_normal(&seed) * (unit ? 3 : 1 / sqrt((double)D)));
    for (int64_t i = 0; i < FOLDS * C; i++)
        made->bias[i] = i == 2 * C - 1 ? -INFINITY : (float)made_normal(&seed);
    made->of = (rer_device_logistic){FOLDS, unit, made->mean, made->start, made->row, made->label};
}

static void free_regressions(regressions *made)
{
    void *all[] = {made->mean, made->row, made->label, made->w, made->bias};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* Sums of `count` regressions: [count, C, D], [count, C], [count], [count], one after the other. */
static double *run_sums(const machine *on, const problem *of, const regressions *by, const int32_t *fold, int32_t count)
{
    int64_t C = of->of->C, D = of->of->D;
    double *sum = room(count * (C * D + C + 2), sizeof *sum), *rest = sum + count * C * D;
    rer_device_softmax at = {.count = count,
                             .fold = fold,
                             .w = by->w,
                             .bias = by->bias,
                             .sum = sum,
                             .bias_sum = rest,
                             .loss = rest + count * C,
                             .missing = rest + count * C + count};
    on->plugin->logistic_sums(on->device, &at);
    check_well(on);
    return sum;
}

static void compare_sums(const double *got, const double *want, const problem *of, int32_t count)
{
    static const char *const names[] = {"gradient", "bias", "loss", "missing"};
    int64_t C = of->of->C, sizes[] = {count * C * of->of->D, count * C, count, count};
    printf("  %-22s N %lld D %lld C %d:", "regressions", (long long)of->of->N, (long long)of->of->D, of->of->C);
    for (int k = 0; k < 4; k++) {
        normalised all = {0};
        for (int64_t i = 0; i < sizes[k]; i++)
            take_error(&all, *got++, *want++);
        printf(" %s %.0e", names[k], error_of(&all));
        EXPECT(sqrt(all.error) <= MOST * sqrt(all.size), "regressions, %s", names[k]);
    }
    printf("\n");
}

static void check_logistic(const machine *on, const machine *plain, const problem *of)
{
    static const int32_t folds[] = {0, 1, 2, 3, 4}, some[] = {0, 3};
    int64_t size = of->of->C * (of->of->D + 1) + 2;
    bool is_large = of->of->N * of->of->D * of->of->C > 100000000; /* plain loops take long */
    for (int unit = is_large; unit < 2; unit++) {
        regressions by;
        make_regressions(&by, of, unit != 0);
        assert_true(on->plugin->logistic_begin(on->device, &by.of));
        assert_true(plain->plugin->logistic_begin(plain->device, &by.of));
        for (int all = is_large; all < 2; all++) {
            int32_t count = all ? FOLDS : 2;
            const int32_t *fold = all ? folds : some;
            double *a = run_sums(on, of, &by, fold, count), *b = run_sums(plain, of, &by, fold, count),
                   *c = run_sums(on, of, &by, fold, count);
            compare_sums(a, b, of, count);
            EXPECT(memcmp(a, c, (size_t)(count * size) * sizeof *a) == 0, "other bits the second time");
            free(a);
            free(b);
            free(c);
        }
        on->plugin->logistic_end(on->device);
        plain->plugin->logistic_end(plain->device);
        free_regressions(&by);
    }
}

/* ---- all of it --------------------------------------------------------------------------- */

/* `offset`: of all features; rows then lie near to each other, around a point that is far away. */
static void check_shape(const rer_device_plugin *plugin, const shape *of, float offset)
{
    problem made = make_problem(of);
    for (int64_t i = 0; i < of->N * of->D; i++)
        made.rows.x[i] += offset;
    machine on = open_machine(plugin, of), plain = open_machine(rer_device_load(), of);
    run_stretches(&on, &made, NULL, NULL);
    run_stretches(&plain, &made, NULL, NULL);
    check_neighbors(&on, &plain, &made);
    check_copies(&on, &plain, &made);
    if (offset == 0)
        check_logistic(&on, &plain, &made);
    on.plugin->close(on.device);
    plain.plugin->close(plain.device);
    free_problem(&made);
}

static void test_detectors(void **state)
{
    (void)state;
    const rer_device_plugin *plugin = find_plugin();
    wrong = 0;
    for (size_t i = 0; i < n_shapes; i++)
        if (!is_left_out(shapes[i].N * shapes[i].N * (shapes[i].D + 10) / 100)) {
            check_shape(plugin, &shapes[i], 0);
            check_shape(plugin, &shapes[i], 50);
        }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_detectors)};
    return cmocka_run_group_tests_name("device.detectors", tests, NULL, NULL);
}
