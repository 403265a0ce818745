/* submit_util.h - submissions to the core of corefull_util.h */
#pragma once

#include "corefull_util.h"

#define SCRIPT "'script':'IyEvYmluL3NoCnRydWUK'" /* "#!/bin/sh\ntrue\n" */

/* Code of the submission; rest: what stands in the request beside the script. */
UTIL int submit_as(struct conn *from, const char *rest, uint32_t *ret_id)
{
    ProtobufCMessage *msg = NULL;
    char json[2048];
    int code;

    assert_true((size_t)snprintf(json, sizeof(json), "{" SCRIPT ",%s}", rest) < sizeof(json));
    code = corefull_ask(from, OP_JOB_SUBMIT, json, &msg);
    if (code == 0 && ret_id)
        *ret_id = ((Pst__SubmitReply *)msg)->job_id;
    if (msg)
        protobuf_c_message_free_unpacked(msg, NULL);
    return code;
}

#define JOB(more) "'job':{'batch':true,'work_dir':'/tmp','name':'j'" more "}"

UTIL const Pst__JobRecord *submitted(uint32_t id)
{
    const struct job *j = cluster_job(core.ctld.cluster, id);

    assert_non_null(j);
    return j->rec;
}

/* Partition `name` of these nodes, changed by what stands in json. */
UTIL void add_partition(const char *name, const char *json)
{
    char text[256];

    (void)snprintf(text, sizeof(text), "{'name':'%s','create':true,'set':{%s}}", name, json);
    assert_int_equal(corefull_ask(root, OP_PART_UPDATE, text, NULL), 0);
}
