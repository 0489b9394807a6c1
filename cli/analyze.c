/* rer analyze: features and labels in, answers out. */
#include "cli.h"

static rer_status open_clustered_data(rer_dataset **data, rer_files *files, const cli_arguments *arguments,
                                      rer_error *error)
{
    progress_line line;
    rer_progress progress = {.report = progress_report, .context = &line};
    rer_status status = open_data_set(data, files, arguments, error);
    if (status != RER_OK)
        return status;
    progress_start(&line, *data, arguments->quiet);
    progress_share(&line, share_before(), 1);
    progress_precedes(&line, arguments, *data);
    signals_defer(true);
    status = rer_dataset_cluster(*data, NULL, arguments->options, &progress, error);
    signals_defer(false);
    progress_has_read(&line);
    progress_clear(&line);
    return status;
}

rer_status open_labelled_data(rer_dataset **data, const cli_arguments *arguments, rer_error *error)
{
    rer_files files = {.size = sizeof files,
                       .features = arguments->files[0],
                       .labels = arguments->n_files > 1 ? arguments->files[1] : arguments->labels,
                       .label_column = arguments->label_column,
                       .class_names = arguments->class_names,
                       .ids = arguments->ids,
                       .pred_probs = arguments->pred_probs,
                       .subsets = arguments->subsets,
                       .groups = arguments->groups,
                       .class_embeddings = arguments->class_embeddings,
                       .images = arguments->images,
                       .texts = arguments->texts,
                       .model = arguments->model,
                       .classes = arguments->classes,
                       .class_template = arguments->class_template};
    if (arguments->n_files > 1 && arguments->labels != NULL)
        return fail(error, RER_BAD_USAGE, "labels are given twice: by %s and by --labels %s; drop one",
                    arguments->files[1], arguments->labels);
    bool has_labels = files.labels != NULL || files.label_column != NULL;
    bool clusters = !option_is(arguments, "clusters", "0");
    if (clusters && has_labels)
        return fail(error, RER_BAD_USAGE, "labels are given, and --clusters would make others; drop one of the two");
    if (clusters)
        return open_clustered_data(data, &files, arguments, error);
    if (!has_labels && !is_folder(files.features))
        return fail(error, RER_BAD_USAGE, "labels are missing: rer analyze %s y.npy, or --label-column NAME of a CSV",
                    files.features);
    if (files.labels != NULL && files.label_column != NULL)
        return fail(error, RER_BAD_USAGE, "labels are given twice: by %s and by --label-column %s; drop one",
                    files.labels, files.label_column);
    if (files.pred_probs != NULL && arguments->save_model != NULL)
        return fail(error, RER_BAD_USAGE,
                    "--save-model: a model fitted with --pred-probs would need them for new rows too; drop one");
    return open_data_set(data, &files, arguments, error);
}

static rer_status open_data(cli_job *job, rer_error *error)
{
    return open_labelled_data(&job->data, job->arguments, error);
}

static rer_status compute(cli_job *job, const rer_outputs *outputs, const rer_progress *progress, rer_error *error)
{
    return rer_analyze(&job->result, job->data, job->arguments->options, outputs, progress, error);
}

static int run(const cli_arguments *arguments)
{
    return run_job(arguments, open_data, compute);
}

const cli_command analyze_command = {
    .name = "analyze",
    .usage = "X [y] [--out DIR] [options]",
    .purpose = "Finds wrong labels y of X: .npy, .npz:name, .h5:/path, .csv, .tsv, IDX, or a folder of pictures.",
    .examples = {"rer analyze X.npy y.npy --out results", "rer analyze photos/ --out results"},
    .files_min = 1,
    .files_max = 2,
    .results = "analyze",
    .run = run,
};
