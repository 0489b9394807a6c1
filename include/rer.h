/* rer: find wrong labels and measure how hard a labelled data set is.
 *
 *     #include <rer.h>
 *     #include <stdio.h>
 *
 *     int main(void)
 *     {
 *         rer_error error = {0};
 *         rer_dataset *data = NULL;
 *         rer_result *result = NULL;
 *         rer_files files = {.features = "X.npy", .labels = "y.npy"};
 *         rer_options options = rer_options_default();
 *
 *         if (rer_dataset_open(&data, &files, &options, &error) == RER_OK &&
 *             rer_analyze(&result, data, &options, NULL, &error) == RER_OK &&
 *             rer_result_write(result, data, "out", &error) == RER_OK)
 *             printf("%.1f %% of the labels look wrong\n", 100 * rer_result_summary(result)->noise_rate);
 *         else
 *             fprintf(stderr, "%s\n", error.message);
 *         rer_result_free(result);
 *         rer_dataset_free(data);
 *         return (int)error.status;
 *     }
 *
 * Letters: N samples, D features, C classes. Every function that can fail returns a status and
 * fills the error, if one is given, with a message that names the file, the place and the remedy;
 * its outputs are then unchanged. Every free accepts NULL. The library never prints, exits, or
 * touches signal handlers, and holds no state between calls: two analyses may run at once. */
#ifndef RER_H
#define RER_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RER_VERSION_MAJOR 0
#define RER_VERSION_MINOR 1
#define RER_VERSION_PATCH 0
#define RER_VERSION "0.1.0"

#define RER_API __attribute__((visibility("default")))

RER_API const char *rer_version(void);

/* ---- status ------------------------------------------------------------------------------ */

typedef enum rer_status {
    RER_OK = 0,
    RER_BAD_INPUT = 1, /* a file or array that cannot be used as it is */
    RER_BAD_USAGE = 2, /* an option or argument out of its range */
    RER_SYSTEM = 3,    /* no memory, full disk, missing permission */
    RER_CANCELLED = 4, /* the progress callback asked to stop */
} rer_status;

typedef struct rer_error {
    rer_status status;
    char message[1000];
} rer_error;

/* ---- options ----------------------------------------------------------------------------- */

typedef enum rer_reconstructor_kind {
    RER_CENTROID,
    RER_SUBSPACE,
    RER_AUTOENCODER,
    RER_PUBLISHED,
} rer_reconstructor_kind;
typedef enum rer_metric { RER_EUCLIDEAN, RER_COSINE } rer_metric;
typedef enum rer_normalize { RER_NORMALIZE_AUTO, RER_WHITEN, RER_MINMAX, RER_UNIT, RER_NONE } rer_normalize;
typedef enum rer_probability {
    RER_CHANNEL, /* from the errors of all classes and how true classes become labels */
    RER_DENSITY, /* the paper's, from the ratio alone */
} rer_probability;
typedef enum rer_picture_features { RER_HOG, RER_RAW } rer_picture_features;
typedef enum rer_comparison_kind {
    RER_COMPARE_AUTO,     /* as the runs' rows and labels say */
    RER_COMPARE_SAMPLES,  /* the same samples and labels: other features, seeds, reconstructors */
    RER_COMPARE_LABELS,   /* the same samples: other labels */
    RER_COMPARE_DATASETS, /* different data sets */
} rer_comparison_kind;
typedef enum rer_detector_kind {
    RER_DETECT_RER,
    RER_DETECT_CONFIDENT, /* confident learning on cross-fitted logistic regression */
    RER_DETECT_SIMIFEAT,  /* labels of near rows, by vote */
    RER_DETECT_KNN,       /* vote of the nearest rows */
    RER_DETECT_ZEROSHOT,  /* nearness to given embeddings of the classes */
} rer_detector_kind;
typedef enum rer_noise_kind {
    RER_NOISE_SYMMETRIC,  /* any other class */
    RER_NOISE_ASYMMETRIC, /* the next class, the first one after the last */
    RER_NOISE_CONFIDENCE, /* the wrong class that a classifier finds most probable */
    RER_NOISE_HUMAN,      /* what another file of labels says */
} rer_noise_kind;

