/* One table of options: it sets defaults, checks values, and is what --help, summary.json and the
 * Python keywords are made from. Every value, however it is given, goes through its text: so there is one
 * rule for what is right, and one message for what is not. */
#define _GNU_SOURCE /* strchrnul */
#include "core/options.h"
#include "core/core.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef enum option_kind {
    CHOICE, /* int32_t: place in `metavar`, split at '|' */
    COUNT,  /* int32_t low..high */
    WHOLE,  /* int64_t low..high */
    NUMBER, /* double low..high, or one of `number_words` where metavar has it */
    AMOUNT, /* double and bool: N or P%, or "auto" */
    SIZE,   /* int64_t bytes: 2G, 300M, or 0 */
    LIST,   /* int32_t [4]: whole numbers low..high, 0 past the last */
    RANGE,  /* int32_t [2]: a whole number low..high, two of them with .. between, or 0 */
    SIZES,  /* int32_t [16]: the same, ascending, or "auto" */
    RATES,  /* double [8]: numbers low..high, 0 past the last */
    SUBSET, /* int32_t: bits of the places in `metavar`, split at ','; or "none" */
    FLAG,   /* bool */
} option_kind;

typedef struct option_row {
    rer_option_info info;
    option_kind kind;
    size_t offset; /* in rer_options */
    double low, high;
} option_row;

#define AT(member) offsetof(rer_options, member)

