/* Which rows report.html shows, and what it shows of them: the suspects, clean examples to compare them
 * with, and the easiest and hardest samples of classes. O(rows shown), never O(N) of pictures. */
#pragma once

#include "report/thumbnails.h"
#include "run/result.h"
#include "run/run.h"

enum {
    RER_EXAMPLES = 4,      /* of each of a suspect's two classes */
    RER_CLASS_SAMPLES = 6, /* easiest of a class, and as many hardest */
    RER_BARS_MAX = 48,     /* of the bar picture of a row */
    RER_NEIGHBOURS = 4,    /* nearest rows of a suspect ... */
    RER_NEIGHBOURLY = 500, /* ... of so many suspects */
    RER_TELLING = 6,       /* columns that tell a suspect's two classes apart */
    RER_OUTLIERS_SHOWN = 36,
    RER_CLASSES_SHOWN = 2000, /* in the table and the matrix */
    RER_CLASSES_WITH_SAMPLES = 100,
};

#define RER_WORTH_A_LOOK .05 /* fewer than one mistake in 20: people stop finding any */

/* A named column of one row beside what is typical of its two classes. */
typedef struct rer_telling {
    int32_t column; /* -1: none */
    float own, given, suggested;
} rer_telling;

typedef struct rer_gallery {
    int64_t n_suspects, n_ranked;
    bool is_all_worth;    /* to look at: what follows is hardly wrong ... */
    bool is_any_worth;    /* ... and some of these may be */
    int64_t *suspects;    /* [n_suspects] labelled rows to decide on: n_ranked by suspicion, the most suspicious first,
                           then near-duplicates whose labels disagree, then rows that fit no class */
    int64_t *examples;    /* [n_suspects, 2, RER_EXAMPLES] clean rows of the given and of the suggested class, nearest
                           first; -1: none */
    int64_t *neighbours;  /* [n_suspects, RER_NEIGHBOURS] labelled rows next to the first suspects; -1: none */
    rer_telling *telling; /* [n_suspects, RER_TELLING] the most telling first; NULL: columns without names, or there
                              are pictures or texts */
    int32_t n_classes;    /* shown */
    int32_t *classes;     /* [n_classes] hardest first */
    int64_t *samples;     /* [n_classes, 2, RER_CLASS_SAMPLES] rows: easiest, hardest; -1: none */
    int64_t n_outliers;
    int64_t *outliers;         /* [n_outliers] rows that fit no class, the clearest first */
    int64_t n_rows;            /* that are shown at all */
    int64_t *rows;             /* [n_rows] the most important first, each once */
    rer_thumbnails thumbnails; /* [n_rows]; count 0 where there are no pictures */
    rer_texts texts;           /* [n_rows]; count 0 where there are no texts */
    int n_bars;
    int8_t *bars; /* [n_rows, n_bars] -100..100, where there are neither pictures nor texts; else NULL */
} rer_gallery;

rer_status rer_gallery_make(rer_gallery *gallery, const rer_result *result, const rer_dataset *data,
                            const rer_progress *progress, rer_error *error);
void rer_gallery_free(rer_gallery *gallery);

/* examples.c: fills gallery->examples. A clean row keeps its label under the rule and is unlikely to be
 * wrong; the nearest ones come from a random choice of them, by the distance of rows of unit length. */
rer_status rer_gallery_examples(rer_gallery *gallery, const rer_result *result, const rer_run *run, rer_error *error);
/* columns.c: what is typical of classes, column by column. x [n, K, D]: count [n] rows of each class.
 * middle [n, D]: medians; spread [D]: half of the range that the middle half of a class has, the mean over classes. */
typedef struct rer_typical {
    int64_t D;
    float *middle, *spread;
} rer_typical;
rer_status rer_typical_find(rer_typical *typical, const float *x, const int64_t *count, int64_t n, int64_t K, int64_t D,
                            rer_error *error);
void rer_typical_free(rer_typical *typical);
/* out [RER_TELLING]: the columns of x [D] that say most about which of two classes it is of. */
void rer_typical_tell(rer_telling *out, const rer_typical *typical, const float *x, int64_t given, int64_t suggested);
/* bars.c: fills gallery->bars: each feature relative to its mean and spread over the rows shown, neighbouring
 * features taken together where there are more than RER_BARS_MAX. */
rer_status rer_gallery_bars(rer_gallery *gallery, const rer_run *run, rer_error *error);
