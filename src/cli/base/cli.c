/* cli.c - start-up, connection and messages of every command
 *
 * Owns the program name that messages carry and the loaded configuration.  Cost matters: sbatch is
 * started thousands of times by workflow tools, so nothing here touches the name service, starts a
 * thread or links an event loop.  One thread. */
#include "cli/base/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/process/closeout.h"
#include "base/process/inherit.h"
#include "base/timefmt.h"
#include "session/confask.h"
#include "session/dial.h"
#include "version.h"
#include "conf/tls/conf_tls.h"
#include "wire/tls/tls.h"
#include "wire/errors.h"

/* years of millions of jobs take the database a while; as it waits for a server itself */
#define ACCT_TIMEOUT_MS 900000
#define STANDBY_AFTER_MS 3000 /* without a controller that leads */

#define WRITE_BYTES (256u * 1024) /* what gathers before it is written */

/* How the process writes its messages: as cli_init() and cli_set_verbosity() said last. */
static struct {
    const char *program;
    int verbosity;
    bool at_exit; /* closeout_begin() was called */
} messages = { .program = "slurm" };

void cli_init(struct cli *c, const char *name)
{
    inherit_open_standard();
    if (!messages.at_exit)
        messages.at_exit = closeout_begin(name) == 0;
    (void)signal(SIGCHLD, SIG_DFL); /* ignored, it would hide how our children end */
    tls_be_brief(true);
    *c = (struct cli){ .program = name };
    messages.program = name;
    messages.verbosity = 0;
}

void cli_done(struct cli *c)
{
    c->conf = conf_free(c->conf);
    c->tls = tls_ctx_unref(c->tls);
    c->step_tls = tls_ctx_unref(c->step_tls);
}

static void put_message(const char *kind, const char *fmt, va_list ap)
{
    char text[8192];

    (void)vsnprintf(text, sizeof(text), fmt, ap); /* cut is fine */
    (void)fprintf(stderr, "%s: %s%s\n", messages.program, kind, text);
}

void cli_error(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    put_message("error: ", fmt, ap);
    va_end(ap);
}

void cli_warning(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    put_message("warning: ", fmt, ap);
    va_end(ap);
}

void cli_info(const char *fmt, ...)
{
    va_list ap;

    if (messages.verbosity < 0)
        return;
    va_start(ap, fmt);
    put_message("", fmt, ap);
    va_end(ap);
}

void cli_verbose(int level, const char *fmt, ...)
{
    va_list ap;

    if (messages.verbosity < level)
        return;
    va_start(ap, fmt);
    put_message("", fmt, ap);
    va_end(ap);
}

void cli_set_verbosity(struct cli *c, int level)
{
    c->verbose = level;
    messages.verbosity = level;
}

void cli_die(int status, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    put_message("error: ", fmt, ap);
    va_end(ap);
    exit(status);
}

void cli_print_fatal(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    put_message("fatal: ", fmt, ap);
    va_end(ap);
}

void cli_fatal(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    put_message("fatal: ", fmt, ap);
    va_end(ap);
    exit(CLI_EXIT_FAILED);
}

static int status_of_env(const char *name)
{
    const char *text = getenv(name);
    int64_t status;

    if (text && parse_i64(text, 0, 255, &status) == 0 && status != 0)
        return (int)status;
    return CLI_EXIT_FAILED;
}

int cli_error_status(void)
{
    return status_of_env("SLURM_EXIT_ERROR");
}

int cli_immediate_status(void)
{
    return status_of_env("SLURM_EXIT_IMMEDIATE");
}

void cli_print_version(void)
{
    (void)printf("slurm %s\n", SLURM_RELEASE); /* stdout errors show at exit */
}

static int load_conf(struct cli *c, struct err *err)
{
    _cleanup_free_ char *path = NULL;
    int r = c->conf ? 0 : confask_path(&path, err);

    return c->conf || r < 0 ? r : conf_load(path, CONF_CLIENT, &c->conf, NULL, err);
}

const struct conf *cli_conf_try(struct cli *c)
{
    return load_conf(c, NULL) < 0 ? NULL : c->conf;
}

const struct conf *cli_conf(struct cli *c)
{
    struct err err = { .text = "" };
    int r = load_conf(c, &err);

    if (r < 0)
        cli_die(CLI_EXIT_FAILED, "%s", err.text[0] ? err.text : strerror(-r));
    return c->conf;
}

const char *cli_cluster_name(struct cli *c)
{
    return c->cluster ? c->cluster->name : conf_str(cli_conf(c), CONF_CLUSTER_NAME);
}

