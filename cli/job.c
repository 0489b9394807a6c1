/* One analysis or scoring from files to files: open, compute, write everything, say what was found.
 * The outputs appear together or, after a failure or an interrupt, not at all. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int report_failure(const rer_error *error)
{
    if (signals_received() != 0) { /* cancelled, or a system call was interrupted */
        fprintf(stderr, "rer: interrupted; nothing was written\n");
        return 128 + signals_received();
    }
    fprintf(stderr, "rer: %s\n", error->message);
    return (int)error->status;
}

static rer_status check_outputs(const cli_arguments *arguments, rer_error *error)
{
    rer_status status = check_writable(arguments->out, true, error);
    if (status == RER_OK)
        status = check_writable(arguments->errors, false, error);
    return status != RER_OK ? status : check_writable(arguments->save_model, false, error);
}

static rer_status compute_with_progress(cli_job *job, job_compute compute, const char *errors_path, rer_error *error)
{
    progress_line line;
    rer_progress progress = {.report = progress_report, .context = &line};
    progress_start(&line, job->arguments->quiet);
    rer_status status = compute(job, errors_path, &progress, error);
    progress_clear(&line);
    return status;
}

static rer_status save_model(cli_job *job, cli_staged *model, rer_error *error)
{
    rer_status status = stage(model, job->arguments->save_model, error);
    if (status != RER_OK || model->path == NULL)
        return status;
    return rer_model_save(rer_result_model(job->result), model->path, error);
}

/* Temporary files first, then the folder (all or nothing by itself), then only renames are left. */
static rer_status make_outputs(cli_job *job, job_compute compute, rer_error *error)
{
    cli_staged errors = {0}, model = {0};
    rer_status status = stage(&errors, job->arguments->errors, error);
    if (status == RER_OK)
        status = compute_with_progress(job, compute, errors.path, error);
    if (status == RER_OK)
        status = save_model(job, &model, error);
    if (status == RER_OK && signals_received() != 0)
        status = fail(error, RER_CANCELLED, "interrupted");
    if (status == RER_OK && job->arguments->out != NULL)
        status = rer_result_write(job->result, job->data, job->arguments->out, error);
    if (status == RER_OK)
        status = staged_commit(&errors, error);
    if (status == RER_OK)
        status = staged_commit(&model, error);
    staged_discard(&errors);
    staged_discard(&model);
    return status;
}

static rer_status print_outcome(const cli_job *job, rer_error *error)
{
    char *json = NULL;
    errno = 0;
    if (job->arguments->json) {
        rer_status status = rer_result_json(job->result, job->data, &json, error);
        if (status != RER_OK)
            return status;
        puts(json);
        free(json);
    } else if (!job->arguments->quiet) {
        print_summary(job);
    }
    /* A reader that has seen enough (| head) is no failure. */
    if ((fflush(stdout) != 0 || ferror(stdout)) && errno != EPIPE)
        return fail(error, RER_SYSTEM, "standard output cannot be written: %s", strerror(errno));
    return RER_OK;
}

int run_job(const cli_arguments *arguments, job_open open, job_compute compute)
{
    cli_job job = {.arguments = arguments};
    rer_error error = {0};
    rer_status status = check_outputs(arguments, &error);
    if (status == RER_OK)
        status = open(&job, &error);
    if (status == RER_OK) {
        signals_defer(true);
        status = make_outputs(&job, compute, &error);
        /* Once the outputs are there a signal comes too late: say what there is and end as done. */
        if (status == RER_OK)
            status = print_outcome(&job, &error);
        else
            signals_defer(false);
    }
    int code = status == RER_OK ? 0 : report_failure(&error);
    rer_result_free(job.result);
    rer_model_free(job.model);
    rer_dataset_free(job.data);
    return code;
}
