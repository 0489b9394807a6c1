/* Which rows report.html shows: see gallery.h. */
#include "report/gallery.h"
#include "source/texts.h"
#include "stats/order.h"

enum {
    SUSPECTS_MORE = 100,
    SUSPECTS_FEW = 10,
    SUSPECTS_MAX = 5000,
    CONFLICTS_SHOWN = 120,
    TEXT_MIN = 80,
    TEXT_MAX = 800
};

void rer_gallery_free(rer_gallery *gallery)
{
    RER_FREE_ALL(gallery->suspects, gallery->examples, gallery->classes, gallery->samples, gallery->outliers,
                 gallery->rows, gallery->bars, gallery->telling, gallery->neighbours);
    rer_thumbnails_free(&gallery->thumbnails);
    rer_texts_free(&gallery->texts);
    *gallery = (rer_gallery){0};
}

/* ---- classes ---------------------------------------------------------------------------------- */

/* Hardest first; classes without a chi (one sample) last. */
static rer_status choose_classes(rer_gallery *gallery, const rer_result *result, rer_error *error)
{
    rer_ranked *ranked = NULL; /* [C] */
    int64_t kept = 0;
    RER_TRY(rer_allocate(&ranked, result->C, sizeof *ranked, "the order of the classes", error));
    for (int32_t c = 0; c < result->C; c++)
        if (result->classes[c].n > 0)
            ranked[kept++] = (rer_ranked){isnan(result->classes[c].chi) ? 1 : -result->classes[c].chi, c};
    rer_sort_ranked(ranked, kept);
    kept = rer_min(kept, RER_CLASSES_SHOWN);
    rer_status status = rer_allocate(&gallery->classes, kept, sizeof *gallery->classes, "classes", error);
    for (int64_t i = 0; status == RER_OK && i < kept; i++)
        gallery->classes[i] = (int32_t)ranked[i].place;
    if (status == RER_OK)
        gallery->n_classes = (int32_t)kept;
    free(ranked);
    return status;
}

/* Puts `row` into the list [size], sorted by `key`, smallest first; ties keep the earlier row. */
static void insert(int64_t *list, double *keys, int size, int64_t row, double key)
{
    int at = size;
    while (at > 0 && (list[at - 1] < 0 || key < keys[at - 1]))
        at--;
    if (at == size)
        return;
    memmove(list + at + 1, list + at, (size_t)(size - 1 - at) * sizeof *list);
    memmove(keys + at + 1, keys + at, (size_t)(size - 1 - at) * sizeof *keys);
    list[at] = row;
    keys[at] = key;
}

/* Easiest and hardest rows of the classes, by chi. */
static rer_status choose_samples(rer_gallery *gallery, const rer_result *result, rer_error *error)
{
    int64_t shown = rer_min(gallery->n_classes, RER_CLASSES_WITH_SAMPLES);
    int64_t size = (int64_t)gallery->n_classes * 2 * RER_CLASS_SAMPLES;
    double *keys = NULL;   /* [n_classes, 2, RER_CLASS_SAMPLES] */
    int32_t *place = NULL; /* [C] among the classes shown, or -1 */
    const rer_room rooms[] = {RER_ROOM(gallery->samples, size), RER_ROOM(keys, size), RER_ROOM(place, result->C)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "samples of classes", error));
    for (int32_t c = 0; c < result->C; c++)
        place[c] = -1;
    for (int64_t i = 0; i < shown; i++)
        place[gallery->classes[i]] = (int32_t)i;
    for (int64_t i = 0; i < size; i++)
        gallery->samples[i] = -1;
    for (int64_t row = 0; row < result->N; row++) {
        int32_t at = result->given[row] >= 0 ? place[result->given[row]] : -1;
        double chi = rer_chi_of(result, row);
        if (at < 0 || isnan(chi) || (result->flags[row] & RER_FLAG_INVALID) != 0)
            continue;
        int64_t first = (int64_t)at * 2 * RER_CLASS_SAMPLES;
        insert(gallery->samples + first, keys + first, RER_CLASS_SAMPLES, row, chi);
        insert(gallery->samples + first + RER_CLASS_SAMPLES, keys + first + RER_CLASS_SAMPLES, RER_CLASS_SAMPLES, row,
               -chi);
    }
    RER_FREE_ALL(keys, place);
    return RER_OK;
}

