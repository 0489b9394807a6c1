/* Calls of CUDA and cuBLAS that fail: see faults.h. */
#include "faults.h"

#include <atomic>
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <map>
#include <mutex>

static fault_kind kind;
static int64_t place;
static int code;
static std::atomic<int64_t> calls;
static std::map<void *, int64_t> taken; /* of the card's memory */
static int64_t in_use, peak;
static std::mutex counting;

static void count(void *memory, int64_t bytes)
{
    std::lock_guard<std::mutex> alone(counting);
    in_use += bytes - taken[memory];
    taken[memory] = bytes;
    peak = in_use > peak ? in_use : peak;
}

static __global__ void fail_in_kernel()
{
    __trap();
}

static bool memory_fails()
{
    if (kind != FAULT_MEMORY_ONCE && kind != FAULT_MEMORY)
        return false;
    int64_t call = calls++;
    return kind == FAULT_MEMORY ? call >= place : call == place;
}

/* Memory is full of NaN at first; no stream waits for that, so it is waited for here. */
static cudaError_t poison(void *memory, size_t bytes)
{
    cudaError_t result = cudaMemset(memory, 0xff, bytes);
    return result == cudaSuccess ? cudaDeviceSynchronize() : result;
}

/* Whether an error takes the place of what a call came to. */
static bool call_fails()
{
    if (kind != FAULT_ERROR && kind != FAULT_TRAP)
        return false;
    int64_t call = calls++;
    if (kind == FAULT_TRAP && call == place)
        fail_in_kernel<<<1, 1>>>();
    return kind == FAULT_ERROR && call >= place;
}

extern "C" {
__attribute__((visibility("default"))) void rer_faults_set(fault_kind of, int64_t at, int with)
{
    kind = of;
    place = at;
    code = with;
    calls = 0;
    peak = in_use;
}

__attribute__((visibility("default"))) int64_t rer_faults_peak(void)
{
    return peak;
}

__attribute__((visibility("default"))) int rer_faults_met(void)
{
    return calls > place;
}

#define WRAP(name, parameters, arguments)                                                                              \
    cudaError_t __real_##name parameters;                                                                              \
    cudaError_t __wrap_##name parameters                                                                               \
    {                                                                                                                  \
        cudaError_t result = __real_##name arguments;                                                                  \
        return call_fails() ? (cudaError_t)code : result;                                                              \
    }
#define WRAP_MEMORY(name)                                                                                              \
    cudaError_t __real_##name(void **memory, size_t bytes);                                                            \
    cudaError_t __wrap_##name(void **memory, size_t bytes)                                                             \
    {                                                                                                                  \
        cudaError_t result = memory_fails() ? cudaErrorMemoryAllocation : __real_##name(memory, bytes);                \
        return result == cudaSuccess ? poison(*memory, bytes) : result;                                                \
    }
#define WRAP_PRODUCTS(name, parameters, arguments)                                                                     \
    cublasStatus_t __real_##name parameters;                                                                           \
    cublasStatus_t __wrap_##name parameters                                                                            \
    {                                                                                                                  \
        cublasStatus_t result = __real_##name arguments;                                                               \
        return call_fails() ? CUBLAS_STATUS_EXECUTION_FAILED : result;                                                 \
    }

WRAP_MEMORY(cudaMallocHost)
cudaError_t __real_cudaMalloc(void **memory, size_t bytes);
cudaError_t __wrap_cudaMalloc(void **memory, size_t bytes)
{
    cudaError_t result = memory_fails() ? cudaErrorMemoryAllocation : __real_cudaMalloc(memory, bytes);
    if (result == cudaSuccess)
        count(*memory, (int64_t)bytes);
    return result == cudaSuccess ? poison(*memory, bytes) : result;
}
cudaError_t __real_cudaFree(void *memory);
cudaError_t __wrap_cudaFree(void *memory)
{
    count(memory, 0);
    return __real_cudaFree(memory);
}
WRAP(cudaGetDeviceCount, (int *count), (count))
WRAP(cudaGetDevice, (int *device), (device))
WRAP(cudaSetDevice, (int device), (device))
WRAP(cudaMemGetInfo, (size_t * left, size_t *total), (left, total))
WRAP(cudaGetLastError, (void), ())
WRAP(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags), (stream, flags))
WRAP(cudaStreamSynchronize, (cudaStream_t stream), (stream))
WRAP(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags), (stream, event, flags))
WRAP(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags), (event, flags))
WRAP(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, stream))
WRAP(cudaEventSynchronize, (cudaEvent_t event), (event))
WRAP(cudaMemcpy, (void *to, const void *from, size_t bytes, cudaMemcpyKind way), (to, from, bytes, way))
WRAP(cudaMemcpyAsync, (void *to, const void *from, size_t bytes, cudaMemcpyKind way, cudaStream_t stream),
     (to, from, bytes, way, stream))
WRAP(cudaMemsetAsync, (void *to, int value, size_t bytes, cudaStream_t stream), (to, value, bytes, stream))
WRAP_PRODUCTS(cublasCreate_v2, (cublasHandle_t * handle), (handle))
WRAP_PRODUCTS(cublasSetStream_v2, (cublasHandle_t handle, cudaStream_t stream), (handle, stream))
WRAP_PRODUCTS(cublasGemmEx,
              (cublasHandle_t handle, cublasOperation_t a_is, cublasOperation_t b_is, int m, int n, int k,
               const void *alpha, const void *a, cudaDataType a_type, int a_stride, const void *b, cudaDataType b_type,
               int b_stride, const void *beta, void *c, cudaDataType c_type, int c_stride, cublasComputeType_t type,
               cublasGemmAlgo_t how),
              (handle, a_is, b_is, m, n, k, alpha, a, a_type, a_stride, b, b_type, b_stride, beta, c, c_type, c_stride,
               type, how))
}
