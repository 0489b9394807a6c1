/* The paper's probability that a label is wrong, from the ratio alone:
 *
 *   p(mistake | chi) = eta p(chi | mistake) / p(chi),   constant beyond its maximum
 *
 *   p(chi)            density of the ratios of the labels as they are
 *   p(chi | mistake)  density of the ratios that the rows would have with a label drawn from the other
 *                     classes (flipped [N], made by the scoring pass)
 *   eta               the paper's share of wrong labels (probability.c)
 *
 * Both are Gaussian kernel densities, h = deviation n^(-1/5) (Scott's rule), reflected at their
 * right end, the largest value. A million values need no million kernels each: values are shared out
 * between the two nearest points of a grid that is much finer than h, and the grid is convolved.
 *
 *   f(x) = 1 / n sum_i phi_h(x - x_i) + phi_h(2 right - x - x_i),   x <= right; 0 beyond */
#include "judge/judge.h"

#define POINTS_PER_H 16 /* sharing out adds (h / 16)^2 / 6 at most to the variance h^2 of a kernel */
#define REACH 6         /* h; what a kernel has beyond is 1e-9 of it */
#define POINTS_MOST (1 << 20)
#define LOGIT_MOST 100.0

typedef struct density {
    double left, right, step;
    int64_t n, points;
    double *values; /* [points] f at left + i step */
} density;

/* The ratio of a row's label as it is, or of flipped [N] where that is not NULL; NaN: none. */
static double ratio_of(const rer_result *result, int64_t row, const float *flipped)
{
    if (result->given[row] < 0 || isnan(result->own[row]))
        return NAN;
    return flipped != NULL ? (double)flipped[row] : rer_chi_of(result, row);
}

/* Number, ends (the left one beyond the kernels' reach) and bandwidth; h = 0 where the values do not differ. */
static double measure(density *made, const rer_result *result, const float *flipped)
{
    double mean = 0, square = 0;
    made->left = INFINITY;
    made->right = -INFINITY;
    for (int64_t row = 0; row < result->N; row++) {
        double x = ratio_of(result, row, flipped);
        if (isnan(x))
            continue;
        double from_mean = x - mean;
        made->n++;
        mean += from_mean / (double)made->n;
        square += from_mean * (x - mean);
        made->left = fmin(made->left, x);
        made->right = fmax(made->right, x);
    }
    double h = made->n > 1 ? sqrt(square / (double)(made->n - 1)) * pow((double)made->n, -.2) : 0;
    h = made->right - made->left > 1e-12 * made->right ? h : 0;
    made->left -= REACH * h;
    return h;
}

/* Shares of the values at the grid's points. */
static void share_out(double *shares, const density *made, const rer_result *result, const float *flipped)
{
    for (int64_t row = 0; row < result->N; row++) {
        double x = ratio_of(result, row, flipped);
        if (isnan(x))
            continue;
        double at = (x - made->left) / made->step;
        int64_t place = rer_min((int64_t)at, made->points - 2);
        shares[place] += 1 - (at - (double)place);
        shares[place + 1] += at - (double)place;
    }
}

/* The mirror image of point i is point 2 (points - 1) - i. */
static void convolve(const density *made, const double *shares, const double *kernel, int64_t reach)
{
    int64_t last = made->points - 1;
    for (int64_t i = 0; i <= last; i++) {
        double sum = 0;
        for (int64_t j = rer_max(0, i - reach); j <= rer_min(last, i + reach); j++)
            sum += kernel[j > i ? j - i : i - j] * shares[j];
        for (int64_t j = rer_max(0, 2 * last - i - reach); j <= last; j++)
            sum += kernel[2 * last - i - j] * shares[j];
        made->values[i] = sum / (double)made->n;
    }
}

/* points stays 0 where the values do not differ. */
static rer_status estimate(density *made, const rer_result *result, const float *flipped, rer_error *error)
{
    double h = measure(made, result, flipped), *shares = NULL, *kernel = NULL;
    if (h == 0)
        return RER_OK;
    double wanted = ceil((made->right - made->left) / h * POINTS_PER_H) + 1;
    int64_t points = wanted < POINTS_MOST ? rer_max(2, (int64_t)wanted) : POINTS_MOST;
    made->step = (made->right - made->left) / (double)(points - 1);
    int64_t reach = (int64_t)ceil(REACH * h / made->step);
    rer_room rooms[] = {RER_ROOM(made->values, points), RER_ROOM(shares, points), RER_ROOM(kernel, reach + 1)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "a density", error));
    made->points = points;
    for (int64_t i = 0; i <= reach; i++) {
        double z = (double)i * made->step / h;
        kernel[i] = exp(-z * z / 2) / (h * sqrt(2 * M_PI));
    }
    share_out(shares, made, result, flipped);
    convolve(made, shares, kernel, reach);
    RER_FREE_ALL(shares, kernel);
    return RER_OK;
}

static double density_at(const density *made, double x)
{
    double at = (x - made->left) / made->step;
    if (!(at >= 0 && at <= (double)(made->points - 1)))
        return 0;
    int64_t place = rer_min((int64_t)at, made->points - 2);
    double part = at - (double)place;
    return (1 - part) * made->values[place] + part * made->values[place + 1];
}

/* A row's own kernel is in p(chi), which is never 0. Without two densities to compare, eta. */
static double probability_at(const density *all, const density *mistaken, double eta, double x)
{
    if (all->points == 0 || mistaken->points == 0)
        return eta;
    double p = density_at(all, x);
    return p > 0 ? fmin(1, eta * density_at(mistaken, x) / p) : 0;
}

static void set_logits(rer_result *result, const density *all, const density *mistaken, double eta)
{
    double largest = -1, from = INFINITY;
    for (int64_t row = 0; row < result->N; row++) {
        double x = ratio_of(result, row, NULL), p = isnan(x) ? -1 : probability_at(all, mistaken, eta, x);
        if (p > largest || (p == largest && x < from)) {
            largest = p;
            from = x;
        }
    }
    for (int64_t row = 0; row < result->N; row++) {
        double x = ratio_of(result, row, NULL);
        if (isnan(x))
            continue;
        double p = x >= from ? largest : probability_at(all, mistaken, eta, x), logit = log(p) - log1p(-p);
        result->logit[row] = (float)fmin(fmax(logit, -LOGIT_MOST), LOGIT_MOST);
    }
}

rer_status rer_judge_by_density(rer_result *result, const float *flipped, double eta, rer_error *error)
{
    density all = {0}, mistaken = {0};
    rer_status status = estimate(&all, result, NULL, error);
    RER_THEN(status, estimate(&mistaken, result, flipped, error));
    if (status == RER_OK)
        set_logits(result, &all, &mistaken, eta);
    RER_FREE_ALL(all.values, mistaken.values);
    return status;
}
