/* What the stages share while one analysis runs, and the blocks that flow through them. */
#pragma once

#include "backend/backend.h"
#include "core/pool.h"
#include "run/normalize.h"
#include "source/dataset.h"

/* Rows of a block. Sums are made per block and added in block order, so this number is part of
 * the result's bits: it never follows the machine or the memory cap. */
#define RER_BLOCK 1024

struct rer_passes; /* run/passes.h */
struct rer_device; /* device/device.h */
struct rer_pace;   /* run/pace.h */

typedef struct rer_run {
    const rer_dataset *data;
    const rer_dataset *as_came; /* without a view */
    const rer_options *options;
    const rer_kernels *kernels;
    rer_pool *pool;
    const struct rer_passes *passes; /* how it goes over all rows; only what fits and scores needs them */
    struct rer_device *device;       /* the card that these use, NULL: none */
    struct rer_pace *pace;           /* how far it is, NULL: nobody asks */
    const int32_t *given;            /* [N] class of each row, -1: no label; NULL: of none */
    uint8_t *invalid;                /* [N] 1: a row with NaN or Inf that was left out; known after a first pass */
    const bool *fitted;              /* [N] rows that the model was fitted on, NULL: every labelled one */
    const int32_t *groups;           /* [N] rows of one group are left out together, -1: alone; NULL: each alone */
    int64_t N, D;
    int64_t columns; /* of the rows as they came: D, but in their span (run/span.h) */
    int32_t C;
    rer_dataset *view; /* the data in their span or in units (run/units.h), NULL: as they came */
    int64_t every;     /* class sums take one block in so many; 0: all */
    int64_t first_row; /* place of row 0 in the whole data set, where the data is a part of one */
} rer_run;

typedef struct rer_block {
    int64_t first, count;
    float *x;           /* [count, D] as read; min-max scaled where that is asked for */
    double *scale;      /* [count] factor that makes the row the one that is modelled */
    double *square;     /* [count] squared length of the row as read */
    int32_t *code;      /* [count] class, RER_NO_LABEL or RER_INVALID_ROW */
    const int64_t *row; /* [count] rows of the input, NULL: first, first + 1, ... */
    const bool *fitted; /* [count] as in rer_run */
    bool exact;         /* no quick products: parameters are chosen by these rows, or their errors are kept */
    void *reading;      /* what reading the rows needs */
} rer_block;

enum { RER_NO_LABEL = -1, RER_INVALID_ROW = -2 };

static inline int64_t rer_block_row(const rer_block *block, int64_t i)
{
    return block->row != NULL ? block->row[i] : block->first + i;
}

/* A run over the data set's rows with labels given [N] of C classes, which must stay. End it, also where this fails. */
rer_status rer_run_start(rer_run *run, const rer_dataset *data, const int32_t *given, int32_t C,
                         const rer_options *options, const rer_progress *progress, rer_error *error);
void rer_run_end(rer_run *run);

/* Has a label, and no NaN or Inf. */
static inline bool rer_run_has_label(const rer_run *run, int64_t row)
{
    return run->given[row] >= 0 && run->invalid[row] == 0;
}

/* Name of a class of the data set, for messages. */
static inline const char *rer_run_class_name(const rer_run *run, int32_t c)
{
    const rer_texts *names = &run->data->labels.names;
    return names->bytes + names->offset[c];
}

/* Where rows are left out, those that the model has not seen are scored as they are. */
static inline bool rer_block_has_seen(const rer_block *block, int64_t i)
{
    return block->fitted == NULL || block->fitted[i];
}

int64_t rer_run_blocks(const rer_run *run);
/* `count` rows as they are read. */
typedef struct rer_raw_rows {
    float *x;      /* [count, D] */
    void *reading; /* what reading them needs */
} rer_raw_rows;
rer_raw_rows rer_raw_rows_take(const rer_run *run, int64_t count, rer_scratch *scratch);
int64_t rer_raw_rows_scratch(const rer_run *run, int64_t count); /* bytes that takes */
/* A block with room for its rows. */
rer_block rer_block_take(const rer_run *run, rer_scratch *scratch);
/* Reads and normalises block `item`. A row with NaN or Inf is an error or, with --drop-invalid, gets the code
 * RER_INVALID_ROW and its mark in run->invalid. */
rer_status rer_block_read(rer_block *block, const rer_run *run, const rer_normalizer *normalizer, int64_t item,
                          rer_error *error);
/* The same of block->count rows from block->first on. */
rer_status rer_block_read_rows(rer_block *block, const rer_run *run, const rer_normalizer *normalizer,
                               rer_error *error);
/* The same of rows that lie elsewhere, whose squared lengths are in block->square, not finite where a number is none. */
rer_status rer_block_describe(rer_block *block, const rer_run *run, const rer_normalizer *normalizer, rer_error *error);
/* Reads and normalises the rows block->row [count], one by one, which are known to be valid. */
rer_status rer_block_pick(rer_block *block, const rer_run *run, const rer_normalizer *normalizer, rer_error *error);
/* Room and reading, as a step of the pool for which that is all: *block is the start of its scratch, where a commit finds it. */
int64_t rer_block_scratch(const rer_run *run);
rer_status rer_block_load(rer_block *block, const rer_run *run, const rer_normalizer *normalizer, int64_t item,
                          rer_error *error);
