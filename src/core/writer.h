/* Buffered text for files. The first failure sticks: later calls do nothing, and rer_writer_end returns it, so that
 * a page of output needs one check. */
#pragma once

#include "core/output.h"

#define RER_NUMBER_MAX 40 /* bytes that rer_format_number needs at most */

typedef struct rer_writer {
    rer_output *output; /* NULL: into memory */
    char *text;         /* what was flushed to memory */
    int64_t length, capacity;
    rer_error *error;
    rer_status status;
    bool in_page;          /* rer_frame_start was here: charts are parts of a page, and no files of their own */
    bool in_line;          /* of a .csv: the next cell needs a comma */
    bool spreadsheet_safe; /* texts of a .csv that a spreadsheet would take for a formula begin with an apostrophe */
    int64_t put;           /* bytes that have gone out, and their CRC-32 */
    uint32_t crc32;
    int64_t used;
    char buffer[1 << 16];
} rer_writer;

void rer_writer_start(rer_writer *writer, rer_output *output, rer_error *error); /* output NULL: into memory */
/* Another step's failure sticks too; true where nothing has failed so far. Where it is false, what that step made
 * may be there all the same: free it. */
bool rer_writer_ok(rer_writer *writer, rer_status status);
rer_status rer_writer_end(rer_writer *writer);
rer_status rer_writer_end_memory(rer_writer *writer, char **text); /* ends in a zero; free() it */

void rer_put_bytes(rer_writer *writer, const char *bytes, int64_t count);
/* What another writer has left in memory (rer_writer_end_memory): its checksum is not made again. */
void rer_put_written(rer_writer *writer, const rer_writer *from, const char *text);
void rer_put(rer_writer *writer, const char *text);
/* Several texts, none of them NULL, one after the other. */
void rer_put_texts(rer_writer *writer, const char *const *texts);
#define rer_puts(writer, ...) rer_put_texts(writer, (const char *const[]){__VA_ARGS__, NULL})
void rer_put_integer(rer_writer *writer, int64_t value);
/* A float32 that reads back as it was; nothing for NaN. */
void rer_put_number(rer_writer *writer, double value);
/* printf of numbers; the result must be shorter than 128 bytes. */
void rer_put_format(rer_writer *writer, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Integer with commas between thousands; share as a percentage, a dash where it is no number. */
void rer_put_count(rer_writer *writer, int64_t value);
void rer_put_percent(rer_writer *writer, double share);
/* Three decimals, for people; a dash for what is no number. */
void rer_put_decimal(rer_writer *writer, double value);
/* User text in HTML and SVG, as text or attribute. NULL writes nothing. What is no character there (control
 * characters, malformed UTF-8) becomes U+FFFD. */
void rer_put_html(rer_writer *writer, const char *text);
void rer_put_base64(rer_writer *writer, const unsigned char *bytes, int64_t count);

/* Cells of a .csv (RFC 4180), with commas between them, and the end of a line. NULL, NaN and what is infinite are
 * empty. */
void rer_csv_text(rer_writer *writer, const char *text);
void rer_csv_integer(rer_writer *writer, int64_t value);
void rer_csv_number(rer_writer *writer, double value); /* as rer_put_number */
void rer_csv_real(rer_writer *writer, double value, int digits);
void rer_csv_bool(rer_writer *writer, bool value);
void rer_csv_integers(rer_writer *writer, const int64_t *values, int64_t count); /* in one cell, blanks between */
void rer_csv_end(rer_writer *writer);

/* The header of a .npy in native byte order: kind 'f', 'i', 'u', 'S' or 'U', items of `size` bytes, shape [rank]; the
 * data follow by rer_put_bytes. */
void rer_put_npy_header(rer_writer *writer, char kind, int64_t size, int32_t rank, const int64_t *shape);

/* The shortest text of at most 9 digits that reads back as the same float32; returns its length. */
int rer_format_number(char *out, float value);
