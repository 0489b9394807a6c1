/* Members of .npz files. */
#include "source/formats.h"

rer_status rer_npz_member(rer_bytes *member, const rer_input *input, rer_error *error)
{
    (void)member;
    return rer_fail(error, RER_BAD_INPUT, "%s: .npz files are not read yet", input->name);
}
