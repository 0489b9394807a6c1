/* What the classes are taken for: confused pairs, error rate and entropy of given -> predicted,
 * and each class's own numbers. */
#include "judge/judge.h"
#include "stats/order.h"

static int by_classes(const void *left, const void *right)
{
    const rer_confusion *a = left, *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

static int by_count(const void *left, const void *right)
{
    const rer_pair *a = left, *b = right;
    int64_t x = a->a_as_b + a->b_as_a, y = b->a_as_b + b->b_as_a;
    if (x != y)
        return x > y ? -1 : 1;
    if (a->a != b->a)
        return a->a < b->a ? -1 : 1;
    return a->b < b->b ? -1 : a->b > b->b;
}

/* given * C + predicted of rows first .. end - 1 where these differ: keys; returns how many. */
static int64_t gather_confused(uint64_t *keys, const rer_result *result, int64_t first, int64_t end)
{
    int64_t n = 0;
    for (int64_t row = first; row < end; row++) {
        int32_t predicted = rer_predicted(result, row);
        if (rer_is_scored(result, row) && predicted != result->given[row])
            keys[n++] = (uint64_t)result->given[row] * (uint64_t)result->C + (uint64_t)predicted;
    }
    return n;
}

/* Counts the keys [n], which it sorts. */
static rer_status count_keys(rer_confusion **list, int64_t *count, uint64_t *keys, int64_t n, int32_t classes,
                             rer_error *error)
{
    uint64_t *work = NULL, C = (uint64_t)classes;
    rer_room rooms[] = {RER_ROOM(work, n), RER_ROOM(*list, n)};
    rer_status status = rer_allocate_all(rooms, RER_COUNT(rooms), "confused samples", error);
    if (status == RER_OK)
        rer_sort_keys(keys, n, C * C, work);
    *count = 0;
    for (int64_t i = 0; status == RER_OK && i < n; i++) {
        if (i == 0 || keys[i] != keys[i - 1])
            (*list)[(*count)++] = (rer_confusion){(int32_t)(keys[i] / C), (int32_t)(keys[i] % C), 0};
        (*list)[*count - 1].count++;
    }
    free(work);
    return status;
}

rer_status rer_list_confusions(rer_confusion **list, int64_t *count, const rer_result *result, rer_error *error)
{
    uint64_t *keys = NULL;
    rer_status status = rer_allocate(&keys, result->N, sizeof *keys, "confused samples", error);
    if (status == RER_OK)
        status = count_keys(list, count, keys, gather_confused(keys, result, 0, result->N), result->C, error);
    free(keys);
    return status;
}

/* Pairs without direction: each a -> b with a < b looks b -> a up, and a lone b -> a counts too. */
static rer_status make_pairs(rer_result *result, const rer_confusion *list, int64_t count, rer_error *error)
{
    RER_TRY(rer_allocate(&result->pairs, count, sizeof *result->pairs, "confused pairs", error));
    for (int64_t i = 0; i < count; i++) {
        rer_confusion back = {.from = list[i].to, .to = list[i].from};
        const rer_confusion *found = bsearch(&back, list, (size_t)count, sizeof *list, by_classes);
        if (list[i].from > list[i].to && found != NULL)
            continue; /* told from the other side */
        int64_t reverse = found != NULL ? found->count : 0;
        result->pairs[result->n_pairs++] = list[i].from < list[i].to
                                               ? (rer_pair){list[i].from, list[i].to, list[i].count, reverse}
                                               : (rer_pair){list[i].to, list[i].from, reverse, list[i].count};
    }
    if (result->n_pairs > 0)
        qsort(result->pairs, (size_t)result->n_pairs, sizeof *result->pairs, by_count);
    return RER_OK;
}

/* Entropy of given -> predicted, averaged over samples, relative to log C. */
static double transition_entropy(const rer_result *result, const rer_confusion *list, int64_t count,
                                 const int64_t *scored, int64_t total)
{
    double entropy = 0;
    for (int64_t i = 0; i < count;) {
        int32_t from = list[i].from;
        int64_t wrong = 0;
        double n = (double)scored[from];
        for (; i < count && list[i].from == from; i++) {
            double p = (double)list[i].count / n;
            entropy -= n * p * log(p);
            wrong += list[i].count;
        }
        double right = (double)(scored[from] - wrong) / n;
        entropy -= right > 0 ? n * right * log(right) : 0;
    }
    return total > 0 ? entropy / (double)total / log(result->C) : 0;
}

/* ---- sums of classes ----------------------------------------------------------------------- */

#define ROWS 16384 /* of an item; or as many as make its sums of all classes pay */

typedef struct class_sums {
    int64_t n, issues, scored;
    double chi, own_error, noise_rate;
} class_sums;

typedef struct class_pass {
    rer_result *result;
    int64_t *scored; /* [C] */
    uint64_t *keys;  /* [n_keys] of confused rows, in their order */
    int64_t n_keys;
    int64_t rows; /* of an item */
    rer_pool *pool;
} class_pass;

/* What an item leaves for its commit. */
typedef struct class_scratch {
    class_sums *sums; /* [C] */
    uint64_t *keys;   /* [n_keys] */
    int64_t n_keys;
} class_scratch;

static class_scratch lay_out(const class_pass *pass, rer_scratch *scratch)
{
    class_scratch parts = {0};
    (void)rer_take(scratch, 1, sizeof parts);
    parts.sums = rer_take(scratch, pass->result->C, sizeof *parts.sums);
    parts.keys = rer_take(scratch, pass->rows, sizeof *parts.keys);
    return parts;
}

static void add_to_class(class_sums *sums, const rer_result *result, int64_t row)
{
    sums->n++;
    sums->issues += (result->flags[row] & RER_FLAG_ISSUE) != 0;
    if (!rer_is_scored(result, row))
        return;
    sums->scored++;
    sums->chi += rer_chi_of(result, row);
    sums->own_error += (double)result->own[row];
    sums->noise_rate += rer_logistic((double)result->logit[row]);
}

static rer_status sum_rows(void *context, int64_t item, void *memory, rer_error *error)
{
    (void)error;
    const class_pass *pass = context;
    const rer_result *result = pass->result;
    int64_t first = item * pass->rows, end = rer_min(first + pass->rows, result->N);
    rer_scratch scratch = rer_pool_scratch(pass->pool, memory);
    class_scratch *parts = memory;
    *parts = lay_out(pass, &scratch);
    memset(parts->sums, 0, (size_t)result->C * sizeof *parts->sums);
    for (int64_t row = first; row < end; row++)
        if (result->given[row] >= 0 && (result->flags[row] & RER_FLAG_INVALID) == 0)
            add_to_class(&parts->sums[result->given[row]], result, row);
    parts->n_keys = gather_confused(parts->keys, result, first, end);
    return RER_OK;
}

static rer_status add_sums(void *context, int64_t item, void *memory, rer_error *error)
{
    (void)item, (void)error;
    class_pass *pass = context;
    const class_scratch *parts = memory;
    for (int32_t c = 0; c < pass->result->C; c++) {
        const class_sums *more = &parts->sums[c];
        rer_class_summary *class = &pass->result->classes[c];
        class->n += more->n;
        class->n_issues += more->issues;
        class->chi += more->chi;
        class->own_error += more->own_error;
        class->noise_rate += more->noise_rate;
        pass->scored[c] += more->scored;
    }
    memcpy(pass->keys + pass->n_keys, parts->keys, (size_t)parts->n_keys * sizeof *parts->keys);
    pass->n_keys += parts->n_keys;
    return RER_OK;
}

/* Their means, and which classes the rows are taken for. */
static rer_status sum_classes(rer_result *result, int64_t *scored, rer_confusion **list, int64_t *count, rer_pool *pool,
                              rer_error *error)
{
    int64_t rows = rer_min(result->N, rer_max(ROWS, 4 * (int64_t)result->C));
    class_pass pass = {.result = result, .scored = scored, .rows = rows, .pool = pool};
    rer_scratch measure = RER_MEASURE;
    (void)lay_out(&pass, &measure);
    rer_job job = {.stage = "judging",
                   .items = (result->N + rows - 1) / rows,
                   .scratch = measure.used,
                   .work = sum_rows,
                   .commit = add_sums,
                   .context = &pass};
    rer_status status = rer_allocate(&pass.keys, result->N, sizeof *pass.keys, "confused samples", error);
    if (status == RER_OK)
        status = rer_pool_run(pool, &job, error);
    if (status == RER_OK)
        status = count_keys(list, count, pass.keys, pass.n_keys, result->C, error);
    free(pass.keys);
    for (int32_t c = 0; c < result->C; c++) {
        rer_class_summary *class = &result->classes[c];
        double n = scored[c] > 0 ? (double)scored[c] : NAN;
        class->chi /= n;
        class->own_error /= n;
        class->noise_rate /= n;
        class->most_confused_with = -1;
    }
    return status;
}

rer_status rer_judge_classes(rer_result *result, rer_pool *pool, rer_error *error)
{
    rer_confusion *list = NULL;
    int64_t count = 0, wrong = 0, total = 0, *scored = NULL, *most = NULL, *predicted = NULL;
    rer_room rooms[] = {RER_ROOM(result->classes, result->C), RER_ROOM(scored, result->C), RER_ROOM(most, result->C),
                        RER_ROOM(predicted, result->C)};
    rer_status status = rer_allocate_all(rooms, RER_COUNT(rooms), "classes", error);
    RER_THEN(status, sum_classes(result, scored, &list, &count, pool, error));
    RER_THEN(status, make_pairs(result, list, count, error));
    if (status == RER_OK) {
        for (int32_t c = 0; c < result->C; c++)
            total += scored[c];
        memcpy(predicted, scored, (size_t)result->C * sizeof *predicted);
        for (int64_t i = 0; i < count; i++) {
            wrong += list[i].count;
            predicted[list[i].from] -= list[i].count;
            predicted[list[i].to] += list[i].count;
            if (list[i].count > most[list[i].from]) {
                most[list[i].from] = list[i].count;
                result->classes[list[i].from].most_confused_with = list[i].to;
            }
        }
        result->summary.error_rate = total > 0 ? (double)wrong / (double)total : NAN;
        result->summary.difficulty = rer_difficulty(wrong, scored, predicted, result->C);
        result->summary.transition_entropy = transition_entropy(result, list, count, scored, total);
    }
    RER_FREE_ALL(list, scored, most, predicted);
    return status;
}
