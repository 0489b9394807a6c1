/* One text a row, from any input. */
#include "source/formats.h"
#include "source/texts.h"

rer_status rer_input_texts(rer_texts *texts, rer_input *input, const char *column, int64_t expected, rer_error *error)
{
    (void)column;
    (void)expected;
    rer_array array = {.fd = -1};
    if (input->format == RER_TEXT)
        return rer_fail(error, RER_BAD_INPUT, "%s: tables are not read yet", input->name);
    rer_status status = rer_input_array(&array, input, error);
    if (status == RER_OK)
        status = rer_texts_from_array(texts, &array, error);
    rer_array_close(&array);
    return status;
}

rer_status rer_texts_open(rer_texts *texts, const char *path, const char *column, int64_t expected, rer_error *error)
{
    rer_input input = RER_NO_INPUT;
    rer_status status = rer_input_open(&input, path, error);
    if (status == RER_OK)
        status = rer_input_texts(texts, &input, column, expected, error);
    rer_input_close(&input);
    return status;
}
