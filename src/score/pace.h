/* How far an analysis is, by its time. See pace.c. */
#pragma once

#include "run/pace.h"

rer_pace rer_pace_of(const rer_run *run, bool looks_again, bool writes);
rer_pace rer_pace_of_scoring(const rer_run *run, bool writes); /* rows by a model that is there */
/* The share of the time that has passed where the part under way says that it is `done`. */
double rer_pace_at(rer_pace *pace, double done);

/* How much is looked at again. */
typedef struct rer_look_size {
    double rows, compared; /* rows, and how many others each is compared with, */
    double classes;        /* of how many classes; */
    double sampled;        /* rows that calibrate, */
    double passes;         /* over which there are so many */
} rer_look_size;

void rer_pace_know_look(rer_pace *pace, const rer_run *run, const rer_look_size *size);
