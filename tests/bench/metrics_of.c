/* Metrics of outcomes in a file, for the comparison with scikit-learn:
 *     metrics_of FILE
 * FILE: doubles: threshold, noise_rate, noise_low, noise_high, true_rate, has_probability; then for each row score,
 * probability, flagged, wrong, suggestion_right. Prints a line "name value" for each metric, then one
 * for each calibration bin. */
#include "studies/bench/metrics.h"

#include <stdio.h>
#include <string.h>

enum { HEAD = 6, COLUMNS = 5 };

static double *read_all(const char *path, int64_t *count)
{
    FILE *file = fopen(path, "rb");
    double *numbers = malloc(1 << 26);
    if (file == NULL || numbers == NULL)
        exit(2);
    *count = (int64_t)fread(numbers, sizeof *numbers, (1 << 26) / sizeof *numbers, file);
    (void)fclose(file);
    return numbers;
}

int main(int argc, char **argv)
{
    int64_t count = 0;
    if (argc != 2)
        return 2;
    double *numbers = read_all(argv[1], &count), values[RER_METRICS];
    int64_t n = (count - HEAD) / COLUMNS;
    double *columns = malloc((size_t)(2 * n + 1) * sizeof(double));
    bool *marks = malloc((size_t)(3 * n + 1));
    if (columns == NULL || marks == NULL)
        return 2;
    for (int64_t i = 0; i < n; i++) {
        const double *row = numbers + HEAD + COLUMNS * i;
        columns[i] = row[0];
        columns[n + i] = row[1];
        for (int m = 0; m < 3; m++)
            marks[m * n + i] = row[2 + m] != 0;
    }
    rer_outcome outcome = {
        .n = n,
        .score = columns,
        .probability = numbers[5] != 0 ? columns + n : NULL,
        .flagged = marks,
        .wrong = marks + n,
        .suggestion_right = marks + 2 * n,
        .threshold = numbers[0],
        .noise_rate = numbers[1],
        .noise_low = numbers[2],
        .noise_high = numbers[3],
        .true_rate = numbers[4],
    };
    rer_error error = {0};
    rer_calibration_bin bins[RER_CALIBRATION_BINS];
    if (rer_metrics(values, &outcome, &error) != RER_OK)
        return 1;
    for (int metric = 0; metric < RER_METRICS; metric++)
        printf("%s %.17g\n", rer_metric_name((rer_metric_id)metric), values[metric]);
    rer_calibration(bins, &outcome);
    for (int b = 0; b < RER_CALIBRATION_BINS; b++)
        printf("bin%d %lld %.17g %.17g\n", b, (long long)bins[b].count, bins[b].probability, bins[b].wrong);
    free(numbers);
    free(columns);
    free(marks);
    return 0;
}
