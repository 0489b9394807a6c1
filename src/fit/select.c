/* The shrinkage a, by how well left-out rows explain the labels seen, on a sample of rows (the model
 * itself is that of all rows):
 *   p_k ~ n_k exp(-t d2_k / 2),   F(a) = max over t of mean p_c^q.
 * Likelihood (q -> 0) would be driven by the labels that do not fit, which are the wrong ones: it
 * takes ever larger a, until they are plausible. F gives up on them.
 * F has one maximum in a: every third value of a grid even in logit(a) is tried, then the
 * neighbours of the best until it has smaller ones on both sides. The values of one round are
 * tried together: their metrics in parallel (rough ones), then all their rows, then their F. What is
 * taken is the top of the parabola through the best value and its neighbours, so that a row more or
 * less moves it a little and not to the next value of the grid; its metric is made in double. */
#include "fit/centroid.h"
#include "fit/label_fit.h"

#define GRID 12
#define CHOICE_LEAST 1000
#define CHOICE_MOST 5000
#define CHOICE_SHARE 24
#define GRID_LOW .02
#define GRID_HIGH .95
/* Values of F nearer than this are equal: the search for t leaves that much undecided. Where classes lie so far apart
 * that each a separates them all are, and the one in the middle is taken: without that, features that differed by 1e-6
 * gave chi between .36 and .45; by the largest 9 of 12 planted mistakes were flagged (300 x 8, 3 classes), by this 12. */
#define EQUAL 1e-6
#define MIDDLE 5

/* a at a place of the grid, or between two. */
static double grid_value(double place)
{
    double low = log(GRID_LOW / (1 - GRID_LOW)), high = log(GRID_HIGH / (1 - GRID_HIGH));
    return 1 / (1 + exp(-(low + (high - low) * place / (GRID - 1))));
}

/* The values of a that are tried together. */
typedef struct shrinkage_round {
    const rer_centroid *model; /* means and sizes, no metric yet */
    const double *scatter;
    double dof;
    const rer_row_sample *sample;
    const rer_run *run;
    const float *log_n; /* [C] */
    int rounds;         /* so far */
    int count;
    double shrinkage[GRID], fit[GRID]; /* a and F(a) */
    rer_centroid candidate[GRID];
    float *d2[GRID]; /* [rows, C] of each */
} shrinkage_round;

/* A tile [rows, classes] of squared errors, and what the centroid needs for them: all candidates the same. */
static float *lay_out(const shrinkage_round *round, rer_scratch *scratch, rer_scratch *centroid)
{
    int64_t rows = rer_min(RER_BLOCK, round->sample->count);
    *centroid = rer_take_part(scratch, rer_centroid_scratch(&round->candidate[0], rows));
    return rer_take(scratch, rows * rer_min(RER_CLASS_TILE, round->model->C), sizeof(float));
}

static int64_t sample_blocks(const rer_row_sample *sample)
{
    return (sample->count + RER_BLOCK - 1) / RER_BLOCK;
}

static rer_status make_metric(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)scratch;
    shrinkage_round *round = context;
    return rer_centroid_set_rough_metric(&round->candidate[item], round->scatter, round->dof, round->shrinkage[item],
                                         error);
}

/* Item: one block of the sample's rows under one candidate. */
static rer_status score_sample(void *context, int64_t item, void *memory, rer_error *error)
{
    (void)error;
    shrinkage_round *round = context;
    const rer_row_sample *sample = round->sample;
    const rer_kernels *kernels = round->run->kernels;
    int64_t C = round->model->C;
    int64_t which = item / sample_blocks(sample), first = item % sample_blocks(sample) * RER_BLOCK;
    const rer_centroid *candidate = &round->candidate[which];
    rer_block block = rer_row_sample_block(sample, first, RER_BLOCK, round->model->D);
    float *out = round->d2[which] + first * C;
    rer_scratch all = rer_pool_scratch(round->run->pool, memory), scratch;
    float *tile = lay_out(round, &all, &scratch);
    rer_centroid_prepare(candidate, kernels, &block, true, scratch);
    for (int64_t k = 0; k < C; k += RER_CLASS_TILE) {
        int64_t classes = rer_min(RER_CLASS_TILE, C - k);
        rer_centroid_tile(candidate, kernels, &block, (int32_t)k, (int32_t)classes, tile, scratch);
        rer_keep_tile(out, tile, block.count, C, k, classes);
    }
    return RER_OK;
}

static rer_status fit_candidate(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)error;
    shrinkage_round *round = context;
    rer_label_problem problem = {.d2 = round->d2[item],
                                 .code = round->sample->code,
                                 .log_n = round->log_n,
                                 .rows = round->sample->count,
                                 .C = round->model->C,
                                 .kernels = round->run->kernels,
                                 .scratch = scratch};
    round->fit[item] = rer_fit_robust(&problem, true).objective;
    return RER_OK;
}

static void clear_candidates(shrinkage_round *round)
{
    for (int i = 0; i < round->count; i++) {
        rer_centroid_clear(&round->candidate[i]);
        free(round->d2[i]);
        round->d2[i] = NULL;
    }
}

