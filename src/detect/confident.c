/* Confident learning, in steps; every pass makes the probabilities anew:
 *   1. pass: probability of the given label and of the best other class;
 *   2. threshold of a class: the mean probability of its label among the rows that have it;
 *   3. pass: the true class of a row is guessed where one class reaches its threshold (of several, the
 *      most probable of all);
 *   4. joint: guesses counted by given and true class, scaled so that each given class has its size;
 *   5. pass: of the rows of class i the joint's count of those with the largest p_j - p_i is flagged, for
 *      every j; and the like for the other ways to flag;
 *   6. a row whose most probable class is the given one is never flagged. */
#include "detect/confident.h"

#include "run/class_rows.h"
#include "stats/order.h"

#define SLACK 1e-6 /* probabilities this near are the same */
#define THRESHOLD_LEAST (2 * SLACK)
#define NO_ROWS 2.0 /* a threshold that no probability reaches */

typedef struct judging {
    rer_confident *out;
    const rer_run *run;
    const rer_probabilities *probabilities;
    rer_class_rows classes;
    struct prune_list *prune; /* [n_joint] of the cells */
    int64_t *cell_start;      /* [C + 1] cells of a given class */
} judging;

/* The block stands at the start of the scratch, where a commit finds it. */
static rer_scratch lay_out(const judging *j, rer_scratch *scratch)
{
    (void)rer_take(scratch, 1, sizeof(rer_probability_block));
    return rer_take_part(scratch, j->probabilities->scratch);
}

static rer_status run_pass(judging *j, const char *stage, rer_pool_step *work, rer_pool_step *commit, rer_error *error)
{
    rer_scratch measure = RER_MEASURE;
    (void)lay_out(j, &measure);
    rer_job job = {.stage = stage,
                   .items = j->probabilities->items,
                   .scratch = measure.used,
                   .work = work,
                   .commit = commit,
                   .context = j};
    return rer_pool_run(j->run->pool, &job, error);
}

static rer_status load_block(rer_probability_block *block, const judging *j, int64_t item, rer_error *error)
{
    rer_scratch scratch = rer_pool_scratch(j->run->pool, block);
    return j->probabilities->block(block, j->probabilities->source, item, lay_out(j, &scratch), error);
}

static int32_t most_probable(const float *p, int32_t C, int32_t without)
{
    int32_t best = -1;
    for (int32_t k = 0; k < C; k++)
        if (k != without && (best < 0 || p[k] > p[best]))
            best = k;
    return best;
}

/* ---- 1 to 3. thresholds and guesses --------------------------------------------------------- */

static rer_status look_at_block(void *context, int64_t item, void *scratch, rer_error *error)
{
    judging *j = context;
    rer_confident *out = j->out;
    int32_t C = j->run->C;
    rer_probability_block *block = scratch;
    RER_TRY(load_block(block, j, item, error));
    for (int64_t i = 0; i < block->count; i++) {
        int64_t row = rer_probability_row(block, i);
        int32_t given = j->run->given[row], best = most_probable(block->p + i * C, C, given);
        const float *p = block->p + i * C;
        out->suggested[row] = best;
        out->other[row] = best >= 0 ? p[best] : 0;
        if (given < 0)
            continue;
        double own = (double)p[given] + SLACK, other = (double)out->other[row];
        out->own[row] = p[given];
        out->agrees[row] = own > other || (own == other && given < best);
    }
    return RER_OK;
}

static void set_thresholds(judging *j)
{
    for (int32_t c = 0; c < j->run->C; c++) {
        int64_t n = rer_class_size(&j->classes, c);
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += (double)j->out->own[j->classes.rows[j->classes.start[c] + i]];
        j->out->threshold[c] = n > 0 ? fmax(sum / (double)n, THRESHOLD_LEAST) : NO_ROWS;
    }
}

static rer_status guess_block(void *context, int64_t item, void *scratch, rer_error *error)
{
    judging *j = context;
    int32_t C = j->run->C;
    rer_probability_block *block = scratch;
    RER_TRY(load_block(block, j, item, error));
    for (int64_t i = 0; i < block->count; i++) {
        const float *p = block->p + i * C;
        int32_t confident = 0, last = -1;
        for (int32_t k = 0; k < C; k++)
            if ((double)p[k] >= j->out->threshold[k] - SLACK) {
                confident++;
                last = k;
            }
        j->out->guess[rer_probability_row(block, i)] = confident > 1 ? most_probable(p, C, -1) : last;
    }
    return RER_OK;
}

