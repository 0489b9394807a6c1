/* Members of a struct by their names: see fields.h. */
#include "core/fields.h"

rer_field_value rer_field_read(const rer_field *field, const void *from)
{
    const void *at = (const char *)from + field->offset;
    switch (field->kind) {
    case RER_FIELD_REAL:
        return (rer_field_value){.real = *(const double *)at};
    case RER_FIELD_INT32:
        return (rer_field_value){.integer = *(const int32_t *)at};
    case RER_FIELD_INT64:
        return (rer_field_value){.integer = *(const int64_t *)at};
    case RER_FIELD_BOOL:
        return (rer_field_value){.integer = *(const bool *)at};
    default:
        return (rer_field_value){.text = *(char *const *)at};
    }
}

void rer_csv_names(rer_writer *writer, const rer_field *fields, int count)
{
    for (int i = 0; i < count; i++)
        rer_csv_text(writer, fields[i].name);
}

void rer_csv_fields(rer_writer *writer, const rer_field *fields, int count, const void *from)
{
    for (int i = 0; i < count; i++) {
        rer_field_value value = rer_field_read(&fields[i], from);
        if (fields[i].kind == RER_FIELD_REAL)
            rer_csv_real(writer, value.real, 9);
        else if (fields[i].kind == RER_FIELD_TEXT)
            rer_csv_text(writer, value.text);
        else if (fields[i].kind == RER_FIELD_BOOL)
            rer_csv_bool(writer, value.integer != 0);
        else
            rer_csv_integer(writer, value.integer);
    }
}