/* clang-format off */
static const option_row table[] = {
    {{"reconstructor", "centroid|subspace|autoencoder|published", "centroid", "model of a class", false, NULL}, CHOICE, AT(reconstructor), 0, 0},
    {{"normalize", "auto|whiten|minmax|unit|none", "auto", "scaling; auto: what suits the reconstructor", false, NULL},
     CHOICE, AT(normalize), 0, 0},
    {{"shrinkage", "auto|0..1", "auto", "pull of the covariance towards a multiple of the identity", false, NULL},
     NUMBER, AT(shrinkage), 0, 1},
    {{"threshold", "auto|0..1|paper", "auto", "flag labels with a mistakenness above this", false, NULL},
     NUMBER, AT(threshold), 0, 1},
    {{"probability", "channel|density", "channel", "what mistakenness is; density: the paper's", false, "rer analyze"},
     CHOICE, AT(probability), 0, 0},
    {{"budget", "auto|N|P%", "auto", "flag exactly N labels, or P percent, instead", false, NULL},
     AMOUNT, AT(budget), 0, 9e15},
    {{"features", "hog|raw", "hog", "what pictures are turned into", false, NULL}, CHOICE, AT(features), 0, 0},
    {{"drop-invalid", "", "no", "leave rows with NaN or Inf out instead of failing", true, NULL}, FLAG, AT(drop_invalid), 0, 0},
    {{"clusters", "K|K..K", "0", "no y: k-means makes so many labels (of a range: the likeliest)", false, "rer analyze"}, RANGE, AT(clusters), 2, 1e6},
    {{"details", "", "no", "distributions, intervals, transitions, pairs to merge, extremes", true, "rer analyze"}, FLAG, AT(details), 0, 0},
    {{"duplicates", "off|auto|0..90", "off", "near-duplicates: rows within so many degrees; time ~ N^2", false, "rer analyze"},
     NUMBER, AT(duplicates), 0, 90},
    {{"threads", "N", "0", "threads to use; 0: one for each core", false, NULL}, COUNT, AT(threads), 0, 256},
    {{"memory", "BYTES", "0", "cap on working memory (300M, 2G); 0: none. Never changes a result", false, NULL},
     SIZE, AT(memory), 0, 9e15},
    {{"seed", "N", "0", "of everything random", false, NULL}, WHOLE, AT(seed), 0, 9e15},
    {{"folds", "N", "5", "own errors from fits without the sample's fold; 1: in-sample", false, "subspace autoencoder"},
     COUNT, AT(folds), 1, 100},
    {{"rank", "auto|N", "auto", "dimensions of a class's subspace", false, "subspace"}, NUMBER, AT(rank), 0, 64},
    {{"fit-fraction", "0..1", "1", "share of each class that models are fitted on", false, "subspace autoencoder"},
     NUMBER, AT(fit_fraction), 1e-9, 1},
    {{"fit-samples", "N", "0", "samples of each class that models are fitted on; 0: all", false, "subspace autoencoder"},
     WHOLE, AT(fit_samples), 0, 9e15},
    {{"components", "N", "10", "latent dimensions of the autoencoder", false, "autoencoder"}, COUNT, AT(components), 1, 4096},
    {{"hidden", "N,N,...", "256", "sizes of its hidden layers, at most 4", false, "autoencoder"}, LIST, AT(hidden), 1, 65536},
    {{"dropout", "0..0.9", "0.01", "share of hidden units left out in a step", false, "autoencoder"}, NUMBER, AT(dropout), 0, .9},
    {{"regularization", "X", "1e-6", "L2 penalty of its weights", false, "autoencoder"}, NUMBER, AT(regularization), 0, 1e3},
    {{"loss-weight", "X", "20", "of the reconstruction against the layout", false, "autoencoder"}, NUMBER, AT(loss_weight), 0, 1e9},
    {{"batch", "N", "64", "edges in a step", false, "autoencoder"}, COUNT, AT(batch), 1, 65536},
    {{"neighbors", "N", "40", "of the neighbour graph, the sample itself counted", false, "autoencoder"},
     COUNT, AT(neighbors), 2, 10000},
    {{"metric", "euclidean|cosine", "euclidean", "of the neighbour graph", false, "autoencoder"}, CHOICE, AT(metric), 0, 0},
    {{"learning-rate", "X", "0.001", "of Adam", false, "autoencoder"}, NUMBER, AT(learning_rate), 1e-12, 1e3},
    {{"repulsion", "X", "1", "strength of the layout's repulsion", false, "autoencoder"}, NUMBER, AT(repulsion), 0, 1e6},
    {{"spread", "X", "25", "of the layout's curve", false, "autoencoder"}, NUMBER, AT(spread), 1e-6, 1e6},
    {{"min-dist", "X", "24", "of the layout's curve", false, "autoencoder"}, NUMBER, AT(min_dist), 0, 1e6},
    {{"a", "auto|X", "auto", "of the curve 1 / (1 + a d^2b), instead of spread and min-dist", false, "autoencoder"},
     NUMBER, AT(a), -1e6, 1e6},
    {{"b", "auto|X", "auto", "of the curve", false, "autoencoder"}, NUMBER, AT(b), -1e3, 1e3},
    {{"epochs", "N", "20", "draws of an edge of weight 1", false, "autoencoder"}, COUNT, AT(epochs), 1, 100000},
    {{"detector", "rer|confident|simifeat|knn|zeroshot", "rer", "who judges the labels", false, "rer analyze"}, CHOICE, AT(detector), 0, 0},
    {{"classifier-rows", "raw|unit", "raw", "rows of its logistic regression: as they are, or of unit length", false, "rer analyze confident"},
     CHOICE, AT(classifier_rows), 0, 0},
    {{"classifier-c", "X", "1", "inverse of the regression's penalty", false, "rer analyze confident"}, NUMBER, AT(classifier_c), 1e-9, 1e9},
    {{"quality", "self-confidence|margin", "self-confidence", "score of a label", false, "rer analyze confident"},
     CHOICE, AT(quality), 0, 0},
    {{"prune-by", "noise-rate|class|both|joint", "noise-rate", "which labels are flagged", false, "rer analyze confident"},
     CHOICE, AT(prune_by), 0, 0},
    {{"temperature", "X", "0.01", "of the softmax over classes", false, "rer analyze zeroshot"}, NUMBER, AT(temperature), 1e-6, 1e6},
    {{"type", "symmetric|asymmetric|confidence|human", "symmetric", "how the new class is chosen", false, "rer noise"}, CHOICE, AT(noise_type), 0, 0},
    {{"rate", "0..1", "0.1", "share of the labels to change", false, "rer noise"}, NUMBER, AT(noise_rate), 0, 1},
    {{"sizes", "auto|N,N,...", "auto", "samples of a class to fit on; auto: 20 to 200", false, "rer scale"}, SIZES, AT(sizes), 2, 1e9},
    {{"repeats", "N", "5", "random subsets of each size", false, "rer scale"}, COUNT, AT(repeats), 1, 1000},
    {{"exponent", "auto|free|paper|X", "auto", "power of n in the law; free: fitted; paper: 1.808", false, "rer scale"},
     NUMBER, AT(exponent), .1, 10},
    {{"accuracy", "auto|0..1", "auto", "of your model, to say how it would change", false, "rer scale"}, NUMBER, AT(accuracy), 0, 1},
    {{"prune", "0..99", "30", "percent of the data that you might do without", false, "rer scale"}, NUMBER, AT(prune), 0, 99},
    {{"collect", "auto|N", "auto", "samples of a class that you might add; auto: as many again", false, "rer scale"},
     NUMBER, AT(collect), 0, 1e12},
    {{"noise", "symmetric,asymmetric,confidence", "symmetric,asymmetric,confidence", "kinds of noise to plant, or none", false, "rer bench"}, SUBSET, AT(noise_types), 0, 0},
    {{"rates", "R,R,...", ".05,.1,.2,.3", "shares of the labels to make wrong, at most 8", false, "rer bench"}, RATES, AT(noise_rates), 1e-9, 1},
    {{"seeds", "N", "3", "times to plant each noise", false, "rer bench"}, COUNT, AT(noise_seeds), 1, 1000},
    {{"bootstrap", "N", "1000", "resamples for the intervals of differences in AUROC; 0: none", false, "rer bench"}, COUNT, AT(bootstrap), 0, 100000},
    {{"mode", "auto|samples|labels|datasets", "auto", "same samples; other labels; different data sets", false, "rer compare"},
     CHOICE, AT(comparison), 0, 0},
    {{"auto", "off|0..1", "off", "take all suggestions of RESULTS above this probability", false, "rer apply"},
     NUMBER, AT(automatic), 0, 1},
};
/* clang-format on */