/* "auto" is RER_AUTO, "paper" is RER_PAPER, "free" is RER_FREE, "off" is RER_OFF where an option allows it. */
#define RER_AUTO (-1e300)
#define RER_PAPER (-2e300)
#define RER_FREE (-3e300)
#define RER_OFF (-4e300)

typedef struct rer_options {
    int32_t reconstructor; /* rer_reconstructor_kind */
    int32_t normalize;     /* rer_normalize; auto: what suits the reconstructor */
    int32_t features;      /* rer_picture_features: what pictures are turned into */
    int32_t threads;       /* 0: one for each core */
    double shrinkage;      /* RER_AUTO or 0..1 */
    double threshold;      /* RER_AUTO, RER_PAPER or a mistakenness 0..1 */
    int32_t probability;   /* rer_probability: what mistakenness is */
    double budget;         /* RER_AUTO; or flag exactly this many, or percent if budget_percent */
    bool budget_percent;
    bool drop_invalid;   /* leave out rows with NaN or Inf instead of failing */
    int32_t clusters[2]; /* rer_dataset_cluster: how many, or from and to; 0: none */
    bool details;        /* rer_analyze ends with rer_result_detail (always, where the data has subsets) */
    double duplicates;   /* RER_OFF; or search for rows within this angle (degrees; RER_AUTO: from the data) */
    int64_t seed;
    int64_t memory; /* bytes of working memory at most, 0: no cap; never changes a result */

    /* subspace and autoencoder */
    int32_t folds;       /* own-class errors come from fits without the sample's fold; 1: in-sample */
    double rank;         /* of a class's subspace, or RER_AUTO */
    double fit_fraction; /* share of each class that models are fitted on */
    int64_t fit_samples; /* and at most so many of each class; 0: all */
    /* autoencoder */
    int32_t components; /* latent size */
    int32_t hidden[4];  /* sizes of hidden layers, 0 past the last */
    int32_t batch, neighbors, epochs;
    int32_t metric; /* rer_metric, of the neighbour graph */
    double dropout, regularization, loss_weight, learning_rate, repulsion;
    double spread, min_dist;
    double a, b; /* of the curve 1 / (1 + a d^2b); RER_AUTO: from spread and min_dist */

    /* detectors */
    int32_t detector;        /* rer_detector_kind: whose mistakenness, flags, noise rate and suggestions */
    int32_t classifier_rows; /* of RER_DETECT_CONFIDENT: 0 as they are, 1 of unit length */
    double classifier_c;     /* inverse of its penalty */
    int32_t quality;         /* its score: 0 self-confidence, 1 margin */
    int32_t prune_by;        /* its flags: 0 noise rate, 1 class, 2 both, 3 joint */
    double temperature;      /* of RER_DETECT_ZEROSHOT */

    /* label noise */
    int32_t noise_type; /* rer_noise_kind */
    double noise_rate;  /* share of the labels that become wrong */

    /* corrected labels */
    double automatic; /* RER_OFF, or the probability above which suggestions are applied */

    /* rer_scale */
    int32_t sizes[16]; /* samples of a class, ascending, 0 past the last; all 0: auto */
    int32_t repeats;   /* random subsets of each size */
    double exponent;   /* of the law in n: RER_AUTO, RER_FREE (fitted), RER_PAPER (1.808) or a number */
    double accuracy;   /* of the user's model, 0..1, or RER_AUTO: not known */
    double prune;      /* percent of the data that one might do without */
    double collect;    /* samples of a class that one might add; RER_AUTO: as many as there are */

    /* comparison of detectors */
    int32_t noise_types;   /* kinds to plant: 1 << rer_noise_kind, all but RER_NOISE_HUMAN */
    double noise_rates[8]; /* 0 past the last */
    int32_t noise_seeds;   /* times to plant each: seed, seed + 1, ... */
    int32_t bootstrap;     /* resamples for intervals, 0: none */

    /* rer_compare */
    int32_t comparison; /* rer_comparison_kind */
} rer_options;

