/* A card that is open for one run, and the passes over rows that use it. */
#pragma once

#include "backend/device.h"
#include "run/passes.h"

typedef struct rer_device {
    const rer_device_plugin *plugin;
    void *card;
    int64_t rows;  /* of a stretch, a multiple of RER_BLOCK */
    bool in_place; /* the rows were on the card before: what is said of them is all that goes there */
    bool loaded;   /* all rows are on the card, and stay */
} rer_device;

/* Opens the card that --device asks for, and makes it the run's. Where the analysis has no part for one, and where auto
 * finds none, the run stays as it is and `why` says so; else that is empty. */
rer_status rer_device_open(rer_run *run, char why[RER_DEVICE_MESSAGE], rer_error *error);
void rer_device_close(rer_run *run);
/* What has failed on the card, if anything. */
rer_status rer_device_status(const rer_device *device, rer_error *error);

/* Says how far the work of a stage is; stops where that is wanted. */
rer_status rer_device_report(const rer_run *run, const char *stage, double done, rer_error *error);

/* All rows to a card that keeps them, for a pass before the first: that reads them again, to count them. */
rer_status rer_device_load(const char *stage, const rer_normalizer *normalizer, const rer_run *run, rer_error *error);

/* What detectors need (run/passes.h). */
rer_status rer_device_neighbors(rer_neighbor *list, const uint8_t *among, const rer_run *run, bool *done,
                                rer_error *error);
rer_status rer_device_copies(const rer_copies *copies, const rer_run *run, bool *done, rer_error *error);
rer_status rer_device_logistic_begin(const rer_device_logistic *of, const rer_run *run, bool *done, rer_error *error);
rer_status rer_device_logistic_sums(const rer_device_softmax *at, const rer_run *run, rer_error *error);
void rer_device_logistic_end(const rer_run *run);

/* Networks side by side. */
rer_status rer_device_train(const rer_device_training *training, rer_device_trainee *trainees, int32_t count,
                            const rer_run *run, bool *done, rer_error *error);

extern const rer_passes rer_passes_device;
extern const rer_passes rer_passes_networks; /* of the reconstructor autoencoder */
