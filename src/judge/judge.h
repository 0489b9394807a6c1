/* From O(N) errors to answers: probability, noise rate, threshold, flags, classes, pairs. */
#pragma once

#include "core/pool.h"
#include "run/result.h"
#include "run/usual.h"

/* What was found before: the rows' scores and, where another detector than ours has made the probabilities, its own
 * opinion of which labels are wrong and how many. */
typedef struct rer_findings {
    rer_scores scores;
    rer_ratio_sums sums;
    const bool *flagged;    /* [N], NULL: the probabilities decide */
    double noise_rate;      /* where flagged is there; NaN: not known */
    const rer_usual *usual; /* by which rows are said to fit no class, NULL: none are */
} rer_findings;

/* Counts and sorts: flags, summary, classes, pairs, notes. Probabilities are there already (result->logit), but for
 * the paper's, which need all ratios. */
rer_status rer_judge(rer_result *result, const rer_findings *findings, rer_pool *pool, rer_error *error);

/* The parts, each in its own file. */

/* eta = (chi0 - chi_rand) / (1 - chi_rand) in 0..1, 0 where chi_rand = 1. */
double rer_noise_rate(double chi0, double chi_rand);
/* The paper's probability, in place of what the scoring pass left: logit [N] from the ratios and flipped [N]. */
rer_status rer_judge_by_density(rer_result *result, const float *flipped, double eta, rer_error *error);
/* The paper's threshold on chi. */
double rer_paper_threshold(double chi0, double chi_rand, double eta, double chi_max);

/* Confused pairs, error rate, entropy, and the classes' part of the summary. */
rer_status rer_judge_classes(rer_result *result, rer_pool *pool, rer_error *error);

/* What is usual of the rows of an analysis, with D features, NULL: too few to say. Free it. */
rer_status rer_usual_find(rer_usual **usual, const rer_result *result, const rer_scores *scores, int64_t D,
                          rer_error *error);
/* outlier_score, flags and their number, from the errors and margins [N]. */
rer_status rer_judge_outliers(rer_result *result, const float *margin, const rer_usual *usual, rer_pool *pool,
                              rer_error *error);

/* Samples of class `from` whose nearest class is `to`. */
typedef struct rer_confusion {
    int32_t from, to;
    int64_t count;
} rer_confusion;
/* Every given -> nearest class that differ, sorted by class; free() the list. */
rer_status rer_list_confusions(rer_confusion **list, int64_t *count, const rer_result *result, rer_error *error);

/* error rate / error rate of chance, 0..1, from rows by given [C] and by nearest class [C]; NaN for none. */
double rer_difficulty(int64_t wrong, const int64_t *given, const int64_t *predicted, int32_t C);
