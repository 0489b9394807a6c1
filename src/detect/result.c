/* A detector's verdict in place of ours. Ratios, errors and predictions stay the reconstructor's. */
#include "detect/detect.h"
#include "judge/judge.h"

#include <math.h>

static void replace_flags(rer_result *result, const rer_verdict *verdict)
{
    for (int64_t row = 0; row < result->N; row++)
        if (verdict->flagged[row]) {
            result->flags[row] |= RER_FLAG_ISSUE;
            result->summary.n_issues++;
        }
    result->summary.threshold = NAN;
    result->summary.threshold_on_chi = false;
}

static void replace_class_sums(rer_result *result, const rer_verdict *verdict)
{
    for (int32_t c = 0; c < result->C; c++) {
        result->classes[c].noise_rate = result->classes[c].n > 0 ? 0 : NAN;
        result->classes[c].n_issues = 0;
    }
    for (int64_t row = 0; row < result->N; row++) {
        int32_t c = result->given[row];
        if (c < 0 || isnan(verdict->mistakenness[row]))
            continue;
        result->classes[c].noise_rate += verdict->mistakenness[row] / (double)result->classes[c].n;
        result->classes[c].n_issues += (result->flags[row] & RER_FLAG_ISSUE) != 0;
    }
}

static double sum_flagged(const rer_result *result, const rer_verdict *verdict)
{
    double sum = 0;
    for (int64_t row = 0; row < result->N; row++)
        sum += (result->flags[row] & RER_FLAG_ISSUE) != 0 ? verdict->mistakenness[row] : 0;
    return sum;
}

/* The verdict's suggestions go over to the result. */
static rer_status take_verdict(rer_result *result, rer_verdict *verdict, rer_error *error)
{
    const rer_options *options = &result->options;
    for (int64_t row = 0; row < result->N; row++) {
        double p = verdict->mistakenness[row];
        result->flags[row] &= (uint8_t)~RER_FLAG_ISSUE;
        if (result->given[row] >= 0)
            result->logit[row] = (float)log(p / (1 - p)); /* infinite where p is 0 or 1 */
        else
            verdict->suggested[row] = -1; /* those come with a probability, which is ours */
    }
    result->summary.n_issues = 0;
    result->summary.noise_rate = verdict->noise_rate;
    result->summary.noise_low = result->summary.noise_high = NAN;
    rer_status status = RER_OK;
    if (options->budget >= 0 || options->threshold >= 0)
        status = rer_judge_flags(result, error);
    else
        replace_flags(result, verdict);
    if (status != RER_OK)
        return status;
    replace_class_sums(result, verdict);
    result->summary.expected_wrong = sum_flagged(result, verdict);
    free(result->proposed);
    result->proposed = verdict->suggested;
    verdict->suggested = NULL;
    return RER_OK;
}

rer_status rer_detect_result(rer_result *result, const rer_run *run, rer_error *error)
{
    rer_detection detection = {.run = *run, .options = *run->options};
    rer_detector detector;
    rer_verdict verdict = {0};
    if (!rer_detector_of(&detector, run->options))
        return RER_OK;
    if (run->options->threshold == RER_PAPER)
        return rer_fail(error, RER_BAD_USAGE, "--threshold paper is for ratios, not for --detector %s; give a number",
                        detector.name);
    rer_status status = rer_detect(&verdict, &detection, &detector, error);
    if (status == RER_OK)
        status = take_verdict(result, &verdict, error);
    if (status == RER_OK)
        status = rer_result_add_note(result, error,
                                     "labels were judged by %s (%s); ratios, errors and predictions are the "
                                     "reconstructor's",
                                     detector.name, detector.help);
    rer_verdict_free(&verdict);
    rer_detection_clear(&detection);
    return status;
}
