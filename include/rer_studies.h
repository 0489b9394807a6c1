/* Studies of a labelled data set, beside the analysis itself (rer.h, whose rules hold here too): difficulty in
 * detail, sample size, labels by clustering, corrected labels, runs side by side, label noise, detectors side
 * by side, and rows that lie on other machines.
 *
 * Structs that stay as they are: rer_interval, rer_spread, rer_scale_law, rer_forecast, rer_bench_labels,
 * rer_bench_difference, rer_message and rer_parts. */
#ifndef RER_STUDIES_H
#define RER_STUDIES_H

#include <rer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- difficulty in detail ------------------------------------------------------------------ */

typedef struct rer_interval { /* of 95 %; NaN where it cannot be said */
    double low, high;
} rer_interval;

typedef struct rer_spread { /* of errors */
    int64_t n;
    double mean, deviation;
    double low, high; /* smallest and largest */
    double r2;        /* of the Gaussian of this mean and deviation, over a histogram of 100 bins */
} rer_spread;

/* What numbers are of: the whole data, a class (of the given label), a subset of rer_files.subsets. */
typedef enum rer_portion_kind { RER_WHOLE, RER_BY_CLASS, RER_BY_SUBSET } rer_portion_kind;

typedef struct rer_portion {
    const char *name;
    int64_t n, n_issues;
    double chi, error_rate, noise_rate, own_error; /* means over the labelled rows */
    double difficulty;                             /* as in rer_summary; NaN where n is 0 */
    rer_interval chi_within;                       /* bootstrap */
    /* Of a class: errors under it, of its own rows and of all others. Else: errors of the rows of the
     * portion, under their own class and under all others. */
    rer_spread own, others;
} rer_portion;

#define RER_BETWEEN 5
typedef struct rer_pair_detail {
    rer_pair pair;                        /* a_as_b, b_as_a: nearest of all classes */
    double error_rate, difficulty;        /* of telling the two apart */
    double merged_chi, merged_error_rate; /* of the whole data with the two as one class: NaN for two classes */
    bool is_better_merged; /* of three classes or more; difficulty over .5 without the labels called wrong */
    int n_between;
    int64_t between[RER_BETWEEN]; /* rows of the two that sit between them */
} rer_pair_detail;

/* Scores all rows of `data`, from which the result was made, twice more by the result's model, and keeps what
 * follows with the result. The option details has rer_analyze do this. */
RER_API rer_status rer_result_detail(rer_result *result, const rer_dataset *data, const rer_progress *progress,
                                     rer_error *error);
/* NULL past the last, and without details. */
RER_API const rer_portion *rer_result_portion(const rer_result *result, rer_portion_kind kind, int32_t index);
RER_API const rer_pair_detail *rer_result_pair_detail(const rer_result *result, int index);
/* Labelled rows of the smallest (or largest) chi, the most extreme first, into rows [count]; *found: how many. */
RER_API rer_status rer_result_extremes(const rer_result *result, bool hardest, int64_t count, int64_t *rows,
                                       int64_t *found, rer_error *error);

/* ---- sample size ------------------------------------------------------------------------- */

/* What is measured against the number of samples of a class. */
typedef enum rer_measure { RER_CHI, RER_CHI0, RER_CHI_RAND, RER_ERROR_RATE } rer_measure;
#define RER_MEASURES 4

typedef struct rer_scale_point {
    double n;        /* samples of a class that the models were fitted on; the mean where classes are smaller */
    int64_t rows;    /* of all classes together */
    int32_t subsets; /* random subsets of this size; 1 for the whole data */
    /* Of all rows, by rer_measure: mean over the subsets, and standard deviation (NaN for one subset). */
    double mean[RER_MEASURES], deviation[RER_MEASURES];
} rer_scale_point;

/* y(n) = (limit n^gamma0 + gamma1) / (n^gamma0 + gamma2); all NaN where there are too few points. */
typedef struct rer_scale_law {
    double limit, gamma0, gamma1, gamma2;
    bool is_free; /* gamma0 was fitted, not given */
    double r2;
    rer_interval limit_within, gamma0_within, gamma1_within, gamma2_within;
} rer_scale_law;

/* What a change of the data would do: the law's difference between the two n, added to what is measured now. */
typedef struct rer_forecast {
    double n;                   /* samples of a class after the change */
    double value[RER_MEASURES]; /* NaN without a law */
    double accuracy;            /* of the user's model, NaN where it was not given */
} rer_forecast;

