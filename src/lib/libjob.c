/* libjob.c - jobs to be submitted: options of sbatch, script, environment; see libpenstock.h
 *
 * Options are checked and turned into a record by the code of sbatch (cli/job/), so that limits and
 * sentences are the same.  What only the controller can judge is left to it. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/safetext.h"
#include "base/timefmt.h"
#include "base/wordlist.h"
#include "cli/base/cli.h"
#include "cli/job/batchscript.h"
#include "cli/job/jobenvlist.h"
#include "cli/job/jobopts.h"
#include "cli/job/submit.h"
#include "lib/libhandle.h"
#include "wire/ops.h"

#define KEY_MAX 255u
#define KEY_BYTES 16u
#define ARGUMENTS_MAX 65536u

extern char **environ;

/* They say what the command does, or belong to what it knows of its caller. */
static const char command_only[] =
    "wait,parsable,quiet,verbose,test-only,uid,gid,clusters,export-file,ignore-pbs,get-user-env,"
    "hold-message,external";

struct penstock_job {
    struct penstock *p;
    struct jobopts opts;
    struct script script;
    struct envlist env;
    bool own_env;
    char **argv;
    size_t n_argv;
    char key[KEY_MAX + 1]; /* "": one for each call */
};

penstock_job *penstock_job_new(penstock *p)
{
    struct penstock_job *job = calloc(1, sizeof(*job));

    if (!job) {
        (void)lib_nomem(p);
        return NULL;
    }
    job->p = p;
    jobopts_init(&job->opts, JOBOPTS_SBATCH);
    return job;
}

void penstock_job_free(penstock_job *job)
{
    if (!job)
        return;
    jobopts_done(&job->opts);
    script_done(&job->script);
    envlist_done(&job->env);
    for (size_t i = 0; i < job->n_argv; i++)
        free(job->argv[i]);
    free(job->argv);
    free(job);
}

/* ---- options --------------------------------------------------------------------------------- */

static const struct opt *find_option(const char *name)
{
    const struct opt_command *sbatch = jobopts_command(JOBOPTS_SBATCH);

    if (wordlist_has(command_only, name))
        return NULL;
    for (size_t i = 0; i < sbatch->n; i++) {
        const struct opt *o = &sbatch->rows[i];

        if (strcmp(o->name, name) == 0 && (!o->applies || (o->applies & sbatch->bit)))
            return o;
    }
    return NULL;
}

/* "--hint=help" asks a command for a list. */
static bool asks_for_help(const char *value)
{
    return strcasecmp(value, "help") == 0 || strcasecmp(value, "list") == 0;
}

int penstock_job_set(penstock_job *job, const char *option, const char *value)
{
    const struct opt *o = find_option(option);
    struct err err = { .text = "" };

    if (!o)
        return lib_fail(job->p, -ENOENT, 0, "a job has no option named %.100s", option);
    if (o->refused)
        return lib_fail(job->p, -EINVAL, 0, "--%s: %s", option, o->refused);
    if (value && !*value)
        value = NULL;
    if (o->arg == OPT_REQ && !value)
        return lib_fail(job->p, -EINVAL, 0, "--%s needs a value", option);
    if (o->arg == OPT_NONE && value)
        return lib_fail(job->p, -EINVAL, 0, "--%s has no value", option);
    if (value && o->id != JO_COMMENT && o->id != JO_WRAP && o->id != JO_JOB_NAME &&
        asks_for_help(value))
        return lib_fail(job->p, -EINVAL, 0, "--%s: %.20s is a question to the command", option,
                        value);
    if (jobopts_set(&job->opts, o, value, OPT_FROM_ARGV, &err) != 0)
        return lib_fail(job->p, -EINVAL, 0, "%s",
                        err.text[0] ? err.text : "the option's value means nothing");
    return 0;
}

int penstock_job_script(penstock_job *job, const void *script, size_t size)
{
    struct script next = { 0 };
    struct err err = { .text = "" };

    if (size > SCRIPT_MAX)
        return lib_fail(job->p, -EINVAL, 0, "the script has more than %u bytes", SCRIPT_MAX);
    next.text = malloc(size + 1);
    if (!next.text)
        return lib_nomem(job->p);
    memcpy(next.text, script, size);
    next.text[size] = '\0';
    next.len = size;
    if (script_check(&next, &err) != 0) {
        script_done(&next);
        for (char *c = err.text; *c; c++)
            *c = *c == '\n' ? ' ' : *c;
        return lib_fail(job->p, -EINVAL, 0, "%s", err.text);
    }
    script_done(&job->script);
    job->script = next;
    return 0;
}

