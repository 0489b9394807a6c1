/* decisions.jsonl: what reviewers decided about the labels of a run, in its folder, as it was decided.
 *
 * One JSON object a line, only ever appended. A line is on the disk before it counts, and carries an id, so that a
 * decision that is sent twice counts once; a torn last line, of a process that was killed, is as if it had never been.
 * Several processes may append at a time. The last line of a reviewer about a row is what the reviewer thinks. */
#pragma once

#include "source/texts.h"

typedef enum rer_decision_kind {
    RER_OPEN, /* one that was taken back */
    RER_KEEP,
    RER_FIX,    /* to the suggestion */
    RER_CHOOSE, /* another class */
    RER_NEW,    /* one that there was not */
    RER_DROP,
    RER_NONE_FITS, /* none fits */
    RER_UNSURE,
} rer_decision_kind;
enum { RER_DECISION_KINDS = RER_UNSURE + 1 };

enum { RER_DECISION_ID = 40, RER_REVIEWER_MAX = 60, RER_LABEL_MAX = 1000, RER_NOTE_MAX = 1000 }; /* bytes */

/* One that is to be written. */
typedef struct rer_decision {
    char id[RER_DECISION_ID];
    int64_t row;
    rer_decision_kind kind;
    const char *label; /* where the decision has one */
    const char *given, *note, *reviewer;
    double promise; /* probability that the label is wrong, as the run said before */
} rer_decision;

/* One that was read. */
typedef struct rer_entry {
    char id[RER_DECISION_ID];
    int64_t row, label, given, note; /* places in `texts`; -1: none */
    double promise;
    int32_t reviewer; /* place in `reviewers` */
    uint8_t kind;
    bool is_current; /* the reviewer has said nothing later about the row */
} rer_entry;

typedef struct rer_journal {
    char *path;
    int fd;             /* -1: none */
    int64_t taken;      /* bytes that were read, up to the end of a line */
    int64_t lines;      /* in them */
    char checksum[20];  /* of the labels */
    rer_entry *entries; /* [count] in the order of the file */
    int64_t count, capacity;
    rer_texts_builder texts, reviewers;
    int64_t *by_id, *by_place; /* [slots] entries by their id, and by row and reviewer; -1: none */
    int64_t slots;
} rer_journal;

#define RER_NO_JOURNAL ((rer_journal){.fd = -1})

/* The journal of a folder, which is made where it is missing and `is_written`; else there may be none: it is empty.
 * Fails where it was made for other labels. */
rer_status rer_journal_open(rer_journal *journal, const char *folder, uint64_t labels_checksum, bool is_written,
                            rer_error *error);
void rer_journal_close(rer_journal *journal);
/* Takes what other processes have appended. */
rer_status rer_journal_catch_up(rer_journal *journal, rer_error *error);
/* Appends and takes those whose id is not there yet; they are on the disk when this returns. */
rer_status rer_journal_add(rer_journal *journal, const rer_decision *decisions, int64_t count, rer_error *error);

/* Whether an entry is what its reviewer thinks now: a decision, or a note on a row that is still open. */
bool rer_entry_holds(const rer_entry *entry);
const char *rer_entry_text(const rer_journal *journal, int64_t place); /* "" where there is none */
const char *rer_entry_reviewer(const rer_journal *journal, const rer_entry *entry);

bool rer_decision_has_label(rer_decision_kind kind);
const char *rer_decision_word(rer_decision_kind kind);
rer_status rer_decision_read(rer_decision_kind *kind, const char *word, rer_error *error);
