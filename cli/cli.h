/* The rer command: arguments and files. Everything else is the library's, through rer.h and rer_studies.h alone. */
#pragma once

#include "rer_studies.h"

#include <stddef.h>
#include <stdio.h>

#define LINE_WIDTH 100 /* columns of --help and of sentences; tables take terminal_width */

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
        *features, *human, *subsets, *groups, *pred_probs, *column, *error_rates, *descriptor, *model, *output, *mean,
        *std, *labels, *classes, *class_template, *port, *reviewer, *export;
    const char *detectors;
    cli_list humans;
    const char *class_embeddings, *color;
    bool json, quiet, help, open;
} cli_arguments;

typedef struct cli_command {
    const char *name;
    const char *usage;   /* after "rer NAME" */
    const char *purpose; /* one line */
    const char *examples[2];
    const char *choices; /* what its arguments may be; NULL: files */
    int files_min, files_max;
    const char *results;                        /* whose folder --out names; NULL: it names a file */
    const char *const *beside;                  /* endings of what is written beside --out X.npy, up to a NULL */
    const char *refused;                        /* options that are not this command's, blanks between them */
    const char *accepted;                       /* or the only ones that are */
    double analyses;                            /* as long as how many it takes, 0: one */
    int (*run)(const cli_arguments *arguments); /* returns the exit code */
} cli_command;

extern const cli_command analyze_command, score_command, sweep_command, noise_command, scale_command, compare_command,
    bench_command, apply_command, review_command, embed_command, completions_command;

const cli_command *command_at(int index); /* all of them, in main.c; NULL past the last */
/* All that the command does, once in a process; returns the exit code. */
int run_program(int argc, char **argv);

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
void print_help(void);

/* ---- job.c: one analysis or scoring from files to files ------------------------------------ */

typedef struct cli_job {
    const cli_arguments *arguments;
    rer_dataset *data;
    rer_model *model; /* of `rer score` */
    rer_result *result;
} cli_job;

typedef rer_status (*job_open)(cli_job *job, rer_error *error);
typedef rer_status (*job_compute)(cli_job *job, const rer_outputs *outputs, const rer_progress *progress,
                                  rer_error *error);

int run_job(const cli_arguments *arguments, job_open open, job_compute compute);
bool is_folder(const char *path);
bool is_table(const char *path); /* a file .csv or .tsv, no pipe */
/* What takes long to read shows its progress. */
rer_status open_data_set(rer_dataset **data, rer_files *files, const cli_arguments *arguments, rer_error *error);
/* Features and labels as `rer analyze` and `rer sweep` name them. */
rer_status open_labelled_data(rer_dataset **data, const cli_arguments *arguments, rer_error *error);
/* Ends a command that failed: prints the message, returns the exit code. */
int report_failure(const rer_error *error);

/* ---- outputs.c ----------------------------------------------------------------------------- */

/* Before anything is read or written: fails where an output could not be made, or would take the place of an input
 * or of another output. */
rer_status check_outputs(const cli_arguments *arguments, const cli_command *command, rer_error *error);

/* ---- signals.c --------------------------------------------------------------------------- */

void signals_start(void);       /* from here on SIGINT and SIGTERM end the process at once ... */
void signals_defer(bool defer); /* ... except while deferred: then the first is only noted */
int signals_received(void);     /* the signal, or 0 */

/* ---- progress.c ---------------------------------------------------------------------------- */

typedef struct progress_line {
    bool enabled;
    int shown; /* columns of the line that stands there */
    int64_t samples;
    double start, last_shown, furthest;
    double begun;                  /* what an earlier run had done */
    double from, span;             /* its part of the bar */
    bool precedes;                 /* ... which goes by the time that it takes, and the analysis after it, by so many */
    double threads, rows, columns; /* 0: not known */
    double photos, photo_bytes;    /* of a folder of them: how many, or MANY_PHOTOS; of one */
    char stage[32];
} progress_line;

void progress_start(progress_line *line, const rer_dataset *data, bool quiet); /* data: for the rate, or NULL */
bool progress_report(void *context, const char *stage, double fraction);       /* context: progress_line */
void progress_clear(progress_line *line);
/* So many analyses follow what is read. */
void progress_expect(double analyses);
/* What is read, or clustered: then with its data. */
void progress_precedes(progress_line *line, const cli_arguments *arguments, const rer_dataset *data);
/* It is done, and has had its part of the bar. */
void progress_has_read(const progress_line *line);
/* What follows has only this part of the bar. */
void progress_share(progress_line *line, double from, double span);
/* The part that they have taken. */
double share_before(void);

/* ---- terminal.c, summary.c: what people see ------------------------------------------------ */

int terminal_width(int fd); /* columns of the terminal, else COLUMNS, else 80 */

typedef enum style { PLAIN, BOLD, DIM, RED, GREEN } style;

rer_status colours_choose(const char *when, rer_error *error); /* --color: auto, always, never */
bool colours_are_on(int fd);
void paint(style how); /* what is said from here on, where colours are on */

/* printf for people, with %s, %d, %lld, %f and %g. Texts may be anyone's: control characters in them, line ends too,
 * are shown as \\u001b. A number that is none is a dash. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void say_to(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
void say_lines(const char *text); /* JSON, which stays the same JSON */
/* The same to standard error, after "rer: ", as a line. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What was said is read from now on; whether it can be. */
bool flush_output(void);
/* The exit code of a program that has said all: another one where standard output was lost. */
int end_output(int code);

/* Text of at most `width` columns with control characters made visible; returns its columns. What is too long is cut
 * at its end, a name in its middle. */
int clean_text(char *out, size_t size, const char *text, int width);
int clean_name(char *out, size_t size, const char *text, int width);
int text_width(const char *text);
void print_padded(const char *text, int width);   /* cut or filled up to exactly `width` columns */
const char *grouped(char out[32], int64_t value); /* 12,345 */

void print_summary(const cli_job *job);
const char *class_name(const cli_job *job, int32_t c);
bool has_clusters(const cli_job *job); /* in place of labels */

/* reason.c: why a label is suspicious, the class that is suggested being called `other`; names of at most `width`
 * columns. */
typedef enum reason_length { WHOLE, BRIEF, BARE } reason_length;
void describe_why(char *out, size_t size, const cli_job *job, const rer_sample *sample, const char *other, int width,
                  reason_length length);
