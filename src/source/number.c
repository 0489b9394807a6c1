/* Numbers in tables: see number.h. */
#include "source/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* 12.5e-3 with at most 2^53 as digits and a power of ten up to 22: both are exact as double, so one
 * product or quotient rounds once (Clinger 1990) and nothing slower is needed. Returns the end, or NULL. */
static const char *parse_short(const char *at, double *value)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    uint64_t digits = 0;
    int64_t count = 0, exponent = 0, written = 0;
    bool negative = *at == '-';
    at += *at == '-' || *at == '+';
    for (; *at >= '0' && *at <= '9'; at++, count++)
        digits = 10 * digits + (uint64_t)(*at - '0');
    if (*at == '.')
        for (at++; *at >= '0' && *at <= '9'; at++, count++, exponent--)
            digits = 10 * digits + (uint64_t)(*at - '0');
    if (count == 0 || count > 18 || digits > (uint64_t)1 << 53)
        return NULL;
    if (*at == 'e' || *at == 'E') {
        bool down = at[1] == '-';
        at += 1 + (at[1] == '-' || at[1] == '+');
        if (*at < '0' || *at > '9')
            return NULL;
        for (; *at >= '0' && *at <= '9' && written < 1000; at++)
            written = 10 * written + (*at - '0');
        exponent += down ? -written : written;
    }
    if (exponent < -22 || exponent > 22)
        return NULL;
    double magnitude = exponent < 0 ? (double)digits / powers[-exponent] : (double)digits * powers[exponent];
    *value = negative ? -magnitude : magnitude;
    return at;
}

bool rer_parse_number(const char *text, int64_t length, double *value)
{
    const char *end = text + length;
    while (text < end && (*text == ' ' || *text == '\t'))
        text++;
    while (end > text && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    if (text == end) {
        *value = NAN;
        return true;
    }
    if (parse_short(text, value) == end)
        return true;
    if (strpbrk(text, "xX(\n\v\f\r") != NULL)
        return false; /* strtod also takes hexadecimal, nan(...) and more kinds of space */
    char *stop = NULL;
    *value = strtod(text, &stop);
    return stop == end;
}
