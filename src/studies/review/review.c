/* rer review: see review.h. */
#include "studies/review/review.h"

#include "core/files.h"

static rer_status check_settings(const rer_review_settings *settings, rer_error *error)
{
    const char *name = settings->reviewer;
    if (settings->port < 0 || settings->port > 65535)
        return rer_fail(error, RER_BAD_USAGE, "port %d: a port is from 1 to 65535, or 0 for any that is free",
                        settings->port);
    if (name == NULL)
        return RER_OK;
    if (name[0] == 0 || strlen(name) > RER_REVIEWER_MAX || !rer_is_utf8(name, (int64_t)strlen(name)))
        return rer_fail(error, RER_BAD_USAGE, "a reviewer's name has 1 to %d bytes of UTF-8, not '%s'",
                        RER_REVIEWER_MAX, RER_QUOTED(name));
    return RER_OK;
}

static rer_status serve(rer_review *review, const rer_review_settings *settings, const rer_progress *progress,
                        rer_error *error)
{
    review->reviewer = settings->reviewer != NULL ? settings->reviewer : "reviewer";
    rer_status status = rer_journal_open(&review->journal, review->folder, review->checksum, true, error);
    RER_THEN(status, rer_server_run(review, settings->port, settings->ready, settings->context, progress, error));
    rer_again_stop(review);
    return status;
}

rer_status rer_review_serve(const char *folder, const rer_review_settings *given, const rer_progress *progress,
                            rer_error *error)
{
    rer_review review = {.journal = RER_NO_JOURNAL};
    rer_review_settings settings;
    rer_error_clear(error);
    rer_status status = rer_struct_take(&settings, sizeof settings, given, "rer_review_settings", error);
    RER_THEN(status, check_settings(&settings, error));
    RER_THEN(status, rer_server_load(error));
    if (status != RER_OK)
        return status;
    status = rer_review_open(&review, folder, error);
    RER_THEN(status, serve(&review, &settings, progress, error));
    rer_review_close(&review);
    return status;
}

rer_status rer_review_export(const char *folder, const char *out, rer_error *error)
{
    rer_review review = {.journal = RER_NO_JOURNAL};
    rer_error_clear(error);
    rer_status status = rer_review_open(&review, folder, error);
    RER_THEN(status, rer_journal_open(&review.journal, folder, review.checksum, false, error));
    RER_THEN(status, rer_file_write(out, rer_review_put_decisions, &review, 0, error));
    rer_review_close(&review);
    return status;
}
