/* A second processor for the passes over rows: a table of functions that a plug-in fills in (backend/cuda), loaded
 * when it is asked for. Arrays are plain and in the host's memory; rows come in stretches, through two slots, so that
 * one is filled while the other is copied and worked on. What fails stays (`failure`), and all that is called
 * afterwards does nothing. Rows that lie on the device already are worked on where they are: then of a slot only factors
 * and classes are filled. Only plain C that C++ reads as well. */
#pragma once

#include "backend/backend.h"
#include "core/neighbor.h"
#include "core/thread.h"

#define RER_DEVICE_INTERFACE 7             /* changes with anything below */
#define RER_DEVICE_ENTRY "rer_device_load" /* a rer_device_entry */
#define RER_DEVICE_SLOTS 2
#define RER_DEVICE_BLOCK 1024
#define RER_DEVICE_MESSAGE 400

/* What a device is opened for. */
typedef struct rer_device_shape {
    int32_t card;
    int32_t C;
    int64_t N, D;
    int64_t rows;   /* of a stretch, a multiple of RER_DEVICE_BLOCK; open halves it where there is no room */
    int64_t memory; /* bytes that it may use, 0: what is free */
    const float *x; /* [N, D] rows that lie on the card already, NULL: they are in the host's memory */
} rer_device_shape;

/* A slot's rows, in memory that the device copies from. */
typedef struct rer_device_rows {
    float *x;      /* [rows, D] finite where code is not below -1; NULL: they lie on the card */
    double *scale; /* [rows] factor of each row */
    int32_t *code; /* [rows] class, -1: none, below: the row is not there */
} rer_device_rows;

/* What scoring needs of a noise channel (channel/channel.h). */
typedef struct rer_device_channel {
    double weight, edge, sharpness;
    const float *bias;  /* [C] */
    const float *rates; /* [C seen, C true] or NULL */
    bool whole;         /* all classes are taken at once: the edge counts, and so do the odds */
} rer_device_channel;

/* A network for each class (fit/autoencoder). */
typedef struct rer_device_networks {
    rer_network shape;
    const float *weights; /* [C, parameters] */
    const float *own;     /* [N] squared own errors, NaN: none; NULL: as the networks have them */
} rer_device_networks;

/* And of class models in one metric (fit/centroid_rows.c has the letters), or of networks: then the metric is nothing. */
typedef struct rer_device_model {
    const double *mean; /* [C + 1, D] of the classes, and what rows without one are compared from */
    const float *root;  /* [D, D] lower triangle, NULL: the identity */
    const float *u;     /* [C + 1, D] */
    const float *norm;  /* [C] */
    const float *pairs; /* [C, C], NULL: made by the device */
    const int64_t *n;   /* [C] */
    double weight;
    bool left_out;                       /* each row is taken out of the model that scores it */
    const rer_device_channel *channel;   /* NULL: no odds are wanted */
    const rer_device_networks *networks; /* NULL: classes are means */
} rer_device_model;

/* A row's errors under all classes, reduced. */
typedef struct rer_reduced_row {
    rer_nearest nearest;   /* of the classes other than its own; the sum is over all */
    rer_channel_sums sums; /* over those classes */
    double odds;           /* of all of these but the best: sum of p / (1 - p) */
    float own;             /* squared own error, NaN: missing */
    float score;           /* z of its label */
    int32_t again;         /* 1: digits were lost, to be done by the CPU */
    int32_t likely;        /* class other than its label that p_k A_kc says, or p_k without rates */
} rer_reduced_row;

