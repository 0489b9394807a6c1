/* report.html, alive: the page as it was written, with our own script between the store of decisions and the review.
 *
 * The policy lists the hashes of the scripts and styles of this version alone. What else a file of that name may hold,
 * a browser does not run: a folder of results may come from anyone. */
#include "studies/review/review.h"

extern const char rer_live_js[], rer_live_js_sha256[], rer_live_css[], rer_live_css_sha256[];
extern const char rer_frame_css_sha256[], rer_chart_css_sha256[], rer_report_css_sha256[];
extern const char rer_frame_js_sha256[], rer_report_js_sha256[], rer_decisions_js_sha256[], rer_classes_js_sha256[];
extern const char rer_review_js[], rer_review_js_sha256[];

static const char *const styles[] = {rer_frame_css_sha256, rer_chart_css_sha256, rer_report_css_sha256,
                                     rer_live_css_sha256};
static const char *const scripts[] = {rer_frame_js_sha256,   rer_report_js_sha256, rer_decisions_js_sha256,
                                      rer_classes_js_sha256, rer_review_js_sha256, rer_live_js_sha256};

static const char policy_start[] = "<meta http-equiv=\"Content-Security-Policy\"";

/* Where the review's script begins; NULL: this is no page of this version. */
static const char *find_review(const char *report)
{
    const char *script = strstr(report, rer_review_js);
    size_t tag = sizeof "<script>" - 1;
    bool is_script = script != NULL && (size_t)(script - report) >= tag && strncmp(script - tag, "<script>", tag) == 0;
    return is_script ? script - tag : NULL;
}

rer_status rer_review_page_check(const char *report, const char *path, rer_error *error)
{
    const char *policy = strstr(report, policy_start), *head = strstr(report, "</head>");
    if (find_review(report) != NULL && policy != NULL && head != NULL && policy < head && strstr(policy, "\">") != NULL)
        return RER_OK;
    return rer_fail(error, RER_BAD_INPUT, "%s: is no report of this version of rer; repeat the analysis", path);
}

/* The policy of a file gives way to the one that is sent with it. */
rer_status rer_review_page(char **page, const char *report, const char *state, rer_error *error)
{
    rer_writer writer;
    const char *policy = strstr(report, policy_start), *head = strstr(report, "</head>"), *review = find_review(report);
    const char *after = strstr(policy, "\">") + 2;
    rer_writer_start(&writer, NULL, error);
    rer_put_bytes(&writer, report, policy - report);
    rer_put_bytes(&writer, after, head - after);
    rer_puts(&writer, "<link rel=\"icon\" href=\"data:,\">\n<style>", rer_live_css, "</style>\n");
    rer_put_bytes(&writer, head, review - head);
    rer_puts(&writer, "<script type=\"application/json\" id=\"live\">", state, "</script>\n<script>", rer_live_js,
             "</script>\n");
    rer_put(&writer, review);
    return rer_writer_end_memory(&writer, page);
}

static void put_hashes(rer_writer *writer, const char *const *hashes, int count)
{
    for (int i = 0; i < count; i++)
        rer_puts(writer, " 'sha256-", hashes[i], "'");
}

rer_status rer_review_policy(char **policy, rer_error *error)
{
    rer_writer writer;
    rer_writer_start(&writer, NULL, error);
    rer_put(&writer, "default-src 'none'; img-src 'self' data:; connect-src 'self'; style-src");
    put_hashes(&writer, styles, RER_COUNT(styles));
    rer_put(&writer, "; script-src");
    put_hashes(&writer, scripts, RER_COUNT(scripts));
    rer_put(&writer, "; base-uri 'none'; form-action 'none'; frame-ancestors 'self' http://127.0.0.1:* "
                     "http://localhost:*"); /* a notebook shows it in a frame */
    return rer_writer_end_memory(&writer, policy);
}
