/* All errors of a stretch of rows under all classes' networks, in half precision with sums in float, for Hopper's products:
 * a block has ROWS rows in shared memory and goes through some classes, whose weights stream through STAGES buffers that a
 * warp of its own fills. Nothing but the error leaves the chip: what a layer gives is what the next product takes from
 * registers. One hidden layer of at most HIDDEN units, at most CODES latent dimensions and COLUMNS features; the rest is
 * padded with zeros, which change nothing. Rows are centred by 1/2, so that half precision takes less of them; what it
 * takes is added again where they are compared, since all classes would have it in common. The
 * last layer has a factor -log2 e, so that its sigmoid is 1 / (1 + 2^y). */
#include "backend/cuda/sweep.cuh"

#include <cstring>

#define WARP 32
#define ROWS 128 /* two groups of four warps, 64 rows each */
#define CONSUMERS 8
#define THREADS ((CONSUMERS + 4) * WARP) /* and a group of which one thread fills buffers */
#define HIDDEN 256
#define CODES 16
#define COLUMNS 512
#define DEEP 64    /* numbers of a row in a chunk: 128 bytes */
#define ACROSS 256 /* columns of a product */
#define STAGES 2
#define STAGE_BYTES (ACROSS * DEEP * 2)
#define CHUNK_BYTES (ROWS * DEEP * 2)
#define W2_BYTES (CODES * HIDDEN * 2)
#define W3_BYTES (CODES * HIDDEN * 2)
#define B1_AT (W2_BYTES + W3_BYTES) /* biases, as floats */
#define B2_AT (B1_AT + HIDDEN * 4)
#define B3_AT (B2_AT + CODES * 4)
#define B4_AT (B3_AT + HIDDEN * 4)
#define SMALL_BYTES (B4_AT + COLUMNS * 4)
#define X_BYTES (COLUMNS / DEEP * CHUNK_BYTES)
#define STAGES_AT X_BYTES
#define SMALL_AT (STAGES_AT + STAGES * STAGE_BYTES)
#define BARRIERS_AT (SMALL_AT + SMALL_BYTES)
#define SHARED_BYTES (BARRIERS_AT + (3 + 2 * STAGES) * 8)
#define MINUS_LOG2_E (-1.44269504088896340736)
#define CLASSES_EACH 32 /* of a block, or somewhat fewer */
#define CENTRE .5f

static int chunks_of(int64_t D)
{
    return (int)((D + DEEP - 1) / DEEP);
}

static int parts_of(int64_t D) /* of the last layer */
{
    return (int)((D + ACROSS - 1) / ACROSS);
}

static int64_t network_bytes(int64_t D)
{
    return (chunks_of(D) + parts_of(D) * (HIDDEN / DEEP)) * STAGE_BYTES + SMALL_BYTES;
}

/* Where number k of row n is in a chunk of rows of DEEP: groups of eight are exchanged, as the products want it. */
static __device__ int64_t swizzled(int n, int k)
{
    return n * DEEP + ((k / 8 ^ n % 8) * 8 + k % 8);
}

/* ---- packing ----------------------------------------------------------------------------- */

struct Packing {
    const float *weights;
    rer_network laid;
    uint8_t *out;
    int64_t bytes; /* of a network */
    int chunks, parts;
};

/* W_l [in, out], 0 outside. */
static __device__ float weight_at(const Packing &of, const float *w, int l, int64_t in, int64_t out)
{
    return in < of.laid.width[l] && out < of.laid.width[l + 1] ? w[of.laid.weight[l] + in * of.laid.width[l + 1] + out]
                                                               : 0;
}

static __device__ float bias_at(const Packing &of, const float *w, int l, int64_t out)
{
    return out < of.laid.width[l + 1] ? w[of.laid.bias[l] + out] : 0;
}

/* A block a stage of a class. */
static __global__ void pack_stages(Packing of)
{
    int stage = blockIdx.x, later = stage - of.chunks, part = later / (HIDDEN / DEEP), chunk = later % (HIDDEN / DEEP);
    const float *w = of.weights + (int64_t)blockIdx.y * of.laid.parameters;
    __half *out = (__half *)(of.out + blockIdx.y * of.bytes + (int64_t)stage * STAGE_BYTES);
    for (int e = threadIdx.x; e < ACROSS * DEEP; e += blockDim.x) {
        int n = e % ACROSS, k = e / ACROSS;
        float value = stage < of.chunks
                          ? weight_at(of, w, 0, stage * DEEP + k, n)
                          : (float)(MINUS_LOG2_E * (double)weight_at(of, w, 3, chunk * DEEP + k, part * ACROSS + n));
        out[swizzled(n, k)] = __float2half(value);
    }
}

