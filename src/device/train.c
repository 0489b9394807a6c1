/* Networks that a card trains. */
#include "device/device.h"

typedef struct training_watch {
    const rer_run *run;
    rer_status status;
    rer_error *error;
} training_watch;

static bool is_stopped(void *context)
{
    training_watch *watch = context;
    watch->status = rer_device_report(watch->run, "training", .3, watch->error);
    return watch->status != RER_OK;
}

rer_status rer_device_train(const rer_device_training *training, rer_device_trainee *trainees, int32_t count,
                            const rer_run *run, bool *done, rer_error *error)
{
    const rer_device *device = run->device;
    training_watch watch = {run, RER_OK, error};
    *done = device->plugin->train(device->card, training, trainees, count, is_stopped, &watch);
    return watch.status != RER_OK ? watch.status : rer_device_status(device, error);
}
