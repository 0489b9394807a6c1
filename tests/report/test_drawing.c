/* Pictures of the report are drawn in the sight of who asked for progress: told in the thread that called, and ended by
 * it, with nothing left behind. */
#include "core/options.h"

#include "files.h"
#include "made_data.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define PICTURES 120
#define SIDE 320

typedef struct told {
    pthread_t caller;
    double furthest;
    int drawn;        /* times that drawing was told */
    bool strange;     /* from another thread, or backwards */
    const char *last; /* the stage that it is ended in, once drawing was told */
} told;

static bool hear(void *context, const char *stage, double fraction)
{
    told *t = context;
    bool is_drawing = strcmp(stage, "drawing pictures") == 0;
    t->strange = t->strange || !pthread_equal(t->caller, pthread_self()) || fraction < t->furthest;
    t->furthest = fraction;
    t->drawn += is_drawing;
    return t->drawn > 0 && strcmp(stage, t->last) == 0;
}

static rer_status analyze_pictures(told *t, const char *folder)
{
    static uint8_t pixels[PICTURES * SIDE * SIDE];
    for (int i = 0; i < PICTURES * SIDE * SIDE; i++)
        pixels[i] = (uint8_t)(i * 7 % 251);
    made_settings settings = {.N = PICTURES, .D = 10, .C = 3, .separation = 3, .mislabelled = 9, .seed = 2};
    made_data made = made_data_make(&settings);
    rer_dataset *data = made_data_wrap(&made);
    rer_view images = {.data = pixels, .dtype = RER_U8, .rank = 3, .shape = {PICTURES, SIDE, SIDE}};
    rer_outputs outputs = {.size = sizeof outputs, .folder = folder};
    rer_progress progress = {.report = hear, .context = t};
    rer_options options = rer_options_default();
    rer_result *result = NULL;
    rer_error error = {0};
    t->caller = pthread_self();
    assert_int_equal(rer_options_set(&options, "threads", "1", &error), RER_OK); /* it lasts, then */
    assert_int_equal(rer_dataset_set_images(data, &images, &error), RER_OK);
    rer_status status = rer_analyze(&result, data, &options, &outputs, &progress, &error);
    rer_result_free(result);
    rer_dataset_free(data);
    made_data_free(&made);
    return status;
}

static void test_drawing_is_told(void **state)
{
    (void)state;
    told t = {.last = "writing"}; /* all is drawn and written by then */
    assert_int_equal(analyze_pictures(&t, file_path("out")), RER_CANCELLED);
    assert_true(t.drawn > 0);
    assert_false(t.strange);
}

static void test_drawing_can_be_ended(void **state)
{
    (void)state;
    told t = {.last = "drawing pictures"};
    const char *folder = file_path("out");
    assert_int_equal(analyze_pictures(&t, folder), RER_CANCELLED);
    assert_int_equal(t.drawn, 1);
    assert_int_not_equal(access(folder, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {FILES_TEST(test_drawing_is_told), FILES_TEST(test_drawing_can_be_ended)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
