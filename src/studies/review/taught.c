/* What the decisions say about the promises.
 *
 * 1. Each row has the verdict of its reviewers; ties and "unsure" are none.
 * 2. A logistic regression of "was wrong" on the log odds that were promised, with an effect of each pair of given and
 *    suggested class (stats/grouped_logistic.h), corrects the promises of the rows that are open.
 * 3. Those that are worth a look, wrong in one of 20 cases or more, are counted and summed. */
#include "studies/review/review.h"

#include "stats/grouped_logistic.h"
#include "stats/order.h"

#define WORTH_A_LOOK .05
#define ODDS_MOST 7.0 /* one label in a thousand surprises, whatever is promised: more certainty teaches no more */
#define INTERVAL 1.959963984540054

typedef struct pair_of {
    int64_t key; /* given * (C + 1) + suggested + 1 */
} pair_of;

static int by_key(const void *a, const void *b)
{
    const pair_of *left = a, *right = b;
    return (left->key > right->key) - (left->key < right->key);
}

typedef struct lesson {
    const rer_review *review;
    rer_verdict_of_row *verdicts; /* [n_verdicts], then [n] without ties */
    int64_t n_verdicts;
    float *promises;          /* [N] when decisions were made */
    uint8_t *is_decided;      /* [N] */
    double *promised, *wrong; /* [n] of the decisions */
    int32_t *group;
    pair_of *pairs; /* [n_pairs] sorted */
    int64_t n, n_pairs;
    rer_grouped_logistic fit;
} lesson;

static double odds_of(double promise)
{
    return log(promise) - log1p(-promise);
}

static double within(double odds)
{
    return fmax(-ODDS_MOST, fmin(ODDS_MOST, odds));
}

static int64_t pair_at(const rer_review *review, int64_t row)
{
    const rer_review_rows *rows = &review->rows;
    return (int64_t)rows->given[row] * (rows->classes.count + 1) + rows->suggested[row] + 1;
}

static int32_t group_of(const lesson *taken, int64_t row)
{
    const pair_of wanted = {pair_at(taken->review, row)};
    const pair_of *found =
        taken->n_pairs > 0 ? bsearch(&wanted, taken->pairs, (size_t)taken->n_pairs, sizeof wanted, by_key) : NULL;
    return found != NULL ? (int32_t)(found - taken->pairs) : -1;
}

/* ---- verdicts --------------------------------------------------------------------------------- */

/* A class, or below -1 one that there was not: the first entry that names it stands for it. */
static int32_t class_of(const rer_review *review, const rer_entry *entry)
{
    const rer_journal *journal = &review->journal;
    const char *label = rer_entry_text(journal, entry->label);
    int32_t c = rer_review_class(review, label);
    for (int64_t i = 0; c < 0 && i < journal->count; i++)
        if (strcmp(rer_entry_text(journal, journal->entries[i].label), label) == 0)
            return -2 - (int32_t)i;
    return c;
}

rer_status rer_review_verdicts(rer_verdict_of_row **verdicts, int64_t *count, const rer_review *review,
                               rer_error *error)
{
    const rer_journal *journal = &review->journal;
    rer_vote *votes = NULL;
    int64_t n = 0;
    *verdicts = NULL;
    *count = 0;
    const rer_room rooms[] = {RER_ROOM(votes, journal->count), RER_ROOM(*verdicts, journal->count)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "verdicts", error));
    for (int64_t i = 0; i < journal->count; i++) {
        const rer_entry *entry = &journal->entries[i];
        if (!entry->is_current || entry->kind == RER_OPEN || entry->kind == RER_UNSURE || entry->row >= review->rows.N)
            continue;
        bool keeps = entry->kind == RER_KEEP, drops = !keeps && !rer_decision_has_label((rer_decision_kind)entry->kind);
        int32_t outcome = keeps ? review->rows.given[entry->row] : drops ? -1 : class_of(review, entry);
        votes[n++] = (rer_vote){entry->row, outcome, entry->reviewer};
    }
    *count = rer_votes_count(*verdicts, votes, n);
    free(votes);
    return RER_OK;
}

/* ---- the lesson ------------------------------------------------------------------------------- */

/* What was promised of a row when its decision was made. */
static void promises_of(float *promises, const rer_review *review)
{
    const rer_journal *journal = &review->journal;
    for (int64_t i = 0; i < journal->count; i++)
        if (journal->entries[i].row < review->rows.N && journal->entries[i].is_current)
            promises[journal->entries[i].row] = (float)journal->entries[i].promise;
}

static void collect(lesson *taken)
{
    const float *promises = taken->promises;
    const rer_review_rows *rows = &taken->review->rows;
    for (int64_t i = 0; i < taken->n_verdicts; i++) {
        const rer_verdict_of_row *verdict = &taken->verdicts[i];
        if (verdict->is_tie || rows->given[verdict->row] < 0)
            continue;
        taken->is_decided[verdict->row] = 1;
        if (isnan(promises[verdict->row]))
            continue;
        taken->promised[taken->n] = within(odds_of((double)promises[verdict->row]));
        taken->wrong[taken->n] = verdict->outcome != rows->given[verdict->row];
        taken->pairs[taken->n].key = pair_at(taken->review, verdict->row);
        taken->verdicts[taken->n++] = *verdict;
    }
}

