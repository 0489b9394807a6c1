/* A plug-in for cards whose calls of CUDA fail where a test says: faults.cu, to which the linker leads them (--wrap). */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fault_kind {
    FAULT_NONE,
    FAULT_MEMORY_ONCE, /* one allocation fails ... */
    FAULT_MEMORY,      /* ... or it and all that follow */
    FAULT_ERROR,       /* from one call on all others end in an error, as where the card is gone */
    FAULT_TRAP,        /* a kernel fails, really */
} fault_kind;

#define FAULTS_SET "rer_faults_set"
#define FAULTS_MET "rer_faults_met"
#define FAULTS_PEAK "rer_faults_peak"
/* The at-th call from now on, from 0; `code` is that of FAULT_ERROR. */
typedef void faults_set(fault_kind kind, int64_t at, int code);
/* Whether it was reached. */
typedef int faults_met(void);
/* The most bytes of the card's memory that were taken at a time since then. */
typedef int64_t faults_peak(void);

#ifdef __cplusplus
}
#endif
