/* srun_async.c - srun --async: hand a step to the controller and leave; see srun.h
 *
 * The request is what srun would send to the nodes itself, without credential and layout. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "cli/srun/srun.h"
#include "wire/errors.h"

static char *stream_file(const struct srun *s, enum jobopt id, const char *otherwise)
{
    const char *text = jobopts_get(&s->opts, id);

    if (text && strcasecmp(text, "none") == 0)
        return (char *)"/dev/null";
    return (char *)(text ? text : otherwise);
}

void srun_async_check(struct srun *s)
{
    if (!s->job_id)
        cli_die(CLI_EXIT_FAILED,
                "--async is only valid for steps submitted within an existing job allocation.");
    if (jobopts_has(&s->opts, JO_PTY))
        cli_die(CLI_EXIT_FAILED, "--async and --pty are mutually exclusive.");
    if (jobopts_has(&s->opts, JO_IMMEDIATE))
        cli_die(CLI_EXIT_FAILED, "--immediate and --async are mutually exclusive.");
    if (jobopts_has(&s->opts, JO_MPI) && srun_mpi_type(s))
        cli_die(CLI_EXIT_FAILED,
                "--async cannot be used with --mpi=%s: the tasks find each other through srun.",
                srun_mpi_type(s));
}

int srun_async(struct srun *s, Pst__StepSpec *spec)
{
    Pst__StepCreateRequest req = PST__STEP_CREATE_REQUEST__INIT;
    Pst__LaunchStep launch = PST__LAUNCH_STEP__INIT;
    ProtobufCMessage *msg = NULL;
    struct err err = { .text = "" };
    int r;

    srun_fill_request(s, &s->parts[0], &launch);
    launch.std_in = stream_file(s, JO_INPUT, NULL);
    launch.std_out = stream_file(s, JO_OUTPUT, "slurm-%J.out");
    launch.std_err = stream_file(s, JO_ERROR, NULL);
    if (!launch.std_err)
        launch.has_stderr_to_stdout = launch.stderr_to_stdout = true;
    req.job_id = s->job_id;
    req.has_job_id = true;
    req.spec = spec;
    req.async = &launch;
    r = cli_call(&s->cli, OP_STEP_CREATE, &req.base, &msg, NULL, &err);
    srun_free_request(&launch);
    if (r < 0) {
        cli_error("Unable to create step for job %u: %s", s->job_id, err.text);
        return cli_error_status();
    }
    s->step_id = PB_AS(step_reply, msg)->step->step_id;
    protobuf_c_message_free_unpacked(msg, NULL);
    if (jobopts_has(&s->opts, JO_PARSABLE))
        (void)printf("%u.%u\n", s->job_id, s->step_id);
    else if (s->cli.verbose >= 0)
        (void)printf("Submitted step %u.%u\n", s->job_id, s->step_id);
    return 0;
}
