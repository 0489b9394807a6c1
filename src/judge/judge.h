/* From O(N) errors to answers: probability, noise rate, threshold, flags, classes, pairs. */
#ifndef RER_JUDGE_H
#define RER_JUDGE_H

#include "score/score.h"

/* Fills the rest of the result: logit, flags, summary, classes, pairs, notes. */
rer_status rer_judge(rer_result *result, const rer_ratio_sums *sums, rer_error *error);

/* The parts, each in its own file. */

/* eta = (chi0 - chi_rand) / (1 - chi_rand) in 0..1, 0 where chi_rand = 1. */
double rer_noise_rate(double chi0, double chi_rand);
/* The paper's probability, in place of what the scoring pass left: logit [N] from the ratios and result->flipped. */
rer_status rer_judge_by_density(rer_result *result, double eta, rer_error *error);
/* The paper's threshold on chi. */
double rer_paper_threshold(double chi0, double chi_rand, double eta, double chi_max);

/* Flags by budget or threshold, as the options say; none may be flagged before. */
rer_status rer_judge_flags(rer_result *result, rer_error *error);
/* Confused pairs, error rate, entropy, and the classes' part of the summary. */
rer_status rer_judge_classes(rer_result *result, rer_error *error);

/* Turns margin and removed, where they are there, into outlier_score, flags and their number. */
rer_status rer_judge_outliers(rer_result *result, rer_error *error);

/* Samples of class `from` whose nearest class is `to`. */
typedef struct rer_confusion {
    int32_t from, to;
    int64_t count;
} rer_confusion;
/* Every given -> nearest class that differ, sorted by class; free() the list. */
rer_status rer_list_confusions(rer_confusion **list, int64_t *count, const rer_result *result, rer_error *error);

/* error rate / error rate of chance, 0..1, from rows by given [C] and by nearest class [C]; NaN for none. */
double rer_difficulty(int64_t wrong, const int64_t *given, const int64_t *predicted, int32_t C);

rer_status rer_result_add_note(rer_result *result, rer_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