static struct dial dial_of(struct cli *c)
{
    const struct conf *conf = cli_conf(c);

    if (c->timeout_ms <= 0)
        c->timeout_ms = dial_conf_timeout_ms(conf);
    return (struct dial){
        .conf = conf,
        .program = c->program,
        .cluster = c->cluster,
        .token = getenv("SLURM_JWT"),
        .timeout_ms = c->timeout_ms,
        .keeps_text = c->keeps_text,
        .tls = &c->tls,
    };
}

struct tls_ctx *cli_step_tls_or_die(struct cli *c)
{
    struct err err = { .text = "" };

    if (!c->step_tls && conf_use_tls(cli_conf(c)) && tls_ctx_of_keys(&c->step_tls, &err) < 0)
        cli_die(CLI_EXIT_FAILED, "%s", err.text);
    return c->step_tls;
}

int cli_connect_once(struct cli *c, struct client **ret_client, struct err *err)
{
    struct dial d = dial_of(c);

    return dial_ctld_once(&d, ret_client, err);
}

int cli_connect_host(struct cli *c, size_t index, int limit_ms, struct client **ret_client,
                     struct err *err)
{
    struct dial d = dial_of(c);

    d.timeout_ms = limit_ms;
    return dial_ctld_host(&d, index, ret_client, err);
}

bool cli_acct_is_dbd(struct cli *c)
{
    const char *type = conf_str(cli_conf(c), CONF_ACCOUNTING_STORAGE_TYPE);

    return type && strcasecmp(type, "accounting_storage/slurmdbd") == 0;
}

int cli_connect_dbd(struct cli *c, unsigned which, struct client **ret_client, struct err *err)
{
    struct dial d = dial_of(c);

    return dial_dbd_host(&d, which, ret_client, err);
}

int cli_connect_any_dbd(struct cli *c, struct client **ret_client, struct err *err)
{
    struct dial d = dial_of(c);

    return dial_dbd_once(&d, ret_client, err);
}

bool cli_err_tells_more(struct cli *c, int r, const struct err *err)
{
    return err->text[0] && (r == -EACCES || r == -EPROTO || r == -EPROTONOSUPPORT ||
                            ((r == -EPIPE || r == -ECONNRESET) && conf_use_tls(cli_conf(c))));
}

void cli_say_dbd_is_away(struct cli *c, int r, const struct err *err)
{
    const char *host = conf_str(cli_conf(c), CONF_ACCOUNTING_STORAGE_HOST);
    unsigned port = (unsigned)conf_num(cli_conf(c), CONF_ACCOUNTING_STORAGE_PORT);

    cli_error("_open_persist_conn: failed to open persistent connection to host:%s:%u: %s", host,
              port, cli_err_tells_more(c, r, err) ? err->text : strerror(-r));
    cli_error("Sending PersistInit msg: %s", strerror(-r));
}

struct client *cli_connect_acct_or_die(struct cli *c)
{
    const char *type = conf_str(cli_conf(c), CONF_ACCOUNTING_STORAGE_TYPE);
    struct dial d = dial_of(c);
    struct client *client = NULL;
    struct err err = { .text = "" };
    int r;

    if (type && strcasecmp(type, "accounting_storage/none") == 0) {
        (void)fprintf(stderr, "Slurm accounting storage is disabled\n");
        exit(CLI_EXIT_FAILED);
    }
    if (!cli_acct_is_dbd(c)) {
        client = cli_connect_or_die(c, NULL);
        client_set_timeout(client, ACCT_TIMEOUT_MS);
        return client;
    }
    r = dial_dbd_once(&d, &client, &err);
    if (r < 0) {
        cli_say_dbd_is_away(c, r, &err);
        if (strcmp(c->program, "sreport") == 0)
            cli_fatal("Problem connecting to the database: %s", strerror(-r));
        if (strcmp(c->program, "sacctmgr") != 0)
            cli_error("Problem talking to the database: %s", strerror(-r));
        exit(CLI_EXIT_FAILED);
    }
    client_set_timeout(client, ACCT_TIMEOUT_MS);
    return client;
}

bool cli_may_come_back(int r)
{
    return dial_may_come_back(r);
}

void cli_still_trying(struct cli_patience *p, const char *why)
{
    int64_t now = now_mono_us();

    cli_verbose(1, "Unable to contact slurm controller, retrying: %s", why);
    if (!p->since_mono_us)
        p->since_mono_us = now;
    if (p->said || now - p->since_mono_us < (int64_t)CLI_SILENT_MS * 1000)
        return;
    p->said = true;
    if (messages.verbosity == 0)
        cli_info("Unable to contact slurm controller, retrying: %s", why);
}

