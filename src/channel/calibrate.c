/* Calibration for any reconstructor: left-out errors of sampled rows, then the channel that explains their labels
 * (channel/fit.c). */
#include "channel/calibrate.h"

#include "channel/opinion.h"
#include "core/random.h"

#include <math.h>

#define ENOUGH 5000     /* rows, of however many, to ask whether all labels are right */
#define SURE .02        /* doubt of a row that leaves none */
#define CHANCE_STEPS 20 /* until no more rows are sure to be taken */

rer_channel_sample rer_calibration_sample(const rer_calibration *calibration, const float *local, int32_t C)
{
    return (rer_channel_sample){
        .value = {[RER_GLOBAL] = calibration->d2, [RER_LOCAL] = local, [RER_OPINION] = calibration->opinion},
        .code = calibration->rows.code,
        .stands = calibration->stands,
        .thinned = calibration->thinned,
        .log_n = calibration->log_n,
        .rows = calibration->rows.count,
        .C = C,
        .from = .48,
        .to = .5,
        .usual = rer_channel_usual_passes(C, true),
    };
}

rer_status rer_calibrate(rer_calibration *calibration, rer_model *model, rer_row_sample *rows, const rer_run *run,
                         rer_error *error)
{
    int64_t errors = model->C * (int64_t)sizeof(float);
    rer_calibration made = {.rows = *rows, .enough = rows->is_all || rows->count >= ENOUGH};
    *rows = (rer_row_sample){0};
    rer_status status = rer_log_sizes(&made.log_n, model->n, model->C, error);
    if (status == RER_OK)
        status = rer_allocate(&made.d2, made.rows.count, errors, "sampled errors", error);
    if (status == RER_OK)
        status = rer_sample_errors(made.d2, model, &made.rows, run, error);
    if (status == RER_OK && run->data->pred_probs.name != NULL)
        status = rer_allocate(&made.opinion, made.rows.count, errors, "sampled probabilities", error);
    if (status == RER_OK && made.opinion != NULL)
        status = rer_opinion_of(made.opinion, run->data, made.rows.row, made.rows.count, made.log_n, error);
    rer_channel_sample sample = rer_calibration_sample(&made, NULL, model->C);
    sample.enough = made.enough;
    sample.whitened = model->normalizer.kind == RER_WHITEN;
    if (status == RER_OK)
        status = rer_channel_make(&model->channel, model->C, error);
    if (status == RER_OK)
        status = rer_channel_fit(model->channel, NULL, &sample, run->kernels, run->pool, error);
    if (status != RER_OK) {
        rer_calibration_free(&made);
        return status;
    }
    *calibration = made;
    return RER_OK;
}

/* 1 - p_c of each row, and a little of all: what a row's label says of what evidence is worth, more or less. */
static rer_status find_doubts(float *doubt, const rer_calibration *calibration, const rer_channel *channel,
                              const rer_kernels *kernels, rer_error *error)
{
    int64_t C = channel->C;
    float *z = NULL;
    RER_TRY(rer_allocate(&z, C, sizeof *z, "scores", error));
    for (int64_t i = 0; i < calibration->rows.count; i++) {
        const float *value[RER_EVIDENCE_KINDS] = {[RER_GLOBAL] = calibration->d2 + i * C};
        rer_channel_state state = rer_channel_begin();
        (void)rer_channel_take(&state, channel, value, 0, (int32_t)C, calibration->rows.code[i], z, kernels);
        doubt[i] = (float)(SURE + 1 - rer_channel_posterior(&state));
    }
    free(z);
    return RER_OK;
}

/* f, so that chances min(1, f doubt) add up to `count`. */
static double chance_of_doubt(const float *doubt, int64_t all, int64_t count)
{
    double f = 0;
    for (int step = 0; step < CHANCE_STEPS; step++) { /* more of the others where some are sure to be taken */
        double certain = 0, rest = 0;
        for (int64_t i = 0; i < all; i++)
            if (f * (double)doubt[i] >= 1)
                certain++;
            else
                rest += (double)doubt[i];
        f = rest > 0 ? fmax(f, ((double)count - certain) / rest) : f;
    }
    return f;
}

/* About `count` rows: each is taken with its chance, and stands for 1 / chance rows, but for a factor that makes all of
 * them stand for as many as they are. A row has a random number of its own, so that a doubt that changes a little, which
 * roundoff does, changes a few of the rows and not all. (Where sums of chances decided, Fashion-MNIST's expected number
 * moved from 612 to 666 with other kernels of OpenBLAS.) Returns how many; place [all] ascending, and what each stands
 * for, stands [all]. */
static int64_t take_doubtful(int64_t *place, float *stands, const float *doubt, const rer_row_sample *rows,
                             int64_t count)
{
    double f = chance_of_doubt(doubt, rows->count, count), sum = 0;
    int64_t taken = 0;
    for (int64_t i = 0; i < rows->count; i++) {
        double chance = fmin(1, f * (double)doubt[i]);
        if (rer_random_uniform(0, RER_RANDOM_SAMPLE, (uint64_t)rows->row[i], UINT64_MAX) >= chance)
            continue;
        stands[taken] = (float)(1 / chance);
        sum += 1 / chance;
        place[taken++] = i;
    }
    for (int64_t i = 0; i < taken; i++)
        stands[i] *= (float)((double)taken / sum);
    return taken;
}

/* place, stands [all]: all rows, or some of them. */
static rer_status take_rows(rer_calibration *made, int64_t *place, int64_t *count, const rer_calibration *calibration,
                            const rer_channel *channel, const rer_kernels *kernels, rer_error *error)
{
    int64_t all = calibration->rows.count;
    float *doubt = NULL;
    made->thinned = *count < all;
    if (!made->thinned) {
        for (int64_t i = 0; i < all; i++)
            place[i] = i;
        return RER_OK;
    }
    rer_room rooms[] = {RER_ROOM(doubt, all), RER_ROOM(made->stands, all)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "evidence", error));
    rer_status status = find_doubts(doubt, calibration, channel, kernels, error);
    if (status == RER_OK)
        *count = take_doubtful(place, made->stands, doubt, &calibration->rows, *count);
    free(doubt);
    return status;
}

rer_status rer_calibration_thin(rer_calibration *thin, const rer_calibration *calibration, const rer_channel *channel,
                                int64_t count, int64_t D, const rer_kernels *kernels, rer_error *error)
{
    int64_t first = 0, C = channel->C, *place = NULL;
    rer_calibration made = {.enough = calibration->enough};
    RER_TRY(rer_allocate(&place, calibration->rows.count, sizeof *place, "evidence", error));
    rer_status status = take_rows(&made, place, &count, calibration, channel, kernels, error);
    RER_THEN(status, rer_row_sample_thin(&made.rows, &calibration->rows, place, count, D, error));
    RER_THEN(status, rer_pick_rows(&made.d2, calibration->d2, place, count, C, error));
    RER_THEN(status, rer_pick_rows(&made.log_n, calibration->log_n, &first, 1, C, error));
    free(place);
    if (status != RER_OK) {
        rer_calibration_free(&made);
        return status;
    }
    *thin = made;
    return RER_OK;
}

void rer_calibration_free(rer_calibration *calibration)
{
    rer_row_sample_free(&calibration->rows);
    free(calibration->d2);
    free(calibration->opinion);
    free(calibration->log_n);
    free(calibration->stands);
    *calibration = (rer_calibration){0};
}
