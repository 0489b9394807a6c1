/* What the stages of an analysis cost, in seconds of one core: measured once, on eleven shapes from 5,000 x 64 x 10 to
 * 400,000 x 32 x 100 and 8,000 x 768 x 1000. Only their ratios matter. What is looked at again, and how often a search
 * for the channel goes over the sampled rows, is known late: both are taken in the middle of what they may be. Of ten
 * shapes seven foresee what is left within a factor of 2 from the first tenth on; 30,000 x 512 x 10 and 20,000 x 768 x 10
 * within 2.6, 20,000 x 512 x 200 within 3. */
#include "run/pace.h"

#include <math.h>

#define SAMPLED 5000.0   /* rows that calibrate, at most */
#define WITNESSES 8192.0 /* as the second look has them (score/second_look.c) */
#define WORK 2.5e10
#define SHARE_LEAST .05

enum { SUMS, SCATTER, SHRINKAGE, CHANNEL, SCORES, QUESTION, NEAR, WEIGHING, AGAIN };

/* Where in the work each stage ends. */
static const double ends[RER_PACE_STAGES] = {
    [SUMS] = .15,    [SCATTER] = .45, [SHRINKAGE] = .48, [CHANNEL] = .5, [SCORES] = .78,
    [QUESTION] = .8, [NEAR] = .95,    [WEIGHING] = .96,  [AGAIN] = .97};

rer_pace rer_pace_of(int64_t N, int64_t D, int32_t C, bool looks_again)
{
    double n = (double)N, d = (double)D, c = (double)C, sampled = fmin(n, SAMPLED), cost[RER_PACE_STAGES];
    double a_row = 5e-7 + 1e-11 * d * d + c * (6e-9 + 3e-11 * d); /* its errors and odds */
    double witnesses = fmin(n / c, WITNESSES), slots = fmin(c, fmax(5, fmin(16, WITNESSES / witnesses)));
    double compared = witnesses * slots * d, least = SHARE_LEAST * n, most = fmax(least, fmin(n, WORK / compared));
    double looked = sqrt(least * most);
    double search = sampled * (4.5e-5 + 2.5e-7 * fmin(c, 150));
    rer_pace pace = {0};
    cost[SUMS] = 5e-8 * n + 2e-10 * n * d;
    cost[SCATTER] = 1e-7 * n + 1e-11 * n * d * d;
    cost[SHRINKAGE] = 2e-10 * d * d * d + 2.8e-10 * sampled * d * c;
    cost[CHANNEL] = search;
    cost[SCORES] = n * a_row;
    cost[QUESTION] = looked * a_row;
    cost[NEAR] = looked * compared * (1.8e-11 + 7e-10 / d) + 2e-10 * n * d;
    cost[WEIGHING] = .5 * search; /* it begins with what was found before */
    cost[AGAIN] = looked * a_row / 2;
    for (int i = 0; i < RER_PACE_STAGES; i++)
        pace.time[i + 1] = pace.time[i] + (i < QUESTION || looks_again ? cost[i] : 0);
    for (int i = 0; i < RER_PACE_STAGES; i++)
        pace.time[i + 1] *= .99 / pace.time[RER_PACE_STAGES];
    return pace;
}

double rer_pace_at(const rer_pace *pace, double done)
{
    double from = 0;
    for (int i = 0; i < RER_PACE_STAGES; from = ends[i++])
        if (done <= ends[i])
            return pace->time[i] + (done - from) / (ends[i] - from) * (pace->time[i + 1] - pace->time[i]);
    double last = pace->time[RER_PACE_STAGES];
    return last + (fmin(done, 1) - from) / (1 - from) * (1 - last);
}