/* ---- 4. the joint --------------------------------------------------------------------------- */

/* Guesses of the rows of one class: counts [C] (zeros before and after), cells of those not 0. The
 * class itself counts as guessed once at least. */
static rer_status count_guesses(judging *j, int32_t c, int64_t *counts, int64_t *capacity, rer_error *error)
{
    rer_confident *out = j->out;
    int64_t n = rer_class_size(&j->classes, c);
    for (int64_t i = 0; i < n; i++) {
        int32_t guess = out->guess[j->classes.rows[j->classes.start[c] + i]];
        if (guess >= 0)
            counts[guess]++;
    }
    counts[c] = rer_max(1, counts[c]);
    for (int32_t k = 0; n > 0 && k < j->run->C; k++)
        if (counts[k] > 0) {
            RER_TRY(rer_grow(&out->joint, capacity, out->n_joint + 1, sizeof *out->joint, "the joint", error));
            out->joint[out->n_joint++] = (rer_joint_cell){c, k, counts[k]};
        }
    memset(counts, 0, (size_t)j->run->C * sizeof *counts);
    return RER_OK;
}

/* Rounds the cells of a class so that their sum is kept: where it is not, the cells that rounding has
 * moved furthest go the other way. `rests` has room for them. */
static void round_cells(rer_joint_cell *cells, const double *values, int64_t count, rer_ranked *rests)
{
    double sum = 0;
    int64_t total = 0;
    for (int64_t i = 0; i < count; i++) {
        cells[i].count = (int64_t)rint(values[i]);
        rests[i] = (rer_ranked){values[i] - (double)cells[i].count, i};
        sum += values[i];
        total += cells[i].count;
    }
    int64_t missing = (int64_t)rint(sum) - total;
    if (missing == 0)
        return;
    rer_sort_ranked(rests, count);
    for (int64_t i = 0; i < count && missing > 0; i++, missing--)
        cells[rests[count - 1 - i].place].count++;
    for (int64_t i = 0; i < count && missing < 0; i++, missing++)
        cells[rests[i].place].count--;
}

/* Counts become joint counts: each given class has its size, all together N. */
static rer_status calibrate_joint(judging *j, rer_error *error)
{
    rer_confident *out = j->out;
    double *values = NULL, total = (double)j->classes.start[j->run->C];
    rer_ranked *rests = NULL;
    int64_t kept = 0, *start = j->cell_start;
    rer_room rooms[] = {RER_ROOM(values, out->n_joint), RER_ROOM(rests, out->n_joint)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "the joint", error));
    for (int32_t c = 0; c < j->run->C; c++) {
        double sum = 0, n = (double)rer_class_size(&j->classes, c);
        for (int64_t i = start[c]; i < start[c + 1]; i++)
            sum += (double)out->joint[i].count;
        /* Shares of the whole in between, as cleanlab has them: halves are then rounded alike. */
        for (int64_t i = start[c]; i < start[c + 1]; i++)
            values[i] = (double)out->joint[i].count / sum * n / total * total;
    }
    for (int32_t c = 0; c < j->run->C; c++) {
        int64_t from = start[c], to = start[c + 1];
        start[c] = kept;
        round_cells(out->joint + from, values + from, to - from, rests);
        for (int64_t i = from; i < to; i++)
            if (out->joint[i].count > 0)
                out->joint[kept++] = out->joint[i];
    }
    start[j->run->C] = out->n_joint = kept;
    RER_FREE_ALL(values, rests);
    return RER_OK;
}

static rer_status make_joint(judging *j, rer_error *error)
{
    rer_confident *out = j->out;
    int64_t *counts = NULL, capacity = 0, wrong = 0, all = 0;
    rer_status status = rer_allocate(&counts, j->run->C, sizeof *counts, "the joint", error);
    for (int32_t c = 0; status == RER_OK && c < j->run->C; c++) {
        status = count_guesses(j, c, counts, &capacity, error);
        j->cell_start[c + 1] = out->n_joint;
    }
    free(counts);
    RER_THEN(status, calibrate_joint(j, error));
    for (int64_t i = 0; status == RER_OK && i < out->n_joint; i++) {
        all += out->joint[i].count;
        wrong += out->joint[i].given != out->joint[i].truth ? out->joint[i].count : 0;
    }
    out->noise_rate = all > 0 ? (double)wrong / (double)all : NAN;
    return status;
}

