/* A fitted model, and the table of functions that a reconstructor fills in. */
#pragma once

#include "run/span.h"
#include "run/units.h"
#include "run/usual.h"

typedef struct rer_reconstructor rer_reconstructor;
typedef struct rer_tensors rer_tensors;       /* core/tensors.h, named arrays of a saved model */
typedef struct rer_row_sample rer_row_sample; /* row_sample.h */

/* Squared errors are made for so many classes at a time. */
#define RER_CLASS_TILE 1024

struct rer_model {
    const rer_reconstructor *reconstructor;
    void *state; /* the reconstructor's own */
    rer_normalizer normalizer;
    rer_span *span;   /* that rows are modelled in, NULL: as they come */
    rer_units *units; /* likewise */
    int64_t D;        /* of the rows modelled */
    int32_t C;
    int64_t N;                   /* rows it was fitted on */
    int64_t *n;                  /* [C] of each class */
    char **names;                /* [C] */
    rer_texts columns;           /* names of the features as they came, of a table; count 0: none */
    char *source;                /* the file it was loaded from, for messages; NULL: none */
    double shrinkage;            /* NaN where it plays no part */
    double rank;                 /* of the classes' subspaces, likewise */
    struct rer_channel *channel; /* how true classes became the labels seen (channel/calibrate.h); NULL: not known */
    rer_usual *usual;            /* of the rows that it was fitted on; NULL: they were too few */
};

/* A reconstructor turns a block of rows into squared errors under each class.
 * `left_out`: the rows are those that the model was fitted on, and each is scored by the model
 * without it; otherwise they are new. */
struct rer_reconstructor {
    const char *name;
    rer_normalize normalize; /* what --normalize auto means for it */
    bool needs_minmax;       /* and whether it can do with no other */
    /* It is made of sums that merge: rows may lie in parts, or be left out in groups, and nested subsets are scored
     * at once (studies/scale/nested.h). */
    bool is_closed_form;
    double exponent;        /* of the law in n (rer_scale) that it follows, NaN: to be fitted */
    const char *scale_note; /* what rer_scale has to say about it, NULL: nothing */
    /* All but the channel, which is fitted to the rows that are left in *sample: free it. */
    rer_status (*fit)(rer_model *model, rer_row_sample *sample, const rer_run *run, rer_error *error);
    int64_t (*scratch)(const rer_model *model, int64_t rows); /* bytes */
    /* Once a block; `scratch` then belongs to it until its last errors call. */
    void (*prepare)(const rer_model *model, const rer_run *run, const rer_block *block, bool left_out,
                    rer_scratch scratch);
    /* d2 [count, classes]: squared errors of classes first..first+classes-1 (at most
     * RER_CLASS_TILE); NaN for the own class of a sample that is alone in it. */
    void (*errors)(const rer_model *model, const rer_run *run, const rer_block *block, int32_t first, int32_t classes,
                   float *d2, rer_scratch scratch);
    /* A failure to save stays in the tensors. */
    void (*save)(const rer_model *model, rer_tensors *tensors);
    rer_status (*load)(rer_model *model, rer_tensors *tensors, rer_error *error);
    void (*free)(void *state);
};

/* What --normalize comes to. */
rer_normalize rer_normalize_of(const rer_options *options);
/* A model of the data set's classes with its reconstructor and normalisation, ready to be fitted. */
rer_status rer_model_begin(rer_model **model, const rer_dataset *data, const rer_options *options, rer_error *error);
/* A model with its arrays but nothing in them. */
rer_status rer_model_make(rer_model **model, int64_t D, int32_t C, rer_error *error);

extern const rer_reconstructor rer_centroid_reconstructor;
extern const rer_reconstructor rer_subspace_reconstructor;
extern const rer_reconstructor rer_autoencoder_reconstructor;
extern const rer_reconstructor rer_published_reconstructor;
const rer_reconstructor *rer_reconstructor_of(int32_t kind);
const rer_reconstructor *rer_reconstructor_named(const char *name);
int32_t rer_reconstructor_index(const rer_reconstructor *reconstructor); /* its rer_reconstructor_kind */
