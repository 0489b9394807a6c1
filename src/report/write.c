/* The four files of a result, in one folder. */
#include "report/folder.h"
#include "report/report.h"

#include <string.h>

void rer_option_text(const rer_options *options, const char *name, char *text, int64_t size)
{
    text[0] = 0;
    for (int i = 0; i < rer_options_count(); i++)
        if (strcmp(rer_options_info(i)->name, name) == 0)
            rer_options_get(options, i, text, size);
}

typedef struct result_files {
    rer_result *result;
    const rer_dataset *data;
    double start;
} result_files;

static rer_status write_samples(rer_writer *writer, const void *context)
{
    const result_files *files = context;
    return rer_write_samples(writer, files->result, files->data);
}

static rer_status write_classes(rer_writer *writer, const void *context)
{
    const result_files *files = context;
    return rer_write_classes(writer, files->result, files->data);
}

static rer_status write_html(rer_writer *writer, const void *context)
{
    const result_files *files = context;
    return rer_write_html(writer, files->result, files->data);
}

/* Last: it holds the time that the others took. */
static rer_status write_json(rer_writer *writer, const void *context)
{
    const result_files *files = context;
    rer_seconds *seconds = &files->result->summary.seconds;
    double write = rer_now() - files->start;
    seconds->total += write - seconds->write;
    seconds->write = write;
    return rer_write_json(writer, files->result, files->data);
}

rer_status rer_result_write(rer_result *result, const rer_dataset *data, const char *folder, rer_error *error)
{
    static const rer_folder_file files[] = {
        {"samples.csv", write_samples},
        {"classes.csv", write_classes},
        {"report.html", write_html},
        {"summary.json", write_json},
    };
    result_files context = {result, data, rer_now()};
    return rer_folder_write(folder, files, sizeof files / sizeof *files, &context, error);
}