typedef struct rer_scaling rer_scaling;

/* Fits models to random subsets of growing size, scores all rows by each (those of the subset left
 * out), and fits the law to the means. Does not need the data set afterwards. */
RER_API rer_status rer_scale(rer_scaling **scaling, const rer_dataset *data, const rer_options *options,
                             const rer_progress *progress, rer_error *error);
RER_API void rer_scaling_free(rer_scaling *scaling);

RER_API int rer_scaling_count(const rer_scaling *scaling);
/* Ascending in n; the last one is the whole data. NULL past the last. */
RER_API const rer_scale_point *rer_scaling_point(const rer_scaling *scaling, int index);
RER_API const rer_scale_law *rer_scaling_law(const rer_scaling *scaling, rer_measure measure);
RER_API rer_forecast rer_scaling_forecast(const rer_scaling *scaling, double n);
/* Whether it changes the error by so much that it is worth a word: by its standard error over the rows there are, and by
 * one more or fewer in 2,000 samples. */
RER_API bool rer_scaling_changes(const rer_scaling *scaling, const rer_forecast *forecast);
/* Samples of a class after pruning, or after collecting, as the options say. */
RER_API double rer_scaling_pruned(const rer_scaling *scaling);
RER_API double rer_scaling_collected(const rer_scaling *scaling);
/* Warnings and notes, or NULL past the last one. */
RER_API const char *rer_scaling_note(const rer_scaling *scaling, int index);

/* Writes scale.html, scale.csv, scale.json, scale.svg and scale_error.svg into a folder, as rer_result_write does. */
RER_API rer_status rer_scaling_write(const rer_scaling *scaling, const char *folder, rer_error *error);
/* scale.json as text; free() it. */
RER_API rer_status rer_scaling_json(const rer_scaling *scaling, char **json, rer_error *error);

/* y(n) of a law. */
RER_API double rer_scale_law_at(const rer_scale_law *law, double n);
/* The law through points (n, y) [count]; exponent NaN: fitted too. At least 3 points, 4 with a fitted exponent. */
RER_API rer_scale_law rer_scale_law_fit(const double *n, const double *y, int count, double exponent);

/* ---- labels by clustering ------------------------------------------------------------------ */

typedef struct rer_clustering {
    size_t size; /* sizeof(rer_clustering), set by the caller */
    int32_t clusters;
    double inertia; /* sum of squared distances to the centers, rows of unit length */
} rer_clustering;

/* Labels for a data set without any: k-means into as many groups as the option clusters says (of a range, the
 * number that makes held-out rows most likely), named 0, 1, ... from the largest on. `clustering` may be NULL. */
RER_API rer_status rer_dataset_cluster(rer_dataset *data, rer_clustering *clustering, const rer_options *options,
                                       const rer_progress *progress, rer_error *error);

/* ---- other labels of the same rows --------------------------------------------------------- */

/* The same rows with other labels: codes [N], classes of `data`. A class that no row has any more is gone,
 * and the later ones move up. It has no ids, and leans on `data`, which must stay until it is freed. */
RER_API rer_status rer_dataset_relabel(rer_dataset **other, const rer_dataset *data, const int32_t *codes,
                                       rer_error *error);
/* The caller's codes [N]: the labels of another file of the same rows, as classes of `data`. */
RER_API rer_status rer_dataset_read_labels(int32_t *codes, const rer_dataset *data, const char *path, rer_error *error);

/* ---- corrected labels --------------------------------------------------------------------- */

typedef struct rer_apply_files {
    size_t size;              /* sizeof(rer_apply_files) */
    const char *labels;       /* those that were judged */
    const char *label_column; /* of a table, or NULL */
    const char *class_names;  /* as given to rer analyze, for a folder of results; or NULL */
    const char *decisions;    /* decisions.csv, or a folder: of a review, or of results with the option auto */
    const char *out;          /* for the corrected labels, in the form of `labels` (.npy, or one a line) ... */
    const char *weights;      /* ... or for weights [N] of the labels as they are, instead */
} rer_apply_files;

typedef struct rer_apply_summary {
    size_t size; /* sizeof(rer_apply_summary), set by the caller */
    int64_t n_rows, n_decisions;
    int64_t n_kept, n_changed, n_dropped; /* n_changed: of those with a label and those without */
    int64_t n_without_suggestion;         /* rows above the probability that were not flagged, and so stay */
} rer_apply_summary;

