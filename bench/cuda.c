/* The closed form on a card at ImageNet's shape: class sums, scatter and scores, each a pass over all rows.
 *     bench.cuda [N D C]
 *     bench.cuda neighbours [N D]
 *     bench.cuda copies [N D]
 *     bench.cuda regressions [N D C]
 *     bench.cuda networks [N D C]
 * from the card's memory: the rows are there; copied once: from pinned memory in the first pass, then they stay;
 * streamed: from pinned memory in each pass, as where the card has no room. A slot's rows are the same each time: the
 * copy is timed, not the CPU that reads them. Medians of 5 after one to warm up. Neighbours: the 20 nearest rows of each
 * of 1,000,000 x 512 drawn ones, from the card's memory to the host's. Copies: all pairs of
 * such rows within a degree, every hundredth row being one of the row before it. Regressions: one evaluation of five logistic
 * regressions, each of four fifths of the rows. Networks: the errors of all rows under a network
 * for each class, D - 256 - 10 - 256 - D, from the card's memory, and steps of their training with batches of 64 edges. */
#include "backend/device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TURNS 5
#define ROWS 16384

typedef struct bench {
    const rer_device_plugin *plugin;
    void *device;
    int64_t N, D;
    int32_t C;
    double *mean, *scatter, *sum, *square;
    rer_device_model model;
    rer_device_channel channel;
} bench;

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static uint64_t state = 1;

/* About normal. */
static float draw(void)
{
    float sum = 0;
    for (int i = 0; i < 3; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        sum += (float)(state >> 40) / (float)(1 << 24) - .5f;
    }
    return 2 * sum;
}

static void *room(int64_t count, size_t size)
{
    void *made = calloc((size_t)count, size);
    if (made == NULL)
        exit(3);
    return made;
}

static float *draw_floats(int64_t count, float factor)
{
    float *made = room(count, sizeof *made);
    for (int64_t i = 0; i < count; i++)
        made[i] = factor * draw();
    return made;
}

static void check(const bench *b)
{
    const char *failure = b->plugin->failure(b->device);
    if (failure == NULL)
        return;
    fprintf(stderr, "%s\n", failure);
    exit(3);
}

static void fill_slots(const bench *b)
{
    for (int slot = 0; slot < RER_DEVICE_SLOTS; slot++) {
        rer_device_rows rows = b->plugin->slot(b->device, slot);
        for (int64_t i = 0; i < ROWS; i++) {
            rows.scale[i] = 1;
            rows.code[i] = (int32_t)((uint64_t)(i * 2654435761 + slot) % (uint64_t)b->C);
            for (int64_t j = 0; j < b->D; j++)
                rows.x[i * b->D + j] = draw() + (float)b->mean[rows.code[i] * b->D + j];
        }
    }
}

static void make_model(bench *b)
{
    int64_t C = b->C, D = b->D;
    float *root = draw_floats(D * D, .01f), *u = draw_floats((C + 1) * D, .1f), *pairs = draw_floats(C * C, 0);
    int64_t *n = room(C, sizeof *n);
    for (int64_t j = 0; j < D; j++)
        root[j * D + j] = 1;
    b->mean = room((C + 1) * D, sizeof(double));
    for (int64_t i = 0; i < C * D; i++)
        b->mean[i] = (double)u[i];
    for (int64_t c = 0; c < C; c++) {
        n[c] = b->N / C;
        for (int64_t k = 0; k < C; k++)
            pairs[c * C + k] = c == k ? 0 : .02f * (float)D;
    }
    b->channel = (rer_device_channel){.weight = .5,
                                      .edge = (double)D,
                                      .sharpness = .4,
                                      .bias = draw_floats(C, .1f),
                                      .rates = draw_floats(C * C, .001f),
                                      .whole = true};
    b->model = (rer_device_model){.mean = b->mean,
                                  .root = root,
                                  .u = u,
                                  .norm = draw_floats(C, 0),
                                  .pairs = pairs,
                                  .n = n,
                                  .weight = 1e-9,
                                  .left_out = true,
                                  .channel = &b->channel};
    b->scatter = room(D * D, sizeof(double));
    b->sum = room(C * D, sizeof(double));
    b->square = room(C * D, sizeof(double));
}

