/* Texts to tokens: see tokenizer.h. One request serves all threads, one after the other: it takes little of the time. */
#include "embed/tokenizer.h"
#include "embed/openvino.h"

#include <pthread.h>

struct rer_tokenizer {
    openvino ov;
    void *core, *model, *compiled, *request;
    char *name;            /* of the file */
    pthread_mutex_t mutex; /* of the request */
};

static rer_status check(const rer_tokenizer *tokenizer, int result, const char *what, rer_error *error)
{
    return rer_openvino_check(&tokenizer->ov, result, tokenizer->name, what, error);
}

static rer_status open_all(rer_tokenizer *t, rer_error *error)
{
    const openvino *ov = &t->ov;
    char *extension = NULL;
    rer_status status = rer_openvino_load(&t->ov, error);
    RER_THEN(status, rer_openvino_tokenizers(&extension, ov, error));
    RER_THEN(status, check(t, ov->ov_core_create(&t->core), "no engine", error));
    RER_THEN(status,
             check(t, ov->ov_core_add_extension(t->core, extension), "openvino-tokenizers does not load", error));
    RER_THEN(status, check(t, ov->ov_core_read_model(t->core, t->name, NULL, &t->model),
                           "is no tokenizer that can be read", error));
    RER_THEN(status, check(t,
                           ov->ov_core_compile_model(t->core, t->model, "CPU", 4, &t->compiled, "NUM_STREAMS", "1",
                                                     "INFERENCE_NUM_THREADS", "1"),
                           "cannot be compiled", error));
    RER_THEN(status,
             check(t, ov->ov_compiled_model_create_infer_request(t->compiled, &t->request), "cannot be run", error));
    free(extension);
    return status;
}

rer_status rer_tokenizer_open(rer_tokenizer **tokenizer, const char *file, rer_error *error)
{
    rer_tokenizer *opened = NULL;
    RER_TRY(rer_allocate(&opened, 1, sizeof *opened, "a tokenizer", error));
    (void)pthread_mutex_init(&opened->mutex, NULL);
    rer_status status = rer_copy_text(&opened->name, file, error);
    RER_THEN(status, open_all(opened, error));
    if (status == RER_OK)
        *tokenizer = opened;
    else
        rer_tokenizer_free(opened);
    return status;
}

void rer_tokenizer_free(rer_tokenizer *tokenizer)
{
    if (tokenizer == NULL)
        return;
    const openvino *ov = &tokenizer->ov;
    if (ov->library != NULL) {
        ov->ov_infer_request_free(tokenizer->request);
        ov->ov_compiled_model_free(tokenizer->compiled);
        ov->ov_model_free(tokenizer->model);
        ov->ov_core_free(tokenizer->core);
    }
    (void)pthread_mutex_destroy(&tokenizer->mutex);
    RER_FREE_ALL(tokenizer->name, tokenizer);
}

void rer_tokens_free(rer_tokens *tokens)
{
    RER_FREE_ALL(tokens->ids, tokens->mask);
    *tokens = (rer_tokens){0};
}

/* ---- running ---------------------------------------------------------------------------------- */

/* Numbers that the tokenizer gave: [count, length], int32 or int64; NULL where it has no such output. */
typedef struct numbers {
    const void *at;
    int64_t length;
    size_t size; /* of each */
} numbers;

typedef struct raw_tokens {
    numbers ids, mask;
} raw_tokens;

static int64_t number(const numbers *n, int64_t index)
{
    return n->size == sizeof(int32_t) ? ((const int32_t *)n->at)[index] : ((const int64_t *)n->at)[index];
}

static rer_status find_output(numbers *out, const rer_tokenizer *t, const char *name, int64_t count, rer_error *error)
{
    const openvino *ov = &t->ov;
    void *tensor = NULL, *values = NULL;
    ov_shape shape = {0};
    size_t bytes = 0;
    if (ov->ov_infer_request_get_tensor(t->request, name, &tensor) != 0)
        return RER_OK;
    rer_status status = check(t, ov->ov_tensor_get_shape(tensor, &shape), name, error);
    RER_THEN(status, check(t, ov->ov_tensor_get_byte_size(tensor, &bytes), name, error));
    RER_THEN(status, check(t, ov->ov_tensor_data(tensor, &values), name, error));
    bool is_table = status == RER_OK && shape.rank == 2 && shape.dims[0] == count && shape.dims[1] > 0;
    if (is_table)
        *out = (numbers){values, shape.dims[1], bytes / (size_t)(count * shape.dims[1])};
    if (status == RER_OK && (!is_table || (out->size != sizeof(int32_t) && out->size != sizeof(int64_t))))
        status =
            rer_fail(error, RER_BAD_INPUT, "%s: its output %s is not int64 or int32 [texts, tokens]", t->name, name);
    (void)ov->ov_shape_free(&shape);
    ov->ov_tensor_free(tensor); /* the request has it too */
    return status;
}

