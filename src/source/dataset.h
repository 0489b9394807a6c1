/* A data set: features as an array, labels as class numbers. */
#pragma once

#include "backend/device.h"
#include "core/notes.h"
#include "core/pool.h"
#include "embed/hog.h"
#include "core/options.h"
#include "source/images.h"
#include "source/labels.h"
#include "source/row_texts.h"

/* Measurements in units of their own (grams, years) as directions: each feature is centred and divided by its standard
 * deviation, and one more that never changes is as long as all of them together, so that scaling a row to unit length
 * keeps its size. Rows far off come close to one another, as they do among directions. */
typedef struct rer_units {
    int64_t D;      /* features as they came */
    double *mean;   /* [D] */
    double *factor; /* [D] 1 / standard deviation; 1 of one that never changes */
} rer_units;

struct rer_dataset {
    rer_array features;
    rer_labels labels;       /* labels.codes NULL where none were given */
    rer_texts ids;           /* count 0 where none were given */
    rer_texts columns;       /* [D] names of the features; count 0 where none are known */
    rer_labels subsets;      /* groups of rows; codes NULL where none were given */
    float *class_embeddings; /* [embedded_classes, D], NULL where none were given */
    int32_t embedded_classes;
    int32_t clusters;                            /* the labels are so many clusters; 0: they are labels */
    rer_labels groups;                           /* rows that are left out together; codes NULL: not given ... */
    bool group_duplicates;                       /* ... or those that are found alike */
    rer_array pred_probs;                        /* [N, C] the user's own; name NULL where none were given */
    int64_t N, D;                                /* D: columns after the built-in descriptor, for pictures */
    int64_t picture[3];                          /* height, width, channels; 0 where the rows are features */
    bool hog;                                    /* pictures go through the descriptor */
    rer_hog plan;                                /* of the descriptor */
    const rer_units *units;                      /* that rows are read in, one more column; NULL: as they came */
    uint64_t features_checksum, labels_checksum; /* of the first and last megabytes and the size */
    double seconds_read;
    rer_device_waking waking; /* of a card that the options ask for */
    rer_parts parts;          /* who asks for rows that lie elsewhere; ask NULL: they are here */
    bool borrows_features;    /* of a data set that this one leans on ... */
    int32_t *origin;          /* ... and [C] its number of each class, NULL: the same */
    rer_images images;        /* for people to look at; the rows themselves where they are pictures */
    rer_row_texts texts;      /* for people to read */
    bool has_folder_labels;   /* they are the names of folders, and in no file but ours */
    rer_notes notes;          /* what their files were taken for, where the user may have meant something else */
    rer_texts skipped;        /* why pictures of a folder are no rows, one message each */
    char *inputs;             /* the files as a command line names them, to repeat a run; NULL: from memory */
    char *opened;             /* the same as JSON, to open them again (inputs.h); NULL: from memory */
};

/* Has the card that the options ask for started, if any, for an analysis to come. */
void rer_dataset_wake_card(rer_dataset *data, const rer_options *options);

/* Sets everything that follows from the opened features. */
rer_status rer_dataset_describe(rer_dataset *data, const rer_options *options, rer_error *error);

/* Notes that the first row of a file was taken for a header, where it was. */
rer_status rer_dataset_note_header(rer_dataset *data, const char *path, const rer_header *header, rer_error *error);

/* Whether all that is attached to the data set fits its rows and classes (attached.c): every entry asks. */
rer_status rer_dataset_check(const rer_dataset *data, rer_error *error);
/* The same, and that it has labels. */
rer_status rer_dataset_check_labelled(const rer_dataset *data, rer_error *error);
/* The same, for a data set that a result of N rows was made from. */
rer_status rer_dataset_check_rows(const rer_dataset *data, int64_t N, rer_error *error);
/* Whether these can be the user's own probabilities [N, C]. */
rer_status rer_dataset_check_probabilities(const rer_dataset *data, const rer_array *array, rer_error *error);

/* What is given by a folder of pictures: rows, and names, pictures and labels where no files give them. */
rer_status rer_dataset_open_photos(rer_dataset *data, const rer_files *files, const rer_options *options,
                                   rer_error *error);

/* What is given by a file of texts and a model: rows, the texts, and labels beside them, which `files` names no more. */
rer_status rer_dataset_open_text_rows(rer_dataset *data, rer_files *files, const rer_options *options,
                                      rer_error *error);

/* Whether the rows lie elsewhere, where none can be read from here. */
static inline bool rer_dataset_is_apart(const rer_dataset *data)
{
    return data->parts.ask != NULL;
}

/* Bytes of scratch that rer_dataset_rows_read needs for `count` rows. */
int64_t rer_dataset_scratch(const rer_dataset *data, int64_t count);
/* Whether single rows are read about as quickly as many together: they are in memory, or in a file that stays there once
 * it was read. */
bool rer_dataset_is_at_hand(const rer_dataset *data);
/* Rows as float [count, D]: features as they are, or the descriptor of each picture. */
rer_status rer_dataset_rows_read(const rer_dataset *data, int64_t first, int64_t count, float *out, void *scratch,
                                 rer_error *error);
/* The same of the rows row [count]; scratch for one of them. */
rer_status rer_dataset_rows_pick(const rer_dataset *data, const int64_t *row, int64_t count, float *out, void *scratch,
                                 rer_error *error);

/* The same data with the features in memory as float [N, D], pictures described; `data` must stay. */
rer_status rer_dataset_load(rer_dataset **loaded, const rer_dataset *data, rer_pool *pool, rer_error *error);
bool rer_dataset_is_loaded(const rer_dataset *data); /* nothing to be gained by that */
/* Sets data->class_embeddings from an array [C, D], or from the file that holds it. */
rer_status rer_class_embeddings_take(rer_dataset *data, const rer_array *array, rer_error *error);
rer_status rer_class_embeddings_open(rer_dataset *data, const char *path, rer_error *error);

/* " TEXT", in single quotes where a shell needs them; freed by the caller. */
rer_status rer_shell_word(char **word, const char *text, rer_error *error);
