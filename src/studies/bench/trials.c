/* The trials of a comparison. In each: make the labels, ask every detector, take the metrics, resample the
 * rows. The estimate on the labels as they are, e0, tells what a detector should find after a share r was
 * planted:
 *     true noise rate = r + (1 - r) e0 */
#include "studies/bench/bench.h"
#include "studies/bench/likely.h"

/* ---- progress ---------------------------------------------------------------------------- */

/* Of the whole, from how long each detector has taken so far. */
typedef struct whole_progress {
    const rer_progress *outer;  /* may be NULL */
    double done, present, left; /* seconds: spent, expected of the present run, expected of the rest */
    double shown;               /* never goes back */
    char stage[64];             /* what is under way, and how long all of it will take */
} whole_progress;

static bool report(void *context, const char *stage, double fraction)
{
    whole_progress *whole = context;
    (void)stage;
    if (whole->outer == NULL)
        return false;
    double all = whole->done + whole->present + whole->left;
    double now = all > 0 ? (whole->done + fraction * whole->present) / all : 0;
    whole->shown = fmax(whole->shown, fmin(now, 1));
    return whole->outer->report(whole->outer->context, whole->stage, whole->shown);
}

static rer_status say_stage(whole_progress *whole, rer_error *error)
{
    return report(whole, NULL, 0) ? rer_fail(error, RER_CANCELLED, "cancelled") : RER_OK;
}

static rer_status announce(whole_progress *whole, const char *what, double seconds, rer_error *error)
{
    if (seconds < 90)
        (void)snprintf(whole->stage, sizeof whole->stage, "%s %.0f s in all", what, fmax(1, seconds));
    else
        (void)snprintf(whole->stage, sizeof whole->stage, "%s %.0f min in all", what, ceil(seconds / 60));
    return say_stage(whole, error);
}

/* ---- one trial --------------------------------------------------------------------------- */

typedef struct trial_room { /* what every trial needs, made once */
    rer_bench *bench;
    const rer_bench_settings *settings;
    const rer_dataset *data;
    rer_detection *detection;
    rer_progress progress; /* of a run, to the whole */
    whole_progress whole;
    double *spent;               /* [n_contestants] seconds so far */
    int *asked;                  /* [n_contestants] times so far */
    double *as_is;               /* [n_contestants] noise rate of the labels as they are */
    bool *valid;                 /* [N] */
    int32_t *noisy;              /* [N] */
    int32_t *likely;             /* [N] the wrong class that a classifier finds most probable; NULL: not asked for */
    int64_t *row;                /* [n] rows that are judged in this trial */
    bool *wrong;                 /* [n] */
    double *score, *probability; /* [n] */
    bool *flagged, *right;       /* [n] */
    rer_ranking *rankings;       /* [n_contestants] */
} trial_room;

static rer_status plant(trial_room *room, const rer_cell *cell, int64_t seed, rer_error *error)
{
    const int32_t *truth = room->data->labels.codes;
    rer_options options = room->bench->options;
    options.noise_type = cell->kind;
    options.noise_rate = cell->rate;
    options.seed = seed;
    memcpy(room->noisy, truth, (size_t)room->data->N * sizeof *truth);
    if (cell->kind == RER_BENCH_AS_IS)
        return RER_OK;
    if (cell->kind != RER_NOISE_HUMAN)
        return rer_noise_plant(room->noisy, NULL, truth, room->likely, room->data->N, room->data->labels.C, &options,
                               error);
    const int32_t *human = room->settings->human[cell->human].codes;
    for (int64_t row = 0; row < room->data->N; row++)
        room->noisy[row] = truth[row] < 0 ? -1 : human[row];
    return RER_OK;
}

/* Labelled, valid rows and whether their label is wrong; returns how many. */
static int64_t find_judged(trial_room *room)
{
    int64_t n = 0;
    for (int64_t row = 0; row < room->data->N; row++)
        if (room->noisy[row] >= 0 && room->valid[row]) {
            room->row[n] = row;
            room->wrong[n++] = room->noisy[row] != room->data->labels.codes[row];
        }
    return n;
}

static rer_outcome make_outcome(trial_room *room, const rer_answer *answer, int64_t n)
{
    const int32_t *truth = room->data->labels.codes;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = room->row[i];
        room->score[i] = answer->score[row];
        room->probability[i] = answer->probability[row];
        room->flagged[i] = answer->flagged[row];
        room->right[i] = answer->suggested[row] == truth[row];
    }
    return (rer_outcome){.n = n,
                         .score = room->score,
                         .probability = room->probability,
                         .flagged = room->flagged,
                         .wrong = room->wrong,
                         .suggestion_right = room->right,
                         .threshold = answer->threshold,
                         .noise_rate = answer->noise_rate,
                         .noise_low = answer->noise_low,
                         .noise_high = answer->noise_high,
                         .true_rate = NAN};
}

