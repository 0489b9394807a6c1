/* See real.h: the same functions twice, in float and in double. */
#include "fit/real.h"

#include <string.h>

/* ---- float --------------------------------------------------------------------------------- */

static double get_f32(const void *values, int64_t i)
{
    return (double)((const float *)values)[i];
}

static void set_f32(void *values, int64_t i, double value)
{
    ((float *)values)[i] = (float)value;
}

static void from_double_f32(void *out, const double *values, int64_t n)
{
    float *to = out;
    for (int64_t i = 0; i < n; i++)
        to[i] = (float)values[i];
}

static void multiply_f32(void *out, int64_t stride, const void *a, const void *b, int64_t n, int64_t m, int64_t D)
{
    rer_multiply_f32(out, stride, a, b, n, m, D);
}

static void multiply_quickly_f32(void *out, int64_t stride, const void *a, const void *b, int64_t n, int64_t m,
                                 int64_t D)
{
    rer_multiply_quickly_f32(out, stride, a, b, n, m, D);
}

static bool multiply_roughly_f32(void *out, int64_t stride, const void *a, const void *b, int64_t n, int64_t m,
                                 int64_t D, float *off)
{
    return rer_multiply_roughly_f32(out, stride, a, b, n, m, D, off);
}

static void multiply_triangle_f32(void *x, const void *root, int64_t n, int64_t D)
{
    rer_multiply_triangle_f32(x, root, n, D);
}

static void residual_f32(const rer_kernels *kernels, void *out, const float *x, double scale, const double *mean,
                         int64_t n)
{
    (void)kernels->residual_f32(out, x, scale, mean, n);
}

static double dot_f32(const rer_kernels *kernels, const void *a, const void *b, int64_t n)
{
    return kernels->dot_f32(a, b, n);
}

static bool left_out_f32(const rer_kernels *kernels, void *h, const void *m, const void *scale, double base, double own,
                         double h_own, double gain, int64_t n)
{
    return kernels->left_out_f32(h, m, scale, base, own, h_own, gain, n);
}

static void direct_f32(const rer_kernels *kernels, const void *t, const void *u_own, const void *u_k, int64_t n,
                       double *d2, double *g)
{
    kernels->direct_f32(t, u_own, u_k, n, d2, g);
}

static void square_between_f32(void *m, const void *norm, double own, int64_t n)
{
    float *made = m, norm_own = (float)own;
    const float *norm_k = norm;
    for (int64_t k = 0; k < n; k++)
        made[k] = norm_own + norm_k[k] - 2 * made[k];
}

static void subtract_f32(void *a, const void *b, int64_t n)
{
    float *from = a;
    const float *what = b;
    for (int64_t k = 0; k < n; k++)
        from[k] -= what[k];
}

static void start_f32(void *e2, void *e_t, const void *h, const void *m, double own, double h_own, int64_t n)
{
    float *square = e2, *product = e_t, all = (float)own, of_own = (float)h_own;
    const float *of = h, *between = m;
    for (int64_t k = 0; k < n; k++) {
        float difference = of_own - of[k];
        product[k] = all + difference;
        square[k] = all + 2 * difference + between[k];
    }
}

static void project_f32(void *e2, void *e_t, const void *q, const void *shift, int64_t n)
{
    float *square = e2, *product = e_t;
    const float *along = q, *from = shift;
    for (int64_t k = 0; k < n; k++) {
        float p = along[k] + from[k];
        square[k] -= p * p;
        product[k] -= p * along[k];
    }
}

static bool finish_f32(float *d2, const void *e2, const void *e_t, const void *scale, double base, double gain,
                       int64_t n)
{
    const float *square = e2, *product = e_t, *size = scale;
    bool any = false;
    for (int64_t k = 0; k < n; k++) {
        bool cancelled = (double)square[k] < RER_CANCELLED_BELOW * (base + (double)size[k]);
        d2[k] = cancelled ? -1 : (float)((double)square[k] + gain * (double)product[k] * (double)product[k]);
        any = any || cancelled;
    }
    return any;
}

static void remove_f32(double *v, const void *direction, int64_t n)
{
    const float *along = direction;
    double p = 0;
    for (int64_t d = 0; d < n; d++)
        p += (double)along[d] * v[d];
    for (int64_t d = 0; d < n; d++)
        v[d] -= p * (double)along[d];
}

static double dot_double_f32(const double *v, const void *t, int64_t n)
{
    const float *with = t;
    double sum = 0;
    for (int64_t d = 0; d < n; d++)
        sum += v[d] * (double)with[d];
    return sum;
}

const rer_real rer_real_f32 = {
    .size = sizeof(float),
    .get = get_f32,
    .set = set_f32,
    .from_double = from_double_f32,
    .multiply = multiply_f32,
    .multiply_quickly = multiply_quickly_f32,
    .multiply_roughly = multiply_roughly_f32,
    .multiply_triangle = multiply_triangle_f32,
    .residual = residual_f32,
    .dot = dot_f32,
    .left_out = left_out_f32,
    .direct = direct_f32,
    .square_between = square_between_f32,
    .subtract = subtract_f32,
    .start = start_f32,
    .project = project_f32,
    .finish = finish_f32,
    .remove = remove_f32,
    .dot_double = dot_double_f32,
};

