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
 *         rer_files files = {.size = sizeof files, .features = "X.npy", .labels = "y.npy"};
 *
 *         if (rer_dataset_open(&data, &files, NULL, &error) == RER_OK &&
 *             rer_analyze(&result, data, NULL, NULL, NULL, &error) == RER_OK &&
 *             rer_result_write(result, data, "out", &error) == RER_OK)
 *             printf("%.1f %% of the labels look wrong\n", 100 * rer_result_summary(result)->noise_rate);
 *         else
 *             fprintf(stderr, "%s\n", error.message);
 *         rer_result_free(result);
 *         rer_dataset_free(data);
 *         return (int)error.status;
 *     }
 *
 * Letters: N samples, D features, C classes. Every function that can fail returns a status. The error, if
 * one is given, is cleared at the start and filled on a failure with a message that names the file, the place
 * and the remedy; outputs, and what was to be changed, are then as they were before. The library never prints,
 * exits, or touches signal handlers, and holds no state between calls: two analyses may run at once.
 *
 * Who owns what: a function with a `**` first makes an object, which the caller frees with its _free (every
 * one accepts NULL). A `const` pointer that is returned belongs to the object that it was asked of, and lives
 * as long, unless its function says otherwise. Texts and arrays that are given are copied, unless it says so.
 *
 * Programs keep running with later 0.x libraries. So a struct that a returned `const` pointer shows may get
 * members at its end: take them one by one, never as an array. A struct of the caller's that begins with
 * `size` may grow too: set it to the sizeof of the struct, and what is not used to zero. rer_error,
 * rer_progress, rer_view, rer_seconds, rer_moments and rer_pair stay as they are. Enums get values at their
 * end only.
 *
 * In this order: data, the analysis, its results, models for new rows, options. Studies (sample size, noise,
 * comparisons, rows on other machines and more) are in rer_studies.h. */
#ifndef RER_H
#define RER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RER_VERSION_MAJOR 0
#define RER_VERSION_MINOR 2
#define RER_VERSION_PATCH 0
#define RER_VERSION "0.2.0"

#define RER_API __attribute__((visibility("default")))

RER_API const char *rer_version(void); /* of the library that is running */
/* The vector kernels and products that were chosen for this processor, as a text; the next call of this thread
 * overwrites it. */
RER_API const char *rer_kernels_in_use(void);

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

/* Settings; NULL is the defaults, wherever options are taken. How to set them is at the end. */
typedef struct rer_options rer_options;

/* Called now and then, from the calling thread; return true to stop the work (RER_CANCELLED). A NULL
 * progress, wherever one is taken, reports nothing. */
typedef struct rer_progress {
    bool (*report)(void *context, const char *stage, double fraction);
    void *context;
} rer_progress;

/* ---- data -------------------------------------------------------------------------------- */

typedef struct rer_dataset rer_dataset;

/* Where the data is. A member of a container is named file.npz:name or file.h5:/path; "-" is
 * standard input. `features` may be a folder of .jpg, .png or .webp pictures of any size: each is resized to 64 x 64
 * pixels; its path is its id, and its first sub-folder its label, where those are not given. With a model it may be a file of texts:
 * FILE.txt, FILE.csv, FILE.jsonl, or FILE:COLUMN, with labels in another column of it. Only `features` is always
 * needed; NULL: not given. */
typedef struct rer_files {
    size_t size; /* sizeof(rer_files) */
    const char *features;
    const char *labels;
    const char *label_column;     /* of a CSV of features, instead of `labels` */
    const char *class_names;      /* one name a line, in the order of the sorted labels */
    const char *ids;              /* one name a row, carried through to the outputs */
    const char *pred_probs;       /* [N, C] the user's own out-of-sample probabilities, to be pooled with ours */
    const char *subsets;          /* a name for each row (split, source, annotator); table.csv:COLUMN too */
    const char *class_embeddings; /* [C, D] in the order of the sorted labels, for the detector zeroshot */
    const char *images;           /* a picture of each row for report.html: see rer_dataset_open_images */
    const char *texts;            /* a text of each row for report.html: see rer_dataset_open_texts */
    const char *groups;           /* rows that are left out together; or "duplicates": those that are found */
    const char *model; /* encoder of a folder of pictures, or of the texts in `features`: see rer_embed_files */
    const rer_progress *progress; /* of reading a table or pictures, and of the encoder's work */
    const char *classes;          /* for the zero-shot detector, where the model knows texts too: a name a line, in the
                                   * order of the sorted labels; NULL: the labels, with spaces for their _ */
    const char *class_template;   /* what a name is put into: "a photo of a {}", where it is NULL */
} rer_files;

