/* Each operation of a device, for many shapes, beside the same in plain loops and doubles (plain_plugin.c): a normalised
 * error of at most 1e-5, the same classes but where two are as near, and the same bits each time. The plug-in is that of
 * RER_CUDA_PLUGIN, or librer_cuda.so. */
#include "plain_plugin.h"

#include "fit/autoencoder/train.h"
#include "made_data.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST 1e-5
#define IN_EXPONENT 10 /* times that where a sum is of exp(z): an error of z is a relative one there */

/* Adam divides a gradient by its own size: of a weight whose gradient is all rounding, the step of 1e-3 is as well. */
#define TRAINED_MOST 3e-4

/* All of them are looked at: a card is rarely at hand. */
static int wrong;
#define EXPECT(holds, ...)                                                                                             \
    do {                                                                                                               \
        if (!(holds)) {                                                                                                \
            wrong++;                                                                                                   \
            printf("WRONG: " __VA_ARGS__);                                                                             \
            printf(" (%s)\n", #holds);                                                                                 \
        }                                                                                                              \
    } while (0)

typedef struct shape {
    int64_t N, D, rows;
    int32_t C;
    double spread;   /* of the class means, in deviations of a row; 0: 1 */
    double outliers; /* some rows are so many times as far */
    bool copies;     /* rows come again and again */
} shape;

static const shape shapes[] = {
    {.N = 1, .D = 1, .rows = 1024, .C = 2},
    {.N = 100, .D = 1, .rows = 1024, .C = 2},
    {.N = 1023, .D = 2, .rows = 1024, .C = 3},
    {.N = 1025, .D = 3, .rows = 1024, .C = 5},
    {.N = 5000, .D = 31, .rows = 2048, .C = 33},
    {.N = 5000, .D = 32, .rows = 4096, .C = 32},
    {.N = 3000, .D = 127, .rows = 1024, .C = 2},
    {.N = 3000, .D = 129, .rows = 1024, .C = 100},
    {.N = 2500, .D = 5, .rows = 1024, .C = 1025},
    {.N = 2500, .D = 64, .rows = 2048, .C = 2048},
    {.N = 1500, .D = 512, .rows = 1024, .C = 10},
    {.N = 2000, .D = 37, .rows = 1024, .C = 2501},
    {.N = 4000, .D = 20, .rows = 2048, .C = 7, .spread = 30},
    {.N = 4000, .D = 20, .rows = 2048, .C = 7, .outliers = 3000},
    {.N = 3000, .D = 40, .rows = 1024, .C = 7, .copies = true},
};

/* Everything that the operations are given. */
typedef struct problem {
    const shape *of;
    rer_device_rows rows; /* of all N */
    double *mean;         /* [C + 1, D] */
    float *root, *u, *norm, *pairs, *bias, *rates;
    int64_t *n;
} problem;

static void *room(int64_t count, size_t size)
{
    void *made = calloc((size_t)count, size);
    assert_non_null(made);
    return made;
}

static void make_rows(problem *made, uint64_t *seed)
{
    int64_t N = made->of->N, D = made->of->D;
    int32_t C = made->of->C;
    double spread = made->of->spread > 0 ? made->of->spread : 1;
    made->rows = (rer_device_rows){room(N * D, sizeof(float)), room(N, sizeof(double)), room(N, sizeof(int32_t))};
    for (int64_t i = 0; i < (C + 1) * D; i++)
        made->mean[i] = i < C * D ? spread * made_normal(seed) : 0;
    for (int64_t i = 0; i < N; i++) {
        int32_t code = (int32_t)(made_uniform(seed) * C);
        int32_t true_one = i % 10 == 0 ? (code + 1) % C : code;
        double longer = made->of->outliers > 0 && i % 300 == 7 ? made->of->outliers : 1;
        made->rows.scale[i] = .5 + made_uniform(seed);
        made->rows.code[i] = i % 17 == 3 ? -1 : i % 41 == 5 ? -2 : code;
        made->n[code] += made->rows.code[i] >= 0;
        for (int64_t j = 0; j < D; j++) {
            double value = made->mean[true_one * D + j] + longer * made_normal(seed);
            made->rows.x[i * D + j] = made->rows.code[i] == -2 ? NAN : (float)(value / made->rows.scale[i]);
            if (made->of->copies && i >= 50 && made->rows.code[i] != -2) /* many lie as near, some are of no length */
                made->rows.x[i * D + j] = i % 50 == 7 ? 0 : (float)made->mean[i % 50 % C * D + j];
        }
    }
}

/* A root with entries of either sign, and the class means in its metric. */
static void make_metric(problem *made, uint64_t *seed)
{
    int64_t D = made->of->D, C = made->of->C;
    for (int64_t j = 0; j < D; j++)
        for (int64_t k = 0; k < D; k++)
            made->root[j * D + k] = (float)(k > j    ? 777 /* never read */
                                            : k == j ? 1 + made_uniform(seed)
                                                     : made_normal(seed) / (double)D);
    for (int64_t c = 0; c < C; c++)
        for (int64_t j = 0; j < D; j++) {
            double sum = 0;
            for (int64_t k = 0; k <= j; k++)
                sum += (double)made->root[j * D + k] * (made->mean[c * D + k] - made->mean[C * D + k]);
            made->u[c * D + j] = (float)sum;
        }
}

static void make_pairs(problem *made, uint64_t *seed)
{
    int64_t D = made->of->D, C = made->of->C;
    for (int64_t c = 0; c < C; c++)
        for (int64_t k = 0; k < C; k++) {
            double between = 0, norm = 0;
            for (int64_t j = 0; j < D; j++) {
                double a = (double)made->u[c * D + j], apart = a - (double)made->u[k * D + j];
                between += apart * apart;
                norm += a * a;
            }
            made->pairs[c * C + k] = (float)between;
            made->norm[c] = (float)norm;
            made->rates[c * C + k] = (float)(.1 * made_uniform(seed));
        }
    for (int64_t c = 0; c < C; c++)
        made->bias[c] = (float)log((double)made->n[c] + 1e-3);
}

static problem make_problem(const shape *of)
{
    uint64_t seed = (uint64_t)(of->N * 7 + of->D * 3 + of->C);
    int64_t C = of->C, D = of->D;
    problem made = {
        .of = of,
        .mean = room((C + 1) * D, sizeof(double)),
        .root = room(D * D, sizeof(float)),
        .u = room((C + 1) * D, sizeof(float)),
        .norm = room(C, sizeof(float)),
        .pairs = room(C * C, sizeof(float)),
        .bias = room(C, sizeof(float)),
        .rates = room(C * C, sizeof(float)),
        .n = room(C, sizeof(int64_t)),
    };
    make_rows(&made, &seed);
    make_metric(&made, &seed);
    make_pairs(&made, &seed);
    return made;
}

static void free_problem(problem *made)
{
    void *all[] = {made->rows.x, made->rows.scale, made->rows.code, made->mean,  made->root, made->u,
                   made->norm,   made->pairs,      made->bias,      made->rates, made->n};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* ---- running them ------------------------------------------------------------------------ */

typedef struct results {
    double *sum, *square, *scatter;
    rer_reduced_row *rows;
} results;

typedef struct machine {
    const rer_device_plugin *plugin;
    void *device;
    bool loaded;
} machine;

static void check_well(const machine *on)
{
    const char *failure = on->plugin->failure(on->device);
    if (failure != NULL)
        fail_msg("%s", failure);
}

static void run_stretches(machine *on, const problem *of, void (*add)(void *, int), rer_reduced_row *out)
{
    int64_t N = of->of->N, D = of->of->D, rows = of->of->rows;
    int slot = 0;
    for (int64_t first = 0; first < N; first += rows, slot = 1 - slot) {
        int64_t count = rows < N - first ? rows : N - first;
        if (!on->loaded) {
            rer_device_rows to = on->plugin->slot(on->device, slot);
            memcpy(to.x, of->rows.x + first * D, (size_t)(count * D) * sizeof(float));
            memcpy(to.scale, of->rows.scale + first, (size_t)count * sizeof(double));
            memcpy(to.code, of->rows.code + first, (size_t)count * sizeof(int32_t));
        }
        on->plugin->load(on->device, slot, first, count, on->loaded);
        add(on->device, slot);
        if (out != NULL)
            memcpy(out + first, on->plugin->score_rows(on->device, slot), (size_t)count * sizeof *out);
    }
    on->loaded = on->plugin->keeps_rows(on->device);
    check_well(on);
}

static machine open_machine(const rer_device_plugin *plugin, const shape *of)
{
    char message[RER_DEVICE_MESSAGE] = "";
    rer_device_shape wanted = {.C = of->C, .N = of->N, .D = of->D, .rows = of->rows};
    machine on = {.plugin = plugin, .device = plugin->open(&wanted, message)};
    if (on.device == NULL)
        fail_msg("%s", message);
    return on;
}

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

static rer_reduced_row *run_scores(machine *on, const problem *of, const rer_device_model *model)
{
    rer_reduced_row *rows = room(of->of->N, sizeof *rows);
    on->plugin->score_begin(on->device, model);
    run_stretches(on, of, on->plugin->score_add, rows);
    return rows;
}

/* ---- comparing --------------------------------------------------------------------------- */

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

/* Of a number of all rows: |got - want|^2 and |want|^2. */
typedef struct normalised {
    double error, size;
} normalised;

static void take_error(normalised *of, double got, double want)
{
    bool same = (isnan(got) && isnan(want)) || got == want || fmax(fabs(got), fabs(want)) < 1e-30; /* 0 in float */
    of->error += same ? 0 : (got - want) * (got - want);
    of->size += isfinite(want) ? want * want : 0;
}

enum { OWN, FIRST, SECOND, SUM, SCORE, TOP, REST, BLURRED, FLOW, ODDS, NUMBERS };
static const char *const names[] = {"own", "first", "second", "sum", "score", "top", "rest", "blurred", "flow", "odds"};

static void compare_rows(const rer_reduced_row *got, const rer_reduced_row *want, const problem *of, const char *what,
                         bool channel)
{
    normalised all[NUMBERS] = {{0}};
    int64_t again = 0, expected = 0, other = 0;
    for (int64_t i = 0; i < of->of->N; i++) {
        const rer_reduced_row *a = &got[i], *b = &want[i];
        if (of->rows.code[i] < -1)
            continue;
        again += a->again != 0;
        expected += b->again != 0;
        if (a->again != 0 || b->again != 0)
            continue;
        take_error(&all[OWN], (double)a->own, (double)b->own);
        take_error(&all[FIRST], (double)a->nearest.first, (double)b->nearest.first);
        take_error(&all[SECOND], (double)a->nearest.second, (double)b->nearest.second);
        take_error(&all[SUM], a->nearest.sum, b->nearest.sum);
        other += a->nearest.first_class != b->nearest.first_class;
        if (!channel)
            continue;
        take_error(&all[SCORE], (double)a->score, (double)b->score);
        take_error(&all[TOP], (double)a->sums.top, (double)b->sums.top);
        if (a->sums.best == b->sums.best &&
            fabs((double)b->sums.top) < 1000) { /* else z has no digits behind the point */
            take_error(&all[REST], a->sums.rest, b->sums.rest);
            take_error(&all[BLURRED], a->sums.blurred, b->sums.blurred);
            take_error(&all[FLOW], a->sums.flow, b->sums.flow);
            take_error(&all[ODDS], a->odds, b->odds);
        }
    }
    printf("  %-22s N %lld D %lld C %d:", what, (long long)of->of->N, (long long)of->of->D, of->of->C);
    for (int i = 0; i < (channel ? NUMBERS : SCORE); i++)
        printf(" %s %.0e", names[i], sqrt(all[i].error / fmax(all[i].size, 1e-300)));
    printf(" again %lld of %lld, other class %lld\n", (long long)again, (long long)expected, (long long)other);
    for (int i = 0; i < NUMBERS; i++)
        EXPECT(sqrt(all[i].error) <= (i < REST ? MOST : IN_EXPONENT * MOST) * sqrt(all[i].size), "%s, %s", what,
               names[i]);
    EXPECT(llabs(again - expected) <= 2 + expected / 50, "%s, rows to be done again", what);
    EXPECT(other <= 1 + of->of->N / 1000, "%s, nearest classes", what);
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

/* ---- neighbours -------------------------------------------------------------------------- */

static rer_neighbor *run_neighbors(const machine *on, const problem *of, const uint8_t *among)
{
    int64_t N = of->of->N;
    rer_neighbor *list = room(N * RER_DEVICE_LISTED, sizeof *list);
    assert_true(on->plugin->neighbors_begin(on->device, among));
    for (int64_t first = 0; first < N; first += 1000)
        on->plugin->neighbors_find(on->device, first, N - first < 1000 ? N - first : 1000,
                                   list + first * RER_DEVICE_LISTED);
    on->plugin->neighbors_end(on->device);
    check_well(on);
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
           of->of->C, sqrt(far.error / fmax(far.size, 1e-300)), (long long)other);
    EXPECT(sqrt(far.error) <= MOST * sqrt(far.size), "neighbours");
    EXPECT(other == 0, "neighbours");
    EXPECT(memcmp(a, c, (size_t)(N * RER_DEVICE_LISTED) * sizeof *a) == 0, "other bits the second time");
    free(among);
    free(a);
    free(b);
    free(c);
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
    check_neighbors(&on, &plain, &made);
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

static const rer_device_plugin *find_plugin(void)
{
    char message[RER_DEVICE_MESSAGE] = "";
    const rer_device_plugin *plugin = rer_device_find(message);
    if (plugin == NULL)
        fail_msg("%s", message);
    return plugin;
}

static void test_networks(void **state)
{
    (void)state;
    const rer_device_plugin *plugin = find_plugin();
    wrong = 0;
    for (size_t i = 0; i < sizeof network_shapes / sizeof *network_shapes; i++)
        check_networks(plugin, &network_shapes[i]);
    assert_int_equal(wrong, 0);
}

static void test_training(void **state)
{
    (void)state;
    const rer_device_plugin *plugin = find_plugin();
    wrong = 0;
    for (size_t i = 0; i < sizeof training_shapes / sizeof *training_shapes; i++)
        check_training(plugin, &training_shapes[i]);
    assert_int_equal(wrong, 0);
}

static void test_operations(void **state)
{
    (void)state;
    const rer_device_plugin *plugin = find_plugin();
    wrong = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        check_shape(plugin, &shapes[i]);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_training), cmocka_unit_test(test_networks),
                                       cmocka_unit_test(test_operations)};
    return cmocka_run_group_tests_name("device.operations", tests, NULL, NULL);
}
