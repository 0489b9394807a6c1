/* One table of options: it sets defaults, checks values, and is what --help, summary.json and the
 * Python keywords are made from. Every value, however it is given, goes through its text: so there is one
 * rule for what is right, and one message for what is not. */
#include "core/option_values.h"

#include "core/core.h"

#include <locale.h>

#define AT(member) offsetof(rer_options, member)

/* clang-format off */
static const rer_option_row table[] = {
    {{"reconstructor", "centroid|subspace|autoencoder|published", "centroid", "model of a class", false, NULL}, OPTION_CHOICE, AT(reconstructor), 0, 0},
    {{"normalize", "auto|whiten|minmax|unit|none", "auto", "scaling; auto: what suits the reconstructor", false, NULL},
     OPTION_CHOICE, AT(normalize), 0, 0},
    {{"shrinkage", "auto|0..1", "auto", "pull of the covariance towards a multiple of the identity", false, NULL},
     OPTION_NUMBER, AT(shrinkage), 0, 1},
    {{"threshold", "auto|0..1|paper", "auto", "flag labels with a mistakenness above this", false, NULL},
     OPTION_NUMBER, AT(threshold), 0, 1},
    {{"probability", "channel|density", "channel", "what mistakenness is; density: the paper's", false, "rer analyze"},
     OPTION_CHOICE, AT(probability), 0, 0},
    {{"budget", "auto|N|P%", "auto", "flag exactly N labels, or P percent, instead", false, NULL},
     OPTION_AMOUNT, AT(budget), 0, 9e15},
    {{"features", "hog|raw", "hog", "what pictures are turned into", false, NULL}, OPTION_CHOICE, AT(features), 0, 0},
    {{"drop-invalid", "", "no", "leave rows with NaN or Inf out instead of failing", true, NULL}, OPTION_FLAG, AT(drop_invalid), 0, 0},
    {{"strict", "", "no", "a picture of a folder that cannot be read is an error", true, NULL}, OPTION_FLAG, AT(strict), 0, 0},
    {{"clusters", "K|K..K", "0", "no y: k-means makes so many labels (of a range: the likeliest)", false, "rer analyze"}, OPTION_RANGE, AT(clusters), 2, 1e6},
    {{"details", "", "no", "distributions, intervals, transitions, pairs to merge, extremes", true, "rer analyze"}, OPTION_FLAG, AT(details), 0, 0},
    {{"duplicates", "off|auto|0..90", "off", "near-duplicates: rows within so many degrees; time ~ N^2", false, "rer analyze"},
     OPTION_NUMBER, AT(duplicates), 0, 90},
    {{"format", "csv|npz", "csv", "of the samples in --out; npz: arrays, for programs", false, "rer analyze"},
     OPTION_CHOICE, AT(format), 0, 0},
    {{"spreadsheet-safe", "", "no", "ids and labels in tables that look like formulas begin with '", true, NULL},
     OPTION_FLAG, AT(spreadsheet_safe), 0, 0},
    {{"threads", "N", "0", "threads to use; 0: one for each core", false, NULL}, OPTION_COUNT, AT(threads), 0, 256},
    {{"memory", "BYTES", "0", "cap on working memory (300M, 2G); 0: none. Never changes a result", false, NULL},
     OPTION_SIZE, AT(memory), 0, 9e15},
    {{"device", "cpu|cuda|cuda:N|auto", "cpu", "who goes over the rows; auto: a card where one can be used", false, "rer analyze"},
     OPTION_DEVICE, AT(device), 0, 255},
    {{"device-memory", "BYTES", "0", "cap on the card's memory; 0: what is free", false, "rer analyze cuda"},
     OPTION_SIZE, AT(device_memory), 0, 9e15},
    {{"seed", "N", "0", "of everything random", false, NULL}, OPTION_WHOLE, AT(seed), 0, 9e15},
    {{"folds", "N", "5", "own errors from fits without the sample's fold; 1: in-sample", false, "subspace autoencoder"},
     OPTION_COUNT, AT(folds), 1, 100},
    {{"rank", "auto|N", "auto", "dimensions of a class's subspace", false, "subspace"}, OPTION_NUMBER, AT(rank), 0, 64},
    {{"fit-fraction", "0..1", "1", "share of each class that models are fitted on", false, "subspace autoencoder"},
     OPTION_NUMBER, AT(fit_fraction), 1e-9, 1},
    {{"fit-samples", "N", "0", "samples of each class that models are fitted on; 0: all", false, "subspace autoencoder"},
     OPTION_WHOLE, AT(fit_samples), 0, 9e15},
    {{"components", "N", "10", "latent dimensions of the autoencoder", false, "autoencoder"}, OPTION_COUNT, AT(components), 1, 4096},
    {{"hidden", "N,N,...", "256", "sizes of its hidden layers, at most 4", false, "autoencoder"}, OPTION_LIST, AT(hidden), 1, 65536},
    {{"dropout", "0..0.9", "0.01", "share of hidden units left out in a step", false, "autoencoder"}, OPTION_NUMBER, AT(dropout), 0, .9},
    {{"regularization", "X", "1e-6", "L2 penalty of its weights", false, "autoencoder"}, OPTION_NUMBER, AT(regularization), 0, 1e3},
    {{"loss-weight", "X", "20", "of the reconstruction against the layout", false, "autoencoder"}, OPTION_NUMBER, AT(loss_weight), 0, 1e9},
    {{"batch", "N", "64", "edges in a step", false, "autoencoder"}, OPTION_COUNT, AT(batch), 1, 65536},
    {{"neighbors", "N", "40", "of the neighbour graph, the sample itself counted", false, "autoencoder"},
     OPTION_COUNT, AT(neighbors), 2, 10000},
    {{"metric", "euclidean|cosine", "euclidean", "of the neighbour graph", false, "autoencoder"}, OPTION_CHOICE, AT(metric), 0, 0},
    {{"learning-rate", "X", "0.001", "of Adam", false, "autoencoder"}, OPTION_NUMBER, AT(learning_rate), 1e-12, 1e3},
    {{"repulsion", "X", "1", "strength of the layout's repulsion", false, "autoencoder"}, OPTION_NUMBER, AT(repulsion), 0, 1e6},
    {{"spread", "X", "25", "of the layout's curve", false, "autoencoder"}, OPTION_NUMBER, AT(spread), 1e-6, 1e6},
    {{"min-dist", "X", "24", "of the layout's curve", false, "autoencoder"}, OPTION_NUMBER, AT(min_dist), 0, 1e6},
    {{"a", "auto|X", "auto", "of the curve 1 / (1 + a d^2b), instead of spread and min-dist", false, "autoencoder"},
     OPTION_NUMBER, AT(a), -1e6, 1e6},
    {{"b", "auto|X", "auto", "of the curve", false, "autoencoder"}, OPTION_NUMBER, AT(b), -1e3, 1e3},
    {{"epochs", "N", "20", "draws of an edge of weight 1", false, "autoencoder"}, OPTION_COUNT, AT(epochs), 1, 100000},
    {{"detector", "rer|confident|simifeat|knn|zeroshot", "rer", "who judges the labels", false, "rer analyze"}, OPTION_CHOICE, AT(detector), 0, 0},
    {{"classifier-rows", "raw|unit", "raw", "rows of its logistic regression: as they are, or of unit length", false, "rer analyze confident"},
     OPTION_CHOICE, AT(classifier_rows), 0, 0},
    {{"classifier-c", "X", "1", "inverse of the regression's penalty", false, "rer analyze confident"}, OPTION_NUMBER, AT(classifier_c), 1e-9, 1e9},
    {{"quality", "self-confidence|margin", "self-confidence", "score of a label", false, "rer analyze confident"},
     OPTION_CHOICE, AT(quality), 0, 0},
    {{"prune-by", "noise-rate|class|both|joint", "noise-rate", "which labels are flagged", false, "rer analyze confident"},
     OPTION_CHOICE, AT(prune_by), 0, 0},
    {{"temperature", "X", "0.01", "of the softmax over classes", false, "rer analyze zeroshot"}, OPTION_NUMBER, AT(temperature), 1e-6, 1e6},
    {{"type", "symmetric|asymmetric|confidence|human", "symmetric", "how the new class is chosen", false, "rer noise"}, OPTION_CHOICE, AT(noise_type), 0, 0},
    {{"rate", "0..1", "0.1", "share of the labels to change", false, "rer noise"}, OPTION_NUMBER, AT(noise_rate), 0, 1},
    {{"sizes", "auto|N,N,...", "auto", "samples of a class to fit on; auto: 20 to 200", false, "rer scale"}, OPTION_SIZES, AT(sizes), 2, 1e9},
    {{"repeats", "N", "5", "random subsets of each size", false, "rer scale"}, OPTION_COUNT, AT(repeats), 1, 1000},
    {{"exponent", "auto|free|paper|X", "auto", "power of n in the law; free: fitted; paper: 1.808", false, "rer scale"},
     OPTION_NUMBER, AT(exponent), .1, 10},
    {{"accuracy", "auto|0..1", "auto", "of your model, to say how it would change", false, "rer scale"}, OPTION_NUMBER, AT(accuracy), 0, 1},
    {{"prune", "0..99", "30", "percent of the data that you might do without", false, "rer scale"}, OPTION_NUMBER, AT(prune), 0, 99},
    {{"collect", "auto|N", "auto", "samples of a class that you might add; auto: as many again", false, "rer scale"},
     OPTION_NUMBER, AT(collect), 0, 1e12},
    {{"noise", "symmetric,asymmetric,confidence", "symmetric,asymmetric,confidence", "kinds of noise to plant, or none", false, "rer bench"}, OPTION_SUBSET, AT(noise_types), 0, 0},
    {{"rates", "R,R,...", ".05,.1,.2,.3", "shares of the labels to make wrong, at most 8", false, "rer bench"}, OPTION_RATES, AT(noise_rates), 1e-9, 1},
    {{"seeds", "N", "2", "times to plant each noise", false, "rer bench"}, OPTION_COUNT, AT(noise_seeds), 1, 1000},
    {{"bootstrap", "N", "1000", "resamples for the intervals of differences in AUROC; 0: none", false, "rer bench"}, OPTION_COUNT, AT(bootstrap), 0, 100000},
    {{"mode", "auto|samples|labels|datasets", "auto", "same samples; other labels; different data sets", false, "rer compare"},
     OPTION_CHOICE, AT(comparison), 0, 0},
    {{"dtype", "float16|float32", "float16", "of the numbers in the file", false, "rer embed"}, OPTION_CHOICE, AT(embed_dtype), 0, 0},
    {{"preset", "none|clip|siglip|dinov2|imagenet", "none", "how pictures are prepared; none: as the model's folder says", false, "rer embed"},
     OPTION_CHOICE, AT(preset), 0, 0},
    {{"size", "N", "0", "pixels of the shorter side, or of both without --crop; 0: the model's", false, "rer embed"}, OPTION_COUNT, AT(size), 0, 4096},
    {{"crop", "N", "0", "pixels on a side of the middle that is cut out; 0: as said", false, "rer embed"}, OPTION_COUNT, AT(crop), 0, 4096},
    {{"interpolation", "auto|nearest|lanczos|bilinear|bicubic|box|hamming", "auto", "how pictures are resized", false, "rer embed"},
     OPTION_CHOICE, AT(interpolation), 0, 0},
    {{"auto", "off|0..1", "off", "take all suggestions of RESULTS above this probability", false, "rer apply"},
     OPTION_NUMBER, AT(automatic), 0, 1},
};
/* clang-format on */

