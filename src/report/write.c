/* The files of a result, in one folder or one by one. */
#include "report/gallery.h"
#include "report/report.h"
#include "source/inputs.h"

void rer_option_text(const rer_options *options, const char *name, char *text, int64_t size)
{
    text[0] = 0;
    for (int i = 0; i < rer_options_count(); i++)
        if (strcmp(rer_options_info(i)->name, name) == 0)
            rer_options_text(options, i, text, size);
}

/* The names of the data's files, for rer review. */
static void put_inputs(rer_writer *writer, const void *what, int which)
{
    (void)which;
    rer_put(writer, ((const rer_result_files *)what)->data->opened);
}

enum { DETAILS = 1, SUBSETS = 2, DUPLICATES = 4, INPUTS = 8, AS_TEXT = 16, AS_ARRAYS = 32 };

static const rer_file all_files[] = {
    {"samples.csv", rer_put_samples, 0, AS_TEXT},
    {"samples.npz", rer_put_samples_npz, 0, AS_ARRAYS},
    {"classes.csv", rer_put_classes, 0, 0},
    {"report.html", rer_put_report, 0, 0},
    {"class_details.csv", rer_put_portions, RER_BY_CLASS, DETAILS},
    {"transitions.csv", rer_put_transitions, 0, DETAILS},
    {"pair_details.csv", rer_put_pair_details, 0, DETAILS},
    {"extremes.csv", rer_put_extremes, 0, DETAILS},
    {"distribution_easiest.svg", rer_put_distribution, 0, DETAILS},
    {"distribution_median.svg", rer_put_distribution, 1, DETAILS},
    {"distribution_hardest.svg", rer_put_distribution, 2, DETAILS},
    {"details.json", rer_put_details_json, 0, DETAILS},
    {"subset_details.csv", rer_put_portions, RER_BY_SUBSET, SUBSETS},
    {"duplicates.csv", rer_put_duplicates, 0, DUPLICATES},
    {RER_INPUTS, put_inputs, 0, INPUTS},
    {"summary.json", rer_put_summary, 0, 0},
};

/* The gallery comes first: it takes long where there are pictures, and who asked for progress hears it in this thread. */
rer_status rer_result_stage(rer_output *output, rer_result *result, const rer_dataset *data, const char *path,
                            const rer_progress *progress, rer_error *error)
{
    rer_gallery gallery = {0};
    rer_result_files files = {result, data, &result->summary.seconds, rer_now(), .place = path, .gallery = &gallery};
    const rer_folder folder = {.command = "analyze",
                               .files = all_files,
                               .count = RER_COUNT(all_files),
                               .what = &files,
                               .has = (result->details != NULL ? DETAILS : 0) |
                                      (rer_result_portion(result, RER_BY_SUBSET, 0) != NULL ? SUBSETS : 0) |
                                      (result->duplicate != NULL ? DUPLICATES : 0) |
                                      (result->model != NULL && data->opened != NULL ? INPUTS : 0) |
                                      (result->options.format == RER_FORMAT_NPZ ? AS_ARRAYS : AS_TEXT),
                               .spreadsheet_safe = result->options.spreadsheet_safe,
                               .at_once = result->options.threads == 1 ? 1 : 2};
    rer_status status = rer_dataset_check_rows(data, result->N, error);
    RER_THEN(status, rer_gallery_make(&gallery, result, data, progress, error));
    RER_THEN(status, rer_folder_stage(output, path, &folder, error));
    rer_gallery_free(&gallery);
    return status;
}

rer_status rer_result_write(rer_result *result, const rer_dataset *data, const char *folder, rer_error *error)
{
    rer_output output = {0};
    rer_error_clear(error);
    rer_status status = rer_result_stage(&output, result, data, folder, NULL, error);
    RER_THEN(status, rer_output_commit(&output, error));
    rer_output_discard(&output);
    return status;
}

rer_status rer_result_json(const rer_result *result, const rer_dataset *data, char **json, rer_error *error)
{
    rer_result_files files = {.result = result, .data = data};
    rer_error_clear(error);
    RER_TRY(rer_dataset_check_rows(data, result->N, error));
    return rer_file_text(json, rer_put_summary, &files, error);
}

rer_status rer_result_report(const rer_result *result, const rer_dataset *data, const char *path, rer_error *error)
{
    rer_result_files files = {.result = result, .data = data, .place = path, .is_file = true};
    rer_error_clear(error);
    RER_TRY(rer_dataset_check_rows(data, result->N, error));
    return rer_file_write(path, rer_put_report, &files, 0, error);
}