/* Rows that ask for their nearest rows in some classes (score/near_rows.h), of those that the device keeps. */
#define RER_DEVICE_NEAR_KEPT 10
#define RER_DEVICE_NEAR 3
typedef struct rer_device_near {
    int64_t count; /* of rows that ask */
    int32_t slots;
    const int64_t *row;       /* [count] themselves */
    const float *x;           /* [count, D] centred, of unit length */
    const double *center;     /* [D] */
    const int64_t *ask_start; /* [C + 1] of each class in ... */
    const int64_t *asked;     /* ... query * slots + slot */
    const int64_t *start;     /* [C + 1] of each class in ... */
    const int32_t *witness;   /* ... the rows that may be near, ascending */
    const uint8_t *doubted;   /* [N] */
    rer_neighbor *list;       /* [count, slots, RER_DEVICE_NEAR_KEPT] squared distances; those that ask are filled */
    float *trusted;           /* [count, slots, RER_DEVICE_NEAR] of rows that are not doubted, INFINITY: none */
} rer_device_near;

/* How networks are trained (fit/autoencoder/train.h). */
typedef struct rer_device_training {
    rer_network shape;
    int64_t batch, seed;
    int32_t reports, patience;
    double least_gain, clip;
    double learning_rate, a, b, weight, repulsion, dropout, regularization;
} rer_device_training;

/* One of them, and what became of it. */
typedef struct rer_device_trainee {
    uint64_t key;
    const float *x; /* [n, D] rows to learn from */
    int64_t n;
    const int32_t *head, *tail; /* [draws] of those */
    int64_t draws;
    const float *held; /* [n_held, D] rows whose errors are wanted */
    int64_t n_held;
    float *w;      /* [parameters], NULL: not wanted */
    float *errors; /* [n_held] squared */
    int64_t steps;
    double first_loss, last_loss;  /* means of the first and the last report */
    double reconstruction, layout; /* of the last step */
    bool is_finite;                /* its losses and weights; it has ended where they were not */
} rer_device_trainee;

#define RER_DEVICE_LISTED 20
#define RER_DEVICE_ASKING 8192

/* Rows that logistic regressions are fitted to, side by side (detect/logistic.h), of those that the device keeps. */
typedef struct rer_device_logistic {
    int32_t folds;
    bool unit;            /* rows of unit length, ... */
    const double *mean;   /* [D] ... from which this is subtracted */
    const int64_t *start; /* [folds + 1] of each fold in ... */
    const int64_t *row;   /* ... the rows, */
    const int32_t *label; /* and their classes */
} rer_device_logistic;

/* What they need at some weights: sums over the rows of all folds but one. */
typedef struct rer_device_softmax {
    int32_t count;         /* of regressions, at most as many as folds */
    const int32_t *fold;   /* [count] that each does without, ascending */
    const float *w, *bias; /* [count, C, D], [count, C]; -INFINITY: there is no such class */
    double *sum;           /* [count, C, D] of (p - 1 of the label) x, ... */
    double *bias_sum;      /* [count, C] ... and without the x */
    double *loss;          /* [count] of -log p of the labels, ... */
    double *missing;       /* [count] ... and of 1 - p */
} rer_device_softmax;

