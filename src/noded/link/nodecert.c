/* nodecert.c - the certificate of a node, where the controller has it signed; see nodecert.h
 *
 * One round after the other: token (the first time), request, question to the controller on a
 * worker, private key, file.  A round that fails leaves what was, and comes again. */
#include "noded/link/nodecert.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text/owntext.h"
#include "base/process/capture.h"
#include "base/process/spawnprog.h"
#include "conf/tls/conf_certmgr.h"
#include "conf/tls/conf_tls.h"
#include "noded/link/certask.h"
#include "stepd/shared/spool.h"
#include "wire/tls/pemtext.h"
#include "wire/tls/tls.h"

#define OUTPUT_MAX (64u * 1024)
#define SCRIPT_LIMIT_MS 60000
#define PAUSE_MIN_S 1u
#define PAUSE_MAX_S 30u

extern char **environ;

struct nodecert {
    struct noded *d;
    enum certmgr_script script; /* that runs, where pid is not 0 */
    pid_t pid;
    int output_fd;
    char *token, *csr, *certificate; /* of this round */
    struct certask *ask;
    uv_work_t work;
    uv_timer_t timer; /* a script's limit, or the pause before the next round */
    bool loaded;      /* a certificate is in use: it is shown in place of a token */
    bool show_token;  /* the certificate was refused */
    unsigned pause_s;
    struct err said;
};

static void begin_round(struct nodecert *c);
static void run_script(struct nodecert *c, enum certmgr_script which);

static void name_file(const struct noded *d, char *path, size_t size)
{
    (void)snprintf(path, size, "%s/cert-%s.pem", d->spool, d->name);
}

