/* What charts share: scales, round ticks, numbers and labels as text, the frame of a file. */
#include "report/chart_draw.h"

#include <float.h>

extern const char rer_chart_css[];

/* ---- scales and ticks ------------------------------------------------------------------------- */

bool rer_axis_scale_shows(const rer_axis_scale *scale, double value)
{
    if (!isfinite(value) || (scale->log && value <= 0))
        return false;
    double place = scale->log ? log10(value) : value, slack = 1e-9 * (scale->high - scale->low);
    return place >= scale->low - slack && place <= scale->high + slack;
}

double rer_axis_scale_at(const rer_axis_scale *scale, double value)
{
    double place = scale->log ? log10(value) : value;
    return scale->from + (place - scale->low) / (scale->high - scale->low) * (scale->to - scale->from);
}

/* 1, 2 or 5 times a power of ten, so that `wanted` steps about fill the span. */
static double round_step(double span, int wanted)
{
    double raw = span / wanted;
    double unit = pow(10, floor(log10(raw)));
    double ratio = raw / unit;
    return unit * (ratio < 1.5 ? 1 : ratio < 3.5 ? 2 : ratio < 7.5 ? 5 : 10);
}

/* Ticks of a log axis: k 10^e with k among these; the first list with enough of them is taken. */
static const char *const log_digits[] = {"1", "13", "125", "12346", "123456789"};

static int log_ticks(double low, double high, const char *digits, int step, double *ticks)
{
    int n = 0;
    int first = (int)floor(log10(low) + 1e-9), last = (int)ceil(log10(high) - 1e-9);
    for (int e = first; e <= last; e++)
        for (const char *digit = digits; *digit != 0; digit++) {
            double value = (*digit - '0') * pow(10, e);
            bool is_inside = value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9);
            if (is_inside && (e - first) % step == 0 && n < RER_TICKS_MAX)
                ticks[n++] = value;
        }
    return n;
}

static int put_log_ticks(double low, double high, int wanted, double *ticks)
{
    int decades = (int)ceil(log10(high / low)), n = 0;
    int step = decades / (wanted + 2) + 1;
    int kinds = step > 1 ? 1 : (int)(sizeof log_digits / sizeof log_digits[0]);
    for (int i = 0; i < kinds && n < rer_min(wanted, 3); i++)
        n = log_ticks(low, high, log_digits[i], step, ticks);
    return n;
}

int rer_ticks(double low, double high, bool log, int wanted, double *ticks)
{
    int n = 0;
    if (!(high > low))
        return 0;
    if (log)
        n = put_log_ticks(low, high, wanted, ticks);
    if (n >= 2)
        return n;
    double step = round_step(high - low, wanted);
    n = 0;
    for (double i = ceil(low / step - 1e-9); i * step <= high + 1e-9 * step && n < RER_TICKS_MAX; i++)
        ticks[n++] = i == 0 ? 0 : i * step; /* no -0 */
    return n;
}

/* The next k 10^e with k = 1, 2, 5 at or below (at or above) the value. */
static double round_log(double value, bool up)
{
    static const double digits[] = {1, 2, 5, 10};
    double unit = pow(10, floor(log10(value) + 1e-9)), ratio = value / unit;
    for (int i = 0; i < 4 && up; i++)
        if (digits[i] >= ratio * (1 - 1e-9))
            return digits[i] * unit;
    for (int i = 3; i >= 0 && !up; i--)
        if (digits[i] <= ratio * (1 + 1e-9))
            return digits[i] * unit;
    return unit;
}

void rer_ticks_widen(double *low, double *high, bool log, int wanted)
{
    if (log) {
        *low = round_log(*low, false);
        *high = round_log(*high, true);
        if (*low == *high)
            *high *= 10;
        return;
    }
    if (*high - *low <= 1e-9 * fmax(fabs(*low), fabs(*high))) { /* one value, but for rounding */
        double margin = *low == 0 ? 1 : fabs(*low) / 2;
        *low -= margin;
        *high += margin;
    }
    for (double step = 0, next;
         (next = round_step(*high - *low, wanted)) > step;) { /* a wider range may want wider steps */
        step = next;
        *low = floor(*low / step + 1e-9) * step;
        *high = ceil(*high / step - 1e-9) * step;
    }
}