/* One text more than there are: empty texts alone would be taken for a single one. */
static rer_status give_texts(const rer_tokenizer *t, const char *const *texts, int64_t count, rer_error *error)
{
    const openvino *ov = &t->ov;
    const char **all = NULL;
    void *tensor = NULL;
    int64_t dims = count + 1;
    ov_shape shape = {.rank = 1, .dims = &dims};
    RER_TRY(rer_allocate(&all, count + 1, sizeof *all, "texts", error));
    memcpy(all, texts, (size_t)count * sizeof *all);
    all[count] = ".";
    rer_status status =
        check(t, ov->ov_tensor_create_from_string_array(all, (size_t)dims, shape, &tensor), "cannot take texts", error);
    if (status == RER_OK) {
        status =
            check(t, ov->ov_infer_request_set_input_tensor_by_index(t->request, 0, tensor), "cannot take texts", error);
        ov->ov_tensor_free(tensor); /* the request has it too */
    }
    free(all);
    return status;
}

static rer_status infer(raw_tokens *raw, const rer_tokenizer *t, const char *const *texts, int64_t count,
                        rer_error *error)
{
    RER_TRY(give_texts(t, texts, count, error));
    RER_TRY(check(t, t->ov.ov_infer_request_infer(t->request), "failed", error));
    RER_TRY(find_output(&raw->ids, t, "input_ids", count + 1, error));
    if (raw->ids.at == NULL)
        return rer_fail(error, RER_BAD_INPUT, "%s: has no output input_ids; is it a tokenizer?", t->name);
    RER_TRY(find_output(&raw->mask, t, "attention_mask", count + 1, error));
    if (raw->mask.at != NULL && raw->mask.length != raw->ids.length)
        return rer_fail(error, RER_BAD_INPUT, "%s: its mask is not as long as its tokens", t->name);
    return RER_OK;
}

/* How many tokens of a row are the text's, and those moved to its beginning. */
static int64_t take_row(int64_t *ids, const raw_tokens *raw, int64_t row, int64_t most)
{
    int64_t first = row * raw->ids.length, count = 0, last = 0;
    for (int64_t i = first; i < first + raw->ids.length; i++) {
        if (raw->mask.at != NULL && number(&raw->mask, i) == 0)
            continue;
        last = number(&raw->ids, i);
        if (count < most)
            ids[count++] = last;
    }
    if (count == most)
        ids[most - 1] = last;
    return count;
}

static void take_rows(rer_tokens *tokens, const raw_tokens *raw, rer_token_limits limits)
{
    for (int64_t row = 0; row < tokens->count; row++) {
        int64_t *ids = tokens->ids + row * tokens->length, *mask = tokens->mask + row * tokens->length;
        int64_t there = take_row(ids, raw, row, rer_min(limits.most, tokens->length));
        for (int64_t i = 0; i < tokens->length; i++) {
            mask[i] = i < there;
            ids[i] = i < there ? ids[i] : limits.padding;
        }
    }
}

rer_status rer_tokenizer_run(rer_tokens *tokens, rer_tokenizer *tokenizer, const char *const *texts, int64_t count,
                             rer_token_limits limits, rer_error *error)
{
    raw_tokens raw = {0};
    rer_tokens made = {.count = count};
    rer_tokens_free(tokens);
    pthread_mutex_lock(&tokenizer->mutex);
    rer_status status = infer(&raw, tokenizer, texts, count, error);
    if (status == RER_OK) {
        int64_t stepped = (raw.ids.length + limits.step - 1) / limits.step * limits.step;
        made.length = rer_min(stepped, limits.most);
        const rer_room rooms[] = {RER_ROOM(made.ids, count * made.length), RER_ROOM(made.mask, count * made.length)};
        status = rer_allocate_all(rooms, RER_COUNT(rooms), "tokens", error);
    }
    if (status == RER_OK)
        take_rows(&made, &raw, limits);
    pthread_mutex_unlock(&tokenizer->mutex);
    if (status == RER_OK)
        *tokens = made;
    else
        rer_tokens_free(&made);
    return status;
}
