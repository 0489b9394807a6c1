/* What several reviewers make of a row: the majority. */
#pragma once

#include "core/core.h"

typedef struct rer_vote {
    int64_t row;
    int32_t outcome; /* class that the label should be, -1: the row is to be dropped */
    int32_t reviewer;
} rer_vote;

typedef struct rer_verdict_of_row {
    int64_t row;
    int32_t outcome; /* of most votes */
    int32_t votes;
    bool is_tie; /* another outcome has as many */
    bool is_unanimous;
} rer_verdict_of_row;

/* Sorts votes [n] by row and reviewer, and counts them: verdicts [returned] of n rows at most. */
int64_t rer_votes_count(rer_verdict_of_row *verdicts, rer_vote *votes, int64_t n);
/* Fails where a reviewer has voted twice, or where there are ties, which it names; `name` is of the votes' file. */
rer_status rer_votes_check(const rer_vote *votes, int64_t n, const rer_verdict_of_row *verdicts, int64_t count,
                           const char *name, rer_error *error);