#define ROWS ((int)(sizeof table / sizeof *table))

static void *member_of(const option_row *row, const rer_options *options)
{
    return (char *)options + row->offset;
}

static rer_status fail_value(const option_row *row, const char *value, rer_error *error)
{
    char quoted[80];
    return rer_fail(error, RER_BAD_USAGE, "--%s: '%s' is not one of %s", row->info.name,
                    rer_quote(quoted, sizeof quoted, value, (int64_t)strlen(value)), row->info.metavar);
}

/* Place of the word among words with `separator` between, or -1. */
static int32_t find_word(const char *words, char separator, const char *word, size_t length)
{
    for (int32_t place = 0;; place++) {
        const char *end = strchrnul(words, separator);
        if ((size_t)(end - words) == length && memcmp(words, word, length) == 0)
            return place;
        if (*end == 0)
            return -1;
        words = end + 1;
    }
}

static int32_t find_choice(const char *words, const char *word)
{
    return find_word(words, '|', word, strlen(word));
}

static bool parse_number(const char *text, double *value, const char **rest)
{
    char *end = NULL;
    errno = 0;
    *value = strtod(text, &end);
    *rest = end;
    return end != text && errno == 0 && isfinite(*value);
}

static rer_status set_whole(const option_row *row, rer_options *options, const char *text, rer_error *error)
{
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != 0 || errno != 0 || (double)value < row->low || (double)value > row->high) {
        char quoted[80];
        return rer_fail(error, RER_BAD_USAGE, "--%s: '%s' is not a whole number from %.0f to %.0f", row->info.name,
                        rer_quote(quoted, sizeof quoted, text, (int64_t)strlen(text)), row->low, row->high);
    }
    if (row->kind == COUNT)
        *(int32_t *)member_of(row, options) = (int32_t)value;
    else
        *(int64_t *)member_of(row, options) = value;
    return RER_OK;
}

