/* The progress line, and text that lines up on a terminal. */
#include "cli.h"

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
    char left[40] = "", text[PROGRESS_WIDTH + 1];
    double seconds = seconds_left(line, time, fraction);
    if (seconds >= 0)
        (void)snprintf(left, sizeof left, seconds < 90 ? ", about %.0f s left" : ", about %.0f min left",
                       seconds < 90 ? seconds + 0.5 : seconds / 60 + 0.5);
    (void)snprintf(text, sizeof text, "%s: %3.0f %%%s", line->stage, 100 * fraction, left);
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
    return point < 0x20 || (point >= 0x7F && point < 0xA0) || (point >= 0x200B && point <= 0x200F) ||
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

int text_width(const char *text)
{
    int width = 0;
    unsigned point;
    for (; *text != 0; text += decode(text, &point)) {
        (void)decode(text, &point);
        width += is_harmful(point) ? 1 : columns_of(point);
    }
    return width;
}

int clean_text(char *out, size_t size, const char *text, int width)
{
    bool cut = text_width(text) > width;
    int limit = cut ? width - 2 : width, columns = 0;
    size_t used = 0;
    while (*text != 0) {
        unsigned point;
        int length = decode(text, &point);
        bool harmful = is_harmful(point);
        int wide = harmful ? 1 : columns_of(point);
        if (columns + wide > limit || used + (size_t)length + 3 > size)
            break;
        if (harmful)
            out[used] = '?';
        else
            memcpy(out + used, text, (size_t)length);
        used += harmful ? 1 : (size_t)length;
        columns += wide;
        text += length;
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
    printf("%s%*s", clean, width > columns ? width - columns : 0, "");
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