void rer_chart_widen(double *low, double *high)
{
    rer_ticks_widen(low, high, false, 12);
}

/* ---- numbers ---------------------------------------------------------------------------------- */

/* |value| below 1e15 with `decimals` decimals and commas between thousands. printf would follow the
 * locale of the program that we are a part of. */
static int fixed_text(char *out, double value, int decimals)
{
    double unit = pow(10, decimals);
    int64_t all = llround(fabs(value) * unit), whole = all / (int64_t)unit, rest = all % (int64_t)unit;
    char digits[24];
    int used = 0, length = snprintf(digits, sizeof digits, "%lld", (long long)whole);
    if (value < 0 && all > 0) {
        memcpy(out, "−", strlen("−"));
        used += (int)strlen("−");
    }
    for (int i = 0; i < length; i++) {
        out[used++] = digits[i];
        if ((length - i) % 3 == 1 && i < length - 1)
            out[used++] = ',';
    }
    if (decimals > 0)
        used += snprintf(out + used, 20, ".%0*lld", decimals, (long long)rest);
    out[used] = 0;
    return used;
}

const char *rer_fixed_text(char text[RER_CHART_TEXT], double value, int decimals)
{
    if (!isfinite(value))
        (void)snprintf(text, RER_CHART_TEXT, "–");
    else if (fabs(value) < 1e9)
        (void)fixed_text(text, value, decimals);
    else
        (void)rer_value_text(text, value, false);
    return text;
}

static const char *number_text(char text[RER_CHART_TEXT], double value, double step, bool percent)
{
    static const char units[] = " kMGTP";
    int unit = 0, power = 0;
    if (!isfinite((float)value)) { /* nothing that people could read */
        (void)snprintf(text, RER_CHART_TEXT, "–");
        return text;
    }
    value *= percent ? 100 : 1;
    step *= percent ? 100 : 1;
    for (double size = fmax(fabs(value), step); size >= 1e6 && unit < 5; size /= 1e3)
        unit++;
    unit += unit > 0; /* from a million on: 1.5M, not 1,500k */
    unit = unit > 5 ? 5 : unit;
    double factor = pow(10, 3 * unit);
    value /= factor;
    step /= factor;
    if (step > 0 && step < 1e-5) { /* 2e-7 as 2 × 10⁻⁷ would need more room: 2e-7 */
        power = (int)floor(log10(fmax(fabs(value), step)) + 1e-9);
        value *= pow(10, -power);
        step *= pow(10, -power);
    }
    int decimals = step > 0 ? (int)ceil(-log10(step) - 1e-9) : 0;
    double shown = step * pow(10, decimals); /* 2.5 has one decimal more than its size says */
    decimals += fabs(shown - round(shown)) > 1e-6;
    decimals = decimals < 0 ? 0 : decimals > 9 ? 9 : decimals;
    if (fabs(value) >= 1e9) {
        (void)rer_format_number(text, (float)fmin(fmax(value * factor, -FLT_MAX), FLT_MAX));
        return text;
    }
    int used = fixed_text(text, value, decimals);
    if (power != 0)
        used += snprintf(text + used, 8, "e%d", power);
    (void)snprintf(text + used, (size_t)(RER_CHART_TEXT - used), "%.*s%s", unit > 0 ? 1 : 0, &units[unit],
                   percent ? " %" : "");
    return text;
}

const char *rer_tick_text(char text[RER_CHART_TEXT], double value, double step, bool percent)
{
    return number_text(text, value, fabs(step), percent);
}

const char *rer_value_text(char text[RER_CHART_TEXT], double value, bool percent)
{
    double size = isfinite(value) && value != 0 ? pow(10, floor(log10(fabs(value))) - 3) : 1;
    if (value == round(value) && fabs(value) < 1e6)
        size = 1;
    return number_text(text, value, size, percent);
}

