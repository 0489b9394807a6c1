/* The same data set with other labels, or with its features in memory. Both lean on the data set that they
 * come from. */
#include "source/dataset.h"
#include "source/formats.h"
#include "source/texts.h"

const int32_t *rer_dataset_labels(const rer_dataset *data)
{
    return data->labels.codes;
}

static rer_status copy_labels(rer_labels *copy, const rer_labels *labels, rer_error *error)
{
    rer_labels made = {.N = labels->N, .C = labels->C};
    rer_texts_builder names = {0};
    RER_TRY(rer_allocate(&made.codes, labels->N, sizeof *made.codes, "labels", error));
    memcpy(made.codes, labels->codes, (size_t)labels->N * sizeof *made.codes);
    rer_status status = RER_OK;
    for (int32_t c = 0; status == RER_OK && c < labels->C; c++)
        status =
            rer_texts_add(&names, rer_text(&labels->names, c), (int64_t)strlen(rer_text(&labels->names, c)), error);
    made.names = names.texts;
    if (status == RER_OK && labels->source != NULL)
        status = rer_copy_text(&made.source, labels->source, error);
    if (status == RER_OK)
        *copy = made;
    else
        rer_labels_free(&made);
    return status;
}

static rer_status copy_class_embeddings(rer_dataset *made, const rer_dataset *data, rer_error *error)
{
    const float *from = data->class_embeddings;
    int64_t bytes = data->D * (int64_t)sizeof(float);
    if (from == NULL)
        return RER_OK;
    RER_TRY(rer_allocate(&made->class_embeddings, data->embedded_classes, bytes, "class embeddings", error));
    memcpy(made->class_embeddings, from, (size_t)data->embedded_classes * (size_t)bytes);
    return RER_OK;
}

/* A data set with the features of another and a copy of its labels, without ids, groups, pictures and texts. */
static rer_status lean_on(rer_dataset **other, const rer_dataset *data, rer_error *error)
{
    rer_dataset *made = NULL;
    RER_TRY(rer_allocate(&made, 1, sizeof *made, "a data set", error));
    *made = *data;
    made->borrows_features = true;
    made->pred_probs = (rer_array){.fd = -1}; /* of other labels */
    made->seconds_read = 0;
    made->waking = (rer_device_waking){0};
    made->labels = (rer_labels){0};
    made->subsets = (rer_labels){0};
    made->groups = (rer_labels){0};
    made->group_duplicates = false;
    made->ids = (rer_texts){0};
    made->columns = made->skipped = (rer_texts){0};
    made->notes = (rer_notes){0};
    made->images = (rer_images){.array = {.fd = -1}};
    made->texts = (rer_row_texts){.input = RER_NO_INPUT};
    made->inputs = made->opened = NULL;
    made->origin = NULL;
    made->class_embeddings = NULL;
    rer_status status = RER_OK;
    if (data->labels.codes != NULL)
        status = copy_labels(&made->labels, &data->labels, error);
    RER_THEN(status, copy_class_embeddings(made, data, error));
    if (status != RER_OK) {
        rer_labels_free(&made->labels);
        free(made);
        return status;
    }
    *other = made;
    return RER_OK;
}

/* Takes the classes out that no row has any more. */
static rer_status drop_empty_classes(rer_dataset *data, rer_error *error)
{
    rer_labels *labels = &data->labels;
    rer_texts_builder names = {0};
    int32_t *place = NULL, *origin = NULL, kept = 0; /* [C] */
    rer_status status = rer_allocate(&place, labels->C, sizeof *place, "classes", error);
    for (int64_t row = 0; status == RER_OK && row < data->N; row++)
        if (labels->codes[row] >= 0)
            place[labels->codes[row]] = 1;
    for (int32_t c = 0; status == RER_OK && c < labels->C; c++)
        kept += place[c];
    if (status != RER_OK || kept == labels->C) {
        free(place);
        return status;
    }
    status = rer_allocate(&origin, labels->C, sizeof *origin, "classes", error);
    kept = 0;
    for (int32_t c = 0; status == RER_OK && c < labels->C; c++)
        if (place[c] != 0) {
            const char *name = rer_text(&labels->names, c);
            status = rer_texts_add(&names, name, (int64_t)strlen(name), error);
            if (data->class_embeddings != NULL)
                memmove(data->class_embeddings + kept * data->D, data->class_embeddings + c * data->D,
                        (size_t)data->D * sizeof(float));
            origin[kept] = c;
            place[c] = kept++;
        }
    if (status == RER_OK) {
        for (int64_t row = 0; row < data->N; row++)
            labels->codes[row] = labels->codes[row] < 0 ? -1 : place[labels->codes[row]];
        rer_texts_free(&labels->names);
        labels->names = names.texts;
        labels->C = kept;
        data->embedded_classes = kept;
        data->origin = origin;
    } else {
        rer_texts_free(&names.texts);
        free(origin);
    }
    free(place);
    return status;
}

