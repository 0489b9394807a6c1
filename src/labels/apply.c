/* rer apply: decisions about labels -> corrected labels or weights.
 *
 * 1. The labels are read, and their checksum compared with that of the labels that were judged.
 * 2. The table of decisions (decisions.csv of report.html or of rer review), the journal of a review, or the table of
 *    samples (samples.csv of rer analyze) is read row by row; the given label of each row must be the one in the file.
 * 3. Where several reviewers decided about a row, the majority counts; a tie is refused.
 * 4. What was decided is written in the form of the file of labels. */
#include "labels/label_file.h"
#include "labels/journal.h"
#include "labels/votes.h"
#include "core/options.h"
#include "core/files.h"
#include "core/manifest.h"
#include "source/csv_rows.h"
#include "source/texts.h"

#include <jansson.h>
#include <sys/stat.h>

typedef struct named_class {
    const char *name;
    int32_t c;
} named_class;

/* Columns of both tables that are read; a table has those that its kind needs. */
enum {
    INDEX,
    GIVEN,
    DECISION,
    NEW_LABEL,
    CHECKSUM,
    MISTAKENNESS,
    SCORE,
    ISSUE,
    SUGGESTED,
    SUGGESTION,
    REVIEWER,
    N_COLUMNS
};

static const char *const column_names[N_COLUMNS] = {
    [INDEX] = "index",
    [GIVEN] = "given_label",
    [DECISION] = "decision",
    [NEW_LABEL] = "new_label",
    [CHECKSUM] = "labels_checksum",
    [MISTAKENNESS] = "mistakenness",
    [SCORE] = "label_score",
    [ISSUE] = "is_label_issue",
    [SUGGESTED] = "suggested_label",
    [SUGGESTION] = "suggestion_probability",
    [REVIEWER] = "reviewer",
};

static const int decision_columns[] = {INDEX, GIVEN, DECISION, NEW_LABEL, CHECKSUM, -1};
static const int sample_columns[] = {INDEX, GIVEN, MISTAKENNESS, SCORE, ISSUE, SUGGESTED, SUGGESTION, -1};

typedef struct application {
    const char *table, *out; /* its file, and that of the labels; out NULL: weights */
    rer_label_file file;
    uint64_t checksum;
    named_class *classes; /* [C] sorted by how the table names them */
    double automatic;     /* RER_OFF: decisions */
    int32_t *codes;       /* [N] what the labels become: a class, -1 or C + a new one */
    rer_texts_builder added;
    float *weights;  /* [N] */
    uint8_t *seen;   /* [N] rows that the table had */
    rer_vote *votes; /* [n_votes] of the decisions */
    int64_t n_votes, votes_capacity;
    rer_texts_builder reviewers;
    rer_apply_summary summary;
    /* while the table is read */
    int64_t line, place[N_COLUMNS]; /* column of the table, -1: none */
    bool has_header, is_safe;       /* is_safe: written with --spreadsheet-safe */
    char *cell[N_COLUMNS];          /* of the present row, owned */
    int64_t capacity[N_COLUMNS];
} application;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const named_class *)a)->name, ((const named_class *)b)->name);
}

static const named_class *find_class(const application *a, const char *name)
{
    named_class wanted = {.name = name};
    return bsearch(&wanted, a->classes, (size_t)a->file.labels.C, sizeof wanted, by_name);
}

static rer_status fail_at(const application *a, rer_error *error, const char *what, const char *value)
{
    return rer_fail(error, RER_BAD_INPUT, "%s: line %lld: %s '%s'", a->table, (long long)a->line, what,
                    RER_QUOTED(value));
}

/* ---- the table's rows ------------------------------------------------------------------------- */

static rer_status find_row(const application *a, int64_t *row, rer_error *error)
{
    char *end = NULL;
    const char *text = a->cell[INDEX];
    *row = strtoll(text, &end, 10);
    if (end == text || *end != 0 || *row < 0 || *row >= a->file.labels.N)
        return fail_at(a, error, "no such row in the labels:", text);
    if (a->seen[*row] != 0 && a->place[REVIEWER] < 0)
        return fail_at(a, error, "a second time the row", text);
    a->seen[*row] = 1;
    return RER_OK;
}

