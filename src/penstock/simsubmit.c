/* simsubmit.c - a job that is not submitted, as the controller would take it; see simlive.h
 *
 * sbatch's own option parser makes the request; it goes as --test-only, with the wish to see the
 * record that it would become: partition, limits, memory and identity as the controller's rules
 * have it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wordexp.h>

#include "api.pb-c.h"
#include "base/pb/pbutil.h"
#include "cli/job/hetopts.h"
#include "cli/job/submit.h"
#include "penstock/simlive.h"
#include "wire/client.h"
#include "wire/ops.h"

#define SCRIPT "#!/bin/sh\n"

/* The words of a command line, quotes and all; nothing is run. */
static int split_words(const char *options, wordexp_t *ret)
{
    char *line = NULL;
    int r;

    if (asprintf(&line, "sbatch %s", options) < 0)
        return say_nomem();
    r = wordexp(line, ret, WRDE_NOCMD);
    free(line);
    return r == 0 ? STATUS_OK
                  : usage_error("sim: --submit: these are no words of a command line: %s", options);
}

static int ask_defaults(struct client *client, Pst__JobRecord *job, const char *array,
                        Pst__JobRecord **ret_job)
{
    Pst__SubmitRequest req = PST__SUBMIT_REQUEST__INIT;
    ProtobufCMessage *msg = NULL;
    Pst__SubmitReply *reply;
    int r;

    req.job = job;
    req.test_only = req.has_test_only = true;
    req.want_record = req.has_want_record = true;
    req.array = (char *)array;
    req.script.data = (uint8_t *)SCRIPT;
    req.script.len = strlen(SCRIPT);
    req.has_script = true;
    r = client_call(client, OP_JOB_SUBMIT, &req.base, &msg);
    if (r < 0)
        return say_error("sim: --submit: %s", client_strerror(client, r));
    reply = PB_AS(submit_reply, msg);
    *ret_job = TAKE_PTR(reply->record);
    protobuf_c_message_free_unpacked(msg, NULL);
    return *ret_job ? STATUS_OK
                    : say_error("sim: --submit: the controller is of an older release and does not "
                                "tell what the job "
                                "would be");
}

int simsubmit_ask(struct client *client, const char *options, Pst__JobRecord **ret_job)
{
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    struct cli cli;
    struct hetopts het;
    wordexp_t words;
    int first, r = split_words(options, &words);

    if (r != STATUS_OK)
        return r;
    cli_init(&cli, "sbatch"); /* messages are those of sbatch */
    hetopts_init(&het, JOBOPTS_SBATCH);
    first = hetopts_parse(&het, (int)words.we_wordc, words.we_wordv);
    r = hetopts_finish(&het);
    if (r == 0 && het.n > 1)
        r = usage_error("sim: --submit: a heterogeneous job cannot be asked about");
    if (r == 0) {
        submit_fill(&cli, het.list, (int)words.we_wordc, words.we_wordv, first, &job);
        job.batch = job.has_batch = true;
        if (!job.name)
            check_mem_or_die(pb_set_str(&job.name, "what-if"));
        r = ask_defaults(client, &job, jobopts_get(het.list, JO_ARRAY), ret_job);
    } else {
        r = STATUS_USAGE;
    }
    cli_done(&cli);
    wordfree(&words);
    return r;
}
