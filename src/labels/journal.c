/* The journal of a review: see journal.h.
 *
 * The first line says what the file is and which labels it is about. Writers hold a lock on the file while they look at
 * what is new, cut off a torn last line, append and sync. */
#include "labels/journal.h"

#include "core/json.h"
#include "core/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *const words[RER_DECISION_KINDS] = {
    [RER_OPEN] = "open", [RER_KEEP] = "keep", [RER_FIX] = "fix",        [RER_CHOOSE] = "choose",
    [RER_NEW] = "new",   [RER_DROP] = "drop", [RER_NONE_FITS] = "none", [RER_UNSURE] = "unsure",
};

bool rer_decision_has_label(rer_decision_kind kind)
{
    return kind == RER_FIX || kind == RER_CHOOSE || kind == RER_NEW;
}

const char *rer_decision_word(rer_decision_kind kind)
{
    return words[kind];
}

rer_status rer_decision_read(rer_decision_kind *kind, const char *word, rer_error *error)
{
    for (int k = 0; k < RER_DECISION_KINDS; k++)
        if (word != NULL && strcmp(word, words[k]) == 0) {
            *kind = (rer_decision_kind)k;
            return RER_OK;
        }
    return rer_fail(error, RER_BAD_INPUT, "a decision is open, keep, fix, choose, new, drop, none or unsure, not '%s'",
                    RER_QUOTED(word != NULL ? word : ""));
}

bool rer_entry_holds(const rer_entry *entry)
{
    return entry->is_current && (entry->kind != RER_OPEN || entry->note >= 0);
}

const char *rer_entry_text(const rer_journal *journal, int64_t place)
{
    return place >= 0 ? rer_text(&journal->texts.texts, place) : "";
}

const char *rer_entry_reviewer(const rer_journal *journal, const rer_entry *entry)
{
    return rer_text(&journal->reviewers.texts, entry->reviewer);
}

/* ---- finding entries -------------------------------------------------------------------------- */

static uint64_t hash_id(const char *id)
{
    return rer_checksum(RER_CHECKSUM_START, id, (int64_t)strlen(id));
}

static uint64_t hash_place(int64_t row, int32_t reviewer)
{
    const int64_t both[] = {row, reviewer};
    return rer_checksum(RER_CHECKSUM_START, both, sizeof both);
}

static int64_t *find_id(const rer_journal *journal, const char *id)
{
    int64_t mask = journal->slots - 1, slot = (int64_t)(hash_id(id) & (uint64_t)mask);
    while (journal->by_id[slot] >= 0 && strcmp(journal->entries[journal->by_id[slot]].id, id) != 0)
        slot = (slot + 1) & mask;
    return &journal->by_id[slot];
}

static int64_t *find_place(const rer_journal *journal, int64_t row, int32_t reviewer)
{
    int64_t mask = journal->slots - 1, slot = (int64_t)(hash_place(row, reviewer) & (uint64_t)mask);
    for (;; slot = (slot + 1) & mask) {
        int64_t at = journal->by_place[slot];
        if (at < 0 || (journal->entries[at].row == row && journal->entries[at].reviewer == reviewer))
            return &journal->by_place[slot];
    }
}

/* The last entry of a reviewer about a row is the one that is found. */
static void index_entry(rer_journal *journal, int64_t at)
{
    rer_entry *entry = &journal->entries[at];
    int64_t *place = find_place(journal, entry->row, entry->reviewer);
    if (*place >= 0)
        journal->entries[*place].is_current = false;
    entry->is_current = true;
    *place = at;
    *find_id(journal, entry->id) = at;
}