#define ROWS ((int)(sizeof table / sizeof *table))

/* ---- the locale -------------------------------------------------------------------------- */

/* Numbers are written and read with a point, whatever the caller's locale says. */
static locale_t enter_c_locale(void)
{
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return c_locale != (locale_t)0 ? uselocale(c_locale) : (locale_t)0;
}

static void leave_c_locale(locale_t before)
{
    if (before != (locale_t)0)
        freelocale(uselocale(before));
}

rer_options rer_options_default(void)
{
    rer_options options = {0};
    locale_t before = enter_c_locale();
    for (int i = 0; i < ROWS; i++)
        (void)rer_option_parse(&table[i], &options, table[i].info.fallback, NULL);
    leave_c_locale(before);
    return options;
}

/* ---- setting ----------------------------------------------------------------------------- */

/* NULL, and the error, where there is none. */
static const rer_option_row *find_row(const char *name, rer_error *error)
{
    for (int i = 0; name != NULL && i < ROWS; i++)
        if (strcmp(table[i].info.name, name) == 0)
            return &table[i];
    if (name == NULL)
        name = "";
    (void)rer_fail(error, RER_BAD_USAGE, "there is no option --%s", RER_QUOTED(name));
    return NULL;
}

static rer_status set_text(rer_options *options, const char *name, const char *value, rer_error *error)
{
    rer_error_clear(error);
    const rer_option_row *row = find_row(name, error);
    if (row == NULL)
        return RER_BAD_USAGE;
    if (options == NULL || value == NULL)
        return rer_fail(error, RER_BAD_USAGE, "--%s: there are no options to set, or no value", name);
    return rer_option_parse(row, options, value, error);
}

