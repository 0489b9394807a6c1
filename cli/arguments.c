/* One parser for all commands, driven by two tables of the same shape: the library's options and
 * the options that name files or say what is printed. */
#include "cli.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

typedef struct file_option {
    rer_option_info info;
    size_t offset; /* of its member in `arguments`: bool for flags, cli_list for FILE..., else const char * */
} file_option;

#define AT(member) offsetof(cli_arguments, member)

/* One that belongs to a command alone hides the general one of the same name. */
static const file_option file_options[] = {
    {{"out", "DIR", "none", "folder for report.html, samples.csv and more", false, NULL}, AT(out)},
    {{"out", "FILE.csv", "none", "the same lines as a table", false, "rer sweep"}, AT(out)},
    {{"out", "DIR", "none", "folder for scale.html, charts, scale.csv and scale.json", false, "rer scale"}, AT(out)},
    {{"out", "DIR", "none", "folder for bench.html, bench.csv, bench.json and charts", false, "rer bench"}, AT(out)},
    {{"out", "FILE", "none", "the noisy labels: .npy, or .csv, .tsv, .txt with one a line", false, "rer noise"},
     AT(out)},
    {{"out", "DIR", "none", "folder for compare.html, compare.json, tables and charts", false, "rer compare"}, AT(out)},
    {{"out", "FILE", "none", "the corrected labels: .npy, or .csv, .tsv, .txt with one a line", false, "rer apply"},
     AT(out)},
    {{"out", "X.npy", "none", "the features; X_ids.csv and X_labels.csv lie beside them", false, "rer embed"}, AT(out)},
    {{"model", "DIR|FILE", "none", "encoder: a folder of Hugging Face's layout, or a bare .onnx or .xml", false,
      "rer embed"},
     AT(model)},
    {{"model", "DIR|FILE", "none", "encoder of a folder of pictures: see rer embed", false, NULL}, AT(model)},
    {{"output", "NAME", "auto", "the model's output that has the features", false, "rer embed"}, AT(output)},
    {{"mean", "R,G,B", "auto", "subtracted from values of 0 to 1", false, "rer embed"}, AT(mean)},
    {{"std", "R,G,B", "auto", "they are divided by then", false, "rer embed"}, AT(std)},
    {{"descriptor", "hog", "hog", "the built-in one: gradients and colours", false, "rer embed"}, AT(descriptor)},
    {{"weights", "FILE", "none", "weights of the labels as they are, instead of labels", false, "rer apply"},
     AT(weights)},
    {{"label-column", "NAME", "none", "column of a CSV y with the labels", false, "rer apply"}, AT(label_column)},
    {{"class-names", "FILE", "none", "as for rer analyze, where its results have them", false, "rer apply"},
     AT(class_names)},
    {{"save-model", "FILE", "none", "the fitted model (safetensors), for rer score", false, NULL}, AT(save_model)},
    {{"errors", "FILE", "none", "all errors, classes x samples (.npy, Fortran order)", false, NULL}, AT(errors)},
    {{"class-names", "FILE", "none", "one name a line, in the order of the sorted labels", false, NULL},
     AT(class_names)},
    {{"ids", "FILE", "none", "one name a row, carried into the outputs", false, NULL}, AT(ids)},
    {{"class-embeddings", "FILE", "none", "an embedding for each sorted label", false, "rer analyze zeroshot"},
     AT(class_embeddings)},
    {{"classes", "FILE", "none", "a name a line, of each sorted label, for a --model of texts too", false,
      "rer analyze zeroshot"},
     AT(classes)},
    {{"template", "TEXT", "a photo of a {}", "what a name is put into", false, "rer analyze zeroshot"},
     AT(class_template)},
    {{"classes", "FILE", "none", "names of classes, one a line: their embeddings go to X_classes.npy", false,
      "rer embed"},
     AT(classes)},
    {{"template", "TEXT", "a photo of a {}", "what such a name is put into", false, "rer embed"}, AT(class_template)},
    {{"class-embeddings", "FILE", "none", "an embedding for each sorted label: zeroshot takes part too", false,
      "rer bench"},
     AT(class_embeddings)},
    {{"images", "PATH", "none", "pictures for the report: a folder, a list of files, .npy or IDX", false, NULL},
     AT(images)},
    {{"texts", "FILE", "none", "texts for the report: .txt, .csv, .jsonl, or FILE:COLUMN", false, NULL}, AT(texts)},
    {{"labels", "FILE", "none", "y by another name; table.csv:COLUMN, texts.jsonl:MEMBER", false, "rer analyze"},
     AT(labels)},
    {{"label-column", "NAME", "none", "column of a CSV X with the labels, instead of y", false, NULL},
     AT(label_column)},
    {{"label-column", "NAME", "none", "column of a CSV y with the labels", false, "rer noise"}, AT(label_column)},
    {{"subsets", "FILE", "none", "a group for each row (split, annotator); table.csv:COLUMN", false, "rer analyze"},
     AT(subsets)},
    {{"column", "NAME", "none", "what to compare, not rer (mistakenness where detectors differ)", false, "rer compare"},
     AT(column)},
    {{"error-rates", "FILE", "none", "CSV: run, and error_rate or accuracy of a model", false, "rer compare"},
     AT(error_rates)},
    {{"groups", "FILE|duplicates", "none", "rows left out together (copies, frames); duplicates: as found", false,
      "rer analyze"},
     AT(groups)},
    {{"pred-probs", "FILE", "none", "your own out-of-sample probabilities, samples x classes", false, "rer analyze"},
     AT(pred_probs)},
    {{"over", "NAME=V,V,...", "none", "the option to vary, and its values", false, "rer sweep"}, AT(over)},
    {{"features", "FILE", "none", "features, for --type confidence", false, "rer noise"}, AT(features)},
    {{"human", "FILE", "none", "the other labels, for --type human", false, "rer noise"}, AT(human)},
    {{"human", "FILE...", "none", "files of labels with people's mistakes, where y is right", false, "rer bench"},
     AT(humans)},
    {{"detectors", "NAME,NAME,...", "usual", "which ones to compare; all: each variant too", false, "rer bench"},
     AT(detectors)},
    {{"open", "", "off", "open it in the browser", true, "rer review"}, AT(open)},
    {{"reviewer", "NAME", "your login", "whose decisions these are", false, "rer review"}, AT(reviewer)},
    {{"port", "N", "any", "of 127.0.0.1, to be listened on", false, "rer review"}, AT(port)},
    {{"export", "FILE", "none", "write all decisions so far for rer apply, and end", false, "rer review"}, AT(export)},
    {{"json", "", "off", "print bench.json instead of the tables", true, "rer bench"}, AT(json)},
    {{"json", "", "off", "print summary.json instead of the summary", true, NULL}, AT(json)},
    {{"json", "", "off", "print scale.json instead of the table", true, "rer scale"}, AT(json)},
    {{"json", "", "off", "print compare.json instead of the tables", true, "rer compare"}, AT(json)},
    {{"quiet", "", "off", "print neither progress nor summary", true, NULL}, AT(quiet)},
    {{"color", "auto|always|never", "auto", "auto: on a terminal, unless NO_COLOR is set", false, NULL}, AT(color)},
    {{"help", "", "off", "print this", true, NULL}, AT(help)},
};

