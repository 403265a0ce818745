/* opreach.c - see opreach.h */
#include "kube/operator/opreach.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/timefmt.h"
#include "kube/api/kubeconfig.h"
#include "kube/api/kubejson.h"
#include "version.h"

#define ANSWER_MS 3000
#define HOST_MOST 253u
#define ASKING "Asking"

struct opreach {
    struct operator_ *op;
    struct kubetimer again;
    struct kubeconfig config;
    struct kubeserver *server;
    enum opreach_answer answer; /* as it was told */
    unsigned misses;
    char text[80]; /* of the last failure */
    char uid[];    /* of the custom resource */
};

bool opreach_write_url(const char *host, int port, char *buf, size_t size)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789.-_";
    struct in6_addr six;
    size_t len = strlen(host);

    if (port < 1 || port > 65535 || !len || len > HOST_MOST)
        return false;
    if (inet_pton(AF_INET6, host, &six) == 1)
        (void)snprintf(buf, size, "http://[%s]:%d", host, port);
    else if (strspn(host, letters) == len)
        (void)snprintf(buf, size, "http://%s:%d", host, port);
    else
        return false;
    return true;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static enum opreach_answer read_answer(const struct kubereply *reply)
{
    if (reply->status >= 200 && reply->status < 300)
        return OPREACH_ANSWERS;
    if (reply->status)
        return OPREACH_UNREADY;
    return reply->no_http ? OPREACH_MUTE : OPREACH_SILENT;
}

static void take_answer(void *ctx, const struct kubereply *reply)
{
    struct opreach *r = ctx;
    enum opreach_answer answer = read_answer(reply);
    bool failed = answer == OPREACH_SILENT || answer == OPREACH_UNREADY;

    r->misses = failed ? r->misses + 1 : 0;
    kubeloop_arm(kubeserver_loop(r->op->kube), &r->again,
                 now_mono_us() +
                     (failed && r->misses < OPREACH_MISSES ? OPREACH_DOUBT_US : OPREACH_US));
    if (answer == r->answer ||
        (failed && r->answer != OPREACH_UNASKED && r->misses < OPREACH_MISSES))
        return;
    r->answer = answer;
    if (reply->status)
        (void)snprintf(r->text, sizeof(r->text), "HTTP %d", reply->status);
    else
        (void)snprintf(r->text, sizeof(r->text), "%s", reply->text);
    (void)kubequeue_add(r->op->queue, r->uid); /* or at the next change */
}

static void ask_daemon(void *ctx)
{
    struct opreach *r = ctx;

    if (kubecall_start(r->server,
                       &(struct kubecall_spec){ .method = "GET",
                                                .path = "/readyz",
                                                .timeout_ms = ANSWER_MS,
                                                .done = take_answer,
                                                .ctx = r },
                       NULL) < 0)
        kubeloop_arm(kubeserver_loop(r->op->kube), &r->again, now_mono_us() + OPREACH_US);
}

/* ---- whom ------------------------------------------------------------------------------------ */

static void free_reach(void *reach)
{
    struct opreach *r = reach;

    kubeloop_disarm(kubeserver_loop(r->op->kube), &r->again);
    r->server = kubeserver_free(r->server);
    kubeconfig_done(&r->config);
    free(r);
}

static struct opreach *begin_reach(struct operator_ *op, const char *uid, const char *url)
{
    static const struct kubeserver_options o = { "penstock-operator/" PENSTOCK_VERSION, NULL, 0, 0,
                                                 2 };
    struct opreach *r = calloc(1, sizeof(*r) + strlen(uid) + 1);

    if (!r)
        return NULL;
    r->op = op;
    r->answer = OPREACH_UNASKED;
    memcpy(r->uid, uid, strlen(uid) + 1);
    r->again = (struct kubetimer){ .fn = ask_daemon, .ctx = r };
    r->config.server = strdup(url);
    if (!r->config.server ||
        kubeserver_new(kubeserver_loop(op->kube), &r->config, &o, &r->server) < 0 ||
        kubemap_put(&op->reaches, uid, r) < 0) {
        free_reach(r);
        return NULL;
    }
    kubeloop_arm(kubeserver_loop(op->kube), &r->again, now_mono_us());
    return r;
}

