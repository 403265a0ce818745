/* strigger.c - programs that run when something happens to jobs, nodes or the controller
 *
 * Options become a TriggerRecord, of which the controller decides whether it may be. */
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api.pb-c.h"
#include "event.pb-c.h"

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/pb/pbsafe.h"
#include "base/strbuf.h"
#include "cli/base/cli.h"
#include "cli/base/ids.h"
#include "cli/base/opts.h"
#include "cli/base/clusters.h"
#include "cli/query/out_query.h"
#include "cli/query/out_sluid.h"
#include "wire/errors.h"
#include "wire/ops.h"

#define OFFSET_MAX 32000l

#define EVENT(x) OPT_BITS(t.events, 1u << PST__TRIGGER_EVENT__TRIG_##x), OPT_GIVEN(t.has_events)

enum { MODE_SET = 1u << 0, MODE_GET = 1u << 1, MODE_CLEAR = 1u << 2 };

struct strigger {
    struct cli cli;
    uint32_t modes; /* MODE_SET ... as asked for */
    bool noheader;
    const char *clusters;
    struct ids job; /* of --jobid */
    Pst__TriggerRecord t;
};

static int read_number(const char *arg, long low, long high, long *ret)
{
    char *end;

    errno = 0;
    *ret = strtol(arg, &end, 10);
    return errno || end == arg || *end || *ret < low || *ret > high ? -EINVAL : 0;
}

static int take_user(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    Pst__TriggerRecord *t = at;
    const struct passwd *pw = getpwnam(arg);
    long n;

    (void)opt;
    if (!pw && read_number(arg, 0, (long)UINT32_MAX - 1, &n) < 0)
        return err_set(err, CLI_EXIT_FAILED, "Invalid user: %s", arg);
    t->has_uid = true;
    t->uid = pw ? pw->pw_uid : (uint32_t)n;
    return 0;
}

static int take_job(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    struct ids *ids = at;

    (void)opt;
    if (ids_parse(arg, ids, NULL) < 0 || (!ids->job_id && !ids->sluid[0]) || ids->has_step ||
        ids->array != IDS_NO_TASK || ids->has_het)
        return err_set(err, CLI_EXIT_FAILED, "Invalid jobid: %s", arg);
    return 0;
}

/* A SLUID's job is the controller's to tell. */
static void settle_job(struct strigger *s)
{
    struct filter_ids one = { .ids = &s->job, .n = 1 };
    struct client *client;

    if (s->job.sluid[0]) {
        client = cli_connect_or_die(&s->cli, NULL);
        (void)sluids_find(client, &one); /* what fails here fails again below */
        client_free(client);
    }
    s->t.has_job_id = s->job.job_id != 0;
    s->t.job_id = s->job.job_id;
}

static int take_flags(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    Pst__TriggerRecord *t = at;

    (void)opt;
    if (strcasecmp(arg, "PERM") != 0)
        return err_set(err, CLI_EXIT_FAILED, "Invalid flags: %s: only PERM is known", arg);
    t->has_permanent = t->permanent = true;
    return 0;
}

static int take_trigger_id(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    Pst__TriggerRecord *t = at;
    long n;

    (void)opt;
    if (read_number(arg, 1, (long)UINT32_MAX, &n) < 0)
        return err_set(err, CLI_EXIT_FAILED, "Invalid id: %s", arg);
    t->has_trigger_id = true;
    t->trigger_id = (uint32_t)n;
    return 0;
}

static int take_offset(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    Pst__TriggerRecord *t = at;
    long n;

    (void)opt;
    if (read_number(arg, LONG_MIN, LONG_MAX, &n) < 0)
        return err_set(err, CLI_EXIT_FAILED, "Invalid offset: %s is no number of seconds", arg);
    if (n < -OFFSET_MAX || n > OFFSET_MAX)
        return err_set(err, CLI_EXIT_FAILED, "The --offset parameter must be between +/-%ld",
                       OFFSET_MAX);
    t->has_offset_s = true;
    t->offset_s = (int32_t)n;
    return 0;
}

