/* What goes to the terminal: all of it by say() and complain(), but for the progress line. */
#include "cli.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PROGRESS_WIDTH = 60 };

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void progress_start(progress_line *line, bool quiet)
{
    *line = (progress_line){.enabled = !quiet && isatty(STDERR_FILENO) == 1, .start = now()};
}

/* Seconds left at the pace of the present stage, or -1 while that is unknown. */
static double seconds_left(const progress_line *line, double time, double fraction)
{
    double done = fraction - line->stage_fraction, spent = time - line->stage_start;
    return done > 0 && spent > 0.2 ? spent * (1 - fraction) / done : -1;
}

static void show(progress_line *line, double time, double fraction)
{
    char left[40] = "", rate[40] = "", text[PROGRESS_WIDTH + 1];
    double seconds = seconds_left(line, time, fraction);
    if (seconds > 0 && line->items > 0)
        (void)snprintf(rate, sizeof rate, ", %.3g a second", (1 - fraction) * (double)line->items / seconds);
    if (seconds >= 0)
        (void)snprintf(left, sizeof left, seconds < 90 ? ", about %.0f s left" : ", about %.0f min left",
                       seconds < 90 ? seconds + 0.5 : seconds / 60 + 0.5);
    (void)snprintf(text, sizeof text, "%s: %3.0f %%%s%s", line->stage, 100 * fraction, rate, left);
    fprintf(stderr, "\r%-*s", PROGRESS_WIDTH, text);
    line->shown = true;
    line->last_shown = time;
}

/* Shown from the second second on, and at most ten times a second. */
bool progress_report(void *context, const char *stage, double fraction)
{
    progress_line *line = context;
    double time = line->enabled ? now() : 0;
    if (line->enabled && strncmp(line->stage, stage, sizeof line->stage - 1) != 0) {
        (void)snprintf(line->stage, sizeof line->stage, "%s", stage);
        line->stage_start = time;
        line->stage_fraction = fraction;
    }
    if (line->enabled && time - line->start > 1 && time - line->last_shown > 0.1)
        show(line, time, fraction);
    return signals_received() != 0;
}

void progress_clear(progress_line *line)
{
    if (line->shown)
        fprintf(stderr, "\r%*s\r", PROGRESS_WIDTH, "");
    line->shown = false;
}

/* Decodes one character; malformed bytes count as one control character each. */
static int decode(const char *text, unsigned *point)
{
    unsigned char lead = (unsigned char)text[0];
    int length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
    *point = length == 1 ? lead : length == 0 ? 0 : lead & (0xFFU >> (length + 1));
    for (int i = 1; i < length; i++) {
        if (((unsigned char)text[i] & 0xC0) != 0x80) {
            *point = 0;
            return 1;
        }
        *point = *point << 6 | ((unsigned char)text[i] & 0x3FU);
    }
    return length == 0 ? 1 : length;
}

/* Control characters, and those that change the direction or the lines of what follows. */
static bool is_harmful(unsigned point)
{
    return point < 0x20 || point == 0x61C || (point >= 0x7F && point < 0xA0) || (point >= 0x200B && point <= 0x200F) ||
           (point >= 0x2028 && point <= 0x202E) || (point >= 0x2060 && point <= 0x206F) || point == 0xFEFF;
}

static int columns_of(unsigned point)
{
    if ((point >= 0x300 && point <= 0x36F) || (point >= 0xFE00 && point <= 0xFE0F))
        return 0; /* combines with the character before */
    bool wide = (point >= 0x1100 && point <= 0x115F) || (point >= 0x2E80 && point <= 0xA4CF) ||
                (point >= 0xAC00 && point <= 0xD7A3) || (point >= 0xF900 && point <= 0xFAFF) ||
                (point >= 0xFE30 && point <= 0xFE6F) || (point >= 0xFF00 && point <= 0xFF60) ||
                (point >= 0x1F300 && point <= 0x1FAFF) || (point >= 0x20000 && point <= 0x3FFFD);
    return wide ? 2 : 1;
}

/* The next character as it is shown, itself or \u001b, or \xff where the bytes are no character; moves *text on and
 * returns the columns. */
static int next_visible(char out[16], const char **text)
{
    unsigned point;
    int length = decode(*text, &point);
    if (length == 1 && point == 0)
        point = (unsigned char)**text;
    bool malformed = length == 1 && point >= 0x80;
    int used = malformed           ? snprintf(out, 16, "\\x%02x", point)
               : is_harmful(point) ? snprintf(out, 16, "\\u%04x", point)
                                   : snprintf(out, 16, "%.*s", length, *text);
    *text += length;
    return malformed || is_harmful(point) ? used : columns_of(point);
}

int text_width(const char *text)
{
    char shown[16];
    int width = 0;
    while (*text != 0)
        width += next_visible(shown, &text);
    return width;
}

int clean_text(char *out, size_t size, const char *text, int width)
{
    bool cut = text_width(text) > width;
    int limit = cut ? width - 2 : width, columns = 0;
    size_t used = 0;
    while (*text != 0) {
        char shown[16];
        const char *next = text;
        int wide = next_visible(shown, &next);
        if (columns + wide > limit || used + strlen(shown) + 3 > size)
            break;
        memcpy(out + used, shown, strlen(shown));
        used += strlen(shown);
        columns += wide;
        text = next;
    }
    if (*text != 0) {
        memcpy(out + used, "..", 2);
        used += 2;
        columns += 2;
    }
    out[used] = 0;
    return columns;
}