/* Files are kept open where they can be read in place. */
RER_API rer_status rer_dataset_open(rer_dataset **data, const rer_files *files, const rer_options *options,
                                    rer_error *error);
RER_API void rer_dataset_free(rer_dataset *data);

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

/* `features` [N, D], or pictures [N, H, W] or [N, H, W, 1..4] uint8; `labels` [N] or NULL. The
 * features are not copied and must stay until the data set is freed; labels are. */
RER_API rer_status rer_dataset_wrap(rer_dataset **data, const rer_view *features, const rer_view *labels,
                                    const rer_options *options, rer_error *error);

/* The same of `features` [N, D] of float32 in the memory of a CUDA card, which the plug-in of --device reads. An
 * analysis with --device of that card works on them where they are; all else copies what it reads, in blocks. */
RER_API rer_status rer_dataset_wrap_card(rer_dataset **data, const rer_view *features, const rer_view *labels,
                                         const rer_options *options, rer_error *error);

/* What goes with the rows of an open data set; it replaces what is there. Names, probabilities and embeddings
 * are of the classes of the labels, which come before them; where other labels come later, whether all of it
 * still fits is checked when the data set is used. Names [count] are in the order of the sorted labels, ids
 * [count] in that of the rows. */
RER_API rer_status rer_dataset_set_labels(rer_dataset *data, const rer_view *labels, rer_error *error);
RER_API rer_status rer_dataset_set_class_names(rer_dataset *data, const char *const *names, int64_t count,
                                               rer_error *error);
RER_API rer_status rer_dataset_set_ids(rer_dataset *data, const char *const *ids, int64_t count, rer_error *error);
/* The user's own out-of-sample class probabilities [N, C], classes in the order of the sorted labels: they are
 * pooled with ours. Not copied: they must stay until the data set is freed or gets others. */
RER_API rer_status rer_dataset_set_pred_probs(rer_dataset *data, const rer_view *pred_probs, rer_error *error);
/* The subset of each row, for rer_result_detail: [N] integers or texts, -1 or empty for none. */
RER_API rer_status rer_dataset_set_subsets(rer_dataset *data, const rer_view *subsets, rer_error *error);
/* Rows that are left out together, likewise; NULL: near-duplicates, as they are found. */
RER_API rer_status rer_dataset_set_groups(rer_dataset *data, const rer_view *groups, rer_error *error);
/* An embedding of each class [C, D], in the order of the sorted labels, for the detector zeroshot. */
RER_API rer_status rer_dataset_set_class_embeddings(rer_dataset *data, const rer_view *embeddings, rer_error *error);

/* What report.html shows of a row. Pictures: a folder of .jpg, .png or .webp files (named by the ids where
 * there are ids, else N of them in the order of their names, folder by folder), a text with one file name
 * a line, or uint8 [N, H, W] or [N, H, W, 1..4] in any format that holds arrays. Texts: FILE.txt with one
 * a line, FILE.csv, FILE.tsv or FILE.jsonl, with :COLUMN behind it (else the only one, or "text"). Files
 * are read when the report is written; pictures in memory are not copied and must stay until then. */
RER_API rer_status rer_dataset_open_images(rer_dataset *data, const char *path, rer_error *error);
RER_API rer_status rer_dataset_set_images(rer_dataset *data, const rer_view *images, rer_error *error);
RER_API rer_status rer_dataset_open_texts(rer_dataset *data, const char *path, rer_error *error);
RER_API rer_status rer_dataset_set_texts(rer_dataset *data, const char *const *texts, int64_t count, rer_error *error);