rer_status rer_options_set(rer_options *options, const char *name, const char *value, rer_error *error)
{
    locale_t before = enter_c_locale();
    rer_status status = set_text(options, name, value, error);
    leave_c_locale(before);
    return status;
}

rer_status rer_options_set_integer(rer_options *options, const char *name, int64_t value, rer_error *error)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%lld", (long long)value);
    return rer_options_set(options, name, text, error);
}

rer_status rer_options_set_real(rer_options *options, const char *name, double value, rer_error *error)
{
    char text[40];
    locale_t before = enter_c_locale();
    (void)snprintf(text, sizeof text, "%.17g", value);
    rer_status status = set_text(options, name, text, error);
    leave_c_locale(before);
    return status;
}

rer_status rer_options_set_flag(rer_options *options, const char *name, bool value, rer_error *error)
{
    return rer_options_set(options, name, value ? "yes" : "no", error);
}

/* ---- objects ----------------------------------------------------------------------------- */

rer_status rer_options_copy(rer_options **copy, const rer_options *options, rer_error *error)
{
    rer_options *made = NULL;
    rer_error_clear(error);
    RER_TRY(rer_allocate(&made, 1, sizeof *made, "options", error));
    *made = options != NULL ? *options : rer_options_default();
    *copy = made;
    return RER_OK;
}