void print_padded(const char *text, int width)
{
    char clean[512];
    int columns = clean_text(clean, sizeof clean, text, width);
    say("%s%*s", clean, width > columns ? width - columns : 0, "");
}

/* ---- the one way out ------------------------------------------------------------------------ */

typedef struct values {
    va_list list;
} values;

typedef struct conversion {
    bool left, plus, is_long;
    int width, precision; /* precision -1: none */
    char kind;
} conversion;

static int take_number(const char **at, values *from)
{
    int number = 0;
    if (**at == '*') {
        (*at)++;
        return va_arg(from->list, int);
    }
    while (**at >= '0' && **at <= '9')
        number = 10 * number + *(*at)++ - '0';
    return number;
}

/* "%-8.3f" from behind the % on: [-+] width .precision ll kind. */
static conversion parse_conversion(const char **at, values *from)
{
    conversion found = {.precision = -1};
    for (; **at == '-' || **at == '+'; (*at)++) {
        found.left = found.left || **at == '-';
        found.plus = found.plus || **at == '+';
    }
    found.width = take_number(at, from);
    if (**at == '.') {
        (*at)++;
        found.precision = take_number(at, from);
    }
    found.is_long = strncmp(*at, "ll", 2) == 0;
    *at += found.is_long ? 2 : 0;
    found.kind = *(*at)++;
    return found;
}

static void put_text(FILE *to, const conversion *how, const char *text)
{
    char shown[16];
    int columns = text_width(text), blanks = how->width > columns ? how->width - columns : 0;
    fprintf(to, "%*s", how->left ? 0 : blanks, "");
    while (*text != 0) {
        (void)next_visible(shown, &text);
        fputs(shown, to);
    }
    fprintf(to, "%*s", how->left ? blanks : 0, "");
}

/* What is no number is a dash. */
static void put_real(FILE *to, const conversion *how, double value)
{
    char text[400] = "-";
    int digits = how->precision < 0 ? 6 : how->precision;
    if (isfinite(value) && how->kind == 'f')
        (void)snprintf(text, sizeof text, how->plus ? "%+.*f" : "%.*f", digits, value);
    else if (isfinite(value))
        (void)snprintf(text, sizeof text, how->plus ? "%+.*g" : "%.*g", digits, value);
    put_text(to, how, text);
}

static void put_integer(FILE *to, const conversion *how, long long value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%lld", value);
    put_text(to, how, text);
}

/* The format is ours; what stands for its %s may come from anywhere. */
static void put_formatted(FILE *to, const char *format, values *from)
{
    for (const char *at = format; *at != 0;) {
        size_t plain = strcspn(at, "%");
        (void)fwrite(at, 1, plain, to);
        at += plain;
        if (*at++ == 0)
            return;
        conversion how = parse_conversion(&at, from);
        if (how.kind == '%')
            fputc('%', to);
        else if (how.kind == 's')
            put_text(to, &how, va_arg(from->list, const char *));
        else if (how.kind == 'd' && how.is_long)
            put_integer(to, &how, va_arg(from->list, long long));
        else if (how.kind == 'd')
            put_integer(to, &how, va_arg(from->list, int));
        else
            put_real(to, &how, va_arg(from->list, double));
    }
}

static int lost; /* errno of the first failure of standard output */

static void note_loss(void)
{
    if (lost == 0 && ferror(stdout) != 0)
        lost = errno != 0 ? errno : EIO;
}

void say(const char *format, ...)
{
    values from;
    va_start(from.list, format);
    put_formatted(stdout, format, &from);
    va_end(from.list);
    note_loss();
}

void say_to(char *out, size_t size, const char *format, ...)
{
    values from;
    FILE *to = fmemopen(out, size, "w");
    out[0] = 0;
    if (to == NULL)
        return;
    va_start(from.list, format);
    put_formatted(to, format, &from);
    va_end(from.list);
    (void)fclose(to);
    out[size - 1] = 0;
}

void say_lines(const char *text)
{
    char shown[16];
    while (*text != 0)
        if (*text == '\n') {
            text++;
            fputc('\n', stdout);
        } else {
            (void)next_visible(shown, &text);
            fputs(shown, stdout);
        }
    fputc('\n', stdout);
    note_loss();
}

void complain(const char *format, ...)
{
    values from;
    va_start(from.list, format);
    fputs("rer: ", stderr);
    put_formatted(stderr, format, &from);
    fputc('\n', stderr);
    va_end(from.list);
}

int end_output(int code)
{
    (void)fflush(stdout);
    note_loss();
    if (code != 0 || lost == 0 || lost == EPIPE) /* a reader that has seen enough (| head) is no failure */
        return code;
    complain("standard output cannot be written: %s", strerror(lost));
    return RER_SYSTEM;
}

const char *grouped(char out[32], int64_t value)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%lld", (long long)value), used = 0;
    for (int i = 0; i < length; i++) {
        out[used++] = digits[i];
        if ((length - i) % 3 == 1 && i < length - 1 && digits[i] != '-')
            out[used++] = ',';
    }
    out[used] = 0;
    return out;
}
