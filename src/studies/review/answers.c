/* A request -> an answer. What a client sends is checked here, field by field: rows are of the run, texts are short
 * and UTF-8, and files are reached by the number of a row alone. */
#include "studies/review/review.h"

#include "core/json.h"
#include "report/thumbnails.h"

#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FOUND_MOST = 60, /* rows of a search */
    DISAGREEMENTS_MOST = 500,
};
#define PICTURE_MOST ((int64_t)64 << 20) /* bytes of a file */
#define PICTURE_SIDE 4096

static const char as_json[] = "application/json", as_text[] = "text/plain; charset=utf-8";

static void give_text(rer_answer *answer, int status, const char *type, char *text)
{
    *answer = (rer_answer){status, type, text, text != NULL ? (int64_t)strlen(text) : 0};
}

/* What the client did wrong is 400, what we could not do 500. */
static void give_failure(rer_answer *answer, const rer_error *error)
{
    int status = error->status == RER_SYSTEM ? 500 : 400;
    give_text(answer, status, as_text, strdup(error->message));
}

/* What the writer has, or why it has failed. */
static void give_written(rer_answer *answer, const char *type, rer_writer *writer)
{
    char *text = NULL;
    if (rer_writer_end_memory(writer, &text) == RER_OK)
        give_text(answer, 200, type, text);
    else
        give_failure(answer, writer->error);
}

static void give_missing(rer_answer *answer)
{
    give_text(answer, 404, as_text, strdup("there is nothing here"));
}

/* ---- rows ------------------------------------------------------------------------------------- */

static bool row_of(int64_t *row, const rer_review *review, const rer_request *request)
{
    const char *text = request->query(request->context, "row");
    char *end = NULL;
    if (text == NULL || text[0] < '0' || text[0] > '9' || strlen(text) > 18)
        return false;
    *row = strtoll(text, &end, 10);
    return *end == 0 && *row < review->rows.N;
}

static void put_class(rer_json *json, const char *name, const rer_review *review, int32_t c)
{
    rer_json_array(json, name); /* its name, and how the file of labels writes it */
    if (c >= 0) {
        rer_json_text(json, NULL, rer_text(&review->rows.classes, c));
        rer_json_text(json, NULL, rer_review_value(review, c));
    }
    rer_json_end(json);
}

static void put_row(rer_json *json, const rer_review *review, int64_t row, const char *text)
{
    const rer_review_rows *rows = &review->rows;
    const rer_images *images = review->data != NULL ? &review->data->images : NULL;
    rer_json_object(json, NULL);
    rer_json_integer(json, "row", row);
    if (rows->ids.count > 0)
        rer_json_text(json, "id", rer_text(&rows->ids, row));
    put_class(json, "given", review, rows->given[row]);
    put_class(json, "suggested", review, rows->suggested[row]);
    rer_json_real(json, "p", (double)rows->promise[row]);
    rer_json_real(json, "chi", (double)rows->chi[row]);
    if (images != NULL && images->paths.count > 0)
        rer_json_text(json, "file", rer_text(&images->paths, row));
    if (text != NULL)
        rer_json_text(json, "text", text);
    rer_json_end(json);
}

/* Rows whose number, id, label or text has the words; from `after` on. */
typedef struct search {
    const rer_review *review;
    const char *words;
    int64_t number;                                /* that the words are, -1: none */
    uint8_t *has_class;                            /* [C] the class's name has the words */
    int64_t first, found[FOUND_MOST], count, next; /* next: -1, all were seen */
} search;

/* Letters of ASCII are the same in either case. */
static bool has_words(const char *text, const char *words)
{
    size_t length = strlen(words);
    for (; *text != 0; text++)
        if (strncasecmp(text, words, length) == 0)
            return true;
    return length == 0;
}

static bool matches(const search *s, int64_t row)
{
    const rer_review_rows *rows = &s->review->rows;
    if (s->words[0] == 0 || row == s->number)
        return true;
    if (rows->given[row] >= 0 && s->has_class[rows->given[row]] != 0)
        return true;
    return rows->ids.count > 0 && has_words(rer_text(&rows->ids, row), s->words);
}

/* False where that is enough. */
static bool take_row(void *context, int64_t row, const char *text)
{
    search *s = context;
    if (row < s->first || row == s->number || row >= s->review->rows.N)
        return true;
    if (!matches(s, row) && (text == NULL || !has_words(text, s->words)))
        return true;
    if (s->count == FOUND_MOST)
        s->next = row;
    else
        s->found[s->count++] = row;
    return s->next < 0;
}

