/* Lists the most suspicious labels of a data set:
 *
 *     find_mistakes X.npy y.npy [COUNT]
 *
 * First the numbers of the whole set, then a line for each suspect: row, given label, suggested
 * label, probability that the given one is wrong. */
#include <rer.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT_MAX = 1000 };

static void print_suspects(const rer_result *result, int64_t count)
{
    int64_t rows[COUNT_MAX];
    int64_t found = rer_result_suspects(result, count < COUNT_MAX ? count : COUNT_MAX, rows);
    for (int64_t i = 0; i < found; i++) {
        rer_sample sample = {.size = sizeof sample};
        if (rer_result_sample(&sample, result, rows[i], NULL) != RER_OK)
            return;
        printf("row %lld: '%s' is probably '%s' (%.0f %%)\n", (long long)sample.row,
               rer_result_class_name(result, sample.given), rer_result_class_name(result, sample.suggested),
               100 * sample.mistakenness);
    }
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: find_mistakes X.npy y.npy [COUNT]\n");
        return 2;
    }
    rer_error error = {0};
    rer_dataset *data = NULL;
    rer_result *result = NULL;
    rer_files files = {.size = sizeof files, .features = argv[1], .labels = argv[2]};

    if (rer_dataset_open(&data, &files, NULL, &error) == RER_OK &&
        rer_analyze(&result, data, NULL, NULL, NULL, &error) == RER_OK) {
        const rer_summary *summary = rer_result_summary(result);
        printf("%lld samples, %d classes, %lld flagged, noise rate %.3f\n", (long long)summary->n_samples,
               summary->n_classes, (long long)summary->n_issues, summary->noise_rate);
        print_suspects(result, argc > 3 ? strtoll(argv[3], NULL, 10) : 10);
    } else {
        fprintf(stderr, "%s\n", error.message);
    }
    rer_result_free(result);
    rer_dataset_free(data);
    return (int)error.status;
}
