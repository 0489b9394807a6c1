/* SimiFeat (Zhu et al. 2022), in rounds. In each, a random nine tenths of the rows take part; the labels of a
 * row and of its nearest neighbours are added up, weighted by cosine (the row itself counts as a neighbour
 * that is as much nearer than the first as the first than the second). The score of a label is its part of
 * that vector, of unit length.
 *   vote: a label is flagged where another one has more;
 *   rank: in each class as many of the lowest scores as the transition matrix says are wrong.
 * A label that is flagged in most of its rounds is flagged. With s the mean score, mistakenness is by rank
 * 1 - s, and by vote the share of rounds in which it was flagged, equal ones told apart by s:
 * (flagged + 1 - s) / (rounds + 1). */
#include "core/random.h"
#include "detect/detect.h"
#include "run/class_rows.h"
#include "run/pace.h"
#include "stats/order.h"

#define ROUNDS 21
#define PART .9
#define RATE_LEAST .05 /* of a class, where the matrix has nothing wrong in it; 1 - that where all is */

typedef struct rounds {
    const rer_run *run;
    const rer_neighbors *neighbors;
    const rer_class_rows *classes;
    const double *wrong; /* [C] share of each class that rank flags; NULL: vote */
    double *score;       /* [N] sum over the rounds */
    uint8_t *flagged;    /* [N] rounds in which it was */
    uint8_t *times;      /* [N] rounds in which it took part */
} rounds;

/* Of a round; NaN: takes no part. */
typedef struct round_scores {
    float *score;   /* [N] */
    bool *outvoted; /* [N] */
    float *sorted;  /* [N] */
} round_scores;

static bool takes_part(const rounds *r, int64_t round, int64_t row)
{
    return rer_random_uniform(r->run->options->seed, RER_RANDOM_ROUND, (uint64_t)round, (uint64_t)row) < PART;
}

/* Score of a row's label among its neighbours that take part. */
static float score_row(bool *outvoted, const rounds *r, int64_t round, int64_t row)
{
    const int32_t *given = r->run->given;
    const rer_neighbor *list = r->neighbors->list + row * RER_LISTED;
    int32_t label[RER_VOTERS];
    double weight[RER_VOTERS], far[2] = {0}, own = 0, length = 0, most = 0;
    int used = 1;
    for (int e = 0; e < RER_LISTED && used < RER_VOTERS && list[e].index >= 0; e++) {
        if (!takes_part(r, round, list[e].index))
            continue;
        double distance = (double)list[e].distance / 2; /* 1 - cos */
        if (used <= 2)
            far[used - 1] = distance;
        label[used] = given[list[e].index];
        weight[used++] = 1 - distance;
    }
    label[0] = given[row];
    weight[0] = used > 2 ? 1 - (2 * far[0] - far[1]) : 1 - far[0];
    for (int e = 0; e < used; e++) {
        double sum = 0;
        bool is_first = true;
        for (int other = 0; other < used; other++) {
            sum += label[other] == label[e] ? weight[other] : 0;
            is_first = is_first && (other >= e || label[other] != label[e]);
        }
        if (!is_first)
            continue;
        length += sum * sum;
        most = label[e] == given[row] ? most : fmax(most, sum);
        own = label[e] == given[row] ? sum : own;
    }
    *outvoted = most > own;
    return (float)(length > 0 ? own / sqrt(length) : 1);
}

/* Flags the share `wrong` of a class with the lowest scores: all up to the quantile, which is interpolated. */
static void flag_lowest(round_scores *made, const rounds *r, int32_t c)
{
    const int64_t *rows = r->classes->rows + r->classes->start[c];
    int64_t n = 0;
    for (int64_t i = 0; i < rer_class_size(r->classes, c); i++)
        if (!isnan(made->score[rows[i]]))
            made->sorted[n++] = made->score[rows[i]];
    if (n == 0)
        return;
    rer_sort_floats(made->sorted, n);
    double place = r->wrong[c] * (double)(n - 1), below = floor(place);
    int64_t at = (int64_t)below, next = rer_min(at + 1, n - 1);
    double bar = (double)made->sorted[at] + (place - below) * (double)(made->sorted[next] - made->sorted[at]);
    for (int64_t i = 0; i < rer_class_size(r->classes, c); i++)
        made->outvoted[rows[i]] = (double)made->score[rows[i]] <= bar;
}

static round_scores lay_out(int64_t N, rer_scratch *scratch)
{
    round_scores made = {0};
    (void)rer_take(scratch, 1, sizeof made);
    made.score = rer_take(scratch, N, sizeof *made.score);
    made.outvoted = rer_take(scratch, N, sizeof *made.outvoted);
    made.sorted = rer_take(scratch, N, sizeof *made.sorted);
    return made;
}

