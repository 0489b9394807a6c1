/* The noise transition matrix without labels known to be right, from the consensus of near rows (Zhu et
 * al. 2021): a row and its two nearest neighbours, in random parts of the rows, are taken to have one true
 * class k, and each of their labels to be drawn from T_k independently. The frequencies of single labels, pairs and triples,
 *     c_i = sum_k p_k T_ki,  c_ij = sum_k p_k T_ki T_kj,  c_ijl = sum_k p_k T_ki T_kj T_kl,
 * are fitted by least squares in p and T. */
#pragma once

#include "detect/neighbors.h"

/* More classes than this make the matrix too large. */
#define RER_CONSENSUS_MOST 2048

typedef struct rer_consensus {
    int32_t C;
    double *p; /* [C] share of each true class */
    double *T; /* [C, C] P(label j | true class i) */
} rer_consensus;

rer_status rer_consensus_estimate(rer_consensus *consensus, const rer_run *run, const rer_neighbors *neighbors,
                                  rer_error *error);
void rer_consensus_free(rer_consensus *consensus);
