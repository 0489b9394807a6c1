/* Progress is work done over work done and left:
 *     share of the time = done / (done + left)
 * in seconds of one core as measured once, on 33 shapes from 1,000 x 2048 x 5 to 1,280,000 x 512 x 1000 (they are in
 * tests/score/test_pace.c). Only ratios matter: how fast the machine is, is in the time that has passed. What is left is
 * foreseen from the shape of the data, and better once more is known: how many rows are looked at again, and how many
 * passes a search has taken, which are counted as they are made. */
#include "score/pace.h"

#include "channel/channel.h"
#include "fit/centroid.h"
#include "fit/row_sample.h"
#include "score/second_look.h"

#include <math.h>

#define WHOLE_SEARCH .999
#define DRAWN_SIDE 512. /* of report/thumbnails.h */

/* Where each ends, of those that go from 0 to 1 together. */
static const double ends[RER_PACE_STAGES] = {
    [RER_PACE_SUMS] = .15,      [RER_PACE_SCATTER] = .45,  [RER_PACE_SHRINKAGE] = .46, [RER_PACE_SUBSPACES] = .47,
    [RER_PACE_SAMPLE] = .48,    [RER_PACE_SEARCH] = .5,    [RER_PACE_SCORING] = .78,   [RER_PACE_QUESTION] = .8,
    [RER_PACE_NEAR_ROWS] = .95, [RER_PACE_WEIGHING] = .96, [RER_PACE_AGAIN] = .97,     [RER_PACE_JUDGING] = 1};

static double pass_of_row(const rer_run *run)
{
    double C = run->C;
    return 1.2e-8 + 1e-9 * C + 5e-10 * fmin(C, 100); /* of few classes the slopes of all rates, too */
}

/* Weights of a class's network. */
static double network_of(const rer_run *run)
{
    const rer_options *options = run->options;
    double weights = 0, from = (double)run->D;
    if (options->reconstructor != RER_AUTOENCODER)
        return 0;
    for (int i = 0; i < (int)RER_COUNT(options->hidden) && options->hidden[i] > 0; i++) {
        weights += 2 * from * options->hidden[i];
        from = options->hidden[i];
    }
    return weights + 2 * from * options->components;
}

static double scoring_of_row(const rer_run *run)
{
    double D = (double)run->D;
    return 3.1e-7 + 2.4e-10 * D + 5.2e-12 * D * D + run->C * (1.8e-9 + 3.1e-12 * D + 1.4e-11 * network_of(run));
}

/* Each place, a row beside a class, needs some exact distances, and of each row of the class a coarse one. */
void rer_pace_know_look(rer_pace *pace, const rer_run *run, const rer_look_size *size)
{
    double N = (double)run->N, D = (double)run->D, a_row = scoring_of_row(run);
    if (pace == NULL || pace->cost[RER_PACE_NEAR_ROWS] <= 0)
        return;
    pace->cost[RER_PACE_QUESTION] = size->rows * (1.3 * a_row + 2e-7);
    pace->cost[RER_PACE_NEAR_ROWS] =
        size->rows * ((2.4e-7 + 1.4e-9 * D) * size->classes + (5e-10 + 3.5e-12 * D) * size->compared) + 1.8e-9 * N * D;
    pace->cost[RER_PACE_WEIGHING] = fmin(size->sampled, RER_CHANNEL_SEARCHED) * pass_of_row(run) * size->passes;
    pace->cost[RER_PACE_AGAIN] = size->rows * (1.3 * a_row + 1.4e-6);
}

static double cost_of_pairs(const rer_run *run)
{
    return .5 * (double)run->N * (double)run->N * (6e-10 + 2e-11 * (double)run->D);
}

/* So much, and some of it early. */
static void set_detecting(rer_pace *pace, double early, double rest)
{
    pace->cost[RER_PACE_DETECTING] = early + rest;
    pace->early = early / (early + rest);
}

/* The fewer rows for each weight, the more passes, of at most 40; four of five folds have a row. */
static double cost_of_passes(const rer_run *run)
{
    double N = (double)run->N, D = (double)run->D, C = run->C, passes = 7 * sqrt(C) * pow(100 * D / N, .25);
    return fmin(42, passes) * 4 * N * (8e-8 + 4e-9 * C + 3e-11 * C * D);
}

/* Of SimiFeat's estimate a pass goes over the triples of labels that are seen. */
static void set_detector(rer_pace *pace, const rer_run *run)
{
    double N = (double)run->N, D = (double)run->D, C = run->C;
    switch (run->options->detector) {
    case RER_DETECT_CONFIDENT:
        set_detecting(pace, 1.2e-8 * N * D, cost_of_passes(run));
        break;
    case RER_DETECT_SIMIFEAT:
        pace->cost[RER_PACE_CONSENSUS] = rer_consensus_usual_passes(run->C) * 6e-8 * fmin(C * C * C, 66 * N);
        pace->cost[RER_PACE_VOTING] = 1.2e-5 * N;
        /* fall through */
    case RER_DETECT_KNN:
        set_detecting(pace, 1.2e-5 * N, cost_of_pairs(run));
        break;
    case RER_DETECT_ZEROSHOT:
        set_detecting(pace, 0, N * C * (4e-9 + 2e-11 * D));
        break;
    default:
        break;
    }
}

