/* ctld_policy_util.h - one controller without nodes that several tests ask */
#pragma once

#include "ctld_util.h"

#include "journal/journal.h"

static const char cluster[] =
    "NodeName=n[0-3] CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=8000 "
    "State=UNKNOWN\n"
    "NodeName=g0 CPUs=4 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=4000 "
    "Gres=gpu:a100:2 "
    "Feature=fast State=UNKNOWN\n"
    "PartitionName=main Nodes=n[0-3] Default=YES MaxTime=60 DefaultTime=30 MaxNodes=3\n"
    "PartitionName=open Nodes=ALL\n"
    "PartitionName=gpu Nodes=g0 DefMemPerNode=300\n"
    "PartitionName=rootonly Nodes=n0 RootOnly=YES\n"
    "PartitionName=noroot Nodes=n0 DisableRootJobs=YES\n"
    "PartitionName=groups Nodes=n0 AllowGroups=nosuchgroup\n"
    "PartitionName=good Nodes=n0 AllowAccounts=good,better\n"
    "PartitionName=notbad Nodes=n0 DenyAccounts=bad\n"
    "PartitionName=drain Nodes=n0 State=DRAIN\n"
    "PartitionName=inactive Nodes=n0 State=INACTIVE\n"
    "PartitionName=down Nodes=n0 State=DOWN\n";

static struct daemon shared;
static struct client *stranger; /* no administrator; NULL unless we are root */

static inline int setup(void **state)
{
    (void)state;
    (void)daemon_new(&shared);
    write_conf(&shared, "", cluster);
    daemon_start(&shared, NULL, NULL);
    if (geteuid() == 0)
        stranger = connect_as(&shared, STRANGER);
    return 0;
}

static inline int teardown(void **state)
{
    int status;

    (void)state;
    stranger = client_free(stranger);
    status = daemon_stop(&shared, SIGTERM); /* not 0 when anything leaked */
    daemon_free(&shared);
    return status;
}

struct refusal {
    const char *json;
    int code;
    const char *text; /* NULL: the code's own */
};

#define UNAVAILABLE ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE
#define UNAVAILABLE_TEXT "Requested node configuration is not available"

static inline void expect_refusal(struct daemon *d, struct client *c, const struct refusal *r)
{
    int code = submit_as(d, c, r->json, NULL);
    const char *want = r->text ? r->text : slurm_err_text(r->code);

    if (code != r->code || strcmp(d->text, want) != 0)
        print_error("# %s: %d '%s', wanted %d '%s'\n", r->json, code, d->text, r->code, want);
    assert_int_equal(code, r->code);
    assert_string_equal(d->text, want);
}