static void pass(const bench *b, void (*add)(void *, int), bool kept, bool takes)
{
    int slot = 0;
    for (int64_t first = 0; first < b->N; first += ROWS, slot = 1 - slot) {
        int64_t count = ROWS < b->N - first ? ROWS : b->N - first;
        if (!kept)
            (void)b->plugin->slot(b->device, slot);
        b->plugin->load(b->device, slot, first, count, kept);
        if (add != NULL)
            add(b->device, slot);
        if (takes && first > 0)
            (void)b->plugin->score_rows(b->device, 1 - slot);
    }
    if (takes)
        (void)b->plugin->score_rows(b->device, 1 - slot);
}

enum { SUMS, SCATTER, SCORES, ALL, TIMES };

static void run(const bench *b, bool first_kept, bool kept, double times[TIMES])
{
    double start = now();
    b->plugin->sums_begin(b->device);
    pass(b, b->plugin->sums_add, first_kept, false);
    b->plugin->sums_end(b->device, b->sum, b->square);
    times[SUMS] = now() - start;
    b->plugin->scatter_begin(b->device, b->mean, 1e30);
    pass(b, b->plugin->scatter_add, kept, false);
    b->plugin->scatter_end(b->device, b->scatter);
    times[SCATTER] = now() - start - times[SUMS];
    b->plugin->score_begin(b->device, &b->model);
    pass(b, b->plugin->score_add, kept, true);
    times[ALL] = now() - start;
    times[SCORES] = times[ALL] - times[SUMS] - times[SCATTER];
    check(b);
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static void report(const bench *b, const char *what, bool first_kept, bool kept)
{
    double times[TURNS + 1][TIMES], column[TURNS], median[TIMES];
    for (int turn = 0; turn <= TURNS; turn++)
        run(b, first_kept, kept, times[turn]);
    for (int i = 0; i < TIMES; i++) {
        for (int turn = 0; turn < TURNS; turn++)
            column[turn] = times[turn + 1][i];
        qsort(column, TURNS, sizeof *column, by_size);
        median[i] = column[TURNS / 2];
    }
    printf("%-24s sums %.4f scatter %.4f scores %.4f all %.4f s\n", what, median[SUMS], median[SCATTER], median[SCORES],
           median[ALL]);
}

static void open_device(bench *b, bool keeps)
{
    char message[RER_DEVICE_MESSAGE] = "";
    rer_device_shape shape = {.C = b->C, .N = keeps ? b->N : (int64_t)1 << 40, .D = b->D, .rows = ROWS};
    b->plugin = rer_device_find(message);
    double start = now();
    b->device = b->plugin != NULL ? b->plugin->open(&shape, message) : NULL;
    if (b->plugin == NULL || b->device == NULL) {
        fprintf(stderr, "%s\n", message);
        exit(3);
    }
    printf("%s, rows %s, opened in %.3f s\n", b->plugin->name(b->device),
           b->plugin->keeps_rows(b->device) ? "stay" : "stream", now() - start);
    fill_slots(b);
}

/* Rows of some length, a class of each two. */
static void draw_rows(const bench *b)
{
    int slot = 0;
    for (int64_t first = 0; first < b->N; first += ROWS, slot = 1 - slot) {
        int64_t count = ROWS < b->N - first ? ROWS : b->N - first;
        rer_device_rows rows = b->plugin->slot(b->device, slot);
        for (int64_t i = 0; i < count * b->D; i++)
            rows.x[i] = draw();
        for (int64_t i = 100; i < count; i += 100)
            memcpy(rows.x + i * b->D, rows.x + (i - 1) * b->D, (size_t)b->D * sizeof *rows.x);
        for (int64_t i = 0; i < count; i++) {
            rows.scale[i] = 1;
            rows.code[i] = (int32_t)(i % b->C);
        }
        b->plugin->load(b->device, slot, first, count, false);
    }
}

static void find_neighbors(const bench *b, const uint8_t *among, rer_neighbor *list)
{
    if (!b->plugin->neighbors_begin(b->device, among)) {
        fprintf(stderr, "no room for the neighbours\n");
        exit(3);
    }
    for (int64_t first = 0; first < b->N; first += RER_DEVICE_ASKING) {
        int64_t rows[RER_DEVICE_ASKING], n = RER_DEVICE_ASKING < b->N - first ? RER_DEVICE_ASKING : b->N - first;
        for (int64_t i = 0; i < n; i++)
            rows[i] = first + i;
        b->plugin->neighbors_find(b->device, rows, n, list + first * RER_DEVICE_LISTED);
    }
    b->plugin->neighbors_end(b->device);
    check(b);
}

/* Of TURNS after one to warm up, sorted: the median is in the middle, the first is kept. */
static void sort_times(double times[TURNS + 1])
{
    qsort(times + 1, TURNS, sizeof *times, by_size);
}

static void say_times(const char *what, const bench *b, const double times[TURNS + 1], double flop)
{
    printf("%s of %lld x %lld: %.3f s (%.3f to %.3f, the first %.3f), %.0f TFLOP/s\n", what, (long long)b->N,
           (long long)b->D, times[1 + TURNS / 2], times[1], times[TURNS], times[0],
           1e-12 * flop / times[1 + TURNS / 2]);
}

/* A card with rows to search among [N], all of them. */
static uint8_t *open_search(bench *b)
{
    uint8_t *among = room(b->N, 1);
    memset(among, 1, (size_t)b->N);
    make_model(b);
    open_device(b, true);
    draw_rows(b);
    return among;
}

static int bench_neighbors(bench *b)
{
    double times[TURNS + 1], rows = (double)b->N;
    rer_neighbor *list = room(b->N * RER_DEVICE_LISTED, sizeof *list);
    uint8_t *among = open_search(b);
    for (int turn = 0; turn <= TURNS; turn++) {
        double start = now();
        find_neighbors(b, among, list);
        times[turn] = now() - start;
    }
    sort_times(times);
    say_times("neighbours", b, times, 2 * rows * rows * (double)b->D);
    b->plugin->close(b->device);
    return 0;
}

static int bench_copies(bench *b)
{
    double times[TURNS + 1], rows = (double)b->N;
    int32_t *group = room(b->N, sizeof *group);
    int64_t joined = 0;
    uint8_t *among = open_search(b);
    for (int turn = 0; turn <= TURNS; turn++) {
        double start = now();
        if (!b->plugin->neighbors_begin(b->device, among))
            exit(3);
        for (int64_t first = 0; first < b->N; first += RER_DEVICE_ASKING)
            b->plugin->copies_join(b->device, 3e-4, first,
                                   RER_DEVICE_ASKING < b->N - first ? RER_DEVICE_ASKING : b->N - first);
        b->plugin->copies_take(b->device, group);
        b->plugin->neighbors_end(b->device);
        check(b);
        times[turn] = now() - start;
    }
    for (int64_t i = 0; i < b->N; i++)
        joined += group[i] != i;
    sort_times(times);
    say_times("copies", b, times, rows * rows * (double)b->D);
    printf("%lld rows are copies of an earlier one\n", (long long)joined);
    b->plugin->close(b->device);
    return 0;
}

static int bench_regressions(bench *b)
{
    enum { FOLDS = 5 };
    static const int32_t fold[FOLDS] = {0, 1, 2, 3, 4};
    int64_t N = b->N, D = b->D, C = b->C, start[FOLDS + 1], *row = room(N, sizeof *row);
    int32_t *label = room(N, sizeof *label);
    double times[TURNS + 1], *sum = room(FOLDS * C * D, sizeof *sum), *rest = room(FOLDS * (C + 2), sizeof *rest);
    for (int f = 0; f <= FOLDS; f++)
        start[f] = N * f / FOLDS;
    for (int64_t i = 0; i < N; i++) {
        row[i] = i % (N / FOLDS) * FOLDS + i / (N / FOLDS) < N ? i % (N / FOLDS) * FOLDS + i / (N / FOLDS) : i;
        label[i] = (int32_t)(i % C);
    }
    rer_device_logistic of = {FOLDS, true, room(D, sizeof(double)), start, row, label};
    rer_device_softmax at = {.count = FOLDS,
                             .fold = fold,
                             .w = draw_floats(FOLDS * C * D, 3),
                             .bias = draw_floats(FOLDS * C, 1),
                             .sum = sum,
                             .bias_sum = rest,
                             .loss = rest + FOLDS * C,
                             .missing = rest + FOLDS * C + FOLDS};
    make_model(b);
    open_device(b, true);
    draw_rows(b);
    if (!b->plugin->logistic_begin(b->device, &of))
        exit(3);
    for (int turn = 0; turn <= TURNS; turn++) {
        double from = now();
        b->plugin->logistic_sums(b->device, &at);
        check(b);
        times[turn] = now() - from;
    }
    sort_times(times);
    say_times("an evaluation of 5 regressions", b, times, 16 * (double)N * (double)D * (double)C);
    b->plugin->logistic_end(b->device);
    b->plugin->close(b->device);
    return 0;
}

/* As fit/autoencoder/network.c lays it out. */
static rer_network make_shape(int64_t D)
{
    rer_network made = {.layers = 4, .encoder = 2, .width = {D, 256, 10, 256, D}};
    for (int l = 0; l < made.layers; l++) {
        made.weight[l] = made.parameters;
        made.bias[l] = made.weight[l] + made.width[l] * made.width[l + 1];
        made.parameters = made.bias[l] + made.width[l + 1];
    }
    return made;
}

static void bench_sweep(bench *b, const rer_network *shape)
{
    double times[TURNS + 1], flop = 4e-12 * (double)b->N * b->C * (double)(b->D * 256 + 2560);
    float *weights = draw_floats((int64_t)b->C * shape->parameters, .05f);
    rer_device_networks networks = {.shape = *shape, .weights = weights};
    rer_device_model model = {.networks = &networks, .channel = &b->channel};
    for (int slot = 0; slot < RER_DEVICE_SLOTS; slot++) {
        rer_device_rows rows = b->plugin->slot(b->device, slot);
        for (int64_t i = 0; i < ROWS * b->D; i++)
            rows.x[i] = fminf(1, fmaxf(0, .5f + .1f * draw()));
    }
    pass(b, NULL, false, false);
    double start = now();
    b->plugin->score_begin(b->device, &model);
    printf("networks to the card %.3f s\n", now() - start);
    for (int turn = 0; turn <= TURNS; turn++) {
        start = now();
        pass(b, b->plugin->score_add, true, true);
        times[turn] = now() - start;
    }
    check(b);
    qsort(times + 1, TURNS, sizeof *times, by_size);
    printf("sweep %.3f s (%.3f to %.3f), %.0f TFLOP, %.0f TFLOP/s\n", times[1 + TURNS / 2], times[1], times[TURNS],
           flop, flop / times[1 + TURNS / 2]);
    free(weights);
}

static bool goes_on(void *context)
{
    (void)context;
    return false;
}

/* So many steps of all classes' networks, with rows and edges drawn at random. */
static double time_training(const bench *b, const rer_network *shape, int64_t steps)
{
    enum { CLASS_ROWS = 1281, BATCH = 64 };
    rer_device_training training = {.shape = *shape,
                                    .batch = BATCH,
                                    .seed = 1,
                                    .reports = 1,
                                    .patience = 5,
                                    .clip = 4,
                                    .learning_rate = 1e-3,
                                    .a = 1e-6,
                                    .b = 4,
                                    .weight = 20,
                                    .repulsion = 1,
                                    .dropout = .01,
                                    .regularization = 1e-6};
    rer_device_trainee *trainees = room(b->C, sizeof *trainees);
    float *x = draw_floats(CLASS_ROWS * b->D, .1f);
    int32_t *head = room(2 * steps * BATCH, sizeof *head);
    for (int64_t i = 0; i < CLASS_ROWS * b->D; i++)
        x[i] = fminf(1, fmaxf(0, .5f + x[i]));
    for (int64_t i = 0; i < 2 * steps * BATCH; i++)
        head[i] = (int32_t)((uint64_t)(i * 2654435761) % CLASS_ROWS);
    for (int32_t c = 0; c < b->C; c++)
        trainees[c] = (rer_device_trainee){.key = (uint64_t)c << 7 | 127,
                                           .x = x,
                                           .n = CLASS_ROWS,
                                           .head = head,
                                           .tail = head + steps * BATCH,
                                           .draws = steps * BATCH};
    double start = now();
    if (!b->plugin->train(b->device, &training, trainees, b->C, goes_on, NULL)) {
        fprintf(stderr, "no room for the networks\n");
        exit(3);
    }
    double taken = now() - start;
    check(b);
    free(trainees);
    free(x);
    free(head);
    return taken;
}

static int bench_networks(bench *b)
{
    rer_network shape = make_shape(b->D);
    double each[TURNS], P = (double)shape.parameters * b->C;
    make_model(b);
    open_device(b, true);
    (void)time_training(b, &shape, 32);
    for (int turn = 0; turn < TURNS; turn++) /* what begins and ends a training is in both */
        each[turn] = (time_training(b, &shape, 288) - time_training(b, &shape, 32)) / 256;
    qsort(each, TURNS, sizeof *each, by_size);
    printf("a step of %d networks %.3f ms (%.3f to %.3f): %.1f GB of weights and moments at least, %.0f GFLOP\n", b->C,
           1e3 * each[TURNS / 2], 1e3 * each[0], 1e3 * each[TURNS - 1], 24e-9 * P,
           1e-9 * b->C * 2 * 448 * 256 * (double)b->D);
    bench_sweep(b, &shape);
    b->plugin->close(b->device);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(bench *b);
    int64_t N;
    int32_t C;
} parts[] = {{"networks", bench_networks, 1281167, 1000},
             {"neighbours", bench_neighbors, 1000000, 2},
             {"copies", bench_copies, 1000000, 2},
             {"regressions", bench_regressions, 1281167, 1000}};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof parts / sizeof *parts; i++)
        if (strcmp(argv[1], parts[i].name) == 0)
            return parts[i].run(&(bench){.N = argc > 2 ? atoll(argv[2]) : parts[i].N,
                                         .D = argc > 3 ? atoll(argv[3]) : 512,
                                         .C = argc > 4 ? atoi(argv[4]) : parts[i].C});
    bench b = {.N = argc > 1 ? atoll(argv[1]) : 1281167,
               .D = argc > 2 ? atoll(argv[2]) : 512,
               .C = argc > 3 ? atoi(argv[3]) : 1000};
    make_model(&b);
    double rows = (double)b.N, D = (double)b.D, C = (double)b.C;
    printf("%lld x %lld, %d classes: products %.2f TFLOP (scatter %.2f, metric %.2f, classes %.2f), rows %.2f GB\n",
           (long long)b.N, (long long)b.D, b.C, 2e-12 * rows * D * (D / 2 + D / 2 + C), 1e-12 * rows * D * D,
           1e-12 * rows * D * D, 2e-12 * rows * D * C, 4e-9 * rows * D);
    open_device(&b, true);
    report(&b, "copied once", false, true);
    report(&b, "from the card's memory", true, true);
    b.plugin->close(b.device);
    open_device(&b, false);
    report(&b, "streamed", false, false);
    double start = now();
    pass(&b, NULL, false, false);
    (void)b.plugin->slot(b.device, 0);
    (void)b.plugin->slot(b.device, 1);
    double copied = now() - start;
    printf("copying alone %.4f s, %.1f GB/s\n", copied, 4e-9 * rows * D / copied);
    check(&b);
    b.plugin->close(b.device);
    return 0;
}