RER_API rer_options rer_options_default(void);

/* Sets the option called `name` ("shrinkage") from text ("auto", ".1"), checking its range. */
RER_API rer_status rer_options_set(rer_options *options, const char *name, const char *value, rer_error *error);

/* One row of the table that the options, --help, summary.json and the Python keywords share. */
typedef struct rer_option_info {
    const char *name;     /* "shrinkage" */
    const char *metavar;  /* "auto|0..1" */
    const char *fallback; /* default as text: "auto" */
    const char *help;
    bool is_flag;
    /* Reconstructors ("subspace autoencoder"), command ("rer noise") or command and detector
     * ("rer analyze confident") that it is for; NULL: all. */
    const char *only_for;
} rer_option_info;

RER_API int rer_options_count(void);
RER_API const rer_option_info *rer_options_info(int index);
/* Whether a command ("analyze") may have the option: those of one command are for no other. */
RER_API bool rer_option_is_for(const rer_option_info *info, const char *command);
/* The present value as text; the buffer is the caller's. */
RER_API void rer_options_get(const rer_options *options, int index, char *text, int64_t size);

/* ---- progress ---------------------------------------------------------------------------- */

/* Called now and then, from the calling thread; return true to stop the work (RER_CANCELLED). */
typedef struct rer_progress {
    bool (*report)(void *context, const char *stage, double fraction);
    void *context;
} rer_progress;

/* ---- data -------------------------------------------------------------------------------- */

/* clang-format off */
typedef enum rer_dtype {
    RER_F16, RER_F32, RER_F64,
    RER_U8, RER_U16, RER_U32, RER_U64,
    RER_I8, RER_I16, RER_I32, RER_I64,
    RER_BYTES,   /* fixed-width bytes, zero-padded */
    RER_UNICODE, /* fixed-width UCS-4, zero-padded */
} rer_dtype;
/* clang-format on */

/* An array in the caller's memory, or raw in a file: native byte order, C order. */
typedef struct rer_view {
    const void *data; /* NULL: in the file `path` */
    rer_dtype dtype;
    int32_t item_size; /* bytes of one item; needed for RER_BYTES and RER_UNICODE, else 0 */
    int32_t rank;      /* 1 to 4 */
    int64_t shape[4];
    const char *path; /* where data is NULL: the file, */
    int64_t offset;   /* and the place of the first item in it */
} rer_view;

/* Where the data is. A member of a container is named file.npz:name or file.h5:/path; "-" is
 * standard input. Only `features` is needed by every command. */
typedef struct rer_files {
    const char *features;
    const char *labels;
    const char *label_column;     /* of a CSV of features, instead of `labels` */
    const char *class_names;      /* one name a line, in the order of the sorted labels */
    const char *ids;              /* one name a row, carried through to the outputs */
    const char *pred_probs;       /* [N, C] the user's own out-of-sample probabilities, to be pooled with ours */
    const char *subsets;          /* a group for each row (split, source, annotator); table.csv:COLUMN too */
    const char *class_embeddings; /* [C, D] in the order of the sorted labels, for RER_DETECT_ZEROSHOT */
    const char *images;           /* a picture of each row for report.html: see rer_dataset_open_images */
    const char *texts;            /* a text of each row for report.html: see rer_dataset_open_texts */
    const char *groups;           /* rows that are left out together; or "duplicates": those that are found */
} rer_files;

typedef struct rer_dataset rer_dataset;

RER_API rer_status rer_dataset_open(rer_dataset **data, const rer_files *files, const rer_options *options,
                                    rer_error *error);
/* `features` [N, D], or pictures [N, H, W] or [N, H, W, 1..4] uint8; `labels` [N] or NULL. The
 * features are not copied and must stay until the data set is freed. */
RER_API rer_status rer_dataset_wrap(rer_dataset **data, const rer_view *features, const rer_view *labels,
                                    const rer_options *options, rer_error *error);
RER_API void rer_dataset_free(rer_dataset *data);

