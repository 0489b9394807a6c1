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

typedef struct piece {
    float *rows, *batch;    /* [count, columns] in the order of the texts; [batch, columns] */
    const char **by_length; /* [count], the longest first */
    int64_t *row;           /* [count] whose text that is */
} piece;

static piece lay_out(rer_scratch *scratch, const reading *r)
{
    int64_t columns = rer_encoder_columns(r->encoder);
    piece p;
    p.rows = rer_take(scratch, RER_TEXT_PIECE * columns, sizeof *p.rows);
    p.batch = rer_take(scratch, rer_encoder_batch(r->encoder) * columns, sizeof *p.batch);
    p.by_length = rer_take(scratch, RER_TEXT_PIECE, sizeof *p.by_length);
    p.row = rer_take(scratch, RER_TEXT_PIECE, sizeof *p.row);
    return p;
}

static int64_t rows_of(const reading *r, int64_t item)
{
    return rer_min(RER_TEXT_PIECE, r->texts->count - r->first - item * RER_TEXT_PIECE);
}

/* Little is padded where texts of a batch are of like length. */
static void sort(const piece *p, const reading *r, int64_t item)
{
    int64_t first = r->first + item * RER_TEXT_PIECE;
    for (int64_t i = 0; i < rows_of(r, item); i++) {
        const char *text = rer_text(r->texts, first + i);
        size_t length = strlen(text);
        int64_t at = i;
        for (; at > 0 && strlen(p->by_length[at - 1]) < length; at--) {
            p->by_length[at] = p->by_length[at - 1];
            p->row[at] = p->row[at - 1];
        }
        p->by_length[at] = text;
        p->row[at] = i;
    }
}

static rer_status describe_piece(void *context, int64_t item, void *memory, rer_error *error)
{
    const reading *r = context;
    int64_t columns = rer_encoder_columns(r->encoder), batch = rer_encoder_batch(r->encoder);
    rer_scratch scratch = rer_pool_scratch(r->pool, memory);
    piece p = lay_out(&scratch, r);
    rer_status status = RER_OK;
    sort(&p, r, item);
    for (int64_t at = 0; at < rows_of(r, item) && status == RER_OK; at += batch) {
        int64_t count = rer_min(batch, rows_of(r, item) - at);
        status = rer_encoder_describe_texts(r->encoder, p.by_length + at, count, p.batch, error);
        for (int64_t i = 0; i < count && status == RER_OK; i++)
            memcpy(p.rows + p.row[at + i] * columns, p.batch + i * columns, (size_t)columns * sizeof *p.rows);
        if (status == RER_OK)
            status = rer_pool_pulse(r->pool, error);
    }
    return status;
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
                   .from = texts->count > 0 ? (double)first / (double)texts->count : 0,
                   .to = 1,
                   .items = (texts->count - first + RER_TEXT_PIECE - 1) / RER_TEXT_PIECE,
                   .scratch = measured.used,
                   .work = describe_piece,
                   .commit = hand_on,
                   .context = &r};
    return rer_pool_run(pool, &job, error);
}