/* Words that stand for a number. */
typedef struct number_word {
    const char *name;
    double value;
} number_word;

static const number_word number_words[] = {
    {"auto", RER_AUTO}, {"paper", RER_PAPER}, {"free", RER_FREE}, {"off", RER_OFF}};

enum { N_WORDS = sizeof number_words / sizeof number_words[0] };

static const number_word *find_number_word(const char *text)
{
    for (int i = 0; i < N_WORDS; i++)
        if (strcmp(number_words[i].name, text) == 0)
            return &number_words[i];
    return NULL;
}

static rer_status set_number(const option_row *row, rer_options *options, const char *text, rer_error *error)
{
    double value;
    const char *rest;
    const number_word *word = find_number_word(text);
    if (word != NULL && find_choice(row->info.metavar, text) >= 0)
        value = word->value;
    else if (!parse_number(text, &value, &rest) || *rest != 0 || value < row->low || value > row->high) {
        char quoted[80];
        return rer_fail(error, RER_BAD_USAGE, "--%s: '%s' is not %s; a number may be from %g to %g", row->info.name,
                        rer_quote(quoted, sizeof quoted, text, (int64_t)strlen(text)),
                        strcmp(row->info.metavar, "X") == 0 ? "allowed" : row->info.metavar, row->low, row->high);
    }
    *(double *)member_of(row, options) = value;
    return RER_OK;
}

static rer_status set_amount(const option_row *row, rer_options *options, const char *text, rer_error *error)
{
    double value = RER_AUTO;
    const char *rest = "";
    bool is_auto = strcmp(text, "auto") == 0;
    if (!is_auto && !parse_number(text, &value, &rest))
        return fail_value(row, text, error);
    bool percent = strcmp(rest, "%") == 0;
    bool whole = percent || value == floor(value);
    if (!is_auto && ((*rest != 0 && !percent) || !whole || value < 0 || value > (percent ? 100 : row->high)))
        return fail_value(row, text, error);
    *(double *)member_of(row, options) = value;
    options->budget_percent = percent;
    return RER_OK;
}

static rer_status set_size(const option_row *row, rer_options *options, const char *text, rer_error *error)
{
    static const char units[] = "KMGT";
    double value;
    const char *rest;
    if (!parse_number(text, &value, &rest))
        return fail_value(row, text, error);
    const char *unit = *rest != 0 ? strchr(units, *rest & ~0x20) : NULL;
    if (unit != NULL)
        value *= pow(1024, (double)(unit - units + 1));
    bool ends = *rest == 0 ||
                (unit != NULL && (rest[1] == 0 || strcasecmp(rest + 1, "b") == 0 || strcasecmp(rest + 1, "ib") == 0));
    if (!ends || value < row->low || value > row->high)
        return fail_value(row, text, error);
    *(int64_t *)member_of(row, options) = (int64_t)value;
    return RER_OK;
}

enum { LONGEST = 16 };

static int list_length(const option_row *row)
{
    return row->kind == SIZES ? LONGEST : 4;
}

static rer_status set_list(const option_row *row, rer_options *options, const char *text, rer_error *error)
{
    int32_t list[LONGEST] = {0};
    char quoted[80];
    const char *at = text;
    int length = list_length(row);
    bool done = row->kind == SIZES && strcmp(text, "auto") == 0;
    for (int i = 0; i < length && !done; i++) {
        char *end = NULL;
        errno = 0;
        long value = strtol(at, &end, 10);
        bool ascends = row->kind != SIZES || i == 0 || value > list[i - 1];
        if (end == at || errno != 0 || !ascends || (double)value < row->low || (double)value > row->high)
            break;
        list[i] = (int32_t)value;
        done = *end == 0;
        if (*end != ',')
            break;
        at = end + 1;
    }
    if (!done)
        return rer_fail(error, RER_BAD_USAGE,
                        "--%s: '%s' is not 1 to %d %swhole numbers from %g to %g with commas between", row->info.name,
                        rer_quote(quoted, sizeof quoted, text, (int64_t)strlen(text)), length,
                        row->kind == SIZES ? "ascending " : "", row->low, row->high);
    memcpy(member_of(row, options), list, (size_t)length * sizeof *list);
    return RER_OK;
}

