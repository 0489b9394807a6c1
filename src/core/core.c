/* Failing with a message, checked memory, text helpers. */
#include "core/core.h"

#include "core/scratch.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <time.h>

const char *rer_version(void)
{
    return RER_VERSION;
}

void rer_error_clear(rer_error *error)
{
    if (error == NULL)
        return;
    error->status = RER_OK;
    error->message[0] = 0;
}

/* The deepest cause wins: a caller that fails because its callee did adds nothing. */
static void set_error(rer_error *error, rer_status status, const char *format, va_list args, const char *reason)
{
    if (error == NULL || error->status != RER_OK)
        return;
    char text[sizeof error->message];
    error->status = status;
    int used = vsnprintf(text, sizeof text, format, args);
    if (reason != NULL && used >= 0 && (size_t)used < sizeof text)
        (void)snprintf(text + used, sizeof text - (size_t)used, ": %s", reason);
    (void)rer_quote(error->message, sizeof error->message, text, (int64_t)strlen(text));
}

rer_status rer_fail(rer_error *error, rer_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_error(error, status, format, args, NULL);
    va_end(args);
    return status;
}

static rer_status status_of_errno(int code)
{
    switch (code) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
        return RER_BAD_INPUT;
    default:
        return RER_SYSTEM;
    }
}

rer_status rer_fail_errno(rer_error *error, const char *format, ...)
{
    int code = errno;
    char reason[128];
    va_list args;
    va_start(args, format);
    /* POSIX strerror_r: the message is in `reason` or, on failure, still ours to make. */
    if (strerror_r(code, reason, sizeof reason) != 0)
        (void)snprintf(reason, sizeof reason, "system error %d", code);
    set_error(error, status_of_errno(code), format, args, reason);
    va_end(args);
    return status_of_errno(code);
}

/* ---- structs that carry their size ------------------------------------------------------- */

static size_t size_of(const void *sized)
{
    size_t size;
    memcpy(&size, sized, sizeof size);
    return size;
}

rer_status rer_struct_check(const void *room, const char *name, rer_error *error)
{
    enum { MOST = 1 << 16 }; /* none is ever as large: an address, or what was there before */
    if (room == NULL || (size_of(room) > sizeof(size_t) && size_of(room) <= MOST))
        return RER_OK;
    return rer_fail(error, RER_BAD_USAGE, "%s.size is %zu; set it to sizeof(%s)", name, size_of(room), name);
}

rer_status rer_struct_take(void *taken, size_t size, const void *given, const char *name, rer_error *error)
{
    memset(taken, 0, size);
    RER_TRY(rer_struct_check(given, name, error));
    if (given == NULL)
        return RER_OK;
    const unsigned char *bytes = given;
    for (size_t i = size; i < size_of(given); i++)
        if (bytes[i] != 0)
            return rer_fail(error, RER_BAD_USAGE, "%s has members that this version (%s) does not know; leave them out",
                            name, RER_VERSION);
    memcpy(taken, given, size < size_of(given) ? size : size_of(given));
    return RER_OK;
}

void rer_struct_give(void *room, const void *made, size_t size)
{
    if (room == NULL)
        return;
    size_t whole = size_of(room), known = size < whole ? size : whole;
    memset((unsigned char *)room + sizeof whole, 0, whole - sizeof whole);
    memcpy((unsigned char *)room + sizeof whole, (const unsigned char *)made + sizeof whole, known - sizeof whole);
}

bool rer_product(int64_t a, int64_t b, int64_t *out)
{
    return a >= 0 && b >= 0 && !__builtin_mul_overflow(a, b, out);
}

/* Large arrays are gone through from end to end: in large pages the first touch costs a tenth. */
enum { LARGE_PAGE = 2 << 20 };

static bool is_large(int64_t bytes)
{
    return bytes >= 2 * LARGE_PAGE;
}

void *rer_memory(int64_t bytes)
{
    void *memory = NULL;
    bool large = is_large(bytes);
    if (posix_memalign(&memory, large ? LARGE_PAGE : 64, (size_t)rer_max(bytes, 1)) != 0)
        return NULL;
#if defined(MADV_HUGEPAGE)
    if (large)
        (void)madvise(memory, (size_t)bytes, MADV_HUGEPAGE);
#endif
    return memory;
}

/* The system clears the pages of large memory when they are touched: by all threads then, where memset would by one. */
static void clear(void *memory, int64_t bytes)
{
    int64_t given = 0;
#if defined(__linux__)
    if (is_large(bytes) && madvise(memory, (size_t)(bytes / LARGE_PAGE * LARGE_PAGE), MADV_DONTNEED) == 0)
        given = bytes / LARGE_PAGE * LARGE_PAGE;
#endif
    memset((char *)memory + given, 0, (size_t)(bytes - given));
}

static rer_status make_room(const rer_room *room, const char *what, rer_error *error)
{
    int64_t bytes = 0;
    if (!rer_product(room->count, room->item_size, &bytes) || bytes > INT64_MAX - 64)
        return rer_fail(error, RER_SYSTEM, "%s: %lld items of %lld bytes are more than this machine can address", what,
                        (long long)room->count, (long long)room->item_size);
    void *memory = rer_memory(bytes);
    if (memory == NULL)
        return rer_fail(error, RER_SYSTEM, "out of memory: %s needs %lld bytes", what, (long long)bytes);
    if (!room->unset)
        clear(memory, rer_max(bytes, 1));
    *(void **)room->out = memory;
    return RER_OK;
}

rer_status rer_allocate(void *out, int64_t count, int64_t item_size, const char *what, rer_error *error)
{
    return make_room(&(rer_room){.out = out, .count = count, .item_size = item_size}, what, error);
}

