/* Members of a struct by their names, so that a table of them serves .json and .csv alike. */
#pragma once

#include "core/writer.h"

typedef enum rer_field_kind {
    RER_FIELD_REAL,
    RER_FIELD_INT32,
    RER_FIELD_INT64,
    RER_FIELD_BOOL,
    RER_FIELD_TEXT,
} rer_field_kind;

typedef struct rer_field {
    const char *name;
    rer_field_kind kind;
    size_t offset;
} rer_field;

/* The kind is what the member's type says. */
/* clang-format off */
#define RER_FIELD_KIND(member)                                                                                         \
    _Generic((member), double: RER_FIELD_REAL, int32_t: RER_FIELD_INT32, int64_t: RER_FIELD_INT64,                     \
             bool: RER_FIELD_BOOL, char *: RER_FIELD_TEXT, const char *: RER_FIELD_TEXT)
#define RER_FIELD_AS(name, type, member) {name, RER_FIELD_KIND(((type *)0)->member), offsetof(type, member)}
/* clang-format on */
#define RER_FIELD(type, member) RER_FIELD_AS(#member, type, member)

/* A table and its length, as two arguments. */
#define RER_FIELDS(table) (table), RER_COUNT(table)

typedef struct rer_field_value {
    double real;
    int64_t integer;
    const char *text;
} rer_field_value;

rer_field_value rer_field_read(const rer_field *field, const void *from);

/* Cells of a .csv; reals of 9 digits. */
void rer_csv_names(rer_writer *writer, const rer_field *fields, int count);
void rer_csv_fields(rer_writer *writer, const rer_field *fields, int count, const void *from);