/* ---- double -------------------------------------------------------------------------------- */

static double get_f64(const void *values, int64_t i)
{
    return ((const double *)values)[i];
}

static void set_f64(void *values, int64_t i, double value)
{
    ((double *)values)[i] = value;
}

static void from_double_f64(void *out, const double *values, int64_t n)
{
    memcpy(out, values, (size_t)n * sizeof *values);
}

static void multiply_f64(void *out, int64_t stride, const void *a, const void *b, int64_t n, int64_t m, int64_t D)
{
    rer_multiply_f64(out, stride, a, b, n, m, D);
}

static bool never_roughly(void *out, int64_t stride, const void *a, const void *b, int64_t n, int64_t m, int64_t D,
                          float *off)
{
    (void)out, (void)stride, (void)a, (void)b, (void)n, (void)m, (void)D, (void)off;
    return false;
}

static void multiply_triangle_f64(void *x, const void *root, int64_t n, int64_t D)
{
    rer_multiply_triangle_f64(x, root, n, D);
}

static void residual_f64(const rer_kernels *kernels, void *out, const float *x, double scale, const double *mean,
                         int64_t n)
{
    (void)kernels->residual_f64(out, x, scale, mean, n);
}

static double dot_f64(const rer_kernels *kernels, const void *a, const void *b, int64_t n)
{
    return kernels->dot_f64(a, b, n);
}

static bool left_out_f64(const rer_kernels *kernels, void *h, const void *m, const void *scale, double base, double own,
                         double h_own, double gain, int64_t n)
{
    return kernels->left_out_f64(h, m, scale, base, own, h_own, gain, n);
}

static void direct_f64(const rer_kernels *kernels, const void *t, const void *u_own, const void *u_k, int64_t n,
                       double *d2, double *g)
{
    kernels->direct_f64(t, u_own, u_k, n, d2, g);
}

static void square_between_f64(void *m, const void *norm, double own, int64_t n)
{
    double *made = m, norm_own = own;
    const double *norm_k = norm;
    for (int64_t k = 0; k < n; k++)
        made[k] = norm_own + norm_k[k] - 2 * made[k];
}

static void subtract_f64(void *a, const void *b, int64_t n)
{
    double *from = a;
    const double *what = b;
    for (int64_t k = 0; k < n; k++)
        from[k] -= what[k];
}

static void start_f64(void *e2, void *e_t, const void *h, const void *m, double own, double h_own, int64_t n)
{
    double *square = e2, *product = e_t, all = own, of_own = h_own;
    const double *of = h, *between = m;
    for (int64_t k = 0; k < n; k++) {
        double difference = of_own - of[k];
        product[k] = all + difference;
        square[k] = all + 2 * difference + between[k];
    }
}

static void project_f64(void *e2, void *e_t, const void *q, const void *shift, int64_t n)
{
    double *square = e2, *product = e_t;
    const double *along = q, *from = shift;
    for (int64_t k = 0; k < n; k++) {
        double p = along[k] + from[k];
        square[k] -= p * p;
        product[k] -= p * along[k];
    }
}

static bool finish_f64(float *d2, const void *e2, const void *e_t, const void *scale, double base, double gain,
                       int64_t n)
{
    const double *square = e2, *product = e_t, *size = scale;
    bool any = false;
    for (int64_t k = 0; k < n; k++) {
        bool cancelled = square[k] < RER_CANCELLED_BELOW * (base + size[k]);
        d2[k] = cancelled ? -1 : (float)(square[k] + gain * product[k] * product[k]);
        any = any || cancelled;
    }
    return any;
}

static void remove_f64(double *v, const void *direction, int64_t n)
{
    const double *along = direction;
    double p = 0;
    for (int64_t d = 0; d < n; d++)
        p += along[d] * v[d];
    for (int64_t d = 0; d < n; d++)
        v[d] -= p * along[d];
}

static double dot_double_f64(const double *v, const void *t, int64_t n)
{
    const double *with = t;
    double sum = 0;
    for (int64_t d = 0; d < n; d++)
        sum += v[d] * with[d];
    return sum;
}

const rer_real rer_real_f64 = {
    .size = sizeof(double),
    .get = get_f64,
    .set = set_f64,
    .from_double = from_double_f64,
    .multiply = multiply_f64,
    .multiply_quickly = multiply_f64,
    .multiply_roughly = never_roughly,
    .multiply_triangle = multiply_triangle_f64,
    .residual = residual_f64,
    .dot = dot_f64,
    .left_out = left_out_f64,
    .direct = direct_f64,
    .square_between = square_between_f64,
    .subtract = subtract_f64,
    .start = start_f64,
    .project = project_f64,
    .finish = finish_f64,
    .remove = remove_f64,
    .dot_double = dot_double_f64,
};