/* Rows that fit no class. */
static rer_status choose_outliers(rer_gallery *gallery, const rer_result *result, rer_error *error)
{
    double keys[RER_OUTLIERS_SHOWN];
    RER_TRY(rer_allocate(&gallery->outliers, RER_OUTLIERS_SHOWN, sizeof *gallery->outliers, "outliers", error));
    for (int i = 0; i < RER_OUTLIERS_SHOWN; i++)
        gallery->outliers[i] = -1;
    for (int64_t row = 0; row < result->N; row++)
        if ((result->flags[row] & RER_FLAG_OUTLIER) != 0)
            insert(gallery->outliers, keys, RER_OUTLIERS_SHOWN, row, -(double)result->outlier_score[row]);
    while (gallery->n_outliers < RER_OUTLIERS_SHOWN && gallery->outliers[gallery->n_outliers] >= 0)
        gallery->n_outliers++;
    return RER_OK;
}

/* ---- suspects --------------------------------------------------------------------------------- */

/* The flagged ones; then, up to SUSPECTS_MORE, as long as it is worth it, and a few in any case. */
static void choose_ranked(rer_gallery *gallery, const rer_result *result, int64_t wanted)
{
    int64_t least = rer_max(rer_min(result->summary.n_issues, SUSPECTS_MAX), SUSPECTS_FEW);
    int64_t found = rer_result_suspects(result, wanted, gallery->suspects), n = found;
    while (n > least && !(rer_sample_of(result, gallery->suspects[n - 1]).mistakenness >= RER_WORTH_A_LOOK))
        n--;
    gallery->n_ranked = gallery->n_suspects = n;
    gallery->is_all_worth = n < found;
    gallery->is_any_worth = n > 0 && rer_sample_of(result, gallery->suspects[0]).mistakenness >= RER_WORTH_A_LOOK;
}

static void add_suspect(rer_gallery *gallery, const rer_result *result, int64_t row)
{
    if (row < 0 || result->given[row] < 0)
        return;
    for (int64_t i = 0; i < gallery->n_suspects; i++)
        if (gallery->suspects[i] == row)
            return;
    gallery->suspects[gallery->n_suspects++] = row;
}

/* Near-duplicates whose labels disagree, group by group. */
static void add_conflicts(rer_gallery *gallery, const rer_result *result)
{
    int64_t list[CONFLICTS_SHOWN];
    double keys[CONFLICTS_SHOWN];
    for (int i = 0; i < CONFLICTS_SHOWN; i++)
        list[i] = -1;
    for (int64_t row = 0; result->duplicate != NULL && row < result->N; row++)
        if (result->duplicate[row] >= 0 && result->duplicate[row] < result->summary.n_duplicate_conflicts)
            insert(list, keys, CONFLICTS_SHOWN, row, result->duplicate[row]);
    for (int i = 0; i < CONFLICTS_SHOWN; i++)
        add_suspect(gallery, result, list[i]);
}