rer_status rer_dataset_relabel(rer_dataset **other, const rer_dataset *data, const int32_t *codes, rer_error *error)
{
    rer_dataset *made = NULL;
    rer_error_clear(error);
    RER_TRY(rer_dataset_check(data, error));
    if (data->labels.codes == NULL)
        return rer_fail(error, RER_BAD_USAGE, "%s: has no labels to replace", data->features.name);
    for (int64_t row = 0; row < data->N; row++)
        if (codes[row] < -1 || codes[row] >= data->labels.C)
            return rer_fail(error, RER_BAD_USAGE, "row %lld: class %d is not in 0..%d, nor -1 for none", (long long)row,
                            codes[row], data->labels.C - 1);
    RER_TRY(lean_on(&made, data, error));
    memcpy(made->labels.codes, codes, (size_t)data->N * sizeof *codes);
    rer_status status = drop_empty_classes(made, error);
    if (status != RER_OK) {
        rer_dataset_free(made);
        return status;
    }
    made->labels_checksum = rer_labels_checksum(&made->labels);
    *other = made;
    return RER_OK;
}

/* ---- features in memory ------------------------------------------------------------------ */

#define BLOCK 1024 /* rows */

typedef struct load_pass {
    const rer_dataset *data;
    float *x; /* [N, D] */
} load_pass;

static rer_status load_block(void *context, int64_t item, void *scratch, rer_error *error)
{
    const load_pass *pass = context;
    int64_t first = item * BLOCK;
    return rer_dataset_rows_read(pass->data, first, rer_min(BLOCK, pass->data->N - first),
                                 pass->x + first * pass->data->D, scratch, error);
}

bool rer_dataset_is_loaded(const rer_dataset *data)
{
    const rer_array *array = &data->features;
    return array->data != NULL && array->dtype == RER_F32 && !array->fortran && !data->hog;
}

rer_status rer_dataset_load(rer_dataset **loaded, const rer_dataset *data, rer_pool *pool, rer_error *error)
{
    rer_dataset *made = NULL;
    load_pass pass = {.data = data};
    int64_t values = 0;
    if (!rer_product(data->N, data->D, &values))
        return rer_fail(error, RER_SYSTEM, "%s: more values than this machine can address", data->features.name);
    rer_status status = rer_allocate(&pass.x, values, sizeof *pass.x, "features", error);
    rer_job job = {
        .stage = "reading",
        .items = (data->N + BLOCK - 1) / BLOCK,
        .scratch = rer_dataset_scratch(data, rer_min(BLOCK, data->N)),
        .work = load_block,
        .context = &pass,
    };
    RER_THEN(status, rer_pool_run(pool, &job, error));
    RER_THEN(status, lean_on(&made, data, error));
    char *name = NULL;
    RER_THEN(status, rer_copy_text(&name, data->features.name, error));
    if (status != RER_OK) {
        rer_dataset_free(made);
        free(pass.x);
        return status;
    }
    made->features = rer_float_rows(pass.x, data->N, data->D);
    made->features.name = name;
    made->features.owned = (unsigned char *)pass.x;
    made->borrows_features = false;
    made->hog = false;
    memset(made->picture, 0, sizeof made->picture);
    *loaded = made;
    return RER_OK;
}
