/* autoencoder: the network that the paper describes, one for each class, on min-max scaled features.
 * Own-class errors are cross-fitted (folds.h): a network that has seen a wrong label learns it. */
#include "fit/autoencoder/autoencoder.h"

#include "core/tensors.h"
#include "fit/autoencoder/tile.h"
#include "fit/moments.h"

static void free_state(void *pointer)
{
    rer_autoencoder *state = pointer;
    if (state == NULL)
        return;
    RER_FREE_ALL(state->weights, state->own, state);
}

/* ---- settings ---------------------------------------------------------------------------- */

static rer_network network_of(int64_t D, const rer_options *options)
{
    int n_hidden = 0;
    while (n_hidden < RER_HIDDEN_MAX && options->hidden[n_hidden] > 0)
        n_hidden++;
    return rer_network_shape(D, options->hidden, n_hidden, options->components);
}

static rer_status make_training(rer_training *training, const rer_run *run, rer_error *error)
{
    const rer_options *options = run->options;
    bool has_a = options->a != RER_AUTO, has_b = options->b != RER_AUTO;
    if (has_a != has_b)
        return rer_fail(error, RER_BAD_USAGE,
                        "--%s is given without --%s; give both, or neither for spread and min-dist", has_a ? "a" : "b",
                        has_a ? "b" : "a");
    rer_curve given = {options->a, options->b};
    *training = (rer_training){
        .network = network_of(run->D, options),
        .loss = {.curve = has_a ? given : rer_curve_fit(options->spread, options->min_dist),
                 .weight = options->loss_weight,
                 .repulsion = options->repulsion,
                 .dropout = options->dropout,
                 .regularization = options->regularization},
        .graph = {.neighbors = options->neighbors, .epochs = options->epochs, .cosine = options->metric == RER_COSINE},
        .batch = options->batch,
        .learning_rate = options->learning_rate,
        .seed = options->seed,
    };
    return RER_OK;
}

/* ---- training ---------------------------------------------------------------------------- */

typedef struct training_pass {
    const rer_run *run;
    const rer_normalizer *normalizer;
    const rer_training *training;
    rer_fold_plan *plan;
    float *weights; /* [C, parameters] */
    int64_t first;  /* task: those before are done */
} training_pass;

/* Own errors of the rows that a fold's network has not seen. */
static rer_status score_held(const training_pass *pass, const rer_fold_task *task, const float *w, float *x,
                             void *reading, rer_error *error)
{
    const rer_network *network = &pass->training->network;
    float errors[RER_BLOCK];
    void *memory = NULL;
    int64_t bytes = rer_network_sweep_scratch(network, RER_BLOCK);
    rer_status status = rer_allocate(&memory, bytes, 1, "a sweep", error);
    for (int64_t first = 0; status == RER_OK && first < task->n_held; first += RER_BLOCK) {
        int64_t count = rer_min(RER_BLOCK, task->n_held - first);
        status = rer_gather_rows(x, pass->run, pass->normalizer, task->held + first, count, reading, error);
        if (status != RER_OK)
            break;
        rer_network_errors(network, w, x, count, errors, 1, rer_scratch_over(memory, bytes), pass->run->kernels);
        for (int64_t i = 0; i < count; i++)
            pass->plan->own[task->held[first + i]] = errors[i];
    }
    free(memory);
    return status;
}

static rer_status train_task(void *context, int64_t item, void *memory, rer_error *error)
{
    training_pass *pass = context;
    const rer_run *run = pass->run;
    const rer_network *network = &pass->training->network;
    rer_scratch scratch = rer_pool_scratch(pass->run->pool, memory);
    rer_task_scratch parts = rer_task_lay_out(pass->plan, pass->run, &scratch);
    rer_fold_task task = rer_fold_task_of(pass->plan, pass->first + item, parts.rows);
    if (rer_fold_is_empty(&task))
        return RER_OK;
    float *x = NULL, *fold_weights = NULL, *w = pass->weights + task.class * network->parameters;
    int64_t room = rer_max(task.n_fit, rer_min(task.n_held, RER_BLOCK));
    rer_status status = rer_allocate(&x, room * run->D, sizeof *x, "the rows of a class", error);
    if (status == RER_OK && !task.is_model) {
        status = rer_allocate(&fold_weights, network->parameters, sizeof *w, "a network", error);
        w = fold_weights;
    }
    RER_THEN(status, rer_gather_rows(x, run, pass->normalizer, task.fit, task.n_fit, parts.reading, error));
    RER_THEN(status, rer_train(w, NULL, pass->training, x, task.n_fit, rer_fold_key(&task),
                               rer_run_class_name(run, task.class), run->pool, run->kernels, error));
    if (status == RER_OK && !task.is_model)
        status = score_held(pass, &task, w, x, parts.reading, error);
    RER_FREE_ALL(x, fold_weights);
    return status;
}

static rer_status train_all(rer_autoencoder *state, const rer_normalizer *normalizer, const rer_training *training,
                            const rer_run *run, rer_error *error)
{
    rer_fold_plan plan = {0};
    training_pass pass = {run, normalizer, training, &plan, NULL, 0};
    rer_status status = rer_fold_plan_make(&plan, run, error);
    RER_THEN(status, rer_allocate(&state->weights, run->C, training->network.parameters * (int64_t)sizeof(float),
                                  "the networks", error));
    RER_THEN(status, rer_train_tiles(&plan, state->weights, training, normalizer, run, &pass.first, error));
    if (status == RER_OK && pass.first < rer_fold_tasks(&plan)) {
        rer_scratch measure = RER_MEASURE;
        (void)rer_task_lay_out(pass.plan, pass.run, &measure);
        pass.weights = state->weights;
        rer_job job = {
            .stage = "training",
            .from = .15,
            .to = .45,
            .items = rer_fold_tasks(&plan) - pass.first,
            .scratch = measure.used,
            .work = train_task,
            .context = &pass,
        };
        status = rer_pool_run(run->pool, &job, error);
    }
    if (status == RER_OK) {
        state->own = plan.own;
        plan.own = NULL;
    }
    rer_fold_plan_free(&plan);
    return status;
}

