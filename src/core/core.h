/* What every file uses: failing with a message, checked memory, checked products, and the headers of C for numbers and
 * texts. */
#pragma once

#include "rer_studies.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What every public function that takes an error begins with: a failure of an earlier call is no cause of this. */
void rer_error_clear(rer_error *error);

/* Fills `error` (may be NULL) unless a deeper cause has filled it already; returns `status`. */
rer_status rer_fail(rer_error *error, rer_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4), nonnull(3)));
/* The same for a failed system call: appends strerror(errno); ENOMEM and the like are RER_SYSTEM. */
rer_status rer_fail_errno(rer_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Steps one after the other. RER_TRY returns a step's failure: where nothing is left to free. RER_THEN takes a step
 * unless one has failed, for those that free at their end: `status` keeps the first failure. */
#define RER_TRY(step)                                                                                                  \
    do {                                                                                                               \
        rer_status step_status = (step);                                                                               \
        if (step_status != RER_OK)                                                                                     \
            return step_status;                                                                                        \
    } while (0)
#define RER_THEN(status, step) ((status) = (status) == RER_OK ? (step) : (status))

/* Structs of the caller's that begin with their size, which a program built for another version has otherwise.
 * `taken` [size] becomes what the caller gave, zeros past its end; NULL is all zeros. Members that this library
 * does not know must be zero. `name` is the type's. */
rer_status rer_struct_take(void *taken, size_t size, const void *given, const char *name, rer_error *error);
/* The other way: fills as much as the caller has room for, zeros where that is more. NULL is left alone. */
rer_status rer_struct_check(const void *room, const char *name, rer_error *error);
void rer_struct_give(void *room, const void *made, size_t size);

/* 64-byte aligned memory, not zeroed; NULL: there is none. free() it. */
void *rer_memory(int64_t bytes);
/* Zeroed, 64-byte aligned memory for `count` items; `what` names it in the message. free() it. */
rer_status rer_allocate(void *out, int64_t count, int64_t item_size, const char *what, rer_error *error);
/* Several at once, all or none: where one fails, those before it are NULL again. */
typedef struct rer_room {
    void *out; /* address of the pointer */
    int64_t count, item_size;
    bool unset; /* not zeroed: who writes all of it is the first to touch its pages, in parallel perhaps */
} rer_room;
#define RER_ROOM_OF(pointer, count, item_size, unset)                                                                  \
    {                                                                                                                  \
        &(pointer), (count), (item_size), (unset)                                                                      \
    }
#define RER_ROOM(pointer, count) RER_ROOM_OF(pointer, count, sizeof *(pointer), false)
#define RER_UNSET(pointer, count) RER_ROOM_OF(pointer, count, sizeof *(pointer), true)
#define RER_COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
rer_status rer_allocate_all(const rer_room *rooms, int count, const char *what, rer_error *error);
/* Frees several pointers, each of which may be NULL. */
#define RER_FREE_ALL(...) rer_free_all((void *[]){__VA_ARGS__}, RER_COUNT(((void *[]){__VA_ARGS__})))
void rer_free_all(void *const *pointers, int count);
/* Grows *array (capacity items) so that `needed` items fit; contents are kept. */
rer_status rer_grow(void *array, int64_t *capacity, int64_t needed, int64_t item_size, const char *what,
                    rer_error *error);
rer_status rer_copy_text(char **out, const char *text, rer_error *error);

/* How many of rows [count], ascending, are smaller than `row`: its place, where it is among them. */
int64_t rer_place_of(const int64_t *rows, int64_t count, int64_t row);

/* *out = a * b, false on overflow or a negative factor. */
bool rer_product(int64_t a, int64_t b, int64_t *out);

/* Quotes user text for a message: control characters and invalid UTF-8 become \xNN, long text is
 * cut. Returns `buffer`. */
const char *rer_quote(char *buffer, int64_t size, const char *text, int64_t length);
/* The same of a whole text, for the arguments of rer_fail. */
#define RER_QUOTED(text) rer_quote((char[80]){0}, 80, text, (int64_t)strlen(text))

/* Bytes of the UTF-8 character at `text` of which `left` bytes are left, 0 where it is malformed (RFC 3629). */
int rer_utf8_length(const char *text, int64_t left);
bool rer_is_utf8(const char *text, int64_t length);
/* Characters of UTF-8 text as UCS-4; returns how many. `out` may be NULL. */
int64_t rer_utf8_decode(const char *text, uint32_t *out);

static inline int64_t rer_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
static inline int64_t rer_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* FNV-1a over words of 64 bits, the last one filled up with zeros; begin with RER_CHECKSUM_START. */
#define RER_CHECKSUM_START 0xCBF29CE484222325u
uint64_t rer_checksum(uint64_t hash, const void *data, int64_t bytes);

double rer_now(void); /* seconds, monotonic */
