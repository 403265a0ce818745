/* helpers.c - programs for the features of a node; see helpers.h */
#include "noded/site/helpers.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/process/capture.h"
#include "base/process/spawnprog.h"
#include "base/strbuf.h"
#include "base/wordlist.h"
#include "noded/site/siteprog.h"
#include "stepd/env/envlist.h"

#define OUTPUT_MAX (64u << 10)

struct helpers {
    struct noded *d;
    char *features;   /* to boot with */
    const char *next; /* in features */
    pid_t pid;        /* of the helper that runs, 0 none */
    uv_timer_t timer;
};

static bool is_here(const struct noded *d, const struct conf_helper *h)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;

    return !h->nodes ||
           (hostlist_parse(h->nodes, &hl, NULL) == 0 && hostlist_find(hl, d->name) >= 0);
}

/* ---- asked --------------------------------------------------------------------------------- */

/* What the program prints; the caller frees.  NULL: it failed, as the log says. */
static char *run_helper(const struct noded *d, const char *path)
{
    _cleanup_close_ int fd = capture_open(OUTPUT_MAX), pidfd = -1;
    _cleanup_val_(envlist_done) struct envlist env = ENVLIST_INIT;
    const int fds[] = { -1, fd };
    struct pollfd p = { .events = POLLIN };
    char *text = NULL;
    int status = 0, r = fd;
    pid_t pid;

    siteprog_env(d, &env);
    if (r >= 0)
        r = spawn_program(
            &(struct spawn){
                .path = path, .envp = envlist_array(&env), .fds = fds, .n_fds = ARRAY_SIZE(fds) },
            &pid);
    if (r < 0) {
        log_error("Helper %s: %s", path, strerror(-r));
        return NULL;
    }
    pidfd = pidfd_open(pid, 0);
    p.fd = pidfd;
    if (pidfd < 0 || poll(&p, 1, (int)conf_helpers_exec_s(d->conf) * 1000) != 1) {
        log_error("Helper %s ran too long", path);
        (void)kill(-pid, SIGKILL); /* its session */
    }
    if (waitpid(pid, &status, 0) != pid || status != 0) {
        log_error("Helper %s failed", path);
        return NULL;
    }
    r = capture_text(fd, &text);
    if (r < 0)
        log_error("Helper %s: %s", path, strerror(-r));
    return r < 0 ? NULL : text;
}

static void add_word(struct strbuf *sb, const char *p, size_t len)
{
    if (len && !wordlist_has_n(strbuf_str(sb), p, len))
        strbuf_addf(sb, "%s%.*s", sb->len ? "," : "", (int)len, p);
}

/* Of its features those that the helper printed are active. */
static void take_output(const struct conf_helper *h, const char *text, struct strbuf *active)
{
    for (const char *p = text; *p;) {
        size_t len = strcspn(p, " \t\r\n,");

        if (wordlist_has_n(h->features, p, len))
            add_word(active, p, len);
        p += len + (p[len] != '\0');
    }
}

int helpers_ask(const struct noded *d, Pst__NodeRecord *rec)
{
    struct strbuf can = STRBUF_INIT, active = STRBUF_INIT;
    struct conf_helper h;
    int r = 0;

    for (size_t i = 0; conf_helper(d->conf, i, &h); i++) {
        _cleanup_free_ char *text = is_here(d, &h) ? run_helper(d, h.path) : NULL;

        if (!text)
            continue; /* not here, or what it would change is not to be had */
        for (const char *p = h.features; *p; p += *p == ',') {
            add_word(&can, p, strcspn(p, ","));
            p += strcspn(p, ",");
        }
        take_output(&h, text, &active);
    }
    if (can.len)
        r = pb_set_str(&rec->changeable_features, strbuf_str(&can));
    if (r == 0 && can.len)
        r = pb_set_str(&rec->active_features, strbuf_str(&active));
    strbuf_done(&can);
    strbuf_done(&active);
    return r;
}

/* ---- changed ------------------------------------------------------------------------------- */

int helpers_new(struct noded *d, struct helpers **ret)
{
    struct helpers *h = calloc(1, sizeof(*h));

    if (!h)
        return -ENOMEM;
    h->d = d;
    (void)uv_timer_init(&d->loop, &h->timer); /* cannot fail */
    h->timer.data = h;
    *ret = h;
    return 0;
}

void helpers_close(struct helpers *h)
{
    uv_close((uv_handle_t *)&h->timer, NULL);
}

struct helpers *helpers_free(struct helpers *h)
{
    if (h)
        free(h->features);
    free(h);
    return NULL;
}

static void on_timeout(uv_timer_t *timer)
{
    struct helpers *h = timer->data;

    log_error("a Helper ran too long");
    if (h->pid > 0)
        (void)kill(-h->pid, SIGKILL); /* its session */
}

/* The helper of a feature; false: none here. */
static bool find_helper(const struct noded *d, const char *feature, struct conf_helper *ret)
{
    for (size_t i = 0; conf_helper(d->conf, i, ret); i++)
        if (wordlist_has(ret->features, feature) && is_here(d, ret))
            return true;
    return false;
}

static void give_up(struct helpers *h, const char *why)
{
    log_error("no boot with the features %s: %s", h->features, why);
    h->next = NULL;
}

/* Start the helper of the next feature, or with the last one done the boot. */
static void go_on(struct helpers *h)
{
    size_t len = strcspn(h->next, ",");
    _cleanup_free_ char *feature = strndup(h->next, len);
    _cleanup_val_(envlist_done) struct envlist env = ENVLIST_INIT;
    struct conf_helper helper;
    char *argv[3] = { NULL };
    int r;

    if (!*h->next) {
        h->next = NULL;
        siteprog_run(h->d, SITEPROG_REBOOT, NULL, h->features);
        return;
    }
    if (!feature || !find_helper(h->d, feature, &helper)) {
        give_up(h, "a feature without a Helper");
        return;
    }
    h->next += len + (h->next[len] == ',');
    argv[0] = (char *)helper.path;
    argv[1] = feature;
    siteprog_env(h->d, &env);
    r = spawn_program(
        &(struct spawn){ .path = helper.path, .argv = argv, .envp = envlist_array(&env) }, &h->pid);
    if (r < 0) {
        h->pid = 0;
        give_up(h, strerror(-r));
        return;
    }
    (void)uv_timer_start(&h->timer, on_timeout, conf_helpers_exec_s(h->d->conf) * UINT64_C(1000),
                         0); /* cannot fail: not closing */
}

void helpers_boot(struct noded *d, const char *features)
{
    struct helpers *h = d->helpers;
    char *copy;

    if (h->pid > 0)
        return; /* asked twice */
    copy = features ? strdup(features) : NULL;
    free(h->features);
    h->features = copy;
    h->next = copy;
    if (!copy || !*copy)
        siteprog_run(d, SITEPROG_REBOOT, NULL, NULL);
    else
        go_on(h);
}

bool helpers_child_exited(struct noded *d, pid_t pid, int status)
{
    struct helpers *h = d->helpers;

    if (!h || h->pid != pid)
        return false;
    h->pid = 0;
    (void)uv_timer_stop(&h->timer); /* cannot fail */
    if (status != 0)
        give_up(h, "a Helper failed");
    else if (h->next)
        go_on(h);
    return true;
}
