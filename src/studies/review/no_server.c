/* Without the headers of libmicrohttpd there is no server. */
#include "studies/review/review.h"

rer_status rer_server_load(rer_error *error)
{
    return rer_fail(
        error, RER_BAD_USAGE,
        "this rer was built without rer review: libmicrohttpd was not there (on Debian: libmicrohttpd-dev); "
        "report.html can be reviewed without it");
}

rer_status rer_server_run(rer_review *review, int32_t port, void (*ready)(void *context, const char *address),
                          void *context, const rer_progress *progress, rer_error *error)
{
    (void)review, (void)port, (void)ready, (void)context, (void)progress;
    return rer_server_load(error);
}