int nodecert_fill(const struct noded *d, struct tls_config *config)
{
    char path[SPOOL_PATH_MAX];

    if (!d->cert || !conf_use_certmgr(d->conf))
        return 0;
    name_file(d, path, sizeof(path));
    free(config->cert_file);
    free(config->key_file);
    config->cert_file = strdup(path);
    config->key_file = strdup(path);
    return config->cert_file && config->key_file ? 0 : -ENOMEM;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void end_round(struct nodecert *c)
{
    wipe_text(&c->token);
    wipe_text(&c->csr);
    wipe_text(&c->certificate);
    c->ask = certask_free(c->ask);
}

static bool is_closing(const struct nodecert *c)
{
    return uv_is_closing((const uv_handle_t *)&c->timer);
}

static void on_pause_over(uv_timer_t *timer)
{
    begin_round(timer->data);
}

static void pause_for(struct nodecert *c, uint64_t ms)
{
    (void)uv_timer_start(&c->timer, on_pause_over, ms, 0); /* closing: no round comes any more */
}

/* Told once, tried on. */
static void fail_round(struct nodecert *c, const struct err *err)
{
    if (is_closing(c)) {
        end_round(c);
        return;
    }
    if (strcmp(c->said.text, err->text) != 0)
        log_error("%s: %s; trying on",
                  c->loaded ? "the certificate is not renewed" : "there is no certificate",
                  err->text);
    c->said = *err;
    end_round(c);
    pause_for(c, c->pause_s * UINT64_C(1000));
    c->pause_s = MIN(2 * c->pause_s, PAUSE_MAX_S);
}

static uint64_t period_ms(const struct nodecert *c)
{
    return conf_certmgr_period_min(c->d->conf) * UINT64_C(60000);
}

static void begin_round(struct nodecert *c)
{
    if (!conf_use_certmgr(c->d->conf)) {
        pause_for(c, period_ms(c)); /* a reconfigure has ended that */
        return;
    }
    run_script(c, c->loaded && !c->show_token ? CERTMGR_GENERATE : CERTMGR_GET_TOKEN);
}

/* ---- the new certificate --------------------------------------------------------------------- */

/* The certificates, then the key, in one file: they change together. */
static int write_pair(const struct noded *d, const char *name, const char *cert, const char *key,
                      struct err *err)
{
    _cleanup_free_ char *text = NULL;
    int n = asprintf(&text, "%s\n%s", cert, key), r;

    if (n < 0) {
        text = NULL;
        return err_nomem(err);
    }
    r = spool_write(d->spool, name, text, (size_t)n, 0600, (uid_t)-1, (gid_t)-1);
    explicit_bzero(text, (size_t)n);
    return r < 0 ? err_set(err, r, "%s/%s cannot be written: %s", d->spool, name, strerror(-r)) : 0;
}

/* Is what was written a pair that can be used, under an authority that can be read? */
static int try_pair(const struct noded *d, const char *path, struct err *err)
{
    struct tls_config config;
    struct tls_ctx *tls = NULL;
    int r = conf_tls(d->conf, CONF_TLS_SLURMD, &config);

    if (r < 0)
        return err_nomem(err);
    free(config.cert_file);
    free(config.key_file);
    config.cert_file = strdup(path);
    config.key_file = strdup(path);
    if (!config.cert_file || !config.key_file) {
        tls_config_done(&config);
        return err_nomem(err);
    }
    r = tls_ctx_load(&config, &tls, err);
    (void)tls_ctx_unref(tls); /* always NULL */
    return r;
}

static int keep_pair(struct nodecert *c, const char *key, struct err *err)
{
    char path[SPOOL_PATH_MAX], fresh[SPOOL_PATH_MAX + 8];
    int r;

    name_file(c->d, path, sizeof(path));
    (void)snprintf(fresh, sizeof(fresh), "%s.new", path);
    r = write_pair(c->d, strrchr(fresh, '/') + 1, c->certificate, key, err);
    if (r == 0)
        r = try_pair(c->d, fresh, err);
    if (r == 0 && rename(fresh, path) < 0)
        r = err_set(err, -errno, "%s: %s", path, strerror(errno));
    if (r < 0)
        (void)unlink(fresh); /* there may be none */
    return r == 0 ? c->d->on->load_tls(c->d, err) : r;
}

static void take_key(struct nodecert *c, const char *key)
{
    struct err err = { .text = "" };

    if (!pemtext_holds(key, PEM_KEY)) {
        (void)err_set(&err, -EINVAL,
                      "what get_node_cert_key_script printed is no private key (PEM)");
        fail_round(c, &err);
        return;
    }
    if (keep_pair(c, key, &err) < 0) {
        fail_round(c, &err);
        return;
    }
    log_info("the certificate of node %s was %s", c->d->name, c->loaded ? "renewed" : "signed");
    end_round(c);
    c->loaded = true;
    c->show_token = false;
    c->pause_s = PAUSE_MIN_S;
    c->said.text[0] = '\0';
    pause_for(c, period_ms(c));
}

/* ---- the controller -------------------------------------------------------------------------- */

static void on_work(uv_work_t *work)
{
    const struct nodecert *c = work->data;

    certask_run(c->ask);
}

static void on_answer(uv_work_t *work, int status)
{
    struct nodecert *c = work->data;
    struct err err = { .text = "the question was given up" };
    const char *certificate = status == 0 ? certask_certificate(c->ask, &err) : NULL;

    if (is_closing(c)) {
        end_round(c);
        return;
    }
    c->certificate = certificate ? strdup(certificate) : NULL;
    if (!c->certificate) {
        c->show_token = c->show_token || (status == 0 && certask_was_refused(c->ask));
        fail_round(c, &err);
        return;
    }
    run_script(c, CERTMGR_GET_KEY);
}

/* What the question goes over: with the certificate, or as a command has it. */
static int context_to_ask(const struct nodecert *c, struct tls_ctx **ret, struct err *err)
{
    struct tls_config config;

    if (c->loaded && !c->show_token) {
        *ret = tls_ctx_ref(c->d->tls);
        return 0;
    }
    if (conf_tls(c->d->conf, CONF_TLS_COMMAND, &config) < 0)
        return err_nomem(err);
    return tls_ctx_load(&config, ret, err);
}

static void ask_controller(struct nodecert *c)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *tls = NULL;
    struct err err = { .text = "" };
    int r = context_to_ask(c, &tls, &err);

    if (r == 0 && certask_new(c->d, tls, c->token, c->csr, &c->ask) < 0)
        r = err_nomem(&err);
    if (r == 0 && uv_queue_work(&c->d->loop, &c->work, on_work, on_answer) < 0)
        r = err_set(&err, -EAGAIN, "no thread can ask the controller");
    if (r < 0)
        fail_round(c, &err);
}

/* ---- scripts --------------------------------------------------------------------------------- */

static void on_script_limit(uv_timer_t *timer)
{
    struct nodecert *c = timer->data;

    log_error("%s ran too long", conf_certmgr_word(c->script));
    if (c->pid > 0)
        (void)kill(-c->pid, SIGKILL); /* its session */
}

static int start_script(struct nodecert *c, const char *path)
{
    char *argv[] = { (char *)(uintptr_t)path, c->d->name, NULL };
    int fd = capture_open(OUTPUT_MAX), r;
    int fds[] = { -1, fd };

    if (fd < 0)
        return fd;
    r = spawn_program(
        &(struct spawn){ .path = path, .argv = argv, .envp = environ, .fds = fds, .n_fds = 2 },
        &c->pid);
    if (r < 0) {
        c->pid = 0;
        (void)close(fd);
        return r;
    }
    c->output_fd = fd;
    (void)uv_timer_start(&c->timer, on_script_limit, SCRIPT_LIMIT_MS, 0); /* not closing */
    return 0;
}

static void run_script(struct nodecert *c, enum certmgr_script which)
{
    _cleanup_free_ char *path = NULL;
    struct err err = { .text = "" };
    int r = conf_certmgr_script(c->d->conf, which, &path);

    c->script = which;
    if (r == 0 && !path && which == CERTMGR_GET_TOKEN) {
        run_script(c, CERTMGR_GENERATE); /* the controller says whether a node may do without */
        return;
    }
    if (r == 0 && !path)
        r = -ENOENT;
    if (r == 0)
        r = start_script(c, path);
    if (r == 0)
        return;
    (void)err_set(&err, r, "%s: %s", conf_certmgr_word(which), strerror(-r));
    fail_round(c, &err);
}

