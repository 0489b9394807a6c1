/* Class sums: the host sorts a stretch's rows by class and cuts each class into pieces; a block sums up some columns of
 * a piece, and then a thread adds a class's pieces, one after the other: the same bits each time. */
#include "backend/cuda/card.cuh"

#define THREADS 128

void sums_begin(void *device)
{
    Card *card = (Card *)device;
    size_t bytes = (size_t)(card->shape.C * card->shape.D) * sizeof(double);
    CHECK(card, cudaMemsetAsync(card->sum, 0, bytes, card->compute));
    CHECK(card, cudaMemsetAsync(card->square, 0, bytes, card->compute));
}

/* Fills order, pieces and piece_start; returns the number of pieces. */
static int32_t sort_rows(Card *card, Slot *slot)
{
    int32_t C = card->shape.C, n = 0, before = 0;
    std::unique_ptr<int32_t[]> at = room_for<int32_t>(card, C + 1);
    if (!is_well(card))
        return 0;
    for (int64_t i = 0; i < slot->count; i++)
        if (slot->code[i] >= 0)
            at[slot->code[i]]++;
    for (int32_t c = 0; c <= C; c++) {
        int32_t rows = c < C ? at[c] : 0;
        at[c] = before;
        slot->piece_start[c] = n;
        for (int32_t first = before; first < before + rows; first += PIECE_ROWS) {
            int32_t end = first + PIECE_ROWS < before + rows ? first + PIECE_ROWS : before + rows;
            slot->pieces[n++] = Piece{c, first, end};
        }
        before += rows;
    }
    for (int64_t i = 0; i < slot->count; i++)
        if (slot->code[i] >= 0)
            slot->order[at[slot->code[i]]++] = (int32_t)i;
    return n;
}

/* Columns in threads, a piece a block. */
static __global__ void sum_pieces(double *piece_sums, Rows rows, const int32_t *order, const Piece *pieces, int64_t D)
{
    Piece piece = pieces[blockIdx.x];
    int64_t j = (int64_t)blockIdx.y * THREADS + threadIdx.x;
    if (j >= D)
        return;
    double sum = 0, square = 0;
    for (int32_t i = piece.first; i < piece.end; i++) {
        double value = rows.scale[order[i]] * (double)rows.x[order[i] * D + j];
        sum += value;
        square += value * value;
    }
    piece_sums[blockIdx.x * 2 * D + j] = sum;
    piece_sums[(blockIdx.x * 2 + 1) * D + j] = square;
}

static __global__ void add_pieces(double *sum, double *square, const double *piece_sums, const int32_t *piece_start,
                                  int64_t D)
{
    int64_t c = blockIdx.x, j = (int64_t)blockIdx.y * THREADS + threadIdx.x;
    if (j >= D || piece_start[c] == piece_start[c + 1])
        return;
    double sums = sum[c * D + j], squares = square[c * D + j];
    for (int64_t p = piece_start[c]; p < piece_start[c + 1]; p++) {
        sums += piece_sums[p * 2 * D + j];
        squares += piece_sums[(p * 2 + 1) * D + j];
    }
    sum[c * D + j] = sums;
    square[c * D + j] = squares;
}

void sums_add(void *device, int which)
{
    Card *card = (Card *)device;
    Slot *slot = &card->slots[which];
    if (!is_well(card))
        return;
    int64_t D = card->shape.D;
    CHECK(card, cudaEventSynchronize(slot->returned)); /* the last copy of what is sorted here */
    int32_t C = card->shape.C, pieces = sort_rows(card, slot);
    CHECK(card, cudaStreamWaitEvent(card->in, slot->computed, 0));
    CHECK(card, cudaMemcpyAsync(slot->order_on_card, slot->order, (size_t)slot->count * sizeof(int32_t),
                                cudaMemcpyDefault, card->in));
    CHECK(card, cudaMemcpyAsync(slot->pieces_on_card, slot->pieces, (size_t)pieces * sizeof(Piece), cudaMemcpyDefault,
                                card->in));
    CHECK(card, cudaMemcpyAsync(slot->piece_start_on_card, slot->piece_start, (size_t)(C + 1) * sizeof(int32_t),
                                cudaMemcpyDefault, card->in));
    CHECK(card, cudaEventRecord(slot->returned, card->in));
    CHECK(card, cudaStreamWaitEvent(card->compute, slot->returned, 0));
    if (pieces == 0 || !is_well(card))
        return;
    sum_pieces<<<dim3((unsigned)pieces, blocks_for(D, THREADS)), THREADS, 0, card->compute>>>(
        card->piece_sums, slot->rows, slot->order_on_card, slot->pieces_on_card, D);
    add_pieces<<<dim3((unsigned)C, blocks_for(D, THREADS)), THREADS, 0, card->compute>>>(
        card->sum, card->square, card->piece_sums, slot->piece_start_on_card, D);
    LAUNCHED(card);
    CHECK(card, cudaEventRecord(slot->computed, card->compute));
}

void sums_end(void *device, double *sum, double *square)
{
    Card *card = (Card *)device;
    size_t bytes = (size_t)(card->shape.C * card->shape.D) * sizeof(double);
    CHECK(card, cudaMemcpyAsync(sum, card->sum, bytes, cudaMemcpyDefault, card->compute));
    CHECK(card, cudaMemcpyAsync(square, card->square, bytes, cudaMemcpyDefault, card->compute));
    CHECK(card, cudaStreamSynchronize(card->compute));
}