/* Labels, class names and ids for a data set that is open already, copied; they replace those that
 * are there. Names [count] are in the order of the sorted labels, ids [count] in that of the rows. */
RER_API rer_status rer_dataset_set_labels(rer_dataset *data, const rer_view *labels, rer_error *error);
RER_API rer_status rer_dataset_set_class_names(rer_dataset *data, const char *const *names, int64_t count,
                                               rer_error *error);
RER_API rer_status rer_dataset_set_ids(rer_dataset *data, const char *const *ids, int64_t count, rer_error *error);
/* The user's own out-of-sample class probabilities [N, C], classes in the order of the sorted labels: they are
 * pooled with ours. Not copied. */
RER_API rer_status rer_dataset_set_pred_probs(rer_dataset *data, const rer_view *pred_probs, rer_error *error);
/* The group of each row, for rer_result_detail: [N] integers or texts, -1 or empty for none. */
RER_API rer_status rer_dataset_set_subsets(rer_dataset *data, const rer_view *subsets, rer_error *error);
/* Rows that are left out together, likewise; NULL: near-duplicates, as they are found. */
RER_API rer_status rer_dataset_set_groups(rer_dataset *data, const rer_view *groups, rer_error *error);
/* An embedding of each class [C, D], in the order of the sorted labels, for RER_DETECT_ZEROSHOT. */
RER_API rer_status rer_dataset_set_class_embeddings(rer_dataset *data, const rer_view *embeddings, rer_error *error);

/* What report.html shows of a row. Pictures: a folder of .jpg, .png or .webp files (named by the ids where
 * there are ids, else N of them in the order of their names, folder by folder), a text with one file name
 * a line, or uint8 [N, H, W] or [N, H, W, 1..4] in any format that holds arrays. Texts: FILE.txt with one
 * a line, FILE.csv, FILE.tsv or FILE.jsonl, with :COLUMN behind it (else the only one, or "text"). Files
 * are read when the report is written; pictures in memory must stay until then, texts are copied. */
RER_API rer_status rer_dataset_open_images(rer_dataset *data, const char *path, rer_error *error);
RER_API rer_status rer_dataset_set_images(rer_dataset *data, const rer_view *images, rer_error *error);
RER_API rer_status rer_dataset_open_texts(rer_dataset *data, const char *path, rer_error *error);
RER_API rer_status rer_dataset_set_texts(rer_dataset *data, const char *const *texts, int64_t count, rer_error *error);

typedef struct rer_clustering {
    int32_t clusters;
    double inertia; /* sum of squared distances to the centers, rows of unit length */
} rer_clustering;
/* Labels for a data set without any: k-means into options->clusters groups (of a range, the number that
 * makes held-out rows most likely), named 0, 1, ... from the largest on. `clustering` may be NULL. */
RER_API rer_status rer_dataset_cluster(rer_dataset *data, rer_clustering *clustering, const rer_options *options,
                                       const rer_progress *progress, rer_error *error);

RER_API int64_t rer_dataset_rows(const rer_dataset *data);
RER_API int64_t rer_dataset_columns(const rer_dataset *data);
RER_API int32_t rer_dataset_classes(const rer_dataset *data);
/* Name of a class, or of a row where ids were given (else NULL); lives as long as the data set. */
RER_API const char *rer_dataset_class_name(const rer_dataset *data, int32_t c);
RER_API const char *rer_dataset_id(const rer_dataset *data, int64_t row);
/* [N] class of each row, -1: no label; NULL where none were given. */
RER_API const int32_t *rer_dataset_labels(const rer_dataset *data);
/* The same rows with other labels: codes [N], classes of `data`. A class that no row has any more is gone,
 * and the later ones move up. It has no ids, and leans on `data`, which must stay. */
RER_API rer_status rer_dataset_relabel(rer_dataset **other, const rer_dataset *data, const int32_t *codes,
                                       rer_error *error);
/* codes [N]: the labels of another file of the same rows, as classes of `data`. */
RER_API rer_status rer_dataset_read_labels(int32_t *codes, const rer_dataset *data, const char *path, rer_error *error);
/* Height, width and channels where the features are pictures, else false. */
RER_API bool rer_dataset_is_pictures(const rer_dataset *data, int64_t shape[3]);