int penstock_job_argument(penstock_job *job, const char *argument)
{
    char **argv;

    if (job->n_argv >= ARGUMENTS_MAX)
        return lib_fail(job->p, -EINVAL, 0, "a script has at most %u arguments", ARGUMENTS_MAX);
    argv = reallocarray(job->argv, job->n_argv + 1, sizeof(*argv));
    if (!argv)
        return lib_nomem(job->p);
    job->argv = argv;
    job->argv[job->n_argv] = strdup(argument);
    if (!job->argv[job->n_argv])
        return lib_nomem(job->p);
    job->n_argv++;
    return 0;
}

int penstock_job_environment(penstock_job *job, const char *name, const char *value)
{
    _cleanup_free_ char *pair = NULL;

    if (asprintf(&pair, "%s=%s", name, value) < 0) {
        pair = NULL;
        return lib_nomem(job->p);
    }
    if (strchr(name, '=') || !safetext_is_variable(pair))
        return lib_fail(job->p, -EINVAL, 0, "%.100s is no name of a variable", name);
    job->own_env = true;
    envlist_set(&job->env, name, value);
    return 0;
}

int penstock_job_key(penstock_job *job, const char *key)
{
    size_t len = strlen(key);

    if (!len || len > KEY_MAX)
        return lib_fail(job->p, -EINVAL, 0, "a key has 1 to %u characters", KEY_MAX);
    for (const char *c = key; *c; c++)
        if (*c < 0x21 || *c > 0x7e)
            return lib_fail(job->p, -EINVAL, 0, "a key has printable ASCII characters only");
    memcpy(job->key, key, len + 1);
    return 0;
}

/* ---- the request ----------------------------------------------------------------------------- */

/* What sbatch says of a whole line, as far as the controller would not: each of these would hide
 * another. */
static int check_options(struct penstock_job *job)
{
    const struct jobopts *jo = &job->opts;
    int mems =
        jobopts_has(jo, JO_MEM) + jobopts_has(jo, JO_MEM_PER_CPU) + jobopts_has(jo, JO_MEM_PER_GPU);

    if (mems > 1)
        return lib_fail(job->p, -EINVAL, 0,
                        "--mem, --mem-per-cpu and --mem-per-gpu exclude each other");
    if (jobopts_has(jo, JO_EXCLUSIVE) && jobopts_has(jo, JO_OVERSUBSCRIBE))
        return lib_fail(job->p, -EINVAL, 0, "--exclusive and --oversubscribe exclude each other");
    return 0;
}

static int fill_place(struct penstock_job *job, Pst__JobRecord *rec)
{
    const char *dir = jobopts_get(&job->opts, JO_CHDIR);
    char cwd[PATH_MAX], host[HOST_NAME_MAX + 1] = "";
    int r = 0;

    if ((!dir || dir[0] != '/') && !getcwd(cwd, sizeof(cwd)))
        return lib_fail(job->p, -errno, 0, "The current directory cannot be read: %s",
                        strerror(errno));
    if (dir && dir[0] == '/')
        r = pb_set_str(&rec->work_dir, dir);
    else if (asprintf(&rec->work_dir, dir ? "%s/%s" : "%s", cwd, dir) < 0)
        r = -ENOMEM;
    (void)gethostname(host, sizeof(host) - 1); /* "" when it fails: nothing depends on it */
    host[strcspn(host, ".")] = '\0';
    if (r == 0)
        r = pb_set_str(&rec->alloc_host, host);
    return r < 0 ? lib_nomem(job->p) : 0;
}

/* The script's name, then its arguments. */
static int fill_arguments(struct penstock_job *job, Pst__JobRecord *rec)
{
    const char *name = rec->name;

    rec->argv = calloc(job->n_argv + 1, sizeof(*rec->argv));
    for (size_t i = 0; rec->argv && i <= job->n_argv; i++) {
        rec->argv[i] = strdup(i ? job->argv[i - 1] : name);
        if (!rec->argv[i])
            return lib_nomem(job->p);
        rec->n_argv++;
    }
    return rec->argv ? 0 : lib_nomem(job->p);
}