/* One line without its end. */
static void trim_line(char *text)
{
    size_t len = strlen(text);

    while (len && (text[len - 1] == '\n' || text[len - 1] == '\r' || text[len - 1] == ' '))
        text[--len] = '\0';
}

static void take_output(struct nodecert *c, char *text)
{
    struct err err = { .text = "" };

    switch (c->script) {
    case CERTMGR_GET_TOKEN:
        trim_line(text);
        c->token = strdup(text); /* NULL: asked without one, and refused */
        run_script(c, CERTMGR_GENERATE);
        break;
    case CERTMGR_GENERATE:
        if (!pemtext_holds(text, PEM_REQUEST)) {
            (void)err_set(&err, -EINVAL,
                          "what generate_csr_script printed is no certificate request (PEM)");
            fail_round(c, &err);
            return;
        }
        c->csr = strdup(text); /* NULL: the controller refuses */
        ask_controller(c);
        break;
    default:
        take_key(c, text);
    }
}

bool nodecert_child_exited(struct noded *d, pid_t pid, int status)
{
    struct nodecert *c = d->cert;
    struct err err = { .text = "" };
    char *text = NULL;
    int r;

    if (!c || c->pid != pid)
        return false;
    c->pid = 0;
    if (!is_closing(c))
        (void)uv_timer_stop(&c->timer); /* cannot fail */
    r = status == 0 ? capture_text(c->output_fd, &text) : 0;
    (void)close(TAKE_FD(c->output_fd));
    if (is_closing(c)) {
        wipe_text(&text);
        return true;
    }
    if (status == 0 && r == 0) {
        take_output(c, text);
    } else {
        (void)err_set(&err, -EIO, "%s failed: %s %d", conf_certmgr_word(c->script),
                      r < 0                 ? "no text, error"
                      : WIFSIGNALED(status) ? "signal"
                                            : "exit code",
                      r < 0                 ? -r
                      : WIFSIGNALED(status) ? WTERMSIG(status)
                                            : WEXITSTATUS(status));
        fail_round(c, &err);
    }
    wipe_text(&text);
    return true;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* When the certificate that was loaded is to be renewed. */
static uint64_t rest_ms(const struct nodecert *c)
{
    char path[SPOOL_PATH_MAX];
    struct stat st;
    uint64_t period = period_ms(c), age_ms;

    name_file(c->d, path, sizeof(path));
    if (stat(path, &st) < 0 || st.st_mtime > time(NULL))
        return PAUSE_MIN_S * 1000;
    age_ms = (uint64_t)(time(NULL) - st.st_mtime) * 1000;
    return age_ms < period ? period - age_ms : PAUSE_MIN_S * 1000;
}

static int wait_for_first(struct noded *d, struct err *err)
{
    begin_round(d->cert);
    while (!d->cert->loaded && !d->stopping)
        (void)uv_run(&d->loop, UV_RUN_ONCE); /* tells only whether handles are left */
    return d->cert->loaded ? 0
                           : err_set(err, -ECANCELED, "ended while there was no certificate: %s",
                                     d->cert->said.text);
}

int nodecert_begin(struct noded *d, struct err *err)
{
    struct err why = { .text = "" };
    int r;

    if (!conf_use_certmgr(d->conf))
        return 0;
    r = conf_certmgr_check(d->conf, true, err);
    if (r < 0)
        return r;
    d->cert = calloc(1, sizeof(*d->cert));
    if (!d->cert)
        return err_nomem(err);
    d->cert->d = d;
    d->cert->output_fd = -1;
    d->cert->pause_s = PAUSE_MIN_S;
    d->cert->work.data = d->cert;
    (void)uv_timer_init(&d->loop, &d->cert->timer); /* cannot fail */
    d->cert->timer.data = d->cert;
    r = d->on->load_tls(d, &why);
    if (r == 0) {
        d->cert->loaded = true;
        pause_for(d->cert, rest_ms(d->cert));
        return 0;
    }
    log_info("the controller is asked for a certificate: %s", why.text);
    return wait_for_first(d, err);
}

void nodecert_close(struct nodecert *c)
{
    if (!c)
        return;
    if (c->pid > 0)
        (void)kill(-c->pid, SIGKILL); /* its session */
    if (c->ask)
        certask_cancel(c->ask);
    (void)uv_cancel((uv_req_t *)&c->work); /* of no use to one that runs */
    uv_close((uv_handle_t *)&c->timer, NULL);
}

struct nodecert *nodecert_free(struct nodecert *c)
{
    if (!c)
        return NULL;
    end_round(c);
    if (c->output_fd >= 0)
        (void)close(c->output_fd);
    free(c);
    return NULL;
}