/* ---- analysis ---------------------------------------------------------------------------- */

typedef struct rer_result rer_result;
typedef struct rer_model rer_model;

RER_API rer_status rer_analyze(rer_result **result, const rer_dataset *data, const rer_options *options,
                               const rer_progress *progress, rer_error *error);
RER_API void rer_result_free(rer_result *result);

/* The fitted model: it belongs to the result. */
RER_API const rer_model *rer_result_model(const rer_result *result);
RER_API rer_status rer_model_save(const rer_model *model, const char *path, rer_error *error);
RER_API rer_status rer_model_load(rer_model **model, const char *path, rer_error *error);
/* The file's bytes in memory; free() them. */
RER_API rer_status rer_model_pack(const rer_model *model, void **bytes, int64_t *size, rer_error *error);
RER_API rer_status rer_model_unpack(rer_model **model, const void *bytes, int64_t size, rer_error *error);
RER_API void rer_model_free(rer_model *model);
/* What rows it is for, and the classes in their order. */
RER_API int64_t rer_model_columns(const rer_model *model);
RER_API int32_t rer_model_classes(const rer_model *model);
RER_API const char *rer_model_class_name(const rer_model *model, int32_t c);

/* Scores rows as new ones (nothing is left out) against a model. Labels are matched to the
 * model's classes by name; a label that the model does not know is an error. */
RER_API rer_status rer_score(rer_result **result, const rer_model *model, const rer_dataset *data,
                             const rer_options *options, const rer_progress *progress, rer_error *error);

/* As rer_analyze and rer_score, and streams the errors to a Fortran-order .npy [C, N] of float32. */
RER_API rer_status rer_analyze_errors(rer_result **result, const rer_dataset *data, const rer_options *options,
                                      const char *errors_path, const rer_progress *progress, rer_error *error);
RER_API rer_status rer_score_errors(rer_result **result, const rer_model *model, const rer_dataset *data,
                                    const rer_options *options, const char *errors_path, const rer_progress *progress,
                                    rer_error *error);

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
     * `merge`, rer_part_merge may have made one of several before. */
    rer_status (*ask)(void *context, const rer_message *task, bool merge, rer_part_take *take, void *taker,
                      rer_error *error);
    void *context;
} rer_parts;

/* Every part but the last has a multiple of so many rows. */
#define RER_PART_ROWS 1024

RER_API rer_status rer_dataset_apart(rer_dataset **data, int64_t rows, int64_t columns, const rer_view *labels,
                                     const rer_parts *parts, rer_error *error);

