/* The files of a data set as JSON: see inputs.h. */
#include "source/inputs.h"

#include "core/json.h"
#include "core/manifest.h"

#include <jansson.h>
#include <limits.h>
#include <unistd.h>

#define OF_FILES(member)                                                                                               \
    {                                                                                                                  \
#member, offsetof(rer_files, member), true                                                                     \
    }
#define OF_COLUMN(member)                                                                                              \
    {                                                                                                                  \
#member, offsetof(rer_files, member), false                                                                    \
    }

static const struct {
    const char *name;
    size_t offset;
    bool is_path;
} members[] = {
    OF_FILES(features),   OF_FILES(labels),  OF_COLUMN(label_column),    OF_FILES(class_names),     OF_FILES(ids),
    OF_FILES(pred_probs), OF_FILES(subsets), OF_FILES(class_embeddings), OF_FILES(images),          OF_FILES(texts),
    OF_FILES(groups),     OF_FILES(model),   OF_FILES(classes),          OF_COLUMN(class_template),
};

static bool is_relative(int i, const char *text)
{
    bool is_word = members[i].offset == offsetof(rer_files, groups) && strcmp(text, "duplicates") == 0;
    return members[i].is_path && text[0] != '/' && text[0] != '-' && !is_word;
}

rer_status rer_inputs_text(char **text, const rer_files *files, rer_error *error)
{
    rer_writer writer;
    rer_json json = {.writer = &writer};
    char here[PATH_MAX], *path = NULL;
    if (getcwd(here, sizeof here) == NULL)
        here[0] = 0; /* the folder is gone: names stay as they are */
    rer_writer_start(&writer, NULL, error);
    rer_json_object(&json, NULL);
    for (int i = 0; i < RER_COUNT(members); i++) {
        const char *name = *(const char *const *)(const void *)((const char *)files + members[i].offset);
        bool is_joined = name != NULL && here[0] != 0 && is_relative(i, name);
        if (is_joined && rer_writer_ok(&writer, rer_join_path(&path, here, name, error)))
            name = path;
        if (name != NULL)
            rer_json_text(&json, members[i].name, name);
        free(path);
        path = NULL;
    }
    rer_json_end(&json);
    return rer_writer_end_memory(&writer, text);
}

static bool is_waited_for(const char *path)
{
    return strcmp(path, "-") == 0 || rer_path_is_waited_for(path);
}

/* Each beginning of FILE:MEMBER may be the file. */
static rer_status check_plain(const char *name, const char *path, rer_error *error)
{
    char *file = NULL;
    rer_status status = rer_copy_text(&file, name, error);
    bool is_plain = status == RER_OK && !is_waited_for(file);
    for (char *colon = is_plain ? strchr(file, ':') : NULL; colon != NULL && is_plain; colon = strchr(colon + 1, ':')) {
        *colon = 0;
        is_plain = !is_waited_for(file);
        *colon = ':';
    }
    if (status == RER_OK && !is_plain)
        status = rer_fail(error, RER_BAD_INPUT, "%s: names '%s', which is no file", path, RER_QUOTED(name));
    free(file);
    return status;
}

rer_status rer_inputs_read(rer_inputs *inputs, const char *path, rer_error *error)
{
    json_error_t cause;
    if (rer_path_is_waited_for(path))
        return rer_fail(error, RER_BAD_INPUT, "%s: is no file", path);
    json_t *root = json_load_file(path, 0, &cause);
    if (root == NULL)
        return rer_fail(error, RER_BAD_INPUT, "%s: cannot be read (%s)", path, cause.text);
    *inputs = (rer_inputs){.files = {.size = sizeof inputs->files}, .names = root};
    for (int i = 0; i < RER_COUNT(members); i++) {
        const char **member = (const char **)(void *)((char *)&inputs->files + members[i].offset);
        *member = json_string_value(json_object_get(root, members[i].name));
        if (*member != NULL && members[i].is_path)
            RER_TRY(check_plain(*member, path, error));
    }
    return RER_OK;
}

void rer_inputs_free(rer_inputs *inputs)
{
    json_decref(inputs->names);
    *inputs = (rer_inputs){0};
}
