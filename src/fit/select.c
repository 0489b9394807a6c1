/* Shrinkage a, temperature t and noise rate eta, chosen together by the left-out likelihood of the
 * labels seen, on a sample of rows (the model itself is that of all rows):
 *   p_k ~ n_k exp(-t d2_k / 2),   L = mean log[(1 - eta) p_c + eta (1 - p_c) / (C - 1)].
 * L has one maximum in a: every third value of a grid even in logit(a) is tried, then the
 * neighbours of the best until it has smaller ones on both sides. Candidates run in parallel. */
#include "fit/centroid.h"
#include "judge/likelihood.h"

#include <math.h>

#define GRID 12
#define GRID_LOW .02
#define GRID_HIGH .95

static double grid_value(int place)
{
    double low = log(GRID_LOW / (1 - GRID_LOW)), high = log(GRID_HIGH / (1 - GRID_HIGH));
    return 1 / (1 + exp(-(low + (high - low) * place / (GRID - 1))));
}

/* Some places of the grid, to be evaluated. */
typedef struct shrinkage_trial {
    const rer_centroid *model; /* means, sizes */
    const double *scatter;
    double dof;
    const rer_row_sample *sample;
    const rer_run *run;
    const float *log_n; /* [C] */
    int count;
    rer_choice choice[GRID];
} shrinkage_trial;

/* d2 [count, C] of the sample under one candidate. */
static void sample_errors(const rer_centroid *candidate, const shrinkage_trial *trial, float *d2, float *tile, void *memory)
{
    const rer_row_sample *sample = trial->sample;
    int64_t D = candidate->D, C = candidate->C;
    for (int64_t first = 0; first < sample->count; first += RER_BLOCK) {
        rer_block block = {
            .count = rer_min(RER_BLOCK, sample->count - first),
            .x = sample->x + first * D,
            .scale = sample->scale + first,
            .code = sample->code + first,
        };
        rer_centroid_prepare(candidate, trial->run->kernels, &block, true, memory);
        for (int64_t k = 0; k < C; k += RER_CLASS_TILE) {
            int64_t classes = rer_min(RER_CLASS_TILE, C - k);
            rer_centroid_tile(candidate, trial->run->kernels, &block, (int32_t)k, (int32_t)classes, tile, memory);
            for (int64_t i = 0; i < block.count; i++)
                for (int64_t j = 0; j < classes; j++)
                    d2[(first + i) * C + k + j] = tile[i * classes + j];
        }
    }
}

static int64_t trial_scratch(const rer_centroid *model, int64_t rows)
{
    rer_centroid like = *model; /* as large as a candidate will be */
    like.pairs = model->C <= RER_CENTROID_PAIRS_MAX ? (void *)&like : NULL;
    int64_t block = rer_min(rows, RER_BLOCK);
    return rows * model->C * (int64_t)sizeof(float) + block * RER_CLASS_TILE * (int64_t)sizeof(float) +
           rer_centroid_scratch(&like, block) + rer_likelihood_scratch(rows) + 4 * 64;
}

static rer_status try_candidate(void *context, int64_t item, void *scratch, rer_error *error)
{
    shrinkage_trial *trial = context;
    const rer_row_sample *sample = trial->sample;
    rer_choice *choice = &trial->choice[item];
    rer_centroid candidate = *trial->model;
    rer_status status = rer_centroid_set_metric(&candidate, trial->scatter, trial->dof, choice->shrinkage, error);
    if (status != RER_OK)
        return status;
    int64_t block = rer_min(sample->count, RER_BLOCK);
    float *d2 = rer_carve(&scratch, sample->count * candidate.C * (int64_t)sizeof(float));
    float *tile = rer_carve(&scratch, block * RER_CLASS_TILE * (int64_t)sizeof(float));
    void *likelihood = rer_carve(&scratch, rer_likelihood_scratch(sample->count));
    sample_errors(&candidate, trial, d2, tile, scratch);
    rer_centroid_clear(&candidate);
    rer_label_fit fit = rer_fit_labels(d2, sample->code, trial->log_n, sample->count, candidate.C, trial->run->kernels,
                                       likelihood);
    choice->temperature = fit.temperature;
    choice->noise = fit.noise;
    choice->likelihood = fit.likelihood;
    return RER_OK;
}

static rer_status run_trial(shrinkage_trial *trial, rer_error *error)
{
    rer_job job = {
        .stage = "choosing the shrinkage",
        .from = .45,
        .to = .5,
        .items = trial->count,
        .scratch = trial_scratch(trial->model, trial->sample->count),
        .work = try_candidate,
        .context = trial,
    };
    return rer_pool_run(&trial->run->pool, &job, error);
}

/* What is known of the grid so far. */
typedef struct grid_search {
    rer_choice tried[GRID];
    bool done[GRID];
    int best; /* -1: nothing tried yet */
} grid_search;

/* Tries the places that are wanted and not done yet; *any: were there some? */
static rer_status try_places(grid_search *search, const bool wanted[GRID], bool *any, shrinkage_trial *trial,
                             rer_error *error)
{
    int places[GRID];
    trial->count = 0;
    for (int p = 0; p < GRID; p++)
        if (wanted[p] && !search->done[p]) {
            trial->choice[trial->count] = (rer_choice){.shrinkage = grid_value(p)};
            places[trial->count++] = p;
        }
    *any = trial->count > 0;
    rer_status status = run_trial(trial, error);
    for (int i = 0; status == RER_OK && i < trial->count; i++) {
        int p = places[i];
        search->tried[p] = trial->choice[i];
        search->done[p] = true;
        if (search->best < 0 || search->tried[p].likelihood > search->tried[search->best].likelihood)
            search->best = p;
    }
    return status;
}

static rer_status search_grid(rer_choice *choice, shrinkage_trial *trial, rer_error *error)
{
    grid_search search = {.best = -1};
    bool wanted[GRID], more = true;
    for (int p = 0; p < GRID; p++)
        wanted[p] = p % 3 == 1;
    rer_status status = try_places(&search, wanted, &more, trial, error);
    while (status == RER_OK && more) {
        for (int p = 0; p < GRID; p++)
            wanted[p] = p == search.best - 1 || p == search.best + 1;
        status = try_places(&search, wanted, &more, trial, error);
    }
    if (status == RER_OK)
        *choice = search.tried[search.best];
    return status;
}

rer_status rer_centroid_choose(rer_choice *choice, const rer_centroid *model, const double *scatter, double dof,
                               const rer_row_sample *sample, const rer_run *run, rer_error *error)
{
    float *log_n = NULL;
    rer_status status = rer_allocate(&log_n, run->C, sizeof *log_n, "class sizes", error);
    if (status != RER_OK)
        return status;
    for (int32_t c = 0; c < run->C; c++)
        log_n[c] = model->n[c] > 0 ? logf((float)model->n[c]) : -INFINITY;
    shrinkage_trial trial = {
        .model = model, .scatter = scatter, .dof = dof, .sample = sample, .run = run, .log_n = log_n, .count = 1};
    if (scatter == NULL || run->options->shrinkage >= 0) { /* nothing to choose but t and eta */
        trial.choice[0].shrinkage = scatter == NULL ? 0 : run->options->shrinkage;
        status = run_trial(&trial, error);
        *choice = trial.choice[0];
    } else {
        status = search_grid(choice, &trial, error);
    }
    free(log_n);
    return status;
}
