/* The sampled rows that a channel is found from. */
#include "channel/search.h"
#include "fit/row_sample.h"

double rer_channel_stands(const rer_channel_sample *sample)
{
    double sum = sample->stands == NULL ? (double)sample->rows : 0;
    for (int64_t i = 0; sample->stands != NULL && i < sample->rows; i++)
        sum += (double)sample->stands[i];
    return sum;
}

rer_status rer_channel_some_rows(rer_channel_some *some, const rer_channel_sample *sample, int64_t most,
                                 rer_error *error)
{
    int64_t *place = NULL;
    rer_room rooms[] = {RER_ROOM(place, most), RER_ROOM(some->code, most)};
    rer_status status = rer_allocate_all(rooms, RER_COUNT(rooms), "sampled rows", error);
    RER_THEN(status, rer_thin_places(place, most, sample->code, sample->rows, sample->C, error));
    some->sample = *sample;
    some->sample.rows = most;
    for (int j = 0; status == RER_OK && j < RER_EVIDENCE_KINDS; j++)
        if (sample->value[j] != NULL) {
            status = rer_pick_rows(&some->value[j], sample->value[j], place, most, sample->C, error);
            some->sample.value[j] = some->value[j];
        }
    if (status == RER_OK && sample->stands != NULL)
        status = rer_pick_rows(&some->stands, sample->stands, place, most, 1, error);
    for (int64_t i = 0; status == RER_OK && i < most; i++)
        some->code[i] = sample->code[place[i]];
    some->sample.stands = some->stands;
    some->sample.code = some->code;
    free(place);
    return status;
}

void rer_channel_some_free(rer_channel_some *some)
{
    rer_free_all((void *const *)some->value, RER_EVIDENCE_KINDS);
    RER_FREE_ALL(some->stands, some->code);
    *some = (rer_channel_some){0};
}
