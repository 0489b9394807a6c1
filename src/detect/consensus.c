/* The fit. Frequencies of triples are C^3 numbers, of which at most N are not 0. With G = T T' the square of
 * the model's is a sum over pairs of true classes,
 *     sum_ijl (c_ijl - o_ijl)^2 = sum_kk' p_k p_k' G_kk'^3 - 2 sum_m o_m sum_k p_k T_ki T_kj T_kl + constant,
 * m = (i, j, l) over the triples o_m that were seen: nothing of size C^3 is ever made. The same holds for
 * pairs, with G^2, and for single labels, with G. T and p are softmaxes of free numbers; L-BFGS starts where
 * most labels are right, which names the classes. */
#include "detect/consensus.h"

#include "core/random.h"
#include "run/pace.h"
#include "stats/minimize.h"

#define ITERATIONS 200
#define CLASSES 8 /* worked on at a time */
#define ROUNDS 21
#define PART (1. / 3)  /* of the rows in a round: other rows are near then, and noise averages out */
#define FIRST_RIGHT .8 /* share of right labels to start from */
#define CONVERGED 3e-5 /* largest part of the gradient */

typedef struct seen_labels {
    int32_t label[3];
    double share;
} seen_labels;

typedef struct fit {
    const rer_run *run;
    int64_t C;
    seen_labels *seen[3]; /* of one, two, three labels */
    int64_t n_seen[3];
    double *p, *T;   /* [C], [C, C] */
    double *dp, *dT; /* derivatives */
    double *value;   /* [C] parts of the objective */
} fit;

/* ---- what is seen --------------------------------------------------------------------------- */

static int by_labels(const void *left, const void *right)
{
    const seen_labels *a = left, *b = right;
    for (int i = 0; i < 3; i++)
        if (a->label[i] != b->label[i])
            return a->label[i] < b->label[i] ? -1 : 1;
    return 0;
}

/* Adds the shares of equal ones. */
static int64_t merge_seen(seen_labels *seen, int64_t count)
{
    int64_t kept = 0;
    if (count > 0)
        qsort(seen, (size_t)count, sizeof *seen, by_labels);
    for (int64_t i = 0; i < count; i++) {
        if (kept > 0 && by_labels(&seen[kept - 1], &seen[i]) == 0)
            seen[kept - 1].share += seen[i].share;
        else
            seen[kept++] = seen[i];
    }
    return kept;
}

static bool takes_part(const fit *f, int64_t round, int64_t row)
{
    return rer_random_uniform(f->run->options->seed, RER_RANDOM_TRIPLES, (uint64_t)round, (uint64_t)row) < PART;
}

/* A row and its two nearest neighbours among those that take part in the round. */
static bool find_triple(seen_labels *triple, const fit *f, const rer_neighbor *list, int64_t round, int64_t row)
{
    int found = 0;
    *triple = (seen_labels){{f->run->given[row], -1, -1}, 1};
    for (int e = 0; found < 2 && e < RER_LISTED && list[e].index >= 0; e++)
        if (takes_part(f, round, list[e].index))
            triple->label[++found] = f->run->given[list[e].index];
    return found == 2;
}

/* Triples of all rounds, counted; those of a round are merged in before the next. */
static rer_status collect_triples(fit *f, const rer_neighbors *neighbors, rer_error *error)
{
    int64_t capacity = 0, count = 0;
    for (int64_t round = 0; round < ROUNDS; round++) {
        for (int64_t row = 0; row < f->run->N; row++) {
            seen_labels triple;
            if (neighbors->among[row] == 0 || !takes_part(f, round, row) ||
                !find_triple(&triple, f, neighbors->list + row * RER_LISTED, round, row))
                continue;
            RER_TRY(rer_grow(&f->seen[2], &capacity, count + 1, sizeof triple, "consensus of labels", error));
            f->seen[2][count++] = triple;
        }
        count = merge_seen(f->seen[2], count);
    }
    f->n_seen[2] = count;
    return RER_OK;
}

/* Shares of single labels (of all rows), pairs and triples. */
static rer_status collect_seen(fit *f, const rer_neighbors *neighbors, rer_error *error)
{
    RER_TRY(collect_triples(f, neighbors, error));
    RER_TRY(rer_allocate(&f->seen[1], f->n_seen[2], sizeof *f->seen[1], "consensus of labels", error));
    RER_TRY(rer_allocate(&f->seen[0], f->C, sizeof *f->seen[0], "consensus of labels", error));
    for (int64_t i = 0; i < f->n_seen[2]; i++) {
        f->seen[1][i] = f->seen[2][i];
        f->seen[1][i].label[2] = -1;
    }
    f->n_seen[1] = merge_seen(f->seen[1], f->n_seen[2]);
    f->n_seen[0] = f->C;
    for (int32_t c = 0; c < f->C; c++)
        f->seen[0][c] = (seen_labels){{c, -1, -1}, 0};
    for (int64_t row = 0; row < f->run->N; row++)
        if (neighbors->among[row] != 0)
            f->seen[0][f->run->given[row]].share += 1;
    for (int order = 0; order < 3; order++) {
        double total = 0;
        for (int64_t i = 0; i < f->n_seen[order]; i++)
            total += f->seen[order][i].share;
        for (int64_t i = 0; i < f->n_seen[order]; i++)
            f->seen[order][i].share /= total;
    }
    return RER_OK;
}

