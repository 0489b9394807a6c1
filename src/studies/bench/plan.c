/* The plan of a comparison (the labels as they are, the human files, every kind of noise at every rate with
 * every seed), and reading what came out. */
#include "studies/bench/bench.h"

static const char *const kind_names[RER_NOISE_KINDS] = {"symmetric", "asymmetric", "confidence", "human"};

const char *rer_noise_name(int32_t kind)
{
    return kind >= 0 && kind < RER_NOISE_KINDS ? kind_names[kind] : "none";
}

void rer_bench_free(rer_bench *bench)
{
    if (bench == NULL)
        return;
    for (int i = 0; bench->cells != NULL && i < bench->n_cells; i++)
        free(bench->cells[i].noise);
    RER_FREE_ALL(bench->cells, bench->name, bench->contestants, bench->seeds, bench->entries, bench->replicates,
                 bench->calibration, bench);
}

/* ---- the plan ---------------------------------------------------------------------------- */

static int count_rates(const rer_options *options)
{
    int n = 0;
    while (n < (int)(sizeof options->noise_rates / sizeof *options->noise_rates) && options->noise_rates[n] > 0)
        n++;
    return n;
}

static rer_status add_cell(rer_bench *bench, int32_t kind, double rate, int n_trials, const char *human,
                           rer_error *error)
{
    rer_cell *cell = &bench->cells[bench->n_cells];
    char name[200];
    (void)snprintf(name, sizeof name, "%s%s%.180s", rer_noise_name(kind), human != NULL ? ":" : "",
                   human != NULL ? human : "");
    RER_TRY(rer_copy_text(&cell->noise, name, error));
    cell->kind = kind;
    cell->rate = rate;
    cell->first_trial = bench->n_trials;
    cell->n_trials = n_trials;
    for (int i = 0; i < n_trials; i++)
        bench->seeds[bench->n_trials + i] = bench->options.seed + i;
    bench->n_trials += n_trials;
    bench->n_cells++;
    return RER_OK;
}

static rer_status make_cells(rer_bench *bench, const rer_bench_settings *settings, rer_error *error)
{
    const rer_options *options = &bench->options;
    int most = 1 + settings->n_human + RER_NOISE_KINDS * count_rates(options);
    const rer_room rooms[] = {RER_ROOM(bench->cells, most),
                              RER_ROOM(bench->seeds, (int64_t)most * options->noise_seeds)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "the plan", error));
    RER_TRY(add_cell(bench, RER_BENCH_AS_IS, 0, 1, NULL, error));
    for (int i = 0; i < settings->n_human; i++) {
        bench->cells[bench->n_cells].human = i;
        RER_TRY(add_cell(bench, RER_NOISE_HUMAN, NAN, 1, settings->human[i].name, error));
    }
    for (int32_t kind = 0; kind < RER_NOISE_HUMAN; kind++)
        for (int i = 0; (options->noise_types >> kind & 1) != 0 && i < count_rates(options); i++)
            RER_TRY(add_cell(bench, kind, options->noise_rates[i], options->noise_seeds, NULL, error));
    return RER_OK;
}

rer_status rer_bench_make(rer_bench **bench, const rer_dataset *data, const rer_bench_settings *settings,
                          const rer_options *options, rer_error *error)
{
    rer_bench *made = NULL;
    RER_TRY(rer_allocate(&made, 1, sizeof *made, "the comparison", error));
    made->options = *options;
    made->N = data->N;
    made->D = data->D;
    made->C = data->labels.C;
    rer_status status = RER_OK;
    if (data->features.name != NULL)
        status = rer_copy_text(&made->name, data->features.name, error);
    RER_THEN(status, rer_contestants_choose(&made->contestants, &made->n_contestants, settings->detectors,
                                            data->class_embeddings != NULL, error));
    RER_THEN(status, make_cells(made, settings, error));
    int64_t each = made->n_contestants;
    const rer_room rooms[] = {RER_ROOM(made->entries, made->n_trials * each),
                              RER_ROOM(made->replicates, made->n_cells * each * options->bootstrap),
                              RER_ROOM(made->calibration, RER_NOISE_KINDS * each * RER_CALIBRATION_BINS)};
    RER_THEN(status, rer_allocate_all(rooms, RER_COUNT(rooms), "metrics", error));
    if (status == RER_OK)
        *bench = made;
    else
        rer_bench_free(made);
    return status;
}

/* ---- reading ----------------------------------------------------------------------------- */

double rer_bench_cell_mean(const rer_bench *bench, int cell, int contestant, rer_metric_id metric)
{
    double sum = 0;
    int n = 0;
    for (int t = 0; t < bench->cells[cell].n_trials; t++) {
        double value = rer_bench_entry(bench, bench->cells[cell].first_trial + t, contestant)->values[metric];
        if (!isnan(value)) {
            sum += value;
            n++;
        }
    }
    return n > 0 ? sum / n : NAN;
}

double rer_bench_mean(const rer_bench *bench, int contestant, rer_metric_id metric)
{
    double sum = 0;
    int n = 0;
    for (int cell = 1; cell < bench->n_cells; cell++) {
        double value = rer_bench_cell_mean(bench, cell, contestant, metric);
        if (!isnan(value)) {
            sum += value;
            n++;
        }
    }
    return n > 0 ? sum / n : NAN;
}

int rer_bench_cells(const rer_bench *bench)
{
    return bench->n_cells;
}

const rer_bench_cell *rer_bench_cell_at(const rer_bench *bench, int cell)
{
    return cell >= 0 && cell < bench->n_cells ? &bench->cells[cell].face : NULL;
}

int rer_bench_detectors(const rer_bench *bench)
{
    return bench->n_contestants;
}

const char *rer_bench_detector(const rer_bench *bench, int detector)
{
    return detector >= 0 && detector < bench->n_contestants ? bench->contestants[detector].name : NULL;
}

const char *rer_bench_metric(int index)
{
    return index >= 0 && index < RER_METRICS ? rer_metric_name((rer_metric_id)index) : NULL;
}

static bool has_trial(const rer_bench *bench, int cell, int trial, int detector)
{
    return cell >= 0 && cell < bench->n_cells && detector >= 0 && detector < bench->n_contestants && trial >= -1 &&
           trial < bench->cells[cell].n_trials;
}

double rer_bench_value(const rer_bench *bench, int cell, int trial, int detector, const char *metric)
{
    int id = 0;
    while (id < RER_METRICS && strcmp(rer_metric_name((rer_metric_id)id), metric) != 0)
        id++;
    if (id == RER_METRICS || !has_trial(bench, cell, trial, detector))
        return NAN;
    if (trial < 0)
        return rer_bench_cell_mean(bench, cell, detector, (rer_metric_id)id);
    return rer_bench_entry(bench, bench->cells[cell].first_trial + trial, detector)->values[id];
}

double rer_bench_seconds(const rer_bench *bench, int cell, int trial, int detector)
{
    double sum = 0;
    if (!has_trial(bench, cell, trial, detector))
        return NAN;
    const rer_cell *found = &bench->cells[cell];
    if (trial >= 0)
        return rer_bench_entry(bench, found->first_trial + trial, detector)->seconds;
    for (int t = 0; t < found->n_trials; t++)
        sum += rer_bench_entry(bench, found->first_trial + t, detector)->seconds;
    return sum / found->n_trials;
}