static const struct opreach *see_reach(struct opwork *w, const char *url)
{
    struct opreach *r = kubemap_get(&w->op->reaches, w->uid);

    if (r && strcmp(r->config.server, url) == 0)
        return r;
    opreach_forget(w->op, w->uid);
    return begin_reach(w->op, w->uid, url);
}

void opreach_forget(struct operator_ *op, const char *uid)
{
    struct opreach *r = kubemap_take(&op->reaches, uid);

    if (r)
        free_reach(r);
}

void opreach_stop(struct operator_ *op)
{
    kubemap_done(&op->reaches, free_reach);
}

/* ---- saying ---------------------------------------------------------------------------------- */

static void say_reach(struct opwork *w, enum opreach_answer answer, const char *reason,
                      const char *text)
{
    bool failed = answer == OPREACH_SILENT || answer == OPREACH_UNREADY;

    w->reach = answer;
    (void)snprintf(w->reach_reason, sizeof(w->reach_reason), "%s", reason);
    (void)snprintf(w->reach_text, sizeof(w->reach_text), "%s", text);
    opwork_say(w, !failed && answer != OPREACH_UNASKED, answer == OPREACH_UNASKED,
               failed                      ? OPREACH_UNREACHABLE
               : answer == OPREACH_UNASKED ? reason
                                           : "External",
               text);
}

/* Until the first answer, what an operator before us found goes on if the address is the same. */
static bool keep_word(struct opwork *w, const char *address)
{
    const json_t *was = kubejson_condition(w->raw, "Reachable");
    const char *word = kubejson_text(was, "status"), *reason = kubejson_text(was, "reason");
    const char *text = kubejson_text(was, "message");
    char at[320];

    (void)snprintf(at, sizeof(at), ", at %s, and ", address);
    if (!strstr(text, at) || strcmp(reason, ASKING) == 0)
        return false;
    say_reach(w,
              strcmp(word, "True") == 0    ? OPREACH_ANSWERS
              : strcmp(word, "False") == 0 ? OPREACH_SILENT
                                           : OPREACH_MUTE,
              reason, text);
    return true;
}

void opreach_say(struct opwork *w, const char *who)
{
    static const struct {
        const char *reason, *text;
    } words[] = {
        [OPREACH_UNASKED] = { ASKING, "is being asked" },
        [OPREACH_ANSWERS] = { "Answers", "answers" },
        [OPREACH_SILENT] = { "NoAnswer", "cannot be reached: " },
        [OPREACH_UNREADY] = { "NotServing", "says that it does not serve: " },
        [OPREACH_MUTE] = { "NoHealth", "takes connections; what it is cannot be asked at /readyz "
                                       "(TLSType, disable_http)" },
    };
    const struct opreach *r;
    enum opreach_answer answer;
    char url[300], text[400];
    const char *address = url + strlen("http://");

    if (!opreach_write_url(kubejson_text(w->cr, "spec.externalConfig.host"),
                           (int)kubejson_int(w->cr, "spec.externalConfig.port", 0), url,
                           sizeof(url))) {
        opreach_forget(w->op, w->uid);
        say_reach(w, OPREACH_SILENT, words[OPREACH_SILENT].reason,
                  "spec.externalConfig.host: neither a name of a host nor an address");
        return;
    }
    r = see_reach(w, url);
    answer = r ? r->answer : OPREACH_UNASKED;
    if (answer == OPREACH_UNASKED && keep_word(w, address))
        return;
    (void)snprintf(text, sizeof(text), "%s runs elsewhere, at %s, and %s%s", who, address,
                   words[answer].text,
                   answer == OPREACH_SILENT || answer == OPREACH_UNREADY ? r->text : "");
    say_reach(w, answer, words[answer].reason, text);
}