static int take_nodes(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    Pst__TriggerRecord *t = at;

    (void)opt, (void)err;
    t->nodes = (char *)(arg && *arg ? arg : "*");
    return 0;
}

#define OPT_INTO struct strigger
static const struct opt rows[] = {
    OPT("backup_slurmctld_assumed_control", 'C', OPT_NONE, EVENT(BACKUP_CONTROL), NULL, NULL, NULL,
        "a backup controller took over"),
    OPT("backup_slurmctld_failure", 'B', OPT_NONE, EVENT(BACKUP_FAILED), NULL, NULL, NULL,
        "a backup controller failed"),
    OPT("backup_slurmctld_resumed_operation", 'c', OPT_NONE, EVENT(BACKUP_RESUMED), NULL, NULL,
        NULL, "a backup controller is back"),
    OPT("burst_buffer", 0, OPT_NONE, EVENT(BURST_BUFFER), NULL, NULL, NULL,
        "a burst buffer failed"),
    OPT("clear", 0, OPT_NONE, OPT_BITS(modes, MODE_CLEAR), NULL, NULL, NULL, "remove triggers"),
    OPT("clusters", 'M', OPT_REQ, OPT_TEXT(clusters), "SLURM_CLUSTERS", NULL, "name",
        "ask this cluster"),
    OPT("down", 'd', OPT_NONE, EVENT(NODE_DOWN), NULL, NULL, NULL, "a node went down"),
    OPT("drained", 'D', OPT_NONE, EVENT(NODE_DRAINED), NULL, NULL, NULL,
        "a node is drained and empty"),
    OPT("draining", 0, OPT_NONE, EVENT(NODE_DRAINING), NULL, NULL, NULL,
        "a node with jobs is being drained"),
    OPT("fail", 'F', OPT_NONE, EVENT(NODE_FAIL), NULL, NULL, NULL, "a node is expected to fail"),
    OPT("fini", 'f', OPT_NONE, EVENT(JOB_FINI), NULL, NULL, NULL, "the job ended"),
    OPT("flags", 0, OPT_REQ, OPT_TAKE(t, take_flags), NULL, NULL, "flag",
        "PERM: stay after firing"),
    OPT("get", 0, OPT_NONE, OPT_BITS(modes, MODE_GET), NULL, NULL, NULL, "list triggers"),
    OPT("id", 'i', OPT_REQ, OPT_TAKE(t, take_trigger_id), NULL, NULL, "number",
        "the trigger with this number"),
    OPT("idle", 'I', OPT_NONE, EVENT(NODE_IDLE), NULL, NULL, NULL,
        "a node was idle for --offset seconds"),
    OPT("jobid", 'j', OPT_REQ, OPT_TAKE(job, take_job), NULL, NULL, "id", "of this job"),
    OPT("node", 'n', OPT_OPT, OPT_TAKE(t, take_nodes), NULL, NULL, "nodes",
        "of these nodes, or all"),
    OPT("noheader", 'N', OPT_NONE, OPT_FLAG(noheader), NULL, NULL, NULL,
        "no line of column titles"),
    OPT("offset", 'o', OPT_REQ, OPT_TAKE(t, take_offset), NULL, NULL, "secs",
        "run the program so much after (before) the event"),
    OPT("primary_database_failure", 'h', OPT_NONE, EVENT(DATABASE_FAILED), NULL, NULL, NULL,
        "the database takes nothing"),
    OPT("primary_database_resumed_operation", 'H', OPT_NONE, EVENT(DATABASE_RESUMED), NULL, NULL,
        NULL, "the database works again"),
    OPT("primary_slurmctld_acct_buffer_full", 'e', OPT_NONE, EVENT(ACCT_FULL), NULL, NULL, NULL,
        "records of accounting are dropped"),
    OPT("primary_slurmctld_failure", 'a', OPT_NONE, EVENT(CTLD_FAILED), NULL, NULL, NULL,
        "the controller failed, says its backup"),
    OPT("primary_slurmctld_resumed_control", 'b', OPT_NONE, EVENT(CTLD_CONTROL), NULL, NULL, NULL,
        "the controller took over again"),
    OPT("primary_slurmctld_resumed_operation", 'A', OPT_NONE, EVENT(CTLD_RESUMED), NULL, NULL, NULL,
        "the controller started"),
    OPT("primary_slurmdbd_failure", 'g', OPT_NONE, EVENT(DBD_FAILED), NULL, NULL, NULL,
        "slurmdbd takes nothing"),
    OPT("primary_slurmdbd_resumed_operation", 'G', OPT_NONE, EVENT(DBD_RESUMED), NULL, NULL, NULL,
        "slurmdbd works again"),
    OPT("program", 'p', OPT_REQ, OPT_TEXT(t.program), NULL, NULL, "path", "what to run"),
    OPT("quiet", 'Q', OPT_NONE, OPT_QUIET(cli), NULL, NULL, NULL, "say nothing but errors"),
    OPT("reconfig", 'r', OPT_NONE, EVENT(RECONFIG), NULL, NULL, NULL,
        "the configuration was read again"),
    OPT("resume", 'R', OPT_NONE, EVENT(NODE_RESUME), NULL, NULL, NULL,
        "a drained or failing node is back"),
    OPT("set", 0, OPT_NONE, OPT_BITS(modes, MODE_SET), NULL, NULL, NULL, "make a trigger"),
    OPT("time", 't', OPT_NONE, EVENT(JOB_TIME), NULL, NULL, NULL,
        "the job's time limit is reached"),
    OPT("up", 'u', OPT_NONE, EVENT(NODE_UP), NULL, NULL, NULL, "a node came back from down"),
    OPT("user", 0, OPT_REQ, OPT_TAKE(t, take_user), NULL, NULL, "user", "triggers of this user"),
    OPT("verbose", 'v', OPT_NONE, OPT_VERBOSE(cli), NULL, NULL, NULL, "say what is done"),
};

