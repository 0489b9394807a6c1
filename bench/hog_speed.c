/* Pictures described per second on one core, for the sizes people have. */
#include "embed/hog.h"

#include <stdio.h>

static void measure(int64_t height, int64_t width, int64_t channels, int64_t count)
{
    rer_hog plan;
    rer_error error = {0};
    if (rer_hog_plan(&plan, height, width, channels, "bench", &error) != RER_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    int64_t bytes = count * height * width * channels;
    uint8_t *pictures = malloc((size_t)bytes);                     /* [count, height, width, channels] */
    float *out = malloc((size_t)(count * plan.D) * sizeof(float)); /* [count, D] */
    void *scratch = malloc((size_t)rer_hog_scratch(&plan));
    if (pictures == NULL || out == NULL || scratch == NULL) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    uint32_t state = 1;
    for (int64_t i = 0; i < bytes; i++) {
        state = state * 1664525u + 1013904223u;
        pictures[i] = (uint8_t)(state >> 24);
    }
    double best = 0;
    for (int round = 0; round < 5; round++) {
        double start = rer_now();
        rer_hog_describe(&plan, pictures, count, out, scratch);
        double speed = (double)count / (rer_now() - start);
        best = speed > best ? speed : best;
    }
    printf("%4lld x %lld x %lld: D = %lld, %.0f pictures/s\n", (long long)height, (long long)width, (long long)channels,
           (long long)plan.D, best);
    free(scratch);
    free(out);
    free(pictures);
}

int main(void)
{
    measure(28, 28, 1, 5000);
    measure(32, 32, 3, 2000);
    measure(224, 224, 3, 200);
    return 0;
}