RER_API int64_t rer_dataset_rows(const rer_dataset *data);
RER_API int64_t rer_dataset_columns(const rer_dataset *data);
RER_API int32_t rer_dataset_classes(const rer_dataset *data);
/* Name of a class, or of a row where ids were given (else NULL); until others are set. */
RER_API const char *rer_dataset_class_name(const rer_dataset *data, int32_t c);
RER_API const char *rer_dataset_id(const rer_dataset *data, int64_t row);
/* [N] class of each row, -1: no label; NULL where none were given. Until others are set. */
RER_API const int32_t *rer_dataset_labels(const rer_dataset *data);
/* Height, width and channels where the features are pictures, else false. */
RER_API bool rer_dataset_is_pictures(const rer_dataset *data, int64_t shape[3]);

/* ---- analysis ---------------------------------------------------------------------------- */

typedef struct rer_result rer_result;

/* What an analysis writes; NULL: nothing. All of it takes its place at the end or, after a failure, nothing does. */
typedef struct rer_outputs {
    size_t size;        /* sizeof(rer_outputs) */
    const char *errors; /* Fortran-order .npy [C, N] of float32: the error of each row under each class */
    const char *model;  /* as rer_model_save writes it; not of rer_score */
    const char *folder; /* as rer_result_write fills it */
} rer_outputs;

/* The result does not need the data set, which is the caller's as before. */
RER_API rer_status rer_analyze(rer_result **result, const rer_dataset *data, const rer_options *options,
                               const rer_outputs *outputs, const rer_progress *progress, rer_error *error);
RER_API void rer_result_free(rer_result *result);

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
    double noise_low, noise_high;               /* what is beyond doubt, and what overlap may hide: docs/methods.md 4 */
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
    size_t size;       /* sizeof(rer_sample), set by the caller */
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
    bool near_whole; /* those are the nearest of all rows, not of its own class and some others alone */
} rer_sample;

RER_API const rer_summary *rer_result_summary(const rer_result *result);
/* Labelled rows from the most suspicious on, into rows [count]: returns how many. */
RER_API int64_t rer_result_suspects(const rer_result *result, int64_t count, int64_t *rows);
/* Fills the caller's `sample`; fails where there is no such row. */
RER_API rer_status rer_result_sample(rer_sample *sample, const rer_result *result, int64_t row, rer_error *error);
RER_API const char *rer_result_class_name(const rer_result *result, int32_t c); /* NULL: no such class */
RER_API const rer_class_summary *rer_result_class(const rer_result *result, int32_t c);
/* The rows nearest to one that had a second look, of the classes that it was compared with (rer_sample.near_whole: all),
 * nearest first: at most RER_NEAR_ROWS, returns how many. */
#define RER_NEAR_ROWS 10
RER_API int32_t rer_result_near(const rer_result *result, int64_t row, int64_t rows[RER_NEAR_ROWS]);
/* What a row that had a second look may be: its given class (probability: its label_score) and the likeliest others,
 * `suggested` before them; their probabilities are parts of its mistakenness. The likeliest first: at most RER_LIKELY,
 * returns how many. */
#define RER_LIKELY 5
RER_API int32_t rer_result_likely(const rer_result *result, int64_t row, int32_t classes[RER_LIKELY],
                                  double probabilities[RER_LIKELY]);
/* What a budget buys: how many of the `count` most suspicious labels are wrong, the sum of their mistakenness. */
RER_API double rer_result_expected_wrong(const rer_result *result, int64_t count);
/* Pairs of classes, the most confused first; NULL past the last. */
RER_API const rer_pair *rer_result_pair(const rer_result *result, int64_t index);
/* Notes for the user ("3 classes have one sample: ..."), or NULL past the last one. */
RER_API const char *rer_result_note(const rer_result *result, int index);

/* `data` of these is the one that the result was made from: pictures, texts, ids and names of files are its. */

/* The class that the user's own probabilities (rer_files.pred_probs) favour for a row; -1: they have no part in the
 * result, or cannot be read. */
RER_API int32_t rer_result_favoured(const rer_result *result, const rer_dataset *data, int64_t row);
/* Makes a folder of samples.csv, classes.csv, summary.json and report.html (and the files of the details, where there
 * are some), with a manifest.json that lists their sizes and checksums. It takes the place of earlier results as a
 * whole or, on an error, not at all; a folder that holds anything else is an error. */