/* A block a class. */
static __global__ void pack_small(Packing of)
{
    const float *w = of.weights + (int64_t)blockIdx.x * of.laid.parameters;
    uint8_t *out = of.out + blockIdx.x * of.bytes + (int64_t)(of.chunks + of.parts * (HIDDEN / DEEP)) * STAGE_BYTES;
    __half *w2 = (__half *)out, *w3 = (__half *)(out + W2_BYTES);
    float *b1 = (float *)(out + B1_AT), *b2 = (float *)(out + B2_AT), *b3 = (float *)(out + B3_AT),
          *b4 = (float *)(out + B4_AT);
    for (int e = threadIdx.x; e < CODES * HIDDEN; e += blockDim.x) {
        int z = e / HIDDEN, unit = e % HIDDEN;
        w2[unit / DEEP * CODES * DEEP + swizzled(z, unit % DEEP)] = __float2half(weight_at(of, w, 1, unit, z));
        w3[unit / 8 * 128 + z / 8 * 64 + unit % 8 * 8 + z % 8] = __float2half(weight_at(of, w, 2, z, unit));
    }
    for (int unit = threadIdx.x; unit < HIDDEN; unit += blockDim.x) {
        double sum = 0;
        for (int64_t j = 0; j < of.laid.width[0]; j++)
            sum += (double)weight_at(of, w, 0, j, unit);
        b1[unit] = (float)((double)bias_at(of, w, 0, unit) + (double)CENTRE * sum);
        b3[unit] = bias_at(of, w, 2, unit);
    }
    for (int z = threadIdx.x; z < CODES; z += blockDim.x)
        b2[z] = bias_at(of, w, 1, z);
    for (int j = threadIdx.x; j < COLUMNS; j += blockDim.x)
        b4[j] = (float)(MINUS_LOG2_E * (double)bias_at(of, w, 3, j));
}

/* Where what is left of a number is: compare_part reads them in this order. */
static __device__ int64_t rest_place(int64_t tile, int row, int column)
{
    int64_t warp = tile * CONSUMERS + row / 16, pair = column % ACROSS / 8 * 2 + row % 16 / 8;
    int lane = row % 8 * 4 + column % 8 / 2;
    return (((warp * (COLUMNS / ACROSS) + column / ACROSS) * (ACROSS / 4) + pair) * WARP + lane) * 2 + column % 2;
}

/* A block a row. */
static __global__ void pack_rows(__half *out, __half *rest, const float *x, int64_t count, int64_t D, int chunks)
{
    int64_t i = blockIdx.x;
    __half *tile = out + i / ROWS * ROWS * DEEP * chunks;
    for (int j = threadIdx.x; j < chunks * DEEP; j += blockDim.x) {
        float value = i < count && j < D ? x[i * D + j] - CENTRE : 0.f;
        __half rounded = __float2half(value);
        tile[j / DEEP * ROWS * DEEP + swizzled((int)(i % ROWS), j % DEEP)] = rounded;
        rest[rest_place(i / ROWS, (int)(i % ROWS), j)] = __float2half(value - __half2float(rounded));
    }
}

/* ---- products ---------------------------------------------------------------------------- */

