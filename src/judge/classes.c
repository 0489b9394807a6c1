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

/* given * C + predicted of the rows where these differ: keys [N]; returns how many. */
static int64_t gather_confused(uint64_t *keys, const rer_result *result)
{
    int64_t n = 0;
    for (int64_t row = 0; row < result->N; row++) {
        int32_t predicted = rer_predicted(result, row);
        if (rer_is_scored(result, row) && predicted != result->given[row])
            keys[n++] = (uint64_t)result->given[row] * (uint64_t)result->C + (uint64_t)predicted;
    }
    return n;
}

rer_status rer_list_confusions(rer_confusion **list, int64_t *count, const rer_result *result, rer_error *error)
{
    uint64_t *keys = NULL, *work = NULL, C = (uint64_t)result->C;
    rer_room rooms[] = {RER_ROOM(keys, result->N), RER_ROOM(work, result->N)};
    *count = 0;
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "confused samples", error));
    int64_t n = gather_confused(keys, result);
    rer_sort_keys(keys, n, C * C, work);
    rer_status status = rer_allocate(list, n, sizeof **list, "confused samples", error);
    for (int64_t i = 0; status == RER_OK && i < n; i++) {
        if (i == 0 || keys[i] != keys[i - 1])
            (*list)[(*count)++] = (rer_confusion){(int32_t)(keys[i] / C), (int32_t)(keys[i] % C), 0};
        (*list)[*count - 1].count++;
    }
    RER_FREE_ALL(keys, work);
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

static void sum_classes(rer_result *result, int64_t *scored)
{
    for (int64_t row = 0; row < result->N; row++) {
        int32_t c = result->given[row];
        if (c < 0 || (result->flags[row] & RER_FLAG_INVALID) != 0)
            continue;
        rer_class_summary *class = &result->classes[c];
        class->n++;
        class->n_issues += (result->flags[row] & RER_FLAG_ISSUE) != 0;
        if (!rer_is_scored(result, row))
            continue;
        scored[c]++;
        class->chi += rer_chi_of(result, row);
        class->own_error += (double)result->own[row];
        class->noise_rate += rer_logistic((double)result->logit[row]);
    }
    for (int32_t c = 0; c < result->C; c++) {
        rer_class_summary *class = &result->classes[c];
        double n = scored[c] > 0 ? (double)scored[c] : NAN;
        class->chi /= n;
        class->own_error /= n;
        class->noise_rate /= n;
        class->most_confused_with = -1;
    }
}

rer_status rer_judge_classes(rer_result *result, rer_error *error)
{
    rer_confusion *list = NULL;
    int64_t count = 0, wrong = 0, total = 0, *scored = NULL, *most = NULL, *predicted = NULL;
    rer_room rooms[] = {RER_ROOM(result->classes, result->C), RER_ROOM(scored, result->C), RER_ROOM(most, result->C),
                        RER_ROOM(predicted, result->C)};
    rer_status status = rer_allocate_all(rooms, RER_COUNT(rooms), "classes", error);
    RER_THEN(status, rer_list_confusions(&list, &count, result, error));
    RER_THEN(status, make_pairs(result, list, count, error));
    if (status == RER_OK) {
        sum_classes(result, scored);
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
