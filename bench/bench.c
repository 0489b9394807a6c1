#include "bench.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define FLIP_EVERY 33

void bench_die(const char *what)
{
    perror(what);
    exit(2);
}

rer_seconds bench_analyze(const bench_files *files, const rer_options *options)
{
    rer_error error = {0};
    rer_dataset *data = NULL;
    rer_result *result = NULL;
    rer_files names = {.size = sizeof names, .features = files->features, .labels = files->labels};
    if (rer_dataset_open(&data, &names, options, &error) != RER_OK ||
        rer_analyze(&result, data, options, NULL, NULL, &error) != RER_OK) {
        (void)fprintf(stderr, "%s\n", error.message);
        exit(2);
    }
    rer_seconds seconds = rer_result_summary(result)->seconds;
    rer_result_free(result);
    rer_dataset_free(data);
    return seconds;
}

/* ---- data -------------------------------------------------------------------------------- */

static uint64_t next_bits(uint64_t *state) /* splitmix64 */
{
    uint64_t x = *state += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

float bench_normal(uint64_t *state)
{
    uint64_t bits = next_bits(state);
    float sum = (float)(int32_t)((bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48));
    return (sum - 131070.0f) * (1.7320508f / 65536.0f); /* variance of a uniform: 1/12 */
}

static uint16_t to_half(float value) /* rounds; below 2^-14 becomes 0 */
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t magnitude = (bits & 0x7FFFFFFFu) + 0x1000u;
    uint32_t half = magnitude < 0x38800000u ? 0 : (magnitude - 0x38000000u) >> 13;
    return (uint16_t)((bits >> 16 & 0x8000u) | half);
}

static FILE *create_npy(const char *path, const char *type, int64_t rows, int64_t columns)
{
    char text[129];
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        bench_die(path);
    int used = snprintf(text, sizeof text, "%cNUMPY%c%cv%c{'descr': '%s', 'fortran_order': False, 'shape': (%lld,",
                        0x93, 1, 0, 0, type, (long long)rows);
    used += columns > 0 ? snprintf(text + used, sizeof text - (size_t)used, " %lld), }", (long long)columns)
                        : snprintf(text + used, sizeof text - (size_t)used, "), }");
    memset(text + used, ' ', sizeof text - (size_t)used);
    text[127] = '\n';
    if (fwrite(text, 128, 1, file) != 1)
        bench_die(path);
    return file;
}

static float *make_means(const bench_shape *shape)
{
    uint64_t state = 1;
    int64_t values = shape->C * shape->D;
    float *means = malloc((size_t)values * sizeof *means); /* [C, D] */
    double distance = 2 * (sqrt(2 * log(shape->C)) + .4);  /* of two classes */
    float spread = (float)(distance / sqrt(2 * (double)shape->D));
    if (means == NULL)
        bench_die("class means");
    for (int64_t i = 0; i < values; i++)
        means[i] = spread * bench_normal(&state);
    return means;
}

bench_files bench_make_files(const bench_shape *shape)
{
    bench_files files;
    const char *root = getenv("TMPDIR");
    (void)snprintf(files.folder, sizeof files.folder, "%s/rer-bench-XXXXXX", root != NULL ? root : "/tmp");
    if (mkdtemp(files.folder) == NULL)
        bench_die(files.folder);
    (void)snprintf(files.features, sizeof files.features, "%s/X.npy", files.folder);
    (void)snprintf(files.labels, sizeof files.labels, "%s/y.npy", files.folder);
    FILE *features = create_npy(files.features, shape->half ? "<f2" : "<f4", shape->N, shape->D);
    FILE *labels = create_npy(files.labels, "<i4", shape->N, 0);
    float *means = make_means(shape), *row = malloc((size_t)shape->D * sizeof *row);
    uint16_t *half = malloc((size_t)shape->D * sizeof *half);
    if (row == NULL || half == NULL)
        bench_die("a row");
    for (int64_t i = 0; i < shape->N; i++) {
        uint64_t state = (uint64_t)i * 0xD1342543DE82EF95u + 7;
        int32_t c = (int32_t)(i < shape->C ? (uint64_t)i : next_bits(&state) % (uint64_t)shape->C);
        int32_t label = i % FLIP_EVERY == 1 ? (int32_t)(next_bits(&state) % (uint64_t)shape->C) : c;
        for (int64_t j = 0; j < shape->D; j++) {
            row[j] = means[c * shape->D + j] + bench_normal(&state);
            half[j] = to_half(row[j]);
        }
        size_t item = shape->half ? sizeof *half : sizeof *row;
        if (fwrite(shape->half ? (void *)half : (void *)row, item, (size_t)shape->D, features) != (size_t)shape->D ||
            fwrite(&label, sizeof label, 1, labels) != 1)
            bench_die(files.folder);
    }
    if (fclose(features) != 0 || fclose(labels) != 0)
        bench_die(files.folder);
    free(half);
    free(row);
    free(means);
    return files;
}

