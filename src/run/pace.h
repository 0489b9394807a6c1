/* The stages of an analysis, and which is under way. What each costs is in score/pace.c. */
#pragma once

#include "run/run.h"

/* In their order. Those from the sums to the scores again, and the judging, go from 0 to 1 together; each other goes so
 * for itself. */
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
    RER_PACE_CONSENSUS, /* of neighbours' labels, */
    RER_PACE_VOTING,    /* and their votes */
    RER_PACE_JUDGING,
    RER_PACE_DETAILS,
    RER_PACE_WRITING,
    RER_PACE_STAGES
} rer_pace_stage;

typedef struct rer_pace {
    double cost[RER_PACE_STAGES];    /* seconds of one core, foreseen; 0: left out */
    double counted[RER_PACE_STAGES]; /* of a search: what its passes have cost so far */
    rer_pace_stage part; /* that is under way: one that goes from 0 to 1, RER_PACE_SUMS for those together */
    double early;        /* share of what a detector costs that goes before its passes, or early in them */
    double furthest;
} rer_pace;

/* Evaluations that SimiFeat's estimate takes, about: 93 with 10 classes, 69 with 50, 11 with 100, 18 with 200; but 71 to
 * 218 of other data, whatever its classes. They are counted as they are made. */
static inline double rer_consensus_usual_passes(int32_t C)
{
    return fmax(12, fmin(60, 2200. / C));
}

/* What follows goes from 0 to 1 for itself. */
void rer_pace_enter(const rer_run *run, rer_pace_stage part);