/* Applies decisions to the labels that they were made for: others are refused, by their checksum and row
 * by row. Of several reviewers the majority counts; ties are refused. A dropped sample gets no label (-1, NaN or
 * an empty text). With the option auto, all
 * suggestions of a folder of results above that probability are applied instead. Weights: of decisions, 0
 * where the label was found wrong or dropped, else 1; of results, the probability that the label is right.
 * `summary` may be NULL. */
RER_API rer_status rer_apply(rer_apply_summary *summary, const rer_apply_files *files, const rer_options *options,
                             rer_error *error);

/* ---- a review in a browser ------------------------------------------------------------------ */

typedef struct rer_review_settings {
    size_t size;          /* sizeof(rer_review_settings) */
    const char *reviewer; /* whose decisions they are where a page names nobody; NULL: "reviewer" */
    int32_t port;         /* 0: any that is free */
    void (*ready)(void *context, const char *address); /* called once, when the address is served; or NULL */
    void *context;
} rer_review_settings;

/* Serves the report of a folder that rer_result_write has filled, on this machine alone, until `progress` asks to stop:
 * that is no failure. Decisions are kept in the folder as they are made, in decisions.jsonl. */
RER_API rer_status rer_review_serve(const char *folder, const rer_review_settings *settings,
                                    const rer_progress *progress, rer_error *error);
/* The decisions of all reviewers so far, as decisions.csv for rer_apply. */
RER_API rer_status rer_review_export(const char *folder, const char *out, rer_error *error);

/* ---- runs side by side ----------------------------------------------------------------------- */

typedef enum rer_comparison_kind {
    RER_COMPARE_AUTO,     /* as the runs' rows and labels say */
    RER_COMPARE_SAMPLES,  /* the same samples and labels: other features, seeds, reconstructors */
    RER_COMPARE_LABELS,   /* the same samples: other labels */
    RER_COMPARE_DATASETS, /* different data sets */
} rer_comparison_kind;

typedef struct rer_comparison rer_comparison;

typedef struct rer_compared_run {
    const char *name, *path, *reconstructor;
    int64_t n_samples, n_features, n_classes, n_issues;
    double chi, difficulty, error_rate, noise_rate;
    double model_error;    /* of the file of error rates, NaN: not given */
    double expected_error; /* what the regression over all runs says for this chi */
} rer_compared_run;

/* How runs a and b (places in the list) agree: rank correlation, and discounted gain with a's numbers as
 * the truth and b's as the order (reverse: the other way round). NaN where it is not defined. */
typedef struct rer_agreement {
    int a, b;
    double spearman_samples, spearman_classes;
    double ndcg_samples, ndcg_classes, ndcg_samples_reverse, ndcg_classes_reverse;
} rer_agreement;

/* A sample that the runs rank differently: its lowest and highest rank, 0 (smallest) to 1. */
typedef struct rer_disagreement {
    int64_t row;
    double low, high;
    int low_run, high_run;
} rer_disagreement;

/* What changed from the labels of the first run to those of another one. */
typedef struct rer_relabelling {
    int64_t n_changed, n_added, n_removed; /* labels that are others; that were missing; that are missing now */
    int64_t n_flagged;                     /* of the changed, flagged before */
    int64_t n_still_flagged;               /* of the changed, flagged after */
    double chi_before, chi_after;          /* means over the changed */
} rer_relabelling;

typedef struct rer_regression { /* log(model error) = slope chi + intercept */
    int n;
    double slope, intercept, pearson;
    double pearson_difficulty; /* of log(model error) and log(difficulty) */
} rer_regression;

/* Compares the runs in folders [count] that rer_result_write has filled. column: of samples.csv, NULL: rer.
 * error_rates: CSV with a column `run` and one of `error_rate` or `accuracy`, or NULL. */
RER_API rer_status rer_compare(rer_comparison **comparison, const char *const *folders, int count, const char *column,
                               const char *error_rates, const rer_options *options, rer_error *error);
RER_API void rer_comparison_free(rer_comparison *comparison);

RER_API rer_comparison_kind rer_comparison_mode(const rer_comparison *comparison); /* never auto */
/* Each is NULL past the last. Pairs come as (0, 1), (0, 2), ..., (1, 2), ...; disagreements from the
 * largest on; relabelling `index` is from run 0 to run index + 1. Only those of the mode are there. */