rer_status rer_allocate_all(const rer_room *rooms, int count, const char *what, rer_error *error)
{
    for (int made = 0; made < count; made++) {
        rer_status status = make_room(&rooms[made], what, error);
        if (status == RER_OK)
            continue;
        while (made-- > 0) {
            free(*(void **)rooms[made].out);
            *(void **)rooms[made].out = NULL;
        }
        return status;
    }
    return RER_OK;
}

void rer_free_all(void *const *pointers, int count)
{
    for (int i = 0; i < count; i++)
        free(pointers[i]);
}

char rer_nowhere[64];

void rer_scratch_overrun(const rer_scratch *scratch, int64_t bytes)
{
    (void)fprintf(stderr, "rer: %lld bytes of scratch taken of %lld that are left of %lld: report this as a bug\n",
                  (long long)bytes, (long long)(scratch->size - scratch->used), (long long)scratch->size);
    abort();
}

rer_status rer_grow(void *array, int64_t *capacity, int64_t needed, int64_t item_size, const char *what,
                    rer_error *error)
{
    if (needed <= *capacity)
        return RER_OK;
    int64_t count = rer_max(rer_max(needed, 64), *capacity + *capacity / 2);
    int64_t bytes = 0;
    void *grown = rer_product(count, item_size, &bytes) ? realloc(*(void **)array, (size_t)bytes) : NULL;
    if (grown == NULL)
        return rer_fail(error, RER_SYSTEM, "out of memory: %s needs %lld items of %lld bytes", what, (long long)count,
                        (long long)item_size);
    *(void **)array = grown;
    *capacity = count;
    return RER_OK;
}

int64_t rer_place_of(const int64_t *rows, int64_t count, int64_t row)
{
    int64_t low = 0, high = count;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (rows[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

rer_status rer_copy_text(char **out, const char *text, rer_error *error)
{
    *out = strdup(text);
    return *out != NULL ? RER_OK : rer_fail(error, RER_SYSTEM, "out of memory: a text of %zu bytes", strlen(text));
}

int rer_utf8_length(const char *text, int64_t left)
{
    const unsigned char *bytes = (const unsigned char *)text;
    unsigned char a = bytes[0];
    if (a < 0x80)
        return 1;
    int length = a >= 0xF0 ? 4 : a >= 0xE0 ? 3 : 2;
    if (a < 0xC2 || a > 0xF4 || left < length)
        return 0;
    for (int i = 1; i < length; i++)
        if ((bytes[i] & 0xC0) != 0x80)
            return 0;
    bool overlong = (a == 0xE0 && bytes[1] < 0xA0) || (a == 0xF0 && bytes[1] < 0x90);
    bool surrogate = a == 0xED && bytes[1] > 0x9F;
    bool too_large = a == 0xF4 && bytes[1] > 0x8F;
    return overlong || surrogate || too_large ? 0 : length;
}

bool rer_is_utf8(const char *text, int64_t length)
{
    for (int64_t i = 0; i < length;) {
        int step = rer_utf8_length(text + i, length - i);
        if (step == 0)
            return false;
        i += step;
    }
    return true;
}

int64_t rer_utf8_decode(const char *text, uint32_t *out)
{
    int64_t count = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at != 0; count++) {
        int more = *at >= 0xF0 ? 3 : *at >= 0xE0 ? 2 : *at >= 0xC0 ? 1 : 0;
        uint32_t point = more == 0 ? *at : *at & (0x3FU >> more);
        for (at++; more > 0; more--, at++)
            point = point << 6 | (*at & 0x3FU);
        if (out != NULL)
            out[count] = point;
    }
    return count;
}

/* Control characters, and those that change the direction or the lines of what follows. */
static bool is_harmful(const unsigned char *bytes, int length)
{
    if (length != 2 && length != 3)
        return length == 0 || (length == 1 && (bytes[0] < 0x20 || bytes[0] == 0x7F));
    unsigned point = length == 2 ? (bytes[0] & 0x1FU) << 6 | (bytes[1] & 0x3FU)
                                 : (bytes[0] & 0xFU) << 12 | (bytes[1] & 0x3FU) << 6 | (bytes[2] & 0x3FU);
    return point < 0xA0 || point == 0x61C || (point >= 0x200B && point <= 0x200F) ||
           (point >= 0x2028 && point <= 0x202E) || (point >= 0x2060 && point <= 0x206F) || point == 0xFEFF;
}

const char *rer_quote(char *buffer, int64_t size, const char *text, int64_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    int64_t used = 0;
    for (int64_t i = 0; i < length;) {
        int step = rer_utf8_length(text + i, length - i);
        if (used + 8 > size) { /* no room for one more and the ellipsis */
            memcpy(buffer + used, "...", 3);
            used += 3;
            break;
        }
        if (is_harmful(bytes + i, step)) {
            used += snprintf(buffer + used, (size_t)(size - used), "\\x%02x", bytes[i]);
            i++;
        } else {
            memcpy(buffer + used, bytes + i, (size_t)step);
            used += step;
            i += step;
        }
    }
    buffer[used] = 0;
    return buffer;
}

uint64_t rer_checksum(uint64_t hash, const void *data, int64_t bytes)
{
    for (int64_t i = 0; i < bytes; i += 8) {
        uint64_t word = 0;
        memcpy(&word, (const char *)data + i, (size_t)rer_min(8, bytes - i));
        hash = (hash ^ word) * 0x100000001B3u;
        hash ^= hash >> 32; /* else high bits never reach low ones */
    }
    return hash;
}

double rer_now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}
