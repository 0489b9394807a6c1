/* Texts to values, by kind, and back. */
#include "core/option_values.h"

#include "core/core.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static rer_status fail_value(const rer_option_row *row, const char *value, rer_error *error)
{
    return rer_fail(error, RER_BAD_USAGE, "--%s: '%s' is not one of %s", row->info.name, RER_QUOTED(value),
                    row->info.metavar);
}

/* The first separator, or the end. */
static const char *end_of_word(const char *text, char separator)
{
    const char *end = strchr(text, separator);
    return end != NULL ? end : text + strlen(text);
}

/* Place of the word among words with `separator` between, or -1. */
static int32_t find_word(const char *words, char separator, const char *word, size_t length)
{
    for (int32_t place = 0;; place++) {
        const char *end = end_of_word(words, separator);
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

static rer_status set_whole(const rer_option_row *row, rer_options *options, const char *text, rer_error *error)
{
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != 0 || errno != 0 || (double)value < row->low || (double)value > row->high) {
        return rer_fail(error, RER_BAD_USAGE, "--%s: '%s' is not a whole number from %.0f to %.0f", row->info.name,
                        RER_QUOTED(text), row->low, row->high);
    }
    if (row->kind == OPTION_COUNT)
        *(int32_t *)rer_option_member(row, options) = (int32_t)value;
    else
        *(int64_t *)rer_option_member(row, options) = value;
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

static rer_status set_number(const rer_option_row *row, rer_options *options, const char *text, rer_error *error)
{
    double value;
    const char *rest;
    const number_word *word = find_number_word(text);
    if (word != NULL && find_choice(row->info.metavar, text) >= 0)
        value = word->value;
    else if (!parse_number(text, &value, &rest) || *rest != 0 || value < row->low || value > row->high) {
        return rer_fail(error, RER_BAD_USAGE, "--%s: '%s' is not %s; a number may be from %g to %g", row->info.name,
                        RER_QUOTED(text), strcmp(row->info.metavar, "X") == 0 ? "allowed" : row->info.metavar, row->low,
                        row->high);
    }
    *(double *)rer_option_member(row, options) = value;
    return RER_OK;
}

static rer_status set_amount(const rer_option_row *row, rer_options *options, const char *text, rer_error *error)
{
    double value = RER_AUTO;
    const char *rest = "";
    bool is_auto = strcmp(text, "auto") == 0;
    if (!is_auto && !parse_number(text, &value, &rest))
        return fail_value(row, text, error);
    bool percent = strcmp(rest, "%") == 0;
    bool whole = percent || value == floor(value);
    if (*rest == 0 && value > 0 && value < 1)
        return rer_fail(error, RER_BAD_USAGE, "--%s: '%s' is no number of labels; did you mean a share, %g%%?",
                        row->info.name, RER_QUOTED(text), 100 * value);
    if (!is_auto && ((*rest != 0 && !percent) || !whole || value < 0 || value > (percent ? 100 : row->high)))
        return fail_value(row, text, error);
    *(double *)rer_option_member(row, options) = value;
    options->budget_percent = percent;
    return RER_OK;
}

static rer_status set_size(const rer_option_row *row, rer_options *options, const char *text, rer_error *error)
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
    *(int64_t *)rer_option_member(row, options) = (int64_t)value;
    return RER_OK;
}

enum { LONGEST = 16 };

static int list_length(const rer_option_row *row)
{
    return row->kind == OPTION_SIZES ? LONGEST : 4;
}

static rer_status set_list(const rer_option_row *row, rer_options *options, const char *text, rer_error *error)
{
    int32_t list[LONGEST] = {0};
    const char *at = text;
    int length = list_length(row);
    bool done = row->kind == OPTION_SIZES && strcmp(text, "auto") == 0;
    for (int i = 0; i < length && !done; i++) {
        char *end = NULL;
        errno = 0;
        long value = strtol(at, &end, 10);
        bool ascends = row->kind != OPTION_SIZES || i == 0 || value > list[i - 1];
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
                        RER_QUOTED(text), length, row->kind == OPTION_SIZES ? "ascending " : "", row->low, row->high);
    memcpy(rer_option_member(row, options), list, (size_t)length * sizeof *list);
    return RER_OK;
}

static rer_status set_numbers(const rer_option_row *row, rer_options *options, const char *text, rer_error *error)
{
    enum { MOST = sizeof options->noise_rates / sizeof *options->noise_rates };
    double list[MOST] = {0};
    const char *at = text;
    for (int i = 0; i < MOST; i++) {
        const char *rest;
        if (!parse_number(at, &list[i], &rest) || list[i] < row->low || list[i] > row->high)
            break;
        if (*rest == 0) {
            memcpy(rer_option_member(row, options), list, sizeof list);
            return RER_OK;
        }
        if (*rest != ',')
            break;
        at = rest + 1;
    }
    return rer_fail(error, RER_BAD_USAGE, "--%s: '%s' is not 1 to %d numbers from %g to %g with commas between",
                    row->info.name, RER_QUOTED(text), MOST, row->low, row->high);
}

static rer_status set_choices(const rer_option_row *row, rer_options *options, const char *text, rer_error *error)
{
    int32_t bits = 0;
    bool is_none = strcmp(text, "none") == 0;
    for (const char *at = text, *end; !is_none; at = end + 1) {
        end = end_of_word(at, ',');
        int32_t place = find_word(row->info.metavar, ',', at, (size_t)(end - at));
        if (place < 0)
            return rer_fail(error, RER_BAD_USAGE, "--%s: '%s' is not some of %s with commas between, or none",
                            row->info.name, RER_QUOTED(text), row->info.metavar);
        bits |= 1 << place;
        if (*end == 0)
            break;
    }
    *(int32_t *)rer_option_member(row, options) = bits;
    return RER_OK;
}

static rer_status set_range(const rer_option_row *row, rer_options *options, const char *text, rer_error *error)
{
    char *end = NULL;
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
                        RER_QUOTED(text), row->low, row->high);
    if (right) {
        range[0] = (int32_t)from;
        range[1] = (int32_t)to;
    }
    memcpy(rer_option_member(row, options), range, sizeof range);
    return RER_OK;
}