/* Tries round->shrinkage[0..count-1]. */
static rer_status run_round(shrinkage_round *round, rer_error *error)
{
    const rer_row_sample *sample = round->sample;
    rer_pool *pool = round->run->pool;
    double left = .01 * pow(.6, round->rounds++), from = .46 - left, span = .4 * left; /* of the whole progress */
    rer_job metrics = {.stage = "choosing the shrinkage",
                       .from = from,
                       .to = from + span / 3,
                       .items = round->count,
                       .work = make_metric,
                       .context = round};
    rer_job scores = {.stage = metrics.stage,
                      .from = metrics.to,
                      .to = from + 2 * span / 3,
                      .items = round->count * sample_blocks(sample),
                      .work = score_sample,
                      .context = round};
    rer_job fits = {.stage = metrics.stage,
                    .from = scores.to,
                    .to = from + span,
                    .items = round->count,
                    .scratch = sample->count * (int64_t)sizeof(double),
                    .work = fit_candidate,
                    .context = round};
    rer_status status = RER_OK;
    for (int i = 0; i < round->count; i++) {
        round->candidate[i] = *round->model;
        round->d2[i] = NULL;
    }
    for (int i = 0; status == RER_OK && i < round->count; i++)
        status = rer_allocate(&round->d2[i], sample->count, round->model->C * (int64_t)sizeof(float),
                              "errors of sampled rows", error);
    RER_THEN(status, rer_pool_run(pool, &metrics, error));
    RER_THEN(status, rer_centroid_set_pairs(round->candidate, round->count, pool, error));
    if (status == RER_OK) {
        rer_scratch measure = RER_MEASURE, centroid;
        (void)lay_out(round, &measure, &centroid);
        scores.scratch = measure.used;
        status = rer_pool_run(pool, &scores, error);
    }
    RER_THEN(status, rer_pool_run(pool, &fits, error));
    clear_candidates(round);
    return status;
}

/* What is known of the grid so far. */
typedef struct grid_search {
    bool done[GRID];
    double fit[GRID]; /* of those that are done */
    int best;         /* -1: nothing tried yet */
} grid_search;

static bool is_better(const grid_search *search, int place)
{
    double gain = search->fit[place] - search->fit[search->best];
    return gain > EQUAL || (gain > -EQUAL && abs(place - MIDDLE) < abs(search->best - MIDDLE));
}

/* Tries the places that are wanted and not done yet; *any: were there some? */
static rer_status try_places(grid_search *search, const bool wanted[GRID], bool *any, shrinkage_round *round,
                             rer_error *error)
{
    int places[GRID];
    round->count = 0;
    for (int p = 0; p < GRID; p++)
        if (wanted[p] && !search->done[p]) {
            round->shrinkage[round->count] = grid_value(p);
            places[round->count++] = p;
        }
    *any = round->count > 0;
    if (!*any)
        return RER_OK;
    RER_TRY(run_round(round, error));
    for (int i = 0; i < round->count; i++) {
        search->done[places[i]] = true;
        search->fit[places[i]] = round->fit[i];
        if (search->best < 0 || is_better(search, places[i]))
            search->best = places[i];
    }
    return RER_OK;
}

static rer_status search_grid(grid_search *search, shrinkage_round *round, rer_error *error)
{
    bool wanted[GRID], more = true;
    for (int p = 0; p < GRID; p++)
        wanted[p] = p % 3 == 1;
    RER_TRY(try_places(search, wanted, &more, round, error));
    while (more) {
        for (int p = 0; p < GRID; p++)
            wanted[p] = p == search->best - 1 || p == search->best + 1;
        RER_TRY(try_places(search, wanted, &more, round, error));
    }
    return RER_OK;
}

/* The place of the top: neighbours of the best value have been tried, but at the ends of the grid. */
static double top_of(const grid_search *search)
{
    int best = search->best;
    if (best == 0 || best == GRID - 1)
        return best;
    const double *fit = search->fit + best;
    if (fabs(fit[-1] - fit[0]) < EQUAL && fabs(fit[1] - fit[0]) < EQUAL)
        return best;
    return rer_parabola_top((double[]){best - 1, best, best + 1}, fit - 1);
}

/* Few rows are enough for the choice; every candidate scores them all. */
int64_t rer_centroid_choice_rows(int64_t sampled, const rer_run *run)
{
    if (run->N <= CHOICE_MOST) /* all of them: with other rows the choice would move */
        return sampled;
    return rer_min(sampled, rer_max(CHOICE_LEAST, rer_min(CHOICE_MOST, run->N / CHOICE_SHARE)));
}

rer_status rer_centroid_choose(double *shrinkage, rer_centroid *centroid, const double *scatter, double dof,
                               const rer_row_sample *sample, const rer_run *run, rer_error *error)
{
    float *log_n = NULL;
    int64_t *place = NULL, count = rer_centroid_choice_rows(sample->count, run);
    rer_row_sample few = {0};
    rer_status status = rer_log_sizes(&log_n, centroid->n, run->C, error);
    RER_THEN(status, rer_allocate(&place, count, sizeof *place, "sampled rows", error));
    RER_THEN(status, rer_thin_places(place, count, sample->code, sample->count, run->C, error));
    RER_THEN(status, rer_row_sample_thin(&few, sample, place, count, run->D, error));
    free(place);
    shrinkage_round round = {
        .model = centroid, .scatter = scatter, .dof = dof, .sample = &few, .run = run, .log_n = log_n};
    grid_search search = {.best = -1};
    RER_THEN(status, search_grid(&search, &round, error));
    rer_row_sample_free(&few);
    free(log_n);
    if (status != RER_OK)
        return status;
    *shrinkage = grid_value(top_of(&search));
    return rer_centroid_set_metric(centroid, scatter, dof, *shrinkage, run->pool, error);
}