/* The given label must be the one in the file: an empty one, or the same class. */
static rer_status check_given(const application *a, int64_t row, rer_error *error)
{
    int32_t code = a->file.labels.codes[row];
    const char *given = a->cell[GIVEN];
    const named_class *class = find_class(a, given);
    if (code < 0 ? given[0] == 0 : class != NULL && class->c == code)
        return RER_OK;
    if (class == NULL && given[0] != 0)
        return fail_at(a, error, "the labels have no class (is --class-names missing?)", given);
    return rer_fail(error, RER_BAD_INPUT,
                    "%s: line %lld: row %lld is given as '%.60s', but in %s it has another label; these are not the "
                    "labels that were judged",
                    a->table, (long long)a->line, (long long)row, given, a->file.labels.source);
}

static rer_status check_checksum(const application *a, const char *text, rer_error *error)
{
    char own[32];
    (void)snprintf(own, sizeof own, "rer:%016llx", (unsigned long long)a->checksum);
    if (strcmp(text, own) == 0)
        return RER_OK;
    return rer_fail(error, RER_BAD_INPUT,
                    "%s: was made for other labels (checksum %.40s) than those of %s (%s); give the labels that the "
                    "report was made from",
                    a->table, text, a->file.labels.source, own);
}

/* The number of the reviewer whom the row names; 0 where there are none. */
static rer_status reviewer_of(application *a, int32_t *number, rer_error *error)
{
    const char *name = a->place[REVIEWER] >= 0 && a->cell[REVIEWER] != NULL ? a->cell[REVIEWER] : "";
    for (*number = 0; *number < a->reviewers.texts.count; ++*number)
        if (strcmp(rer_text(&a->reviewers.texts, *number), name) == 0)
            return RER_OK;
    return rer_texts_add(&a->reviewers, name, (int64_t)strlen(name), error);
}

static rer_status add_vote(application *a, int64_t row, int32_t outcome, rer_error *error)
{
    rer_vote vote = {.row = row, .outcome = outcome};
    RER_TRY(reviewer_of(a, &vote.reviewer, error));
    RER_TRY(rer_grow(&a->votes, &a->votes_capacity, a->n_votes + 1, sizeof vote, "decisions", error));
    a->votes[a->n_votes++] = vote;
    return RER_OK;
}

/* The number of a label that no row has had. */
static rer_status add_class(application *a, int32_t *code, const char *label, rer_error *error)
{
    int64_t k = 0;
    while (k < a->added.texts.count && strcmp(rer_text(&a->added.texts, k), label) != 0)
        k++;
    *code = a->file.labels.C + (int32_t)k;
    if (k < a->added.texts.count)
        return RER_OK;
    if (label[0] == 0)
        return fail_at(a, error, "a new label has a name, not", label);
    if (a->out != NULL && !rer_label_file_takes(a->out, &a->file, label))
        return fail_at(a, error, "the labels are numbers; write texts (--out y_clean.csv), or name a number, not",
                       label);
    return rer_texts_add(&a->added, label, (int64_t)strlen(label), error);
}

static rer_status find_new_label(application *a, int32_t *code, bool may_be_new, rer_error *error)
{
    const char *label = a->cell[NEW_LABEL];
    const named_class *class = find_class(a, label);
    if (class == NULL && may_be_new)
        return add_class(a, code, label, error);
    if (class == NULL)
        return fail_at(a, error, "the labels have no class (a decision 'new' makes one)", label);
    *code = class->c;
    return RER_OK;
}

static rer_status take_decision(application *a, int64_t row, rer_error *error)
{
    rer_decision_kind kind = RER_OPEN;
    int32_t code = -1;
    RER_TRY(check_checksum(a, a->cell[CHECKSUM], error));
    if (rer_decision_read(&kind, a->cell[DECISION], NULL) != RER_OK || kind == RER_OPEN)
        return fail_at(a, error, "a decision is keep, fix, choose, new, drop, none or unsure, not", a->cell[DECISION]);
    if (rer_decision_has_label(kind))
        RER_TRY(find_new_label(a, &code, kind == RER_NEW, error));
    if (kind == RER_UNSURE)
        return RER_OK;
    return add_vote(a, row, kind == RER_KEEP ? a->file.labels.codes[row] : code, error);
}

/* A number of samples.csv; NaN where the cell is empty. */
static double number_in(const char *text)
{
    return text[0] != 0 ? strtod(text, NULL) : NAN;
}

