/* The options as the library uses them; callers have them by name alone (rer.h). options.c holds the table. */
#pragma once

#include "rer_studies.h"

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
typedef enum rer_samples_format { RER_FORMAT_CSV, RER_FORMAT_NPZ } rer_samples_format;
typedef enum rer_picture_features { RER_HOG, RER_RAW } rer_picture_features;
typedef enum rer_preset {
    RER_PRESET_NONE,
    RER_PRESET_CLIP,
    RER_PRESET_SIGLIP,
    RER_PRESET_DINOV2,
    RER_PRESET_IMAGENET,
} rer_preset;
typedef enum rer_embed_dtype { RER_EMBED_F16, RER_EMBED_F32 } rer_embed_dtype;
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

typedef enum rer_device_choice {
    RER_DEVICE_CPU,
    RER_DEVICE_AUTO, /* the first card that can be used, or else the CPU */
    RER_DEVICE_CUDA, /* card 0; the others follow */
} rer_device_choice;

/* The card that is asked for; auto: the one that the rows lie on, or the first. */
static inline int32_t rer_device_card(int32_t choice, int32_t of_rows)
{
    return choice >= RER_DEVICE_CUDA ? choice - RER_DEVICE_CUDA : of_rows;
}

/* "auto" is RER_AUTO, "paper" is RER_PAPER, "free" is RER_FREE, "off" is RER_OFF where an option allows it. */
#define RER_AUTO (-1e300)
#define RER_PAPER (-2e300)
#define RER_FREE (-3e300)
#define RER_OFF (-4e300)

struct rer_options {
    int32_t reconstructor; /* rer_reconstructor_kind */
    int32_t normalize;     /* rer_normalize; auto: what suits the reconstructor */
    int32_t features;      /* rer_picture_features: what pictures are turned into */
    int32_t threads;       /* 0: one for each core */
    double shrinkage;      /* RER_AUTO or 0..1 */
    double threshold;      /* RER_AUTO, RER_PAPER or a mistakenness 0..1 */
    int32_t probability;   /* rer_probability: what mistakenness is */
    double budget;         /* RER_AUTO; or flag exactly this many, or percent if budget_percent */
    bool budget_percent;
    bool drop_invalid;     /* leave out rows with NaN or Inf instead of failing */
    bool strict;           /* a picture of a folder that cannot be read is an error, instead of left out */
    int32_t clusters[2];   /* rer_dataset_cluster: how many, or from and to; 0: none */
    int32_t format;        /* rer_samples_format, of the samples that are written */
    bool spreadsheet_safe; /* texts in tables that look like formulas begin with an apostrophe */
    bool details;          /* rer_analyze ends with rer_result_detail (always, where the data has subsets) */
    double duplicates;     /* RER_OFF; or search for rows within this angle (degrees; RER_AUTO: from the data) */
    int64_t seed;
    int64_t memory;        /* bytes of working memory at most, 0: no cap; never changes a result */
    int32_t device;        /* rer_device_choice, or the number of a card above it */
    int64_t device_memory; /* bytes of a card's memory at most, 0: what is free */

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
    bool ratios_only;      /* nobody asks for the channel: with RER_DENSITY no label is judged by it */

    /* rer_compare */
    int32_t comparison; /* rer_comparison_kind */

    /* rer_embed */
    int32_t embed_dtype;   /* rer_embed_dtype, of the numbers in the file */
    int32_t preset;        /* rer_preset: how pictures are prepared */
    int32_t size, crop;    /* pixels on a side, 0: as the model or the preset says */
    int32_t interpolation; /* 0: likewise; 1 + rer_filter */
};

rer_options rer_options_default(void);

/* What every entry begins with: a copy of `given`, or the defaults where it is NULL, each value checked against
 * the table. */
rer_status rer_options_take(rer_options *options, const rer_options *given, rer_error *error);

/* The value of the option at this place of the table as text, which never needs more than RER_OPTION_TEXT. */
#define RER_OPTION_TEXT 256
void rer_options_text(const rer_options *options, int index, char *text, int64_t size);
