/* samples.csv and classes.csv: RFC 4180 quoting, lines ended by LF, a missing value is an empty
 * cell, labels as the user wrote them. */
#include "report/report.h"

#include "core/pool.h"

static void put_label(rer_writer *writer, const rer_result *result, int32_t c)
{
    rer_csv_text(writer, rer_result_class_name(result, c));
}

/* The nearest rows of a flagged one, nearest first. */
static void put_near(rer_writer *writer, const rer_result *result, const rer_sample *sample)
{
    int64_t rows[RER_NEAR_ROWS];
    rer_csv_integers(writer, rows, sample->is_issue ? rer_result_near(result, sample->row, rows) : 0);
}

static void put_sample(rer_writer *writer, const rer_result *result, const rer_dataset *data, int64_t row)
{
    rer_sample sample = rer_sample_of(result, row);
    bool has_suggestion = (sample.given < 0 || sample.is_issue) && !sample.is_invalid;
    rer_csv_integer(writer, row);
    if (data->ids.count > 0)
        rer_csv_text(writer, rer_dataset_id(data, row));
    put_label(writer, result, sample.given);
    put_label(writer, result, sample.predicted);
    rer_csv_number(writer, sample.chi);
    rer_csv_number(writer, sample.mistakenness);
    rer_csv_number(writer, sample.label_score);
    rer_csv_bool(writer, sample.is_issue);
    rer_csv_number(writer, sample.own_error);
    rer_csv_number(writer, sample.best_other_error);
    put_label(writer, result, has_suggestion ? sample.suggested : -1);
    rer_csv_number(writer, sample.suggestion_probability);
    rer_csv_number(writer, sample.outlier_score);
    rer_csv_bool(writer, sample.is_outlier);
    put_near(writer, result, &sample);
    rer_csv_end(writer);
}

/* Rows are written in pieces, by all threads, and put in their order. */
enum { PIECE = 512 };

typedef struct samples_job {
    const rer_result_files *files;
    rer_writer *writer;
    char **text; /* [pieces] that are written and not put yet */
} samples_job;

static rer_status write_piece(void *context, int64_t item, void *scratch, rer_error *error)
{
    const samples_job *job = context;
    const rer_result *result = job->files->result;
    rer_writer *piece = scratch;
    rer_writer_start(piece, NULL, error);
    piece->spreadsheet_safe = job->writer->spreadsheet_safe;
    for (int64_t row = item * PIECE; row < rer_min((item + 1) * PIECE, result->N); row++)
        put_sample(piece, result, job->files->data, row);
    return rer_writer_end_memory(piece, &job->text[item]);
}

static rer_status put_piece(void *context, int64_t item, void *scratch, rer_error *error)
{
    const samples_job *job = context;
    rer_put_written(job->writer, scratch, job->text[item]);
    free(job->text[item]);
    job->text[item] = NULL;
    if (job->writer->status != RER_OK && job->writer->error != NULL)
        *error = *job->writer->error;
    return job->writer->status;
}

static rer_status put_pieces(samples_job *samples, rer_error *error)
{
    const rer_options *options = &samples->files->result->options;
    int64_t pieces = (samples->files->result->N + PIECE - 1) / PIECE;
    rer_pool_settings settings = {.threads = pieces > 1 ? options->threads : 1};
    rer_pool *pool = NULL;
    rer_job job = {.stage = "writing",
                   .from = 1,
                   .to = 1,
                   .items = pieces,
                   .scratch = sizeof(rer_writer),
                   .work = write_piece,
                   .commit = put_piece,
                   .context = samples};
    rer_status status = rer_allocate(&samples->text, pieces, sizeof *samples->text, "rows of samples.csv", error);
    RER_THEN(status, rer_pool_open(&pool, &settings, error));
    RER_THEN(status, rer_pool_run(pool, &job, error));
    for (int64_t i = 0; samples->text != NULL && i < pieces; i++) /* of what failed */
        free(samples->text[i]);
    free(samples->text);
    rer_pool_close(pool);
    return status;
}

void rer_put_samples(rer_writer *writer, const void *what, int which)
{
    samples_job job = {.files = what, .writer = writer};
    (void)which;
    rer_put(writer, job.files->data->ids.count > 0 ? "index,id," : "index,");
    rer_put(writer, "given_label,predicted_label,rer,mistakenness,label_score,is_label_issue,own_error,"
                    "best_other_error,suggested_label,suggestion_probability,outlier_score,is_outlier,nearest_rows\n");
    if (writer->status == RER_OK)
        (void)rer_writer_ok(writer, put_pieces(&job, writer->error));
}

/* Near-duplicates group by group, by counting: order [n_duplicates]; place [groups + 1], zero at first. */
static void sort_duplicates(int64_t *order, int64_t *place, const rer_result *result)
{
    for (int64_t row = 0; row < result->N; row++)
        if (result->duplicate[row] >= 0)
            place[result->duplicate[row] + 1]++;
    for (int64_t group = 0; group < result->summary.n_duplicate_groups; group++)
        place[group + 1] += place[group];
    for (int64_t row = 0; row < result->N; row++)
        if (result->duplicate[row] >= 0)
            order[place[result->duplicate[row]]++] = row;
}

void rer_put_duplicates(rer_writer *writer, const void *what, int which)
{
    const rer_result_files *files = what;
    const rer_result *result = files->result;
    int64_t *place = NULL, *order = NULL, count = result->summary.n_duplicates;
    const rer_room rooms[] = {RER_ROOM(place, result->summary.n_duplicate_groups + 1), RER_ROOM(order, count)};
    bool has_ids = files->data->ids.count > 0;
    (void)which;
    if (rer_writer_ok(writer, rer_allocate_all(rooms, RER_COUNT(rooms), "duplicates", writer->error)))
        sort_duplicates(order, place, result);
    rer_put(writer, has_ids ? "group,index,id,label\n" : "group,index,label\n");
    for (int64_t i = 0; i < count && writer->status == RER_OK; i++) {
        rer_csv_integer(writer, result->duplicate[order[i]]);
        rer_csv_integer(writer, order[i]);
        if (has_ids)
            rer_csv_text(writer, rer_dataset_id(files->data, order[i]));
        put_label(writer, result, result->given[order[i]]);
        rer_csv_end(writer);
    }
    RER_FREE_ALL(place, order);
}

void rer_put_classes(rer_writer *writer, const void *what, int which)
{
    const rer_result *result = ((const rer_result_files *)what)->result;
    (void)which;
    rer_put(writer, "label,n,chi,noise_rate,n_issues,most_confused_with,own_error\n");
    for (int32_t c = 0; c < result->C && writer->status == RER_OK; c++) {
        const rer_class_summary *class = &result->classes[c];
        rer_csv_text(writer, result->names[c]);
        rer_csv_integer(writer, class->n);
        rer_csv_number(writer, class->chi);
        rer_csv_number(writer, class->noise_rate);
        rer_csv_integer(writer, class->n_issues);
        put_label(writer, result, class->most_confused_with);
        rer_csv_number(writer, class->own_error);
        rer_csv_end(writer);
    }
}
