/* How far an analysis is said to be, against analyses that were timed (one core with AVX-512 and VNNI): how many seconds each
 * stage took, rows that were looked at again, passes of both searches. They are played again stage by stage: at any moment
 * between the first tenth and the last, what is left is foreseen within a factor of 2. */
#include "files.h"

#include "channel/channel.h"
#include "core/options.h"
#include "fit/row_sample.h"
#include "score/local_evidence.h"
#include "score/pace.h"
#include "score/second_look.h"

#include <math.h>

enum { TIMED = 10, MOMENTS = 50 };

#define FACTOR 2
#define UNSEEN .05 /* seconds that nobody sees */

typedef struct timed_run {
    int64_t N, D;
    int32_t C;
    int64_t looked, weighed; /* rows */
    bool by_rules;
    int passes[2];
    double seconds[TIMED];
} timed_run;

/* clang-format off */
static const timed_run timed[] = { /* by how long they took; made data: classes apart or not, up to 40 % of the labels wrong */
    {20000, 32, 2, 7611, 5000, false, {242, 50}, {.005, .003, .005, .014, .007, .004, .071, .004, .009, .001}},
    {5000, 64, 10, 5000, 5000, true, {267, 415}, {.002, .002, .021, .024, .004, .004, .072, .043, .008, .000}},
    {60000, 128, 10, 5478, 2604, false, {84, 9}, {.011, .011, .015, .007, .029, .005, .168, .002, .012, .002}},
    {12000, 384, 37, 5362, 5000, false, {260, 105}, {.007, .012, .025, .049, .017, .011, .120, .023, .017, .001}},
    {30000, 512, 10, 2732, 1302, false, {268, 103}, {.018, .043, .039, .023, .052, .007, .124, .003, .013, .001}},
    {3000, 784, 2, 3000, 3000, false, {217, 83}, {.003, .011, .197, .009, .022, .022, .044, .004, .022, .000}},
    {30000, 512, 10, 2743, 1302, true, {274, 838}, {.018, .044, .039, .024, .055, .007, .126, .023, .012, .002}},
    {20000, 768, 10, 2238, 1302, true, {212, 383}, {.016, .061, .069, .018, .066, .009, .113, .011, .013, .001}},
    {1000, 2048, 5, 1000, 1000, true, {285, 781}, {.105, .008, .168, .004, .012, .012, .047, .014, .011, .000}},
    {50000, 384, 10, 3496, 1041, false, {338, 74}, {.015, .043, .034, .032, .057, .006, .183, .002, .013, .003}},
    {5000, 512, 100, 5000, 5000, false, {207, 14}, {.005, .012, .106, .096, .014, .017, .142, .009, .020, .000}},
    {20000, 512, 200, 5750, 5000, false, {94, 9}, {.014, .032, .057, .082, .057, .023, .285, .013, .026, .001}},
    {200000, 64, 40, 14753, 5000, false, {365, 95}, {.051, .049, .030, .072, .119, .015, .323, .024, .035, .014}},
    {8000, 768, 1000, 2465, 1048, false, {204, 85}, {.017, .030, .296, .170, .065, .030, .032, .081, .041, .001}},
    {300000, 16, 5, 19772, 5000, true, {204, 416}, {.040, .020, .019, .016, .098, .010, .619, .037, .034, .020}},
    {100000, 256, 300, 10569, 3495, false, {230, 72}, {.021, .049, .070, .192, .160, .031, .273, .072, .053, .005}},
    {20000, 512, 200, 7048, 5000, false, {399, 106}, {.012, .031, .059, .333, .057, .029, .312, .093, .040, .001}},
    {4000, 1024, 50, 4000, 4000, false, {595, 104}, {.005, .025, .425, .124, .050, .053, .235, .022, .055, .000}},
    {1000000, 16, 2, 54727, 5000, false, {155, 45}, {.079, .064, .023, .015, .279, .028, .453, .006, .093, .033}},
    {400000, 32, 100, 24766, 5000, false, {268, 88}, {.064, .053, .032, .114, .212, .022, .459, .042, .061, .021}},
    {60000, 784, 10, 3943, 1000, true, {290, 507}, {.029, .176, .119, .025, .199, .017, .477, .012, .025, .004}},
    {70000, 784, 10, 4453, 1000, true, {209, 558}, {.029, .202, .113, .019, .229, .019, .583, .012, .027, .003}},
    {50000, 1024, 100, 3639, 1220, true, {346, 384}, {.032, .242, .179, .156, .320, .029, .306, .047, .040, .003}},
    {2000, 2048, 20, 2000, 2000, false, {791, 125}, {.005, .045, 1.104, .043, .084, .086, .223, .007, .087, .000}},
    {40000, 128, 5000, 23001, 500, false, {35, 18}, {.011, .009, .111, .065, .571, .360, .129, .044, .460, .003}},
    {150000, 512, 1000, 9133, 1048, false, {200, 106}, {.075, .206, .237, .166, .741, .076, .356, .100, .097, .006}},
    {3000, 2000, 100, 3000, 3000, false, {351, 129}, {.009, .062, 1.472, .093, .131, .134, .146, .036, .133, .000}},
    {60000, 64, 10000, 8594, 500, false, {30, 21}, {.023, .016, .187, .123, 1.327, .166, .058, .126, .246, .004}},
    {500000, 128, 1000, 26012, 1048, false, {99, 50}, {.077, .078, .078, .086, 1.055, .093, .756, .050, .185, .026}},
    {10000, 2048, 200, 8066, 5000, false, {407, 164}, {.028, .199, .623, .347, .242, .236, .686, .141, .200, .001}},
    {100000, 2048, 20, 5944, 1000, false, {203, 93}, {.075, 1.997, 1.016, .025, 1.869, .127, 1.953, .003, .130, .004}},
    {1280000, 512, 1000, 64994, 1048, false, {168, 29}, {.525, 1.703, .208, .149, 6.350, .650, 3.234, .034, .845, .077}},
    {1000000, 768, 10, 50955, 1000, false, {179, 99}, {.249, 2.680, .177, .019, 3.043, .365, 6.994, .005, .243, .065}},
};
/* clang-format on */