rer_status rer_options_new(rer_options **options, rer_error *error)
{
    return rer_options_copy(options, NULL, error);
}

void rer_options_free(rer_options *options)
{
    free(options);
}

/* A value is right where its text can be set. */
rer_status rer_options_take(rer_options *options, const rer_options *given, rer_error *error)
{
    rer_options checked = {0};
    char text[RER_OPTION_TEXT];
    rer_status status = RER_OK;
    *options = given != NULL ? *given : rer_options_default();
    locale_t before = enter_c_locale();
    for (int i = 0; status == RER_OK && given != NULL && i < ROWS; i++) {
        rer_option_print(&table[i], options, text, sizeof text);
        status = rer_option_parse(&table[i], &checked, text, error);
    }
    leave_c_locale(before);
    return status;
}

/* ---- the table ---------------------------------------------------------------------------- */

int rer_options_count(void)
{
    return ROWS;
}

const rer_option_info *rer_options_info(int index)
{
    return index >= 0 && index < ROWS ? &table[index].info : NULL;
}

bool rer_option_is_for(const rer_option_info *info, const char *command)
{
    size_t length = strlen(command);
    if (info->only_for == NULL || strncmp(info->only_for, "rer ", 4) != 0)
        return true;
    const char *name = info->only_for + 4;
    return strncmp(name, command, length) == 0 && (name[length] == 0 || name[length] == ' ');
}

/* ---- reading ----------------------------------------------------------------------------- */

void rer_options_text(const rer_options *options, int index, char *text, int64_t size)
{
    locale_t before = enter_c_locale();
    rer_option_print(&table[index], options, text, size);
    leave_c_locale(before);
}

/* The row of `name`, or NULL; *options becomes `defaults` where there are none. */
static const rer_option_row *find_value(const rer_options **options, rer_options *defaults, const char *name,
                                        rer_error *error)
{
    rer_error_clear(error);
    if (*options == NULL) {
        *defaults = rer_options_default();
        *options = defaults;
    }
    return find_row(name, error);
}

rer_status rer_options_get(const rer_options *options, const char *name, char *text, int64_t size, rer_error *error)
{
    rer_options defaults;
    const rer_option_row *row = find_value(&options, &defaults, name, error);
    if (row == NULL)
        return RER_BAD_USAGE;
    if (size > 0)
        rer_options_text(options, (int)(row - table), text, size);
    return RER_OK;
}

static rer_status fail_kind(const rer_option_row *row, const char *kind, rer_error *error)
{
    return rer_fail(error, RER_BAD_USAGE, "--%s: its value (%s) cannot be read as %s; rer_options_get gives its text",
                    row->info.name, row->info.is_flag ? "yes|no" : row->info.metavar, kind);
}

rer_status rer_options_get_integer(const rer_options *options, const char *name, int64_t *value, rer_error *error)
{
    rer_options defaults;
    const rer_option_row *row = find_value(&options, &defaults, name, error);
    if (row == NULL)
        return RER_BAD_USAGE;
    if (row->kind == OPTION_COUNT)
        *value = *(const int32_t *)rer_option_member(row, options);
    else if (row->kind == OPTION_WHOLE || row->kind == OPTION_SIZE)
        *value = *(const int64_t *)rer_option_member(row, options);
    else
        return fail_kind(row, "a whole number", error);
    return RER_OK;
}

rer_status rer_options_get_real(const rer_options *options, const char *name, double *value, rer_error *error)
{
    rer_options defaults;
    int64_t whole = 0;
    const rer_option_row *row = find_value(&options, &defaults, name, error);
    if (row == NULL)
        return RER_BAD_USAGE;
    if (row->kind == OPTION_NUMBER || (row->kind == OPTION_AMOUNT && !options->budget_percent)) {
        double number = *(const double *)rer_option_member(row, options);
        *value = rer_option_is_word(number) ? NAN : number;
        return RER_OK;
    }
    if (rer_options_get_integer(options, name, &whole, NULL) != RER_OK)
        return fail_kind(row, "a number", error);
    *value = (double)whole;
    return RER_OK;
}

rer_status rer_options_get_flag(const rer_options *options, const char *name, bool *value, rer_error *error)
{
    rer_options defaults;
    const rer_option_row *row = find_value(&options, &defaults, name, error);
    if (row == NULL)
        return RER_BAD_USAGE;
    if (row->kind != OPTION_FLAG)
        return fail_kind(row, "yes or no", error);
    *value = *(const bool *)rer_option_member(row, options);
    return RER_OK;
}
