/* Decisions of a client: from JSON into the journal, and out of it as a table. */
#include "studies/review/review.h"

#include <jansson.h>

enum { DECISIONS_MOST = 500 }; /* of one request */

/* A text that a client gives: UTF-8 (Jansson has seen to it), so long at most, without control characters. */
static rer_status take_text(const char **out, const json_t *from, const char *name, size_t most, rer_error *error)
{
    const json_t *value = json_object_get(from, name);
    const char *text = json_string_value(value);
    *out = text != NULL ? text : "";
    if (value != NULL && text == NULL)
        return rer_fail(error, RER_BAD_INPUT, "%s is to be a text", name);
    if (strlen(*out) > most)
        return rer_fail(error, RER_BAD_INPUT, "%s has %zu bytes; %zu are allowed", name, strlen(*out), most);
    for (const char *at = *out; *at != 0; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7F)
            return rer_fail(error, RER_BAD_INPUT, "%s: control characters are not allowed", name);
    return RER_OK;
}

static rer_status take_id(rer_decision *decision, const json_t *from, rer_error *error)
{
    const char *id = json_string_value(json_object_get(from, "id"));
    size_t length = id != NULL ? strlen(id) : 0;
    if (length < 16 || length >= sizeof decision->id || id[strspn(id, "0123456789abcdef")] != 0)
        return rer_fail(error, RER_BAD_INPUT, "id is to be 16 to %zu hexadecimal digits", sizeof decision->id - 1);
    memcpy(decision->id, id, length + 1);
    return RER_OK;
}

static rer_status take_decision(rer_decision *decision, const rer_review *review, const json_t *from, rer_error *error)
{
    const json_t *row = json_object_get(from, "row");
    RER_TRY(take_id(decision, from, error));
    if (!json_is_integer(row) || json_integer_value(row) < 0 || json_integer_value(row) >= review->rows.N)
        return rer_fail(error, RER_BAD_INPUT, "row is to be a number from 0 to %lld", (long long)review->rows.N - 1);
    RER_TRY(rer_decision_read(&decision->kind, json_string_value(json_object_get(from, "decision")), error));
    RER_TRY(take_text(&decision->label, from, "label", RER_LABEL_MAX, error));
    RER_TRY(take_text(&decision->given, from, "given", RER_LABEL_MAX, error));
    RER_TRY(take_text(&decision->note, from, "note", RER_NOTE_MAX, error));
    bool changes = rer_decision_has_label(decision->kind);
    if (changes && decision->label[0] == 0)
        return rer_fail(error, RER_BAD_INPUT, "%s needs a label", rer_decision_word(decision->kind));
    decision->row = json_integer_value(row);
    decision->label = changes ? decision->label : NULL;
    decision->promise = (double)review->rows.promise[decision->row];
    if (review->data != NULL) /* what the file says, whatever the page thinks */
        decision->given = rer_review_value(review, review->rows.given[decision->row]);
    return RER_OK;
}

/* decisions [count], which hold texts of `root`. */
static rer_status read_decisions(rer_decision *decisions, size_t count, rer_review *review, const json_t *root,
                                 const char *reviewer, rer_error *error)
{
    const json_t *list = json_object_get(root, "decisions");
    rer_status status = RER_OK;
    (void)pthread_rwlock_rdlock(&review->rows_lock);
    for (size_t i = 0; status == RER_OK && i < count; i++) {
        decisions[i].reviewer = reviewer[0] != 0 ? reviewer : review->reviewer;
        status = take_decision(&decisions[i], review, json_array_get(list, i), error);
    }
    (void)pthread_rwlock_unlock(&review->rows_lock);
    return status;
}

static rer_status take_decisions(rer_review *review, const json_t *root, rer_error *error)
{
    size_t count = json_array_size(json_object_get(root, "decisions"));
    rer_decision *decisions = NULL;
    const char *reviewer = NULL;
    rer_status status = take_text(&reviewer, root, "reviewer", RER_REVIEWER_MAX, error);
    if (status == RER_OK && (count < 1 || count > DECISIONS_MOST))
        status = rer_fail(error, RER_BAD_INPUT, "1 to %d decisions at a time, not %zu", DECISIONS_MOST, count);
    RER_THEN(status, rer_allocate(&decisions, (int64_t)count, sizeof *decisions, "decisions", error));
    RER_THEN(status, read_decisions(decisions, count, review, root, reviewer, error));
    if (status == RER_OK) {
        (void)pthread_mutex_lock(&review->lock);
        status = rer_journal_add(&review->journal, decisions, (int64_t)count, error);
        (void)pthread_mutex_unlock(&review->lock);
    }
    free(decisions);
    return status;
}

rer_status rer_review_decide(rer_review *review, const char *body, int64_t size, rer_error *error)
{
    json_error_t cause;
    json_t *root = json_loadb(body, (size_t)size, 0, &cause);
    if (root == NULL)
        return rer_fail(error, RER_BAD_INPUT, "this is no JSON: line %d, %s", cause.line, cause.text);
    rer_status status = take_decisions(review, root, error);
    json_decref(root);
    return status;
}

/* ---- decisions.csv ---------------------------------------------------------------------------- */

void rer_review_put_decisions(rer_writer *writer, const void *what, int which)
{
    const rer_review *review = what;
    const rer_journal *journal = &review->journal;
    (void)which;
    rer_put(writer, "index,given_label,decision,new_label,mistakenness,labels_checksum,reviewer,note\n");
    for (int64_t i = 0; i < journal->count; i++) {
        const rer_entry *entry = &journal->entries[i];
        char sum[32];
        if (!rer_entry_holds(entry) || entry->row >= review->rows.N)
            continue;
        (void)snprintf(sum, sizeof sum, "rer:%s", journal->checksum);
        rer_decision_kind kind = entry->kind == RER_OPEN ? RER_UNSURE : (rer_decision_kind)entry->kind;
        bool stays = kind == RER_KEEP || kind == RER_UNSURE;
        rer_csv_integer(writer, entry->row);
        rer_csv_text(writer, rer_entry_text(journal, entry->given));
        rer_csv_text(writer, rer_decision_word(kind));
        rer_csv_text(writer, rer_entry_text(journal, stays ? entry->given : entry->label));
        rer_csv_number(writer, entry->promise);
        rer_csv_text(writer, sum);
        rer_csv_text(writer, rer_entry_reviewer(journal, entry));
        rer_csv_text(writer, rer_entry_text(journal, entry->note));
        rer_csv_end(writer);
    }
}