static rer_status make_room(rer_journal *journal, rer_error *error)
{
    rer_status status = rer_grow(&journal->entries, &journal->capacity, journal->count + 1, sizeof *journal->entries,
                                 "decisions", error);
    if (status != RER_OK || 2 * (journal->count + 1) <= journal->slots)
        return status;
    int64_t slots = journal->slots > 0 ? 2 * journal->slots : 1024, *by_id = NULL, *by_place = NULL;
    const rer_room rooms[] = {RER_ROOM(by_id, slots), RER_ROOM(by_place, slots)};
    status = rer_allocate_all(rooms, RER_COUNT(rooms), "decisions", error);
    if (status != RER_OK) {
        RER_FREE_ALL(by_id, by_place);
        return status;
    }
    RER_FREE_ALL(journal->by_id, journal->by_place);
    journal->by_id = by_id;
    journal->by_place = by_place;
    journal->slots = slots;
    memset(by_id, -1, (size_t)slots * sizeof *by_id);
    memset(by_place, -1, (size_t)slots * sizeof *by_place);
    for (int64_t at = 0; at < journal->count; at++)
        index_entry(journal, at);
    return RER_OK;
}

/* ---- reading ---------------------------------------------------------------------------------- */

static rer_status fail_line(const rer_journal *journal, rer_error *error, const char *what)
{
    return rer_fail(error, RER_BAD_INPUT, "%s: line %lld: %s; move the file away, or take that line out", journal->path,
                    (long long)journal->lines + 1, what);
}

static rer_status take_text(rer_texts_builder *texts, int64_t *place, const json_t *value, rer_error *error)
{
    const char *text = json_string_value(value);
    *place = -1;
    if (text == NULL || text[0] == 0)
        return RER_OK;
    *place = texts->texts.count;
    return rer_texts_add(texts, text, (int64_t)strlen(text), error);
}

/* The number of a reviewer's name. */
static rer_status take_reviewer(rer_journal *journal, int32_t *number, const char *name, rer_error *error)
{
    rer_texts *known = &journal->reviewers.texts;
    for (*number = 0; *number < known->count; ++*number)
        if (strcmp(rer_text(known, *number), name) == 0)
            return RER_OK;
    return rer_texts_add(&journal->reviewers, name, (int64_t)strlen(name), error);
}

static rer_status take_entry(rer_journal *journal, const json_t *line, rer_error *error)
{
    rer_decision_kind kind = RER_OPEN;
    const char *id = json_string_value(json_object_get(line, "id"));
    const char *reviewer = json_string_value(json_object_get(line, "reviewer"));
    const json_t *row = json_object_get(line, "row"), *promise = json_object_get(line, "promise");
    if (id == NULL || id[0] == 0 || strlen(id) >= RER_DECISION_ID || reviewer == NULL || !json_is_integer(row) ||
        json_integer_value(row) < 0)
        return fail_line(journal, error, "an id, a reviewer and a row are expected");
    RER_TRY(rer_decision_read(&kind, json_string_value(json_object_get(line, "decision")), error));
    RER_TRY(make_room(journal, error));
    if (*find_id(journal, id) >= 0)
        return RER_OK;
    rer_entry *entry = &journal->entries[journal->count];
    *entry = (rer_entry){.row = json_integer_value(row),
                         .kind = (uint8_t)kind,
                         .promise = json_is_number(promise) ? json_number_value(promise) : NAN};
    (void)snprintf(entry->id, sizeof entry->id, "%s", id);
    RER_TRY(take_reviewer(journal, &entry->reviewer, reviewer, error));
    RER_TRY(take_text(&journal->texts, &entry->label, json_object_get(line, "label"), error));
    RER_TRY(take_text(&journal->texts, &entry->given, json_object_get(line, "given"), error));
    RER_TRY(take_text(&journal->texts, &entry->note, json_object_get(line, "note"), error));
    index_entry(journal, journal->count++);
    return RER_OK;
}

static rer_status take_head(const rer_journal *journal, const json_t *line, rer_error *error)
{
    const char *labels = json_string_value(json_object_get(line, "labels"));
    if (!json_is_integer(json_object_get(line, "rer_review")) || labels == NULL)
        return fail_line(journal, error, "this is no journal of rer review");
    if (strcmp(labels, journal->checksum) != 0)
        return rer_fail(error, RER_BAD_INPUT,
                        "%s: holds decisions about other labels (checksum %.20s) than those here (%s); move it away",
                        journal->path, labels, journal->checksum);
    return RER_OK;
}

