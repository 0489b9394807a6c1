/* Pictures to features: see encoder.h. */
#include "embed/encoder.h"
#include "embed/hog.h"

enum { BATCH = 16 };

struct rer_encoder {
    rer_recipe recipe;
    int64_t size[2]; /* height, width */
    int64_t columns;
    uint64_t checksum;
    rer_hog plan;
};

static rer_status open_descriptor(rer_encoder *encoder, rer_error *error)
{
    encoder->recipe = (rer_recipe){.height = RER_HOG_SIDE, .width = RER_HOG_SIDE, .filter = RER_BILINEAR};
    encoder->checksum = rer_checksum(RER_CHECKSUM_START, "hog", 3);
    rer_status status = rer_hog_plan(&encoder->plan, RER_HOG_SIDE, RER_HOG_SIDE, 3, "pictures", error);
    encoder->columns = encoder->plan.D;
    return status;
}

rer_status rer_encoder_open(rer_encoder **encoder, const rer_encoder_settings *settings, rer_error *error)
{
    rer_encoder *opened = NULL;
    (void)settings;
    rer_status status = rer_allocate(&opened, 1, sizeof *opened, "an encoder", error);
    if (status == RER_OK)
        status = open_descriptor(opened, error);
    if (status != RER_OK) {
        rer_encoder_free(opened);
        return status;
    }
    (void)rer_recipe_size(&opened->recipe, opened->size);
    *encoder = opened;
    return RER_OK;
}

void rer_encoder_free(rer_encoder *encoder)
{
    free(encoder);
}

const rer_recipe *rer_encoder_recipe(const rer_encoder *encoder)
{
    return &encoder->recipe;
}

int64_t rer_encoder_columns(const rer_encoder *encoder)
{
    return encoder->columns;
}

int64_t rer_encoder_batch(const rer_encoder *encoder)
{
    (void)encoder;
    return BATCH;
}

uint64_t rer_encoder_checksum(const rer_encoder *encoder)
{
    return encoder->checksum;
}

static rer_status describe_by_hog(const rer_encoder *encoder, const uint8_t *rgb, int64_t count, float *out,
                                  rer_error *error)
{
    char *scratch = NULL;
    rer_status status = rer_allocate(&scratch, rer_hog_scratch(&encoder->plan), 1, "the descriptor of pictures", error);
    if (status == RER_OK)
        rer_hog_describe(&encoder->plan, rgb, count, out, scratch);
    free(scratch);
    return status;
}

rer_status rer_encoder_describe(rer_encoder *encoder, const uint8_t *rgb, int64_t count, float *out, rer_error *error)
{
    return describe_by_hog(encoder, rgb, count, out, error);
}
