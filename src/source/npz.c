/* Members of .npz files, which are zip files of .npy files: libzip finds and uncompresses them.
 *
 * np.savez stores its members as they are, so they can be read in place. libzip does not tell where
 * that is, but it reads the file through our callbacks: the place that it reads the member's first
 * bytes from is the place that we need. */
#include "source/formats.h"

#include <zip.h>

#define PROBE 128 /* bytes compared before a place is believed */
#define CHUNK (1 << 18)

/* ---- the file as libzip sees it ---------------------------------------------------------- */

typedef struct reader {
    const rer_bytes *bytes;
    const char *name;
    int64_t position;
    int64_t last_read; /* where the last read began */
    zip_error_t failure;
} reader;

static zip_int64_t read_piece(reader *r, void *data, zip_uint64_t length)
{
    int64_t count = rer_max(0, r->bytes->size - r->position);
    if (length < (zip_uint64_t)count)
        count = (int64_t)length;
    if (rer_bytes_read(r->bytes, r->position, count, data, r->name, NULL) != RER_OK) {
        zip_error_set(&r->failure, ZIP_ER_READ, 0);
        return -1;
    }
    r->last_read = r->position;
    r->position += count;
    return count;
}

static zip_int64_t seek_to(reader *r, void *data, zip_uint64_t length)
{
    zip_int64_t target = zip_source_seek_compute_offset((zip_uint64_t)r->position, (zip_uint64_t)r->bytes->size, data,
                                                        length, &r->failure);
    if (target < 0)
        return -1;
    r->position = target;
    return 0;
}

static zip_int64_t on_command(void *context, void *data, zip_uint64_t length, zip_source_cmd_t command)
{
    reader *r = context;
    switch (command) {
    case ZIP_SOURCE_OPEN:
        r->position = 0;
        return 0;
    case ZIP_SOURCE_READ:
        return read_piece(r, data, length);
    case ZIP_SOURCE_SEEK:
        return seek_to(r, data, length);
    case ZIP_SOURCE_TELL:
        return r->position;
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE:
        return 0;
    case ZIP_SOURCE_ERROR:
        return zip_error_to_data(&r->failure, data, length);
    case ZIP_SOURCE_STAT: {
        zip_stat_t info;
        zip_stat_init(&info);
        info.size = (zip_uint64_t)r->bytes->size;
        info.valid |= ZIP_STAT_SIZE;
        memcpy(data, &info, sizeof info);
        return sizeof info;
    }
    case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL,
                                              ZIP_SOURCE_CLOSE, ZIP_SOURCE_FREE, ZIP_SOURCE_ERROR, ZIP_SOURCE_STAT,
                                              ZIP_SOURCE_SUPPORTS, -1);
    default:
        zip_error_set(&r->failure, ZIP_ER_OPNOTSUPP, 0);
        return -1;
    }
}

static rer_status open_zip(zip_t **zip, reader *r, rer_error *error)
{
    zip_error_t failure;
    zip_error_init(&failure);
    rer_status status = RER_OK;
    zip_source_t *source = zip_source_function_create(on_command, r, &failure);
    zip_t *opened = source != NULL ? zip_open_from_source(source, ZIP_RDONLY, &failure) : NULL;
    if (opened == NULL) {
        bool memory = zip_error_code_zip(&failure) == ZIP_ER_MEMORY;
        status = rer_fail(error, memory ? RER_SYSTEM : RER_BAD_INPUT, "%s: damaged or truncated zip file: %s", r->name,
                          zip_error_strerror(&failure));
        zip_source_free(source);
    }
    *zip = opened;
    zip_error_fini(&failure);
    return status;
}

/* ---- finding a member -------------------------------------------------------------------- */

/* "'a', 'b', ..." of the members, as far as the buffer reaches. */
static const char *list_members(zip_t *zip, char *buffer, size_t size)
{
    size_t used = 0;
    char quoted[60];
    buffer[0] = 0;
    for (zip_int64_t i = 0; i < zip_get_num_entries(zip, 0); i++) {
        const char *name = zip_get_name(zip, (zip_uint64_t)i, ZIP_FL_ENC_RAW);
        if (name == NULL)
            continue;
        size_t length = strlen(name);
        if (length > 4 && strcmp(name + length - 4, ".npy") == 0)
            length -= 4;
        if (used + sizeof quoted + 16 > size) {
            (void)snprintf(buffer + used, size - used, ", ...");
            break;
        }
        used += (size_t)snprintf(buffer + used, size - used, "%s'%s'", used > 0 ? ", " : "",
                                 rer_quote(quoted, sizeof quoted, name, (int64_t)length));
    }
    return buffer;
}

/* How many members are called `name` + `ending`; *index: the first of them. */
static int64_t members_called(zip_t *zip, const char *name, const char *ending, zip_uint64_t *index)
{
    int64_t count = 0;
    size_t length = strlen(name);
    for (zip_int64_t i = zip_get_num_entries(zip, 0) - 1; i >= 0; i--) {
        const char *other = zip_get_name(zip, (zip_uint64_t)i, ZIP_FL_ENC_RAW);
        if (other == NULL || strncmp(other, name, length) != 0 || strcmp(other + length, ending) != 0)
            continue;
        *index = (zip_uint64_t)i;
        count++;
    }
    return count;
}

