/* The curve's least squares by Levenberg and Marquardt in p = (log s, log b). */
#include "fit/autoencoder/curve.h"

#include <math.h>

#define POINTS 300
#define STEPS 500

/* Sum of squared residuals at p; with normal [3] (J'J as 00, 01, 11) and slope [2] (J'r) if wanted.
 *   f = 1 / (1 + u), u = (d / s)^2b:  df/dlog s = 2b u f^2,  df/dlog b = -u log(u) f^2 */
static double residuals(const double p[2], double spread, double min_dist, double normal[3], double slope[2])
{
    double sum = 0, b = exp(p[1]);
    normal[0] = normal[1] = normal[2] = slope[0] = slope[1] = 0;
    for (int i = 0; i < POINTS; i++) {
        double d = 3 * spread * i / (POINTS - 1);
        double target = d < min_dist ? 1 : exp(-(d - min_dist) / spread);
        double log_u = d > 0 ? 2 * b * (log(d) - p[0]) : -INFINITY;
        double f = 1 / (1 + exp(log_u)), weight = d > 0 ? f * (1 - f) : 0; /* u f^2 = f (1 - f) */
        double r = f - target, by_s = 2 * b * weight, by_b = d > 0 ? -log_u * weight : 0;
        sum += r * r;
        normal[0] += by_s * by_s;
        normal[1] += by_s * by_b;
        normal[2] += by_b * by_b;
        slope[0] += by_s * r;
        slope[1] += by_b * r;
    }
    return sum;
}

rer_curve rer_curve_fit(double spread, double min_dist)
{
    double p[2] = {log(spread), 0}, normal[3], slope[2], unused[3], unused2[2], damping = 1e-3;
    double sum = residuals(p, spread, min_dist, normal, slope);
    for (int step = 0; step < STEPS && damping < 1e12; step++) {
        double aa = normal[0] * (1 + damping), bb = normal[2] * (1 + damping), ab = normal[1];
        double determinant = aa * bb - ab * ab;
        double next[2] = {p[0] - (bb * slope[0] - ab * slope[1]) / determinant,
                          p[1] - (aa * slope[1] - ab * slope[0]) / determinant};
        double tried = residuals(next, spread, min_dist, unused, unused2);
        if (tried < sum) {
            p[0] = next[0];
            p[1] = next[1];
            sum = residuals(p, spread, min_dist, normal, slope);
            damping = fmax(damping / 10, 1e-12);
        } else {
            damping *= 10;
        }
    }
    double b = exp(p[1]);
    return (rer_curve){.a = exp(-2 * b * p[0]), .b = b};
}
