/* What the page tells about classes beyond classes.csv: distributions of errors, and an order in which
 * confused classes stand together.
 *
 * The order joins chains. Every class begins as a chain of its own; pairs are taken from the most confused
 * on (samples taken for the other, over the smaller class), and the chains of the two are joined, turned so
 * that the two come as close as they can. Chains joined while the share is at least BLOCK_SHARE are a block. */
#include "report/page.h"

#define BLOCK_SHARE 0.05

/* ---- distributions of errors ------------------------------------------------------------------ */

void rer_class_errors_free(rer_class_errors *errors)
{
    RER_FREE_ALL(errors->low, errors->high, errors->moments, errors->counts);
    *errors = (rer_class_errors){0};
}

static rer_status find_places(int32_t **place, const rer_result *result, const int32_t *classes, int32_t n,
                              rer_error *error)
{
    RER_TRY(rer_allocate(place, result->C, sizeof **place, "classes", error));
    for (int32_t c = 0; c < result->C; c++)
        (*place)[c] = -1;
    for (int32_t i = 0; i < n; i++)
        (*place)[classes[i]] = i;
    return RER_OK;
}

/* Calls `take` with both errors of every scored row of the classes. */
static void each_row(const rer_result *result, const int32_t *place,
                     void (*take)(rer_class_errors *, int32_t, const float *), rer_class_errors *errors)
{
    for (int64_t row = 0; row < result->N; row++) {
        int32_t at = result->given[row] >= 0 ? place[result->given[row]] : -1;
        const float both[2] = {result->own[row], result->other[row]};
        if (at >= 0 && (result->flags[row] & RER_FLAG_INVALID) == 0 && isfinite(both[0]) && isfinite(both[1]))
            take(errors, at, both);
    }
}

static void take_range(rer_class_errors *errors, int32_t at, const float *both)
{
    for (int k = 0; k < 2; k++) {
        errors->low[at] = fmin(errors->low[at], (double)both[k]);
        errors->high[at] = fmax(errors->high[at], (double)both[k]);
        errors->moments[3 * at]++;
        errors->moments[3 * at + 1] += (double)both[k];
        errors->moments[3 * at + 2] += (double)both[k] * (double)both[k];
    }
}

/* A single far sample must not squeeze all others into one bin. */
static void cut_tails(rer_class_errors *errors, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        const double *m = errors->moments + 3 * (int64_t)i;
        double mean = m[1] / m[0], variance = fmax(0, m[2] / m[0] - mean * mean);
        errors->high[i] = fmin(errors->high[i], mean + 3 * sqrt(variance)); /* no samples: NaN */
    }
}

static void take_count(rer_class_errors *errors, int32_t at, const float *both)
{
    double low = errors->low[at], width = errors->high[at] - low;
    for (int k = 0; k < 2; k++) {
        double place = width > 0 ? ((double)both[k] - low) / width * RER_ERROR_BINS : 0;
        errors->counts[(2 * at + k) * RER_ERROR_BINS + (int)fmin(place, RER_ERROR_BINS - 1)]++;
    }
}

rer_status rer_class_errors_count(rer_class_errors *errors, const rer_result *result, const int32_t *classes, int32_t n,
                                  rer_error *error)
{
    rer_class_errors made = {0};
    int32_t *place = NULL; /* [C] among `classes` */
    rer_status status = find_places(&place, result, classes, n, error);
    const rer_room rooms[] = {RER_ROOM(made.low, n), RER_ROOM(made.high, n), RER_ROOM(made.moments, 3 * (int64_t)n),
                              RER_ROOM(made.counts, 2 * RER_ERROR_BINS * (int64_t)n)};
    RER_THEN(status, rer_allocate_all(rooms, RER_COUNT(rooms), "distributions", error));
    for (int32_t i = 0; status == RER_OK && i < n; i++)
        made.low[i] = made.high[i] = NAN; /* fmin and fmax take the number */
    if (status == RER_OK) {
        each_row(result, place, take_range, &made);
        cut_tails(&made, n);
        each_row(result, place, take_count, &made);
    }
    free(place);
    if (status == RER_OK)
        *errors = made;
    else
        rer_class_errors_free(&made);
    return status;
}

/* ---- order ------------------------------------------------------------------------------------ */

typedef struct weighted_pair {
    double share;
    int32_t a, b; /* places among the classes, a < b */
} weighted_pair;

/* Whether x comes before y. */
static bool is_before(const weighted_pair *x, const weighted_pair *y)
{
    if (x->share != y->share)
        return x->share > y->share;
    return x->a != y->a ? x->a < y->a : x->b < y->b;
}

/* Restores the heap, the first pair on top, below position `at`. */
static void sift_down(weighted_pair *heap, int64_t count, int64_t at)
{
    for (int64_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && is_before(&heap[child + 1], &heap[child]);
        if (!is_before(&heap[child], &heap[at]))
            return;
        weighted_pair moved = heap[at];
        heap[at] = heap[child];
        heap[child] = moved;
        at = child;
    }
}

static weighted_pair take_first(weighted_pair *heap, int64_t *count)
{
    weighted_pair first = heap[0];
    heap[0] = heap[--*count];
    sift_down(heap, *count, 0);
    return first;
}