struct Sweeping {
    const uint8_t *weights;
    const uint8_t *rows;
    const __half2 *rest;
    float *d2; /* [count, C] */
    int64_t count, bytes;
    int32_t C, groups;
    int chunks, parts;
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/* A matrix in shared memory whose rows of 128 bytes lie in groups of eight. */
static __device__ uint64_t wide_matrix(unsigned at)
{
    return (uint64_t)(at >> 4 & 0x3fff) | (uint64_t)1 << 16 | (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 62;
}

/* One of rows of 32 bytes, in pieces of eight rows by 16 bytes. */
static __device__ uint64_t narrow_matrix(unsigned at)
{
    return (uint64_t)(at >> 4 & 0x3fff) | (uint64_t)(128 >> 4) << 16 | (uint64_t)(256 >> 4) << 32;
}

static __device__ void begin_products()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

static __device__ void end_products()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int LEFT> static __device__ void wait_products()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}

/* The 128 sums of a product as operands of the assembler: their numbers, and themselves. */
#define SUM_NUMBERS                                                                                                    \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, "                  \
    "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, "                  \
    "%40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, "                  \
    "%59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, "                  \
    "%78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, "                  \
    "%97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, "                    \
    "%113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define SUM_OPERANDS                                                                                                   \
    "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]), "+f"(sum[7]),    \
        "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11]), "+f"(sum[12]), "+f"(sum[13]), "+f"(sum[14]),         \
        "+f"(sum[15]), "+f"(sum[16]), "+f"(sum[17]), "+f"(sum[18]), "+f"(sum[19]), "+f"(sum[20]), "+f"(sum[21]),       \
        "+f"(sum[22]), "+f"(sum[23]), "+f"(sum[24]), "+f"(sum[25]), "+f"(sum[26]), "+f"(sum[27]), "+f"(sum[28]),       \
        "+f"(sum[29]), "+f"(sum[30]), "+f"(sum[31]), "+f"(sum[32]), "+f"(sum[33]), "+f"(sum[34]), "+f"(sum[35]),       \
        "+f"(sum[36]), "+f"(sum[37]), "+f"(sum[38]), "+f"(sum[39]), "+f"(sum[40]), "+f"(sum[41]), "+f"(sum[42]),       \
        "+f"(sum[43]), "+f"(sum[44]), "+f"(sum[45]), "+f"(sum[46]), "+f"(sum[47]), "+f"(sum[48]), "+f"(sum[49]),       \
        "+f"(sum[50]), "+f"(sum[51]), "+f"(sum[52]), "+f"(sum[53]), "+f"(sum[54]), "+f"(sum[55]), "+f"(sum[56]),       \
        "+f"(sum[57]), "+f"(sum[58]), "+f"(sum[59]), "+f"(sum[60]), "+f"(sum[61]), "+f"(sum[62]), "+f"(sum[63]),       \
        "+f"(sum[64]), "+f"(sum[65]), "+f"(sum[66]), "+f"(sum[67]), "+f"(sum[68]), "+f"(sum[69]), "+f"(sum[70]),       \
        "+f"(sum[71]), "+f"(sum[72]), "+f"(sum[73]), "+f"(sum[74]), "+f"(sum[75]), "+f"(sum[76]), "+f"(sum[77]),       \
        "+f"(sum[78]), "+f"(sum[79]), "+f"(sum[80]), "+f"(sum[81]), "+f"(sum[82]), "+f"(sum[83]), "+f"(sum[84]),       \
        "+f"(sum[85]), "+f"(sum[86]), "+f"(sum[87]), "+f"(sum[88]), "+f"(sum[89]), "+f"(sum[90]), "+f"(sum[91]),       \
        "+f"(sum[92]), "+f"(sum[93]), "+f"(sum[94]), "+f"(sum[95]), "+f"(sum[96]), "+f"(sum[97]), "+f"(sum[98]),       \
        "+f"(sum[99]), "+f"(sum[100]), "+f"(sum[101]), "+f"(sum[102]), "+f"(sum[103]), "+f"(sum[104]), "+f"(sum[105]), \
        "+f"(sum[106]), "+f"(sum[107]), "+f"(sum[108]), "+f"(sum[109]), "+f"(sum[110]), "+f"(sum[111]),                \
        "+f"(sum[112]), "+f"(sum[113]), "+f"(sum[114]), "+f"(sum[115]), "+f"(sum[116]), "+f"(sum[117]),                \
        "+f"(sum[118]), "+f"(sum[119]), "+f"(sum[120]), "+f"(sum[121]), "+f"(sum[122]), "+f"(sum[123]),                \
        "+f"(sum[124]), "+f"(sum[125]), "+f"(sum[126]), "+f"(sum[127])

/* sum [64, ACROSS] (+)= a [64, 16] b [ACROSS, 16]', both in shared memory. */
static __device__ void multiply_rows(float (&sum)[128], uint64_t a, uint64_t b, int adds)
{
    asm volatile("{\n"
                 ".reg .pred adds;\n"
                 "setp.ne.b32 adds, %130, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {" SUM_NUMBERS
                 "}, %128, %129, adds, 1, 1, 0, 0;\n"
                 "}\n"
                 : SUM_OPERANDS
                 : "l"(a), "l"(b), "r"(adds));
}