static rer_status set_device(const rer_option_row *row, rer_options *options, const char *text, rer_error *error)
{
    int32_t *choice = rer_option_member(row, options);
    const char *number = text + strlen("cuda:");
    long card = 0;
    if (strcmp(text, "cpu") == 0 || strcmp(text, "auto") == 0) {
        *choice = *text == 'c' ? RER_DEVICE_CPU : RER_DEVICE_AUTO;
        return RER_OK;
    }
    if (strncmp(text, "cuda:", strlen("cuda:")) == 0) {
        char *end = NULL;
        card = strspn(number, "0123456789") > 0 ? strtol(number, &end, 10) : -1;
        card = end != NULL && *end == 0 ? card : -1;
    } else if (strcmp(text, "cuda") != 0) {
        card = -1;
    }
    if (card < 0 || (double)card > row->high)
        return fail_value(row, text, error);
    *choice = RER_DEVICE_CUDA + (int32_t)card;
    return RER_OK;
}

static rer_status set_choice(const rer_option_row *row, rer_options *options, const char *text, rer_error *error)
{
    int32_t place = find_choice(row->info.metavar, text);
    if (place < 0)
        return fail_value(row, text, error);
    *(int32_t *)rer_option_member(row, options) = place;
    return RER_OK;
}

static rer_status set_flag(const rer_option_row *row, rer_options *options, const char *text, rer_error *error)
{
    if (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
        return rer_fail(error, RER_BAD_USAGE, "--%s: '%s' is neither yes nor no", row->info.name, text);
    *(bool *)rer_option_member(row, options) = strcmp(text, "yes") == 0;
    return RER_OK;
}

rer_status rer_option_parse(const rer_option_row *row, rer_options *options, const char *text, rer_error *error)
{
    static rer_status (*const set[])(const rer_option_row *, rer_options *, const char *, rer_error *) = {
        [OPTION_CHOICE] = set_choice, [OPTION_COUNT] = set_whole,    [OPTION_WHOLE] = set_whole,
        [OPTION_NUMBER] = set_number, [OPTION_AMOUNT] = set_amount,  [OPTION_SIZE] = set_size,
        [OPTION_RANGE] = set_range,   [OPTION_LIST] = set_list,      [OPTION_SIZES] = set_list,
        [OPTION_RATES] = set_numbers, [OPTION_SUBSET] = set_choices, [OPTION_FLAG] = set_flag,
        [OPTION_DEVICE] = set_device};
    return set[row->kind](row, options, text, error);
}

/* ---- values as text ----------------------------------------------------------------------- */

static void put_choice(char *text, int64_t size, const char *words, int32_t place)
{
    int32_t left = place;
    for (; left > 0 && *end_of_word(words, '|') != 0; left--)
        words = end_of_word(words, '|') + 1;
    if (left != 0) /* no such place: not set by us */
        (void)snprintf(text, (size_t)size, "%d", place);
    else
        (void)snprintf(text, (size_t)size, "%.*s", (int)(end_of_word(words, '|') - words), words);
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
        const char *end = end_of_word(words, ',');
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

static void put_device(char *text, int64_t size, int32_t choice)
{
    static const char *const words[] = {[RER_DEVICE_CPU] = "cpu", [RER_DEVICE_AUTO] = "auto"};
    if (choice >= 0 && choice < RER_DEVICE_CUDA)
        (void)snprintf(text, (size_t)size, "%s", words[choice]);
    else
        (void)snprintf(text, (size_t)size, "cuda:%d", choice - RER_DEVICE_CUDA);
}

void rer_option_print(const rer_option_row *row, const rer_options *options, char *text, int64_t size)
{
    const void *member = rer_option_member(row, options);
    switch (row->kind) {
    case OPTION_CHOICE:
        put_choice(text, size, row->info.metavar, *(const int32_t *)member);
        break;
    case OPTION_COUNT:
        (void)snprintf(text, (size_t)size, "%d", *(const int32_t *)member);
        break;
    case OPTION_WHOLE:
    case OPTION_SIZE:
        (void)snprintf(text, (size_t)size, "%lld", (long long)*(const int64_t *)member);
        break;
    case OPTION_NUMBER:
        put_number(text, size, *(const double *)member, "");
        break;
    case OPTION_AMOUNT:
        put_number(text, size, *(const double *)member, options->budget_percent ? "%" : "");
        break;
    case OPTION_RANGE: {
        const int32_t *range = member;
        (void)snprintf(text, (size_t)size, range[1] != range[0] ? "%d..%d" : "%d", range[0], range[1]);
        break;
    }
    case OPTION_LIST:
    case OPTION_SIZES:
        put_list(text, size, member, list_length(row));
        break;
    case OPTION_RATES:
        put_numbers(text, size, member);
        break;
    case OPTION_SUBSET:
        put_choices(text, size, row->info.metavar, *(const int32_t *)member);
        break;
    case OPTION_FLAG:
        (void)snprintf(text, (size_t)size, "%s", *(const bool *)member ? "yes" : "no");
        break;
    case OPTION_DEVICE:
        put_device(text, size, *(const int32_t *)member);
        break;
    }
}

bool rer_option_is_word(double value)
{
    for (int i = 0; i < N_WORDS; i++)
        if (number_words[i].value == value)
            return true;
    return false;
}
