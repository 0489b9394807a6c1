/* The line of progress: what is going on, a bar, how far, how fast, how long still.
 *
 *     scoring                   ############--------  61 %    84,000 samples/s  about 12 s left */
#include "cli.h"

#include <ftw.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 12, LINE = 240 };

/* Of photos: seconds of their analysis, of a short reading half its time. Then so many at most are drawn for the report,
 * each decoded as for reading it, made small and encoded: seconds of one core by the bytes of its file, and at most. */
#define AFTER_READING .5
#define DRAWN_MOST 600
#define ENCODED_BYTE 2.4e-7
#define ENCODED_MOST 1.1e-2
#define MANY_PHOTOS 1000 /* as many are counted: of more than these few are drawn */

/* Seconds of one core, of tables with 10 to 600 columns: a cell that is read; a row that is analysed, its features, and
 * their products; what the smallest analysis takes. */
#define CELL 8e-8
#define ROW 4e-6
#define FEATURE 8e-9
#define PRODUCT 1.2e-11
#define LEAST 1.0

static double read_part; /* of the whole, once it is done */
static double expected = 1;

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void progress_start(progress_line *line, const rer_dataset *data, bool quiet)
{
    *line = (progress_line){.enabled = !quiet && isatty(STDERR_FILENO) == 1,
                            .samples = data != NULL ? rer_dataset_rows(data) : 0,
                            .span = 1,
                            .start = now()};
}

void progress_share(progress_line *line, double from, double span)
{
    line->from = line->begun = line->furthest = from;
    line->span = span;
}

void progress_has_read(const progress_line *line)
{
    read_part = line->furthest;
}

double share_before(void)
{
    return read_part;
}

void progress_expect(double analyses)
{
    expected = analyses;
}

static double columns_of(const char *path)
{
    FILE *file = fopen(path, "r");
    double columns = 1;
    int next = 0;
    while (file != NULL && (next = getc(file)) != EOF && next != '\n')
        columns += next == ',' || next == '\t';
    if (file != NULL)
        (void)fclose(file);
    return columns;
}

static double photos_seen, bytes_seen;

static int count_photo(const char *path, const struct stat *status, int kind)
{
    (void)path;
    if (kind == FTW_F) {
        photos_seen++;
        bytes_seen += (double)status->st_size;
    }
    return photos_seen >= MANY_PHOTOS;
}

static void count_photos(progress_line *line, const char *folder)
{
    photos_seen = bytes_seen = 0;
    (void)ftw(folder, count_photo, 16);
    line->photos = photos_seen;
    line->photo_bytes = photos_seen > 0 ? bytes_seen / photos_seen : 0;
}

void progress_precedes(progress_line *line, const cli_arguments *arguments, const rer_dataset *data)
{
    double threads = option_number(arguments, "threads");
    line->precedes = true;
    line->threads = threads > 0 ? threads : fmax(1, (double)sysconf(_SC_NPROCESSORS_ONLN));
    if (data != NULL) {
        line->rows = (double)rer_dataset_rows(data);
        line->columns = (double)rer_dataset_columns(data);
    } else if (is_table(arguments->files[0]))
        line->columns = columns_of(arguments->files[0]);
    else if (arguments->out != NULL && is_folder(arguments->files[0]))
        count_photos(line, arguments->files[0]);
}

/* Pictures of the report, where reading all of them took so many seconds. */
static double drawing_after(const progress_line *line, double seconds)
{
    double drawn = fmin(line->photos, DRAWN_MOST), encoded = fmin(ENCODED_BYTE * line->photo_bytes, ENCODED_MOST);
    return line->photos > 0 ? drawn * (seconds / line->photos + encoded / line->threads) : 0;
}

/* After so many seconds of what precedes it. A fifth of an analysis is one thread's. */
static double analysis_after(const progress_line *line, double seconds)
{
    double columns = line->columns, rows = line->rows > 0 ? line->rows : seconds / (CELL * columns);
    if (columns == 0)
        return fmin(seconds / 2, AFTER_READING) + drawing_after(line, seconds);
    return (LEAST + rows * (ROW + FEATURE * columns + PRODUCT * columns * columns)) * (.2 + .8 / line->threads);
}

/* What part of the time that is left and has passed goes to what precedes, so much of it done in so many seconds. */
static double share_of_preceding(const progress_line *line, double done, double seconds)
{
    double all = seconds / fmax(done, 1e-3);
    return all / (1.02 * all + expected * analysis_after(line, all) + 1e-9);
}

/* Three digits tell enough of a rate. */
static const char *rate_text(char out[32], double rate)
{
    int64_t unit = 1;
    while (rate / (double)unit >= 1000)
        unit *= 10;
    return grouped(out, (int64_t)(rate / (double)unit + .5) * unit);
}

/* At the pace so far. */
static void describe_pace(char *out, size_t size, const progress_line *line, double seconds)
{
    char rate[32] = "";
    double done = line->furthest - line->begun, left = seconds * (1 - line->furthest) / done;
    int used = 0;
    if (done < .01)
        return;
    if (line->samples > 0)
        used =
            snprintf(out, size, "  %s samples/s", rate_text(rate, done / line->span * (double)line->samples / seconds));
    (void)snprintf(out + used, size - (size_t)used, left < 90 ? "  about %.0f s left" : "  about %.0f min left",
                   left < 90 ? left + .5 : left / 60 + .5);
}

static void show(progress_line *line, double time)
{
    char bar[BAR + 1], pace[100] = "", text[LINE], clean[LINE];
    int filled = (int)(BAR * line->furthest), width = terminal_width(STDERR_FILENO) - 1;
    memset(bar, '-', BAR);
    memset(bar, '#', (size_t)filled);
    bar[BAR] = 0;
    describe_pace(pace, sizeof pace, line, time - line->start);
    (void)snprintf(text, sizeof text, "%-24s  %s %3.0f %%%s", line->stage, bar, 100 * line->furthest, pace);
    int columns = clean_text(clean, sizeof clean, text, width);
    fprintf(stderr, "\r%s%*s", clean, line->shown > columns ? line->shown - columns : 0, "");
    line->shown = columns;
    line->last_shown = time;
}

/* Shown from the second second on, and at most ten times a second; what was reached stays reached. */
bool progress_report(void *context, const char *stage, double fraction)
{
    progress_line *line = context;
    double time = line->enabled ? now() : 0;
    (void)snprintf(line->stage, sizeof line->stage, "%s", stage);
    fraction = fraction > 1 ? 1 : fraction;
    if (line->precedes)
        line->span = (1 - line->from) * share_of_preceding(line, fraction, time - line->start);
    fraction = line->from + line->span * fraction;
    line->furthest = fraction > line->furthest ? fraction : line->furthest;
    if (line->enabled && time - line->start > 1 && time - line->last_shown > 0.1)
        show(line, time);
    return signals_received() != 0;
}

void progress_clear(progress_line *line)
{
    if (line->shown > 0)
        fprintf(stderr, "\r%*s\r", line->shown, "");
    line->shown = 0;
}
