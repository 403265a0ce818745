/* cli.c - start-up, connection and messages of every command
 *
 * Owns the program name that messages carry and the loaded configuration.  Cost matters: sbatch is
 * started thousands of times by workflow tools, so nothing here touches the name service, starts a
 * thread or links an event loop.  One thread. */
#include "cli/base/cli.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "version.h"
#include "conf/conf_tls.h"
#include "wire/client_active.h"
#include "wire/tls/tls.h"
#include "wire/errors.h"

#define RETRY_FIRST_MS 50
#define RETRY_MAX_MS 1000
#define TIMEOUT_DEFAULT_MS 10000
/* years of millions of jobs take the database a while; as it waits for a server itself */
#define ACCT_TIMEOUT_MS 900000

static const char *program = "slurm";
#define WRITE_BYTES (256u * 1024) /* what gathers before it is written */

static int verbosity;

void cli_init(struct cli *c, const char *name)
{
    *c = (struct cli){ .program = name };
    program = name;
    verbosity = 0;
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
    (void)fprintf(stderr, "%s: %s%s\n", program, kind, text);
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

    if (verbosity < 0)
        return;
    va_start(ap, fmt);
    put_message("", fmt, ap);
    va_end(ap);
}

void cli_verbose(int level, const char *fmt, ...)
{
    va_list ap;

    if (verbosity < level)
        return;
    va_start(ap, fmt);
    put_message("", fmt, ap);
    va_end(ap);
}

