/* Votes of reviewers: see votes.h. */
#include "labels/votes.h"

static int by_row(const void *a, const void *b)
{
    const rer_vote *left = a, *right = b;
    if (left->row != right->row)
        return left->row < right->row ? -1 : 1;
    return (left->reviewer > right->reviewer) - (left->reviewer < right->reviewer);
}

static int32_t votes_for(const rer_vote *votes, int64_t n, int32_t outcome)
{
    int32_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += votes[i].outcome == outcome;
    return count;
}

/* A row has a handful of reviewers. */
static rer_verdict_of_row judge_row(const rer_vote *votes, int64_t n)
{
    rer_verdict_of_row verdict = {.row = votes[0].row, .votes = (int32_t)n};
    int32_t most = 0;
    for (int64_t i = 0; i < n; i++) {
        int32_t count = votes_for(votes, n, votes[i].outcome);
        if (count > most) {
            verdict.outcome = votes[i].outcome;
            verdict.is_tie = false;
            most = count;
        } else if (count == most && votes[i].outcome != verdict.outcome) {
            verdict.is_tie = true;
        }
    }
    verdict.is_unanimous = most == n;
    return verdict;
}

int64_t rer_votes_count(rer_verdict_of_row *verdicts, rer_vote *votes, int64_t n)
{
    int64_t count = 0;
    if (n > 0)
        qsort(votes, (size_t)n, sizeof *votes, by_row);
    for (int64_t first = 0, end; first < n; first = end) {
        for (end = first; end < n && votes[end].row == votes[first].row;)
            end++;
        verdicts[count++] = judge_row(votes + first, end - first);
    }
    return count;
}

enum { NAMED = 10 }; /* ties */

static rer_status check_ties(const rer_verdict_of_row *verdicts, int64_t count, const char *name, rer_error *error)
{
    char rows[24 * NAMED] = "";
    size_t used = 0;
    int64_t ties = 0;
    for (int64_t i = 0; i < count; i++)
        if (verdicts[i].is_tie && ties++ < NAMED)
            used += (size_t)snprintf(rows + used, sizeof rows - used, "%s%lld", ties > 1 ? ", " : "",
                                     (long long)verdicts[i].row);
    if (ties == 0)
        return RER_OK;
    return rer_fail(
        error, RER_BAD_INPUT,
        "%s: reviewers disagree about %lld rows, as many for one as for another: row %s%s; let one of them, "
        "or a third, decide in rer review",
        name, (long long)ties, rows, ties > NAMED ? ", ..." : "");
}

rer_status rer_votes_check(const rer_vote *votes, int64_t n, const rer_verdict_of_row *verdicts, int64_t count,
                           const char *name, rer_error *error)
{
    for (int64_t i = 1; i < n; i++)
        if (votes[i].row == votes[i - 1].row && votes[i].reviewer == votes[i - 1].reviewer)
            return rer_fail(error, RER_BAD_INPUT, "%s: a reviewer decides twice about row %lld", name,
                            (long long)votes[i].row);
    return check_ties(verdicts, count, name, error);
}
