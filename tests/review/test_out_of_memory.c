/* Every allocation of a review fails once: while it is opened, for every answer, and while its decisions are applied.
 * Each time there is a message and no leak (which the build with AddressSanitizer sees), and a decision that could not
 * be saved is saved once when it is sent again. Jansson's own allocations stay: its reader does not survive that. */
#include "failing_allocations.h"
#include "files.h"
#include "made_data.h"
#include "studies/review/review.h"

#include <unistd.h>

static const char *query_of(void *context, const char *name)
{
    return strcmp(name, "row") == 0 ? "3" : strcmp(name, "find") == 0 ? context : NULL;
}

/* A run in the folder "run". */
static void analyze(void)
{
    made_data made =
        made_data_make(&(made_settings){.N = 60, .D = 4, .C = 3, .separation = 6, .mislabelled = 6, .seed = 5});
    const char *x = write_npy("X.npy", "<f4", 0, "(60, 4)", made.x, made.N * made.D * (int64_t)sizeof *made.x);
    const char *y = write_npy("y.npy", "<i4", 0, "(60,)", made.code, made.N * (int64_t)sizeof *made.code);
    char texts[60 * 3 + 1] = "";
    for (int i = 0; i < 60; i++)
        strcat(texts, "t\n");
    rer_files files = {.size = sizeof files, .features = x, .labels = y, .texts = write_text("texts.txt", texts)};
    rer_outputs outputs = {.size = sizeof outputs, .folder = file_path("run")};
    rer_dataset *data = NULL;
    rer_result *result = NULL;
    rer_error error = {0};
    assert_int_equal(rer_dataset_open(&data, &files, NULL, &error), RER_OK);
    assert_int_equal(rer_analyze(&result, data, NULL, &outputs, NULL, &error), RER_OK);
    rer_result_free(result);
    rer_dataset_free(data);
    made_data_free(&made);
}

static rer_answer ask(rer_review *review, const char *path, const char *body)
{
    rer_answer answer = {0};
    char words[] = "2";
    rer_request request = {.is_post = body != NULL,
                           .path = path,
                           .query = query_of,
                           .context = words,
                           .body = body,
                           .size = body != NULL ? (int64_t)strlen(body) : 0};
    rer_review_answer(&answer, review, &request);
    return answer;
}

static const char decision[] = "{\"reviewer\":\"ann\",\"decisions\":[{\"id\":\"00000000000000%02x\",\"row\":%d,"
                               "\"decision\":\"%s\",\"label\":\"2\",\"note\":\"n\"}]}";

static const char *decision_of(char *text, size_t size, int row)
{
    (void)snprintf(text, size, decision, row, row, row % 2 == 0 ? "fix" : "keep");
    return text;
}

/* The answer is there in the end; before, it is a failure or nothing. */
static void answers_or_says_why(rer_review *review, const char *path, const char *body)
{
    for (int64_t i = 0;; i++) {
        has_failed = false;
        before_failure = i;
        rer_answer answer = ask(review, path, body);
        before_failure = -1;
        bool is_whole = answer.bytes != NULL && answer.status == 200;
        free(answer.bytes);
        if (!has_failed) {
            assert_true(is_whole);
            return;
        }
    }
}

static void answers(void **state)
{
    rer_review review;
    rer_error error = {0};
    char text[300];
    (void)state;
    analyze();
    assert_int_equal(rer_review_open(&review, file_path("run"), &error), RER_OK);
    review.reviewer = "ann";
    assert_int_equal(rer_journal_open(&review.journal, file_path("run"), review.checksum, true, &error), RER_OK);
    for (int row = 0; row < 4; row++)
        answers_or_says_why(&review, "decide", decision_of(text, sizeof text, row));
    assert_int_equal(review.journal.count, 4); /* sent again and again, each is there once */
    assert_int_equal(review.journal.lines, 5);
    static const char *const paths[] = {"", "state", "rows", "text", "taught", "decisions.csv", "again"};
    for (int i = 0; i < RER_COUNT(paths); i++)
        answers_or_says_why(&review, paths[i], NULL);
    rer_review_close(&review);
}

/* Files of the run, which the test's folder is not removed with. */
static int remove_run(void **state)
{
    static const char *const names[] = {"samples.csv", "classes.csv",   "summary.json",   "report.html",
                                        "inputs.json", "manifest.json", "decisions.jsonl"};
    char path[400];
    for (int i = 0; i < RER_COUNT(names); i++) {
        (void)snprintf(path, sizeof path, "run/%s", names[i]);
        (void)unlink(file_path(path));
    }
    (void)rmdir(file_path("run"));
    return files_teardown(state);
}

static rer_status export_all(rer_error *error)
{
    return rer_review_export(file_path("run"), file_path("decisions.csv"), error);
}

static rer_status apply_all(rer_error *error)
{
    rer_apply_files files = {.size = sizeof files,
                             .labels = file_path("y.npy"),
                             .decisions = file_path("run"),
                             .out = file_path("clean.npy")};
    return rer_apply(NULL, &files, NULL, error);
}

static void fail_each(rer_status (*act)(rer_error *error))
{
    for (int64_t i = 0;; i++) {
        rer_error error = {0};
        has_failed = false;
        before_failure = i;
        rer_status status = act(&error);
        before_failure = -1;
        if (!has_failed) {
            assert_int_equal(status, RER_OK);
            assert_true(i > 10);
            return;
        }
        if (status != RER_OK) /* without its data a review goes on */
            assert_true(error.message[0] != 0);
    }
}

static void exports_and_applies(void **state)
{
    rer_journal journal = RER_NO_JOURNAL;
    rer_review review;
    rer_error error = {0};
    (void)state;
    analyze();
    assert_int_equal(rer_review_open(&review, file_path("run"), &error), RER_OK);
    assert_int_equal(rer_journal_open(&journal, file_path("run"), review.checksum, true, &error), RER_OK);
    const rer_decision made[] = {
        {.id = "0123456789abcdef",
         .row = 3,
         .kind = RER_FIX,
         .label = "2",
         .reviewer = "ann",
         .given = rer_review_value(&review, review.rows.given[3])},
        {.id = "0123456789abcdee",
         .row = 4,
         .kind = RER_DROP,
         .reviewer = "bob",
         .given = rer_review_value(&review, review.rows.given[4])},
    };
    assert_int_equal(rer_journal_add(&journal, made, 2, &error), RER_OK);
    rer_journal_close(&journal);
    rer_review_close(&review);
    fail_each(export_all);
    fail_each(apply_all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(answers, files_setup, remove_run),
                                       cmocka_unit_test_setup_teardown(exports_and_applies, files_setup, remove_run)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
