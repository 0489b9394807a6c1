/* One table of options: it sets defaults, checks values, and is what --help, summary.json and the
 * Python keywords are made from. */
#define _GNU_SOURCE /* strchrnul */
#include "core/core.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef enum option_kind {
    CHOICE, /* int32_t: place in `metavar`, split at '|' */
    COUNT,  /* int32_t low..high */
    WHOLE,  /* int64_t low..high */
    NUMBER, /* double low..high, or "auto" and, where metavar has it, "paper" */
    AMOUNT, /* double and bool: N or P%, or "auto" */
    SIZE,   /* int64_t bytes: 2G, 300M, or 0 */
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
    {{"reconstructor", "centroid", "centroid", "how a class is modelled", false}, CHOICE, AT(reconstructor), 0, 0},
    {{"normalize", "whiten|minmax|unit|none", "whiten", "scaling of the features before anything else", false},
     CHOICE, AT(normalize), 0, 0},
    {{"shrinkage", "auto|0..1", "auto", "pull of the covariance towards a multiple of the identity", false},
     NUMBER, AT(shrinkage), 0, 1},
    {{"threshold", "auto|0..1|paper", "auto", "flag labels with a mistakenness above this", false},
     NUMBER, AT(threshold), 0, 1},
    {{"budget", "auto|N|P%", "auto", "flag exactly N labels, or P percent, instead", false},
     AMOUNT, AT(budget), 0, 9e15},
    {{"features", "hog|raw", "hog", "what pictures are turned into", false}, CHOICE, AT(features), 0, 0},
    {{"drop-invalid", "", "no", "leave rows with NaN or Inf out instead of failing", true}, FLAG, AT(drop_invalid), 0, 0},
    {{"threads", "N", "0", "threads to use; 0: one for each core", false}, COUNT, AT(threads), 0, 256},
    {{"memory", "BYTES", "0", "cap on working memory (300M, 2G); 0: none. Never changes a result", false},
     SIZE, AT(memory), 0, 9e15},
    {{"seed", "N", "0", "of everything random", false}, WHOLE, AT(seed), 0, 9e15},
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

/* Place of `word` in words split at '|', or -1. */
static int32_t find_choice(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (int32_t place = 0;; place++) {
        const char *end = strchrnul(words, '|');
        if ((size_t)(end - words) == length && memcmp(words, word, length) == 0)
            return place;
        if (*end == 0)
            return -1;
        words = end + 1;
    }
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

static rer_status set_number(const option_row *row, rer_options *options, const char *text, rer_error *error)
{
    double value;
    const char *rest;
    if (strcmp(text, "auto") == 0)
        value = RER_AUTO;
    else if (strcmp(text, "paper") == 0 && find_choice(row->info.metavar, "paper") >= 0)
        value = RER_PAPER;
    else if (!parse_number(text, &value, &rest) || *rest != 0 || value < row->low || value > row->high)
        return fail_value(row, text, error);
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
    case FLAG:
        if (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
            return rer_fail(error, RER_BAD_USAGE, "--%s: '%s' is neither yes nor no", row->info.name, text);
        *(bool *)member_of(row, options) = strcmp(text, "yes") == 0;
        return RER_OK;
    }
    return RER_BAD_USAGE;
}

rer_options rer_options_default(void)
{
    rer_options options = {0};
    for (int i = 0; i < ROWS; i++)
        (void)set_row(&table[i], &options, table[i].info.fallback, NULL);
    return options;
}

rer_status rer_options_set(rer_options *options, const char *name, const char *value, rer_error *error)
{
    for (int i = 0; i < ROWS; i++)
        if (strcmp(table[i].info.name, name) == 0)
            return set_row(&table[i], options, value, error);
    return rer_fail(error, RER_BAD_USAGE, "there is no option --%s", name);
}

int rer_options_count(void)
{
    return ROWS;
}

const rer_option_info *rer_options_info(int index)
{
    return index >= 0 && index < ROWS ? &table[index].info : NULL;
}

static void put_choice(char *text, int64_t size, const char *words, int32_t place)
{
    for (; place > 0 && *words != 0; place--)
        words = strchrnul(words, '|') + 1;
    (void)snprintf(text, (size_t)size, "%.*s", (int)(strchrnul(words, '|') - words), words);
}

static void put_number(char *text, int64_t size, double value, const char *unit)
{
    if (value == RER_AUTO || value == RER_PAPER)
        (void)snprintf(text, (size_t)size, "%s", value == RER_AUTO ? "auto" : "paper");
    else
        (void)snprintf(text, (size_t)size, "%.15g%s", value, unit);
}

void rer_options_get(const rer_options *options, int index, char *text, int64_t size)
{
    const option_row *row = &table[index];
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
    case FLAG:
        (void)snprintf(text, (size_t)size, "%s", *(const bool *)member ? "yes" : "no");
        break;
    }
}