static rer_status take_line(rer_journal *journal, const char *text, int64_t length, rer_error *error)
{
    json_error_t cause;
    json_t *line = json_loadb(text, (size_t)length, JSON_REJECT_DUPLICATES, &cause);
    rer_status status = line == NULL || !json_is_object(line) ? fail_line(journal, error, "this is no JSON object")
                        : journal->lines == 0                 ? take_head(journal, line, error)
                                                              : take_entry(journal, line, error);
    json_decref(line);
    if (status == RER_OK)
        journal->lines++;
    return status;
}

static rer_status take_lines(rer_journal *journal, const char *text, int64_t size, rer_error *error)
{
    const char *end;
    for (int64_t at = 0; (end = memchr(text + at, '\n', (size_t)(size - at))) != NULL;) {
        int64_t length = end - (text + at);
        RER_TRY(take_line(journal, text + at, length, error));
        at += length + 1;
        journal->taken += length + 1;
    }
    return RER_OK;
}

static rer_status read_rest(const rer_journal *journal, char *text, int64_t size, rer_error *error)
{
    for (int64_t got = 0; got < size;) {
        ssize_t more = pread(journal->fd, text + got, (size_t)(size - got), journal->taken + got);
        if (more == 0)
            return rer_fail(error, RER_SYSTEM, "%s: became shorter while it was read", journal->path);
        if (more < 0 && errno != EINTR)
            return rer_fail_errno(error, "%s: cannot be read", journal->path);
        got += more > 0 ? more : 0;
    }
    return RER_OK;
}

rer_status rer_journal_catch_up(rer_journal *journal, rer_error *error)
{
    struct stat found;
    char *text = NULL;
    if (journal->fd < 0)
        return RER_OK;
    if (fstat(journal->fd, &found) != 0)
        return rer_fail_errno(error, "%s: cannot be read", journal->path);
    int64_t size = found.st_size - journal->taken;
    if (size <= 0)
        return RER_OK;
    rer_status status = rer_allocate(&text, size, 1, "decisions", error);
    RER_THEN(status, read_rest(journal, text, size, error));
    RER_THEN(status, take_lines(journal, text, size, error));
    free(text);
    return status;
}

/* ---- writing ---------------------------------------------------------------------------------- */

/* Where it fails, what it wrote is taken back. */
static rer_status append(const rer_journal *journal, const char *text, rer_error *error)
{
    int64_t size = (int64_t)strlen(text), done = 0;
    if (ftruncate(journal->fd, journal->taken) != 0) /* a torn last line */
        return rer_output_fail(error, journal->path, "cannot be written");
    while (done < size) {
        ssize_t more = pwrite(journal->fd, text + done, (size_t)(size - done), journal->taken + done);
        if (more < 0 && errno != EINTR)
            break;
        done += more > 0 ? more : 0;
    }
    if (done == size && fsync(journal->fd) == 0)
        return RER_OK;
    rer_status status = rer_output_fail(error, journal->path, "cannot be written");
    int cut = ftruncate(journal->fd, journal->taken);
    (void)cut; /* else the next one takes it back, or who opens the journal */
    return status;
}

static void put_decision(rer_writer *writer, const rer_decision *decision, const char *time)
{
    rer_json line = {.writer = writer, .style = RER_JSON_LINE}, *json = &line;
    rer_json_object(json, NULL);
    rer_json_text(json, "id", decision->id);
    rer_json_integer(json, "row", decision->row);
    rer_json_text(json, "given", decision->given);
    rer_json_text(json, "decision", words[decision->kind]);
    if (decision->label != NULL)
        rer_json_text(json, "label", decision->label);
    if (decision->note != NULL && decision->note[0] != 0)
        rer_json_text(json, "note", decision->note);
    rer_json_text(json, "reviewer", decision->reviewer);
    rer_json_real(json, "promise", decision->promise);
    rer_json_text(json, "time", time);
    rer_json_end(json);
    rer_put(writer, "\n");
}