/* The member called `name`, else `name`.npy; without a name the only one. */
static rer_status find_member(zip_t *zip, const rer_input *input, zip_uint64_t *index, rer_error *error)
{
    char list[600], quoted[100];
    zip_int64_t count = zip_get_num_entries(zip, 0);
    const char *wanted = input->member != NULL && input->member[0] != 0 ? input->member : NULL;
    if (wanted == NULL) {
        *index = 0;
        if (count == 1)
            return RER_OK;
        return rer_fail(error, RER_BAD_INPUT, "%s: holds %lld arrays; name one as %s:NAME, of %s", input->name,
                        (long long)count, input->file, list_members(zip, list, sizeof list));
    }
    int64_t found = members_called(zip, wanted, "", index);
    if (found == 0)
        found = members_called(zip, wanted, ".npy", index);
    if (found == 1)
        return RER_OK;
    (void)rer_quote(quoted, sizeof quoted, wanted, (int64_t)strlen(wanted));
    if (found > 1) /* numpy would take the last, other programs the first */
        return rer_fail(error, RER_BAD_INPUT, "%s: has %lld members called '%s'; which is meant? Save it with one",
                        input->file, (long long)found, quoted);
    return rer_fail(error, RER_BAD_INPUT, "%s: has no member '%s'; there are %s", input->file, quoted,
                    list_members(zip, list, sizeof list));
}

/* ---- its bytes --------------------------------------------------------------------------- */

static rer_status damaged(const rer_input *input, const char *reason, rer_error *error)
{
    return rer_fail(error, RER_BAD_INPUT, "%s: damaged member of the zip file: %s", input->name, reason);
}

/* Whether the bytes that libzip gave stand at `place` as they are, and the rest of the member fits. */
static bool is_stored_at(const rer_input *input, const zip_stat_t *info, int64_t place, const void *head, int64_t got)
{
    unsigned char probe[PROBE];
    int64_t size = (int64_t)info->size;
    return info->comp_method == ZIP_CM_STORE && got > 0 && size >= got && place <= input->bytes.size - size &&
           rer_bytes_read(&input->bytes, place, got, probe, input->name, NULL) == RER_OK &&
           memcmp(probe, head, (size_t)got) == 0;
}

/* The place of a stored member in the file, which it takes over. */
static void take_stored(rer_bytes *member, rer_input *input, const zip_stat_t *info, int64_t place)
{
    *member = input->bytes;
    member->offset += place;
    member->data = member->data != NULL ? member->data + place : NULL;
    member->size = (int64_t)info->size;
    input->bytes = RER_NO_BYTES;
}

/* Decodes the member, of which chunk [CHUNK] has the first `got` bytes. */
static rer_status decode(rer_bytes *member, zip_file_t *file, unsigned char *chunk, zip_int64_t got,
                         const rer_input *input, rer_error *error)
{
    rer_spool spool = RER_EMPTY_SPOOL;
    rer_status status = RER_OK;
    while (status == RER_OK && got > 0) {
        status = rer_spool_write(&spool, chunk, got, error);
        if (status == RER_OK)
            got = zip_fread(file, chunk, CHUNK);
    }
    if (status == RER_OK && got < 0)
        status = damaged(input, zip_file_strerror(file), error);
    RER_THEN(status, rer_spool_finish(&spool, member, error));
    rer_spool_drop(&spool);
    return status;
}

static rer_status read_member(rer_bytes *member, zip_file_t *file, const zip_stat_t *info, const reader *r,
                              rer_input *input, rer_error *error)
{
    unsigned char *chunk = NULL;
    rer_status status = RER_OK;
    RER_TRY(rer_allocate(&chunk, CHUNK, 1, "a buffer for a zip file", error));
    zip_int64_t got = zip_fread(file, chunk, PROBE);
    if (is_stored_at(input, info, r->last_read, chunk, got))
        take_stored(member, input, info, r->last_read);
    else
        status = decode(member, file, chunk, got, input, error);
    free(chunk);
    return status;
}

static rer_status open_member(rer_bytes *member, zip_t *zip, const reader *r, rer_input *input, rer_error *error)
{
    zip_uint64_t index = 0;
    zip_stat_t info;
    RER_TRY(find_member(zip, input, &index, error));
    zip_file_t *file = zip_fopen_index(zip, index, 0);
    bool is_damaged = file == NULL || zip_stat_index(zip, index, 0, &info) != 0 || info.size > INT64_MAX;
    rer_status status =
        is_damaged ? damaged(input, zip_strerror(zip), error) : read_member(member, file, &info, r, input, error);
    if (file != NULL)
        (void)zip_fclose(file);
    return status;
}

rer_status rer_npz_member(rer_bytes *member, rer_input *input, rer_error *error)
{
    rer_bytes whole = input->bytes; /* libzip reads until it is closed, also when the member took over */
    reader r = {.bytes = &whole, .name = input->name};
    zip_t *zip = NULL;
    zip_error_init(&r.failure);
    rer_status status = open_zip(&zip, &r, error);
    RER_THEN(status, open_member(member, zip, &r, input, error));
    if (zip != NULL)
        zip_discard(zip);
    zip_error_fini(&r.failure);
    return status;
}