static rer_status take_sample(application *a, int64_t row, rer_error *error)
{
    bool labelled = a->file.labels.codes[row] >= 0;
    double p = number_in(a->cell[labelled ? MISTAKENNESS : SUGGESTION]), score = number_in(a->cell[SCORE]);
    const char *label = a->cell[SUGGESTED];
    a->weights[row] = (float)(!labelled ? 0 : isnan(score) ? 1 : score);
    if (!(p > a->automatic))
        return RER_OK;
    if (label[0] == 0) {
        a->summary.n_without_suggestion++;
        return RER_OK;
    }
    const named_class *class = find_class(a, label);
    if (class == NULL)
        return fail_at(a, error, "the labels have no class (is --class-names missing?)", label);
    a->codes[row] = class->c;
    a->summary.n_changed++;
    return RER_OK;
}

/* ---- reading the table ------------------------------------------------------------------------ */

static rer_status on_cell(void *context, int64_t line, int64_t column, const char *text, int64_t length,
                          rer_error *error)
{
    application *a = context;
    a->line = line;
    for (int k = 0; k < N_COLUMNS; k++) {
        if (!a->has_header && strcmp(text, column_names[k]) == 0)
            a->place[k] = column;
        if (!a->has_header || a->place[k] != column)
            continue;
        RER_TRY(rer_grow(&a->cell[k], &a->capacity[k], length + 1, 1, "a cell", error));
        bool is_prefixed = a->is_safe && text[0] == '\'';
        memcpy(a->cell[k], text + is_prefixed, (size_t)(length - is_prefixed) + 1);
    }
    return RER_OK;
}

static rer_status check_header(application *a, rer_error *error)
{
    const int *needed = a->automatic == RER_OFF ? decision_columns : sample_columns;
    a->has_header = true;
    for (; *needed >= 0; needed++)
        if (a->place[*needed] < 0)
            return rer_fail(error, RER_BAD_INPUT, "%s: has no column '%s'; it should be %s", a->table,
                            column_names[*needed],
                            a->automatic == RER_OFF ? "decisions.csv as report.html exports it (for results of rer "
                                                      "analyze, give --auto P)"
                                                    : "samples.csv of rer analyze");
    return RER_OK;
}

static rer_status on_row(void *context, int64_t line, rer_error *error)
{
    application *a = context;
    int64_t row = 0;
    (void)line;
    if (!a->has_header)
        return check_header(a, error);
    RER_TRY(find_row(a, &row, error));
    RER_TRY(check_given(a, row, error));
    RER_TRY(a->automatic == RER_OFF ? take_decision(a, row, error) : take_sample(a, row, error));
    a->summary.n_decisions++;
    return RER_OK;
}

static rer_status read_table(application *a, rer_error *error)
{
    rer_input input = RER_NO_INPUT;
    rer_csv_handler handler = {.cell = on_cell, .row = on_row, .context = a};
    rer_status status = rer_input_open(&input, a->table, error);
    for (int k = 0; k < N_COLUMNS; k++)
        a->place[k] = -1;
    if (status == RER_OK && input.format != RER_TEXT)
        status = rer_fail(error, RER_BAD_INPUT, "%s: is no table of decisions", a->table);
    RER_THEN(status, rer_csv_read(&input, ',', &handler, NULL, error));
    if (status == RER_OK && !a->has_header)
        status = rer_fail(error, RER_BAD_INPUT, "%s: is empty", a->table);
    for (int64_t row = 0; status == RER_OK && a->automatic != RER_OFF && row < a->file.labels.N; row++)
        if (a->seen[row] == 0)
            status = rer_fail(error, RER_BAD_INPUT, "%s: has no line for row %lld: is it cut off?", a->table,
                              (long long)row);
    rer_input_close(&input);
    return status;
}

/* ---- the journal of a review ------------------------------------------------------------------ */

static rer_status set_cell(application *a, int column, const char *text, rer_error *error)
{
    int64_t size = (int64_t)strlen(text) + 1;
    RER_TRY(rer_grow(&a->cell[column], &a->capacity[column], size, 1, "a cell", error));
    memcpy(a->cell[column], text, (size_t)size);
    return RER_OK;
}