static double share_of(const bool *wrong, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += wrong[i];
    return n > 0 ? (double)count / (double)n : NAN;
}

static void add_calibration(rer_calibration_bin *sums, const rer_outcome *outcome)
{
    rer_calibration_bin bins[RER_CALIBRATION_BINS];
    rer_calibration(bins, outcome);
    for (int b = 0; b < RER_CALIBRATION_BINS; b++)
        if (bins[b].count > 0) {
            sums[b].count += bins[b].count;
            sums[b].probability += bins[b].probability * (double)bins[b].count;
            sums[b].wrong += bins[b].wrong * (double)bins[b].count;
        }
}

static rer_status measure(trial_room *room, const rer_answer *answer, int64_t n, const rer_cell *cell, int trial, int k,
                          rer_error *error)
{
    rer_bench *bench = room->bench;
    rer_entry *entry = &bench->entries[trial * bench->n_contestants + k];
    rer_outcome outcome = make_outcome(room, answer, n);
    double planted = share_of(room->wrong, n);
    if (cell->kind == RER_NOISE_HUMAN)
        outcome.true_rate = planted;
    else if (cell->kind != RER_BENCH_AS_IS)
        outcome.true_rate = planted + (1 - planted) * room->as_is[k];
    else
        room->as_is[k] = answer->noise_rate;
    entry->seconds = answer->seconds;
    RER_TRY(rer_metrics(entry->values, &outcome, error));
    for (int metric = 0; cell->kind == RER_BENCH_AS_IS && metric < RER_METRICS; metric++)
        if (metric != RER_NOISE_RATE && metric != RER_INTERVAL_WIDTH && metric != RER_FLAGGED)
            entry->values[metric] = NAN; /* nobody knows which labels are wrong */
    RER_TRY(rer_ranking_make(&room->rankings[k], room->score, n, error));
    if (cell->kind != RER_BENCH_AS_IS)
        add_calibration(bench->calibration + ((int64_t)cell->kind * bench->n_contestants + k) * RER_CALIBRATION_BINS,
                        &outcome);
    return RER_OK;
}

/* Seconds that this one should take, by its past or by that of the others. */
static double expected_seconds(const trial_room *room, int k)
{
    double spent = 0;
    int asked = 0;
    if (room->asked[k] > 0)
        return room->spent[k] / room->asked[k];
    for (int i = 0; i < room->bench->n_contestants; i++) {
        spent += room->spent[i];
        asked += room->asked[i];
    }
    return asked > 0 ? spent / asked : 1;
}

static void expect(trial_room *room, int trial, int k)
{
    int n = room->bench->n_contestants;
    room->whole.present = expected_seconds(room, k);
    room->whole.left = 0;
    for (int i = 0; i < n; i++)
        room->whole.left += expected_seconds(room, i) * (room->bench->n_trials - trial - (i <= k ? 1 : 0));
}

static rer_status name_detector(rer_error *error, rer_status status, const rer_contestant *contestant,
                                const rer_cell *cell)
{
    if (error == NULL || status == RER_CANCELLED)
        return status;
    size_t used = strlen(error->message);
    (void)snprintf(error->message + used, sizeof error->message - used, " (detector %s, noise %s)", contestant->name,
                   cell->noise);
    return status;
}

static rer_status run_trial(trial_room *room, rer_cell *cell, int trial, rer_error *error)
{
    rer_bench *bench = room->bench;
    rer_dataset *labelled = NULL;
    int64_t cell_index = cell - bench->cells;
    rer_status status = plant(room, cell, bench->seeds[trial], error);
    RER_THEN(status, rer_dataset_relabel(&labelled, room->data, room->noisy, error));
    if (status != RER_OK)
        return status;
    rer_detection *lesser = NULL; /* of a trial that has lost a class */
    if (labelled->origin != NULL)
        status = rer_detection_open(&lesser, labelled, NULL, &bench->options, &room->progress, error);
    else
        rer_detection_relabel(room->detection, room->noisy);
    int64_t n = find_judged(room);
    if (cell->kind == RER_NOISE_HUMAN)
        cell->rate = share_of(room->wrong, n);
    for (int k = 0; status == RER_OK && k < bench->n_contestants; k++) {
        rer_answer answer = {0};
        expect(room, trial, k);
        status = rer_contestant_ask(&answer, &bench->contestants[k], labelled,
                                    lesser != NULL ? lesser : room->detection, &bench->options, &room->progress, error);
        if (status == RER_OK)
            status = measure(room, &answer, n, cell, trial, k, error);
        else
            status = name_detector(error, status, &bench->contestants[k], cell);
        room->spent[k] += answer.seconds;
        room->whole.done += answer.seconds;
        room->asked[k]++;
        rer_answer_free(&answer);
    }
    room->whole.present = 0;
    if (status == RER_OK && cell->kind != RER_BENCH_AS_IS)
        status = rer_bench_resample(bench->replicates + cell_index * bench->n_contestants * bench->options.bootstrap,
                                    room->rankings, bench->n_contestants, room->wrong, n, cell->n_trials,
                                    &bench->options, room->detection->run.pool, error);
    for (int k = 0; k < bench->n_contestants; k++)
        rer_ranking_free(&room->rankings[k]);
    rer_detection_close(lesser);
    rer_dataset_free(labelled);
    return status;
}

