/* Of hundreds of features that vary alike, as those of an embedding, a row's direction says enough. Few features are
 * measurements, whose size counts; and where a few vary far more than the rest, as columns of a table in units of their
 * own do, lengths and distances would be those of these few. How many have a say is the participation ratio of their
 * variances v_j,
 *   (sum_j v_j)^2 / sum_j v_j^2,
 * which is D where all are equal, and 1 where one is far above the rest. */
#include "fit/units.h"

#include "fit/model.h"
#include "fit/moments.h"
#include "run/passes.h"

#include <math.h>

/* Features that must have a say for rows to be directions as they are. Of embeddings (CLIP, EfficientNet, MiniLM; 384 to
 * 1,280 features) 250 and more have, and units make no difference there: AUROC of planted mistakes within .0014 on five
 * sets. Of 43 tables (bench/tables.py) 27 have fewer than 8, and all but two fewer than 64; AUROC .88 as directions or with
 * their lengths, .92 in units; logistic regression .88. */
#define SAYING 64
#define BLOCKS 16      /* of rows that are looked at, or up to twice as many: a deviation is known to half a percent */
#define CONSTANT 1e-12 /* of a feature's mean square: what sums round off */

/* Totals over the classes: mean and variance of each feature. */
static void set_units(rer_units *units, double *variance, const rer_class_sums *sums)
{
    int64_t D = sums->D;
    double n = (double)rer_max(1, sums->labelled);
    for (int32_t c = 0; c < sums->C; c++)
        for (int64_t j = 0; j < D; j++)
            units->mean[j] += (sums->sum[c * D + j] + sums->rest[c * D + j]) / n;
    for (int64_t j = 0; j < D; j++) {
        double square = (sums->square[j] + sums->square_rest[j]) / n;
        double left = square - units->mean[j] * units->mean[j];
        variance[j] = left > CONSTANT * square ? left : 0;
        units->factor[j] = 1 / sqrt(fmax(left, CONSTANT * square)); /* what may be round-off is one unit at most */
        if (!(square > 0))
            units->factor[j] = 1;
    }
}

static double how_many_say(const double *variance, int64_t D)
{
    double most = 0, sum = 0, squares = 0;
    for (int64_t j = 0; j < D; j++)
        most = fmax(most, variance[j]);
    for (int64_t j = 0; j < D && most > 0; j++) {
        sum += variance[j] / most;
        squares += variance[j] / most * (variance[j] / most);
    }
    return squares > 0 ? sum * sum / squares : (double)D;
}

static bool may_have_units(const rer_run *run)
{
    return rer_normalize_of(run->options) == RER_WHITEN && run->view == NULL && !run->data->hog &&
           run->data->class_embeddings == NULL;
}

rer_status rer_units_find(rer_units **units, const rer_run *run, rer_error *error)
{
    rer_normalizer as_given = {.kind = RER_NONE};
    rer_class_sums sums = {0};
    rer_units *made = NULL;
    double *variance = NULL;
    rer_run some = *run;
    some.every = rer_max(1, rer_run_blocks(run) / BLOCKS);
    *units = NULL;
    if (!may_have_units(run))
        return RER_OK;
    rer_status status = rer_class_sums_make(&sums, run->C, run->D, false, error);
    RER_THEN(status, rer_units_make(&made, run->D, error));
    RER_THEN(status, rer_allocate(&variance, run->D, sizeof *variance, "variances", error));
    RER_THEN(status, run->passes->class_sums(&sums, &as_given, &some, error));
    if (status == RER_OK)
        set_units(made, variance, &sums);
    bool has_units = status == RER_OK && sums.labelled > 0 && how_many_say(variance, run->D) < SAYING;
    rer_class_sums_free(&sums);
    free(variance);
    if (has_units)
        *units = made;
    else
        rer_units_free(made);
    return status;
}
