/* Elementwise kernels of networks, compiled once for each instruction set like kernels.c. */
#include "backend/backend.h"
#include "backend/cpu/exp.h"

#define TABLE_NAME_OF(isa) rer_network_kernels_##isa
#define TABLE_NAME(isa) TABLE_NAME_OF(isa)

extern const rer_network_kernels TABLE_NAME(RER_ISA);

#define REAL float
#define REAL_NAME(name) name##_f32
#define REAL_EXP exp_of_negative
#define REAL_SQRT sqrtf
#include "backend/cpu/kernels_network.inc"
#undef REAL
#undef REAL_NAME
#undef REAL_EXP
#undef REAL_SQRT
#define REAL double
#define REAL_NAME(name) name##_f64
#define REAL_EXP exp
#define REAL_SQRT sqrt
#include "backend/cpu/kernels_network.inc"
#undef REAL
#undef REAL_NAME
#undef REAL_EXP
#undef REAL_SQRT

#define BOTH(name) .name##_f32 = name##_f32, .name##_f64 = name##_f64

const rer_network_kernels TABLE_NAME(RER_ISA) = {
    BOTH(bias_relu), BOTH(bias_sigmoid), BOTH(squared_error), BOTH(relu_back), BOTH(sigmoid_back), BOTH(adam),
};
