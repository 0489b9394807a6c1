/* What an analysis leaves: O(N) numbers, O(C) summaries, and the model. */
#pragma once

#include "core/notes.h"
#include "core/options.h"
#include "core/pool.h"
#include "run/scores.h"
#include "source/texts.h"

/* Rows that had a second look (score/second_look.h). */
typedef struct rer_looks {
    int64_t count;
    bool whole;    /* every row was compared with all others: those are the nearest of all */
    int64_t *row;  /* [count] ascending */
    int32_t *near; /* [count, RER_NEAR_ROWS] the nearest rows, -1: none */
    int32_t
        *other;   /* [count, RER_LIKELY_OTHERS] classes that it may be of instead, the likeliest first, -1: none ... */
    float *share; /* [count, RER_LIKELY_OTHERS] ... and their shares of its mistakenness */
    float *nearness; /* [count] distance to the suggested class over that of a typical row of it; NaN: unknown */
} rer_looks;

struct rer_result {
    rer_options options;
    rer_summary summary;
    int64_t N;
    int32_t C;
    int32_t *given;       /* [N] class, -1: no label */
    int32_t *suggested;   /* [N] nearest class other than `given`; -1: invalid row */
    int32_t *proposed;    /* [N] likeliest class other than `given`, by all that is known of the row; -1: unknown */
    float *own;           /* [N] own error, NaN: missing */
    float *other;         /* [N] best other error */
    float *logit;         /* [N] log odds that the row's label, the given one or else the suggestion, is wrong;
                           NaN: not known */
    float *outlier_score; /* [N] 0..1; NaN: not judged */
    int32_t *duplicate;   /* [N] group of near-duplicates, -1: none; NULL: not searched */
    rer_looks looks;
    int64_t
        *tail; /* [n_tail] ascending: every row whose odds are among the RER_TAIL largest; NULL: all have to be asked */
    int64_t n_tail;
    uint8_t *flags;             /* [N] of RER_FLAG_... */
    rer_class_summary *classes; /* [C] */
    rer_pair *pairs;            /* [n_pairs], most confused first */
    int64_t n_pairs;
    char **names; /* [C] of the classes, owned */
    rer_notes notes;
    rer_model *model;            /* NULL for results of rer_score */
    struct rer_details *details; /* NULL: not asked for */
};

/* The file of its samples in a folder. */
static inline const char *rer_samples_name(const rer_result *result)
{
    return result->options.format == RER_FORMAT_NPZ ? "samples.npz" : "samples.csv";
}

/* A result with room for N rows, nothing scored yet and no label given. */
rer_status rer_result_make(rer_result **result, int64_t N, int32_t C, const rer_options *options, rer_error *error);
/* The classes' names from `texts` or, where that is NULL, from `names`. */
rer_status rer_result_copy_names(rer_result *result, char *const *names, const rer_texts *texts, rer_error *error);
rer_status rer_result_add_note(rer_result *result, rer_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A note on how far the numbers can be trusted: before all that are not. */
rer_status rer_result_add_doubt(rer_result *result, rer_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define RER_TAIL 65536
/* Finds the tail, once the odds are what they will be: the most suspicious rows are asked for again and again. */
rer_status rer_result_keep_tail(rer_result *result, rer_pool *pool, rer_error *error);
/* marks [N]: 1 for each of the `count` most suspicious rows, as rer_result_suspects has them. */
rer_status rer_result_mark_suspects(uint8_t *marks, const rer_result *result, int64_t count, rer_pool *pool,
                                    rer_error *error);
/* All that is known of a row; of one that is not there, that it is invalid. */
rer_sample rer_sample_of(const rer_result *result, int64_t row);

#define RER_CHI_MAX 1e6

/* own / other: 1 where both are 0, RER_CHI_MAX at most, NaN where one is missing. */
double rer_chi(double own, double other);

static inline double rer_chi_of(const rer_result *result, int64_t row)
{
    return rer_chi((double)result->own[row], (double)result->other[row]);
}

/* So many of the judged labels are the share. */
static inline int64_t rer_labels_of(const rer_summary *summary, double share)
{
    double labels = share * (double)summary->chi_all.n;
    return labels > 0 ? (int64_t)(labels + .5) : 0;
}

/* So do labels that have nothing to do with the features: no range knows of that. Of a saved model's new rows most may
 * well be wrong. */
static inline bool rer_most_look_wrong(const rer_result *result)
{
    return result->model != NULL && result->summary.noise_rate > .5;
}

enum { RER_FLAG_ISSUE = 1, RER_FLAG_INVALID = 2, RER_FLAG_OUTLIER = 4 };

/* Has a label and an error under it. */
static inline bool rer_is_scored(const rer_result *result, int64_t row)
{
    return result->given[row] >= 0 && (result->flags[row] & RER_FLAG_INVALID) == 0 && !isnan(result->own[row]);
}

/* What is suggested for a row: the likeliest class other than the given one, or else the nearest. */
static inline int32_t rer_suggested(const rer_result *result, int64_t row)
{
    return result->proposed != NULL && result->proposed[row] >= 0 ? result->proposed[row] : result->suggested[row];
}

/* Nearest class of all for a valid row: the given one where its error is not larger. */
static inline int32_t rer_predicted(const rer_result *result, int64_t row)
{
    bool keeps_label = result->given[row] >= 0 && result->own[row] <= result->other[row];
    return keeps_label ? result->given[row] : result->suggested[row];
}