enum { N_FILE_OPTIONS = sizeof file_options / sizeof file_options[0] };

rer_status fail(rer_error *error, rer_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error->status = status;
    (void)vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    return status;
}

/* Option names with - and _ are the same. */
static bool same_name(const char *a, const char *b, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (b[i] == 0 || (a[i] == '_' ? '-' : a[i]) != (b[i] == '_' ? '-' : b[i]))
            return false;
    return b[length] == 0;
}

/* Whether it is one of names with blanks between them. */
static bool is_listed(const char *names, const char *name)
{
    for (size_t length = 0; names != NULL && *names != 0; names += length + (names[length] == ' ')) {
        length = strcspn(names, " ");
        if (same_name(names, name, length))
            return true;
    }
    return false;
}

/* Whether the command has an option of its own of this name. */
static bool is_hidden(const cli_command *command, const rer_option_info *info)
{
    for (int i = 0; i < N_FILE_OPTIONS; i++) {
        const rer_option_info *own = &file_options[i].info;
        if (own != info && own->only_for != NULL && rer_option_is_for(own, command->name) &&
            strcmp(own->name, info->name) == 0)
            return true;
    }
    return false;
}

static bool has_option(const cli_command *command, const rer_option_info *info)
{
    return rer_option_is_for(info, command->name) && !is_hidden(command, info) &&
           !is_listed(command->refused, info->name) &&
           (command->accepted == NULL || is_listed(command->accepted, info->name));
}