static const struct opt_command command = {
    .name = "strigger",
    .prefix = "STRIGGER",
    .rows = rows,
    .n = ARRAY_SIZE(rows),
    .synopsis = "[OPTIONS]",
    .usage = "[--set | --get | --clear | --version] [-aAbBcCdDefFgGhHiIjnNopQrtuv]",
    .usage_status = CLI_EXIT_FAILED,
};

static const struct {
    Pst__TriggerEvent event;
    const char *res, *name;
} words[] = {
    { PST__TRIGGER_EVENT__TRIG_NODE_DOWN, "node", "down" },
    { PST__TRIGGER_EVENT__TRIG_NODE_UP, "node", "up" },
    { PST__TRIGGER_EVENT__TRIG_NODE_DRAINED, "node", "drained" },
    { PST__TRIGGER_EVENT__TRIG_NODE_DRAINING, "node", "draining" },
    { PST__TRIGGER_EVENT__TRIG_NODE_FAIL, "node", "fail" },
    { PST__TRIGGER_EVENT__TRIG_NODE_IDLE, "node", "idle" },
    { PST__TRIGGER_EVENT__TRIG_NODE_RESUME, "node", "resume" },
    { PST__TRIGGER_EVENT__TRIG_JOB_FINI, "job", "fini" },
    { PST__TRIGGER_EVENT__TRIG_JOB_TIME, "job", "time" },
    { PST__TRIGGER_EVENT__TRIG_RECONFIG, "node", "reconfig" },
    { PST__TRIGGER_EVENT__TRIG_CTLD_RESUMED, "slurmctld", "primary_slurmctld_resumed_operation" },
    { PST__TRIGGER_EVENT__TRIG_CTLD_FAILED, "slurmctld", "primary_slurmctld_failure" },
    { PST__TRIGGER_EVENT__TRIG_CTLD_CONTROL, "slurmctld", "primary_slurmctld_resumed_control" },
    { PST__TRIGGER_EVENT__TRIG_ACCT_FULL, "slurmctld", "primary_slurmctld_acct_buffer_full" },
    { PST__TRIGGER_EVENT__TRIG_BACKUP_FAILED, "slurmctld", "backup_slurmctld_failure" },
    { PST__TRIGGER_EVENT__TRIG_BACKUP_RESUMED, "slurmctld", "backup_slurmctld_resumed_operation" },
    { PST__TRIGGER_EVENT__TRIG_BACKUP_CONTROL, "slurmctld", "backup_slurmctld_assumed_control" },
    { PST__TRIGGER_EVENT__TRIG_DBD_FAILED, "slurmdbd", "primary_slurmdbd_failure" },
    { PST__TRIGGER_EVENT__TRIG_DBD_RESUMED, "slurmdbd", "primary_slurmdbd_resumed_operation" },
    { PST__TRIGGER_EVENT__TRIG_DATABASE_FAILED, "database", "primary_database_failure" },
    { PST__TRIGGER_EVENT__TRIG_DATABASE_RESUMED, "database", "primary_database_resumed_operation" },
    { PST__TRIGGER_EVENT__TRIG_BURST_BUFFER, "other", "burst_buffer" },
};

