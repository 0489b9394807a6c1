/* What would be lost if it were written: an output must not take the place of an input or of another output. Files are
 * the same where device and inode are; links are seen through. */
#include "cli.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PLACES_MAX = FILES_MAX + LIST_MAX + 16, NAME_MOST = 256 };

typedef struct place {
    const char *option, *path; /* as the user wrote them; option NULL: an argument */
    bool exists, is_results;   /* is_results: a folder that is replaced as a whole */
    bool is_beside;            /* not `path` itself, but what is written beside it */
    struct stat file, parent;
    char name[NAME_MOST]; /* in its parent */
} place;

typedef struct places {
    place item[PLACES_MAX];
    int count;
} places;

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The file of X.npz:name, data.h5:/path or texts.csv:column. */
static char *find_real(const char *path)
{
    char *file = strdup(path), *real = file != NULL ? realpath(file, NULL) : NULL, *colon;
    while (file != NULL && real == NULL && (colon = strrchr(file, ':')) != NULL) {
        *colon = 0;
        real = realpath(file, NULL);
    }
    free(file);
    return real != NULL ? real : strdup(path);
}

/* Devices and pipes are nobody's place. */
static bool matters(const struct stat *found)
{
    return S_ISREG(found->st_mode) || S_ISDIR(found->st_mode);
}

static void add_place(places *list, const char *option, const char *path)
{
    if (path == NULL || list->count == PLACES_MAX)
        return;
    place *made = &list->item[list->count];
    *made = (place){.option = option, .path = path};
    if (strcmp(path, "-") == 0) {
        made->exists = fstat(STDIN_FILENO, &made->file) == 0;
        list->count += made->exists && matters(&made->file);
        return;
    }
    char *real = find_real(path);
    if (real == NULL)
        return;
    made->exists = stat(real, &made->file) == 0;
    for (size_t length = strlen(real); length > 1 && real[length - 1] == '/'; length--)
        real[length - 1] = 0;
    char *slash = strrchr(real, '/');
    (void)snprintf(made->name, sizeof made->name, "%s", slash != NULL ? slash + 1 : real);
    if (slash != NULL)
        slash[slash == real ? 1 : 0] = 0;
    bool has_parent = stat(slash != NULL ? real : ".", &made->parent) == 0;
    list->count += made->exists ? matters(&made->file) : has_parent;
    free(real);
}

static void add_inputs(places *list, const cli_arguments *arguments)
{
    bool names_groups = arguments->groups != NULL && strcmp(arguments->groups, "duplicates") != 0;
    for (int i = 0; i < arguments->n_files; i++)
        add_place(list, NULL, arguments->files[i]);
    for (int i = 0; i < arguments->humans.count; i++)
        add_place(list, "--human", arguments->humans.item[i]);
    add_place(list, "--labels", arguments->labels);
    add_place(list, "--classes", arguments->classes);
    add_place(list, "--class-names", arguments->class_names);
    add_place(list, "--ids", arguments->ids);
    add_place(list, "--images", arguments->images);
    add_place(list, "--texts", arguments->texts);
    add_place(list, "--features", arguments->features);
    add_place(list, "--human", arguments->human);
    add_place(list, "--subsets", arguments->subsets);
    add_place(list, "--groups", names_groups ? arguments->groups : NULL);
    add_place(list, "--pred-probs", arguments->pred_probs);
    add_place(list, "--error-rates", arguments->error_rates);
    add_place(list, "--class-embeddings", arguments->class_embeddings);
    add_place(list, "--model", arguments->model);
}

/* What a command writes beside X.npy, X_ids.csv for instance. */
static void add_beside(places *list, const char *out, const char *const *endings)
{
    char name[PATH_MAX];
    size_t length = strlen(out), ending = strlen(".npy");
    if (length > ending && strcmp(out + length - ending, ".npy") == 0)
        length -= ending;
    for (; *endings != NULL; endings++) {
        int before = list->count;
        (void)snprintf(name, sizeof name, "%.*s%s", (int)length, out, *endings);
        add_place(list, "--out", name);
        list->item[before].path = out;
        list->item[before].is_beside = true;
    }
}

