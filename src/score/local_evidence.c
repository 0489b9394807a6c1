/* Step 4 of second_look.c: a channel with local evidence beside the errors, with all witnesses heard and, where rules are
 * known, as they are trusted.
 *
 * A rule found from errors alone may be none: where classes are curved or in pieces, their means tell little, and what
 * lies nearer to the wrong mean looks moved. Labels that were moved at random say nothing of each other, so that doubted
 * witnesses do not help to explain labels where the rule is true (aircraft, dtd, flowers102, food10, CIFAR-10 with 10 and
 * 30 % moved to the next class: .0001 to .04 nats a row worse), and do where it is not (KEEL's banana, phoneme, vowel,
 * satimage: .01 to .29 better; banana, a tenth exchanged: AUROC .70 without them, .93 with them). So they are heard where
 * the labels are then explained in fewer nats, and once more with all rules forgotten. (Three classes of three heaps
 * each, in turns, a tenth of 3,000 labels exchanged: 1,136 would be called wrong, 304 so.)
 *
 * Where no rule is known, labels are doubted in classes of few rows alone, too few to show one. The likelihood does not
 * tell then whom to hear: with 8 rows a class of flowers102 it would take all witnesses where 30 % of the labels were
 * moved, AUROC .903, .932 without. Nor does it tell what trusted ones are worth: a row is an eighth of the mean that its
 * witnesses were doubted by, so that they explain its label too well, right or wrong (dtd, 8 rows a class, 30 % wrong: errors
 * would be worth nothing, t = 1e-5 in place of .03). So what evidence is worth is found with all of them heard, and the
 * trusted ones are asked. (AUROC of 24 planted cells with 8 rows a class: .9237 in the mean, at most .0019 below plain
 * class means; .9230 and .0080 where the weights come from trusted ones, .9207 and .0289 where all are heard.) */
#include "score/local_evidence.h"

#include "stats/order.h"

#include <math.h>

float rer_local_at(const rer_near *near, int64_t place)
{
    const rer_neighbor *all = near->list + place * RER_NEAR_KEPT;
    const float *trusted = near->trusted != NULL ? near->trusted + place * RER_NEAR : NULL;
    bool some = trusted != NULL && !isinf(trusted[0]);
    float sum = 0, n = 0;
    for (int j = 0; j < RER_NEAR; j++) {
        float distance = some ? trusted[j] : all[j].distance;
        if (isinf(distance))
            break;
        sum += distance;
        n++;
    }
    return sum / n;
}

void rer_local_fill(float *local, const rer_near *near, int64_t query, int32_t first, int32_t classes)
{
    float value[RER_LOOK_CLASSES], farthest = 0;
    for (int32_t s = 0; s < near->slots; s++) {
        value[s] = rer_local_at(near, query * near->slots + s);
        farthest = value[s] > farthest ? value[s] : farthest;
    }
    for (int32_t k = 0; k < classes; k++)
        local[k] = farthest;
    for (int32_t s = 0; s < near->slots; s++) {
        int32_t k = near->class[query * near->slots + s] - first;
        if (k >= 0 && k < classes && !isnan(value[s]))
            local[k] = value[s];
    }
}

/* One fit to the sampled rows. */
typedef struct weighing {
    const rer_near *near;
    const int64_t *row;
    const rer_model *model;
    const rer_run *run;
    const rer_row_sample *sampled;
    rer_channel_sample sample;
    bool enough;  /* rows, to ask whether all labels are right */
    float *local; /* [sampled, C] */
} weighing;

static void fill_sampled(const weighing *w)
{
    int32_t C = w->model->C;
    for (int64_t i = 0; i < w->sampled->count; i++)
        rer_local_fill(w->local + i * C, w->near, rer_place_of(w->row, w->near->count, w->sampled->row[i]), 0, C);
}

static rer_status fit_channel(rer_channel *channel, const rer_channel *start, const weighing *w, rer_error *error)
{
    fill_sampled(w);
    return rer_channel_fit(channel, start, &w->sample, w->run->kernels, w->run->pool, error);
}

