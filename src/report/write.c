/* The files of a result, in one folder. */
#include "report/folder.h"
#include "report/report.h"

#include <string.h>

void rer_option_text(const rer_options *options, const char *name, char *text, int64_t size)
{
    text[0] = 0;
    for (int i = 0; i < rer_options_count(); i++)
        if (strcmp(rer_options_info(i)->name, name) == 0)
            rer_options_text(options, i, text, size);
}

static rer_status write_samples(rer_writer *writer, const void *context)
{
    const rer_result_files *files = context;
    return rer_write_samples(writer, files->result, files->data);
}

static rer_status write_classes(rer_writer *writer, const void *context)
{
    const rer_result_files *files = context;
    return rer_write_classes(writer, files->result, files->data);
}

static rer_status write_html(rer_writer *writer, const void *context)
{
    const rer_result_files *files = context;
    return rer_write_html(writer, files->result, files->data);
}

/* Last: it holds the time that the others took. */
static rer_status write_json(rer_writer *writer, const void *context)
{
    const rer_result_files *files = context;
    rer_seconds *seconds = &files->result->summary.seconds;
    double write = rer_now() - files->start;
    seconds->total += write - seconds->write;
    seconds->write = write;
    return rer_write_json(writer, files->result, files->data);
}

rer_status rer_result_write(rer_result *result, const rer_dataset *data, const char *folder, rer_error *error)
{
    rer_folder_file files[16] = {
        {"samples.csv", write_samples},
        {"classes.csv", write_classes},
        {"report.html", write_html},
    };
    static const rer_folder_file details[] = {
        {"class_details.csv", rer_write_class_details},  {"transitions.csv", rer_write_transitions},
        {"pair_details.csv", rer_write_pair_details},    {"extremes.csv", rer_write_extremes},
        {"distribution_easiest.svg", rer_write_easiest}, {"distribution_median.svg", rer_write_median},
        {"distribution_hardest.svg", rer_write_hardest}, {"details.json", rer_write_details_json},
    };
    int count = 3;
    rer_result_files context = {result, data, rer_now()};
    rer_error_clear(error);
    rer_status status = rer_dataset_check_rows(data, result->N, error);
    if (status != RER_OK)
        return status;
    for (int i = 0; result->details != NULL && i < (int)(sizeof details / sizeof *details); i++)
        files[count++] = details[i];
    if (rer_result_group(result, RER_BY_SUBSET, 0) != NULL)
        files[count++] = (rer_folder_file){"subset_details.csv", rer_write_subset_details};
    if (result->duplicate != NULL)
        files[count++] = (rer_folder_file){"duplicates.csv", rer_write_duplicates};
    files[count++] = (rer_folder_file){"summary.json", write_json};
    return rer_folder_write(folder, files, count, &context, error);
}
