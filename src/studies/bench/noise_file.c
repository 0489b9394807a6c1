/* rer noise: a file of labels in, the same kind of file with wrong labels out. */
#include "studies/bench/likely.h"
#include "studies/bench/noise.h"
#include "source/dataset.h"
#include "source/texts.h"

/* ---- labels of another file -------------------------------------------------------------- */

static rer_status translate(int32_t *target, const rer_labels *labels, const rer_labels *other, rer_error *error)
{
    int32_t *map = NULL; /* [other's C] */
    char **names = NULL; /* [C] */
    const rer_room rooms[] = {RER_ROOM(map, other->C), RER_ROOM(names, labels->C)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "classes", error));
    for (int32_t c = 0; c < labels->C; c++)
        names[c] = labels->names.bytes + labels->names.offset[c];
    rer_status status = rer_labels_match(map, other, names, labels->C, error);
    for (int32_t c = 0; status == RER_OK && c < other->C; c++) {
        const char *name = rer_text(&other->names, c);
        if (map[c] < 0)
            status = rer_fail(
                error, RER_BAD_INPUT, "%s: has the label '%s', which %s does not have; both must name the same classes",
                other->source, RER_QUOTED(name), labels->source != NULL ? labels->source : "the first file");
    }
    for (int64_t row = 0; status == RER_OK && row < labels->N; row++)
        target[row] = other->codes[row] < 0 ? -1 : map[other->codes[row]];
    RER_FREE_ALL(map, names);
    return status;
}

/* target [N]: the labels of the file `path` as classes of `labels`, whose N rows it must have. A label
 * that `labels` does not have is an error. */
static rer_status other_labels(int32_t *target, const rer_labels *labels, const char *path, const char *column,
                               rer_error *error)
{
    rer_label_file other = {.array = {.fd = -1}};
    rer_status status = rer_label_file_open(&other, path, column, labels->N, error);
    if (status == RER_OK && other.labels.N != labels->N)
        status = rer_fail(error, RER_BAD_INPUT, "%s has %lld labels but %s has %lld; each row needs both%s", path,
                          (long long)other.labels.N, labels->source != NULL ? labels->source : "the first file",
                          (long long)labels->N, rer_header_remedy(other.labels.N, labels->N));
    RER_THEN(status, translate(target, labels, &other.labels, error));
    rer_label_file_free(&other);
    return status;
}

rer_status rer_dataset_read_labels(int32_t *codes, const rer_dataset *data, const char *path, rer_error *error)
{
    rer_error_clear(error);
    RER_TRY(rer_dataset_check(data, error));
    if (data->labels.codes == NULL)
        return rer_fail(error, RER_BAD_USAGE, "%s: has no labels to compare %s with", data->features.name, path);
    return other_labels(codes, &data->labels, path, NULL, error);
}

/* ---- the whole --------------------------------------------------------------------------- */

static rer_status check_files(const char *out, const rer_files *files, const char *human, const rer_options *options,
                              rer_error *error)
{
    bool is_human = options->noise_type == RER_NOISE_HUMAN;
    if (files->labels == NULL)
        return rer_fail(error, RER_BAD_USAGE, "no file of labels is given");
    if (out == NULL)
        return rer_fail(error, RER_BAD_USAGE, "no file for the noisy labels is named: --out y_noisy.npy");
    if (is_human && human == NULL)
        return rer_fail(error, RER_BAD_USAGE, "noise of type human needs the other labels: --human FILE");
    if (!is_human && human != NULL)
        return rer_fail(error, RER_BAD_USAGE, "--human %s is for --type human alone", human);
    if (options->noise_type == RER_NOISE_CONFIDENCE && files->features == NULL)
        return rer_fail(error, RER_BAD_USAGE, "noise of type confidence needs the features: --features X.npy");
    return rer_label_file_check(out, error);
}

/* A word above nothing but numbers is the header of a table, and no label. */
static rer_status check_header(const rer_label_file *file, const rer_files *files, rer_error *error)
{
    char quoted[80];
    const rer_texts *texts = &file->texts;
    if (file->is_column || texts->count < 2 || strspn(rer_text(texts, 0), "-0123456789") > 0)
        return RER_OK;
    for (int64_t row = 1; row < texts->count; row++) {
        const char *text = rer_text(texts, row);
        if (text[strspn(text, "-0123456789")] != 0)
            return RER_OK;
    }
    (void)rer_quote(quoted, sizeof quoted, rer_text(texts, 0), (int64_t)strlen(rer_text(texts, 0)));
    return rer_fail(error, RER_BAD_INPUT, "%s: line 1, '%s', is a header above numbers; say --label-column '%s'",
                    files->labels, quoted, quoted);
}

static rer_status check_classes(const rer_labels *labels, rer_error *error)
{
    if (labels->C >= 2)
        return RER_OK;
    return rer_fail(error, RER_BAD_INPUT, "%s: the labels have %d class%s; a wrong label needs at least 2",
                    labels->source, labels->C, labels->C == 1 ? "" : "es");
}

static rer_status make_noise(const char *out, rer_noise_summary *summary, const rer_files *files, const char *human,
                             const rer_options *options, const rer_progress *progress, rer_error *error)
{
    rer_label_file file = {.array = {.fd = -1}};
    int32_t *target = NULL, *noisy = NULL; /* [N] */
    int64_t changed = 0;
    rer_status status = check_files(out, files, human, options, error);
    RER_THEN(status, rer_label_file_open(&file, files->labels, files->label_column, -1, error));
    RER_THEN(status, check_header(&file, files, error));
    RER_THEN(status, check_classes(&file.labels, error));
    RER_THEN(status, rer_allocate(&target, file.labels.N, sizeof *target, "labels", error));
    RER_THEN(status, rer_allocate(&noisy, file.labels.N, sizeof *noisy, "labels", error));
    if (status == RER_OK && options->noise_type == RER_NOISE_HUMAN)
        status = other_labels(target, &file.labels, human, NULL, error);
    if (status == RER_OK && options->noise_type == RER_NOISE_CONFIDENCE)
        status = rer_noise_likely_of_file(target, files->features, file.labels.codes, file.labels.N, options, progress,
                                          error);
    RER_THEN(status,
             rer_noise_plant(noisy, &changed, file.labels.codes, target, file.labels.N, file.labels.C, options, error));
    RER_THEN(status, rer_label_file_write(out, &file, noisy, &(rer_texts){0}, error));
    if (status == RER_OK) {
        *summary = (rer_noise_summary){.n_changed = changed, .n_classes = file.labels.C};
        for (int64_t row = 0; row < file.labels.N; row++)
            summary->n_labelled += file.labels.codes[row] >= 0;
    }
    rer_label_file_free(&file);
    RER_FREE_ALL(target, noisy);
    return status;
}

rer_status rer_noise_file(const char *out, rer_noise_summary *summary, const rer_files *given_files, const char *human,
                          const rer_options *given, const rer_progress *progress, rer_error *error)
{
    rer_options options;
    rer_files files;
    rer_noise_summary made;
    rer_error_clear(error);
    RER_TRY(rer_options_take(&options, given, error));
    RER_TRY(rer_struct_take(&files, sizeof files, given_files, "rer_files", error));
    RER_TRY(rer_struct_check(summary, "rer_noise_summary", error));
    RER_TRY(make_noise(out, &made, &files, human, &options, progress, error));
    rer_struct_give(summary, &made, sizeof made);
    return RER_OK;
}
