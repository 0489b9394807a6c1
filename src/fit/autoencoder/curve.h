/* The curve 1 / (1 + a d^2b) that turns latent distances into memberships. */
#pragma once

typedef struct rer_curve {
    double a, b;
} rer_curve;

/* Least squares against 1 below min_dist and exp(-(d - min_dist) / spread) above, on 300 points up
 * to 3 spread, in s > 0, b > 0 with a = s^-2b: well posed for every spread and min_dist. */
rer_curve rer_curve_fit(double spread, double min_dist);
