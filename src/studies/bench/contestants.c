/* Contestants: see contestants.h. */
#include "studies/bench/contestants.h"

/* Our own, first in the list: "rer" is what the others are compared with. */
static const rer_contestant own[] = {
    {.name = "rer"},
    {.name = "chi", .as_in_paper = true},
    {.name = "published", .reconstructor = RER_PUBLISHED, .as_in_paper = true},
    {.name = "centroid-minmax", .normalize = RER_MINMAX, .as_in_paper = true},
};

enum { N_OWN = sizeof own / sizeof own[0] };

static bool contestant_at(rer_contestant *contestant, int index)
{
    if (index < N_OWN) {
        *contestant = own[index];
        return true;
    }
    const rer_detector *detector = rer_detector_at(index - N_OWN);
    if (detector != NULL)
        *contestant = (rer_contestant){.name = detector->name, .detector = detector};
    return detector != NULL;
}

const char *rer_bench_detector_name(int index)
{
    rer_contestant contestant;
    return index >= 0 && contestant_at(&contestant, index) ? contestant.name : NULL;
}

static bool is_named(const char *name, const char *word, size_t length)
{
    return strlen(name) == length && memcmp(name, word, length) == 0;
}

static rer_status fail_unknown(const char *word, size_t length, rer_error *error)
{
    char names[600] = "", quoted[80];
    size_t used = 0;
    for (int i = 0; rer_bench_detector_name(i) != NULL && used < sizeof names; i++)
        used +=
            (size_t)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", rer_bench_detector_name(i));
    return rer_fail(error, RER_BAD_USAGE, "--detectors: there is no detector '%s'; there are %s",
                    rer_quote(quoted, sizeof quoted, word, (int64_t)length), names);
}

static void add(rer_contestant *chosen, int *count, const rer_contestant *contestant)
{
    for (int i = 0; i < *count; i++)
        if (strcmp(chosen[i].name, contestant->name) == 0)
            return;
    chosen[(*count)++] = *contestant;
}

static rer_status add_named(rer_contestant *chosen, int *count, const char *list, rer_error *error)
{
    for (const char *word = list;; word++) {
        size_t length = strcspn(word, ",");
        rer_contestant contestant;
        int index = 0;
        while (contestant_at(&contestant, index) && !is_named(contestant.name, word, length))
            index++;
        if (!contestant_at(&contestant, index))
            return fail_unknown(word, length, error);
        add(chosen, count, &contestant);
        word += length;
        if (*word == 0)
            return RER_OK;
    }
}

rer_status rer_contestants_choose(rer_contestant **contestants, int *count, const char *list, bool has_class_embeddings,
                                  rer_error *error)
{
    rer_contestant *chosen = NULL, contestant;
    int total = 0, n = 0;
    while (contestant_at(&contestant, total))
        total++;
    RER_TRY(rer_allocate(&chosen, total, sizeof *chosen, "detectors", error));
    bool usual = list == NULL || strcmp(list, "usual") == 0, all = list != NULL && strcmp(list, "all") == 0;
    rer_status status = RER_OK;
    if (!usual && !all)
        status = add_named(chosen, &n, list, error);
    for (int i = 0; (usual || all) && contestant_at(&contestant, i); i++) {
        const rer_detector *detector = contestant.detector;
        if (detector == NULL ||
            ((all || !detector->rare) && (!detector->needs_class_embeddings || has_class_embeddings)))
            add(chosen, &n, &contestant);
    }
    if (status != RER_OK) {
        free(chosen);
        return status;
    }
    *contestants = chosen;
    *count = n;
    return RER_OK;
}

/* ---- answers ----------------------------------------------------------------------------- */

void rer_answer_free(rer_answer *answer)
{
    if (answer->score != answer->probability)
        free(answer->score);
    RER_FREE_ALL(answer->probability, answer->suggested, answer->flagged);
    *answer = (rer_answer){0};
}

static rer_status allocate_answer(rer_answer *answer, int64_t N, rer_error *error)
{
    const rer_room rooms[] = {RER_ROOM(answer->score, N), RER_ROOM(answer->probability, N),
                              RER_ROOM(answer->suggested, N), RER_ROOM(answer->flagged, N)};
    return rer_allocate_all(rooms, RER_COUNT(rooms), "scores", error);
}

static rer_status ask_analysis(rer_answer *answer, const rer_contestant *contestant, const rer_dataset *labelled,
                               const rer_options *given, const rer_progress *progress, rer_error *error)
{
    rer_result *result = NULL;
    rer_options options = *given;
    options.reconstructor = contestant->reconstructor;
    options.normalize = contestant->normalize;
    if (contestant->as_in_paper) {
        options.threshold = RER_PAPER;
        options.probability = RER_DENSITY;
        options.ratios_only = true;
    }
    rer_status status = rer_analyze(&result, labelled, &options, NULL, progress, error);
    RER_THEN(status, allocate_answer(answer, labelled->N, error));
    for (int64_t row = 0; status == RER_OK && row < labelled->N; row++) {
        rer_sample sample = rer_sample_of(result, row);
        answer->score[row] = contestant->as_in_paper ? sample.chi : sample.mistakenness;
        answer->probability[row] = sample.mistakenness;
        answer->suggested[row] = sample.suggested;
        answer->flagged[row] = sample.is_issue;
    }
    if (status == RER_OK) {
        const rer_summary *summary = rer_result_summary(result);
        answer->threshold = summary->threshold_on_chi ? .5 : summary->threshold;
        answer->noise_rate = summary->noise_rate;
        answer->noise_low = summary->noise_low;
        answer->noise_high = summary->noise_high;
    }
    rer_result_free(result);
    return status;
}

/* The verdict's arrays become the answer's. */
static rer_status ask_detector(rer_answer *answer, const rer_contestant *contestant, rer_detection *detection,
                               rer_error *error)
{
    rer_verdict verdict = {0};
    RER_TRY(rer_detect(&verdict, detection, contestant->detector, error));
    answer->score = answer->probability = verdict.mistakenness;
    answer->suggested = verdict.suggested;
    answer->flagged = verdict.flagged;
    answer->threshold = .5;
    answer->noise_rate = verdict.noise_rate;
    return RER_OK;
}

rer_status rer_contestant_ask(rer_answer *answer, const rer_contestant *contestant, const rer_dataset *labelled,
                              rer_detection *detection, const rer_options *options, const rer_progress *progress,
                              rer_error *error)
{
    rer_answer made = {.noise_rate = NAN, .noise_low = NAN, .noise_high = NAN};
    double start = rer_now();
    rer_status status = contestant->detector == NULL
                            ? ask_analysis(&made, contestant, labelled, options, progress, error)
                            : ask_detector(&made, contestant, detection, error);
    made.seconds = rer_now() - start;
    for (int64_t row = 0; status == RER_OK && labelled->origin != NULL && row < labelled->N; row++)
        made.suggested[row] = made.suggested[row] < 0 ? -1 : labelled->origin[made.suggested[row]];
    if (status == RER_OK)
        *answer = made;
    else
        rer_answer_free(&made);
    return status;
}
