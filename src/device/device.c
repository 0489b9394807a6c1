/* Opens a card for a run, or says why not. */
#include "device/device.h"

#include "fit/centroid.h"

_Static_assert(RER_DEVICE_BLOCK == RER_BLOCK, "stretches of whole blocks");

#define STRETCH_BYTES (32 << 20) /* of a slot's rows: enough to hide what starting a copy costs */
#define TILE_BYTES (256 << 20)   /* of their errors under all classes */
#define STRETCH_MOST (64 << 10)  /* rows */
#define WIDEST 8192              /* columns: the scatter's parts grow with their square, ... */
#define CLASSES_MOST 16384       /* ... and so do the distances between classes */

/* What keeps a card out of this analysis, NULL: nothing. */
static const char *reason_against(const rer_run *run)
{
    const rer_options *options = run->options;
    bool networks = options->reconstructor == RER_AUTOENCODER;
    if (options->reconstructor != RER_CENTROID && !networks)
        return "only the reconstructors centroid and autoencoder have a part for a card";
    if (options->normalize == RER_MINMAX && !networks)
        return "--normalize minmax has no part for a card";
    if (rer_dataset_is_apart(run->data))
        return "the rows lie elsewhere, in parts";
    if ((run->view != NULL && run->data->units == NULL) || (run->N < 4 * run->D && !networks))
        return "rows this few beside their features are scored in double";
    if (run->D > WIDEST || run->C > CLASSES_MOST)
        return "a card takes at most 8192 features and 16384 classes";
    return NULL;
}

static int64_t stretch_rows(const rer_run *run)
{
    int64_t most = rer_min(STRETCH_BYTES / (run->D * 4), rer_min(TILE_BYTES / (run->C * 4), STRETCH_MOST));
    return rer_max(1, rer_min(most, run->N + RER_BLOCK - 1) / RER_BLOCK) * RER_BLOCK;
}

/* The rows on that card, NULL: they lie elsewhere, or are wanted scaled. */
static const float *rows_on_card(const rer_run *run)
{
    const rer_array *rows = &run->data->features;
    bool networks = run->options->reconstructor == RER_AUTOENCODER;
    return rows->on_card != NULL && rows->card == rer_device_card(run->options->device, rows->card) && !networks &&
                   run->data->units == NULL
               ? (const float *)(const void *)rows->on_card
               : NULL;
}

static rer_status open_card(rer_device *device, const rer_run *run, char why[RER_DEVICE_MESSAGE])
{
    const rer_options *options = run->options;
    rer_device_shape shape = {
        .card = rer_device_card(options->device, run->data->features.card),
        .C = run->C,
        .N = run->N,
        .D = run->D,
        .rows = stretch_rows(run),
        .memory = options->device_memory,
        .x = rows_on_card(run),
    };
    device->plugin = rer_device_find(why);
    if (device->plugin != NULL)
        device->card = device->plugin->open(&shape, why);
    device->rows = shape.rows;
    device->in_place = shape.x != NULL;
    return device->card != NULL ? RER_OK : RER_SYSTEM;
}

rer_status rer_device_open(rer_run *run, char why[RER_DEVICE_MESSAGE], rer_error *error)
{
    rer_device *device = NULL;
    const char *against = reason_against(run);
    *why = 0;
    if (run->options->device == RER_DEVICE_CPU)
        return RER_OK;
    if (against != NULL) {
        (void)snprintf(why, RER_DEVICE_MESSAGE, "%s", against);
        return RER_OK;
    }
    rer_status status = rer_allocate(&device, 1, sizeof *device, "the card", error);
    if (status != RER_OK)
        return status;
    if (open_card(device, run, why) == RER_OK) {
        run->device = device;
        run->passes = run->options->reconstructor == RER_AUTOENCODER ? &rer_passes_networks : &rer_passes_device;
        *why = 0;
        return RER_OK;
    }
    free(device);
    if (run->options->device == RER_DEVICE_AUTO)
        return RER_OK;
    return rer_fail(error, RER_SYSTEM, "--device cuda: %s; --device cpu does without, auto where it has to", why);
}

void rer_device_close(rer_run *run)
{
    if (run->device != NULL)
        run->device->plugin->close(run->device->card);
    free(run->device);
    run->device = NULL;
}

rer_status rer_device_status(const rer_device *device, rer_error *error)
{
    const char *failure = device->plugin->failure(device->card);
    return failure == NULL ? RER_OK : rer_fail(error, RER_SYSTEM, "--device cuda: %s", failure);
}