static void on_waiting(void *ctx, const char *why)
{
    cli_still_trying(ctx, why);
}

/* No controller leads: one that stands by may do, with a word about how old its answer is. */
static int connect_standby(struct cli *c, const struct dial *d, struct client **ret_client)
{
    struct dial_standby told;
    struct err err = { .text = "" }; /* that of the controller that leads is told */
    int r = dial_standby(d, ret_client, &told, &err);

    if (r < 0 || !told.host[0])
        return r;
    (void)snprintf(c->standby, sizeof(c->standby), "answer of the standby %s, %lld s old",
                   told.host, (long long)((told.age_us + USEC_PER_SEC - 1) / USEC_PER_SEC));
    cli_info("%s", c->standby);
    return 0;
}

/* A client_again_fn: the controller gave up control before it took the request. */
static int connect_again(void *ctx, struct client **ret_client)
{
    struct cli *c = ctx;
    struct cli_patience patience = { 0 };
    struct dial d = dial_of(c);
    struct err err = { .text = "" }; /* what the call said stands */

    d.cluster = NULL;
    return dial_ctld(&d, on_waiting, &patience, ret_client, &err);
}

int cli_connect(struct cli *c, struct client **ret_client, struct err *err)
{
    struct cli_patience patience = { 0 };
    struct dial d = dial_of(c);
    int r;

    c->standby[0] = '\0';
    if (c->shows && !c->cluster && conf_ctld_host(d.conf, 1, NULL))
        d.patience_ms = MIN(d.timeout_ms, STANDBY_AFTER_MS);
    r = dial_ctld(&d, on_waiting, &patience, ret_client, err);
    if (r == 0 && !c->cluster && conf_ctld_host(d.conf, 1, NULL))
        client_set_again(*ret_client, connect_again, c);
    return d.patience_ms && dial_may_come_back(r) && connect_standby(c, &d, ret_client) == 0 ? 0
                                                                                             : r;
}

const char *cli_standby_note(const struct cli *c)
{
    return c->standby[0] ? c->standby : NULL;
}

struct client *cli_connect_or_die(struct cli *c, const char *what)
{
    struct err err = { .text = "" };
    struct client *client = NULL;
    int r = cli_connect(c, &client, &err);

    if (r == 0)
        return client;
    if (what)
        cli_die(cli_error_status(), "%s: %s", what, err.text[0] ? err.text : strerror(-r));
    cli_die(cli_error_status(), "%s", err.text[0] ? err.text : strerror(-r));
}

int cli_call(struct cli *c, unsigned op, const ProtobufCMessage *request,
             ProtobufCMessage **ret_reply, int *ret_code, struct err *err)
{
    struct client *client = NULL;
    int r = cli_connect(c, &client, err);

    if (r < 0) {
        if (ret_code)
            *ret_code = EPST_UNREACHABLE;
        return r;
    }
    r = client_call(client, op, request, ret_reply);
    if (r < 0) {
        if (ret_code)
            *ret_code = r == -EREMOTEIO ? client_error(client, NULL) : SLURM_ERROR;
        (void)err_set(err, r, "%s", client_strerror(client, r));
    }
    client_free(client);
    return r;
}

static noreturn void no_memory(void)
{
    cli_fatal(ERR_NOMEM);
}

void *xmalloc_or_die(size_t size)
{
    void *p = calloc(1, size ? size : 1);

    if (!p)
        no_memory();
    return p;
}

void *xrealloc_or_die(void *p, size_t n, size_t size)
{
    void *q = reallocarray(p, n ? n : 1, size);

    if (!q)
        no_memory();
    return q;
}

char *xstrdup_or_die(const char *text)
{
    char *copy;

    if (!text)
        return NULL;
    copy = strdup(text);
    if (!copy)
        no_memory();
    return copy;
}

char *xasprintf_or_die(const char *fmt, ...)
{
    va_list ap;
    char *text = NULL;
    int n;

    va_start(ap, fmt);
    n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0)
        no_memory();
    return text;
}

void check_mem_or_die(int r)
{
    if (r == -ENOMEM)
        no_memory();
}

void cli_write_out(struct strbuf *out, bool all)
{
    if (out->failed)
        cli_die(CLI_EXIT_FAILED, ERR_NOMEM);
    if (out->len < WRITE_BYTES && !all)
        return;
    if (fwrite(strbuf_str(out), 1, out->len, stdout) != out->len || (all && fflush(stdout)))
        exit(CLI_EXIT_FAILED);
    strbuf_reset(out);
}