typedef struct chain {
    int32_t *member; /* [n] owned by the chain's number */
    int32_t count;
} chain;

typedef struct chains {
    chain *list;    /* [n] by number; count 0 where it was joined to another */
    int32_t *of;    /* [n] chain of a class */
    int32_t *block; /* [n] of a class: the smallest place in its block */
} chains;

static void reverse(chain *c)
{
    for (int32_t i = 0, j = c->count - 1; i < j; i++, j--) {
        int32_t member = c->member[i];
        c->member[i] = c->member[j];
        c->member[j] = member;
    }
}

static int32_t place_in(const chain *c, int32_t class)
{
    int32_t at = 0;
    while (c->member[at] != class)
        at++;
    return at;
}

/* Appends the chain of b to that of a. */
static rer_status join(chains *s, int32_t a, int32_t b, bool is_block, rer_error *error)
{
    chain *x = &s->list[s->of[a]], *y = &s->list[s->of[b]];
    int32_t *joined = NULL;
    if (place_in(x, a) < x->count / 2)
        reverse(x); /* a towards the end */
    if (place_in(y, b) >= (y->count + 1) / 2)
        reverse(y); /* b towards the beginning */
    RER_TRY(rer_allocate(&joined, x->count + y->count, sizeof *joined, "the order of the classes", error));
    memcpy(joined, x->member, (size_t)x->count * sizeof *joined);
    memcpy(joined + x->count, y->member, (size_t)y->count * sizeof *joined);
    for (int32_t i = 0; i < y->count; i++) {
        s->of[y->member[i]] = s->of[a];
        if (is_block) /* the most confused pairs come first: until now every chain is one block */
            s->block[y->member[i]] = s->block[a];
    }
    RER_FREE_ALL(x->member, y->member);
    *x = (chain){joined, x->count + y->count};
    *y = (chain){0};
    return RER_OK;
}

/* A heap: few pairs are needed until all classes are in one chain. */
static rer_status list_pairs(weighted_pair **list, int64_t *count, const rer_result *result, const int32_t *place,
                             rer_error *error)
{
    RER_TRY(rer_allocate(list, result->n_pairs, sizeof **list, "confused pairs", error));
    for (int64_t i = 0; i < result->n_pairs; i++) {
        const rer_pair *pair = &result->pairs[i];
        int32_t a = place[pair->a], b = place[pair->b];
        if (a < 0 || b < 0)
            continue;
        double smaller = (double)rer_max(1, rer_min(result->classes[pair->a].n, result->classes[pair->b].n));
        double share = (double)(pair->a_as_b + pair->b_as_a) / smaller;
        (*list)[(*count)++] = (weighted_pair){share, a < b ? a : b, a < b ? b : a};
    }
    for (int64_t at = *count / 2 - 1; at >= 0; at--)
        sift_down(*list, *count, at);
    return RER_OK;
}

static rer_status start_chains(chains *s, int32_t n, rer_error *error)
{
    const rer_room rooms[] = {RER_ROOM(s->list, n), RER_ROOM(s->of, n), RER_ROOM(s->block, n)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "the order of the classes", error));
    for (int32_t i = 0; i < n; i++) {
        s->of[i] = s->block[i] = i;
        RER_TRY(rer_allocate(&s->list[i].member, 1, sizeof *s->list[i].member, "the order of the classes", error));
        s->list[i] = (chain){s->list[i].member, 1};
        s->list[i].member[0] = i;
    }
    return RER_OK;
}

/* Chains one after the other, the one with the first class first; blocks are numbered as they come. */
static void write_order(int32_t *order, int32_t *block, const chains *s, int32_t n)
{
    int32_t used = 0, blocks = -1;
    for (int32_t c = 0; c < n; c++)
        for (int32_t i = 0; i < s->list[c].count; i++) {
            int32_t class = s->list[c].member[i];
            bool is_new = i == 0 || s->block[class] != s->block[s->list[c].member[i - 1]];
            blocks += is_new;
            block[used] = blocks;
            order[used++] = class;
        }
}

rer_status rer_class_order(int32_t *order, int32_t *block, const rer_result *result, const int32_t *classes, int32_t n,
                           rer_error *error)
{
    chains s = {0};
    int32_t *place = NULL; /* [C] */
    weighted_pair *pairs = NULL;
    int64_t count = 0;
    rer_status status = find_places(&place, result, classes, n, error);
    RER_THEN(status, start_chains(&s, n, error));
    RER_THEN(status, list_pairs(&pairs, &count, result, place, error));
    for (int32_t left = n; status == RER_OK && count > 0 && left > 1;) {
        weighted_pair next = take_first(pairs, &count);
        if (s.of[next.a] == s.of[next.b])
            continue;
        status = join(&s, next.a, next.b, next.share >= BLOCK_SHARE, error);
        left--;
    }
    if (status == RER_OK)
        write_order(order, block, &s, n);
    for (int32_t i = 0; s.list != NULL && i < n; i++)
        free(s.list[i].member);
    RER_FREE_ALL(s.list, s.of, s.block, place, pairs);
    return status;
}