static void group_pairs(lesson *taken)
{
    int64_t kept = 0;
    if (taken->n > 0)
        qsort(taken->pairs, (size_t)taken->n, sizeof *taken->pairs, by_key);
    for (int64_t i = 0; i < taken->n; i++)
        if (i == 0 || taken->pairs[i].key != taken->pairs[kept - 1].key)
            taken->pairs[kept++] = taken->pairs[i];
    taken->n_pairs = kept;
    for (int64_t i = 0; i < taken->n; i++)
        taken->group[i] = group_of(taken, taken->verdicts[i].row);
}

/* What the journal says; the lock is held. */
static rer_status read_journal(lesson *taken, rer_error *error)
{
    RER_TRY(rer_review_verdicts(&taken->verdicts, &taken->n_verdicts, taken->review, error));
    RER_TRY(rer_allocate(&taken->promises, taken->review->rows.N, sizeof *taken->promises, "promises", error));
    promises_of(taken->promises, taken->review);
    return RER_OK;
}

static rer_status fit(lesson *taken, rer_error *error)
{
    int64_t n = taken->n_verdicts;
    const rer_room rooms[] = {RER_ROOM(taken->is_decided, taken->review->rows.N), RER_ROOM(taken->promised, n),
                              RER_ROOM(taken->wrong, n), RER_ROOM(taken->group, n), RER_ROOM(taken->pairs, n)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "what was learned", error));
    collect(taken);
    group_pairs(taken);
    return rer_grouped_logistic_fit(&taken->fit, taken->promised, taken->wrong, taken->group, taken->n, taken->n_pairs,
                                    error);
}

static bool is_open(const lesson *taken, int64_t row)
{
    const rer_review_rows *rows = &taken->review->rows;
    return rows->given[row] >= 0 && !isnan(rows->promise[row]) && taken->is_decided[row] == 0;
}

/* The open rows that are worth a look: their promises and groups [returned]. */
static int64_t find_next(double *promised, int32_t *group, float *odds, const lesson *taken)
{
    int64_t n = 0;
    for (int64_t row = 0; row < taken->review->rows.N; row++) {
        if (odds != NULL)
            odds[row] = NAN;
        if (!is_open(taken, row))
            continue;
        double odds_before = odds_of((double)taken->review->rows.promise[row]), L = within(odds_before);
        int32_t g = group_of(taken, row);
        double corrected = rer_grouped_logistic_at(&taken->fit, L, g);
        if (odds != NULL)
            odds[row] = (float)(corrected + odds_before - L); /* in the same order as before */
        if (rer_logistic(corrected) < WORTH_A_LOOK)
            continue;
        promised[n] = L;
        group[n++] = g;
    }
    return n;
}

static rer_status sum_up(rer_taught *taught, float *odds, const lesson *taken, rer_error *error)
{
    double *promised = NULL, spread = 0;
    int32_t *group = NULL;
    const rer_room rooms[] = {RER_ROOM(promised, taken->review->rows.N), RER_ROOM(group, taken->review->rows.N)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "what was learned", error));
    *taught = (rer_taught){.looked = taken->n, .shift = taken->fit.shift, .slope = taken->fit.slope};
    for (int64_t i = 0; i < taken->n; i++) {
        taught->wrong += taken->wrong[i] > 0;
        taught->promised += rer_logistic(taken->promised[i]);
    }
    taught->next = find_next(promised, group, odds, taken);
    rer_status status =
        rer_grouped_logistic_sum(&taught->expected, &spread, &taken->fit, promised, group, taught->next, error);
    for (int64_t i = 0; status == RER_OK && i < taught->next; i++)
        taught->promised_next += rer_logistic(promised[i]);
    taught->low = fmax(0, taught->expected - INTERVAL * spread);
    taught->high = fmin((double)taught->next, taught->expected + INTERVAL * spread);
    RER_FREE_ALL(promised, group);
    return status;
}

rer_status rer_review_learn(rer_taught *taught, float *odds, rer_review *review, rer_error *error)
{
    lesson taken = {.review = review};
    (void)pthread_mutex_lock(&review->lock);
    rer_status status = rer_journal_catch_up(&review->journal, error);
    RER_THEN(status, read_journal(&taken, error));
    (void)pthread_mutex_unlock(&review->lock);
    (void)pthread_rwlock_rdlock(&review->rows_lock);
    RER_THEN(status, fit(&taken, error));
    RER_THEN(status, sum_up(taught, odds, &taken, error));
    (void)pthread_rwlock_unlock(&review->rows_lock);
    rer_grouped_logistic_free(&taken.fit);
    RER_FREE_ALL(taken.verdicts, taken.promises, taken.is_decided, taken.promised, taken.wrong, taken.group,
                 taken.pairs);
    return status;
}