typedef struct rer_device_plugin {
    int32_t interface;   /* RER_DEVICE_INTERFACE, first in all of them */
    const char *version; /* RER_VERSION */
    /* The card that memory lies on, once all that was to be done with it is done; -1, and why in `message`: on none. */
    int32_t (*card_of)(const void *memory, char message[RER_DEVICE_MESSAGE]);
    /* Copies from a card's memory, in any thread: bytes, and rows [count] of [N, D] to out [count, D]. */
    bool (*fetch)(void *out, int32_t card, const void *from, int64_t bytes, char message[RER_DEVICE_MESSAGE]);
    bool (*fetch_rows)(float *out, int32_t card, const float *from, int64_t D, const int64_t *row, int64_t count,
                       char message[RER_DEVICE_MESSAGE]);
    /* Starts the driver for a card, in any thread, so that `open` finds it started; what fails is said there. */
    void (*wake)(int32_t card);
    /* NULL, and why in `message`, where there is none. */
    void *(*open)(rer_device_shape *shape, char message[RER_DEVICE_MESSAGE]);
    void (*close)(void *device);
    const char *(*name)(void *device);    /* of the card */
    const char *(*failure)(void *device); /* NULL: none */
    bool (*keeps_rows)(void *device);     /* rows that were loaded once stay there */

    /* A slot to be filled, once the device has done with what was in it. */
    rer_device_rows (*slot)(void *device, int slot);
    /* Squared lengths of rows that lie on the card, not finite where one of their numbers is not. */
    void (*measure)(void *device, int64_t first, int64_t count, double *square); /* [count] */
    /* Rows first..first+count-1 of the data are in the slot; kept: they were loaded before, and the slot is empty. */
    void (*load)(void *device, int slot, int64_t first, int64_t count, bool kept);

    /* Class sums of the labelled rows, in three steps: begin, every slot that was filled, end. */
    void (*sums_begin)(void *device);
    void (*sums_add)(void *device, int slot);
    void (*sums_end)(void *device, double *sum, double *square); /* [C, D] each, of scale x and its square */

    /* Their scatter around mean [C, D]; rows with a squared residual above `far` are added in double. */
    void (*scatter_begin)(void *device, const double *mean, double far);
    void (*scatter_add)(void *device, int slot);
    void (*scatter_end)(void *device, double *scatter); /* [D, D], at least its lower triangle */

    /* All rows under all classes; score_rows waits for a slot's. */
    void (*score_begin)(void *device, const rer_device_model *model);
    void (*score_add)(void *device, int slot);
    const rer_reduced_row *(*score_rows)(void *device, int slot);

    /* Whether score_begin takes networks of this shape. */
    bool (*takes_networks)(void *device, const rer_network *shape);
    /* Trains networks side by side, with the draws and the numbers of fit/autoencoder/train.c; `stop` is asked now and
     * then. false: it has no room for so many, and nothing was done. */
    bool (*train)(void *device, const rer_device_training *training, rer_device_trainee *trainees, int32_t count,
                  bool (*stop)(void *context), void *context);

    /* Fills the lists; false: it has no room for that, and nothing was done. */
    bool (*near)(void *device, const rer_device_near *near);

    /* The RER_DEVICE_LISTED rows nearest to a row, of those that the device keeps (detect/neighbors.h), and copies among
     * them (detect/duplicates.h). false: it has no room for that. Else ask, at most RER_DEVICE_ASKING rows at a time, and
     * end it. */
    bool (*neighbors_begin)(void *device, const uint8_t *among); /* [N] 1: searched among */
    void (*neighbors_find)(void *device, const int64_t *row, int64_t count, rer_neighbor *list); /* [count, LISTED] */
    /* Joins the rows first.. with those behind them whose squared distance, at unit length, is at most the limit. */
    void (*copies_join)(void *device, double limit, int64_t first, int64_t count);
    void (*copies_take)(void *device, int32_t *group); /* [N] the first row of each row's group */
    void (*neighbors_end)(void *device);

    /* Logistic regressions: false, it has no room for that; else ask for sums, and end it. */
    bool (*logistic_begin)(void *device, const rer_device_logistic *of);
    void (*logistic_sums)(void *device, const rer_device_softmax *at);
    void (*logistic_end)(void *device);
} rer_device_plugin;

typedef const rer_device_plugin *rer_device_entry(void);

/* The plug-in, or NULL and why in `message`. It is looked for at RER_CUDA_PLUGIN of the environment, or else beside
 * this library or command and in ../lib of that, and where the system looks for libraries. */
const rer_device_plugin *rer_device_find(char message[RER_DEVICE_MESSAGE]);

/* A thread that loads the plug-in and starts the driver, a third of a second, while files are read and rows looked at.
 * Who opens the card need not wait for it: what both need is locked by the loader and the driver. */
typedef struct rer_device_waking {
    pthread_t thread;
    int32_t card;
    bool is_started;
} rer_device_waking;
void rer_device_wake(rer_device_waking *waking, int32_t card);
void rer_device_wake_end(rer_device_waking *waking);
