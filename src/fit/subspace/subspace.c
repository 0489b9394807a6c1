/* The subspace reconstructor: a class is its mean and its first principal directions, the optimum
 * of a linear autoencoder. In steps:
 *   1. class means and the metric, chosen as the centroid's (fit/centroid.h): the pooled within-class
 *      covariance, or the identity with --normalize minmax, unit or none;
 *   2. directions of each class and, for the own-class errors, of each class without each fold
 *      (directions.c): a subspace that has seen a wrong label bends towards it;
 *   3. the rank, one for all classes;
 *   4. errors, block by block (rows.c).
 *
 * The rank with --rank auto: held-out reconstruction errors fall with every direction, for the right
 * class and the wrong ones alike, so they cannot choose it. As with the shrinkage, the left-out
 * likelihood of the labels seen does (fit/label_fit.h), over 0 (the mean alone), 1, 2, 4, 8, 16:
 * the smallest rank within one standard error of the best, or within SAME_LIKELIHOOD. Mistakes that are
 * systematic raise the likelihood of a subspace that learns them, so what it does not need is not given
 * to it. */
#include "fit/subspace/subspace.h"

#include "core/tensors.h"
#include "fit/label_fit.h"

static const int32_t tried_ranks[] = {0, 1, 2, 4, 8, 16};
#define TRIED ((int)(sizeof tried_ranks / sizeof *tried_ranks))
#define SAME_LIKELIHOOD 1e-4 /* per row; a local top of the temperature may be that far below the best one */

static void free_state(void *pointer)
{
    rer_subspace *subspace = pointer;
    if (subspace == NULL)
        return;
    rer_subspace_clear_tables(subspace);
    rer_centroid_model_free(subspace->metric);
    RER_FREE_ALL(subspace->reference, subspace->center, subspace->basis, subspace->own, subspace);
}

/* ---- the rank ---------------------------------------------------------------------------- */

/* The ranks to fit, ascending: the given one, or those to choose from that the largest class and the
 * features have room for. */
static rer_status list_ranks(int32_t ranks[TRIED], int *count, const int64_t *n, const rer_run *run, rer_error *error)
{
    const rer_options *options = run->options;
    int64_t largest = 0;
    for (int32_t c = 0; c < run->C; c++)
        largest = rer_max(largest, n[c]);
    int64_t most = rer_max(0, rer_min(run->as_came->D, largest) - 1);
    if (options->rank == RER_AUTO && options->folds == 1)
        return rer_fail(error, RER_BAD_USAGE,
                        "--rank auto needs --folds 2 or more: errors of rows that were fitted on always favour the "
                        "largest rank; give --rank 0 to %lld",
                        (long long)rer_min(most, 64));
    if (options->rank == RER_AUTO) {
        *count = 0;
        for (int i = 0; i < TRIED && tried_ranks[i] <= most; i++)
            ranks[(*count)++] = tried_ranks[i];
        return RER_OK;
    }
    if (options->rank != floor(options->rank) || options->rank > (double)most)
        return rer_fail(error, RER_BAD_USAGE,
                        "--rank: %g is not a whole number from 0 to %lld (rows have %lld features, the largest class "
                        "has %lld samples)",
                        options->rank, (long long)rer_min(most, 64), (long long)run->as_came->D, (long long)largest);
    ranks[0] = (int32_t)options->rank;
    *count = 1;
    return RER_OK;
}

/* Makes ranks[i] the model's. all [N, count] holds the own errors at each. */
static void set_rank(rer_subspace *subspace, const float *all, const int32_t *ranks, int count, int i, int64_t N)
{
    subspace->rank = ranks[i];
    for (int64_t row = 0; row < N; row++)
        subspace->own[row] = all[row * count + i];
}

/* logs [rows]: what each row adds to the likelihood that `fit` has found. */
static void row_logs(double *logs, const rer_label_fit *fit, const float *d2, const float *log_n,
                     const rer_row_sample *sample, int32_t C, const rer_kernels *kernels)
{
    for (int64_t i = 0; i < sample->count; i++) {
        int32_t c = sample->code[i];
        double p = rer_own_posterior(d2 + i * C, c, log_n, C, fit->temperature, kernels);
        logs[i] = log(fmax(1e-300, (1 - fit->noise) * p + fit->noise * (1 - p) / (C - 1)));
    }
}