RER_API const rer_compared_run *rer_comparison_run(const rer_comparison *comparison, int index);
RER_API const rer_agreement *rer_comparison_pair(const rer_comparison *comparison, int index);
RER_API const rer_disagreement *rer_comparison_disagreement(const rer_comparison *comparison, int index);
RER_API const rer_relabelling *rer_comparison_relabelling(const rer_comparison *comparison, int index);
RER_API const rer_regression *rer_comparison_regression(const rer_comparison *comparison);
RER_API const char *rer_comparison_note(const rer_comparison *comparison, int index);
/* compare.json as text; free() it. */
RER_API rer_status rer_comparison_json(const rer_comparison *comparison, char **json, rer_error *error);
/* Writes compare.html, compare.json, tables and charts into a folder, as rer_result_write does. */
RER_API rer_status rer_comparison_write(const rer_comparison *comparison, const char *folder, rer_error *error);

/* ---- label noise ------------------------------------------------------------------------- */

/* Wrong labels on purpose, by the options type, rate and seed: the caller's noisy [N] becomes given [N]
 * (classes 0..C-1, -1: no label) with round(rate * labelled rows) of them changed, drawn without replacement.
 * The types confidence and human take the new class from target [N] (else NULL) and change only rows where
 * it is another one: fewer where there are fewer. The same seed with a higher rate changes the same rows and
 * more. *n_changed (may be NULL) becomes their number. */
RER_API rer_status rer_noise_plant(int32_t *noisy, int64_t *n_changed, const int32_t *given, const int32_t *target,
                                   int64_t N, int32_t C, const rer_options *options, rer_error *error);

typedef struct rer_noise_summary {
    size_t size; /* sizeof(rer_noise_summary), set by the caller */
    int64_t n_labelled, n_changed;
    int32_t n_classes;
} rer_noise_summary;

/* The labels of a file with noise, in the same form: an array keeps its type (.npy), texts stay texts
 * (.npy, or one a line in .csv, .tsv, .txt). `human`: file with the other labels for the type human.
 * files->features is for the type confidence alone. `summary` may be NULL. */
RER_API rer_status rer_noise_file(const char *out, rer_noise_summary *summary, const rer_files *files,
                                  const char *human, const rer_options *options, const rer_progress *progress,
                                  rer_error *error);

/* ---- detectors side by side ---------------------------------------------------------------- */

/* Other labels of the same rows, whose disagreements with the data set's own are mistakes. */
typedef struct rer_bench_labels {
    const char *name;
    const int32_t *codes; /* [N] classes of the data set (rer_dataset_read_labels), -1: none */
} rer_bench_labels;

typedef struct rer_bench_settings {
    size_t size;                   /* sizeof(rer_bench_settings) */
    const char *detectors;         /* names with commas between, or "all"; NULL: the usual ones */
    const rer_bench_labels *human; /* [n_human] */
    int32_t n_human;
} rer_bench_settings;

typedef struct rer_bench rer_bench;

/* Plants noise (options noise, rates, seeds) in the labels and asks every detector on the same features.
 * `settings` may be NULL. Does not need the data set or the settings afterwards. */
RER_API rer_status rer_bench_run(rer_bench **bench, const rer_dataset *data, const rer_bench_settings *settings,
                                 const rer_options *options, const rer_progress *progress, rer_error *error);
RER_API void rer_bench_free(rer_bench *bench);

/* Names that `detectors` may have; NULL past the last. */
RER_API const char *rer_bench_detector_name(int index);

/* A cell is one kind of noise at one rate, with one trial for each seed. Cell 0: the labels as they are. */
typedef struct rer_bench_cell {
    const char *noise; /* "none", "symmetric", "asymmetric", "confidence" or "human:NAME" */
    double rate;       /* share of wrong labels */
    int n_trials;
} rer_bench_cell;

RER_API int rer_bench_cells(const rer_bench *bench);
RER_API const rer_bench_cell *rer_bench_cell_at(const rer_bench *bench, int cell); /* NULL past the last */
RER_API int rer_bench_detectors(const rer_bench *bench);
RER_API const char *rer_bench_detector(const rer_bench *bench, int detector);
/* Metrics: "auroc", "f1" and so on; NULL past the last. */
RER_API const char *rer_bench_metric(int index);
/* A metric of a trial, or with trial -1 its mean over the cell's trials. NaN: not defined, or no such. */
RER_API double rer_bench_value(const rer_bench *bench, int cell, int trial, int detector, const char *metric);
RER_API double rer_bench_seconds(const rer_bench *bench, int cell, int trial, int detector);

typedef struct rer_bench_difference {
    double mean, low, high; /* AUROC of one minus that of the other; 95 % interval, NaN: none */
} rer_bench_difference;

