/* ratios_of_errors C N ERRORS LABELS: the ratios of a given matrix of errors.
 *
 * ERRORS holds raw float32 [N, C], LABELS raw int32 [N]. The errors go through the reduction and the
 * judgement of the library as if a reconstructor had made them; numbers are printed as hexadecimal
 * floats, a name and a value a line, then chi of every row. */
#include "judge/judge.h"
#include "score/reduce.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void *read_file(const char *path, int64_t bytes)
{
    FILE *file = fopen(path, "rb");
    void *memory = malloc((size_t)bytes);
    if (file == NULL || memory == NULL || fread(memory, 1, (size_t)bytes, file) != (size_t)bytes ||
        fgetc(file) != EOF) {
        (void)fprintf(stderr, "%s does not hold %lld bytes\n", path, (long long)bytes);
        exit(1);
    }
    (void)fclose(file);
    return memory;
}

/* Squares the errors, and reduces them in two tiles, as the scoring pass would. */
static rer_ratio_sums reduce(rer_result *result, float *errors)
{
    rer_ratio_sums sums = {0};
    int32_t C = result->C, half = C / 2;
    for (int64_t i = 0; i < result->N; i++) {
        rer_row_errors row = rer_row_errors_none();
        float *d2 = errors + i * C;
        for (int32_t k = 0; k < C; k++)
            d2[k] *= d2[k];
        rer_row_errors_take(&row, d2, 0, half, result->given[i], rer_cpu_kernels());
        rer_row_errors_take(&row, d2 + half, half, C - half, result->given[i], rer_cpu_kernels());
        rer_ratio_sums_add_row(&sums, &row, C);
        result->own[i] = sqrtf(row.own);
        result->other[i] = sqrtf(row.nearest.first);
        result->suggested[i] = row.nearest.first_class;
    }
    return sums;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    int32_t C = (int32_t)strtol(argv[1], NULL, 10);
    int64_t N = strtoll(argv[2], NULL, 10);
    rer_result *result = NULL;
    rer_options options = rer_options_default();
    rer_error error = {0};
    options.threshold = RER_PAPER;
    if (rer_result_make(&result, N, C, &options, &error) != RER_OK)
        return 1;
    free(result->given);
    result->given = read_file(argv[4], N * (int64_t)sizeof(int32_t));
    float *errors = read_file(argv[3], N * C * (int64_t)sizeof(float));
    rer_findings findings = {.sums = reduce(result, errors)};
    rer_pool *pool = NULL;
    if (rer_pool_open(&pool, &(rer_pool_settings){.threads = 1}, &error) != RER_OK ||
        rer_judge(result, &findings, pool, &error) != RER_OK) {
        (void)fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    const rer_summary *summary = &result->summary;
    printf("chi_avg %a\nchi0 %a\nchi_rand %a\neta_est %a\nthreshold %a\n", summary->chi, summary->chi0,
           summary->chi_rand, summary->eta, summary->threshold);
    for (int64_t i = 0; i < N; i++)
        printf("%a\n", rer_sample_of(result, i).chi);
    free(errors);
    rer_pool_close(pool);
    rer_result_free(result);
    return 0;
}