/* A decision as the table would have it. */
static rer_status take_entry(application *a, const rer_journal *journal, const rer_entry *entry, rer_error *error)
{
    char row[24], sum[32];
    (void)snprintf(row, sizeof row, "%lld", (long long)entry->row);
    (void)snprintf(sum, sizeof sum, "rer:%s", journal->checksum);
    const char *const cells[] = {[INDEX] = row,
                                 [GIVEN] = rer_entry_text(journal, entry->given),
                                 [DECISION] = rer_decision_word((rer_decision_kind)entry->kind),
                                 [NEW_LABEL] = rer_entry_text(journal, entry->label),
                                 [CHECKSUM] = sum,
                                 [REVIEWER] = rer_entry_reviewer(journal, entry)};
    for (int k = 0; k < RER_COUNT(cells); k++)
        if (cells[k] != NULL)
            RER_TRY(set_cell(a, k, cells[k], error));
    return on_row(a, 0, error);
}

static rer_status read_journal(application *a, rer_error *error)
{
    rer_journal journal = RER_NO_JOURNAL;
    rer_status status = rer_journal_open(&journal, a->table, a->checksum, false, error);
    if (status == RER_OK && journal.fd < 0)
        status =
            rer_fail(error, RER_BAD_INPUT,
                     "%s: holds no decisions (" RER_JOURNAL "): review it by rer review, or give --auto P to apply "
                     "all suggestions above P",
                     a->table);
    a->has_header = true;
    for (int64_t i = 0; status == RER_OK && i < journal.count; i++) {
        const rer_entry *entry = &journal.entries[i];
        a->line = i + 2;
        if (entry->is_current && entry->kind != RER_OPEN)
            status = take_entry(a, &journal, entry, error);
    }
    rer_journal_close(&journal);
    return status;
}

static bool is_folder(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

/* ---- the majority ----------------------------------------------------------------------------- */

static void take_verdict(application *a, const rer_verdict_of_row *verdict)
{
    bool keeps = verdict->outcome == a->file.labels.codes[verdict->row], drops = verdict->outcome < 0;
    a->summary.n_kept += keeps;
    a->summary.n_dropped += drops && !keeps;
    a->summary.n_changed += !keeps && !drops;
    a->codes[verdict->row] = verdict->outcome;
    a->weights[verdict->row] = keeps ? 1 : 0;
}

static rer_status count_votes(application *a, rer_error *error)
{
    rer_verdict_of_row *verdicts = NULL;
    RER_TRY(rer_allocate(&verdicts, a->n_votes, sizeof *verdicts, "decisions", error));
    int64_t count = rer_votes_count(verdicts, a->votes, a->n_votes);
    rer_status status = rer_votes_check(a->votes, a->n_votes, verdicts, count, a->table, error);
    for (int64_t i = 0; i < count && status == RER_OK; i++)
        take_verdict(a, &verdicts[i]);
    free(verdicts);
    return status;
}

/* ---- the labels ------------------------------------------------------------------------------- */

/* Classes as the table names them: by the values of the file, or by other names. */
static rer_status name_classes(application *a, const char *class_names, rer_error *error)
{
    const rer_labels *labels = &a->file.labels;
    RER_TRY(rer_allocate(&a->classes, labels->C, sizeof *a->classes, "classes", error));
    for (int32_t c = 0; c < labels->C; c++) {
        bool renamed = class_names != NULL && a->automatic != RER_OFF;
        a->classes[c] = (named_class){renamed ? rer_text(&labels->names, c) : rer_labels_value(labels, c), c};
    }
    if (labels->C > 0)
        qsort(a->classes, (size_t)labels->C, sizeof *a->classes, by_name);
    return RER_OK;
}

static rer_status open_labels(application *a, const rer_apply_files *files, rer_error *error)
{
    RER_TRY(rer_label_file_open(&a->file, files->labels, files->label_column, -1, error));
    rer_labels *labels = &a->file.labels;
    if (files->class_names != NULL)
        RER_TRY(rer_labels_rename(labels, files->class_names, error));
    RER_TRY(name_classes(a, files->class_names, error));
    const rer_room rooms[] = {RER_ROOM(a->codes, labels->N), RER_ROOM(a->weights, labels->N),
                              RER_ROOM(a->seen, labels->N)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "labels", error));
    a->checksum = rer_labels_checksum(labels);
    a->summary.n_rows = labels->N;
    memcpy(a->codes, labels->codes, (size_t)labels->N * sizeof *a->codes);
    for (int64_t row = 0; row < labels->N; row++)
        a->weights[row] = labels->codes[row] >= 0 ? 1 : 0;
    return RER_OK;
}

