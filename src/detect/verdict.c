/* Another detector's verdict as the source of an analysis's probabilities. Ratios, errors and predictions stay the
 * reconstructor's. */
#include "detect/detect.h"

rer_status rer_verdict_find(rer_verdict *verdict, rer_detector *detector, const rer_run *run, rer_error *error)
{
    rer_detection detection = {.run = *run, .options = *run->options};
    if (!rer_detector_of(detector, run->options))
        return RER_OK;
    if (run->options->threshold == RER_PAPER)
        return rer_fail(error, RER_BAD_USAGE, "--threshold paper is for ratios, not for --detector %s; give a number",
                        detector->name);
    rer_status status = rer_detect(verdict, &detection, detector, error);
    rer_detection_clear(&detection);
    return status;
}

void rer_verdict_give(rer_result *result, rer_verdict *verdict)
{
    for (int64_t row = 0; row < result->N; row++) {
        double p = verdict->mistakenness[row];
        if (result->given[row] >= 0)
            result->logit[row] = (float)log(p / (1 - p)); /* infinite where p is 0 or 1 */
        else
            verdict->suggested[row] = result->proposed[row]; /* those come with a probability, which is ours */
    }
    free(result->proposed);
    result->proposed = verdict->suggested;
    verdict->suggested = NULL;
}