/* Whether another command has an option of this name. */
static bool is_known(const char *name)
{
    for (int i = 0; i < N_FILE_OPTIONS + rer_options_count(); i++) {
        const rer_option_info *info = i < N_FILE_OPTIONS ? &file_options[i].info : rer_options_info(i - N_FILE_OPTIONS);
        if (same_name(name, info->name, strlen(name)))
            return true;
    }
    return false;
}

const rer_option_info *command_option(const cli_command *command, int index)
{
    int total = N_FILE_OPTIONS + rer_options_count();
    for (int i = 0; i < total; i++) {
        const rer_option_info *info = i < N_FILE_OPTIONS ? &file_options[i].info : rer_options_info(i - N_FILE_OPTIONS);
        if (has_option(command, info) && index-- == 0)
            return info;
    }
    return NULL;
}

enum { WORD_MAX = 32 };

/* Letters to insert, remove or replace to turn one word into the other. */
static int distance(const char *a, const char *b)
{
    int row[WORD_MAX + 1];
    int n = (int)strlen(b);
    for (int j = 0; j <= n; j++)
        row[j] = j;
    for (int i = 1; a[i - 1] != 0; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            best = best < row[j] + 1 ? best : row[j] + 1;
            row[j] = best < row[j - 1] + 1 ? best : row[j - 1] + 1;
        }
    }
    return row[n];
}

const char *suggest(char *buffer, size_t size, const char *prefix, const char *word,
                    const char *(*name_at)(int, const void *), const void *names, int count)
{
    const char *nearest = NULL;
    int best = strlen(word) < 6 ? 3 : 4; /* as many mistakes are no mistyping any more */
    for (int i = 0; i < count && strlen(word) <= WORD_MAX; i++) {
        const char *name = name_at(i, names);
        int steps = name == NULL || strlen(name) > WORD_MAX ? best : distance(word, name);
        if (steps < best) {
            best = steps;
            nearest = name;
        }
    }
    buffer[0] = 0;
    if (nearest != NULL)
        (void)snprintf(buffer, size, "; did you mean %s%s?", prefix, nearest);
    return buffer;
}

static const char *option_name(int index, const void *command)
{
    const rer_option_info *info = command_option(command, index);
    return info == NULL ? NULL : info->name;
}

static const rer_option_info *find_option(const cli_command *command, const char *name, size_t length, rer_error *error)
{
    char word[64], hint[100];
    const rer_option_info *info;
    for (int i = 0; (info = command_option(command, i)) != NULL; i++)
        if (same_name(name, info->name, length))
            return info;
    (void)snprintf(word, sizeof word, "%.*s", (int)length, name);
    suggest(hint, sizeof hint, "--", word, option_name, command, N_FILE_OPTIONS + rer_options_count());
    (void)fail(error, RER_BAD_USAGE, "unknown option --%s%s%s (rer %s --help lists them)", word,
               is_known(word) ? ", which has no meaning here" : "", hint, command->name);
    return NULL;
}

static rer_status add_to_list(cli_list *list, const rer_option_info *info, const char *value, rer_error *error)
{
    if (list->count == LIST_MAX)
        return fail(error, RER_BAD_USAGE, "--%s: more than %d", info->name, LIST_MAX);
    list->item[list->count++] = value;
    return RER_OK;
}

/* Every word up to the next option is one of its values. */
static bool takes_list(const rer_option_info *info)
{
    return strcmp(info->metavar, "FILE...") == 0;
}