/* ---- writing ---------------------------------------------------------------------------------- */

void rer_put_pixel(rer_writer *writer, double value)
{
    char text[32];
    int64_t all = llround(value * 100), size = all < 0 ? -all : all;
    int used = snprintf(text, sizeof text, "%s%lld", all < 0 ? "-" : "", (long long)(size / 100));
    if (size % 100 != 0)
        used += snprintf(text + used, 8, size % 10 != 0 ? ".%02lld" : ".%01lld",
                         (long long)(size % 10 != 0 ? size % 100 : size % 100 / 10));
    rer_put_bytes(writer, text, used);
}

void rer_put_attribute(rer_writer *writer, const char *name, double value)
{
    rer_puts(writer, " ", name, "=\"");
    rer_put_pixel(writer, value);
    rer_put(writer, "\"");
}

/* Bytes of the first `most` characters. */
static int64_t bytes_of(const char *text, int64_t most)
{
    int64_t at = 0;
    for (; text[at] != 0; at++)
        if (((unsigned char)text[at] & 0xC0) != 0x80 && most-- == 0)
            break;
    return at;
}

int64_t rer_text_length(const char *text)
{
    int64_t count = 0;
    for (; text != NULL && *text != 0; text++)
        count += ((unsigned char)*text & 0xC0) != 0x80;
    return count;
}

/* User text of at most `most` characters, "…" in place of its middle where it is longer: names often differ at the end. */
static void put_cut(rer_writer *writer, const char *text, int64_t most)
{
    if (rer_text_length(text) <= most) {
        rer_put_html(writer, text);
        return;
    }
    char part[256];
    int64_t end = most / 2, bytes = rer_min(bytes_of(text, most - 1 - end), (int64_t)sizeof part - 1);
    memcpy(part, text, (size_t)bytes);
    part[bytes] = 0;
    rer_put_html(writer, part);
    rer_put(writer, "…");
    rer_put_html(writer, text + bytes_of(text, rer_text_length(text) - end));
}

void rer_put_label(rer_writer *writer, const char *class, double x, double y, const char *text, int64_t most)
{
    if (text == NULL)
        return;
    rer_puts(writer, "<text class=\"", class, "\"");
    rer_put_attribute(writer, "x", x);
    rer_put_attribute(writer, "y", y);
    rer_put(writer, ">");
    put_cut(writer, text, most);
    if (rer_text_length(text) > most) {
        rer_put(writer, "<title>");
        rer_put_html(writer, text);
        rer_put(writer, "</title>");
    }
    rer_put(writer, "</text>\n");
}

void rer_put_turned(rer_writer *writer, const char *class, double x, double y, int degrees, const char *text,
                    int64_t most)
{
    rer_puts(writer, "<text class=\"", class, "\" transform=\"translate(");
    rer_put_pixel(writer, x);
    rer_put(writer, " ");
    rer_put_pixel(writer, y);
    rer_put_format(writer, ") rotate(%d)\">", degrees);
    put_cut(writer, text, most);
}

void rer_svg_start(rer_writer *writer, double width, double height, const char *title, const char *description)
{
    if (!writer->in_page)
        rer_put(writer, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    rer_put(writer, width > 460 ? "<svg class=\"chart wide\"" : "<svg class=\"chart\"");
    rer_put(writer, " role=\"img\" aria-label=\"");
    rer_put_html(writer, description != NULL ? description : title);
    rer_put(writer, "\" viewBox=\"0 0 ");
    rer_put_pixel(writer, width);
    rer_put(writer, " ");
    rer_put_pixel(writer, height);
    rer_put(writer, "\"");
    rer_put_attribute(writer, "width", width);
    rer_put_attribute(writer, "height", height);
    if (writer->in_page) {
        rer_put(writer, ">\n");
        return;
    }
    /* The style holds neither < nor &. */
    rer_puts(writer, " xmlns=\"http://www.w3.org/2000/svg\">\n<style>", rer_chart_css,
             "</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
}

void rer_svg_end(rer_writer *writer)
{
    rer_put(writer, "</svg>\n");
}