static rer_status set_numbers(const option_row *row, rer_options *options, const char *text, rer_error *error)
{
    enum { MOST = sizeof options->noise_rates / sizeof *options->noise_rates };
    double list[MOST] = {0};
    char quoted[80];
    const char *at = text;
    for (int i = 0; i < MOST; i++) {
        const char *rest;
        if (!parse_number(at, &list[i], &rest) || list[i] < row->low || list[i] > row->high)
            break;
        if (*rest == 0) {
            memcpy(member_of(row, options), list, sizeof list);
            return RER_OK;
        }
        if (*rest != ',')
            break;
        at = rest + 1;
    }
    return rer_fail(error, RER_BAD_USAGE, "--%s: '%s' is not 1 to %d numbers from %g to %g with commas between",
                    row->info.name, rer_quote(quoted, sizeof quoted, text, (int64_t)strlen(text)), MOST, row->low,
                    row->high);
}

static rer_status set_choices(const option_row *row, rer_options *options, const char *text, rer_error *error)
{
    int32_t bits = 0;
    char quoted[80];
    bool is_none = strcmp(text, "none") == 0;
    for (const char *at = text, *end; !is_none; at = end + 1) {
        end = strchrnul(at, ',');
        int32_t place = find_word(row->info.metavar, ',', at, (size_t)(end - at));
        if (place < 0)
            return rer_fail(error, RER_BAD_USAGE, "--%s: '%s' is not some of %s with commas between, or none",
                            row->info.name, rer_quote(quoted, sizeof quoted, text, (int64_t)strlen(text)),
                            row->info.metavar);
        bits |= 1 << place;
        if (*end == 0)
            break;
    }
    *(int32_t *)member_of(row, options) = bits;
    return RER_OK;
}

static rer_status set_range(const option_row *row, rer_options *options, const char *text, rer_error *error)
{
    char quoted[80], *end = NULL;
    int32_t range[2] = {0};
    errno = 0;
    long from = strtol(text, &end, 10), to = from;
    bool right = end != text;
    if (right && strncmp(end, "..", 2) == 0) {
        const char *second = end + 2;
        to = strtol(second, &end, 10);
        right = end != second;
    }
    right = right && *end == 0 && errno == 0 && from <= to && (double)from >= row->low && (double)to <= row->high;
    if (!right && strcmp(text, "0") != 0)
        return rer_fail(error, RER_BAD_USAGE,
                        "--%s: '%s' is neither a whole number from %g to %g nor two with .. between", row->info.name,
                        rer_quote(quoted, sizeof quoted, text, (int64_t)strlen(text)), row->low, row->high);
    if (right) {
        range[0] = (int32_t)from;
        range[1] = (int32_t)to;
    }
    memcpy(member_of(row, options), range, sizeof range);
    return RER_OK;
}