/* The same with a in registers. */
static __device__ void multiply_left(float (&sum)[128], const unsigned *a, uint64_t b, int adds)
{
    asm volatile("{\n"
                 ".reg .pred adds;\n"
                 "setp.ne.b32 adds, %133, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {" SUM_NUMBERS
                 "}, {%128, %129, %130, %131}, %132, adds, 1, 1, 0;\n"
                 "}\n"
                 : SUM_OPERANDS
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}

/* And with b [CODES, 16]. */
static __device__ void multiply_codes(float (&sum)[8], const unsigned *a, uint64_t b, int adds)
{
    asm volatile("{\n"
                 ".reg .pred adds;\n"
                 "setp.ne.b32 adds, %13, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7"
                 "}, {%8, %9, %10, %11}, %12, adds, 1, 1, 0;\n"
                 "}\n"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]),
                   "+f"(sum[7])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}

static __device__ void wait_barrier(unsigned barrier, unsigned parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra ready;\n"
                 "bra again;\n"
                 "ready:\n"
                 "}\n" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

static __device__ void arrive(unsigned barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/* Copies to shared memory; the barrier is told when it is there. */
static __device__ void copy_in(unsigned to, const uint8_t *from, unsigned bytes, unsigned barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}

static __device__ void expect(unsigned barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

struct Barriers {
    unsigned x, small, small_free, stage, stage_free; /* addresses; of the first stage */
};

/* Fills the buffers, in the order that they are used. */
static __device__ void produce(const Sweeping &of, const Barriers &at, unsigned base, int64_t tile, int32_t first,
                               int32_t end)
{
    const uint8_t *rows = of.rows + tile * of.chunks * CHUNK_BYTES;
    int stages = of.chunks + of.parts * (HIDDEN / DEEP);
    unsigned filled = 0;
    expect(at.x, (unsigned)(of.chunks * CHUNK_BYTES));
    for (int chunk = 0; chunk < of.chunks; chunk++)
        copy_in(base + chunk * CHUNK_BYTES, rows + chunk * CHUNK_BYTES, CHUNK_BYTES, at.x);
    for (int32_t c = first; c < end; c++) {
        const uint8_t *weights = of.weights + c * of.bytes;
        for (int stage = 0; stage < stages; stage++, filled++) {
            unsigned slot = filled % STAGES;
            if (stage == of.chunks) {
                wait_barrier(at.small_free, (unsigned)(c - first + 1) % 2);
                expect(at.small, SMALL_BYTES);
                copy_in(base + SMALL_AT, weights + (int64_t)stages * STAGE_BYTES, SMALL_BYTES, at.small);
            }
            wait_barrier(at.stage_free + 8 * slot, (filled / STAGES + 1) % 2);
            expect(at.stage + 8 * slot, STAGE_BYTES);
            copy_in(base + STAGES_AT + slot * STAGE_BYTES, weights + (int64_t)stage * STAGE_BYTES, STAGE_BYTES,
                    at.stage + 8 * slot);
        }
    }
}

static __device__ unsigned pack_pair(float low, float high)
{
    __half2 pair = __floats2half2_rn(low, high);
    return *(unsigned *)&pair;
}

/* What a thread has of a layer, as the left side of the next product: relu(sum + bias). */
static __device__ void make_left(unsigned (&left)[HIDDEN / 4], const float (&sum)[ACROSS / 2], const float *bias, int t)
{
#pragma unroll
    for (int i = 0; i < ACROSS / 8; i++) {
        float2 b = *(const float2 *)(bias + 8 * i + 2 * t);
        left[2 * i] = pack_pair(fmaxf(sum[4 * i] + b.x, 0), fmaxf(sum[4 * i + 1] + b.y, 0));
        left[2 * i + 1] = pack_pair(fmaxf(sum[4 * i + 2] + b.x, 0), fmaxf(sum[4 * i + 3] + b.y, 0));
    }
}

static __device__ float squared_apart(float y, float bias, float x)
{
    float power, value;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(y + bias));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(value) : "f"(1 + power));
    float apart = value - CENTRE - x;
    return apart * apart;
}

/* Adds the squared errors of a part's columns for the two rows that a thread has. */
static __device__ void compare_part(float (&errors)[2], const float (&sum)[ACROSS / 2], const float *bias,
                                    const uint8_t *x, const __half2 *rest, int part, int chunks, int row, int t)
{
#pragma unroll
    for (int i = 0; i < ACROSS / 8; i++) {
        int chunk = part * (ACROSS / DEEP) + i / 8;
        if (chunk >= chunks)
            break;
        float2 b = *(const float2 *)(bias + part * ACROSS + 8 * i + 2 * t);
#pragma unroll
        for (int lower = 0; lower < 2; lower++) {
            int r = row + 8 * lower;
            __half2 both =
                *(const __half2 *)(x + chunk * CHUNK_BYTES + r * (DEEP * 2) + ((i % 8 ^ r % 8) * 16 + 4 * t));
            float2 value = __half22float2(both), left = __half22float2(rest[(2 * i + lower) * WARP]);
            errors[lower] += squared_apart(sum[4 * i + 2 * lower], b.x, value.x + left.x);
            errors[lower] += squared_apart(sum[4 * i + 2 * lower + 1], b.y, value.y + left.y);
        }
    }
}

/* A group of four warps and its 64 rows. */
static __device__ void consume(const Sweeping &of, const Barriers &at, uint8_t *shared, unsigned base, int64_t tile,
                               int32_t first, int32_t end)
{
    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, t = lane % 4, group = warp / 4;
    int row = group * 64 + warp % 4 * 16 + lane / 4;
    const uint8_t *small = shared + SMALL_AT;
    const __half2 *rest = of.rest + (tile * CONSUMERS + warp) * (COLUMNS / 4) * WARP + lane;
    unsigned used = 0;
    float sum[ACROSS / 2];
    unsigned left[HIDDEN / 4];
    /* Takes the next stage once it is there; the one before is given back when its products are done. */
    auto begin_stage = [&]() -> unsigned {
        wait_barrier(at.stage + 8 * (used % STAGES), used / STAGES % 2);
        begin_products();
        return base + STAGES_AT + used % STAGES * STAGE_BYTES;
    };
    auto end_stage = [&](bool has_before) {
        end_products();
        wait_products<1>();
        if (lane == 0 && has_before)
            arrive(at.stage_free + 8 * ((used + STAGES - 1) % STAGES));
        used++;
    };
    auto end_stages = [&]() {
        wait_products<0>();
        if (lane == 0)
            arrive(at.stage_free + 8 * ((used + STAGES - 1) % STAGES));
    };
    wait_barrier(at.x, 0);
    for (int32_t c = first; c < end; c++) {
        for (int chunk = 0; chunk < of.chunks; chunk++) {
            unsigned stage = begin_stage(), rows = base + chunk * CHUNK_BYTES + group * (CHUNK_BYTES / 2);
#pragma unroll
            for (int k = 0; k < DEEP / 16; k++)
                multiply_rows(sum, wide_matrix(rows + k * 32), wide_matrix(stage + k * 32), chunk + k > 0);
            end_stage(chunk > 0);
        }
        end_stages();
        wait_barrier(at.small, (unsigned)(c - first) % 2);
        make_left(left, sum, (const float *)(small + B1_AT), t);
        float code[CODES / 2];
        begin_products();
#pragma unroll
        for (int k = 0; k < HIDDEN / 16; k++)
            multiply_codes(code, &left[4 * k], wide_matrix(base + SMALL_AT + k / 4 * (CODES * DEEP * 2) + k % 4 * 32),
                           k > 0);
        end_products();
        wait_products<0>();
        unsigned codes[4];
#pragma unroll
        for (int i = 0; i < CODES / 8; i++) {
            float2 b = *(const float2 *)(small + B2_AT + (8 * i + 2 * t) * 4);
            codes[2 * i] = pack_pair(code[4 * i] + b.x, code[4 * i + 1] + b.y);
            codes[2 * i + 1] = pack_pair(code[4 * i + 2] + b.x, code[4 * i + 3] + b.y);
        }
        begin_products();
        multiply_left(sum, codes, narrow_matrix(base + SMALL_AT + W2_BYTES), false);
        end_products();
        wait_products<0>();
        make_left(left, sum, (const float *)(small + B3_AT), t);
        float errors[2] = {0, 0};
        for (int part = 0; part < of.parts; part++) {
#pragma unroll
            for (int chunk = 0; chunk < HIDDEN / DEEP; chunk++) {
                unsigned stage = begin_stage();
#pragma unroll
                for (int k = 0; k < DEEP / 16; k++)
                    multiply_left(sum, &left[16 * chunk + 4 * k], wide_matrix(stage + k * 32), chunk + k > 0);
                end_stage(chunk > 0);
            }
            end_stages();
            compare_part(errors, sum, (const float *)(small + B4_AT), shared, rest + part * (ACROSS / 4) * WARP, part,
                         of.chunks, row, t);
        }
        __syncwarp();
        if (lane == 0)
            arrive(at.small_free);
#pragma unroll
        for (int lower = 0; lower < 2; lower++) {
            float error = errors[lower];
            error += __shfl_xor_sync(~0u, error, 1);
            error += __shfl_xor_sync(~0u, error, 2);
            int64_t i = tile * ROWS + row + 8 * lower;
            if (t == 0 && i < of.count)
                of.d2[i * of.C + c] = error;
        }
    }
}

static __device__ void set_barrier(unsigned barrier, unsigned count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

#endif

static __global__ void __launch_bounds__(THREADS, 1) sweep_rows(Sweeping of)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) uint8_t shared[];
    unsigned base = (unsigned)__cvta_generic_to_shared(shared), at = base + BARRIERS_AT;
    Barriers barriers = {at, at + 8, at + 16, at + 24, at + 24 + 8 * STAGES};
    int64_t tile = blockIdx.x;
    int32_t first = (int32_t)((int64_t)of.C * blockIdx.y / of.groups);
    int32_t end = (int32_t)((int64_t)of.C * (blockIdx.y + 1) / of.groups);
    if (threadIdx.x == 0) {
        set_barrier(barriers.x, 1);
        set_barrier(barriers.small, 1);
        set_barrier(barriers.small_free, CONSUMERS);
        for (int stage = 0; stage < STAGES; stage++) {
            set_barrier(barriers.stage + 8 * stage, 1);
            set_barrier(barriers.stage_free + 8 * stage, CONSUMERS);
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x / WARP < CONSUMERS) { /* who multiplies gets the registers of who does not */
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
        consume(of, barriers, shared, base, tile, first, end);
    } else {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        if (threadIdx.x == CONSUMERS * WARP)
            produce(of, barriers, base, tile, first, end);
    }
#endif
}

/* Whether it was compiled for this card. */
static __global__ void find_products(int *found)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    *found = 1;
#else
    *found = 0;
#endif
}