static rer_status write_new(rer_journal *journal, const rer_decision *decisions, int64_t count, rer_error *error)
{
    rer_writer writer;
    char moment[32] = "", *text = NULL;
    time_t now = time(NULL);
    struct tm parts;
    if (gmtime_r(&now, &parts) != NULL)
        (void)strftime(moment, sizeof moment, "%Y-%m-%dT%H:%M:%SZ", &parts);
    rer_writer_start(&writer, NULL, error);
    for (int64_t i = 0; i < count; i++)
        if (journal->slots == 0 || *find_id(journal, decisions[i].id) < 0)
            put_decision(&writer, &decisions[i], moment);
    rer_status status = rer_writer_end_memory(&writer, &text);
    if (status == RER_OK && text[0] != 0)
        status = append(journal, text, error);
    free(text);
    return status == RER_OK ? rer_journal_catch_up(journal, error) : status;
}

static rer_status lock(const rer_journal *journal, int how, rer_error *error)
{
    while (flock(journal->fd, how) != 0)
        if (errno != EINTR)
            return rer_output_fail(error, journal->path, "cannot be locked");
    return RER_OK;
}

rer_status rer_journal_add(rer_journal *journal, const rer_decision *decisions, int64_t count, rer_error *error)
{
    RER_TRY(lock(journal, LOCK_EX, error));
    rer_status status = rer_journal_catch_up(journal, error);
    RER_THEN(status, write_new(journal, decisions, count, error));
    (void)flock(journal->fd, LOCK_UN);
    return status;
}

/* ---- opening ---------------------------------------------------------------------------------- */

/* The first line, where there is none. */
static rer_status begin(rer_journal *journal, const char *folder, rer_error *error)
{
    char head[80];
    RER_TRY(lock(journal, LOCK_EX, error));
    rer_status status = rer_journal_catch_up(journal, error);
    if (status == RER_OK && journal->lines == 0) {
        (void)snprintf(head, sizeof head, "{\"rer_review\":1,\"labels\":\"%s\"}\n", journal->checksum);
        status = append(journal, head, error);
        int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* its name is to last too */
        if (fd >= 0) {
            (void)fsync(fd);
            (void)close(fd);
        }
    }
    (void)flock(journal->fd, LOCK_UN);
    return status == RER_OK ? rer_journal_catch_up(journal, error) : status;
}

static rer_status open_file(rer_journal *journal, const char *folder, bool is_written, rer_error *error)
{
    struct stat found;
    int how = is_written ? O_RDWR | O_CREAT : O_RDONLY;
    journal->fd = open(journal->path, how | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (journal->fd < 0 && errno == ENOENT && !is_written)
        return RER_OK;
    if (journal->fd < 0)
        return rer_output_fail(error, journal->path, is_written ? "cannot be written" : "cannot be read");
    if (fstat(journal->fd, &found) != 0 || !S_ISREG(found.st_mode))
        return rer_fail(error, RER_BAD_INPUT, "%s: is no file; move it away", journal->path);
    return is_written ? begin(journal, folder, error) : rer_journal_catch_up(journal, error);
}

rer_status rer_journal_open(rer_journal *journal, const char *folder, uint64_t labels_checksum, bool is_written,
                            rer_error *error)
{
    rer_journal made = RER_NO_JOURNAL;
    (void)snprintf(made.checksum, sizeof made.checksum, "%016llx", (unsigned long long)labels_checksum);
    rer_status status = rer_join_path(&made.path, folder, RER_JOURNAL, error);
    RER_THEN(status, open_file(&made, folder, is_written, error));
    if (status == RER_OK)
        *journal = made;
    else
        rer_journal_close(&made);
    return status;
}

void rer_journal_close(rer_journal *journal)
{
    if (journal->fd >= 0)
        (void)close(journal->fd);
    rer_texts_free(&journal->texts.texts);
    rer_texts_free(&journal->reviewers.texts);
    RER_FREE_ALL(journal->path, journal->entries, journal->by_id, journal->by_place);
    *journal = RER_NO_JOURNAL;
}