/* As the stages say it. */
static const double begins[TIMED] = {0, .15, .45, .48, .5, .78, .8, .95, .96, .97};
static const double ends[TIMED] = {.15, .45, .46, .5, .78, .8, .95, .96, .97, 1};
enum { SEARCH = 3, SCORING = 4, WEIGHING = 7 };

/* What stage i says when a share of its time is over: a search counts passes, of which it cannot know the last. */
static double said_at(const timed_run *run, int i, double share)
{
    double from = begins[i];
    if (i == SEARCH || i == WEIGHING) {
        double passes = share * run->passes[i == WEIGHING];
        double usual =
            i == SEARCH ? rer_channel_usual_passes(run->C, true) : rer_local_usual_passes(run->C, run->by_rules);
        share = 1 - exp(-passes / usual);
    }
    return from + share * (ends[i] - from);
}

static void know_look(rer_pace *pace, const rer_run *run, const timed_run *played)
{
    rer_look_size size = rer_look_foreseen(run); /* what a row is compared with is known before */
    size.rows = (double)played->looked;
    size.sampled = (double)played->weighed;
    size.passes = rer_local_usual_passes(played->C, played->by_rules);
    rer_pace_know_look(pace, run, &size);
}

static void play(const timed_run *played)
{
    rer_options options = rer_options_default();
    rer_dataset data = {.N = played->N};
    int64_t D = 2 * played->N <= played->D ? played->N : played->D; /* few wide rows in their span */
    rer_run run = {.data = &data, .options = &options, .N = played->N, .D = D, .columns = played->D, .C = played->C};
    rer_pace pace = rer_pace_of(&run, true, false);
    double all = 0, spent = 0, before = 0;
    for (int i = 0; i < TIMED; i++)
        all += played->seconds[i];
    for (int i = 0; i < TIMED; spent += played->seconds[i++]) {
        for (int m = 0; m < MOMENTS; m++) {
            double share = (double)m / MOMENTS, now = spent + share * played->seconds[i];
            double done = rer_pace_at(&pace, said_at(played, i, share)), left = now * (1 - done) / done;
            assert_true(done >= before && done <= 1);
            before = done;
            if (now < .1 * all || now > .9 * all)
                continue;
            if (left < (all - now) / FACTOR - UNSEEN || left > FACTOR * (all - now) + UNSEEN)
                fail_msg("%lld x %lld x %d: after %.2f s, in stage %d, %.2f s left foreseen, %.2f s were",
                         (long long)played->N, (long long)played->D, played->C, now, i, left, all - now);
        }
        if (i == SCORING)
            know_look(&pace, &run, played);
    }
}

static void what_is_left_is_foreseen(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof timed / sizeof *timed; i++)
        play(&timed[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_left_is_foreseen)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