/* ---- objective and derivatives -------------------------------------------------------------- */

/* True classes are worked on side by side: what belongs to one label stands together, [CLASSES] of it. */
typedef struct lanes {
    double *T, *dT;                   /* [C, CLASSES] */
    double p[CLASSES], seen[CLASSES]; /* the sum over m of o_m T_ki T_kj T_kl */
} lanes;

/* What is seen of one order: adds to the derivatives and to the sum. */
static void add_seen(lanes *l, const fit *f, int order)
{
    static const double one[CLASSES] = {1, 1, 1, 1, 1, 1, 1, 1};
    double nowhere[CLASSES] = {0}, total[CLASSES] = {0};
    for (int64_t m = 0; m < f->n_seen[order]; m++) {
        const double *T[3], share = f->seen[order][m].share;
        double *dT[3];
        for (int i = 0; i < 3; i++) {
            int64_t at = (int64_t)f->seen[order][m].label[i] * CLASSES;
            T[i] = i <= order ? l->T + at : one;
            dT[i] = i <= order ? l->dT + at : nowhere;
        }
        double slope[3][CLASSES];
        for (int k = 0; k < CLASSES; k++) {
            double a = T[0][k], b = T[1][k], c = T[2][k], weight = -2 * l->p[k] * share;
            total[k] += share * a * b * c;
            slope[0][k] = weight * b * c;
            slope[1][k] = weight * a * c;
            slope[2][k] = weight * a * b;
        }
        for (int i = 0; i <= order; i++) /* one after the other: labels may be the same */
            for (int k = 0; k < CLASSES; k++)
                dT[i][k] += slope[i][k];
    }
    for (int k = 0; k < CLASSES; k++)
        l->seen[k] += total[k];
}

static double *lay_out(lanes *l, int64_t C, rer_scratch *scratch)
{
    *l = (lanes){.T = rer_take(scratch, C * CLASSES, sizeof(double)),
                 .dT = rer_take(scratch, C * CLASSES, sizeof(double))};
    return rer_take(scratch, CLASSES * C, sizeof(double));
}

/* Objective and derivatives of true classes first..first+CLASSES-1. G [CLASSES, C] is turned into the
 * derivative of the model's squares by it, of which row k of T is there twice. */
static rer_status add_classes(void *context, int64_t item, void *memory, rer_error *error)
{
    const fit *f = context;
    int64_t C = f->C, first = item * CLASSES, count = rer_min(CLASSES, C - first);
    rer_scratch scratch = rer_pool_scratch(f->run->pool, memory);
    lanes l;
    double *G = lay_out(&l, C, &scratch);
    (void)error;
    rer_multiply_f64(G, C, f->T + first * C, f->T, count, C, C);
    for (int64_t k = first; k < first + count; k++) {
        double *row = G + (k - first) * C, squares = 0;
        for (int64_t other = 0; other < C; other++) {
            double g = row[other], q = f->p[other];
            squares += q * (g + g * g + g * g * g);
            row[other] = 2 * f->p[k] * q * (1 + 2 * g + 3 * g * g);
        }
        f->value[k] = squares;
    }
    rer_gemm_f64(false, false, count, C, C, G, f->T, f->dT + first * C);
    for (int64_t k = 0; k < count; k++) {
        l.p[k] = f->p[first + k];
        for (int64_t c = 0; c < C; c++) {
            l.T[c * CLASSES + k] = f->T[(first + k) * C + c];
            l.dT[c * CLASSES + k] = f->dT[(first + k) * C + c];
        }
    }
    for (int order = 0; order < 3; order++)
        add_seen(&l, f, order);
    for (int64_t k = 0; k < count; k++) {
        double squares = f->value[first + k];
        f->value[first + k] = l.p[k] * (squares - 2 * l.seen[k]);
        f->dp[first + k] = 2 * (squares - l.seen[k]);
        for (int64_t c = 0; c < C; c++)
            f->dT[(first + k) * C + c] = l.dT[c * CLASSES + k];
    }
    return RER_OK;
}

