/* The vote of the nearest neighbours: mistakenness is the share of them with another label. A label
 * is flagged where some other one has more votes. */
#include "detect/detect.h"

int32_t rer_most_voted(int32_t *class, const rer_run *run, const rer_neighbors *neighbors, int64_t row)
{
    const rer_neighbor *list = neighbors->list + row * RER_LISTED;
    const int32_t *given = run->given;
    int32_t most = 0;
    *class = -1;
    for (int e = 0; e < RER_VOTERS && list[e].index >= 0; e++) {
        int32_t label = given[list[e].index], votes = 0;
        for (int other = 0; other < RER_VOTERS && list[other].index >= 0; other++)
            votes += given[list[other].index] == label;
        if (label != given[row] && votes > most) {
            most = votes;
            *class = label;
        }
    }
    return most;
}

rer_status rer_detect_knn(rer_verdict *verdict, rer_detection *detection, const rer_detector *detector,
                          rer_error *error)
{
    const rer_run *run = &detection->run;
    const int32_t *given = run->given;
    int64_t judged = 0, flagged = 0;
    (void)detector;
    RER_TRY(rer_detection_neighbors(detection, error));
    for (int64_t row = 0; row < run->N; row++) {
        const rer_neighbor *list = detection->neighbors.list + row * RER_LISTED;
        int32_t own = 0, voters = 0;
        int32_t other = rer_most_voted(&verdict->suggested[row], run, &detection->neighbors, row);
        if (!rer_run_has_label(run, row))
            continue;
        for (; voters < RER_VOTERS && list[voters].index >= 0; voters++)
            own += given[list[voters].index] == given[row];
        verdict->mistakenness[row] = voters > 0 ? (double)(voters - own) / voters : 0;
        verdict->flagged[row] = other > own;
        judged++;
        flagged += other > own;
    }
    verdict->noise_rate = judged > 0 ? (double)flagged / (double)judged : NAN;
    return RER_OK;
}
