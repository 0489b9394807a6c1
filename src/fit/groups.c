/* Groups, in steps: rows sorted by group and class; cells of groups with two rows or more; one pass over
 * the data for the mean residual of each cell, added in row order. */
#include "fit/groups.h"

typedef struct member {
    int32_t group, code;
    int64_t row;
} member;

static int compare(const void *a, const void *b)
{
    const member *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->code != y->code)
        return x->code < y->code ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static bool is_member(const rer_run *run, int64_t row)
{
    return run->groups[row] >= 0 && rer_run_has_label(run, row);
}

/* Sorted members [count]: numbers the cells and says which rows are in them. */
static void set_cells(rer_groups *groups, const member *members, int64_t count)
{
    for (int64_t first = 0, end = 0; first < count; first = end) {
        for (end = first; end < count && members[end].group == members[first].group;)
            end++;
        if (end - first < 2)
            continue;
        for (int64_t i = first; i < end; i++) {
            if (i == first || members[i].code != members[i - 1].code) {
                groups->group[groups->cells] = members[i].group;
                groups->code[groups->cells++] = members[i].code;
            }
            groups->rows[groups->cells - 1]++;
            groups->cell[members[i].row] = (int32_t)(groups->cells - 1);
        }
    }
}

static rer_status sort_rows(rer_groups *groups, const rer_class_moments *moments, const rer_run *run, rer_error *error)
{
    member *members = NULL;
    int64_t count = 0;
    RER_TRY(rer_allocate(&members, run->N, sizeof *members, "groups", error));
    for (int64_t row = 0; row < run->N; row++) {
        groups->cell[row] = -1;
        if (is_member(run, row))
            members[count++] = (member){run->groups[row], run->given[row], row};
    }
    qsort(members, (size_t)count, sizeof *members, compare);
    set_cells(groups, members, count);
    free(members);
    for (int32_t c = 0; c < run->C; c++)
        groups->usable[c] = moments->n[c];
    for (int64_t p = 0; p < groups->cells; p++)
        if (groups->rows[p] == moments->n[groups->code[p]] && groups->rows[p] > 1) {
            groups->usable[groups->code[p]] = 1;
            groups->n_whole++;
        }
    return RER_OK;
}

typedef struct residual_pass {
    rer_groups *groups;
    const rer_class_moments *moments;
    const rer_normalizer *normalizer;
    const rer_run *run;
} residual_pass;

/* The block at the head of the scratch, for the commit. */
static rer_status load_block(void *context, int64_t item, void *scratch, rer_error *error)
{
    const residual_pass *pass = context;
    rer_block *block = scratch;
    RER_TRY(rer_block_load(block, pass->run, pass->normalizer, item, error));
    int64_t D = pass->run->D;
    for (int64_t i = 0; i < block->count; i++)
        if (pass->groups->cell[block->first + i] >= 0)
            (void)pass->run->kernels->residual_f32(block->x + i * D, block->x + i * D, block->scale[i],
                                                   pass->moments->mean + block->code[i] * D, D);
    return RER_OK;
}

static rer_status commit_block(void *context, int64_t item, void *scratch, rer_error *error)
{
    const residual_pass *pass = context;
    const rer_groups *groups = pass->groups;
    const rer_block *block = scratch;
    int64_t D = pass->run->D;
    (void)item, (void)error;
    for (int64_t i = 0; i < block->count; i++) {
        int32_t cell = groups->cell[block->first + i];
        float share = cell >= 0 ? 1 / (float)groups->rows[cell] : 0;
        for (int64_t j = 0; cell >= 0 && j < D; j++)
            groups->residual[cell * D + j] += share * block->x[i * D + j];
    }
    return RER_OK;
}

static rer_status add_residuals(rer_groups *groups, const rer_class_moments *moments, const rer_normalizer *normalizer,
                                const rer_run *run, rer_error *error)
{
    residual_pass pass = {groups, moments, normalizer, run};
    rer_job job = {.stage = "adding groups up",
                   .from = .2,
                   .to = .25,
                   .items = rer_run_blocks(run),
                   .scratch = rer_block_scratch(run),
                   .work = load_block,
                   .commit = commit_block,
                   .context = &pass};
    RER_TRY(rer_allocate(&groups->residual, groups->cells * run->D, sizeof(float), "groups", error));
    return rer_pool_run(run->pool, &job, error);
}

rer_status rer_groups_make(rer_groups **groups, const rer_class_moments *moments, const rer_normalizer *normalizer,
                           const rer_run *run, rer_error *error)
{
    rer_groups *made = NULL;
    RER_TRY(rer_allocate(&made, 1, sizeof *made, "groups", error));
    rer_room rooms[] = {RER_ROOM(made->cell, run->N), RER_ROOM(made->group, run->N), RER_ROOM(made->code, run->N),
                        RER_ROOM(made->rows, run->N), RER_ROOM(made->usable, run->C)};
    rer_status status = rer_allocate_all(rooms, RER_COUNT(rooms), "groups", error);
    RER_THEN(status, sort_rows(made, moments, run, error));
    int32_t usable = 0;
    for (int32_t c = 0; status == RER_OK && c < run->C; c++)
        usable += made->usable[c] > 1;
    if (status == RER_OK && usable == 0)
        status = rer_fail(error, RER_BAD_INPUT,
                          "--groups: every class is one group, so that nothing is left to judge its rows by; give "
                          "groups within classes, such as copies or frames of one video");
    RER_THEN(status, add_residuals(made, moments, normalizer, run, error));
    if (status == RER_OK)
        *groups = made;
    else
        rer_groups_free(made);
    return status;
}

void rer_groups_free(rer_groups *groups)
{
    if (groups == NULL)
        return;
    RER_FREE_ALL(groups->cell, groups->group, groups->code, groups->rows, groups->residual, groups->usable, groups);
}
