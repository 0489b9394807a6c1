/* Labels -> class numbers: see labels.h.
 *
 * 1. Every label gets a number in the order of first appearance (a hash table).
 * 2. The C distinct labels are written as texts and sorted: whole numbers by value, else by bytes.
 * 3. Those that mean "no label" are taken out and the numbers become places in the sorted order. */
#include "source/labels.h"
#include "source/texts.h"

#define BLOCK 8192 /* rows */

void rer_labels_free(rer_labels *labels)
{
    RER_FREE_ALL(labels->source, labels->codes);
    rer_texts_free(&labels->names);
    rer_texts_free(&labels->values);
    *labels = (rer_labels){0};
}

/* ---- distinct labels --------------------------------------------------------------------- */

typedef struct distinct {
    int32_t *slot; /* [slots] number + 1, 0: free */
    int64_t slots; /* a power of two, at least twice the count */
    int64_t count, hash_capacity, key_capacity;
    uint64_t *hash; /* [count] */
    int64_t *key;   /* [count] the integer, or the first row with this text */
} distinct;

/* splitmix64's finalizer. It is one to one, so integers are equal where their hashes are. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static uint64_t text_hash(const char *text)
{
    uint64_t hash = 0xCBF29CE484222325u; /* FNV-1a */
    for (; *text != 0; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001B3u;
    return mix(hash);
}

static rer_status rehash(distinct *set, rer_error *error)
{
    int32_t *slot = NULL;
    int64_t slots = rer_max(256, 2 * set->slots);
    RER_TRY(rer_allocate(&slot, slots, sizeof *slot, "the table of labels", error));
    for (int64_t i = 0; i < set->count; i++) {
        uint64_t at = set->hash[i] & (uint64_t)(slots - 1);
        while (slot[at] != 0)
            at = (at + 1) & (uint64_t)(slots - 1);
        slot[at] = (int32_t)i + 1;
    }
    free(set->slot);
    set->slot = slot;
    set->slots = slots;
    return RER_OK;
}

/* Number of the label with this hash; `key` is its value, or its row in `texts` (NULL for integers). */
static rer_status number_of(distinct *set, uint64_t hash, int64_t key, const rer_texts *texts, int32_t *number,
                            rer_error *error)
{
    if (2 * set->count >= set->slots)
        RER_TRY(rehash(set, error));
    uint64_t at = hash & (uint64_t)(set->slots - 1);
    for (; set->hash != NULL && set->slot[at] != 0; at = (at + 1) & (uint64_t)(set->slots - 1)) {
        int32_t i = set->slot[at] - 1;
        if (set->hash[i] == hash &&
            (texts == NULL || strcmp(rer_text(texts, set->key[i]), rer_text(texts, key)) == 0)) {
            *number = i;
            return RER_OK;
        }
    }
    if (set->count == INT32_MAX - 1)
        return rer_fail(error, RER_BAD_INPUT, "more than %d classes: are these really labels?", INT32_MAX - 1);
    RER_TRY(rer_grow(&set->hash, &set->hash_capacity, set->count + 1, sizeof *set->hash, "labels", error));
    RER_TRY(rer_grow(&set->key, &set->key_capacity, set->count + 1, sizeof *set->key, "labels", error));
    set->hash[set->count] = hash;
    set->key[set->count] = key;
    *number = (int32_t)set->count++;
    set->slot[at] = *number + 1;
    return RER_OK;
}

/* ---- sorting ----------------------------------------------------------------------------- */

typedef struct named {
    const char *name;
    int32_t number; /* in the order of first appearance */
} named;

