/* One analysis or scoring from files to files: open, compute, write everything, say what was found.
 * The outputs appear together or, after a failure or an interrupt, not at all. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int report_failure(const rer_error *error)
{
    if (signals_received() != 0) { /* cancelled, or a system call was interrupted */
        complain("interrupted; nothing was written");
        return 128 + signals_received();
    }
    complain("%s", error->message);
    return (int)error->status;
}

bool is_folder(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

bool is_table(const char *path)
{
    struct stat found;
    const char *end = strrchr(path, '.');
    return end != NULL && (strcmp(end, ".csv") == 0 || strcmp(end, ".tsv") == 0) && stat(path, &found) == 0 &&
           S_ISREG(found.st_mode);
}

rer_status open_data_set(rer_dataset **data, rer_files *files, const cli_arguments *arguments, rer_error *error)
{
    progress_line line;
    rer_progress progress = {.report = progress_report, .context = &line};
    bool takes_long = is_folder(files->features) || is_table(files->features) || files->model != NULL;
    if (!takes_long) /* a pipe that is waited for ends at once */
        return rer_dataset_open(data, files, arguments->options, error);
    files->progress = &progress;
    progress_start(&line, NULL, arguments->quiet);
    progress_precedes(&line, arguments, NULL);
    signals_defer(true);
    rer_status status = rer_dataset_open(data, files, arguments->options, error);
    signals_defer(false);
    progress_has_read(&line);
    progress_clear(&line);
    return status;
}

static rer_status compute_with_progress(cli_job *job, job_compute compute, rer_error *error)
{
    progress_line line;
    rer_progress progress = {.report = progress_report, .context = &line};
    rer_outputs outputs = {.size = sizeof outputs,
                           .errors = job->arguments->errors,
                           .model = job->arguments->save_model,
                           .folder = job->arguments->out};
    double before = share_before();
    progress_start(&line, job->data, job->arguments->quiet);
    progress_share(&line, before, 1 - before);
    rer_status status = compute(job, &outputs, &progress, error);
    progress_clear(&line);
    return status;
}

static rer_status print_outcome(const cli_job *job, rer_error *error)
{
    char *json = NULL;
    rer_status status = RER_OK;
    if (job->arguments->json)
        status = rer_result_json(job->result, job->data, &json, error);
    if (json != NULL)
        say_lines(json);
    else if (status == RER_OK && !job->arguments->quiet)
        print_summary(job);
    free(json);
    return status;
}

int run_job(const cli_arguments *arguments, job_open open, job_compute compute)
{
    cli_job job = {.arguments = arguments};
    rer_error error = {0};
    rer_status status = open(&job, &error);
    if (status == RER_OK) {
        signals_defer(true);
        status = compute_with_progress(&job, compute, &error);
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
