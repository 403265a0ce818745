/* ops.c - the table of operations, expanded from the one list in ops.h
 *
 * Constant data, any thread.  Op numbers index the array directly. */
#include "wire/ops.h"

#include "acct.pb-c.h"
#include "acctop.pb-c.h"
#include "api.pb-c.h"
#include "event.pb-c.h"
#include "explain.pb-c.h"
#include "resv.pb-c.h"
#include "watch.pb-c.h"

#include "base/cleanup.h"

static const struct wire_op_info ops[OP_MAX_] = {
#define X(sym, num, text, req, rep, max)                                                           \
    [sym] = {                                                                                      \
        .name = text,                                                                              \
        .request = &pst__##req##__descriptor,                                                      \
        .reply = &pst__##rep##__descriptor,                                                        \
        .max_request = max,                                                                        \
    },
    WIRE_OPS(X)
#undef X
};

const struct wire_op_info *wire_op_info(unsigned op)
{
    if (op >= ARRAY_SIZE(ops) || !ops[op].name)
        return NULL;
    return &ops[op];
}
