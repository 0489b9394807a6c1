/* Models: the list of reconstructors, and one to begin with. Saved and freed they are with their channel
 * (channel/model_file.c). */
#include "fit/model.h"

/* In the order of rer_reconstructor_kind. */
static const rer_reconstructor *const reconstructors[] = {&rer_centroid_reconstructor, &rer_subspace_reconstructor,
                                                          &rer_autoencoder_reconstructor, &rer_published_reconstructor};

const rer_reconstructor *rer_reconstructor_of(int32_t kind)
{
    return reconstructors[kind];
}

const rer_reconstructor *rer_reconstructor_named(const char *name)
{
    for (int i = 0; i < (int)(sizeof reconstructors / sizeof *reconstructors); i++)
        if (name != NULL && strcmp(reconstructors[i]->name, name) == 0)
            return reconstructors[i];
    return NULL;
}

int32_t rer_reconstructor_index(const rer_reconstructor *reconstructor)
{
    int32_t kind = (int32_t)(sizeof reconstructors / sizeof *reconstructors) - 1;
    while (kind > 0 && reconstructors[kind] != reconstructor)
        kind--;
    return kind;
}

int64_t rer_model_columns(const rer_model *model)
{
    return model->span != NULL ? model->span->D : model->units != NULL ? model->units->D : model->D;
}

int32_t rer_model_classes(const rer_model *model)
{
    return model->C;
}

const char *rer_model_class_name(const rer_model *model, int32_t c)
{
    return c >= 0 && c < model->C ? model->names[c] : NULL;
}

rer_status rer_model_make(rer_model **model, int64_t D, int32_t C, rer_error *error)
{
    rer_model *made = NULL;
    rer_status status = rer_allocate(&made, 1, sizeof *made, "the model", error);
    if (status != RER_OK)
        return status;
    made->D = D;
    made->C = C;
    made->rank = NAN;
    rer_room rooms[] = {RER_ROOM(made->n, C), RER_ROOM(made->names, C)};
    status = rer_allocate_all(rooms, RER_COUNT(rooms), "class sizes and names", error);
    if (status == RER_OK)
        *model = made;
    else
        rer_model_free(made);
    return status;
}

rer_normalize rer_normalize_of(const rer_options *options)
{
    bool is_auto = options->normalize == RER_NORMALIZE_AUTO;
    return is_auto ? rer_reconstructor_of(options->reconstructor)->normalize : (rer_normalize)options->normalize;
}

static rer_status choose_normalize(rer_model *model, const rer_options *options, rer_error *error)
{
    const rer_reconstructor *reconstructor = model->reconstructor;
    model->normalizer.kind = rer_normalize_of(options);
    if (reconstructor->needs_minmax && model->normalizer.kind != RER_MINMAX)
        return rer_fail(error, RER_BAD_USAGE, "--normalize: the reconstructor '%s' needs minmax (or auto)",
                        reconstructor->name);
    return RER_OK;
}

rer_status rer_model_begin(rer_model **model, const rer_dataset *data, const rer_options *options, rer_error *error)
{
    rer_model *made = NULL;
    rer_status status = rer_model_make(&made, data->D, data->labels.C, error);
    if (status != RER_OK)
        return status;
    made->reconstructor = rer_reconstructor_of(options->reconstructor);
    status = choose_normalize(made, options, error);
    for (int32_t c = 0; status == RER_OK && c < made->C; c++)
        status = rer_copy_text(&made->names[c], rer_dataset_class_name(data, c), error);
    if (status == RER_OK)
        *model = made;
    else
        rer_model_free(made);
    return status;
}
