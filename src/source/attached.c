/* Whether all that is attached to a data set fits it: what every entry that uses one begins with. Labels may
 * change after the rest was set, so no setter can know; it only refuses what is wrong already. */
#include "source/dataset.h"

static rer_status check_count(const rer_dataset *data, int64_t count, const char *what, rer_error *error)
{
    if (count == data->N)
        return RER_OK;
    return rer_fail(error, RER_BAD_INPUT, "%s: %lld rows of features, but %lld %s; each row needs one",
                    data->features.name, (long long)data->N, (long long)count, what);
}

rer_status rer_dataset_check_probabilities(const rer_dataset *data, const rer_array *array, rer_error *error)
{
    char shape[RER_SHAPE_TEXT];
    if (data->labels.codes == NULL)
        return rer_fail(error, RER_BAD_USAGE, "%s: predicted probabilities need labels", array->name);
    if (array->dtype == RER_BYTES || array->dtype == RER_UNICODE)
        return rer_fail(error, RER_BAD_INPUT, "%s: holds texts where probabilities must be numbers", array->name);
    if (array->rank == 2 && array->shape[0] == data->N && array->shape[1] == data->labels.C)
        return RER_OK;
    return rer_fail(error, RER_BAD_INPUT,
                    "%s: shape %s is not (%lld, %d): a row of probabilities for each of the samples, a column for each "
                    "class in the order of the sorted labels",
                    array->name, rer_shape_text(shape, array->rank, array->shape), (long long)data->N, data->labels.C);
}

static rer_status check_classes(const rer_dataset *data, rer_error *error)
{
    if (data->pred_probs.name != NULL) {
        RER_TRY(rer_dataset_check_probabilities(data, &data->pred_probs, error));
    }
    if (data->class_embeddings != NULL && data->embedded_classes != data->labels.C)
        return rer_fail(error, RER_BAD_INPUT,
                        "class embeddings: %d of them, but the labels have %d classes; give one for each class, in the "
                        "order of the sorted labels",
                        data->embedded_classes, data->labels.C);
    return RER_OK;
}

rer_status rer_dataset_check_rows(const rer_dataset *data, int64_t N, rer_error *error)
{
    RER_TRY(rer_dataset_check(data, error));
    if (data->N != N)
        return rer_fail(error, RER_BAD_USAGE,
                        "%s: has %lld rows, but the result %lld; give the data set that it was made from",
                        data->features.name, (long long)data->N, (long long)N);
    return RER_OK;
}

rer_status rer_dataset_check(const rer_dataset *data, rer_error *error)
{
    if (data == NULL)
        return rer_fail(error, RER_BAD_USAGE, "no data set is given");
    const struct {
        int64_t count; /* 0: nothing is attached */
        const char *what;
    } attached[] = {{data->labels.N, "labels"},
                    {data->subsets.N, "subsets"},
                    {data->groups.N, "groups"},
                    {data->ids.count, "ids"},
                    {data->images.array.shape[0], "pictures"},
                    {data->images.paths.count, "pictures"},
                    {data->texts.kept.count, "texts"}};
    for (int i = 0; i < RER_COUNT(attached); i++)
        if (attached[i].count > 0)
            RER_TRY(check_count(data, attached[i].count, attached[i].what, error));
    return check_classes(data, error);
}

rer_status rer_dataset_check_labelled(const rer_dataset *data, rer_error *error)
{
    RER_TRY(rer_dataset_check(data, error));
    if (data->labels.codes == NULL)
        return rer_fail(error, RER_BAD_USAGE, "%s: labels are needed: a file of labels, or a label column",
                        data->features.name);
    return RER_OK;
}
