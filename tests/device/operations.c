#include "operations.h"

#include "made_data.h"

#include <stdlib.h>
#include <string.h>

#define IN_EXPONENT 10 /* times that where a sum is of exp(z): an error of z is a relative one there */

int wrong;

const shape shapes[] = {
    {.N = 1, .D = 1, .rows = 1024, .C = 2},
    {.N = 100, .D = 1, .rows = 1024, .C = 2},
    {.N = 1023, .D = 2, .rows = 1024, .C = 3},
    {.N = 1025, .D = 3, .rows = 1024, .C = 5},
    {.N = 300, .D = 37, .rows = 1024, .C = 5},
    {.N = 40, .D = 129, .rows = 1024, .C = 11},
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
const size_t n_shapes = sizeof shapes / sizeof *shapes;

void *room(int64_t count, size_t size)
{
    void *made = calloc((size_t)count, size);
    assert_non_null(made);
    return made;
}
bool is_left_out(int64_t work)
{
    const char *most = getenv("RER_TEST_MOST");
    return most != NULL && work > atoll(most);
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

problem make_problem(const shape *of)
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

void free_problem(problem *made)
{
    void *all[] = {made->rows.x, made->rows.scale, made->rows.code, made->mean,  made->root, made->u,
                   made->norm,   made->pairs,      made->bias,      made->rates, made->n};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}
/* ---- running them ------------------------------------------------------------------------ */
void check_well(const machine *on)
{
    const char *failure = on->plugin->failure(on->device);
    if (failure != NULL)
        fail_msg("%s", failure);
}

void run_stretches(machine *on, const problem *of, void (*add)(void *, int), rer_reduced_row *out)
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
        if (add != NULL)
            add(on->device, slot);
        if (out != NULL)
            memcpy(out + first, on->plugin->score_rows(on->device, slot), (size_t)count * sizeof *out);
    }
    on->loaded = on->plugin->keeps_rows(on->device);
    check_well(on);
}

machine open_machine(const rer_device_plugin *plugin, const shape *of)
{
    char message[RER_DEVICE_MESSAGE] = "";
    rer_device_shape wanted = {.C = of->C, .N = of->N, .D = of->D, .rows = of->rows};
    machine on = {.plugin = plugin, .device = plugin->open(&wanted, message)};
    if (on.device == NULL)
        fail_msg("%s", message);
    return on;
}
rer_reduced_row *run_scores(machine *on, const problem *of, const rer_device_model *model)
{
    rer_reduced_row *rows = room(of->of->N, sizeof *rows);
    on->plugin->score_begin(on->device, model);
    run_stretches(on, of, on->plugin->score_add, rows);
    return rows;
}
/* ---- comparing --------------------------------------------------------------------------- */
void take_error(normalised *of, double got, double want)
{
    bool same = (isnan(got) && isnan(want)) || got == want || fmax(fabs(got), fabs(want)) < 1e-30; /* 0 in float */
    of->error += same ? 0 : (got - want) * (got - want);
    of->size += isfinite(want) ? want * want : 0;
}
double error_of(const normalised *of)
{
    return sqrt(of->error / fmax(of->size, 1e-300));
}

enum { OWN, FIRST, SECOND, SUM, SCORE, TOP, REST, BLURRED, FLOW, ODDS, NUMBERS };
static const char *const names[] = {"own", "first", "second", "sum", "score", "top", "rest", "blurred", "flow", "odds"};

void compare_rows(const rer_reduced_row *got, const rer_reduced_row *want, const problem *of, const char *what,
                  bool channel)
{
    normalised all[NUMBERS] = {{0}};
    int64_t again = 0, expected = 0, other = 0, unlikely = 0;
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
        unlikely += a->likely != b->likely;
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
    EXPECT(unlikely <= 1 + of->of->N / 1000, "%s, likeliest classes", what);
}

const rer_device_plugin *find_plugin(void)
{
    char message[RER_DEVICE_MESSAGE] = "";
    const rer_device_plugin *plugin = rer_device_find(message);
    if (plugin == NULL)
        fail_msg("%s", message);
    return plugin;
}
