/* explainprint.c - print why a job waits; see explainprint.h */
#include "cli/query/explainprint.h"

#include <stdio.h>

#include "base/pb/pbutil.h"
#include "base/pb/pbsafe.h"
#include "wire/ops.h"

#include "explain.pb-c.h"

int explain_print(struct client *c, uint32_t job_id, bool json, bool again)
{
    Pst__ExplainRequest req = PST__EXPLAIN_REQUEST__INIT;
    Pst__ExplainReply *reply = NULL;
    int r;

    req.has_job_id = true;
    req.job_id = job_id;
    r = client_call(c, OP_QUERY_EXPLAIN, &req.base, (ProtobufCMessage **)&reply);
    if (r < 0) {
        (void)fflush(stdout); /* keeps the order when both go to one file */
        (void)fprintf(stderr, "%s for job %u\n", client_strerror(c, r), job_id);
        return r;
    }
    if (json) {
        r = pb_json_write(stdout, &reply->base, -1);
        (void)putchar('\n');
    } else {
        pbsafe_clean(&reply->base);
        if (again)
            (void)putchar('\n');
        for (size_t i = 0; i < reply->n_sentences; i++)
            (void)printf("%s%s\n", i ? "  " : "", reply->sentences[i]);
    }
    pst__explain_reply__free_unpacked(reply, NULL);
    return r;
}