typedef struct rer_part {
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

/* ---- results ----------------------------------------------------------------------------- */

typedef struct rer_seconds {
    double read, fit, score, judge, write, total;
} rer_seconds;

typedef struct rer_moments { /* of chi over some samples */
    int64_t n;
    double mean, variance, skewness, kurtosis; /* kurtosis: 0 for a Gaussian */
} rer_moments;

/* A missing number is NaN. */
typedef struct rer_summary {
    int64_t n_samples, n_features, n_labelled, n_unlabelled, n_invalid;
    int32_t n_classes, n_singletons;
    double chi, chi0, chi_rand;                 /* spec: mean own/best other; own/rest; best/rest */
    double eta;                                 /* the paper's share of wrong labels, from chi0 and chi_rand */
    double noise_rate;                          /* estimated share of wrong labels */
    double noise_low, noise_high;               /* the same if the odds of every label were 4 times lower or higher */
    double threshold;                           /* on the scale below */
    bool threshold_on_chi;                      /* else on mistakenness */
    int64_t n_issues;                           /* flagged samples */
    double expected_wrong;                      /* how many of them are wrong, by their mistakenness */
    int64_t n_outliers;                         /* samples that fit no class */
    double duplicate_angle;                     /* rows within it, degrees, are near-duplicates; NaN: not searched */
    int64_t n_duplicates, n_duplicate_groups;   /* rows that have some, groups of them */
    int64_t n_duplicate_conflicts;              /* groups whose labels disagree */
    double error_rate;                          /* of the nearest-reconstructor rule, left out */
    double difficulty;                          /* error_rate over that of chance: 0 trivial, 1 hopeless */
    double shrinkage, temperature, rank;        /* chosen or given; NaN where they play no part */
    double own_error, best_error, second_error; /* means */
    rer_moments chi_all, chi_above_one, chi_below_one;
    double transition_entropy; /* of given -> predicted, 0..1 */
    rer_seconds seconds;
    int64_t peak_memory; /* bytes */
} rer_summary;

typedef struct rer_class_summary {
    int64_t n;
    double chi, noise_rate, own_error;
    int64_t n_issues;
    int32_t most_confused_with; /* class, or -1 */
} rer_class_summary;

typedef struct rer_pair { /* samples of class a predicted as b, and the other way round */
    int32_t a, b;
    int64_t a_as_b, b_as_a;
} rer_pair;

typedef struct rer_sample {
    int64_t row;       /* in the input */
    int32_t given;     /* class, or -1: no label */
    int32_t predicted; /* nearest class of all, or -1 for an invalid row */
    int32_t suggested; /* likeliest class other than the given one */
    double chi;        /* own error / best other error */
    double own_error, best_other_error;
    double mistakenness;           /* probability that the given label is wrong */
    double label_score;            /* 1 - mistakenness, without cancellation */
    double suggestion_probability; /* of `suggested`, for rows without a label; else NaN */
    double outlier_score;          /* 0..1: how much it looks like a sample of no class here; NaN: not judged */
    int64_t duplicates;            /* group of near-duplicates, conflicting ones first; -1: none */
    int32_t near, near_suggested;  /* nearest rows that are known (rer_result_near), and those of class `suggested` */
    double nearness;               /* distance to `suggested` over that of a typical row of it; NaN: unknown */
    bool is_issue, is_invalid, is_outlier;
} rer_sample;

RER_API const rer_summary *rer_result_summary(const rer_result *result);
RER_API const rer_class_summary *rer_result_class(const rer_result *result, int32_t c);
RER_API const char *rer_result_class_name(const rer_result *result, int32_t c);
RER_API rer_sample rer_result_sample(const rer_result *result, int64_t row);
/* Labelled rows from the most suspicious on: at most `count`, returns how many. */
RER_API int64_t rer_result_suspects(const rer_result *result, int64_t count, int64_t *rows);
/* The rows nearest to one that had a second look, nearest first: at most RER_NEAR_ROWS, returns how many. */
#define RER_NEAR_ROWS 10
RER_API int32_t rer_result_near(const rer_result *result, int64_t row, int64_t rows[RER_NEAR_ROWS]);
/* What a budget buys: how many of the `count` most suspicious labels are wrong, the sum of their mistakenness. */
RER_API double rer_result_expected_wrong(const rer_result *result, int64_t count);
/* The most confused pairs of classes: at most `count`, returns how many. */
RER_API int64_t rer_result_pairs(const rer_result *result, int64_t count, rer_pair *pairs);
/* Notes for the user ("3 classes have one sample: ..."), or NULL past the last one. */
RER_API const char *rer_result_note(const rer_result *result, int index);

/* Writes samples.csv, classes.csv, summary.json and report.html (and the files of the details, where there
 * are some) into a folder, made if missing: all of them or, on an error, none. */
RER_API rer_status rer_result_write(rer_result *result, const rer_dataset *data, const char *folder, rer_error *error);
/* The report alone, at any path. */
RER_API rer_status rer_result_report(const rer_result *result, const rer_dataset *data, const char *path,
                                     rer_error *error);
/* summary.json as text; free() it. */
RER_API rer_status rer_result_json(const rer_result *result, const rer_dataset *data, char **json, rer_error *error);

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

/* The whole data; by class (of the given label); by the groups of rer_files.subsets. */
typedef enum rer_grouping { RER_WHOLE, RER_BY_CLASS, RER_BY_SUBSET } rer_grouping;

typedef struct rer_group {
    const char *name;
    int64_t n, n_issues;
    double chi, error_rate, noise_rate, own_error; /* means over the labelled rows */
    double difficulty;                             /* as in rer_summary; NaN where n is 0 */
    rer_interval chi_within;                       /* bootstrap */
    /* Of a class: errors under it, of its own rows and of all others. Else: errors of the rows of the
     * group, under their own class and under all others. */
    rer_spread own, others;
} rer_group;

#define RER_BETWEEN 5
typedef struct rer_pair_detail {
    rer_pair pair;                        /* a_as_b, b_as_a: nearest of all classes */
    double error_rate, difficulty;        /* of telling the two apart */
    double merged_chi, merged_error_rate; /* of the whole data with the two as one class: NaN for two classes */
    bool is_better_merged;                /* difficulty over .5: chance explains more than the features do */
    int n_between;
    int64_t between[RER_BETWEEN]; /* rows of the two that sit between them */
} rer_pair_detail;

/* Scores all rows twice more, by the result's model, and keeps what follows with the result. */
RER_API rer_status rer_result_detail(rer_result *result, const rer_dataset *data, const rer_progress *progress,
                                     rer_error *error);
/* NULL past the last, and without details. */
RER_API const rer_group *rer_result_group(const rer_result *result, rer_grouping grouping, int32_t index);
RER_API const rer_pair_detail *rer_result_pair_detail(const rer_result *result, int index);
/* Labelled rows of the smallest (or largest) chi, the most extreme first: at most `count`, returns how many. */
RER_API rer_status rer_result_extremes(const rer_result *result, bool hardest, int64_t count, int64_t *rows,
                                       int64_t *found, rer_error *error);

/* ---- corrected labels --------------------------------------------------------------------- */

typedef struct rer_apply_files {
    const char *labels;       /* those that were judged */
    const char *label_column; /* of a table, or NULL */
    const char *class_names;  /* as given to rer analyze, for a folder of results; or NULL */
    const char *decisions;    /* decisions.csv of report.html, or the folder of results with `automatic` */
    const char *out;          /* for the corrected labels, in the form of `labels` (.npy, or one a line) ... */
    const char *weights;      /* ... or for weights [N] of the labels as they are, instead */
} rer_apply_files;

typedef struct rer_apply_summary {
    int64_t n_rows, n_decisions;
    int64_t n_kept, n_changed, n_dropped; /* n_changed: of those with a label and those without */
    int64_t n_without_suggestion;         /* rows above the probability that were not flagged, and so stay */
} rer_apply_summary;

/* Applies decisions to the labels that they were made for: others are refused, by their checksum and row
 * by row. A dropped sample gets no label (-1, NaN or an empty text). With options->automatic, all
 * suggestions of a folder of results above that probability are applied instead. Weights: of decisions, 0
 * where the label was found wrong or dropped, else 1; of results, the probability that the label is right. */
RER_API rer_status rer_apply(rer_apply_summary *summary, const rer_apply_files *files, const rer_options *options,
                             rer_error *error);

/* ---- label noise ------------------------------------------------------------------------- */

/* Wrong labels on purpose: noisy [N] is given [N] (classes 0..C-1, -1: no label) with round(noise_rate
 * * labelled rows) of them changed, drawn without replacement. RER_NOISE_CONFIDENCE and
 * RER_NOISE_HUMAN take the new class from target [N] (else NULL) and change only rows where it is
 * another one: fewer where there are fewer. The same seed with a higher rate changes the same rows and
 * more. *n_changed (may be NULL) becomes their number. */
RER_API rer_status rer_noise_plant(int32_t *noisy, int64_t *n_changed, const int32_t *given, const int32_t *target,
                                   int64_t N, int32_t C, const rer_options *options, rer_error *error);

typedef struct rer_noise_summary {
    int64_t n_labelled, n_changed;
    int32_t n_classes;
} rer_noise_summary;

/* The labels of a file with noise, in the same form: an array keeps its type (.npy), texts stay texts
 * (.npy, or one a line in .csv, .tsv, .txt). `human`: file with the other labels for RER_NOISE_HUMAN.
 * files->features is for RER_NOISE_CONFIDENCE alone. */
RER_API rer_status rer_noise_file(const char *out, rer_noise_summary *summary, const rer_files *files,
                                  const char *human, const rer_options *options, const rer_progress *progress,
                                  rer_error *error);

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
 * out), and fits the law to the means. */