static rer_status set_option(cli_arguments *parsed, const rer_option_info *info, const char *value, rer_error *error)
{
    for (int i = 0; i < N_FILE_OPTIONS; i++) {
        char *member = (char *)parsed + file_options[i].offset;
        if (info != &file_options[i].info)
            continue;
        if (info->is_flag)
            *(bool *)member = true;
        else if (value[0] == 0)
            return fail(error, RER_BAD_USAGE, "--%s has an empty value; it wants %s", info->name, info->metavar);
        else if (takes_list(info))
            return add_to_list((cli_list *)(void *)member, info, value, error);
        else
            *(const char **)(void *)member = value;
        return RER_OK;
    }
    return rer_options_set(parsed->options, info->name, info->is_flag ? "yes" : value, error);
}

/* An option at argv[*at]; moves *at on where its value is the next argument. */
static rer_status parse_option(cli_arguments *parsed, const cli_command *command, int argc, char **argv, int *at,
                               rer_error *error)
{
    const char *name = argv[*at] + 2;
    size_t length = strcspn(name, "=");
    const char *value = name[length] == '=' ? name + length + 1 : NULL;
    const rer_option_info *info = find_option(command, name, length, error);
    if (info == NULL)
        return RER_BAD_USAGE;
    if (info->is_flag && value != NULL)
        return fail(error, RER_BAD_USAGE, "--%s takes no value; it is on where it is named", info->name);
    if (!info->is_flag && value == NULL) {
        if (*at + 1 >= argc || strncmp(argv[*at + 1], "--", 2) == 0)
            return fail(error, RER_BAD_USAGE, "--%s needs a value: --%s %s", info->name, info->name, info->metavar);
        value = argv[++*at];
    }
    rer_status status = set_option(parsed, info, value, error);
    while (status == RER_OK && takes_list(info) && *at + 1 < argc && argv[*at + 1][0] != '-')
        status = set_option(parsed, info, argv[++*at], error);
    return status;
}

static rer_status check_files(const cli_arguments *parsed, const cli_command *command, rer_error *error)
{
    if (parsed->n_files < command->files_min)
        return fail(error, RER_BAD_USAGE, "%s: usage: rer %s %s (rer %s --help says more)",
                    parsed->n_files == 0 ? "no input is named" : "an input is missing", command->name, command->usage,
                    command->name);
    return RER_OK;
}

rer_status parse_arguments(cli_arguments *parsed, const cli_command *command, int argc, char **argv, rer_error *error)
{
    bool options_ended = false;
    *parsed = (cli_arguments){0};
    rer_status status = rer_options_new(&parsed->options, error);
    for (int i = 0; status == RER_OK && i < argc; i++) {
        const char *word = argv[i];
        if (!options_ended && strcmp(word, "--") == 0)
            options_ended = true;
        else if (!options_ended && strcmp(word, "-h") == 0)
            parsed->help = true;
        else if (!options_ended && strncmp(word, "--", 2) == 0)
            status = parse_option(parsed, command, argc, argv, &i, error);
        else if (!options_ended && word[0] == '-' && word[1] != 0)
            status = fail(error, RER_BAD_USAGE, "unknown option %s (rer %s --help lists them)", word, command->name);
        else if (parsed->n_files < command->files_max)
            parsed->files[parsed->n_files++] = word;
        else
            status = fail(error, RER_BAD_USAGE, "one file too many: %s; usage: rer %s %s", word, command->name,
                          command->usage);
    }
    return status != RER_OK || parsed->help ? status : check_files(parsed, command, error);
}

void free_arguments(cli_arguments *parsed)
{
    rer_options_free(parsed->options);
}

/* ---- present values ---------------------------------------------------------------------- */

bool option_is(const cli_arguments *arguments, const char *name, const char *text)
{
    char value[256] = "";
    return rer_options_get(arguments->options, name, value, sizeof value, NULL) == RER_OK && strcmp(value, text) == 0;
}

bool option_is_on(const cli_arguments *arguments, const char *name)
{
    bool value = false;
    return rer_options_get_flag(arguments->options, name, &value, NULL) == RER_OK && value;
}

double option_number(const cli_arguments *arguments, const char *name)
{
    double value = NAN;
    (void)rer_options_get_real(arguments->options, name, &value, NULL);
    return value;
}