static rer_status set_row(const option_row *row, rer_options *options, const char *text, rer_error *error)
{
    switch (row->kind) {
    case CHOICE: {
        int32_t place = find_choice(row->info.metavar, text);
        if (place < 0)
            return fail_value(row, text, error);
        *(int32_t *)member_of(row, options) = place;
        return RER_OK;
    }
    case COUNT:
    case WHOLE:
        return set_whole(row, options, text, error);
    case NUMBER:
        return set_number(row, options, text, error);
    case AMOUNT:
        return set_amount(row, options, text, error);
    case SIZE:
        return set_size(row, options, text, error);
    case RANGE:
        return set_range(row, options, text, error);
    case LIST:
    case SIZES:
        return set_list(row, options, text, error);
    case RATES:
        return set_numbers(row, options, text, error);
    case SUBSET:
        return set_choices(row, options, text, error);
    case FLAG:
        if (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
            return rer_fail(error, RER_BAD_USAGE, "--%s: '%s' is neither yes nor no", row->info.name, text);
        *(bool *)member_of(row, options) = strcmp(text, "yes") == 0;
        return RER_OK;
    }
    return RER_BAD_USAGE;
}

/* ---- values as text ----------------------------------------------------------------------- */

static void put_choice(char *text, int64_t size, const char *words, int32_t place)
{
    int32_t left = place;
    for (; left > 0 && *strchrnul(words, '|') != 0; left--)
        words = strchrnul(words, '|') + 1;
    if (left != 0) /* no such place: not set by us */
        (void)snprintf(text, (size_t)size, "%d", place);
    else
        (void)snprintf(text, (size_t)size, "%.*s", (int)(strchrnul(words, '|') - words), words);
}

static void put_number(char *text, int64_t size, double value, const char *unit)
{
    const number_word *word = number_words + N_WORDS;
    while (word > number_words && word[-1].value != value)
        word--;
    if (word > number_words)
        (void)snprintf(text, (size_t)size, "%s", word[-1].name);
    else
        (void)snprintf(text, (size_t)size, "%.15g%s", value, unit);
}

static void put_list(char *text, int64_t size, const int32_t *list, int length)
{
    int64_t used = snprintf(text, (size_t)size, "%s", list[0] > 0 ? "" : "auto");
    for (int i = 0; i < length && list[i] > 0 && used < size; i++)
        used += snprintf(text + used, (size_t)(size - used), "%s%d", i > 0 ? "," : "", list[i]);
}

static void put_numbers(char *text, int64_t size, const double *list)
{
    int64_t used = 0;
    for (int i = 0; i < 8 && list[i] > 0 && used < size; i++)
        used += snprintf(text + used, (size_t)(size - used), "%s%.15g", i > 0 ? "," : "", list[i]);
}

static void put_choices(char *text, int64_t size, const char *words, int32_t bits)
{
    int64_t used = snprintf(text, (size_t)size, "%s", bits == 0 ? "none" : "");
    int32_t left = bits;
    for (int32_t place = 0; left != 0 && used < size; place++) {
        const char *end = strchrnul(words, ',');
        if ((left >> place & 1) != 0)
            used +=
                snprintf(text + used, (size_t)(size - used), "%s%.*s", used > 0 ? "," : "", (int)(end - words), words);
        left &= ~(1 << place);
        if (*end == 0)
            break;
        words = end + 1;
    }
    if (left != 0) /* bits that have no word: not set by us */
        (void)snprintf(text, (size_t)size, "%d", bits);
}

static void put_row(const option_row *row, const rer_options *options, char *text, int64_t size)
{
    const void *member = member_of(row, options);
    switch (row->kind) {
    case CHOICE:
        put_choice(text, size, row->info.metavar, *(const int32_t *)member);
        break;
    case COUNT:
        (void)snprintf(text, (size_t)size, "%d", *(const int32_t *)member);
        break;
    case WHOLE:
    case SIZE:
        (void)snprintf(text, (size_t)size, "%lld", (long long)*(const int64_t *)member);
        break;
    case NUMBER:
        put_number(text, size, *(const double *)member, "");
        break;
    case AMOUNT:
        put_number(text, size, *(const double *)member, options->budget_percent ? "%" : "");
        break;
    case RANGE: {
        const int32_t *range = member;
        (void)snprintf(text, (size_t)size, range[1] != range[0] ? "%d..%d" : "%d", range[0], range[1]);
        break;
    }
    case LIST:
    case SIZES:
        put_list(text, size, member, list_length(row));
        break;
    case RATES:
        put_numbers(text, size, member);
        break;
    case SUBSET:
        put_choices(text, size, row->info.metavar, *(const int32_t *)member);
        break;
    case FLAG:
        (void)snprintf(text, (size_t)size, "%s", *(const bool *)member ? "yes" : "no");
        break;
    }
}

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
        (void)set_row(&table[i], &options, table[i].info.fallback, NULL);
    leave_c_locale(before);
    return options;
}

