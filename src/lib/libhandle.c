/* libhandle.c - the handle: settings, slurm.conf, connections, errors; see libpenstock.h */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text/owntext.h"
#include "base/timefmt.h"
#include "lib/libhandle.h"
#include "session/dial.h"
#include "version.h"
#include "wire/errors.h"
#include "wire/ops.h"
#include "wire/tls/tls.h"

#define TIMEOUT_MAX_S 86400
#define PAUSE_MS 100

const char *penstock_version(void)
{
    return PENSTOCK_VERSION;
}

const char *penstock_code_text(int code)
{
    return slurm_err_text(code);
}

penstock *penstock_new(void)
{
    return calloc(1, sizeof(struct penstock));
}

void penstock_free(penstock *p)
{
    if (!p)
        return;
    p->idle = client_free(p->idle);
    tls_ctx_unref(p->tls);
    p->conf = conf_free(p->conf);
    if (p->results)
        pst__job_action_reply__free_unpacked(p->results, NULL);
    wipe_text(&p->token);
    free(p->conf_path);
    free(p->user);
    free(p->program);
    free(p);
}

/* ---- errors ---------------------------------------------------------------------------------- */

int lib_fail(struct penstock *p, int r, int code, const char *fmt, ...)
{
    va_list ap;

    p->code = code;
    va_start(ap, fmt);
    (void)vsnprintf(p->err.text, sizeof(p->err.text), fmt, ap); /* cut is fine */
    va_end(ap);
    return r;
}

/* Lines of the site's filters, and the standard text last: one sentence. */
static int fail_lines(struct penstock *p, int code, const char *text)
{
    struct err one = { .text = "" };

    for (size_t n; *text; text += n + (text[n] == '\n')) {
        size_t len = strlen(one.text);

        n = strcspn(text, "\n");
        (void)snprintf(one.text + len, sizeof(one.text) - len, "%s%.*s", len ? "; " : "", (int)n,
                       text); /* cut is fine */
    }
    return lib_fail(p, -EREMOTEIO, code, "%s", one.text);
}

int lib_nomem(struct penstock *p)
{
    return lib_fail(p, -ENOMEM, 0, ERR_NOMEM);
}

int lib_fail_client(struct penstock *p, struct client *c, int r)
{
    const char *text = NULL;
    int code;

    if (r == -EREMOTEIO) {
        code = client_error(c, &text);
        return fail_lines(p, code, text);
    }
    if (r == -EPIPE || r == -ECONNRESET)
        return lib_fail(p, -ECONNRESET, 0,
                        "The connection to the controller was lost: it is not known whether the "
                        "request was done");
    return lib_fail(p, r, 0, "%s", client_strerror(c, r));
}

int lib_fail_frame(struct penstock *p, const struct frame *frame)
{
    Pst__Error *e = NULL;
    int code;

    if (FRAME_UNPACK(error, frame, &e, NULL) < 0)
        return lib_fail(p, -EREMOTEIO, EPST_PROTOCOL, "%s", slurm_err_text(EPST_PROTOCOL));
    code = e->has_code ? e->code : SLURM_ERROR;
    (void)fail_lines(p, code, e->text && e->text[0] ? e->text : slurm_err_text(code));
    pst__error__free_unpacked(e, NULL);
    return -EREMOTEIO;
}

const char *penstock_error(const penstock *p)
{
    return p->err.text;
}

int penstock_code(const penstock *p)
{
    return p->code;
}

/* ---- settings -------------------------------------------------------------------------------- */

static int set_timeout(struct penstock *p, const char *value)
{
    uint64_t secs = 0;

    if (value && parse_u64(value, 1, TIMEOUT_MAX_S, &secs) < 0)
        return lib_fail(p, -EINVAL, 0,
                        "timeout: a number of seconds from 1 to %d is wanted: %.100s",
                        TIMEOUT_MAX_S, value);
    p->timeout_ms = (int)secs * 1000;
    return 0;
}

int penstock_set(penstock *p, const char *name, const char *value)
{
    const struct {
        const char *name;
        char **text;
    } texts[] = {
        { "conf", &p->conf_path },
        { "token", &p->token },
        { "user", &p->user },
        { "program", &p->program },
    };

    if (strcmp(name, "timeout") == 0)
        return set_timeout(p, value);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        char *copy;

        if (strcmp(name, texts[i].name) != 0)
            continue;
        copy = value ? strdup(value) : NULL;
        if (value && !copy)
            return lib_nomem(p);
        free(*texts[i].text);
        *texts[i].text = copy;
        return 0;
    }
    return lib_fail(p, -ENOENT, 0, "there is no setting named %.100s", name);
}

