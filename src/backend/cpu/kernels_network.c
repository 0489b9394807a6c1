/* Elementwise kernels of networks, compiled once for each instruction set like kernels.c. */
#include "backend/backend.h"
#include "backend/cpu/exp.h"

#define TABLE_NAME_OF(isa) rer_network_kernels_##isa
#define TABLE_NAME(isa) TABLE_NAME_OF(isa)

extern const rer_network_kernels TABLE_NAME(RER_ISA);

static void bias_relu(float *restrict h, const float *restrict bias, double scale_, int64_t rows, int64_t cols)
{
    float scale = (float)scale_;
    for (int64_t i = 0; i < rows; i++) {
        float *row = h + i * cols;
#pragma omp simd
        for (int64_t j = 0; j < cols; j++) {
            float value = row[j] + bias[j];
            row[j] = value > 0 ? value * scale : 0;
        }
    }
}

/* 1 / (1 + e^-x) from e^-|x|, which never overflows. */
static inline float sigmoid(float x)
{
    float e = exp_of_negative(x < 0 ? x : -x);
    return (x < 0 ? e : 1) / (1 + e);
}

static void bias_sigmoid(float *restrict y, const float *restrict bias, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        float *row = y + i * cols;
#pragma omp simd
        for (int64_t j = 0; j < cols; j++)
            row[j] = sigmoid(row[j] + bias[j]);
    }
}

static double squared_error(const float *y, const float *x, int64_t n)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < n; j++)
        sum += (double)((y[j] - x[j]) * (y[j] - x[j]));
    return sum;
}

/* d <- where h > 0: d * scale, else 0. */
static void relu_back(float *restrict d, const float *restrict h, double scale_, int64_t n)
{
    float scale = (float)scale_;
#pragma omp simd
    for (int64_t j = 0; j < n; j++)
        d[j] = h[j] > 0 ? d[j] * scale : 0;
}

/* y <- factor (y - x) y (1 - y), the gradient before the sigmoid. */
static void sigmoid_back(float *restrict y, const float *restrict x, double factor_, int64_t n)
{
    float factor = (float)factor_;
#pragma omp simd
    for (int64_t j = 0; j < n; j++)
        y[j] = factor * (y[j] - x[j]) * y[j] * (1 - y[j]);
}

/* One Adam step; g is first joined by the L2 gradient and clipped to +-clip. */
static void adam(float *restrict w, float *restrict m, float *restrict v, const float *restrict g, double rate_,
                 double l2_, double clip_, int64_t n)
{
    float rate = (float)rate_, l2 = (float)(2 * l2_), clip = (float)clip_;
#pragma omp simd
    for (int64_t j = 0; j < n; j++) {
        float gradient = g[j] + l2 * w[j];
        gradient = gradient > clip ? clip : gradient < -clip ? -clip : gradient;
        m[j] += .1f * (gradient - m[j]);
        v[j] += .001f * (gradient * gradient - v[j]);
        w[j] -= rate * m[j] / (sqrtf(v[j]) + 1e-7f);
    }
}

const rer_network_kernels TABLE_NAME(RER_ISA) = {
    .bias_relu = bias_relu,
    .bias_sigmoid = bias_sigmoid,
    .squared_error = squared_error,
    .relu_back = relu_back,
    .sigmoid_back = sigmoid_back,
    .adam = adam,
};