static void set_fit(rer_pace *pace, const rer_run *run)
{
    double N = (double)run->N, D = (double)run->D, sampled = fmin((double)rer_row_sample_size(run), N);
    double choice = (double)rer_centroid_choice_rows((int64_t)sampled, run);
    double span = (double)(run->columns - run->D); /* of few wide rows, found before */
    pace->cost[RER_PACE_SUMS] = 1.7e-9 * D * D + N * (1.1e-7 + 3.7e-10 * D) + 1e-10 * N * N * span;
    pace->cost[RER_PACE_SCATTER] = 3e-9 * D * D + N * (6.6e-8 + 4.2e-10 * D + 4.2e-12 * D * D + 1.2e-11 * run->C);
    pace->cost[RER_PACE_SHRINKAGE] = D * D * (8.1e-8 + 3.9e-11 * D) + choice * (3.7e-6 + run->C * (2e-8 + 1.9e-10 * D));
    if (!run->options->ratios_only) {
        pace->cost[RER_PACE_SAMPLE] = sampled * scoring_of_row(run);
        pace->cost[RER_PACE_SEARCH] =
            fmin(sampled, RER_CHANNEL_SEARCHED) * pass_of_row(run) * rer_channel_usual_passes(run->C, true);
    }
}

/* What other models than means add. */
static void add_fit(rer_pace *pace, const rer_run *run)
{
    double N = (double)run->N, D = (double)run->D, side = fmin(N / run->C, D), fits = run->options->folds + 1;
    switch (run->options->reconstructor) {
    case RER_PUBLISHED: /* all pairs of a class */
        pace->cost[RER_PACE_SCATTER] += 6e-10 * N * N / run->C * D;
        break;
    case RER_SUBSPACE:
        pace->cost[RER_PACE_SUBSPACES] = fits * (N * D * (7e-9 + 2e-11 * (D + side)) + 3e-8 * run->C * side * side);
        break;
    case RER_AUTOENCODER:
        pace->cost[RER_PACE_SCATTER] += 4.7e-9 * N * network_of(run) * run->options->epochs;
        break;
    default:
        break;
    }
}

/* A picture is decoded, made small and encoded; the first one tells their size. */
static double cost_of_picture(const rer_images *images)
{
    rer_picture picture = {0};
    rer_error ignored;
    if (images->paths.count == 0 || rer_images_read(&picture, images, 0, (int64_t)DRAWN_SIDE, &ignored) != RER_OK)
        return 0;
    double longer = (double)rer_max(picture.height, picture.width), scale = fmin(1, DRAWN_SIDE / longer);
    double pixels = (double)picture.height * (double)picture.width;
    rer_picture_free(&picture);
    return 5e-4 + pixels * (1e-8 + 6e-8 * scale * scale);
}

/* Some hundred pictures are drawn. */
static double cost_of_writing(const rer_run *run)
{
    double N = (double)run->N;
    return .1 + 1.2e-6 * N + cost_of_picture(&run->data->images) * fmin(N, 600);
}

rer_pace rer_pace_of_scoring(const rer_run *run, bool writes)
{
    rer_pace pace = {.part = RER_PACE_SUMS};
    pace.cost[RER_PACE_SCORING] = (double)run->N * scoring_of_row(run);
    pace.cost[RER_PACE_JUDGING] = 5e-8 * (double)run->N;
    if (writes)
        pace.cost[RER_PACE_WRITING] = cost_of_writing(run);
    return pace;
}

rer_pace rer_pace_of(const rer_run *run, bool looks_again, bool writes)
{
    const rer_options *options = run->options;
    rer_look_size size = rer_look_foreseen(run);
    rer_pace pace = rer_pace_of_scoring(run, writes);
    set_fit(&pace, run);
    add_fit(&pace, run);
    set_detector(&pace, run);
    if (looks_again) {
        pace.cost[RER_PACE_NEAR_ROWS] = 1; /* is not left out */
        rer_pace_know_look(&pace, run, &size);
    }
    if (options->duplicates != RER_OFF || run->data->group_duplicates)
        pace.cost[RER_PACE_COPIES] = 1.25 * cost_of_pairs(run);
    if (options->details || run->data->subsets.codes != NULL)
        pace.cost[RER_PACE_DETAILS] = 4e-6 * (double)run->N + 2 * pace.cost[RER_PACE_SCORING];
    return pace;
}

static bool is_search(int stage)
{
    return stage == RER_PACE_SEARCH || stage == RER_PACE_WEIGHING || stage == RER_PACE_CONSENSUS;
}

/* The stage that is under way, and *share of it that is done. */
static rer_pace_stage find_stage(double *share, const rer_pace *pace, double done)
{
    double from = 0;
    *share = done;
    if (pace->part != RER_PACE_SUMS)
        return pace->part;
    for (rer_pace_stage i = RER_PACE_SUMS; i < RER_PACE_JUDGING; i++) {
        if (ends[i] > 0 && done < ends[i]) {
            *share = (done - from) / (ends[i] - from);
            return i;
        }
        from = fmax(from, ends[i]);
    }
    *share = (done - from) / (1 - from);
    return RER_PACE_JUDGING;
}

/* Passes p that a search has made are known from its share, 1 - exp(-p / usual) (channel/likelihood.c). */
double rer_pace_at(rer_pace *pace, double done)
{
    double share, spent = 0, left = 0;
    rer_pace_stage stage = find_stage(&share, pace, done);
    if (stage == RER_PACE_DETECTING) /* rows are copied, and most of what enters a list of neighbours does so early */
        share = pace->early * pow(share, .2) + (1 - pace->early) * share;
    if (is_search((int)stage))
        pace->counted[stage] = -log(1 - fmin(share, WHOLE_SEARCH)) * pace->cost[stage];
    for (int i = 0; i < RER_PACE_STAGES; i++) {
        double here = i < (int)stage ? 1 : i == (int)stage ? fmin(share, 1) : 0;
        spent += is_search(i) ? pace->counted[i] : here * pace->cost[i];
        left += (1 - here) * pace->cost[i];
    }
    pace->furthest = fmax(pace->furthest, spent + left > 0 ? spent / (spent + left) : 0);
    return pace->furthest;
}
