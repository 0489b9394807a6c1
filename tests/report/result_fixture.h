/* A small result and data set made by hand, and folders to write them to. */
#pragma once

#include "run/result.h"
#include "source/dataset.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { FIXTURE_D = 5 };

typedef struct test_fixture {
    rer_result *result;
    rer_dataset data;
} test_fixture;

/* zeroed memory that must be there */
static inline void *fixture_array(int64_t count, size_t item_size)
{
    void *memory = calloc((size_t)(count > 0 ? count : 1), item_size);
    assert_non_null(memory);
    return memory;
}

static inline float fixture_random(unsigned *state)
{
    *state = *state * 1664525U + 1013904223U;
    return (float)(*state >> 8) / 16777216.0F;
}

/* Few different values, so that ties are common. */
static inline void fixture_fill_rows(rer_result *result, unsigned seed)
{
    for (int64_t i = 0; i < result->N; i++) {
        result->given[i] = (int32_t)(i % result->C);
        result->suggested[i] = (int32_t)((i + 1) % result->C);
        result->own[i] = floorf(8 * fixture_random(&seed)) / 4;
        result->other[i] = floorf(8 * fixture_random(&seed)) / 4;
        result->logit[i] = floorf(4 * (result->own[i] - result->other[i]));
        result->flags[i] = result->logit[i] > 0 ? RER_FLAG_ISSUE : 0;
    }
}

/* N rows of C classes named "class 0", "class 1", ... */
static inline test_fixture fixture_make(int64_t N, int32_t C, unsigned seed)
{
    test_fixture made = {.result = fixture_array(1, sizeof(rer_result))};
    rer_result *result = made.result;
    result->N = made.data.N = N;
    result->C = C;
    result->options = rer_options_default();
    result->given = fixture_array(N, sizeof(int32_t));
    result->suggested = fixture_array(N, sizeof(int32_t));
    result->own = fixture_array(N, sizeof(float));
    result->other = fixture_array(N, sizeof(float));
    result->logit = fixture_array(N, sizeof(float));
    result->outlier_score = fixture_array(N, sizeof(float));
    for (int64_t i = 0; i < N; i++)
        result->outlier_score[i] = NAN;
    result->flags = fixture_array(N, 1);
    result->classes = fixture_array(C, sizeof *result->classes);
    result->names = fixture_array(C, sizeof(char *));
    float *features = fixture_array(N * FIXTURE_D, sizeof(float)); /* [N, FIXTURE_D] */
    for (int64_t i = 0; i < N * FIXTURE_D; i++)
        features[i] = (float)(i % 7) + (float)(i * i % 11) / 11;
    made.data.D = FIXTURE_D;
    made.data.features = (rer_array){.dtype = RER_F32,
                                     .item_size = 4,
                                     .rank = 2,
                                     .shape = {N, FIXTURE_D},
                                     .data = (const unsigned char *)features,
                                     .owned = (unsigned char *)features,
                                     .fd = -1};
    result->summary.n_samples = result->summary.n_labelled = N;
    result->summary.n_classes = C;
    result->summary.chi0 = NAN;
    for (int32_t c = 0; c < C; c++) {
        char name[32];
        (void)snprintf(name, sizeof name, "class %d", c);
        result->names[c] = strdup(name);
        result->classes[c] = (rer_class_summary){.n = 1, .chi = NAN, .noise_rate = 0.25, .most_confused_with = -1};
    }
    fixture_fill_rows(result, seed);
    return made;
}

static inline void fixture_free(test_fixture *fixture)
{
    rer_result_free(fixture->result);
    free(fixture->data.features.owned);
    free(fixture->data.ids.offset);
    free(fixture->data.ids.bytes);
}

static inline void fixture_rename(test_fixture *fixture, int32_t c, const char *name)
{
    free(fixture->result->names[c]);
    fixture->result->names[c] = strdup(name);
}

/* Every row gets the same id. */
static inline void fixture_set_id(test_fixture *fixture, const char *id)
{
    fixture->data.ids.count = fixture->data.N;
    fixture->data.ids.offset = fixture_array(fixture->data.N, sizeof(int64_t));
    fixture->data.ids.bytes = strdup(id);
}

/* ---- folders ----------------------------------------------------------------------------- */

static inline char *fixture_folder(void)
{
    const char *base = getenv("TMPDIR");
    char name[300];
    (void)snprintf(name, sizeof name, "%s/rer-test.XXXXXX", base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(name));
    return strdup(name);
}

static inline char *fixture_path(char buffer[600], const char *folder, const char *name)
{
    (void)snprintf(buffer, 600, "%s/%s", folder, name);
    return buffer;
}

/* Names in a folder, hidden ones too; -1 where there is no such folder. */
static inline int fixture_count_files(const char *folder)
{
    DIR *stream = opendir(folder);
    int count = 0;
    if (stream == NULL)
        return -1;
    while (readdir(stream) != NULL)
        count++;
    (void)closedir(stream);
    return count - 2;
}

/* Removes a folder of files and frees its name. */
static inline void fixture_remove(char *folder)
{
    char path[600];
    DIR *stream = opendir(folder);
    for (struct dirent *entry; stream != NULL && (entry = readdir(stream)) != NULL;)
        (void)unlink(fixture_path(path, folder, entry->d_name));
    if (stream != NULL)
        (void)closedir(stream);
    (void)rmdir(folder);
    free(folder);
}

static inline char *fixture_read(const char *folder, const char *name)
{
    char path[600];
    struct stat found;
    FILE *file = fopen(fixture_path(path, folder, name), "rb");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &found), 0);
    char *text = fixture_array(found.st_size + 1, 1);
    assert_int_equal(fread(text, 1, (size_t)found.st_size, file), found.st_size);
    (void)fclose(file);
    return text;
}

static inline void fixture_save(const char *folder, const char *name, const char *text)
{
    char path[600];
    FILE *file = fopen(fixture_path(path, folder, name), "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}
