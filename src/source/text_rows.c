/* Texts as rows: see text_rows.h. */
#include "source/text_rows.h"

typedef struct reading {
    const rer_texts *texts;
    int64_t first;
    rer_encoder *encoder;
    rer_rows_taker *take;
    void *context;
    rer_pool *pool;
} reading;

typedef struct entry {
    const char *text;
    int64_t length, row; /* row: of the piece */
} entry;

typedef struct piece {
    float *rows, *batch; /* [count, columns] in the order of the texts; [batch, columns] */
    entry *entries;      /* [count], the longest first */
    const char **texts;  /* [batch] */
} piece;

static piece lay_out(rer_scratch *scratch, const reading *r)
{
    int64_t columns = rer_encoder_columns(r->encoder);
    piece p;
    p.rows = rer_take(scratch, RER_TEXT_PIECE * columns, sizeof *p.rows);
    p.batch = rer_take(scratch, rer_encoder_batch(r->encoder) * columns, sizeof *p.batch);
    p.entries = rer_take(scratch, RER_TEXT_PIECE, sizeof *p.entries);
    p.texts = rer_take(scratch, rer_encoder_batch(r->encoder), sizeof *p.texts);
    return p;
}

static int64_t rows_of(const reading *r, int64_t item)
{
    return rer_min(RER_TEXT_PIECE, r->texts->count - r->first - item * RER_TEXT_PIECE);
}

static int by_length(const void *a, const void *b)
{
    const entry *left = a, *right = b;
    if (left->length != right->length)
        return left->length > right->length ? -1 : 1;
    return left->row < right->row ? -1 : 1;
}

/* Little is padded where texts of a batch are of like length. */
static void sort(const piece *p, const reading *r, int64_t item)
{
    int64_t first = r->first + item * RER_TEXT_PIECE, count = rows_of(r, item);
    for (int64_t i = 0; i < count; i++) {
        const char *text = rer_text(r->texts, first + i);
        p->entries[i] = (entry){text, (int64_t)strlen(text), i};
    }
    qsort(p->entries, (size_t)count, sizeof *p->entries, by_length);
}

/* A batch of the sorted texts; its rows go to where they belong. */
static rer_status describe_batch(const piece *p, const reading *r, int64_t at, int64_t count, rer_error *error)
{
    int64_t columns = rer_encoder_columns(r->encoder);
    for (int64_t i = 0; i < count; i++)
        p->texts[i] = p->entries[at + i].text;
    RER_TRY(rer_encoder_describe_texts(r->encoder, p->texts, count, p->batch, error));
    for (int64_t i = 0; i < count; i++)
        memcpy(p->rows + p->entries[at + i].row * columns, p->batch + i * columns, (size_t)columns * sizeof *p->rows);
    return rer_pool_pulse(r->pool, error);
}

static rer_status describe_piece(void *context, int64_t item, void *memory, rer_error *error)
{
    const reading *r = context;
    int64_t batch = rer_encoder_batch(r->encoder), rows = rows_of(r, item);
    rer_scratch scratch = rer_pool_scratch(r->pool, memory);
    piece p = lay_out(&scratch, r);
    sort(&p, r, item);
    for (int64_t at = 0; at < rows; at += batch)
        RER_TRY(describe_batch(&p, r, at, rer_min(batch, rows - at), error));
    return RER_OK;
}

static rer_status hand_on(void *context, int64_t item, void *memory, rer_error *error)
{
    const reading *r = context;
    rer_scratch scratch = rer_pool_scratch(r->pool, memory);
    piece p = lay_out(&scratch, r);
    rer_made_rows rows = {
        .first = r->first + item * RER_TEXT_PIECE, .count = rows_of(r, item), .rows = (uint8_t *)(void *)p.rows};
    return r->take(r->context, &rows, error);
}

rer_status rer_text_rows_read(const rer_texts *texts, int64_t first, rer_encoder *encoder, rer_rows_taker *take,
                              void *context, rer_pool *pool, rer_error *error)
{
    reading r = {texts, first, encoder, take, context, pool};
    rer_scratch measured = RER_MEASURE;
    (void)lay_out(&measured, &r);
    rer_job job = {.stage = "texts",
                   .from = texts->count > 0 ? RER_ROWS_MADE * (double)first / (double)texts->count : 0,
                   .to = RER_ROWS_MADE,
                   .items = (texts->count - first + RER_TEXT_PIECE - 1) / RER_TEXT_PIECE,
                   .scratch = measured.used,
                   .work = describe_piece,
                   .commit = hand_on,
                   .context = &r};
    return rer_pool_run(pool, &job, error);
}