static uint32_t events_on(const char *res)
{
    uint32_t mask = 0;

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(words[i].res, res) == 0)
            mask |= 1u << words[i].event;
    return mask;
}

static const char *res_of(const Pst__TriggerRecord *t)
{
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (t->events & (1u << words[i].event))
            return words[i].res;
    return "unknown";
}

/* ---- set, clear ------------------------------------------------------------------------------ */

static int tell_refused(const char *call, const struct err *err)
{
    (void)fprintf(stderr, "%s: %s\n", call, err->text);
    return CLI_EXIT_FAILED;
}

/* The controller starts it by this path, mostly from a file system that all hosts share. What
 * stands behind a blank are the program's arguments. */
static void check_program(const char *text)
{
    _cleanup_free_ char *path = strndup(text, strcspn(text, " "));
    struct stat st;

    if (!path)
        cli_die(CLI_EXIT_FAILED, "%s", strerror(ENOMEM));
    if (*path != '/')
        cli_die(CLI_EXIT_FAILED, "The --program value must start with \"/\"");
    if (stat(path, &st) < 0)
        cli_die(CLI_EXIT_FAILED, "Invalid --program value, file not found");
    if (!S_ISREG(st.st_mode))
        cli_die(CLI_EXIT_FAILED, "Invalid --program value, not regular file");
    if (!(st.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)))
        cli_die(CLI_EXIT_FAILED, "Invalid --program value, file not executable");
}

static int set_trigger(struct strigger *s)
{
    ProtobufCMessage *reply = NULL;
    struct err err = { .text = "" };

    if (!s->t.program)
        cli_die(CLI_EXIT_FAILED, "--set needs --program");
    check_program(s->t.program);
    if (!s->t.events)
        cli_die(CLI_EXIT_FAILED, "--set needs an event, such as --down or --fini");
    if (s->t.events & ~events_on(res_of(&s->t)))
        cli_die(CLI_EXIT_FAILED,
                "events of jobs, of nodes and of the controller need triggers of their own");
    if ((s->t.events & events_on("job")) && !s->t.has_job_id)
        cli_die(CLI_EXIT_FAILED, "this event needs --jobid");
    if (!(s->t.events & events_on("job")) && s->t.has_job_id)
        cli_die(CLI_EXIT_FAILED, "--jobid goes with --fini or --time");
    if (!s->t.nodes && !s->t.has_job_id)
        s->t.nodes = (char *)"*";
    if (cli_call(&s->cli, OP_TRIGGER_SET, &s->t.base, &reply, NULL, &err) < 0)
        return tell_refused("slurm_set_trigger", &err);
    cli_verbose(1, "trigger %u set", PB_AS(trigger_record, reply)->trigger_id);
    protobuf_c_message_free_unpacked(reply, NULL);
    return 0;
}

