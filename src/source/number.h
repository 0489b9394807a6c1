/* Numbers in tables. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A decimal number, "nan", "inf" or nothing (NaN), with spaces around it or not; false for anything
 * else. `text` ends in a zero; the thread's locale must be "C". */
bool rer_parse_number(const char *text, int64_t length, double *value);
