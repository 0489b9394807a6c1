/* Networks on the card. Their parameters lie as in rer_network, but each layer's weights and biases start at a multiple
 * of LAID_OUT numbers, so that four can be copied at a time. */
#pragma once

#include "backend/cuda/card.cuh"

#define LAID_OUT 4
#define ITEM_ROWS 64 /* rows of one network that are worked on together */

rer_network lay_out_network(const rer_network *shape);
/* Between [count, shape->parameters] as the caller has them and [count, laid->parameters] on the card. */
void put_networks(Card *card, float *to, const rer_network *laid, const float *from, const rer_network *shape,
                  int64_t count);
void take_networks(Card *card, float *to, const rer_network *shape, const float *from, const rer_network *laid,
                   int64_t count);

/* Rows to be reconstructed, an item for ITEM_ROWS of them and a network. */
struct Reconstruction {
    const rer_network *laid;
    const float *weights;
    const float *x;      /* [rows, D] */
    const int32_t *row;  /* [items, ITEM_ROWS] below 0: none */
    const int32_t *item; /* [items] network, below 0: there is no such item */
    float *out;          /* squared error of a row, at row * row_step + network * network_step */
    int64_t row_step, network_step;
};

/* Room for `items` at a time. */
struct Layers {
    int64_t items;
    float *x;          /* [items, ITEM_ROWS, D] */
    float *even, *odd; /* [items, ITEM_ROWS, the widest] */
};

int64_t layer_bytes(const rer_network *shape); /* of an item */
Layers take_layers(Moment *moment, const rer_network *shape, int64_t items);
/* To float's own precision. */
void reconstruct(Card *card, const Reconstruction *of, const Layers *layers, int64_t items);

/* Scoring by networks: h of the card gets a stretch's squared errors. */
void sweep_begin(Card *card, const rer_device_networks *networks);
void sweep_add(Card *card, const Slot *slot);
const float *sweep_own(const Card *card); /* [N] own errors, NULL: those */
void free_sweep(Card *card);
