/* What goes to the terminal: all of it by say() and complain(), but for colours and the line of progress.c. */
#include "cli.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- how wide, and in which colours ---------------------------------------------------------- */

enum { WIDTH_UNKNOWN = 80, WIDTH_MIN = 60, WIDTH_MAX = 200 };

int terminal_width(int fd)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    long width = columns != NULL ? strtol(columns, NULL, 10) : 0;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        width = size.ws_col;
    width = width > 0 ? width : WIDTH_UNKNOWN;
    return (int)(width < WIDTH_MIN ? WIDTH_MIN : width > WIDTH_MAX ? WIDTH_MAX : width);
}

static const char *wanted_colours = "auto";

rer_status colours_choose(const char *when, rer_error *error)
{
    static const char *const choices[] = {"auto", "always", "never"};
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        if (strcmp(when, choices[i]) == 0) {
            wanted_colours = choices[i];
            return RER_OK;
        }
    return fail(error, RER_BAD_USAGE, "--color %s: it is auto, always or never", when);
}

bool colours_are_on(int fd)
{
    const char *refused = getenv("NO_COLOR"), *terminal = getenv("TERM");
    if (strcmp(wanted_colours, "auto") != 0)
        return strcmp(wanted_colours, "always") == 0;
    return isatty(fd) == 1 && (refused == NULL || refused[0] == 0) &&
           (terminal == NULL || strcmp(terminal, "dumb") != 0);
}

void paint(style how)
{
    static const char *const codes[] = {"0", "1", "2", "31", "32"};
    if (colours_are_on(STDOUT_FILENO))
        printf("\033[%sm", codes[how]);
}

/* ---- texts of anyone's ------------------------------------------------------------------------ */

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

/* Copies what fits into `limit` columns and below `size` bytes; returns where it stopped. */
static const char *copy_columns(char *out, size_t size, size_t *used, int *columns, const char *text, int limit)
{
    while (*text != 0) {
        char shown[16];
        const char *next = text;
        int wide = next_visible(shown, &next);
        if (*columns + wide > limit || *used + strlen(shown) >= size)
            break;
        for (const char *byte = shown; *byte != 0; byte++)
            out[(*used)++] = *byte;
        *columns += wide;
        text = next;
    }
    return text;
}

/* Where more than `width` columns would be needed: the beginning, "..", and the last `tail` columns. */
static int cut_text(char *out, size_t size, const char *text, int width, int tail)
{
    char shown[16];
    int columns = 0, total = text_width(text), head = total > width ? width - 2 - tail : width;
    size_t used = 0, room = total > width && tail > 0 ? size / 2 : size - 2;
    text = copy_columns(out, room, &used, &columns, text, head);
    if (*text != 0) {
        int left = total - columns;
        while (*text != 0 && left > tail)
            left -= next_visible(shown, &text);
        memcpy(out + used, "..", 2);
        used += 2;
        columns += 2;
        (void)copy_columns(out, size, &used, &columns, text, columns + tail);
    }
    out[used] = 0;
    return columns;
}

int clean_text(char *out, size_t size, const char *text, int width)
{
    return cut_text(out, size, text, width, 0);
}

int clean_name(char *out, size_t size, const char *text, int width)
{
    return cut_text(out, size, text, width, (width - 2) / 2);
}

void print_padded(const char *text, int width)
{
    char clean[512];
    int columns = clean_name(clean, sizeof clean, text, width);
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
    fputs(colours_are_on(STDERR_FILENO) ? "\033[1;31mrer:\033[0m " : "rer: ", stderr);
    put_formatted(stderr, format, &from);
    fputc('\n', stderr);
    va_end(from.list);
}

bool flush_output(void)
{
    (void)fflush(stdout);
    note_loss();
    return lost == 0 || lost == EPIPE; /* a reader that has seen enough (| head) is no failure */
}

int end_output(int code)
{
    if (flush_output() || code != 0)
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
