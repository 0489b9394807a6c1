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
    {5000, 64, 10, 5000, 5000, false, {306, 192}, {.003, .003, .029, .041, .004, .005, .093, .025, .009, .000}},
    {20000, 32, 2, 11995, 10000, false, {268, 64}, {.006, .003, .006, .026, .009, .008, .141, .010, .015, .001}},
    {12000, 384, 37, 5134, 5018, false, {421, 87}, {.008, .022, .045, .147, .033, .016, .175, .029, .024, .001}},
    {3000, 784, 2, 3000, 3000, false, {232, 27}, {.003, .021, .317, .015, .039, .039, .055, .003, .040, .000}},
    {30000, 512, 10, 3009, 2000, false, {417, 143}, {.018, .085, .069, .055, .093, .012, .180, .011, .018, .002}},
    {60000, 128, 10, 5106, 2604, true, {344, 1129}, {.012, .017, .020, .049, .041, .006, .280, .110, .016, .003}},
    {1000, 2048, 5, 1000, 1000, false, {219, 21}, {.174, .014, .257, .010, .021, .021, .061, .001, .020, .000}},
    {30000, 512, 10, 3238, 2000, false, {518, 356}, {.019, .084, .069, .074, .093, .012, .186, .024, .020, .001}},
    {20000, 768, 10, 2608, 2000, false, {753, 165}, {.016, .122, .154, .103, .123, .018, .177, .012, .023, .001}},
    {50000, 384, 10, 4245, 2000, true, {797, 1425}, {.017, .079, .053, .111, .099, .011, .373, .106, .019, .005}},
    {5000, 512, 100, 5000, 5000, false, {424, 112}, {.007, .020, .178, .327, .024, .026, .204, .093, .033, .000}},
    {300000, 16, 5, 24470, 10000, false, {401, 78}, {.041, .026, .029, .050, .116, .016, .700, .014, .055, .030}},
    {20000, 512, 200, 6764, 5242, false, {340, 31}, {.016, .057, .098, .473, .097, .043, .338, .047, .049, .001}},
    {100000, 256, 300, 10558, 3495, false, {167, 144}, {.029, .086, .111, .198, .203, .044, .417, .193, .052, .005}},
    {200000, 64, 40, 15647, 6153, true, {555, 527}, {.067, .061, .033, .216, .188, .019, .584, .217, .048, .013}},
    {8000, 768, 1000, 6009, 1048, false, {353, 147}, {.020, .052, .448, .337, .116, .124, .122, .153, .133, .000}},
    {1000000, 16, 2, 59510, 10000, false, {308, 74}, {.134, .085, .023, .034, .315, .038, .715, .014, .100, .050}},
    {4000, 1024, 50, 4000, 4000, false, {552, 148}, {.006, .046, .727, .147, .091, .094, .291, .037, .094, .000}},
    {20000, 512, 200, 6510, 5242, false, {449, 109}, {.018, .061, .097, .644, .102, .043, .361, .158, .055, .001}},
    {60000, 784, 10, 4531, 2000, false, {446, 83}, {.029, .354, .195, .059, .372, .032, .665, .006, .039, .003}},
    {70000, 784, 10, 5270, 2000, false, {1054, 167}, {.041, .426, .220, .149, .437, .037, .827, .012, .045, .006}},
    {40000, 128, 5000, 14589, 500, false, {30, 33}, {.018, .013, .168, .068, .842, .401, .181, .096, .462, .004}},
    {400000, 32, 100, 29479, 10000, false, {465, 418}, {.099, .075, .039, .409, .466, .032, .843, .413, .110, .029}},
    {2000, 2048, 20, 2000, 2000, false, {475, 54}, {.007, .082, 1.902, .050, .156, .162, .253, .005, .161, .000}},
    {150000, 512, 1000, 8559, 1048, false, {77, 14}, {.076, .413, .395, .085, 1.027, .125, .486, .022, .147, .008}},
    {50000, 1024, 100, 4006, 2000, true, {555, 765}, {.035, .505, .380, .512, .608, .053, .461, .200, .059, .002}},
    {500000, 128, 1000, 25993, 1048, false, {71, 52}, {.096, .131, .127, .077, 1.277, .136, 1.283, .066, .209, .031}},
    {10000, 2048, 200, 5692, 5242, false, {278, 35}, {.032, .411, 1.080, .405, .444, .344, .615, .056, .274, .000}},
    {3000, 2000, 100, 3000, 3000, false, {245, 138}, {.011, .124, 2.588, .120, .248, .250, .195, .064, .252, .000}},
    {60000, 64, 10000, 17387, 500, false, {34, 37}, {.030, .020, .230, .168, 1.809, .551, .255, .249, .721, .006}},
    {100000, 2048, 20, 6792, 2000, false, {541, 124}, {.089, 4.017, 1.814, .106, 3.821, .339, 2.620, .011, .283, .010}},
    {1280000, 512, 1000, 65008, 1048, false, {144, 23}, {.513, 3.404, .331, .147, 8.875, 1.166, 4.666, .037, 1.307, .092}},
    {1000000, 768, 10, 51876, 2000, false, {104, 11}, {.326, 5.772, .322, .020, 6.098, .656, 9.314, .017, .411, .053}},
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
