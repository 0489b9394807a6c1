/* What detectors have a card do: nearest rows, copies, the sums of logistic regressions. */
#include "device/device.h"

_Static_assert(RER_DEVICE_LISTED == RER_LISTED, "lists of one length");

static rer_status do_nothing(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)context, (void)item, (void)scratch, (void)error;
    return RER_OK;
}

rer_status rer_device_report(const rer_run *run, const char *stage, double done, rer_error *error)
{
    rer_job job = {.stage = stage, .from = done, .to = done, .items = 1, .work = do_nothing};
    return rer_pool_run(run->pool, &job, error);
}

/* ---- neighbours -------------------------------------------------------------------------- */

/* Asks for the lists of rows [count], of all rows in turn where that is NULL. */
static rer_status find_lists(rer_neighbor *list, const int64_t *rows, int64_t count, const char *stage,
                             const rer_run *run, rer_error *error)
{
    const rer_device *device = run->device;
    int64_t *asking = NULL;
    rer_status status = rer_allocate(&asking, RER_DEVICE_ASKING, sizeof *asking, "rows that ask", error);
    for (int64_t first = 0; status == RER_OK && first < count; first += RER_DEVICE_ASKING) {
        int64_t n = rer_min(RER_DEVICE_ASKING, count - first);
        for (int64_t i = 0; i < n; i++)
            asking[i] = rows != NULL ? rows[first + i] : first + i;
        status = rer_device_report(run, stage, (double)first / (double)run->N, error);
        if (status != RER_OK)
            break;
        device->plugin->neighbors_find(device->card, asking, n, list + first * RER_DEVICE_LISTED);
        status = rer_device_status(device, error);
    }
    free(asking);
    return status;
}

rer_status rer_device_neighbors(rer_neighbor *list, const uint8_t *among, const rer_run *run, bool *done,
                                rer_error *error)
{
    const rer_device *device = run->device;
    *done = device->loaded && device->plugin->neighbors_begin(device->card, among);
    rer_status status = rer_device_status(device, error);
    if (*done && status == RER_OK)
        status = find_lists(list, NULL, run->N, "finding neighbours", run, error);
    device->plugin->neighbors_end(device->card);
    return status;
}

/* ---- copies ------------------------------------------------------------------------------ */

static const char copying[] = "finding copies";

static rer_status find_nearest(const rer_copies *copies, const rer_run *run, rer_error *error)
{
    rer_neighbor *list = NULL;
    rer_status status =
        rer_allocate(&list, copies->sampled * RER_DEVICE_LISTED, sizeof *list, "neighbours of sampled rows", error);
    if (status == RER_OK)
        status = find_lists(list, copies->row, copies->sampled, copying, run, error);
    for (int64_t i = 0; status == RER_OK && i < copies->sampled; i++)
        copies->nearest[i] = run->invalid[copies->row[i]] == 0 ? list[i * RER_DEVICE_LISTED].distance : INFINITY;
    free(list);
    return status;
}

static rer_status join_copies(const rer_copies *copies, const rer_run *run, rer_error *error)
{
    const rer_device *device = run->device;
    double limit = copies->limit(copies->context);
    rer_status status = RER_OK;
    for (int64_t first = 0; status == RER_OK && first < run->N; first += RER_DEVICE_ASKING) {
        double left = 1 - (double)first / (double)run->N; /* of the pairs, its square */
        status = rer_device_report(run, copying, 1 - left * left, error);
        if (status != RER_OK)
            break;
        device->plugin->copies_join(device->card, limit, first, rer_min(RER_DEVICE_ASKING, run->N - first));
        status = rer_device_status(device, error);
    }
    if (status == RER_OK)
        device->plugin->copies_take(device->card, copies->group);
    return status == RER_OK ? rer_device_status(device, error) : status;
}

/* Rows that are there, as the card has them. */
static rer_status begin_copies(const rer_run *run, bool *done, rer_error *error)
{
    const rer_device *device = run->device;
    uint8_t *among = NULL;
    rer_status status = rer_allocate(&among, run->N, sizeof *among, "rows to compare", error);
    for (int64_t row = 0; status == RER_OK && row < run->N; row++)
        among[row] = run->invalid[row] == 0;
    *done = status == RER_OK && device->plugin->neighbors_begin(device->card, among);
    free(among);
    return status == RER_OK ? rer_device_status(device, error) : status;
}

rer_status rer_device_copies(const rer_copies *copies, const rer_run *run, bool *done, rer_error *error)
{
    const rer_device *device = run->device;
    const rer_normalizer unit = {.kind = RER_UNIT};
    *done = false;
    if (!device->plugin->keeps_rows(device->card) || run->N > INT32_MAX)
        return RER_OK;
    rer_status status = rer_device_load(copying, &unit, run, error);
    if (status == RER_OK)
        status = begin_copies(run, done, error);
    if (*done && status == RER_OK)
        status = find_nearest(copies, run, error);
    if (*done && status == RER_OK)
        status = join_copies(copies, run, error);
    device->plugin->neighbors_end(device->card);
    return status;
}

/* ---- logistic regression ----------------------------------------------------------------- */

rer_status rer_device_logistic_begin(const rer_device_logistic *of, const rer_run *run, bool *done, rer_error *error)
{
    const rer_device *device = run->device;
    *done = device->loaded && device->plugin->logistic_begin(device->card, of);
    return rer_device_status(device, error);
}

rer_status rer_device_logistic_sums(const rer_device_softmax *at, const rer_run *run, rer_error *error)
{
    const rer_device *device = run->device;
    device->plugin->logistic_sums(device->card, at);
    return rer_device_status(device, error);
}

void rer_device_logistic_end(const rer_run *run)
{
    run->device->plugin->logistic_end(run->device->card);
}