static void remove_folder(const char *path, bool deeper)
{
    DIR *folder = opendir(path);
    char name[600];
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        (void)snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (unlink(name) != 0 && deeper)
            remove_folder(name, false);
    }
    if (folder != NULL)
        (void)closedir(folder);
    (void)rmdir(path);
}

void bench_remove_files(const bench_files *files)
{
    remove_folder(files->folder, true);
}

/* ---- running and judging ----------------------------------------------------------------- */

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

double bench_median(const double *values, int count)
{
    double sorted[64];
    count = count < 64 ? count : 64;
    memcpy(sorted, values, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, by_value);
    return (sorted[count / 2] + sorted[(count - 1) / 2]) / 2;
}

static int64_t anonymous_bytes(pid_t child)
{
    char path[64], line[200];
    long long kib = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)child);
    FILE *status = fopen(path, "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        if (sscanf(line, "RssAnon: %lld", &kib) == 1)
            break;
    if (status != NULL)
        (void)fclose(status);
    return kib * 1024;
}

double bench_run(const char *const *command, int64_t *anonymous)
{
    posix_spawn_file_actions_t actions;
    pid_t child = 0, ended = 0;
    int status = 0;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    double start = rer_now();
    if (posix_spawn(&child, command[0], &actions, NULL, (char *const *)(uintptr_t)command, environ) != 0)
        bench_die(command[0]);
    if (anonymous == NULL)
        ended = waitpid(child, &status, 0);
    else
        for (*anonymous = 0; (ended = waitpid(child, &status, WNOHANG)) == 0; (void)usleep(1000))
            *anonymous = rer_max(*anonymous, anonymous_bytes(child));
    double seconds = rer_now() - start;
    (void)posix_spawn_file_actions_destroy(&actions);
    if (ended != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "%s %s failed\n", command[0], command[1]);
        exit(2);
    }
    return seconds;
}

bench_settings bench_parse(int argc, char **argv, int rounds)
{
    bench_settings settings = {.threads = 2, .rounds = rounds, .rer = RER_COMMAND};
    for (int i = 1; i < argc; i++) {
        bool has_value = i + 1 < argc;
        if (strcmp(argv[i], "--quick") == 0)
            settings.quick = true;
        else if (strcmp(argv[i], "--threads") == 0 && has_value)
            settings.threads = atoi(argv[++i]);
        else if (strcmp(argv[i], "--rounds") == 0 && has_value)
            settings.rounds = atoi(argv[++i]);
        else if (strcmp(argv[i], "--rer") == 0 && has_value)
            settings.rer = argv[++i];
        else {
            fprintf(stderr, "usage: %s [--threads N] [--rounds N] [--rer FILE] [--quick]\n", argv[0]);
            exit(2);
        }
    }
    settings.rounds = settings.rounds < 1 ? 1 : settings.rounds > 64 ? 64 : settings.rounds;
    return settings;
}

static int missed = 0;

void bench_bar(const char *what, double value, double low, double high)
{
    bool met = value >= low && value <= high;
    char range[64];
    if (low > 0 && high < 1e300)
        (void)snprintf(range, sizeof range, "%g to %g", low, high);
    else
        (void)snprintf(range, sizeof range, "at %s %g", low > 0 ? "least" : "most", low > 0 ? low : high);
    printf("  %-7s %-52s %9.4g   bar: %s\n", met ? "ok" : "MISSED", what, value, range);
    (void)fflush(stdout);
    missed |= !met;
}

int bench_missed(void)
{
    return missed;
}