static int fill_record(struct penstock_job *job, struct cli *cli, Pst__JobRecord *rec)
{
    const struct jobopts *jo = &job->opts;
    struct err err = { .text = "" };
    mode_t mask = umask(0);
    int r;

    (void)umask(mask); /* reading it means setting it */
    if (jobopts_fill_job(jo, conf_str(cli->conf, CONF_GRES_TYPES), now_us(), rec, &err) != 0)
        return lib_fail(job->p, -EINVAL, 0, "%s",
                        err.text[0] ? err.text : "an option of the job cannot be taken");
    r = fill_place(job, rec);
    if (r < 0)
        return r;
    rec->has_batch = rec->batch = true;
    rec->has_umask = true;
    rec->umask = mask;
    rec->has_alloc_sid = true;
    rec->alloc_sid = (uint32_t)getsid(0);
    rec->has_get_user_env = rec->get_user_env = envlist_wants_login(rec->export_env);
    rec->rlimits = submit_rlimits(cli, jo, &rec->n_rlimits);
    if (!rec->name && pb_set_str(&rec->name, jobopts_has(jo, JO_WRAP) ? "wrap" : cli->program) < 0)
        return lib_nomem(job->p);
    return fill_arguments(job, rec);
}

static void fill_environment(struct penstock_job *job, struct cli *cli, ProtobufCBinaryData *ret)
{
    _cleanup_val_(envlist_done) struct envlist env = ENVLIST_INIT;
    static char *const none[] = { NULL };

    envlist_export(&env, job->own_env ? (job->env.n ? job->env.items : none) : environ,
                   jobopts_get(&job->opts, JO_EXPORT));
    envlist_add_options(&env, &job->opts);
    submit_env(cli, &env);
    envlist_unset(&env, "SLURM_JWT"); /* it outlives the job's owner's wish to share it */
    envlist_pack(&env, ret);
}

/* A key of the caller's, or one that nobody else has. */
static int choose_key(struct penstock_job *job, char key[static KEY_MAX + 1])
{
    uint8_t bytes[KEY_BYTES];

    if (job->key[0]) {
        memcpy(key, job->key, sizeof(job->key));
        return 0;
    }
    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        return lib_fail(job->p, -EIO, 0, "there are no random numbers");
    for (size_t i = 0; i < sizeof(bytes); i++)
        (void)snprintf(key + 2 * i, 3, "%02x", bytes[i]); /* fits */
    return 0;
}

static int send_job(struct penstock *p, struct penstock_job *job, Pst__JobRecord *rec,
                    struct script *script, uint32_t *ret_job_id)
{
    struct cli cli = { .program = p->program ? p->program : "libpenstock", .conf = p->conf };
    Pst__SubmitRequest req = PST__SUBMIT_REQUEST__INIT;
    ProtobufCMessage *msg = NULL;
    char key[KEY_MAX + 1];
    int r = choose_key(job, key);

    if (r == 0)
        r = fill_record(job, &cli, rec);
    if (r < 0)
        return r;
    fill_environment(job, &cli, &req.environment);
    req.has_environment = req.has_script = true;
    req.script = (ProtobufCBinaryData){ script->len, (uint8_t *)script->text };
    req.job = rec;
    req.has_hold = req.hold = jobopts_has(&job->opts, JO_HOLD);
    req.array = (char *)(uintptr_t)jobopts_get(&job->opts, JO_ARRAY); /* only read */
    req.idempotency_key = key;
    r = lib_call(p, OP_JOB_SUBMIT, &req.base, true, &msg, NULL);
    free(req.environment.data);
    if (r < 0)
        return r;
    *ret_job_id = PB_AS(submit_reply, msg)->job_id;
    protobuf_c_message_free_unpacked(msg, NULL);
    return 0;
}

int penstock_submit(penstock *p, penstock_job *job, uint32_t *ret_job_id)
{
    _cleanup_val_(script_done) struct script wrapped = { 0 };
    Pst__JobRecord rec = PST__JOB_RECORD__INIT;
    const char *wrap = jobopts_get(&job->opts, JO_WRAP);
    int r = lib_conf(p, NULL);

    job->p = p; /* errors are told where the caller looks */
    if (r == 0)
        r = check_options(job);
    if (r == 0 && !job->script.text && !wrap)
        r = lib_fail(p, -EINVAL, 0, "the job has no script");
    if (r == 0 && job->script.text && wrap)
        r = lib_fail(p, -EINVAL, 0, "a job has a script or --wrap, not both");
    if (r < 0)
        return r;
    if (wrap)
        script_wrap(wrap, &wrapped);
    r = send_job(p, job, &rec, wrap ? &wrapped : &job->script, ret_job_id);
    pb_done(&rec.base);
    return r;
}
