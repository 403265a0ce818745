/* access.c - the table of who may ask what, expanded from access.def; see access.h */
#include "wire/access.h"

#include "base/cleanup.h"
#include "wire/frame.h"
#include "wire/ops.h"

static const struct access_row rows[OP_MAX_] = {
#define ACCESS(op, ctld, dbd, slurmd, step, command, how, which)                                   \
    [op] = { .at = { ACCESS_##ctld, ACCESS_##dbd, ACCESS_##slurmd, ACCESS_##step,                  \
                     ACCESS_##command },                                                           \
             .ways = how,                                                                          \
             .frames = which },
#define LOCAL ACCESS_LOCAL
#define KEY ACCESS_KEY
#define NODE_KEY ACCESS_NODE_KEY
#define ANY_WAY ACCESS_ANY_WAY
#define Q ACCESS_Q
#define W ACCESS_W
#define R ACCESS_R
#define M ACCESS_M
#include "wire/access.def"
#undef ACCESS
};

enum {
    N_ROWS = 0
#define ACCESS(...) +1
#include "wire/access.def"
#undef ACCESS
    ,
    N_OPS = 0
#define X(...) +1
    WIRE_OPS(X)
#undef X
};
_Static_assert((int)N_ROWS == (int)N_OPS, "each operation of ops.h has one row in access.def");

const struct access_row *access_row(unsigned op)
{
    return op < ARRAY_SIZE(rows) && rows[op].frames ? &rows[op] : NULL;
}

enum access_role access_role(enum access_at at, unsigned op)
{
    const struct access_row *row = access_row(op);

    return row ? (enum access_role)row->at[at] : ACCESS_NONE;
}

bool access_frame_ok(unsigned op, uint32_t flags)
{
    const struct access_row *row = access_row(op);
    unsigned is = !(flags & FRAME_REPLY)  ? flags & FRAME_ONEWAY ? ACCESS_W : ACCESS_Q
                  : (flags & FRAME_MORE)  ? ACCESS_M
                  : (flags & FRAME_ERROR) ? ACCESS_R | ACCESS_M | ACCESS_Q
                                          : ACCESS_R;

    return !row || row->frames & is;
}

bool access_asked_of_caller(unsigned op)
{
    const struct access_row *row = access_row(op);

    return !row || row->at[ACCESS_STEP] != ACCESS_NONE || row->at[ACCESS_COMMAND] != ACCESS_NONE ||
           row->at[ACCESS_SLURMD] == ACCESS_CONTROLLER ||
           op == OP_HELLO; /* tests play a server with the calling side */
}
