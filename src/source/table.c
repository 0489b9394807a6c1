/* Tables of numbers in CSV and TSV files. */
#include "source/formats.h"

rer_status rer_input_table(rer_array *array, rer_texts *labels, const rer_input *input, const char *label_column,
                           rer_error *error)
{
    (void)array;
    (void)labels;
    (void)label_column;
    return rer_fail(error, RER_BAD_INPUT, "%s: tables are not read yet", input->name);
}

rer_status rer_table_open(rer_array *array, rer_texts *labels, const char *path, const char *label_column,
                          rer_error *error)
{
    rer_input input = RER_NO_INPUT;
    rer_status status = rer_input_open(&input, path, error);
    if (status == RER_OK)
        status = rer_input_table(array, labels, &input, label_column, error);
    rer_input_close(&input);
    return status;
}
