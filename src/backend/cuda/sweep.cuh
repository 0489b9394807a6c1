/* Networks in half precision, as the products of sweep.cu take them. */
#pragma once

#include "backend/cuda/card.cuh"

#include <cuda_fp16.h>

struct Packed {
    uint8_t *weights; /* [C, of a network] as they go to shared memory */
    __half *rows;     /* [rows] likewise */
    __half *rest;     /* what rounding took of them, in the order that threads need it */
};

/* Whether the card and the shape of the networks allow it. */
bool can_pack(const Card *card, const rer_network *shape);
Packed take_packed(Moment *moment, const rer_network *shape, int64_t rows, int64_t C);
void pack(Card *card, const Packed *packed, const float *weights, const rer_network *laid, int64_t C);
/* d2 [rows, C] of a stretch: squared errors under all classes. */
void sweep_packed(Card *card, const Packed *packed, const Slot *slot, float *d2, int64_t C);