RER_API rer_status rer_scale(rer_scaling **scaling, const rer_dataset *data, const rer_options *options,
                             const rer_progress *progress, rer_error *error);
RER_API void rer_scaling_free(rer_scaling *scaling);

RER_API int rer_scaling_count(const rer_scaling *scaling);
/* Ascending in n; the last one is the whole data. NULL past the last. */
RER_API const rer_scale_point *rer_scaling_point(const rer_scaling *scaling, int index);
RER_API const rer_scale_law *rer_scaling_law(const rer_scaling *scaling, rer_measure measure);
RER_API rer_forecast rer_scaling_forecast(const rer_scaling *scaling, double n);
/* Samples of a class after pruning, or after collecting, as the options say. */
RER_API double rer_scaling_pruned(const rer_scaling *scaling);
RER_API double rer_scaling_collected(const rer_scaling *scaling);
/* Warnings and notes, or NULL past the last one. */
RER_API const char *rer_scaling_note(const rer_scaling *scaling, int index);

/* Writes scale.html, scale.csv, scale.json, scale.svg and scale_error.svg into a folder, made if missing: all or none. */
RER_API rer_status rer_scaling_write(const rer_scaling *scaling, const char *folder, rer_error *error);
/* scale.json as text; free() it. */
RER_API rer_status rer_scaling_json(const rer_scaling *scaling, char **json, rer_error *error);