/* A decimal whole number without decoration: 0, 17, -3; but not 007, +1, -0, 1.0. */
static bool is_integer(const char *text)
{
    const char *digits = text + (*text == '-');
    if (*digits == 0 || (*digits == '0' && (digits[1] != 0 || *text == '-')))
        return false;
    return digits[strspn(digits, "0123456789")] == 0;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

/* Of whole numbers of any length, as texts. */
static int by_value(const void *a, const void *b)
{
    const char *x = ((const named *)a)->name, *y = ((const named *)b)->name;
    bool x_negative = *x == '-', y_negative = *y == '-';
    if (x_negative != y_negative)
        return x_negative ? -1 : 1;
    size_t x_length = strlen(x), y_length = strlen(y);
    int order = x_length != y_length ? (x_length < y_length ? -1 : 1) : strcmp(x, y);
    return x_negative ? -order : order;
}

/* Sorts the names [U] and drops those that mean "no label"; returns how many are left. */
static int64_t sort_names(named *names, int64_t count, bool *drops_minus_one)
{
    int64_t kept = 0, negative = 0, signs = 0, minus_one = -1;
    bool integers = true;
    for (int64_t i = 0; i < count; i++)
        if (names[i].name[0] != 0)
            names[kept++] = names[i];
    for (int64_t i = 0; i < kept; i++) {
        integers = integers && is_integer(names[i].name);
        negative += names[i].name[0] == '-';
        signs += strcmp(names[i].name, "0") == 0 || strcmp(names[i].name, "1") == 0;
        if (strcmp(names[i].name, "-1") == 0)
            minus_one = i;
    }
    bool are_signs = kept - signs == 1; /* -1, 0, 1, or two of them */
    *drops_minus_one = integers && minus_one >= 0 && negative == 1 && kept >= 3 && !are_signs;
    if (*drops_minus_one)
        names[minus_one] = names[--kept];
    qsort(names, (size_t)kept, sizeof *names, integers ? by_value : by_bytes);
    return kept;
}

/* Steps 2 and 3: `codes` hold numbers of `distinct_names`, which are in the order of appearance. */
static rer_status finish(rer_labels *labels, int64_t N, int32_t *codes, const rer_texts *distinct_names,
                         rer_error *error)
{
    named *names = NULL;      /* [U] */
    int32_t *class_of = NULL; /* [U] */
    rer_texts_builder sorted = {0};
    int64_t U = distinct_names->count;
    rer_room rooms[] = {RER_ROOM(names, U), RER_ROOM(class_of, U)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "class names", error));
    for (int64_t i = 0; i < U; i++) {
        names[i] = (named){rer_text(distinct_names, i), (int32_t)i};
        class_of[i] = -1;
    }
    bool drops_minus_one = false;
    int64_t C = sort_names(names, U, &drops_minus_one);
    rer_status status = RER_OK;
    for (int64_t c = 0; c < C && status == RER_OK; c++) {
        class_of[names[c].number] = (int32_t)c;
        status = rer_texts_add(&sorted, names[c].name, (int64_t)strlen(names[c].name), error);
    }
    for (int64_t i = 0; i < N && status == RER_OK; i++)
        if (codes[i] >= 0)
            codes[i] = class_of[codes[i]];
    if (status == RER_OK)
        *labels = (rer_labels){
            .N = N, .C = (int32_t)C, .codes = codes, .names = sorted.texts, .drops_minus_one = drops_minus_one};
    else
        rer_texts_free(&sorted.texts);
    RER_FREE_ALL(names, class_of);
    return status;
}

/* ---- from arrays and texts --------------------------------------------------------------- */

/* Numbers the integers of an array; missing ones (NaN) get -1. */
static rer_status number_integers(distinct *set, int32_t *codes, const rer_array *array, rer_error *error)
{
    int64_t *values = NULL; /* [2, BLOCK]: values, scratch */
    bool missing[BLOCK];
    rer_status status = rer_allocate(&values, 2 * BLOCK, sizeof *values, "a block of labels", error);
    for (int64_t first = 0; first < array->shape[0] && status == RER_OK; first += BLOCK) {
        int64_t count = rer_min(BLOCK, array->shape[0] - first);
        status = rer_array_integers(array, first, count, values, missing, values + BLOCK, error);
        for (int64_t i = 0; i < count && status == RER_OK; i++) {
            codes[first + i] = -1;
            if (!missing[i])
                status = number_of(set, mix((uint64_t)values[i]), values[i], NULL, &codes[first + i], error);
        }
    }
    free(values);
    return status;
}

static rer_status number_texts(distinct *set, int32_t *codes, const rer_texts *texts, rer_error *error)
{
    for (int64_t i = 0; i < texts->count; i++)
        RER_TRY(number_of(set, text_hash(rer_text(texts, i)), i, texts, &codes[i], error));
    return RER_OK;
}

/* Of texts or, where there are none, of an array of integers. */
static rer_status make_labels(rer_labels *labels, const rer_texts *texts, const rer_array *array, rer_error *error)
{
    distinct set = {0};
    rer_texts_builder names = {0};
    int32_t *codes = NULL; /* [N] */
    char number[RER_INTEGER_TEXT];
    int64_t N = texts != NULL ? texts->count : array->shape[0];
    rer_status status = rer_allocate(&codes, N, sizeof *codes, "labels", error);
    RER_THEN(status,
             texts != NULL ? number_texts(&set, codes, texts, error) : number_integers(&set, codes, array, error));
    for (int64_t i = 0; i < set.count && status == RER_OK; i++) {
        const char *text = texts != NULL ? rer_text(texts, set.key[i]) : number;
        if (texts == NULL)
            (void)rer_integer_text(number, set.key[i], array->dtype == RER_U64);
        status = rer_texts_add(&names, text, (int64_t)strlen(text), error);
    }
    RER_THEN(status, finish(labels, N, codes, &names.texts, error));
    if (status != RER_OK)
        free(codes);
    rer_texts_free(&names.texts);
    RER_FREE_ALL(set.slot, set.hash, set.key);
    return status;
}