/* With no witness doubted; whom to trust is known again afterwards. Perhaps all labels are right, then. */
static rer_status fit_hearing_all(rer_channel *channel, const rer_channel *start, rer_near *near, weighing *w,
                                  rer_error *error)
{
    float *trusted = near->trusted;
    near->trusted = NULL;
    w->sample.enough = w->enough;
    rer_status status = fit_channel(channel, start, w, error);
    w->sample.enough = false;
    near->trusted = trusted;
    return status;
}

/* Lets the doubted witnesses speak, too, where that explains the labels in fewer nats; from the known rules, or with
 * all forgotten: the search does not give up rules that every start of it has. (What it takes to name flows is left out:
 * counted, true rules of dtd, 20 % moved, would be forgotten, AUROC .928 in place of .989.) Shares that few rows tell
 * anew must gain as much as anywhere (fit.c). */
static rer_status hear_all(rer_channel *channel, rer_near *near, weighing *w, rer_error *error)
{
    const rer_channel *starts[] = {w->model->channel, NULL};
    rer_status status = RER_OK;
    for (size_t i = 0; status == RER_OK && i < RER_COUNT(starts); i++) {
        rer_channel heard = {0};
        double price = starts[i] == NULL && w->sample.thinned ? RER_CHANNEL_FREED * (double)w->sample.rows : 0;
        status = fit_hearing_all(&heard, starts[i], near, w, error);
        if (status == RER_OK && heard.surprise + price < channel->surprise) {
            rer_channel lost = *channel;
            *channel = heard;
            heard = lost;
            free(near->trusted);
            near->trusted = NULL;
        }
        rer_channel_clear(&heard);
    }
    return status;
}

/* The median own evidence of each class's sampled rows; own, stands, work [sampled]. */
static void set_typical(float *typical, const weighing *w, float *own, float *stands, rer_ranked *work)
{
    int32_t C = w->model->C;
    for (int32_t c = 0; c < C; c++) {
        int64_t n = 0;
        for (int64_t i = 0; i < w->sampled->count; i++)
            if (w->sampled->code[i] == c) {
                own[n] = w->local[i * C + c];
                stands[n++] = w->sample.stands != NULL ? w->sample.stands[i] : 1;
            }
        typical[c] = n > 0 ? rer_weighted_percentile(own, stands, n, .5, work) : NAN;
    }
}

double rer_local_usual_passes(int32_t C, bool by_rules)
{
    double once = rer_channel_usual_passes(C, false);
    return by_rules ? 7 * once : once; /* of four made sets, 527 to 1,425 by rules */
}

rer_status rer_local_weigh(rer_local_worth *worth, rer_near *near, const int64_t *row, bool by_rules,
                           const rer_calibration *calibration, const rer_model *model, const rer_run *run,
                           rer_error *error)
{
    int64_t sampled = calibration->rows.count;
    weighing w = {.near = near, .row = row, .model = model, .run = run, .sampled = &calibration->rows};
    int passes = 0;
    float *own = NULL, *stands = NULL;
    rer_ranked *work = NULL;
    rer_room rooms[] = {RER_ROOM(own, sampled), RER_ROOM(stands, sampled), RER_ROOM(work, sampled),
                        RER_ROOM(worth->typical, model->C), RER_ROOM(w.local, sampled * model->C)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "evidence", error));
    w.sample = rer_calibration_sample(calibration, w.local, model->C);
    w.enough = calibration->enough;
    w.sample.from = .95;
    w.sample.to = .96;
    w.sample.usual = rer_local_usual_passes(model->C, by_rules);
    w.sample.passes = &passes;
    rer_status status = by_rules ? fit_channel(&worth->channel, model->channel, &w, error)
                                 : fit_hearing_all(&worth->channel, model->channel, near, &w, error);
    if (by_rules)
        RER_THEN(status, hear_all(&worth->channel, near, &w, error));
    if (status == RER_OK) { /* class means know what a unit of evidence is worth where classes are Gaussian */
        worth->channel.all_right = fmin(worth->channel.all_right, model->channel->all_right);
        fill_sampled(&w);
        set_typical(worth->typical, &w, own, stands, work);
    }
    RER_FREE_ALL(own, stands, work, w.local);
    return status;
}

void rer_local_worth_free(rer_local_worth *worth)
{
    rer_channel_clear(&worth->channel);
    free(worth->typical);
    *worth = (rer_local_worth){0};
}
