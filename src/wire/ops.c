/* ops.c - the table of operations that a program speaks, expanded from a list of ops.h
 *
 * Constant data, any thread.  Op numbers index the array directly.  Built twice: with all
 * operations for the library, and with WIRE_OPS_STEP for programs that are started for every job or
 * step.  The linker leaves out the descriptions of all messages that nothing names then: each page
 * of those would be copied and relocated at each start, and they are half of all. */
#include "wire/ops.h"

#include "acct.pb-c.h"
#include "acctop.pb-c.h"
#include "api.pb-c.h"
#include "event.pb-c.h"
#include "explain.pb-c.h"
#include "resv.pb-c.h"
#include "watch.pb-c.h"

#include "base/cleanup.h"

#ifndef WIRE_OPS_SPOKEN
#define WIRE_OPS_SPOKEN WIRE_OPS
#endif

static const struct wire_op_info ops[OP_MAX_] = {
#define X(sym, num, text, req, rep, max)                                                           \
    [sym] = {                                                                                      \
        .name = text,                                                                              \
        .request = &pst__##req##__descriptor,                                                      \
        .reply = &pst__##rep##__descriptor,                                                        \
        .max_request = max,                                                                        \
    },
    WIRE_OPS_SPOKEN(X)
#undef X
};

const struct wire_op_info *wire_op_info(unsigned op)
{
    if (op >= ARRAY_SIZE(ops) || !ops[op].name)
        return NULL;
    return &ops[op];
}
