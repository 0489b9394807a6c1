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
