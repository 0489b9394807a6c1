/* Why a label is suspicious, in the words of one line: the rows next to it where they speak for the suggestion, else the
 * user's own probabilities, else how near the classes are. */
#include "cli.h"

#include <math.h>

enum { NAME = 512 };

/* Those of the given class among the nearest rows are fewer, or no more, than those of the suggested one. */
static bool near_rows_speak(const cli_job *job, const rer_sample *sample)
{
    int64_t rows[RER_NEAR_ROWS];
    int32_t count = rer_result_near(job->result, sample->row, rows), near_given = 0;
    for (int32_t i = 0; i < count; i++) {
        rer_sample near = {.size = sizeof near};
        (void)rer_result_sample(&near, job->result, rows[i], NULL);
        near_given += near.given == sample->given;
    }
    return sample->near_suggested > 0 && sample->near_suggested >= near_given;
}

/* "9 of its 10 nearest are 'cat', as near to it as a typical one"; brief: "9/10 nearest, as near as usual"; bare:
 * "9/10 nearest". Where some classes were not compared, these are near, and others may be nearer. */
static void describe_near(char *out, size_t size, const rer_sample *sample, const char *other, bool odd,
                          reason_length length)
{
    const char *typical = length == WHOLE ? "a typical one" : "usual";
    const char *nearest = sample->near_whole ? "nearest" : "near";
    char far[64] = "";
    if (odd || length == BARE)
        far[0] = 0;
    else if (sample->nearness <= 1.1)
        (void)snprintf(far, sizeof far, ", as near as %s", typical);
    else if (sample->nearness < 10)
        (void)snprintf(far, sizeof far, ", %.1fx as far as %s", sample->nearness, typical);
    else if (!isnan(sample->nearness))
        (void)snprintf(far, sizeof far, ", far away from them");
    if (length != WHOLE)
        (void)snprintf(out, size, "%d/%d %s%s", sample->near_suggested, sample->near, nearest, far);
    else
        (void)snprintf(out, size,
                       sample->near_whole ? "%d of its %d nearest %s '%s'%s" : "%d of %d near rows %s '%s'%s",
                       sample->near_suggested, sample->near, sample->near_suggested == 1 ? "is" : "are", other, far);
}

#define SPEAKS 1.005 /* a ratio from which on one class is said to be closer */

/* "4.1x closer to 'cat' than to its own class"; brief: "4.1x closer than its own class" */
static void describe_reason(char *out, size_t size, const rer_sample *sample, const char *other, const char *kind,
                            reason_length length)
{
    double ratio = sample->chi >= 1 ? sample->chi : 1 / sample->chi;
    char times[32], which[NAME + 8] = "";
    (void)snprintf(times, sizeof times,
                   ratio < 1.995   ? "%.2fx"
                   : ratio < 99.95 ? "%.1fx"
                   : ratio < 1000  ? "%.0fx"
                                   : "over 1000x",
                   ratio);
    if (length == WHOLE)
        (void)snprintf(which, sizeof which, " to '%s'", other);
    if (ratio < SPEAKS)
        (void)snprintf(out, size, "as close%s as to its own %s", which, kind);
    else if (sample->chi >= 1)
        (void)snprintf(out, size, "%s closer%s than to its own %s", times, which, kind);
    else
        (void)snprintf(out, size, "%s closer to its own %s", times, kind);
}

/* "your probabilities favour '4'", where the features do not speak for the suggestion; false: they do, or there are none. */
static bool describe_opinion(char *out, size_t size, const rer_sample *sample, const cli_job *job, int width,
                             reason_length length)
{
    int32_t favoured = rer_result_favoured(job->result, job->data, sample->row);
    char name[NAME];
    if (sample->chi >= SPEAKS || favoured < 0 || favoured == sample->given)
        return false;
    (void)clean_name(name, sizeof name, class_name(job, favoured), width);
    if (length != WHOLE && favoured == sample->suggested)
        (void)snprintf(out, size, "your probabilities");
    else
        (void)snprintf(out, size, length == WHOLE ? "your probabilities favour '%s'" : "your probabilities: '%s'",
                       name);
    return true;
}

/* "as near to 'cat' as a typical one": what speaks against a label whose own class is no further. */
static void describe_place(char *out, size_t size, const rer_sample *sample, const char *other, const char *kind,
                           reason_length length)
{
    if (sample->nearness <= 1.1)
        (void)snprintf(out, size, length == WHOLE ? "as near to '%s' as a typical one" : "as near as usual", other);
    else
        (void)snprintf(out, size, length == WHOLE ? "between its own %s and '%s'" : "between its own %s and that", kind,
                       other);
}

void describe_why(char *out, size_t size, const cli_job *job, const rer_sample *sample, const char *other, int width,
                  reason_length length)
{
    const char *kind = has_clusters(job) ? "cluster" : "class";
    bool odd = sample->near > 0 && sample->is_outlier && !(sample->nearness <= 1.1); /* else it is at home there */
    char why[2 * NAME] = "";
    if (odd && length == BARE)
        why[0] = 0;
    else if (near_rows_speak(job, sample))
        describe_near(why, sizeof why, sample, other, odd, length);
    else if (describe_opinion(why, sizeof why, sample, job, width, length))
        (void)0;
    else if (sample->chi >= 1 || sample->near == 0 || !(sample->mistakenness > .5))
        describe_reason(why, sizeof why, sample, other, kind, length);
    else if (!odd)
        describe_place(why, sizeof why, sample, other, kind, length);
    (void)snprintf(out, size, "%s%s%s%s", odd ? "fits no " : "", odd ? kind : "", odd && why[0] != 0 ? "; " : "", why);
}