static void softmax(double *out, const double *free_numbers, int64_t n)
{
    double largest = free_numbers[0], sum = 0;
    for (int64_t i = 1; i < n; i++)
        largest = fmax(largest, free_numbers[i]);
    for (int64_t i = 0; i < n; i++)
        sum += out[i] = exp(free_numbers[i] - largest);
    for (int64_t i = 0; i < n; i++)
        out[i] /= sum;
}

/* The derivative with respect to what the softmax s was made from. */
static double chain(double *out, const double *s, const double *ds, int64_t n)
{
    double mean = 0, largest = 0;
    for (int64_t i = 0; i < n; i++)
        mean += s[i] * ds[i];
    for (int64_t i = 0; i < n; i++) {
        out[i] = s[i] * (ds[i] - mean);
        largest = fmax(largest, fabs(out[i]));
    }
    return largest;
}

/* x: C rows of T, then p. */
static void unpack(const fit *f, const double *x)
{
    for (int64_t k = 0; k < f->C; k++)
        softmax(f->T + k * f->C, x + k * f->C, f->C);
    softmax(f->p, x + f->C * f->C, f->C);
}

/* The objective is times C, so that its size does not fall with the number of classes. */
static rer_status evaluate(void *context, rer_problem *const *problems, int32_t count, rer_error *error)
{
    fit *f = context;
    rer_problem *problem = problems[0];
    int64_t C = f->C;
    double largest = 0, scale = (double)C, usual = rer_consensus_usual_passes((int32_t)C);
    (void)count;
    lanes l;
    rer_scratch measure = RER_MEASURE;
    (void)lay_out(&l, C, &measure);
    unpack(f, problem->at);
    rer_job job = {.stage = "estimating the noise",
                   .from = 1 - exp(-(problem->evaluated - 1) / usual),
                   .to = 1 - exp(-problem->evaluated / usual),
                   .items = (C + CLASSES - 1) / CLASSES,
                   .scratch = measure.used,
                   .work = add_classes,
                   .context = f};
    RER_TRY(rer_pool_run(f->run->pool, &job, error));
    problem->value = 0;
    for (int64_t k = 0; k < C; k++) {
        problem->value += scale * f->value[k];
        largest = fmax(largest, chain(problem->gradient + k * C, f->T + k * C, f->dT + k * C, C));
    }
    largest = fmax(largest, chain(problem->gradient + C * C, f->p, f->dp, C));
    for (int64_t i = 0; i < problem->n; i++)
        problem->gradient[i] *= scale;
    problem->converged = scale * largest <= CONVERGED;
    return RER_OK;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static rer_status allocate_fit(fit *f, rer_problem *problem, rer_error *error)
{
    int64_t C = f->C;
    rer_room rooms[] = {RER_ROOM(f->p, C),     RER_ROOM(f->T, C * C),
                        RER_ROOM(f->dp, C),    RER_ROOM(f->dT, C * C),
                        RER_ROOM(f->value, C), RER_ROOM(problem->x, rer_problem_size(problem->n))};
    return rer_allocate_all(rooms, RER_COUNT(rooms), "class shares", error);
}

static void set_start(const fit *f, double *x)
{
    int64_t C = f->C;
    for (int64_t k = 0; k < C; k++) {
        x[k * C + k] = log(FIRST_RIGHT / (1 - FIRST_RIGHT) * (double)(C - 1));
        x[C * C + k] = log(fmax(f->seen[0][k].share, 1e-9));
    }
}

rer_status rer_consensus_estimate(rer_consensus *consensus, const rer_run *run, const rer_neighbors *neighbors,
                                  rer_error *error)
{
    fit f = {.run = run, .C = run->C};
    rer_problem problem = {.n = f.C * f.C + f.C};
    if (run->C > RER_CONSENSUS_MOST)
        return rer_fail(error, RER_BAD_INPUT,
                        "%s: %d classes are too many to estimate how each is taken for each other; at most %d are",
                        run->data->features.name, run->C, RER_CONSENSUS_MOST);
    rer_status status = collect_seen(&f, neighbors, error);
    RER_THEN(status, allocate_fit(&f, &problem, error));
    if (status == RER_OK) {
        set_start(&f, problem.x);
        if (f.n_seen[2] > 0) /* else there is nothing to learn from */
            status = rer_minimize(&problem, 1, ITERATIONS, evaluate, &f, error);
    }
    if (status == RER_OK) {
        unpack(&f, problem.x);
        *consensus = (rer_consensus){.C = run->C, .p = f.p, .T = f.T};
        f.p = f.T = NULL;
    }
    for (int order = 0; order < 3; order++)
        free(f.seen[order]);
    RER_FREE_ALL(f.p, f.T, f.dp, f.dT, f.value, problem.x);
    return status;
}

void rer_consensus_free(rer_consensus *consensus)
{
    RER_FREE_ALL(consensus->p, consensus->T);
    *consensus = (rer_consensus){0};
}
