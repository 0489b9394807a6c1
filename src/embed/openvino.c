/* Finding and loading OpenVINO: RER_OPENVINO, then the active Python environment, then where the system looks. */
#define _GNU_SOURCE /* dladdr */
#include "embed/openvino.h"

#include <dlfcn.h>
#include <glob.h>
#include <unistd.h>

#define LIBRARY "libopenvino_c.so*"

/* The first file that a pattern of the shell matches and that can be loaded. */
static void *load_first(const char *pattern)
{
    glob_t found;
    void *library = NULL;
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && library == NULL; i++)
            library = dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
    globfree(&found);
    return library;
}

static void *load_below(const char *folder, const char *below)
{
    char pattern[4096];
    if (folder == NULL || folder[0] == 0)
        return NULL;
    int length = snprintf(pattern, sizeof pattern, "%s%s", folder, below);
    return length > 0 && length < (int)sizeof pattern ? load_first(pattern) : NULL;
}

/* The folders of the environment whose python3 comes first in PATH: activated or named by its full path. */
static void *load_from_path(void)
{
    const char *path = getenv("PATH");
    void *library = NULL;
    for (size_t length; path != NULL && *path != 0 && library == NULL; path += length + (path[length] != 0)) {
        char folder[2048];
        length = strcspn(path, ":");
        if (length >= 4 && length < sizeof folder && strncmp(path + length - 4, "/bin", 4) == 0) {
            (void)snprintf(folder, sizeof folder, "%.*s", (int)length - 4, path);
            library = load_below(folder, "/lib/python3*/site-packages/openvino/libs/" LIBRARY);
        }
    }
    return library;
}

static void *load_anywhere(void)
{
    static const char in_environment[] = "/lib/python3*/site-packages/openvino/libs/" LIBRARY;
    void *library = load_below(getenv("VIRTUAL_ENV"), in_environment);
    if (library == NULL)
        library = load_below(getenv("CONDA_PREFIX"), in_environment);
    if (library == NULL)
        library = load_from_path();
    if (library == NULL)
        library = load_below(getenv("HOME"), "/.local/lib/python3*/site-packages/openvino/libs/" LIBRARY);
    if (library == NULL)
        library = load_first("/usr/local/lib/python3*/dist-packages/openvino/libs/" LIBRARY);
    return library != NULL ? library : dlopen("libopenvino_c.so", RTLD_NOW | RTLD_LOCAL);
}

static void *load(const char **named)
{
    *named = getenv("RER_OPENVINO");
    if (*named == NULL || **named == 0)
        return load_anywhere();
    void *library = dlopen(*named, RTLD_NOW | RTLD_LOCAL); /* the library, its folder, or the package */
    if (library == NULL)
        library = load_below(*named, "/" LIBRARY);
    return library != NULL ? library : load_below(*named, "/libs/" LIBRARY);
}

/* The first type of 4 bytes is float32, in all versions. */
static bool find_types(openvino *ov)
{
    int64_t one = 1;
    ov_shape shape = {0};
    bool found = ov->ov_shape_create(1, &one, &shape) != 0;
    for (int type = 1; type < 8 && !found; type++) {
        void *tensor = NULL;
        size_t bytes = 0;
        if (ov->ov_tensor_create(type, shape, &tensor) == 0 && ov->ov_tensor_get_byte_size(tensor, &bytes) == 0)
            found = bytes == sizeof(float);
        ov->ov_tensor_free(tensor);
        ov->float32 = type;
    }
    (void)ov->ov_shape_free(&shape);
    return found;
}

rer_status rer_openvino_load(openvino *ov, rer_error *error)
{
    const char *named = NULL, *missing = NULL;
    *ov = (openvino){.library = load(&named)};
    if (ov->library == NULL && named != NULL && *named != 0)
        return rer_fail(
            error, RER_BAD_USAGE,
            "RER_OPENVINO=%s: is neither libopenvino_c.so nor a folder with it (the package's folder openvino)", named);
    if (ov->library == NULL)
        return rer_fail(error, RER_SYSTEM,
                        "a model needs OpenVINO, which is not there: pip install openvino openvino-tokenizers, in an "
                        "environment that is active, or name its folder by RER_OPENVINO");
#define FIND(result, name, arguments)                                                                                  \
    *(void **)(void *)&ov->name = dlsym(ov->library, #name);                                                           \
    if (ov->name == NULL)                                                                                              \
        missing = #name;
    OPENVINO_FUNCTIONS(FIND)
#undef FIND
    if (missing != NULL || !find_types(ov)) {
        (void)dlclose(ov->library);
        ov->library = NULL;
        return rer_fail(error, RER_SYSTEM, "this OpenVINO has no %s: a newer one is needed (pip install -U openvino)",
                        missing != NULL ? missing : "tensors of float32");
    }
    return RER_OK;
}

/* Its messages may have many lines: what matters stands in the last ones. */
rer_status rer_openvino_check(const openvino *ov, int result, const char *name, const char *what, rer_error *error)
{
    if (result == 0)
        return RER_OK;
    const char *message = ov->ov_get_last_err_msg();
    size_t length = message != NULL ? strlen(message) : 0;
    return rer_fail(error, RER_BAD_INPUT, "%s: %s: OpenVINO says (status %d) %s", name, what, result,
                    length == 0 ? "nothing more" : message + (length > 500 ? length - 500 : 0));
}

/* The folder that lies `up` folders above a file. */
static void go_up(char *path, int up)
{
    for (char *slash; up > 0 && (slash = strrchr(path, '/')) != NULL; up--)
        *slash = 0;
}

rer_status rer_openvino_tokenizers(char **path, const openvino *ov, rer_error *error)
{
    static const char below[] = "/openvino_tokenizers/lib/libopenvino_tokenizers.so";
    Dl_info here;
    char *found = NULL;
    if (dladdr(*(void *const *)(const void *)&ov->ov_core_create, &here) == 0)
        return rer_fail(error, RER_SYSTEM, "OpenVINO was loaded from nowhere");
    RER_TRY(rer_allocate(&found, (int64_t)(strlen(here.dli_fname) + sizeof below), 1, "a path", error));
    strcpy(found, here.dli_fname);
    go_up(found, 3); /* site-packages/openvino/libs/libopenvino_c.so */
    strcat(found, below);
    rer_status status = RER_OK;
    if (access(found, R_OK) != 0)
        status =
            rer_fail(error, RER_SYSTEM, "%s: texts need it: pip install openvino-tokenizers, beside openvino", found);
    if (status == RER_OK)
        *path = found;
    else
        free(found);
    return status;
}
