/* rer score: new rows against a saved model. */
#include "cli.h"

static rer_status open_data(cli_job *job, rer_error *error)
{
    const cli_arguments *arguments = job->arguments;
    rer_files files = {.size = sizeof files,
                       .features = arguments->files[1],
                       .labels = arguments->n_files > 2 ? arguments->files[2] : NULL,
                       .label_column = arguments->label_column,
                       .class_names = arguments->class_names,
                       .ids = arguments->ids,
                       .images = arguments->images,
                       .texts = arguments->texts,
                       .model = arguments->model};
    if (files.labels != NULL && files.label_column != NULL)
        return fail(error, RER_BAD_USAGE, "labels are given twice: by %s and by --label-column %s; drop one",
                    files.labels, files.label_column);
    rer_status status = rer_model_load(&job->model, arguments->files[0], error);
    return status != RER_OK ? status : open_data_set(&job->data, &files, arguments, error);
}

static rer_status compute(cli_job *job, const rer_outputs *outputs, const rer_progress *progress, rer_error *error)
{
    return rer_score(&job->result, job->model, job->data, job->arguments->options, outputs, progress, error);
}

static int run(const cli_arguments *arguments)
{
    return run_job(arguments, open_data, compute);
}

/* What was decided when the model was fitted. */
const cli_command score_command = {
    .name = "score",
    .usage = "MODEL X [y] [--out DIR] [options]",
    .purpose = "Scores rows as new ones against a model of rer analyze --save-model; y is optional.",
    .examples = {"rer score model.safetensors X.npy y.npy --out results", "rer score model.safetensors X.npy --json"},
    .files_min = 2,
    .files_max = 3,
    .results = "analyze",
    .refused = "save-model reconstructor normalize shrinkage seed folds rank fit-fraction fit-samples "
               "components hidden dropout regularization loss-weight batch neighbors metric learning-rate "
               "repulsion spread min-dist a b epochs",
    .analyses = .3,
    .run = run,
};
