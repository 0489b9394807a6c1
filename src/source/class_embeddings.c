/* An embedding of each class, whole in memory: as large as a model's weights. */
#include "source/dataset.h"
#include "source/formats.h"

rer_status rer_class_embeddings_take(rer_dataset *data, const rer_array *array, rer_error *error)
{
    int64_t C = data->labels.C, D = rer_array_columns(array), values = 0;
    float *made = NULL;
    void *scratch = NULL;
    char shape[RER_SHAPE_TEXT];
    if (data->labels.codes == NULL)
        return rer_fail(error, RER_BAD_USAGE, "%s: class embeddings need labels", array->name);
    if (array->dtype == RER_BYTES || array->dtype == RER_UNICODE)
        return rer_fail(error, RER_BAD_INPUT, "%s: holds texts where embeddings must be numbers", array->name);
    if (array->rank != 2 || array->shape[0] != C || D != data->D || !rer_product(C, D, &values))
        return rer_fail(error, RER_BAD_INPUT,
                        "%s: shape %s, but %lld classes of %lld features need [%lld, %lld]: one row for each class, "
                        "from the same encoder, in the order of the sorted labels",
                        array->name, rer_shape_text(shape, array->rank, array->shape), (long long)C, (long long)data->D,
                        (long long)C, (long long)data->D);
    rer_status status = rer_allocate(&made, values, sizeof *made, "class embeddings", error);
    RER_THEN(status, rer_allocate(&scratch, C, rer_array_row_bytes(array), "class embeddings", error));
    RER_THEN(status, rer_array_rows(array, 0, C, made, scratch, error));
    free(scratch);
    for (int64_t i = 0; status == RER_OK && i < values; i++)
        if (!isfinite(made[i]))
            status = rer_fail(error, RER_BAD_INPUT, "%s: row %lld, column %lld is no finite number", array->name,
                              (long long)(i / D), (long long)(i % D));
    if (status != RER_OK) {
        free(made);
        return status;
    }
    free(data->class_embeddings);
    data->class_embeddings = made;
    data->embedded_classes = (int32_t)C;
    return RER_OK;
}

rer_status rer_class_embeddings_open(rer_dataset *data, const char *path, rer_error *error)
{
    rer_input input = RER_NO_INPUT;
    rer_array array = {.fd = -1};
    rer_status status = rer_input_open(&input, path, error);
    RER_THEN(status, rer_input_array(&array, &input, error));
    RER_THEN(status, rer_class_embeddings_take(data, &array, error));
    rer_array_close(&array);
    rer_input_close(&input);
    return status;
}