/* All that a person may decide on, in one queue: suspects, conflicting duplicates, rows that fit no class. */
static rer_status choose_suspects(rer_gallery *gallery, const rer_result *result, rer_error *error)
{
    int64_t wanted = rer_max(SUSPECTS_MORE, rer_min(result->summary.n_issues, SUSPECTS_MAX));
    int64_t room = rer_min(wanted, result->N) + CONFLICTS_SHOWN + RER_OUTLIERS_SHOWN;
    RER_TRY(rer_allocate(&gallery->suspects, room, sizeof *gallery->suspects, "suspects", error));
    choose_ranked(gallery, result, rer_min(wanted, result->N));
    add_conflicts(gallery, result);
    for (int64_t i = 0; i < gallery->n_outliers; i++)
        add_suspect(gallery, result, gallery->outliers[i]);
    int64_t examples = gallery->n_suspects * 2 * RER_EXAMPLES, neighbours = gallery->n_suspects * RER_NEIGHBOURS;
    const rer_room rooms[] = {RER_ROOM(gallery->examples, examples), RER_ROOM(gallery->neighbours, neighbours)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "examples", error));
    for (int64_t i = 0; i < examples; i++)
        gallery->examples[i] = -1;
    for (int64_t i = 0; i < neighbours; i++)
        gallery->neighbours[i] = -1;
    return RER_OK;
}

/* The rows of the second look that people see: those with labels. */
static void choose_neighbours(rer_gallery *gallery, const rer_result *result)
{
    for (int64_t i = 0; i < rer_min(gallery->n_suspects, RER_NEIGHBOURLY); i++) {
        int64_t near[RER_NEAR_ROWS];
        int32_t count = rer_result_near(result, gallery->suspects[i], near), kept = 0;
        for (int32_t k = 0; k < count && kept < RER_NEIGHBOURS; k++)
            if (result->given[near[k]] >= 0)
                gallery->neighbours[i * RER_NEIGHBOURS + kept++] = near[k];
    }
}

/* ---- all rows --------------------------------------------------------------------------------- */

static void add_rows(rer_gallery *gallery, const int64_t *rows, int64_t count, uint8_t *seen)
{
    for (int64_t i = 0; i < count; i++)
        if (rows[i] >= 0 && (seen[rows[i] / 8] >> rows[i] % 8 & 1) == 0) {
            seen[rows[i] / 8] |= (uint8_t)(1U << rows[i] % 8);
            gallery->rows[gallery->n_rows++] = rows[i];
        }
}

/* The most important first: suspects, then what they are compared with, then the classes' samples. */
static rer_status collect_rows(rer_gallery *gallery, int64_t N, rer_error *error)
{
    uint8_t *seen = NULL; /* a bit each */
    int64_t examples = gallery->n_suspects * 2 * RER_EXAMPLES;
    int64_t samples = (int64_t)gallery->n_classes * 2 * RER_CLASS_SAMPLES;
    int64_t neighbours = gallery->n_suspects * RER_NEIGHBOURS;
    int64_t most = rer_min(N, gallery->n_suspects + gallery->n_outliers + neighbours + examples + samples);
    const rer_room rooms[] = {RER_ROOM(gallery->rows, most), RER_ROOM(seen, N / 8 + 1)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "rows to show", error));
    add_rows(gallery, gallery->suspects, gallery->n_suspects, seen);
    add_rows(gallery, gallery->outliers, gallery->n_outliers, seen);
    add_rows(gallery, gallery->neighbours, neighbours, seen);
    add_rows(gallery, gallery->examples, examples, seen);
    add_rows(gallery, gallery->samples, samples, seen);
    free(seen);
    return RER_OK;
}

/* ---- texts ------------------------------------------------------------------------------------ */

/* Bytes of the first characters that fit into `most`. */
static int64_t cut_length(const char *text, int64_t most)
{
    int64_t length = (int64_t)strlen(text);
    if (length <= most)
        return length;
    while (most > 0 && ((unsigned char)text[most] & 0xC0) == 0x80)
        most--;
    return most;
}