/* ---- what is called ---------------------------------------------------------------------- */

static bool has_products()
{
    int *found = NULL, is_there = 0;
    if (cudaMalloc(&found, sizeof *found) != cudaSuccess)
        return false;
    find_products<<<1, 1>>>(found);
    bool told = cudaMemcpy(&is_there, found, sizeof is_there, cudaMemcpyDefault) == cudaSuccess;
    (void)cudaFree(found);
    return told && is_there != 0 &&
           cudaFuncSetAttribute(sweep_rows, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES) == cudaSuccess;
}

bool can_pack(const Card *card, const rer_network *shape)
{
    return card->is_hopper && shape->layers == 4 && shape->width[0] <= COLUMNS && shape->width[1] <= HIDDEN &&
           shape->width[2] <= CODES && has_products();
}

Packed take_packed(Moment *moment, const rer_network *shape, int64_t rows, int64_t C)
{
    int64_t D = shape->width[0];
    return Packed{take<uint8_t>(moment, NULL, C * network_bytes(D)),
                  take<__half>(moment, NULL, (rows + ROWS) * chunks_of(D) * DEEP),
                  take<__half>(moment, NULL, (rows + ROWS) * COLUMNS)};
}

void pack(Card *card, const Packed *packed, const float *weights, const rer_network *laid, int64_t C)
{
    int64_t D = laid->width[0];
    Packing of = {weights, *laid, packed->weights, network_bytes(D), chunks_of(D), parts_of(D)};
    if (!is_well(card))
        return;
    pack_stages<<<dim3((unsigned)(of.chunks + of.parts * (HIDDEN / DEEP)), (unsigned)C), 256, 0, card->compute>>>(of);
    pack_small<<<(unsigned)C, 256, 0, card->compute>>>(of);
    LAUNCHED(card);
}

void sweep_packed(Card *card, const Packed *packed, const Slot *slot, float *d2, int64_t C)
{
    int64_t D = card->shape.D, tiles = (slot->count + ROWS - 1) / ROWS;
    int32_t groups = (int32_t)((C + CLASSES_EACH - 1) / CLASSES_EACH);
    Sweeping of = {packed->weights,
                   (const uint8_t *)packed->rows,
                   (const __half2 *)packed->rest,
                   d2,
                   slot->count,
                   network_bytes(D),
                   (int32_t)C,
                   groups,
                   chunks_of(D),
                   parts_of(D)};
    if (!is_well(card))
        return;
    pack_rows<<<(unsigned)(tiles * ROWS), 128, 0, card->compute>>>(packed->rows, packed->rest, slot->rows.x,
                                                                   slot->count, D, of.chunks);
    sweep_rows<<<dim3((unsigned)tiles, (unsigned)groups), THREADS, SHARED_BYTES, card->compute>>>(of);
    LAUNCHED(card);
}