static int clear_triggers(struct strigger *s)
{
    struct err err = { .text = "" };

    if (!s->t.has_trigger_id && !s->t.has_job_id && !s->t.has_uid)
        cli_die(CLI_EXIT_FAILED, "--clear needs --id, --jobid or --user");
    if (cli_call(&s->cli, OP_TRIGGER_CLEAR, &s->t.base, NULL, NULL, &err) < 0)
        return s->cli.verbose < 0 ? CLI_EXIT_FAILED : tell_refused("slurm_clear_trigger", &err);
    return 0;
}

/* ---- get ------------------------------------------------------------------------------------- */

static bool is_of_nodes(const Pst__TriggerRecord *t)
{
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (t->events & (1u << words[i].event) && strcmp(words[i].res, "node") == 0)
            return true;
    return false;
}

static bool is_shown(const struct strigger *s, const Pst__TriggerRecord *t)
{
    return (!s->t.has_trigger_id || s->t.trigger_id == t->trigger_id) &&
           (!s->t.has_job_id || (t->has_job_id && s->t.job_id == t->job_id)) &&
           (!s->t.has_uid || s->t.uid == t->uid) && (!s->t.events || (s->t.events & t->events)) &&
           (!s->t.nodes || (is_of_nodes(t) && (strcmp(s->t.nodes, "*") == 0 ||
                                               (t->nodes && strcmp(s->t.nodes, t->nodes) == 0))));
}

static void print_trigger(const Pst__TriggerRecord *t)
{
    const struct passwd *pw = getpwuid(t->uid);
    _cleanup_val_(strbuf_done) struct strbuf types = STRBUF_INIT;
    char user[16], job[16];

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (t->events & (1u << words[i].event))
            strbuf_addf(&types, "%s%s", types.len ? "," : "", words[i].name);
    (void)snprintf(user, sizeof(user), "%u", t->uid); /* fit */
    (void)snprintf(job, sizeof(job), "%u", t->job_id);
    (void)printf("%7u %-9s%8s %-35s %6d %-8s %-5s %s\n", t->trigger_id, res_of(t),
                 t->has_job_id ? job
                 : t->nodes    ? t->nodes
                               : "*",
                 strbuf_str(&types), t->offset_s, pw ? pw->pw_name : user,
                 t->has_permanent && t->permanent ? "PERM" : "", t->program ? t->program : "");
}

static int get_triggers(struct strigger *s)
{
    Pst__Empty req = PST__EMPTY__INIT;
    ProtobufCMessage *reply = NULL;
    const Pst__TriggerSet *all;
    struct err err = { .text = "" };
    bool header = !s->noheader;

    if (cli_call(&s->cli, OP_TRIGGER_GET, &req.base, &reply, NULL, &err) < 0)
        return tell_refused("slurm_get_triggers", &err);
    pbsafe_clean(reply);
    all = PB_AS(trigger_set, reply);
    cli_verbose(1, "Read %zu trigger records", all->n_items);
    for (size_t i = 0; i < all->n_items; i++) {
        if (!is_shown(s, all->items[i]))
            continue;
        if (header)
            (void)printf("TRIG_ID RES_TYPE   RES_ID TYPE                                OFFSET "
                         "USER     FLAGS PROGRAM\n");
        header = false;
        print_trigger(all->items[i]);
    }
    protobuf_c_message_free_unpacked(reply, NULL);
    return 0;
}

int main(int argc, char **argv)
{
    struct strigger s = { .t = PST__TRIGGER_RECORD__INIT };
    int first, status;

    cli_init(&s.cli, "strigger");
    first = opts_parse(&command, argc, argv, &s);
    if (first < argc)
        cli_die(CLI_EXIT_FAILED, "strigger takes options only, not %s", argv[first]);
    if (s.clusters)
        clusters_use_one(&s.cli, s.clusters);
    settle_job(&s);
    switch (s.modes) {
    case MODE_SET:
        status = set_trigger(&s);
        break;
    case MODE_GET:
        status = get_triggers(&s);
        break;
    case MODE_CLEAR:
        status = clear_triggers(&s);
        break;
    default:
        cli_die(CLI_EXIT_FAILED,
                "You must use exactly one of the following options: --set, --get or --clear");
    }
    cli_done(&s.cli);
    return status;
}