/* ---- all trials -------------------------------------------------------------------------- */

/* Before anything has run, where somebody listens. */
static rer_status announce_guess(trial_room *room, rer_error *error)
{
    if (room->whole.outer == NULL)
        return RER_OK;
    char what[40];
    double seconds = 0;
    RER_TRY(rer_bench_guess(&seconds, room->bench, room->detection->run.pool, error));
    (void)snprintf(what, sizeof what, "%d rounds, about", room->bench->n_trials);
    return announce(&room->whole, what, seconds, error);
}

static void free_room(trial_room *room)
{
    rer_detection_close(room->detection);
    RER_FREE_ALL(room->spent, room->asked, room->as_is, room->valid, room->noisy, room->likely, room->row, room->wrong,
                 room->score, room->probability, room->flagged, room->right, room->rankings);
}

static rer_status make_room(trial_room *room, rer_error *error)
{
    int64_t N = room->data->N, n = room->bench->n_contestants;
    const rer_room rooms[] = {
        RER_ROOM(room->spent, n),       RER_ROOM(room->asked, n),   RER_ROOM(room->as_is, n),
        RER_ROOM(room->rankings, n),    RER_ROOM(room->valid, N),   RER_ROOM(room->noisy, N),
        RER_ROOM(room->row, N),         RER_ROOM(room->wrong, N),   RER_ROOM(room->score, N),
        RER_ROOM(room->probability, N), RER_ROOM(room->flagged, N), RER_ROOM(room->right, N),
    };
    return rer_allocate_all(rooms, RER_COUNT(rooms), "the comparison", error);
}

/* Rows without NaN or Inf; where such rows are errors, whoever reads them first says so. */
static rer_status find_valid(trial_room *room, rer_error *error)
{
    const rer_dataset *data = room->data;
    float *x = NULL;
    void *scratch = NULL;
    for (int64_t row = 0; row < data->N; row++)
        room->valid[row] = true;
    if (!room->bench->options.drop_invalid)
        return RER_OK;
    rer_status status = rer_allocate(&x, data->D, sizeof *x, "a row", error);
    RER_THEN(status, rer_allocate(&scratch, rer_dataset_scratch(data, 1), 1, "a row", error));
    for (int64_t row = 0; status == RER_OK && row < data->N; row++) {
        status = rer_dataset_rows_read(data, row, 1, x, scratch, error);
        if (status == RER_OK)
            room->valid[row] = isfinite(rer_cpu_kernels()->sum_squares(x, data->D));
    }
    RER_FREE_ALL(x, scratch);
    return status;
}

static rer_status find_likely(trial_room *room, rer_error *error)
{
    RER_TRY(rer_allocate(&room->likely, room->data->N, sizeof *room->likely, "labels", error));
    return rer_noise_likely(room->likely, room->detection, error);
}

rer_status rer_bench_run_trials(rer_bench *bench, const rer_dataset *data, const rer_bench_settings *settings,
                                const rer_progress *progress, rer_error *error)
{
    trial_room room = {.bench = bench, .settings = settings, .data = data, .whole = {.outer = progress}};
    room.progress = (rer_progress){.report = report, .context = &room.whole};
    double start = rer_now();
    (void)snprintf(room.whole.stage, sizeof room.whole.stage, "%d rounds", bench->n_trials);
    rer_status status = make_room(&room, error);
    RER_THEN(status, find_valid(&room, error));
    RER_THEN(status, rer_detection_open(&room.detection, data, NULL, &bench->options, &room.progress, error));
    RER_THEN(status, announce_guess(&room, error));
    if (status == RER_OK && (bench->options.noise_types >> RER_NOISE_CONFIDENCE & 1) != 0)
        status = find_likely(&room, error);
    for (int c = 0; c < bench->n_cells; c++)
        for (int t = 0; status == RER_OK && t < bench->cells[c].n_trials; t++) {
            status = run_trial(&room, &bench->cells[c], bench->cells[c].first_trial + t, error);
            if (status == RER_OK && c == 0) /* which says what the others will take */
                status = announce(&room.whole, "comparing,",
                                  rer_now() - start + room.whole.done * (bench->n_trials - 1), error);
        }
    free_room(&room);
    return status;
}