static rer_status search_rows(search *s, rer_error *error)
{
    const rer_review_rows *rows = &s->review->rows;
    const rer_dataset *data = s->review->data;
    rer_status status = RER_OK;
    RER_TRY(rer_allocate(&s->has_class, rows->classes.count, 1, "classes", error));
    for (int32_t c = 0; c < rows->classes.count; c++)
        s->has_class[c] = has_words(rer_text(&rows->classes, c), s->words);
    if (s->number >= s->first && s->number < rows->N) /* what was named comes first */
        s->found[s->count++] = s->number;
    if (data != NULL && rer_row_texts_are_there(&data->texts))
        status = rer_row_texts_visit(&data->texts, rows->N, take_row, s, error);
    else
        for (int64_t row = s->first; row < rows->N && take_row(s, row, NULL);)
            row++;
    free(s->has_class);
    return status;
}

static int64_t number_in(const char *text, int64_t otherwise)
{
    char *end = NULL;
    if (text == NULL || text[0] < '0' || text[0] > '9' || strlen(text) > 18)
        return otherwise;
    int64_t value = strtoll(text, &end, 10);
    return *end == 0 ? value : otherwise;
}

static int by_number(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* The texts of rows [count], which become sorted. */
static rer_status texts_of(rer_texts *texts, const rer_review *review, int64_t *rows, int64_t count, rer_error *error)
{
    if (count == 0 || review->data == NULL || !rer_row_texts_are_there(&review->data->texts))
        return RER_OK;
    qsort(rows, (size_t)count, sizeof *rows, by_number);
    return rer_row_texts_read(texts, &review->data->texts, rows, count, error);
}

static void answer_rows(rer_answer *answer, rer_review *review, const rer_request *request)
{
    const char *words = request->query(request->context, "find");
    search s = {.review = review,
                .words = words != NULL ? words : "",
                .number = number_in(words, -1),
                .first = number_in(request->query(request->context, "after"), 0),
                .next = -1};
    rer_error error = {0};
    rer_texts texts = {0};
    rer_writer writer;
    rer_json json = {.writer = &writer, .style = RER_JSON_LINE};
    rer_status status = search_rows(&s, &error);
    RER_THEN(status, texts_of(&texts, review, s.found, s.count, &error));
    rer_writer_start(&writer, NULL, &error);
    (void)rer_writer_ok(&writer, status);
    rer_json_object(&json, NULL);
    rer_json_integer(&json, "next", s.next);
    rer_json_array(&json, "rows");
    (void)pthread_rwlock_rdlock(&review->rows_lock);
    for (int64_t i = 0; i < s.count; i++)
        put_row(&json, review, s.found[i], texts.count > 0 ? rer_text(&texts, i) : NULL);
    (void)pthread_rwlock_unlock(&review->rows_lock);
    rer_json_end(&json);
    rer_json_end(&json);
    rer_texts_free(&texts);
    give_written(answer, as_json, &writer);
}

/* ---- pictures and texts ----------------------------------------------------------------------- */

/* The type of a picture by its first bytes; NULL: none that is shown. */
static const char *picture_type(const unsigned char *bytes, int64_t size)
{
    if (size > 3 && memcmp(bytes, "\xFF\xD8\xFF", 3) == 0)
        return "image/jpeg";
    if (size > 8 && memcmp(bytes, "\x89PNG\r\n\x1A\n", 8) == 0)
        return "image/png";
    return size > 12 && memcmp(bytes, "RIFF", 4) == 0 && memcmp(bytes + 8, "WEBP", 4) == 0 ? "image/webp" : NULL;
}

/* The file itself, where it is a plain one that holds a picture. */
static rer_status read_picture(rer_answer *answer, const char *path, rer_error *error)
{
    rer_bytes bytes = RER_NO_BYTES;
    char *made = NULL;
    struct stat found;
    const char *type = NULL;
    if (stat(path, &found) != 0)
        return rer_fail_errno(error, "%s: cannot be read", path);
    if (!S_ISREG(found.st_mode) || found.st_size > PICTURE_MOST)
        return rer_fail(error, RER_BAD_INPUT, "%s: is no file of a picture", path);
    rer_status status = rer_bytes_open_plain(&bytes, path, PICTURE_MOST, error);
    RER_THEN(status, rer_allocate(&made, rer_max(bytes.size, 1), 1, "a picture", error));
    RER_THEN(status, rer_bytes_read(&bytes, 0, bytes.size, made, path, error));
    if (status == RER_OK && (type = picture_type((const unsigned char *)made, bytes.size)) == NULL)
        status = rer_fail(error, RER_BAD_INPUT, "%s: is no picture", path);
    if (status == RER_OK)
        *answer = (rer_answer){200, type, made, bytes.size};
    else
        free(made);
    rer_bytes_close(&bytes);
    return status;
}

static rer_status encode_picture(rer_answer *answer, const rer_images *images, int64_t row, rer_error *error)
{
    rer_picture picture = {0};
    uint8_t *bytes = NULL;
    int64_t size = 0;
    rer_status status = rer_images_read(&picture, images, row, PICTURE_SIDE, error);
    RER_THEN(status, rer_thumbnail_encode(&bytes, &size, &picture, PICTURE_SIDE, error));
    rer_picture_free(&picture);
    if (status == RER_OK)
        *answer = (rer_answer){200, "image/webp", (char *)bytes, size};
    return status;
}

static void answer_picture(rer_answer *answer, rer_review *review, const rer_request *request)
{
    const rer_images *images = review->data != NULL ? &review->data->images : NULL;
    rer_error error = {0};
    int64_t row = 0;
    if (images == NULL || !rer_images_are_there(images) || !row_of(&row, review, request)) {
        give_missing(answer);
        return;
    }
    rer_status status = images->paths.count > 0 ? read_picture(answer, rer_text(&images->paths, row), &error)
                                                : encode_picture(answer, images, row, &error);
    if (status != RER_OK)
        give_text(answer, 404, as_text, strdup(error.message));
}

static void answer_text(rer_answer *answer, rer_review *review, const rer_request *request)
{
    rer_error error = {0};
    rer_texts texts = {0};
    int64_t row = 0;
    if (!row_of(&row, review, request)) {
        give_missing(answer);
        return;
    }
    if (texts_of(&texts, review, &row, 1, &error) != RER_OK)
        give_failure(answer, &error);
    else if (texts.count == 0)
        give_missing(answer);
    else
        give_text(answer, 200, as_text, strdup(rer_text(&texts, 0)));
    rer_texts_free(&texts);
}

/* ---- what is asked for ------------------------------------------------------------------------- */

static void answer_decide(rer_answer *answer, rer_review *review, const rer_request *request)
{
    rer_error error = {0};
    if (rer_review_decide(review, request->body, request->size, &error) == RER_OK)
        give_text(answer, 200, as_json, strdup("{\"saved\":true}"));
    else
        give_failure(answer, &error);
}

/* ---- what stands ------------------------------------------------------------------------------ */

/* Of all reviewers: [row, reviewer, decision, label, note]. */
static void put_decisions(rer_json *json, const rer_review *review)
{
    const rer_journal *journal = &review->journal;
    rer_json_array(json, "decisions");
    for (int64_t i = 0; i < journal->count; i++) {
        const rer_entry *entry = &journal->entries[i];
        if (!rer_entry_holds(entry) || entry->row >= review->rows.N)
            continue;
        rer_json_array(json, NULL);
        rer_json_integer(json, NULL, entry->row);
        rer_json_text(json, NULL, rer_entry_reviewer(journal, entry));
        rer_json_text(json, NULL, rer_decision_word((rer_decision_kind)entry->kind));
        rer_json_text(json, NULL, rer_entry_text(journal, entry->label));
        rer_json_text(json, NULL, rer_entry_text(journal, entry->note));
        rer_json_end(json);
    }
    rer_json_end(json);
}

/* Rows that reviewers see differently. */
static void put_disagreements(rer_json *json, const rer_review *review)
{
    rer_verdict_of_row *verdicts = NULL;
    int64_t count = 0, put = 0;
    rer_writer *writer = json->writer;
    if (rer_writer_ok(writer, rer_review_verdicts(&verdicts, &count, review, writer->error))) {
        rer_json_array(json, "disagreements");
        for (int64_t i = 0; i < count && put < DISAGREEMENTS_MOST; i++)
            if (!verdicts[i].is_unanimous) {
                rer_json_integer(json, NULL, verdicts[i].row);
                put++;
            }
        rer_json_end(json);
    }
    free(verdicts);
}

static void put_again(rer_json *json, const rer_review *review)
{
    static const char *const words[] = {"never", "runs", "done", "failed"};
    rer_json_object(json, "again");
    rer_json_text(json, "state", words[review->again.state]);
    rer_json_real(json, "fraction", review->again.fraction);
    rer_json_text(json, "message", review->again.message);
    rer_json_integer(json, "looks", review->looks);
    rer_json_end(json);
}

/* Everything that a page begins with; the lock is held. */
static rer_status make_state(char **state, rer_review *review, rer_json_style style, rer_error *error)
{
    rer_writer writer;
    rer_json json = {.writer = &writer, .style = style};
    rer_writer_start(&writer, NULL, error);
    if (rer_writer_ok(&writer, rer_journal_catch_up(&review->journal, error))) {
        rer_json_object(&json, NULL);
        rer_json_text(&json, "reviewer", review->reviewer);
        rer_json_integer(&json, "rows", review->rows.N);
        rer_json_text(&json, "why", review->data != NULL ? NULL : review->why);
        rer_json_bool(&json, "pictures", review->data != NULL && rer_images_are_there(&review->data->images));
        rer_json_bool(&json, "texts", review->data != NULL && rer_row_texts_are_there(&review->data->texts));
        put_again(&json, review);
        put_decisions(&json, review);
        put_disagreements(&json, review);
        rer_json_end(&json);
    }
    return rer_writer_end_memory(&writer, state);
}

static void answer_state(rer_answer *answer, rer_review *review, const rer_request *request)
{
    rer_error error = {0};
    char *state = NULL;
    (void)request;
    (void)pthread_mutex_lock(&review->lock);
    rer_status status = make_state(&state, review, RER_JSON_LINE, &error);
    (void)pthread_mutex_unlock(&review->lock);
    if (status == RER_OK)
        give_text(answer, 200, as_json, state);
    else
        give_failure(answer, &error);
}

static void answer_page(rer_answer *answer, rer_review *review, const rer_request *request)
{
    rer_error error = {0};
    char *state = NULL, *page = NULL;
    (void)request;
    (void)pthread_mutex_lock(&review->lock);
    rer_status status = make_state(&state, review, RER_JSON_PAGE, &error);
    RER_THEN(status, rer_review_page(&page, review->report, state, &error));
    (void)pthread_mutex_unlock(&review->lock);
    free(state);
    if (status == RER_OK)
        give_text(answer, 200, "text/html; charset=utf-8", page);
    else
        give_failure(answer, &error);
}

static const rer_field taught_fields[] = {
    RER_FIELD(rer_taught, looked),        RER_FIELD(rer_taught, wrong),    RER_FIELD(rer_taught, promised),
    RER_FIELD(rer_taught, next),          RER_FIELD(rer_taught, expected), RER_FIELD(rer_taught, low),
    RER_FIELD(rer_taught, high),          RER_FIELD(rer_taught, shift),    RER_FIELD(rer_taught, slope),
    RER_FIELD(rer_taught, promised_next),
};

/* What was learned, and how far looking again has come. */
static void answer_taught(rer_answer *answer, rer_review *review, const rer_request *request)
{
    rer_error error = {0};
    rer_taught taught = {0};
    rer_writer writer;
    rer_json json = {.writer = &writer, .style = RER_JSON_LINE};
    (void)request;
    rer_status status = rer_review_learn(&taught, NULL, review, &error);
    rer_writer_start(&writer, NULL, &error);
    (void)pthread_mutex_lock(&review->lock);
    if (rer_writer_ok(&writer, status)) {
        rer_json_object(&json, NULL);
        rer_json_fields(&json, RER_FIELDS(taught_fields), &taught);
        put_disagreements(&json, review);
        rer_json_end(&json);
    }
    (void)pthread_mutex_unlock(&review->lock);
    give_written(answer, as_json, &writer);
}

static void answer_progress(rer_answer *answer, rer_review *review, const rer_request *request)
{
    rer_error error = {0};
    rer_writer writer;
    rer_json json = {.writer = &writer, .style = RER_JSON_LINE};
    rer_status status = RER_OK;
    (void)pthread_mutex_lock(&review->lock);
    if (request->is_post)
        status = rer_again_start(review, &error);
    rer_writer_start(&writer, NULL, &error);
    if (rer_writer_ok(&writer, status)) {
        rer_json_object(&json, NULL);
        put_again(&json, review);
        rer_json_end(&json);
    }
    (void)pthread_mutex_unlock(&review->lock);
    give_written(answer, as_json, &writer);
}

static void answer_export(rer_answer *answer, rer_review *review, const rer_request *request)
{
    rer_error error = {0};
    rer_writer writer;
    (void)request;
    rer_writer_start(&writer, NULL, &error);
    (void)pthread_mutex_lock(&review->lock);
    if (rer_writer_ok(&writer, rer_journal_catch_up(&review->journal, &error)))
        rer_review_put_decisions(&writer, review, 0);
    (void)pthread_mutex_unlock(&review->lock);
    give_written(answer, "text/csv; charset=utf-8", &writer);
}

/* ---- all of them ------------------------------------------------------------------------------ */

enum { GET = 1, POST = 2 };

static const struct {
    const char *path;
    int methods;
    void (*answer)(rer_answer *answer, rer_review *review, const rer_request *request);
} routes[] = {
    {"", GET, answer_page},
    {"state", GET, answer_state},
    {"rows", GET, answer_rows},
    {"picture", GET, answer_picture},
    {"text", GET, answer_text},
    {"decide", POST, answer_decide},
    {"taught", GET, answer_taught},
    {"again", GET | POST, answer_progress},
    {"decisions.csv", GET, answer_export},
};

void rer_review_answer(rer_answer *answer, rer_review *review, const rer_request *request)
{
    for (int i = 0; i < RER_COUNT(routes); i++)
        if (strcmp(request->path, routes[i].path) == 0 && (routes[i].methods & (request->is_post ? POST : GET)) != 0) {
            routes[i].answer(answer, review, request);
            return;
        }
    give_missing(answer);
}