static rer_status run_round(void *context, int64_t round, void *memory, rer_error *error)
{
    const rounds *r = context;
    int64_t N = r->run->N;
    rer_scratch scratch = rer_pool_scratch(r->run->pool, memory);
    round_scores *made = memory;
    *made = lay_out(N, &scratch);
    (void)error;
    for (int64_t row = 0; row < N; row++) {
        made->outvoted[row] = false;
        made->score[row] = rer_run_has_label(r->run, row) && takes_part(r, round, row)
                               ? score_row(&made->outvoted[row], r, round, row)
                               : NAN;
    }
    for (int32_t c = 0; r->wrong != NULL && c < r->run->C; c++)
        flag_lowest(made, r, c);
    return RER_OK;
}

static rer_status commit_round(void *context, int64_t round, void *scratch, rer_error *error)
{
    const rounds *r = context;
    const round_scores *made = scratch;
    (void)round, (void)error;
    for (int64_t row = 0; row < r->run->N; row++)
        if (!isnan(made->score[row])) {
            r->score[row] += (double)made->score[row];
            r->flagged[row] = (uint8_t)(r->flagged[row] + made->outvoted[row]);
            r->times[row]++;
        }
    return RER_OK;
}

/* Share of wrong labels in each class: 1 - P(true c | label c), P = p_c T_cc / c_c. */
static void wrong_shares(double *wrong, const rer_consensus *consensus, const rer_class_rows *classes)
{
    int32_t C = consensus->C;
    for (int32_t c = 0; c < C; c++) {
        double share = (double)rer_class_size(classes, c) / (double)classes->start[C];
        double right = consensus->p[c] * consensus->T[(int64_t)c * C + c] / share;
        wrong[c] = !(right < 1) ? RATE_LEAST : right <= 0 ? 1 - RATE_LEAST : 1 - right;
    }
}

static void fill_verdict(rer_verdict *verdict, const rounds *r)
{
    for (int64_t row = 0; row < r->run->N; row++) {
        (void)rer_most_voted(&verdict->suggested[row], r->run, r->neighbors, row);
        if (!rer_run_has_label(r->run, row))
            continue;
        double times = r->times[row], doubt = times > 0 ? fmax(0, 1 - r->score[row] / times) : 0;
        verdict->mistakenness[row] = r->wrong != NULL ? doubt : (r->flagged[row] + doubt) / (times + 1);
        verdict->flagged[row] = 2 * r->flagged[row] > r->times[row];
    }
}

static rer_status run_rounds(rer_verdict *verdict, const rer_run *run, const rer_neighbors *neighbors,
                             const rer_class_rows *classes, const double *wrong, rer_error *error)
{
    rounds r = {.run = run, .neighbors = neighbors, .classes = classes, .wrong = wrong};
    rer_scratch measure = RER_MEASURE;
    (void)lay_out(run->N, &measure);
    rer_job job = {.stage = "voting",
                   .to = 1,
                   .items = ROUNDS,
                   .scratch = measure.used,
                   .work = run_round,
                   .commit = commit_round,
                   .context = &r};
    rer_room rooms[] = {RER_ROOM(r.score, run->N), RER_ROOM(r.flagged, run->N), RER_ROOM(r.times, run->N)};
    rer_status status = rer_allocate_all(rooms, RER_COUNT(rooms), "scores", error);
    rer_pace_enter(run, RER_PACE_VOTING);
    RER_THEN(status, rer_pool_run(run->pool, &job, error));
    if (status == RER_OK)
        fill_verdict(verdict, &r);
    RER_FREE_ALL(r.score, r.flagged, r.times);
    return status;
}

rer_status rer_detect_simifeat(rer_verdict *verdict, rer_detection *detection, const rer_detector *detector,
                               rer_error *error)
{
    const rer_run *run = &detection->run;
    const rer_consensus *consensus = &detection->consensus;
    rer_class_rows classes = {0};
    double *wrong = NULL;
    rer_status status = rer_detection_consensus(detection, error);
    RER_THEN(status, rer_class_rows_make(&classes, run, error));
    RER_THEN(status, rer_allocate(&wrong, run->C, sizeof *wrong, "noise of classes", error));
    if (status == RER_OK && detector->rank)
        wrong_shares(wrong, consensus, &classes);
    RER_THEN(status, run_rounds(verdict, run, &detection->neighbors, &classes, detector->rank ? wrong : NULL, error));
    if (status == RER_OK) {
        verdict->noise_rate = 1;
        for (int64_t c = 0; c < run->C; c++)
            verdict->noise_rate -= consensus->p[c] * consensus->T[c * run->C + c];
    }
    free(wrong);
    rer_class_rows_free(&classes);
    return status;
}
