/* records_util.h - records of accounting as JSON, for tests that need a few; needs base_json_dep */
#pragma once

#include "json_util.h"

#include "model/account/assoc.h"

/* Each is an AcctChange: "{'assoc':{'assoc_id':2,...}}". */
static inline void records_put(struct assoc_mgr *am, const char *const *changes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ProtobufCMessage *ch = from_json(&pst__acct_change__descriptor, changes[i]);
        struct err err = { .text = "" };

        if (am_apply(am, (const Pst__AcctChange *)ch, &err) < 0)
            fail_msg("%s: %s", changes[i], err.text);
        protobuf_c_message_free_unpacked(ch, NULL);
    }
}

static inline void records_put_one(struct assoc_mgr *am, const char *change)
{
    records_put(am, &change, 1);
}