/* texts [n_rows] in the order of the rows shown, each cut to what the room allows. */
static rer_status place_texts(rer_gallery *gallery, const rer_texts *read, const rer_ranked *order, int64_t room,
                              rer_error *error)
{
    rer_texts_builder builder = {0};
    char cut[TEXT_MAX + 8];
    int64_t most = rer_max(TEXT_MIN, rer_min(TEXT_MAX, room / rer_max(gallery->n_rows, 1)));
    int64_t *from = NULL; /* [n_rows] */
    rer_status status = rer_allocate(&from, gallery->n_rows, sizeof *from, "texts", error);
    for (int64_t i = 0; status == RER_OK && i < gallery->n_rows; i++)
        from[order[i].place] = i;
    for (int64_t i = 0; status == RER_OK && i < gallery->n_rows; i++) {
        const char *text = rer_text(read, from[i]);
        int64_t length = cut_length(text, most);
        memcpy(cut, text, (size_t)length);
        if (text[length] != 0)
            length += snprintf(cut + length, sizeof cut - (size_t)length, "…");
        status = rer_texts_add(&builder, cut, length, error);
    }
    free(from);
    if (status == RER_OK)
        gallery->texts = builder.texts;
    else
        rer_texts_free(&builder.texts);
    return status;
}

static rer_status read_texts(rer_gallery *gallery, const rer_dataset *data, int64_t room, rer_error *error)
{
    rer_ranked *order = NULL; /* [n_rows] by row */
    int64_t *rows = NULL;     /* [n_rows] increasing */
    rer_texts read = {0};
    const rer_room rooms[] = {RER_ROOM(order, gallery->n_rows), RER_ROOM(rows, gallery->n_rows)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "rows to show", error));
    for (int64_t i = 0; i < gallery->n_rows; i++)
        order[i] = (rer_ranked){(double)gallery->rows[i], i};
    rer_sort_ranked(order, gallery->n_rows);
    for (int64_t i = 0; i < gallery->n_rows; i++)
        rows[i] = (int64_t)order[i].value;
    rer_status status = rer_row_texts_read(&read, &data->texts, rows, gallery->n_rows, error);
    RER_THEN(status, place_texts(gallery, &read, order, room, error));
    rer_texts_free(&read);
    RER_FREE_ALL(order, rows);
    return status;
}

#define ROOM ((int64_t)6 << 20) /* bytes of pictures or texts: 8 MiB as base64 */

/* ---- the whole -------------------------------------------------------------------------------- */

static rer_status show_rows(rer_gallery *gallery, const rer_run *run, int64_t room, rer_error *error)
{
    const rer_dataset *data = run->data;
    bool pictures = rer_thumbnails_are_possible(data), texts = rer_row_texts_are_there(&data->texts);
    if (gallery->n_rows == 0)
        return RER_OK;
    if (pictures)
        RER_TRY(rer_thumbnails_make(&gallery->thumbnails, data, gallery->rows, gallery->n_rows,
                                    texts ? room / 4 * 3 : room, run->pool, error));
    if (texts)
        RER_TRY(read_texts(gallery, data, pictures ? room / 4 : room, error));
    if (!pictures && !texts && !rer_dataset_is_apart(data))
        RER_TRY(rer_gallery_bars(gallery, run, error));
    return RER_OK;
}

rer_status rer_gallery_make(rer_gallery *gallery, const rer_result *result, const rer_dataset *data,
                            const rer_progress *progress, rer_error *error)
{
    rer_gallery made = {0};
    rer_run run = {0};
    rer_status status = rer_run_start(&run, data, result->given, result->C, &result->options, progress, error);
    RER_THEN(status, choose_classes(&made, result, error));
    RER_THEN(status, choose_samples(&made, result, error));
    RER_THEN(status, choose_outliers(&made, result, error));
    RER_THEN(status, choose_suspects(&made, result, error));
    if (status == RER_OK)
        choose_neighbours(&made, result);
    if (status == RER_OK && !rer_dataset_is_apart(data)) /* which are chosen by what is in the rows */
        status = rer_gallery_examples(&made, result, &run, error);
    RER_THEN(status, collect_rows(&made, result->N, error));
    RER_THEN(status, show_rows(&made, &run, ROOM, error));
    rer_run_end(&run);
    if (status == RER_OK)
        *gallery = made;
    else
        rer_gallery_free(&made);
    return status;
}
