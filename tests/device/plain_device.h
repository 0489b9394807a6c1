/* A device in plain loops: what its files share. */
#pragma once

#include "plain_plugin.h"

#include <string.h>

typedef struct plain_slot {
    rer_device_rows rows;
    rer_device_rows now; /* of the stretch under way: these, or kept ones */
    int64_t first, count;
    rer_reduced_row *reduced;
} plain_slot;

typedef struct plain_device {
    rer_device_shape shape;
    plain_slot slot[RER_DEVICE_SLOTS];
    rer_device_rows kept; /* code NULL: nothing is kept */
    double *sum, *square, *mean, *scatter, *root, *u;
    double far, *work;
    rer_device_model model;
    rer_device_channel channel;
    rer_device_networks networks;
    int64_t loads;
    uint8_t *among;               /* of a search that is under way */
    double *unit;                 /* [N] that makes a row one of unit length */
    int32_t *group;               /* [N] towards the first row of a group */
    rer_device_logistic logistic; /* that is under way */
    char failure[RER_DEVICE_MESSAGE];
} plain_device;

#define PLAIN_ROWS_MOST 6000 /* of what is quadratic: more would take too long */

void *plain_zeroed(int64_t count, size_t size);

bool plain_neighbors_begin(void *handle, const uint8_t *among);
void plain_neighbors_find(void *handle, const int64_t *row, int64_t count, rer_neighbor *list);
void plain_copies_join(void *handle, double limit, int64_t first, int64_t count);
void plain_copies_take(void *handle, int32_t *group);
void plain_neighbors_end(void *handle);
bool plain_logistic_begin(void *handle, const rer_device_logistic *of);
void plain_logistic_sums(void *handle, const rer_device_softmax *at);
void plain_logistic_end(void *handle);
