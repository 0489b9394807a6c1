/* Wrong labels on purpose.
 *
 * 1. Rows that may change: those with a label; where the new class is given for each row, those where
 *    it is another one.
 * 2. m = round(rate * labelled rows), half to even as numpy and Python round. The first m of a random order
 *    change (Fisher and Yates from the front), so that a higher rate adds rows to those of a lower one.
 * 3. symmetric: c -> one of the C - 1 others; asymmetric: c -> c + 1 mod C; else as given. */
#include "studies/bench/noise.h"
#include "core/random.h"

static bool has_target(int32_t kind)
{
    return kind == RER_NOISE_CONFIDENCE || kind == RER_NOISE_HUMAN;
}

static rer_status check_classes(const int32_t *classes, const char *what, int64_t N, int32_t C, rer_error *error)
{
    for (int64_t row = 0; row < N; row++)
        if (classes[row] < -1 || classes[row] >= C)
            return rer_fail(error, RER_BAD_INPUT, "row %lld: %s class %d is not in 0..%d, nor -1 for none",
                            (long long)row, what, classes[row], C - 1);
    return RER_OK;
}

static rer_status check_noise(const int32_t *given, const int32_t *target, int64_t N, int32_t C,
                              const rer_options *options, rer_error *error)
{
    if (C < 2)
        return rer_fail(error, RER_BAD_INPUT, "the labels have %d class%s; a wrong label needs at least 2", C,
                        C == 1 ? "" : "es");
    if (has_target(options->noise_type) && target == NULL)
        return rer_fail(error, RER_BAD_USAGE, "this kind of noise needs the new class of each row");
    RER_TRY(check_classes(given, "given", N, C, error));
    if (has_target(options->noise_type))
        RER_TRY(check_classes(target, "new", N, C, error));
    return RER_OK;
}

static int32_t wrong_class(int32_t given, const int32_t *target, int64_t row, int32_t C, const rer_options *options)
{
    if (has_target(options->noise_type))
        return target[row];
    int32_t step = 1;
    if (options->noise_type == RER_NOISE_SYMMETRIC) {
        double u = rer_random_uniform(options->seed, RER_RANDOM_NOISE_CLASS, (uint64_t)row, 0);
        step += (int32_t)(u * (C - 1));
    }
    return (int32_t)(((int64_t)given + step) % C);
}

static rer_status plant(int32_t *noisy, int64_t *n_changed, const int32_t *given, const int32_t *target, int64_t N,
                        int32_t C, const rer_options *options, rer_error *error)
{
    int64_t *rows = NULL; /* [candidates] */
    int64_t labelled = 0, candidates = 0;
    RER_TRY(check_noise(given, target, N, C, options, error));
    RER_TRY(rer_allocate(&rows, N, sizeof *rows, "rows to change", error));
    for (int64_t row = 0; row < N; row++) {
        labelled += given[row] >= 0;
        bool may_change = !has_target(options->noise_type) || (target[row] >= 0 && target[row] != given[row]);
        if (given[row] >= 0 && may_change)
            rows[candidates++] = row;
    }
    int64_t count = rer_min((int64_t)rint(options->noise_rate * (double)labelled), candidates);
    memmove(noisy, given, (size_t)N * sizeof *noisy);
    for (int64_t i = 0; i < count; i++) {
        double u = rer_random_uniform(options->seed, RER_RANDOM_NOISE_ROW, (uint64_t)i, 0);
        int64_t j = i + (int64_t)(u * (double)(candidates - i)), row = rows[j];
        rows[j] = rows[i];
        noisy[row] = wrong_class(given[row], target, row, C, options);
    }
    free(rows);
    if (n_changed != NULL)
        *n_changed = count;
    return RER_OK;
}

rer_status rer_noise_plant(int32_t *noisy, int64_t *n_changed, const int32_t *given, const int32_t *target, int64_t N,
                           int32_t C, const rer_options *given_options, rer_error *error)
{
    rer_options options;
    rer_error_clear(error);
    RER_TRY(rer_options_take(&options, given_options, error));
    return plant(noisy, n_changed, given, target, N, C, &options, error);
}