/* Is the likelihood of `logs` less than one standard error of the difference below that of `best`? Where
 * every rank tells the classes apart, both are of the size of rounding: that is no difference. */
static bool is_as_good(const double *logs, const double *best, int64_t rows)
{
    double sum = 0, squares = 0, n = (double)rows;
    for (int64_t i = 0; i < rows; i++) {
        sum += best[i] - logs[i];
        squares += (best[i] - logs[i]) * (best[i] - logs[i]);
    }
    double mean = sum / n;
    return mean <= fmax(SAME_LIKELIHOOD, sqrt(fmax(0, squares / n - mean * mean) / n));
}

/* The place of the smallest rank that is as good as the best one: logs [count, rows]. */
static int smallest_good(const double *logs, const double *likelihood, int count, int64_t rows)
{
    int best = 0, place = 0;
    for (int i = 1; i < count; i++)
        best = likelihood[i] > likelihood[best] ? i : best;
    while (place < best && !is_as_good(logs + place * rows, logs + best * rows, rows))
        place++;
    return place;
}

static rer_status choose_rank(int *place, rer_model *model, const float *all, const int32_t *ranks, int count,
                              const rer_row_sample *sample, const rer_run *run, rer_error *error)
{
    float *d2 = NULL, *log_n = NULL;
    double *logs = NULL, *scratch = NULL, likelihood[TRIED];
    int64_t rows = sample->count;
    rer_room rooms[] = {RER_ROOM(d2, rows * model->C), RER_ROOM(logs, rows * count), RER_ROOM(scratch, rows)};
    rer_status status = rer_allocate_all(rooms, RER_COUNT(rooms), "errors and likelihoods of sampled rows", error);
    if (status == RER_OK)
        status = rer_log_sizes(&log_n, model->n, model->C, error);
    rer_label_problem problem = {.d2 = d2,
                                 .code = sample->code,
                                 .log_n = log_n,
                                 .rows = rows,
                                 .C = model->C,
                                 .kernels = run->kernels,
                                 .scratch = scratch};
    for (int i = 0; status == RER_OK && i < count; i++) {
        set_rank(model->state, all, ranks, count, i, run->N);
        status = rer_sample_errors(d2, model, sample, run, error);
        if (status != RER_OK)
            break;
        rer_label_fit fit = rer_fit_labels(&problem);
        likelihood[i] = fit.objective;
        row_logs(logs + i * rows, &fit, d2, log_n, sample, model->C, run->kernels);
    }
    if (status == RER_OK)
        *place = smallest_good(logs, likelihood, count, rows);
    RER_FREE_ALL(d2, logs, log_n, scratch);
    return status;
}

/* ---- fitting ----------------------------------------------------------------------------- */

/* Directions and rank; the metric is there. */
static rer_status fit_subspaces(rer_model *model, const int32_t *ranks, int count, const rer_row_sample *sample,
                                const rer_run *run, rer_error *error)
{
    rer_subspace *subspace = model->state;
    float *all = NULL;
    int best = 0;
    rer_room rooms[] = {RER_ROOM(all, run->N * count), RER_ROOM(subspace->own, run->N)};
    rer_status status = rer_allocate_all(rooms, RER_COUNT(rooms), "own-class errors", error);
    for (int64_t i = 0; status == RER_OK && i < run->N * count; i++)
        all[i] = NAN;
    if (status == RER_OK)
        status = rer_subspace_fit_classes(subspace, all, ranks, count, &model->normalizer, run, error);
    if (status == RER_OK && count > 1) {
        subspace->rank = ranks[count - 1];
        status = rer_subspace_finish(subspace, error);
        if (status == RER_OK)
            status = choose_rank(&best, model, all, ranks, count, sample, run, error);
        rer_subspace_clear_tables(subspace);
    }
    if (status == RER_OK) {
        set_rank(subspace, all, ranks, count, best, run->N);
        model->rank = subspace->rank;
        status = rer_subspace_finish(subspace, error);
    }
    free(all);
    return status;
}