int lib_conf(struct penstock *p, const struct conf **ret)
{
    struct err err = { .text = "" };
    int r = 0;

    if (!p->conf)
        r = conf_load(p->conf_path ? p->conf_path : conf_default_path(), CONF_CLIENT, &p->conf,
                      NULL, &err);
    if (r < 0)
        return lib_fail(p, r, 0, "%s", err.text[0] ? err.text : strerror(-r));
    if (ret)
        *ret = p->conf;
    return 0;
}

int lib_timeout_ms(struct penstock *p)
{
    return p->timeout_ms ? p->timeout_ms : dial_conf_timeout_ms(p->conf);
}

int lib_deadline(struct penstock *p, int64_t *ret_mono_us)
{
    int r = lib_conf(p, NULL);

    if (r == 0)
        *ret_mono_us = now_mono_us() + (int64_t)lib_timeout_ms(p) * 1000;
    return r;
}

/* ---- connections ----------------------------------------------------------------------------- */

/* Nobody writes to a connection that waits for a request, but for what the handshake left there: a
 * hang-up is its end, as after a restart of the controller. */
static bool has_ended(struct client *c)
{
    struct pollfd pfd = { .fd = client_fd(c), .events = POLLRDHUP };

    return pfd.fd < 0 || poll(&pfd, 1, 0) != 0;
}

int lib_take_client(struct penstock *p, bool once, struct client **ret)
{
    struct err err = { .text = "" };
    struct dial d = { .program = p->program ? p->program : "libpenstock",
                      .token = p->token ? p->token : getenv("SLURM_JWT"),
                      .act_as = p->user,
                      .tls = &p->tls };
    int r = lib_conf(p, &d.conf);

    if (r < 0)
        return r;
    if (p->idle && !has_ended(p->idle)) {
        *ret = TAKE_PTR(p->idle);
        return 0;
    }
    p->idle = client_free(p->idle);
    d.timeout_ms = lib_timeout_ms(p);
    r = once ? dial_ctld_once(&d, ret, &err) : dial_ctld(&d, NULL, NULL, ret, &err);
    if (r == -EINVAL)
        r = -EACCES; /* of all that is dialled with, only a token can mean nothing */
    if (r == -EPIPE || r == -ENOENT)
        r = -ECONNREFUSED;
    if (r < 0)
        return lib_fail(p, r, 0, "%s", err.text[0] ? err.text : strerror(-r));
    return 0;
}

void lib_give_client(struct penstock *p, struct client *c)
{
    if (c && client_fd(c) >= 0 && !p->idle)
        p->idle = c;
    else
        (void)client_free(c); /* always NULL */
}

int penstock_connect(penstock *p)
{
    struct client *c = NULL;
    Pst__PingRequest ping = PST__PING_REQUEST__INIT;
    int r = lib_take_client(p, false, &c);

    if (r < 0)
        return r;
    r = client_call(c, OP_PING, &ping.base, NULL); /* the verdict about who we are comes with it */
    if (r < 0)
        r = lib_fail_client(p, c, r);
    lib_give_client(p, c);
    return r;
}

bool lib_code_is_passing(int code)
{
    return code == EPST_BUSY || code == EPST_SHUTTING_DOWN ||
           code == SLURMCTLD_COMMUNICATIONS_BACKOFF || code == ESLURM_IN_STANDBY_MODE;
}

int lib_call(struct penstock *p, unsigned op, const ProtobufCMessage *request, bool again,
             ProtobufCMessage **ret_reply, bool *ret_again)
{
    int64_t deadline;
    int r = lib_deadline(p, &deadline);

    for (bool lost = false; r >= 0; lost = true) {
        struct client *c = NULL;
        bool passing, left;

        r = lib_take_client(p, false, &c);
        if (r < 0)
            return r;
        r = client_call(c, op, request, ret_reply);
        if (ret_again)
            *ret_again = lost;
        passing = r == -EREMOTEIO ? lib_code_is_passing(client_error(c, NULL))
                                  : again && dial_may_come_back(r);
        /* its controller has given up control, and took nothing: the next one is dialled */
        left = r == -EREMOTEIO && client_error(c, NULL) == ESLURM_IN_STANDBY_MODE;
        if (r < 0)
            r = lib_fail_client(p, c, r);
        if (left)
            (void)client_free(c); /* always NULL */
        else
            lib_give_client(p, c);
        if (r >= 0 || !passing || now_mono_us() >= deadline)
            return r;
        (void)poll(NULL, 0, PAUSE_MS); /* a pause; an early wake-up is harmless */
        r = 0;
    }
    return r;
}