/* The labels that the results in a folder were made from, by summary.json. */
static rer_status check_results(application *a, const char *folder, rer_error *error)
{
    static const char *const files[] = {"summary.json", "samples.csv"};
    json_error_t failure;
    char *path = NULL, text[64] = "";
    rer_status status = rer_manifest_check(folder, files, RER_COUNT(files), error);
    RER_THEN(status, rer_join_path(&path, folder, "summary.json", error));
    if (status != RER_OK)
        return status;
    json_t *root = json_load_file(path, 0, &failure);
    if (root == NULL)
        status = rer_fail(error, RER_BAD_INPUT, "%s: cannot be read (%s); give the folder that rer analyze --out wrote",
                          path, failure.text);
    const char *sum = json_string_value(json_object_get(json_object_get(root, "checksums"), "labels"));
    a->is_safe = json_is_true(json_object_get(json_object_get(root, "options"), "spreadsheet-safe"));
    (void)snprintf(text, sizeof text, "rer:%.40s", sum != NULL ? sum : "none");
    RER_THEN(status, check_checksum(a, text, error));
    json_decref(root);
    free(path);
    return status;
}

/* ---- writing ---------------------------------------------------------------------------------- */

static void put_weights(rer_writer *writer, const void *what, int is_text)
{
    const application *a = what;
    int64_t N = a->file.labels.N;
    if (!is_text) {
        rer_put_npy_header(writer, 'f', sizeof *a->weights, 1, &N);
        rer_put_bytes(writer, (const char *)a->weights, N * (int64_t)sizeof *a->weights);
    }
    for (int64_t row = 0; is_text && row < N; row++) {
        rer_csv_number(writer, (double)a->weights[row]);
        rer_csv_end(writer);
    }
}

static rer_status check_files(const rer_apply_files *files, rer_error *error)
{
    if (files->labels == NULL || files->decisions == NULL)
        return rer_fail(error, RER_BAD_USAGE, "the labels and the decisions are needed: y.npy decisions.csv");
    if ((files->out == NULL) == (files->weights == NULL))
        return rer_fail(error, RER_BAD_USAGE,
                        "name one output: --out FILE for the corrected labels, or --weights FILE for weights");
    return rer_label_file_check(files->out != NULL ? files->out : files->weights, error);
}

static void free_application(application *a)
{
    rer_label_file_free(&a->file);
    rer_texts_free(&a->added.texts);
    rer_texts_free(&a->reviewers.texts);
    RER_FREE_ALL(a->classes, a->codes, a->weights, a->seen, a->votes);
    for (int k = 0; k < N_COLUMNS; k++)
        free(a->cell[k]);
}

static rer_status apply(rer_apply_summary *summary, const rer_apply_files *files, const rer_options *options,
                        rer_error *error)
{
    application a = {.automatic = options->automatic, .file = {.array = {.fd = -1}}, .out = files->out};
    char *samples = NULL;
    bool is_automatic = options->automatic != RER_OFF;
    rer_status status = check_files(files, error);
    RER_THEN(status, open_labels(&a, files, error));
    a.table = files->decisions;
    if (status == RER_OK && is_automatic)
        status = check_results(&a, files->decisions, error);
    if (status == RER_OK && is_automatic)
        status = rer_join_path(&samples, files->decisions, "samples.csv", error);
    if (samples != NULL)
        a.table = samples;
    RER_THEN(status, !is_automatic && is_folder(a.table) ? read_journal(&a, error) : read_table(&a, error));
    if (status == RER_OK && !is_automatic)
        status = count_votes(&a, error);
    RER_THEN(status, files->out != NULL ? rer_label_file_write(files->out, &a.file, a.codes, &a.added.texts, error)
                                        : rer_file_write(files->weights, put_weights, &a,
                                                         rer_path_is_text_output(files->weights), error));
    *summary = a.summary;
    free_application(&a);
    free(samples);
    return status;
}

rer_status rer_apply(rer_apply_summary *summary, const rer_apply_files *given_files, const rer_options *given,
                     rer_error *error)
{
    rer_options options;
    rer_apply_files files;
    rer_apply_summary made;
    rer_error_clear(error);
    RER_TRY(rer_options_take(&options, given, error));
    RER_TRY(rer_struct_take(&files, sizeof files, given_files, "rer_apply_files", error));
    RER_TRY(rer_struct_check(summary, "rer_apply_summary", error));
    RER_TRY(apply(&made, &files, &options, error));
    rer_struct_give(summary, &made, sizeof made);
    return RER_OK;
}