static rer_status fit(rer_model *model, rer_row_sample *sample, const rer_run *run, rer_error *error)
{
    rer_subspace *subspace = NULL;
    int32_t ranks[TRIED] = {0};
    int count = 0;
    rer_status status = rer_centroid_fit(model, sample, run, NULL, error);
    if (status != RER_OK)
        return status;
    void *metric = model->state;
    model->state = NULL;
    status = rer_allocate(&subspace, 1, sizeof *subspace, "the model", error);
    if (status != RER_OK) {
        rer_centroid_model_free(metric);
        return status;
    }
    model->state = subspace;
    *subspace = (rer_subspace){.D = run->D, .C = run->C, .metric = metric};
    rer_centroid_of(metric)->in_sample = run->options->folds == 1;
    status = list_ranks(ranks, &count, model->n, run, error);
    if (status == RER_OK)
        status = rer_subspace_set_reference(subspace, error);
    return status == RER_OK ? fit_subspaces(model, ranks, count, sample, run, error) : status;
}

/* ---- saving ------------------------------------------------------------------------------ */

/* The model as the centroid's functions see it. */
static rer_model as_centroid(const rer_model *model)
{
    rer_model centroid = *model;
    centroid.state = model->state != NULL ? ((const rer_subspace *)model->state)->metric : NULL;
    return centroid;
}

static rer_dtype basis_type(const rer_subspace *subspace)
{
    return rer_centroid_of(subspace->metric)->in_double ? RER_F64 : RER_F32;
}

static void save(const rer_model *model, rer_tensors *tensors)
{
    const rer_subspace *subspace = model->state;
    const rer_model centroid = as_centroid(model);
    int64_t C = model->C, D = model->D;
    rer_centroid_model_save(&centroid, tensors);
    rer_tensors_set_number(tensors, "subspace.rank", subspace->rank);
    rer_tensors_add(tensors, "subspace.center", RER_F64, RER_SHAPE(C, D), subspace->center);
    if (subspace->rank > 0)
        rer_tensors_add(tensors, "subspace.basis", basis_type(subspace), RER_SHAPE(subspace->rank, C, D),
                        subspace->basis);
}

static void load_arrays(rer_subspace *subspace, rer_tensors *tensors)
{
    int64_t C = subspace->C, D = subspace->D;
    double rank = rer_tensors_number(tensors, "subspace.rank");
    if (!(rank >= 0 && rank <= 64 && rank == floor(rank))) {
        rer_tensors_fail(tensors, "the model's subspaces have rank %g; 0 to 64 are possible", rank);
        return;
    }
    subspace->rank = (int32_t)rank;
    subspace->center = rer_tensors_copy(tensors, "subspace.center", RER_F64, RER_SHAPE(C, D));
    if (rank > 0)
        subspace->basis =
            rer_tensors_copy(tensors, "subspace.basis", basis_type(subspace), RER_SHAPE(subspace->rank, C, D));
}

static rer_status load(rer_model *model, rer_tensors *tensors, rer_error *error)
{
    rer_subspace *subspace = NULL;
    rer_model centroid = as_centroid(model);
    rer_status status = rer_allocate(&subspace, 1, sizeof *subspace, "the model", error);
    if (status != RER_OK)
        return status;
    model->state = subspace;
    *subspace = (rer_subspace){.D = model->D, .C = model->C};
    status = rer_centroid_model_load(&centroid, tensors, error);
    if (status != RER_OK)
        return status;
    subspace->metric = centroid.state;
    load_arrays(subspace, tensors);
    model->rank = subspace->rank;
    status = rer_tensors_status(tensors, error);
    if (status == RER_OK)
        status = rer_subspace_set_reference(subspace, error);
    return status == RER_OK ? rer_subspace_finish(subspace, error) : status;
}

const rer_reconstructor rer_subspace_reconstructor = {
    .name = "subspace",
    .normalize = RER_WHITEN,
    .exponent = NAN,
    .fit = fit,
    .scratch = rer_subspace_scratch,
    .prepare = rer_subspace_prepare,
    .errors = rer_subspace_errors,
    .save = save,
    .load = load,
    .free = free_state,
};
