/* The rer command: arguments and files. Everything else is the library's, through rer.h and rer_studies.h alone. */
#pragma once

#include "rer_studies.h"

#include <stddef.h>
#include <stdio.h>

#define LINE_WIDTH 100 /* columns of what people read */

/* ---- arguments.c: what the user wrote ---------------------------------------------------- */

enum { FILES_MAX = 64, LIST_MAX = 64 };

typedef struct cli_list {
    const char *item[LIST_MAX];
    int count;
} cli_list;

typedef struct cli_arguments {
    const char *files[FILES_MAX];
    int n_files;
    rer_options *options; /* free_arguments */
    const char *out, *save_model, *errors, *class_names, *ids, *images, *texts, *weights, *label_column, *over,
        *features, *human, *subsets, *groups, *pred_probs, *column, *error_rates;
    const char *detectors;
    cli_list humans;
    const char *class_embeddings;
    bool json, quiet, help;
} cli_arguments;

typedef struct cli_command {
    const char *name;
    const char *usage;   /* after "rer NAME" */
    const char *purpose; /* one line */
    const char *examples[2];
    int files_min, files_max;
    const char *const *refused;                 /* options that are not this command's, up to a NULL */
    const char *const *accepted;                /* or the only ones that are */
    int (*run)(const cli_arguments *arguments); /* returns the exit code */
} cli_command;

extern const cli_command analyze_command, score_command, sweep_command, noise_command, scale_command, compare_command,
    bench_command, apply_command;

/* Free what it made, even where it failed. */
rer_status parse_arguments(cli_arguments *parsed, const cli_command *command, int argc, char **argv, rer_error *error);
void free_arguments(cli_arguments *parsed);
/* Present values of an option that the library has. */
bool option_is(const cli_arguments *arguments, const char *name, const char *text);
bool option_is_on(const cli_arguments *arguments, const char *name);
double option_number(const cli_arguments *arguments, const char *name); /* NaN for a word: "auto", "off" */
/* The option tables of a command one after the other; NULL past the last. */
const rer_option_info *command_option(const cli_command *command, int index);
/* "; did you mean NAME?" for the nearest of `count` names, or "" where none is near. */
const char *suggest(char *buffer, size_t size, const char *prefix, const char *word,
                    const char *(*name_at)(int, const void *), const void *names, int count);
rer_status fail(rer_error *error, rer_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- help.c ------------------------------------------------------------------------------ */

void print_command_help(const cli_command *command, const rer_options *options);
void print_help(const cli_command *const *commands, int count);

/* ---- job.c: one analysis or scoring from files to files ------------------------------------ */

typedef struct cli_job {
    const cli_arguments *arguments;
    rer_dataset *data;
    rer_model *model; /* of `rer score` */
    rer_result *result;
} cli_job;

typedef rer_status (*job_open)(cli_job *job, rer_error *error);
typedef rer_status (*job_compute)(cli_job *job, const char *errors_path, const rer_progress *progress,
                                  rer_error *error);

int run_job(const cli_arguments *arguments, job_open open, job_compute compute);
/* Features and labels as `rer analyze` and `rer sweep` name them. */
rer_status open_labelled_data(rer_dataset **data, const cli_arguments *arguments, rer_error *error);
/* Ends a command that failed: prints the message, returns the exit code. */
int report_failure(const rer_error *error);

/* ---- staging.c: outputs that appear together or not at all --------------------------------- */

typedef struct cli_staged {
    char *path;   /* to write to; NULL where the user asked for no such file */
    char *target; /* to rename to; NULL where `path` is final already (a device, a FIFO) */
} cli_staged;

/* Fails early, before the work, where an output file or folder could not be made. */
rer_status check_writable(const char *path, bool is_folder, rer_error *error);
rer_status stage(cli_staged *staged, const char *path, rer_error *error); /* path may be NULL */
rer_status staged_commit(cli_staged *staged, rer_error *error);
void staged_discard(cli_staged *staged);

/* ---- signals.c --------------------------------------------------------------------------- */

void signals_start(void);       /* from here on SIGINT and SIGTERM end the process at once ... */
void signals_defer(bool defer); /* ... except while deferred: then they are only noted */
int signals_received(void);     /* the signal, or 0 */

/* ---- terminal.c, summary.c: what people see ------------------------------------------------ */

typedef struct progress_line {
    bool enabled, shown;
    double start, last_shown;
    double stage_start, stage_fraction; /* when and where the present stage began */
    char stage[32];
} progress_line;

void progress_start(progress_line *line, bool quiet);
bool progress_report(void *context, const char *stage, double fraction); /* context: progress_line */
void progress_clear(progress_line *line);

/* Text of at most `width` columns with control characters made harmless; returns its columns. */
int clean_text(char *out, size_t size, const char *text, int width);
int text_width(const char *text);
void print_padded(const char *text, int width);   /* cut or filled up to exactly `width` columns */
const char *grouped(char out[32], int64_t value); /* 12,345 */

void print_summary(const cli_job *job);
