/* reference.json for the tests that compare with it; the group's state is the whole of it. */
#pragma once

#include "made_data.h"

#include "backend/backend.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline int reference_open(void **state)
{
    json_error_t error;
    *state = json_load_file(RER_REFERENCE, 0, &error);
    if (*state == NULL)
        (void)fprintf(stderr, "%s, line %d: %s\n", RER_REFERENCE, error.line, error.text);
    return *state != NULL && rer_backend_enter() ? 0 : 1;
}

static inline int reference_close(void **state)
{
    json_decref(*state);
    rer_backend_leave();
    return 0;
}

static inline int64_t reference_integer(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

/* free() it. */
static inline double *reference_numbers(const json_t *object, const char *name, int64_t count)
{
    const json_t *array = json_object_get(object, name);
    double *values = calloc((size_t)count + 1, sizeof *values);
    assert_non_null(values);
    assert_int_equal(json_array_size(array), count);
    for (int64_t i = 0; i < count; i++)
        values[i] = json_number_value(json_array_get(array, (size_t)i));
    return values;
}