/* ---- 5. flags ------------------------------------------------------------------------------- */

typedef struct candidate {
    double value;
    int64_t row;
} candidate;

/* The `room` candidates of the largest value: a heap, the least of them first. */
typedef struct prune_list {
    candidate *heap;
    int64_t used, room;
} prune_list;

static bool is_less(const candidate *a, const candidate *b)
{
    return a->value != b->value ? a->value < b->value : a->row > b->row;
}

static void sift_down(prune_list *list, int64_t at)
{
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child >= list->used)
            return;
        if (child + 1 < list->used && is_less(&list->heap[child + 1], &list->heap[child]))
            child++;
        if (!is_less(&list->heap[child], &list->heap[at]))
            return;
        candidate kept = list->heap[at];
        list->heap[at] = list->heap[child];
        list->heap[child] = kept;
        at = child;
    }
}

static void offer(prune_list *list, candidate next)
{
    if (list->used < list->room) {
        list->heap[list->used++] = next;
        if (list->used == list->room)
            for (int64_t at = list->room / 2; at >= 0; at--)
                sift_down(list, at);
    } else if (list->room > 0 && is_less(&list->heap[0], &next)) {
        list->heap[0] = next;
        sift_down(list, 0);
    }
}

static void flag_list(rer_confident *out, const prune_list *list, rer_prune kind)
{
    for (int64_t i = 0; i < list->used; i++)
        out->flagged[list->heap[i].row] |= (uint8_t)(1 << kind);
}

/* How many to flag of each cell off the diagonal. Where the joint has nothing on the diagonal, one row
 * of the class is to be left, and the other cells share that loss. */
static void set_rooms(judging *j)
{
    const rer_confident *out = j->out;
    for (int32_t c = 0; c < j->run->C; c++) {
        int64_t from = j->cell_start[c], to = j->cell_start[c + 1];
        bool has_diagonal = false;
        for (int64_t i = from; i < to; i++)
            has_diagonal = has_diagonal || out->joint[i].truth == c;
        double loss = has_diagonal ? 0 : 1 / (double)rer_max(1, to - from - 1);
        for (int64_t i = from; i < to; i++) {
            bool prunes = out->joint[i].truth != c && rer_class_size(&j->classes, c) > 1;
            j->prune[i].room = prunes ? (int64_t)fmax(0, (double)out->joint[i].count - loss) : 0;
        }
    }
}

static rer_status margin_block(void *context, int64_t item, void *scratch, rer_error *error)
{
    return load_block(scratch, context, item, error);
}

static rer_status commit_margins(void *context, int64_t item, void *scratch, rer_error *error)
{
    judging *j = context;
    const rer_probability_block *block = scratch;
    (void)item, (void)error;
    for (int64_t i = 0; i < block->count; i++) {
        int64_t row = rer_probability_row(block, i);
        const float *p = block->p + i * j->run->C;
        int32_t given = j->run->given[row];
        for (int64_t cell = given >= 0 ? j->cell_start[given] : 0; given >= 0 && cell < j->cell_start[given + 1];
             cell++)
            offer(&j->prune[cell], (candidate){(double)p[j->out->joint[cell].truth] - (double)p[given], row});
    }
    return RER_OK;
}

static rer_status prune_by_noise_rate(judging *j, rer_error *error)
{
    const rer_confident *out = j->out;
    candidate *heaps = NULL;
    int64_t total = 0, used = 0;
    RER_TRY(rer_allocate(&j->prune, out->n_joint, sizeof *j->prune, "flags", error));
    set_rooms(j);
    for (int64_t i = 0; i < out->n_joint; i++)
        total += j->prune[i].room;
    rer_status status = rer_allocate(&heaps, total, sizeof *heaps, "flags", error);
    for (int64_t i = 0; status == RER_OK && i < out->n_joint; i++) {
        j->prune[i].heap = heaps + used;
        used += j->prune[i].room;
    }
    RER_THEN(status, run_pass(j, "judging labels", margin_block, commit_margins, error));
    for (int64_t i = 0; status == RER_OK && i < out->n_joint; i++)
        flag_list(j->out, &j->prune[i], RER_PRUNE_BY_NOISE_RATE);
    free(heaps);
    return status;
}

