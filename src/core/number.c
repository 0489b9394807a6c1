/* Numbers as text: snprintf takes longer than everything else about a row of samples.csv.
 *
 * A float32 is known by 9 decimal digits, often by fewer. The digits come from one product in
 * double, whose error is far below a step of float32, and are read back to see if they suffice. */
#include "core/writer.h"

#define DIGITS_MIN 6
#define DIGITS_MAX 9
#define FIXED_MIN 1e-5F
#define FIXED_MAX 1e9F

static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

/* Whether decimal / factor reads back as `value`, also where the division was rounded. */
static bool is_same(double decimal, double factor, float value)
{
    double read = decimal / factor;
    return (float)(read * (1 - 1e-15)) == value && (float)(read * (1 + 1e-15)) == value;
}

/* value * factor = *digits / 10^scale with as few digits as make the same float32; the product is
 * in 1e-5..1e9. Returns the scale. */
static int shortest_digits(float value, double factor, int64_t *digits)
{
    double scaled = (double)value * factor;
    int exponent = 0; /* 10^exponent <= scaled */
    while (scaled >= powers[exponent + 1])
        exponent++;
    while (exponent <= 0 && scaled * powers[-exponent] < 1)
        exponent--;
    for (int count = DIGITS_MIN;; count++) {
        int scale = count - 1 - exponent;
        double unit = powers[scale < 0 ? -scale : scale];
        *digits = (int64_t)((scale < 0 ? scaled / unit : scaled * unit) + 0.5);
        double decimal = scale < 0 ? (double)*digits * unit : (double)*digits / unit;
        if (count == DIGITS_MAX || is_same(decimal, factor, value))
            return scale;
    }
}

static int put_integer(char *out, int64_t value, int width)
{
    char reversed[24];
    int n = 0, used = 0;
    for (; value > 0 || n < width; value /= 10)
        reversed[n++] = (char)('0' + value % 10);
    while (n > 0)
        out[used++] = reversed[--n];
    return used;
}

static int put_fixed(char *out, float value, double factor)
{
    int64_t digits = 0;
    int scale = shortest_digits(value, factor, &digits);
    for (; scale > 0 && digits % 10 == 0; scale--)
        digits /= 10;
    for (; scale < 0; scale++)
        digits *= 10;
    int64_t unit = (int64_t)powers[scale];
    int used = put_integer(out, digits / unit, 1);
    if (scale > 0) {
        out[used++] = '.';
        used += put_integer(out + used, digits % unit, scale);
    }
    return used;
}

int rer_format_number(char *out, float value)
{
    int used = 0;
    if (isnan(value) || isinf(value))
        return snprintf(out, RER_NUMBER_MAX, "%s", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    if (value < 0) {
        out[used++] = '-';
        value = -value;
    }
    if (value == 0) {
        out[used++] = '0';
    } else if (value >= FIXED_MIN && value < FIXED_MAX) {
        used += put_fixed(out + used, value, 1);
    } else {
        int exponent = (int)floor(log10((double)value));
        int length = put_fixed(out + used, value, pow(10, -exponent));
        bool is_ten = length == 2; /* a mantissa rounded up: 10e11 is 1e12 */
        used += is_ten ? 1 : length;
        exponent += is_ten;
        used += snprintf(out + used, 8, "e%+03d", exponent);
    }
    out[used] = 0;
    return used;
}