/* Paired bootstrap over the samples, of the mean over the cell's trials. */
RER_API rer_status rer_bench_gap(rer_bench_difference *gap, const rer_bench *bench, int cell, int detector, int other,
                                 rer_error *error);

/* Writes bench.html, bench.csv, bench.json and charts (.svg) into a folder, as rer_result_write does. */
RER_API rer_status rer_bench_write(const rer_bench *bench, const char *folder, rer_error *error);
/* bench.json as text; free() it. */
RER_API rer_status rer_bench_json(const rer_bench *bench, char **json, rer_error *error);

/* ---- pictures and texts to features ---------------------------------------------------------- */

typedef struct rer_embed_files {
    size_t size;        /* sizeof(rer_embed_files) */
    const char *input;  /* a folder of .jpg, .png or .webp pictures, best with a sub-folder for each class; or a file of
                         * texts: .txt, .csv, .tsv, .jsonl, or FILE:COLUMN */
    const char *out;    /* X.npy; beside it X_ids.csv, X_labels.csv (sub-folders), X_skipped.csv (what is unreadable) */
    const char *model;  /* a folder of Hugging Face's layout, or an .onnx or .xml; NULL: the built-in descriptor */
    const char *output; /* the model's output that has the features; NULL: as config.json says */
    const char *mean, *std;     /* of red, green and blue (0.485,0.456,0.406); NULL: as preprocessor_config.json says */
    const char *classes;        /* names of classes, one a line: their embeddings go to X_classes.npy, float32 */
    const char *class_template; /* what a name is put into; NULL: "a photo of a {}" */
} rer_embed_files;

typedef struct rer_embed_summary {
    size_t size;        /* sizeof(rer_embed_summary) */
    int64_t n_pictures; /* files, or texts, that were found: known before the first report of progress */
    int64_t n_rows, n_columns;
    int64_t n_skipped; /* pictures that cannot be read */
    int64_t n_before;  /* of n_pictures, done by an earlier call that was stopped */
    double seconds;
} rer_embed_summary;

/* Features of pictures or texts by a model, or of pictures by the built-in descriptor. A model needs OpenVINO, which is
 * loaded then. Rows go to `out` with .part behind its name as they are made; where the work was stopped, the same call
 * goes on there. All outputs take their places at the end. */
RER_API rer_status rer_embed(rer_embed_summary *summary, const rer_embed_files *files, const rer_options *options,
                             const rer_progress *progress, rer_error *error);

/* ---- rows on other machines ---------------------------------------------------------------- */

/* A data set may lie in parts, anywhere. rer_analyze then goes over it in rounds: it makes a task, the
 * caller has rer_part_answer called with it where each part is, and hands the answers back. Tasks and
 * answers are bytes for processes of the same version; the results are those of one machine, bit for
 * bit on the same kind of processor. Only the reconstructor centroid can do this. */
typedef struct rer_message {
    const void *data;
    int64_t size;
} rer_message;

typedef rer_status rer_part_take(void *taker, const rer_message *answer, rer_error *error);

typedef struct rer_parts {
    /* Calls take(taker, ...) with the answers of all parts, in any order and one at a time. Where
     * `merge`, rer_part_merge may have made one of several before. The task is the library's, the answers are
     * the caller's, each until its call returns. */
    rer_status (*ask)(void *context, const rer_message *task, bool merge, rer_part_take *take, void *taker,
                      rer_error *error);
    void *context;
} rer_parts;

/* Every part but the last has a multiple of so many rows. */
#define RER_PART_ROWS 1024

/* parts->context must stay until the data set is freed. */
RER_API rer_status rer_dataset_apart(rer_dataset **data, int64_t rows, int64_t columns, const rer_view *labels,
                                     const rer_parts *parts, rer_error *error);

typedef struct rer_part {
    size_t size;          /* sizeof(rer_part) */
    rer_view rows;        /* [n, D] */
    const int32_t *codes; /* [n] their classes */
    int64_t first;        /* place of the first one in the whole */
    int32_t threads;      /* 0: one for each core */
} rer_part;

/* free() what these make. */
RER_API rer_status rer_part_answer(void **answer, int64_t *size, const rer_part *part, const rer_message *task,
                                   const rer_progress *progress, rer_error *error);
RER_API rer_status rer_part_merge(void **merged, int64_t *size, const rer_message *left, const rer_message *right,
                                  rer_error *error);

#ifdef __cplusplus
}
#endif
#endif
