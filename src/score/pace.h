/* How far an analysis is, by its time. See pace.c. */
#pragma once

#include "run/run.h"

/* In their order. Copies, detector, details and writing each go from 0 to 1; the stages between go so together. */
typedef enum rer_pace_stage {
    RER_PACE_COPIES,
    RER_PACE_SUMS,
    RER_PACE_SCATTER,
    RER_PACE_SHRINKAGE,
    RER_PACE_SUBSPACES,
    RER_PACE_SAMPLE, /* its errors */
    RER_PACE_SEARCH, /* for the channel */
    RER_PACE_SCORING,
    RER_PACE_QUESTION, /* the second look: classes in question, */
    RER_PACE_NEAR_ROWS,
    RER_PACE_WEIGHING, /* the channel anew, */
    RER_PACE_AGAIN,    /* and scores */
    RER_PACE_DETECTING,
    RER_PACE_JUDGING,
    RER_PACE_DETAILS,
    RER_PACE_WRITING,
    RER_PACE_STAGES
} rer_pace_stage;

typedef struct rer_pace {
    double cost[RER_PACE_STAGES];    /* seconds of one core, foreseen; 0: left out */
    double counted[RER_PACE_STAGES]; /* of a search: what its passes have cost so far */
    rer_pace_stage part;             /* that is under way: one that goes from 0 to 1, RER_PACE_SUMS for all between */
    double furthest;
} rer_pace;

rer_pace rer_pace_of(const rer_run *run, bool looks_again, bool writes);
/* What follows goes from 0 to 1 for itself. */
void rer_pace_enter(const rer_run *run, rer_pace_stage part);
/* The share of the time that has passed where the part under way says that it is `done`. */
double rer_pace_at(rer_pace *pace, double done);

/* How much is looked at again. */
typedef struct rer_look_size {
    double rows, compared; /* rows, and how many others each is compared with, */
    double classes;        /* of how many classes; */
    double sampled;        /* rows that calibrate */
} rer_look_size;

void rer_pace_know_look(rer_pace *pace, const rer_run *run, const rer_look_size *size);
