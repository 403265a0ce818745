/* srun_noalloc.c - see srun_noalloc.h */
#include "cli/srun/srun_noalloc.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/pb/pbutil.h"

void srun_noalloc_check(struct srun *s)
{
    uid_t uid = geteuid();

    if (!jobopts_has(&s->opts, JO_NODELIST)) {
        cli_error("must specify a node list with -Z, --no-allocate.");
        exit(CLI_EXIT_FAILED);
    }
    if (uid != 0 && uid != conf_slurm_uid(cli_conf(&s->cli))) {
        cli_error("Use of --no-allocate is allowed only for root and SlurmUser(%s)",
                  conf_str(cli_conf(&s->cli), CONF_SLURM_USER));
        exit(CLI_EXIT_FAILED);
    }
    if (s->n_parts > 1)
        cli_die(CLI_EXIT_FAILED, "--no-allocate takes one command, not components");
    if (jobopts_has(&s->opts, JO_ASYNC))
        cli_die(CLI_EXIT_FAILED,
                "--async is only valid for steps submitted within an existing job allocation.");
    if (jobopts_has(&s->opts, JO_BCAST))
        cli_die(CLI_EXIT_FAILED, "--no-allocate cannot be used with --bcast: see sbcast -Z");
    if (jobopts_has(&s->opts, JO_UID) || jobopts_has(&s->opts, JO_GID))
        cli_die(CLI_EXIT_FAILED, "--no-allocate runs the tasks as the caller: no --uid, no --gid");
}

int srun_noalloc(struct srun *s, Pst__StepSpec *spec, Pst__StepReply **ret_reply)
{
    Pst__StepCreateRequest req = PST__STEP_CREATE_REQUEST__INIT;
    ProtobufCMessage *msg = NULL;
    struct err err = { .text = "" };

    cli_info("do not allocate resources");
    req.spec = spec;
    req.no_allocate = req.has_no_allocate = true;
    if (cli_call(&s->cli, OP_STEP_CREATE, &req.base, &msg, NULL, &err) < 0) {
        cli_error("Unable to create a step without a job: %s", err.text);
        return cli_error_status();
    }
    *ret_reply = PB_AS(step_reply, msg);
    s->job_id = (*ret_reply)->step->job_id;
    return 0;
}