/* ---- runs side by side ----------------------------------------------------------------------- */

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

/* Compares the runs in folders that rer_result_write has filled. column: of samples.csv, NULL: rer.
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
RER_API rer_regression rer_comparison_regression(const rer_comparison *comparison);
RER_API const char *rer_comparison_note(const rer_comparison *comparison, int index);
/* compare.json as text; free() it. */
RER_API rer_status rer_comparison_json(const rer_comparison *comparison, char **json, rer_error *error);
/* Writes compare.html, compare.json, tables and charts into a folder, made if missing: all or none. */
RER_API rer_status rer_comparison_write(const rer_comparison *comparison, const char *folder, rer_error *error);

/* y(n) of a law. */
RER_API double rer_scale_law_at(const rer_scale_law *law, double n);
/* The law through points (n, y) [count]; exponent NaN: fitted too. At least 3 points, 4 with a fitted exponent. */
RER_API rer_scale_law rer_scale_law_fit(const double *n, const double *y, int count, double exponent);

/* ---- comparison of detectors ------------------------------------------------------------- */

/* Other labels of the same rows, whose disagreements with the data set's own are mistakes. */
typedef struct rer_bench_labels {
    const char *name;
    const int32_t *codes; /* [N] classes of the data set (rer_dataset_read_labels), -1: none */
} rer_bench_labels;

typedef struct rer_bench_settings {
    const char *detectors;         /* names with commas between; NULL: all that need nothing else */
    const rer_bench_labels *human; /* [n_human] */
    int32_t n_human;
} rer_bench_settings;

typedef struct rer_bench rer_bench;

/* Plants noise (noise_types, noise_rates, noise_seeds of the options) in the labels and asks every
 * detector on the same features. `settings` may be NULL. */
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
RER_API rer_bench_cell rer_bench_cell_at(const rer_bench *bench, int cell);
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

/* Writes bench.html, bench.csv, bench.json and charts (.svg) into a folder, made if missing: all or none. */
RER_API rer_status rer_bench_write(const rer_bench *bench, const char *folder, rer_error *error);
/* bench.json as text; free() it. */
RER_API rer_status rer_bench_json(const rer_bench *bench, char **json, rer_error *error);

#ifdef __cplusplus
}
#endif
#endif