static rer_status fit(rer_model *model, rer_row_sample *sample, const rer_run *run, rer_error *error)
{
    rer_class_moments moments = {0};
    rer_training training = {0};
    rer_autoencoder *state = NULL;
    rer_status status = make_training(&training, run, error);
    RER_THEN(status, rer_allocate(&state, 1, sizeof *state, "the model", error));
    model->state = state;
    RER_THEN(status, rer_class_means(&moments, &model->normalizer, run, error));
    RER_THEN(status, rer_check_classes(&moments, run, error));
    if (status == RER_OK) {
        state->network = training.network;
        memcpy(model->n, moments.n, (size_t)run->C * sizeof *model->n);
        model->N = moments.labelled;
        model->shrinkage = NAN;
        status = train_all(state, &model->normalizer, &training, run, error);
    }
    RER_THEN(status, rer_row_sample_pick(sample, run, moments.n, rer_row_sample_size(run), error));
    RER_THEN(status, rer_within_scatter(NULL, sample, &moments, &model->normalizer, run, error));
    rer_class_moments_free(&moments);
    return status;
}

/* ---- scoring ----------------------------------------------------------------------------- */

typedef struct score_scratch {
    bool *left_out;
    rer_scratch sweep;
} score_scratch;

static score_scratch lay_out(const rer_autoencoder *state, int64_t rows, rer_scratch *scratch)
{
    score_scratch parts;
    parts.left_out = rer_take(scratch, 1, sizeof *parts.left_out);
    parts.sweep = rer_take_part(scratch, rer_network_sweep_scratch(&state->network, rows));
    return parts;
}

static int64_t scratch_bytes(const rer_model *model, int64_t rows)
{
    rer_scratch measure = RER_MEASURE;
    (void)lay_out(model->state, rows, &measure);
    return measure.used;
}

static void prepare(const rer_model *model, const rer_run *run, const rer_block *block, bool left_out,
                    rer_scratch scratch)
{
    (void)run;
    *lay_out(model->state, block->count, &scratch).left_out = left_out;
}

static void errors(const rer_model *model, const rer_run *run, const rer_block *block, int32_t first, int32_t classes,
                   float *d2, rer_scratch scratch)
{
    const rer_autoencoder *state = model->state;
    score_scratch parts = lay_out(state, block->count, &scratch);
    for (int32_t k = 0; k < classes; k++)
        rer_network_errors(&state->network, state->weights + (first + k) * state->network.parameters, block->x,
                           block->count, d2 + k, classes, parts.sweep, run->kernels);
    for (int64_t i = 0; *parts.left_out && state->own != NULL && i < block->count; i++)
        if (block->code[i] >= first && block->code[i] < first + classes && rer_block_has_seen(block, i))
            d2[i * classes + block->code[i] - first] = state->own[rer_block_row(block, i)];
}

/* ---- saving ------------------------------------------------------------------------------ */

static void save(const rer_model *model, rer_tensors *tensors)
{
    const rer_autoencoder *state = model->state;
    const rer_network *network = &state->network;
    char hidden[100] = "";
    int used = 0;
    for (int l = 1; l < network->encoder; l++)
        used += snprintf(hidden + used, sizeof hidden - (size_t)used, "%s%lld", l > 1 ? "," : "",
                         (long long)network->width[l]);
    rer_tensors_set_text(tensors, "autoencoder.hidden", hidden);
    rer_tensors_set_number(tensors, "autoencoder.components", (double)network->width[network->encoder]);
    rer_tensors_add(tensors, "autoencoder.weights", RER_F32, RER_SHAPE(model->C, network->parameters), state->weights);
}

static rer_status load(rer_model *model, rer_tensors *tensors, rer_error *error)
{
    rer_autoencoder *state = NULL;
    rer_options options = rer_options_default();
    const char *hidden = rer_tensors_text(tensors, "autoencoder.hidden");
    double components = rer_tensors_number(tensors, "autoencoder.components");
    if (!(components >= 1 && components <= 4096))
        rer_tensors_fail(tensors, "the model has %g latent dimensions; 1 to 4096 are possible", components);
    rer_status status = rer_tensors_status(tensors, error);
    RER_THEN(status, rer_options_set(&options, "hidden", hidden != NULL ? hidden : "", error));
    RER_THEN(status, rer_allocate(&state, 1, sizeof *state, "the model", error));
    model->state = state;
    if (status != RER_OK)
        return status;
    options.components = (int32_t)components;
    state->network = network_of(model->D, &options);
    state->weights =
        rer_tensors_copy(tensors, "autoencoder.weights", RER_F32, RER_SHAPE(model->C, state->network.parameters));
    return rer_tensors_status(tensors, error);
}

const rer_reconstructor rer_autoencoder_reconstructor = {
    .name = "autoencoder",
    .normalize = RER_MINMAX,
    .needs_minmax = true,
    .exponent = NAN,
    .fit = fit,
    .scratch = scratch_bytes,
    .prepare = prepare,
    .errors = errors,
    .save = save,
    .load = load,
    .free = free_state,
};