void cli_set_verbosity(struct cli *c, int level)
{
    c->verbose = level;
    verbosity = level;
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
    return c->conf ? 0 : conf_load(conf_default_path(), CONF_CLIENT, &c->conf, NULL, err);
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

static int timeout_ms(struct cli *c)
{
    if (c->timeout_ms <= 0) {
        uint64_t secs = conf_num(cli_conf(c), CONF_MESSAGE_TIMEOUT);

        c->timeout_ms = secs > 0 && secs <= 3600 ? (int)secs * 1000 : TIMEOUT_DEFAULT_MS;
    }
    return c->timeout_ms;
}

/* The local socket.  A controller of root or of ourselves needs no look-up of SlurmUser's number,
 * which may mean asking a directory server. */
static int connect_local(struct cli *c, const struct client_target *target,
                         const struct client_hosts *hosts, struct client **ret_client,
                         struct err *err)
{
    int r = client_connect_local(target, hosts, 0, ret_client, err);

    if (r == -EACCES)
        r = client_connect_local(target, hosts, conf_slurm_uid(cli_conf(c)), ret_client, err);
    return r;
}

static struct client_target target_of(struct cli *c, const char *service, uint16_t port)
{
    const struct conf *conf = cli_conf(c);

    return (struct client_target){
        .port = port,
        .cluster = conf_str(conf, CONF_CLUSTER_NAME),
        .key_file = conf_key_file(conf),
        .use_munge = conf_use_munge(conf),
        .munge_socket = conf_munge_socket(conf),
        .jwt = getenv("SLURM_JWT"),
        .timeout_ms = timeout_ms(c),
        .program = c->program,
        .service = service,
    };
}

/* What TCP needs: the local socket is not encrypted, and a program that uses it loads nothing. */
static int add_tls(struct cli *c, struct client_target *target, struct err *err)
{
    struct tls_config config;
    int r = 0;

    if (!c->tls) {
        r = conf_tls(cli_conf(c), CONF_TLS_COMMAND, &config);
        if (r == 0)
            r = tls_ctx_load(&config, &c->tls, err);
    }
    target->tls = c->tls;
    return r;
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
    const struct conf *conf = cli_conf(c);
    struct client_target target = target_of(c, "slurmctld", conf_ctld_port(conf));
    struct client_hosts hosts = { .n = 0 };

    hosts.n = conf_ctld_addrs(conf, hosts.addr, ARRAY_SIZE(hosts.addr));
    if (connect_local(c, &target, &hosts, ret_client, err) == 0)
        return 0;
    if (add_tls(c, &target, err) < 0)
        return -EACCES;
    return client_connect_active(&target, &hosts, conf_slurm_uid(conf), ret_client, err);
}

int cli_connect_host(struct cli *c, size_t index, int limit_ms, struct client **ret_client,
                     struct err *err)
{
    const struct conf *conf = cli_conf(c);
    struct client_target target = target_of(c, "slurmctld", conf_ctld_port(conf));

    if (!conf_ctld_host(conf, index, &target.host))
        return -ENOENT;
    if (add_tls(c, &target, err) < 0)
        return -EACCES;
    target.timeout_ms = limit_ms;
    return client_connect(&target, conf_slurm_uid(conf), ret_client, err);
}

bool cli_acct_is_dbd(struct cli *c)
{
    const char *type = conf_str(cli_conf(c), CONF_ACCOUNTING_STORAGE_TYPE);

    return type && strcasecmp(type, "accounting_storage/slurmdbd") == 0;
}

int cli_connect_dbd(struct cli *c, unsigned which, struct client **ret_client, struct err *err)
{
    const struct conf *conf = cli_conf(c);
    struct client_target target =
        target_of(c, "slurmdbd", (uint16_t)conf_num(conf, CONF_ACCOUNTING_STORAGE_PORT));

    target.host =
        conf_str(conf, which ? CONF_ACCOUNTING_STORAGE_BACKUP_HOST : CONF_ACCOUNTING_STORAGE_HOST);
    if (!target.host)
        return -ENOENT;
    if (add_tls(c, &target, err) < 0)
        return -EACCES;
    return client_connect(&target, conf_slurm_uid(conf), ret_client, err);
}

static int connect_dbd(struct cli *c, struct client **ret_client, struct err *err)
{
    const struct conf *conf = cli_conf(c);
    const char *hosts[] = { conf_str(conf, CONF_ACCOUNTING_STORAGE_HOST),
                            conf_str(conf, CONF_ACCOUNTING_STORAGE_BACKUP_HOST) };
    struct client_target target =
        target_of(c, "slurmdbd", (uint16_t)conf_num(conf, CONF_ACCOUNTING_STORAGE_PORT));
    const struct client_hosts none = { .n = 0 }; /* whoever listens there answers */
    int r = connect_local(c, &target, &none, ret_client, err);

    if (r < 0 && add_tls(c, &target, err) < 0)
        return -EACCES;
    for (size_t i = 0; r < 0 && i < ARRAY_SIZE(hosts) && hosts[i]; i++) {
        target.host = hosts[i];
        r = client_connect(&target, conf_slurm_uid(conf), ret_client, err);
    }
    return r;
}

struct client *cli_connect_acct_or_die(struct cli *c)
{
    const char *type = conf_str(cli_conf(c), CONF_ACCOUNTING_STORAGE_TYPE);
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
    r = connect_dbd(c, &client, &err);
    if (r < 0) {
        const char *host = conf_str(cli_conf(c), CONF_ACCOUNTING_STORAGE_HOST);
        unsigned port = (unsigned)conf_num(cli_conf(c), CONF_ACCOUNTING_STORAGE_PORT);

        cli_error("_open_persist_conn: failed to open persistent connection to host:%s:%u: %s",
                  host, port, strerror(-r));
        cli_error("Sending PersistInit msg: %s", strerror(-r));
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
    return r == -ECONNREFUSED || r == -ECONNRESET || r == -EPIPE || r == -ENOENT || r == -ETIMEDOUT;
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
    if (verbosity == 0)
        cli_info("Unable to contact slurm controller, retrying: %s", why);
}

int cli_connect(struct cli *c, struct client **ret_client, struct err *err)
{
    struct cli_patience patience = { 0 };
    int64_t deadline_mono_us = now_mono_us() + (int64_t)timeout_ms(c) * 1000;
    int pause_ms = RETRY_FIRST_MS;

    for (;;) {
        int r = cli_connect_once(c, ret_client, err);

        if (r == 0 || !cli_may_come_back(r) || now_mono_us() >= deadline_mono_us)
            return r;
        cli_still_trying(&patience, err ? err->text : "");
        (void)poll(NULL, 0, pause_ms); /* a pause; an early wake-up is harmless */
        pause_ms = MIN(pause_ms * 2, RETRY_MAX_MS);
    }
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
    cli_fatal("out of memory");
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
        cli_die(CLI_EXIT_FAILED, "Out of memory");
    if (out->len < WRITE_BYTES && !all)
        return;
    if (fwrite(strbuf_str(out), 1, out->len, stdout) != out->len || (all && fflush(stdout)))
        exit(CLI_EXIT_FAILED);
    strbuf_reset(out);
}