static rer_status prune_by_class(judging *j, rer_error *error)
{
    candidate *heap = NULL;
    RER_TRY(rer_allocate(&heap, j->run->N, sizeof *heap, "flags", error));
    for (int32_t c = 0; c < j->run->C; c++) {
        int64_t n = rer_class_size(&j->classes, c), right = 1;
        for (int64_t i = j->cell_start[c]; i < j->cell_start[c + 1]; i++)
            right = j->out->joint[i].truth == c ? j->out->joint[i].count : right;
        prune_list list = {.heap = heap, .room = n > 1 ? rer_max(0, n - right) : 0};
        for (int64_t i = 0; i < n; i++) {
            int64_t row = j->classes.rows[j->classes.start[c] + i];
            offer(&list, (candidate){-(double)j->out->own[row], row});
        }
        flag_list(j->out, &list, RER_PRUNE_BY_CLASS);
    }
    free(heap);
    return RER_OK;
}

static void finish_flags(judging *j)
{
    enum { BY_BOTH = 1 << RER_PRUNE_BY_NOISE_RATE | 1 << RER_PRUNE_BY_CLASS };
    rer_confident *out = j->out;
    for (int64_t row = 0; row < j->run->N; row++) {
        int32_t given = j->run->given[row];
        if ((out->flagged[row] & BY_BOTH) == BY_BOTH)
            out->flagged[row] |= 1 << RER_PRUNE_BOTH;
        if (given >= 0 && out->guess[row] >= 0 && out->guess[row] != given)
            out->flagged[row] |= 1 << RER_PRUNE_CONFIDENT;
        if (out->agrees[row])
            out->flagged[row] = 0;
    }
}

/* ---- all of it ------------------------------------------------------------------------------ */

static rer_status allocate_judging(judging *j, rer_error *error)
{
    rer_confident *out = j->out;
    int64_t N = j->run->N, C = j->run->C;
    RER_TRY(rer_class_rows_make(&j->classes, j->run, error));
    rer_room rooms[] = {RER_ROOM(j->cell_start, C + 1), RER_ROOM(out->own, N),      RER_ROOM(out->other, N),
                        RER_ROOM(out->suggested, N),    RER_ROOM(out->guess, N),    RER_ROOM(out->agrees, N),
                        RER_ROOM(out->flagged, N),      RER_ROOM(out->threshold, C)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "probabilities", error));
    for (int64_t row = 0; row < N; row++) {
        out->own[row] = out->other[row] = NAN;
        out->suggested[row] = out->guess[row] = -1;
    }
    return RER_OK;
}

rer_status rer_confident_judge(rer_confident *confident, const rer_run *run, const rer_probabilities *probabilities,
                               rer_error *error)
{
    rer_confident made = {0};
    judging j = {.out = &made, .run = run, .probabilities = probabilities};
    rer_status status = allocate_judging(&j, error);
    RER_THEN(status, run_pass(&j, "judging labels", look_at_block, NULL, error));
    if (status == RER_OK) {
        set_thresholds(&j);
        status = run_pass(&j, "judging labels", guess_block, NULL, error);
    }
    RER_THEN(status, make_joint(&j, error));
    RER_THEN(status, prune_by_noise_rate(&j, error));
    RER_THEN(status, prune_by_class(&j, error));
    if (status == RER_OK)
        finish_flags(&j);
    rer_class_rows_free(&j.classes);
    RER_FREE_ALL(j.cell_start, j.prune);
    if (status == RER_OK)
        *confident = made;
    else
        rer_confident_free(&made);
    return status;
}

void rer_confident_free(rer_confident *confident)
{
    RER_FREE_ALL(confident->own, confident->other, confident->suggested, confident->guess, confident->agrees,
                 confident->flagged, confident->threshold, confident->joint);
    *confident = (rer_confident){0};
}