static void add_outputs(places *list, const cli_arguments *arguments, const cli_command *command)
{
    add_place(list, "--out", arguments->out);
    list->item[0].is_results = list->count > 0 && command->results != NULL;
    if (arguments->out != NULL && command->beside != NULL)
        add_beside(list, arguments->out, command->beside);
    add_place(list, "--errors", arguments->errors);
    add_place(list, "--save-model", arguments->save_model);
    add_place(list, "--weights", arguments->weights);
    add_place(list, "--export", arguments->export);
}

static bool lies_in(const place *inner, const place *folder)
{
    return folder->exists && S_ISDIR(folder->file.st_mode) && is_same(&inner->parent, &folder->file);
}

/* None of ours is one, but folders of them are inputs, however deep it lies there. */
static rer_status check_picture(const place *output, rer_error *error)
{
    static const char *const endings[] = {".jpg", ".jpeg", ".png", ".webp"};
    const char *ending = strrchr(output->name, '.');
    for (size_t i = 0; i < sizeof endings / sizeof *endings && output->exists && ending != NULL; i++)
        if (strcasecmp(ending, endings[i]) == 0)
            return fail(error, RER_BAD_USAGE, "%s %s: would replace a picture; name another output", output->option,
                        output->path);
    return RER_OK;
}

static rer_status check_input(const place *output, const place *input, rer_error *error)
{
    const char *relation = NULL;
    if (!output->exists || !input->exists)
        return RER_OK;
    if (is_same(&output->file, &input->file))
        relation = output->is_beside ? "what is written beside it would replace the input" : "is the input";
    else if (output->is_results && lies_in(input, output))
        relation = "would be replaced with all that is in it, also with the input";
    else if (lies_in(output, input))
        relation = "is a file of the input";
    if (relation == NULL)
        return RER_OK;
    return fail(error, RER_BAD_USAGE, "%s %s: %s %s; name another output", output->option, output->path, relation,
                input->path);
}

static rer_status check_pair(const place *a, const place *b, rer_error *error)
{
    bool same = a->exists && b->exists ? is_same(&a->file, &b->file)
                                       : is_same(&a->parent, &b->parent) && strcmp(a->name, b->name) == 0;
    if (same)
        return fail(error, RER_BAD_USAGE, "%s %s and %s %s are the same; name two", a->option, a->path, b->option,
                    b->path);
    if (a->is_results && lies_in(b, a))
        return fail(error, RER_BAD_USAGE, "%s %s: lies in %s %s, which is replaced as a whole; name a place outside",
                    b->option, b->path, a->option, a->path);
    return RER_OK;
}

static rer_status check_places(const places *outputs, const places *inputs, rer_error *error)
{
    rer_status status = RER_OK;
    for (int o = 0; o < outputs->count; o++) {
        if (status == RER_OK)
            status = check_picture(&outputs->item[o], error);
        for (int i = 0; i < inputs->count && status == RER_OK; i++)
            status = check_input(&outputs->item[o], &inputs->item[i], error);
        for (int p = o + 1; p < outputs->count && status == RER_OK; p++)
            status = check_pair(&outputs->item[o], &outputs->item[p], error);
    }
    return status;
}

rer_status check_outputs(const cli_arguments *arguments, const cli_command *command, rer_error *error)
{
    const char *files[] = {command->results == NULL ? arguments->out : NULL, arguments->errors, arguments->save_model,
                           arguments->weights, arguments->export};
    places *lists = calloc(2, sizeof *lists);
    if (lists == NULL)
        return fail(error, RER_SYSTEM, "out of memory");
    add_outputs(&lists[0], arguments, command);
    add_inputs(&lists[1], arguments);
    rer_status status = check_places(&lists[0], &lists[1], error);
    free(lists);
    if (status == RER_OK && command->results != NULL && arguments->out != NULL)
        status = rer_check_output(arguments->out, command->results, error);
    for (size_t i = 0; i < sizeof files / sizeof *files && status == RER_OK; i++)
        if (files[i] != NULL)
            status = rer_check_output(files[i], NULL, error);
    return status;
}