/* ---- setting ----------------------------------------------------------------------------- */

/* NULL, and the error, where there is none. */
static const option_row *find_row(const char *name, rer_error *error)
{
    char quoted[80];
    for (int i = 0; name != NULL && i < ROWS; i++)
        if (strcmp(table[i].info.name, name) == 0)
            return &table[i];
    if (name == NULL)
        name = "";
    (void)rer_fail(error, RER_BAD_USAGE, "there is no option --%s",
                   rer_quote(quoted, sizeof quoted, name, (int64_t)strlen(name)));
    return NULL;
}

static rer_status set_text(rer_options *options, const char *name, const char *value, rer_error *error)
{
    rer_error_clear(error);
    const option_row *row = find_row(name, error);
    if (row == NULL)
        return RER_BAD_USAGE;
    if (options == NULL || value == NULL)
        return rer_fail(error, RER_BAD_USAGE, "--%s: there are no options to set, or no value", name);
    return set_row(row, options, value, error);
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
    rer_status status = rer_allocate(&made, 1, sizeof *made, "options", error);
    if (status != RER_OK)
        return status;
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
        put_row(&table[i], options, text, sizeof text);
        status = set_row(&table[i], &checked, text, error);
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
    put_row(&table[index], options, text, size);
    leave_c_locale(before);
}

/* The row of `name`, or NULL; *options becomes `defaults` where there are none. */
static const option_row *find_value(const rer_options **options, rer_options *defaults, const char *name,
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
    const option_row *row = find_value(&options, &defaults, name, error);
    if (row == NULL)
        return RER_BAD_USAGE;
    if (size > 0)
        rer_options_text(options, (int)(row - table), text, size);
    return RER_OK;
}

static rer_status fail_kind(const option_row *row, const char *kind, rer_error *error)
{
    return rer_fail(error, RER_BAD_USAGE, "--%s: its value (%s) cannot be read as %s; rer_options_get gives its text",
                    row->info.name, row->info.is_flag ? "yes|no" : row->info.metavar, kind);
}

rer_status rer_options_get_integer(const rer_options *options, const char *name, int64_t *value, rer_error *error)
{
    rer_options defaults;
    const option_row *row = find_value(&options, &defaults, name, error);
    if (row == NULL)
        return RER_BAD_USAGE;
    if (row->kind == COUNT)
        *value = *(const int32_t *)member_of(row, options);
    else if (row->kind == WHOLE || row->kind == SIZE)
        *value = *(const int64_t *)member_of(row, options);
    else
        return fail_kind(row, "a whole number", error);
    return RER_OK;
}

static bool is_number_word(double value)
{
    for (int i = 0; i < N_WORDS; i++)
        if (number_words[i].value == value)
            return true;
    return false;
}

rer_status rer_options_get_real(const rer_options *options, const char *name, double *value, rer_error *error)
{
    rer_options defaults;
    int64_t whole = 0;
    const option_row *row = find_value(&options, &defaults, name, error);
    if (row == NULL)
        return RER_BAD_USAGE;
    if (row->kind == NUMBER || (row->kind == AMOUNT && !options->budget_percent)) {
        double number = *(const double *)member_of(row, options);
        *value = is_number_word(number) ? NAN : number;
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
    const option_row *row = find_value(&options, &defaults, name, error);
    if (row == NULL)
        return RER_BAD_USAGE;
    if (row->kind != FLAG)
        return fail_kind(row, "yes or no", error);
    *value = *(const bool *)member_of(row, options);
    return RER_OK;
}