RER_API rer_status rer_result_write(rer_result *result, const rer_dataset *data, const char *folder, rer_error *error);
/* The report alone, at any path. */
RER_API rer_status rer_result_report(const rer_result *result, const rer_dataset *data, const char *path,
                                     rer_error *error);
/* summary.json as text; free() it. */
RER_API rer_status rer_result_json(const rer_result *result, const rer_dataset *data, char **json, rer_error *error);

/* ---- models, for new rows ---------------------------------------------------------------- */

typedef struct rer_model rer_model;

/* The fitted model: it belongs to the result. NULL for a result of rer_score. */
RER_API const rer_model *rer_result_model(const rer_result *result);
RER_API rer_status rer_model_save(const rer_model *model, const char *path, rer_error *error);
RER_API rer_status rer_model_load(rer_model **model, const char *path, rer_error *error);
/* The file's bytes in memory; free() them. */
RER_API rer_status rer_model_pack(const rer_model *model, void **bytes, int64_t *size, rer_error *error);
RER_API rer_status rer_model_unpack(rer_model **model, const void *bytes, int64_t size, rer_error *error);
RER_API void rer_model_free(rer_model *model); /* not of one that belongs to a result */
/* What rows it is for, and the classes in their order. */
RER_API int64_t rer_model_columns(const rer_model *model);
RER_API int32_t rer_model_classes(const rer_model *model);
RER_API const char *rer_model_class_name(const rer_model *model, int32_t c);

/* Scores rows as new ones (nothing is left out) against a model. Labels are matched to the
 * model's classes by name; a label that the model does not know is an error. The result needs neither the
 * model nor the data set. */
RER_API rer_status rer_score(rer_result **result, const rer_model *model, const rer_dataset *data,
                             const rer_options *options, const rer_outputs *outputs, const rer_progress *progress,
                             rer_error *error);

/* ---- options ----------------------------------------------------------------------------- */

/* Options have names ("shrinkage"): those of the command line, listed by rer_options_info. */
RER_API rer_status rer_options_new(rer_options **options, rer_error *error); /* the defaults */
RER_API rer_status rer_options_copy(rer_options **copy, const rer_options *options, rer_error *error);
RER_API void rer_options_free(rer_options *options);

/* Each checks the value. Text can set every option, and is the only way to words ("auto", "paper", "off",
 * names) and lists ("64,32"); a number sets one that can be a number; a flag one that is on or off. */
RER_API rer_status rer_options_set(rer_options *options, const char *name, const char *value, rer_error *error);
RER_API rer_status rer_options_set_integer(rer_options *options, const char *name, int64_t value, rer_error *error);
RER_API rer_status rer_options_set_real(rer_options *options, const char *name, double value, rer_error *error);
RER_API rer_status rer_options_set_flag(rer_options *options, const char *name, bool value, rer_error *error);

/* The present value, as rer_options_set would take it, cut to the caller's text [size]; 256 always do. */
RER_API rer_status rer_options_get(const rer_options *options, const char *name, char *text, int64_t size,
                                   rer_error *error);
/* A real one is NaN where the present value is a word. */
RER_API rer_status rer_options_get_integer(const rer_options *options, const char *name, int64_t *value,
                                           rer_error *error);
RER_API rer_status rer_options_get_real(const rer_options *options, const char *name, double *value, rer_error *error);
RER_API rer_status rer_options_get_flag(const rer_options *options, const char *name, bool *value, rer_error *error);

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
RER_API const rer_option_info *rer_options_info(int index); /* lives for ever; NULL past the last */
/* Whether a command ("analyze") may have the option: those of one command are for no other. */
RER_API bool rer_option_is_for(const rer_option_info *info, const char *command);

/* ---- outputs ----------------------------------------------------------------------------- */

/* Whether an output could be written, before hours of work. command NULL: a file; else the folder of a command's
 * results: "analyze", "scale", "compare", "bench". */
RER_API rer_status rer_check_output(const char *path, const char *command, rer_error *error);
/* A file of this text, which appears whole or not at all. */
RER_API rer_status rer_save_text(const char *path, const char *text, rer_error *error);
/* Removes what is being written under temporary names. For a handler of signals, where it is safe to call; the
 * process must end then. */
RER_API void rer_unfinished_remove(void);

#ifdef __cplusplus
}
#endif
#endif
