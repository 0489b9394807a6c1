/* How far an analysis is said to be, against analyses that were timed: how many seconds of one core each stage took, rows
 * that were looked at again, passes of both searches. They are played again stage by stage: at any moment between the
 * first tenth and the last, what is left is foreseen within a factor of 2. */
#include "files.h"

#include "channel/channel.h"
#include "core/options.h"
#include "fit/row_sample.h"
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
    int passes[2];
    double seconds[TIMED];
} timed_run;

/* clang-format off */
static const timed_run timed[] = { /* by how long they took; made data: classes apart or not, up to 40 % of the labels wrong */
    {20000, 32, 2, 11473, 5000, {221, 5}, {.003, .002, .010, .287, .012, .003, .314, .007, .009, .005}},
    {5000, 64, 10, 5000, 5000, {259, 9}, {.002, .002, .050, .523, .006, .003, .081, .020, .008, .003}},
    {60000, 128, 10, 5475, 2604, {72, 40}, {.015, .022, .031, .140, .063, .006, .381, .045, .013, .020}},
    {12000, 384, 37, 6124, 5000, {105, 5}, {.010, .024, .051, .258, .064, .045, .295, .014, .027, .007}},
    {30000, 512, 10, 2729, 1302, {68, 29}, {.052, .083, .073, .131, .112, .022, .331, .017, .012, .009}},
    {5000, 512, 100, 5000, 5000, {76, 5}, {.008, .025, .209, .249, .032, .031, .241, .019, .034, .003}},
    {3000, 784, 2, 3000, 3000, {94, 2}, {.050, .042, .423, .071, .084, .062, .087, .002, .034, .001}},
    {1000, 2048, 5, 1000, 1000, {142, 11}, {.227, .026, .401, .045, .023, .021, .093, .004, .019, .001}},
    {20000, 768, 10, 2228, 1302, {101, 27}, {.076, .123, .138, .205, .131, .034, .283, .015, .016, .006}},
    {50000, 384, 10, 3475, 1041, {123, 40}, {.027, .091, .079, .250, .136, .021, .467, .018, .012, .016}},
    {8000, 768, 1000, 1380, 1048, {18, 18}, {.031, .060, .515, .107, .165, .033, .058, .134, .035, .004}},
    {30000, 512, 10, 2739, 1302, {257, 42}, {.021, .086, .081, .527, .113, .023, .324, .023, .012, .014}},
    {20000, 512, 200, 5791, 5000, {89, 5}, {.041, .071, .116, .414, .128, .072, .474, .033, .045, .006}},
    {200000, 64, 40, 14765, 5000, {175, 14}, {.038, .038, .073, .472, .199, .013, .721, .037, .029, .050}},
    {100000, 256, 300, 10573, 3495, {63, 17}, {.053, .110, .143, .288, .380, .087, .536, .094, .063, .029}},
    {300000, 16, 5, 20015, 5000, {289, 28}, {.032, .012, .047, .462, .158, .011, .991, .047, .021, .075}},
    {4000, 1024, 50, 4000, 4000, {122, 10}, {.012, .051, .784, .209, .108, .096, .475, .019, .101, .002}},
    {400000, 32, 100, 24740, 5000, {153, 38}, {.051, .031, .066, .457, .386, .020, .896, .114, .061, .110}},
    {40000, 128, 5000, 2480, 500, {18, 18}, {.037, .091, .245, .126, 1.295, .078, .067, .156, .090, .010}},
    {1000000, 16, 2, 54760, 5000, {221, 23}, {.098, .039, .042, .292, .429, .021, 1.163, .032, .043, .122}},
    {60000, 784, 10, 3945, 1000, {62, 8}, {.057, .409, .237, .123, .403, .029, 1.026, .004, .030, .012}},
    {20000, 512, 200, 12297, 5000, {158, 67}, {.022, .070, .124, .792, .122, .099, .872, .325, .124, .013}},
    {50000, 1024, 100, 3660, 1220, {63, 68}, {.071, .523, .354, .205, .599, .090, .730, .049, .052, .010}},
    {70000, 784, 10, 4440, 1000, {131, 21}, {.065, .430, .255, .257, .471, .062, 1.454, .009, .034, .017}},
    {2000, 2048, 20, 2000, 2000, {100, 2}, {.233, .164, 2.225, .079, .141, .149, .412, .002, .138, .002}},
    {10000, 2048, 200, 5472, 5000, {94, 2}, {.057, .383, 1.246, .512, .517, .407, .741, .019, .240, .006}},
    {150000, 512, 1000, 8655, 1048, {25, 5}, {.211, .427, .367, .075, 1.988, .183, .725, .026, .165, .023}},
    {60000, 64, 10000, 3477, 500, {18, 18}, {.040, .209, .355, .285, 2.647, .138, .082, .342, .180, .013}},
    {3000, 2000, 100, 3000, 3000, {75, 36}, {.189, .334, 3.371, .147, .339, .368, .316, .075, .245, .003}},
    {500000, 128, 1000, 25989, 1048, {39, 5}, {.176, .200, .160, .119, 2.776, .251, 1.466, .029, .451, .122}},
    {100000, 2048, 20, 5940, 1000, {90, 13}, {.373, 3.637, 1.866, .192, 3.453, .359, 3.906, .005, .216, .018}},
    {1000000, 768, 10, 50949, 1000, {72, 30}, {.888, 5.832, .343, .142, 6.415, .770, 14.765, .013, .378, .120}},
    {1280000, 512, 1000, 64992, 1048, {47, 38}, {1.761, 3.660, .369, .134, 18.397, 1.193, 5.820, .133, 1.309, .163}},
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
        share = 1 - exp(-passes / rer_channel_usual_passes(run->C, i == SEARCH));
    }
    return from + share * (ends[i] - from);
}

static void know_look(rer_pace *pace, const rer_run *run, const timed_run *played)
{
    rer_look_size size = rer_look_foreseen(run); /* what a row is compared with is known before */
    size.rows = (double)played->looked;
    size.sampled = (double)played->weighed;
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