rer_status rer_labels_from_texts(rer_labels *labels, const rer_texts *texts, rer_error *error)
{
    return make_labels(labels, texts, NULL, error);
}

rer_status rer_labels_from_array(rer_labels *labels, const rer_array *array, rer_error *error)
{
    rer_texts texts = {0};
    RER_TRY(rer_array_check_column(array, "label", error));
    if (array->dtype != RER_BYTES && array->dtype != RER_UNICODE)
        return make_labels(labels, NULL, array, error);
    rer_status status = rer_texts_from_array(&texts, array, error);
    RER_THEN(status, rer_labels_from_texts(labels, &texts, error));
    rer_texts_free(&texts);
    return status;
}

/* Whoever goes by names alone, as rer apply does, could not tell such classes apart. */
static rer_status check_different(const rer_texts *names, const char *source, rer_error *error)
{
    named *sorted = NULL; /* [C] */
    rer_status status = rer_allocate(&sorted, names->count, sizeof *sorted, "class names", error);
    for (int64_t c = 0; status == RER_OK && c < names->count; c++)
        sorted[c] = (named){rer_text(names, c), (int32_t)c};
    if (status == RER_OK)
        qsort(sorted, (size_t)names->count, sizeof *sorted, by_bytes);
    for (int64_t i = 1; status == RER_OK && i < names->count; i++)
        if (by_bytes(&sorted[i - 1], &sorted[i]) == 0)
            status =
                rer_fail(error, RER_BAD_INPUT, "%s: names %d and %d (from 1) are both '%s'; each class needs its own",
                         source, 1 + (int)rer_min(sorted[i - 1].number, sorted[i].number),
                         1 + (int)rer_max(sorted[i - 1].number, sorted[i].number), RER_QUOTED(sorted[i].name));
    free(sorted);
    return status;
}

/* `*names` belong to the labels afterwards, whatever happens. */
static rer_status take_names(rer_labels *labels, rer_texts *names, const char *source, rer_error *error)
{
    rer_status status = RER_OK;
    if (names->count != labels->C)
        status = rer_fail(error, RER_BAD_INPUT,
                          "%s: has %lld class names but the labels have %d classes; give one "
                          "name a line, in the order of the sorted labels%s",
                          source, (long long)names->count, labels->C, rer_header_remedy(names->count, labels->C));
    for (int64_t c = 0; c < names->count && status == RER_OK; c++)
        if (rer_text(names, c)[0] == 0)
            status = rer_fail(error, RER_BAD_INPUT, "%s: line %lld is empty where the name of class '%s' should be",
                              source, (long long)c + 1, rer_text(&labels->names, c));
    RER_THEN(status, check_different(names, source, error));
    if (status != RER_OK) {
        rer_texts_free(names);
        return status;
    }
    if (labels->values.count == 0)
        labels->values = labels->names;
    else
        rer_texts_free(&labels->names);
    labels->names = *names;
    return RER_OK;
}

rer_status rer_labels_rename(rer_labels *labels, const char *path, rer_error *error)
{
    rer_texts names = {0};
    RER_TRY(rer_texts_open(&names, path, NULL, labels->C, NULL, error));
    return take_names(labels, &names, path, error);
}

rer_status rer_labels_set_names(rer_labels *labels, const char *const *names, int64_t count, rer_error *error)
{
    rer_texts texts = {0};
    RER_TRY(rer_texts_copy(&texts, names, count, "class names", error));
    return take_names(labels, &texts, "class names", error);
}

const char *rer_labels_value(const rer_labels *labels, int32_t c)
{
    return rer_text(labels->values.count > 0 ? &labels->values : &labels->names, c);
}

rer_status rer_labels_match(int32_t *map, const rer_labels *labels, char *const *names, int32_t C, rer_error *error)
{
    named *sorted = NULL; /* [C] */
    RER_TRY(rer_allocate(&sorted, C, sizeof *sorted, "class names", error));
    for (int32_t i = 0; i < C; i++)
        sorted[i] = (named){names[i], i};
    qsort(sorted, (size_t)C, sizeof *sorted, by_bytes);
    for (int32_t c = 0; c < labels->C; c++) {
        named wanted = {rer_text(&labels->names, c), 0};
        const named *found = bsearch(&wanted, sorted, (size_t)C, sizeof *sorted, by_bytes);
        map[c] = found != NULL ? found->number : -1;
    }
    free(sorted);
    return RER_OK;
}

uint64_t rer_labels_checksum(const rer_labels *labels)
{
    uint64_t hash = rer_checksum(RER_CHECKSUM_START, &labels->N, sizeof labels->N);
    hash = rer_checksum(hash, labels->codes, labels->N * (int64_t)sizeof *labels->codes);
    for (int32_t c = 0; c < labels->C; c++) {
        const char *value = rer_labels_value(labels, c);
        hash = rer_checksum(hash, value, (int64_t)strlen(value) + 1);
    }
    return hash;
}
