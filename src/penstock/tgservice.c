/* tgservice.c - see tgservice.h
 *
 * The configuration, then the options over it; a socket; the service of src/topograph/serve; and
 * what it does with results here: a file, the running cluster. */
#include "penstock/tgservice.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/readfile.h"
#include "penstock/penstock.h"
#include "penstock/tgapply.h"
#include "penstock/tgload.h"
#include "rest/restlisten.h"
#include "topograph/serve/tgconfig.h"
#include "topograph/serve/tgserve.h"
#include "version.h"

#define CONFIG_MAX (1u << 20)

struct service {
    const struct tgopts *o;
    struct tgconfig config;
    struct tgapply *apply;
    char listen[64];
};

/* ---- results --------------------------------------------------------------------------------- */

static int apply_result(struct service *v, const struct tgrun *run, struct err *err)
{
    struct topofile_units u = { 0 };
    size_t changed = 0, failed = 0;
    int r = run->ntopologies
                ? topofile_units(run->graph, run->topologies, run->ntopologies, &u, err)
                : err_set(err, -EINVAL, "apply needs the engine slurm or dynamic");

    if (r == 0)
        r = tgapply_units(v->apply, run->graph, &u, &changed, &failed, err);
    topofile_units_done(&u);
    if (r == 0 && failed)
        r = err_set(err, -EREMOTEIO, "the cluster refused %zu of %zu nodes", failed, changed);
    if (r == 0)
        say("%zu of %zu nodes changed their topology", changed, run->graph->nnodes);
    return r;
}

/* On the thread that makes topologies. */
static unsigned deliver_result(void *ctx, const struct tgrequest *q, const struct tgrun *run,
                               const char **ret_text, struct err *err)
{
    struct service *v = ctx;
    const char *path = v->o->output;
    int r = path ? 0 : tgrequest_text(q->engine_params, "topologyConfigPath", &path, err);

    if (r == 0 && path) {
        r = tgload_write(path, strbuf_str(&run->text), run->text.len, err);
        *ret_text = "OK\n";
    }
    if (r == 0 && (v->o->apply || json_is_true(json_object_get(q->engine_params, "apply"))))
        r = apply_result(v, run, err);
    return r < 0 ? 500 : 0;
}

/* ---- configuration --------------------------------------------------------------------------- */

/* Options go over the file, parameter by parameter. */
static int merge_options(struct service *v)
{
    json_t *all = json_deep_copy(v->o->request), *file = v->config.defaults;
    static const char *const parts[] = { "provider", "engine" };
    int r = all ? 0 : -1;

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(parts); i++) {
        json_t *from = json_object_get(file, parts[i]), *to = json_object_get(all, parts[i]);
        json_t *params = json_object_get(to, "params"), *more = json_object_get(from, "params");

        if (from && !to)
            r = json_object_set(all, parts[i], from);
        if (from && to && params && more)
            r = json_object_update_missing(params, more);
        if (from && to && r == 0)
            r = json_object_update_missing(to, from);
    }
    if (r < 0) {
        json_decref(all);
        return say_nomem();
    }
    json_decref(v->config.defaults);
    v->config.defaults = all;
    return STATUS_OK;
}

/* Variables of programs that runs start: PATH grows, others are replaced. */
static int set_environment(json_t *env)
{
    const char *key;
    json_t *value;

    json_object_foreach(env, key, value)
    {
        const char *old = strcmp(key, "PATH") == 0 ? getenv("PATH") : NULL;
        _cleanup_free_ char *text = NULL;

        if (asprintf(&text, "%s%s%s", old ? old : "", old ? ":" : "", json_string_value(value)) <
                0 ||
            setenv(key, text, 1) < 0)
            return say_nomem();
    }
    return STATUS_OK;
}

static int read_config(struct service *v)
{
    _cleanup_free_ char *text = NULL;
    struct err err = { .text = "" };
    size_t len;
    int r;

    v->config.defaults = NULL;
    if (!v->o->config) {
        v->config.delay_us = (int64_t)v->o->delay_s * 1000000;
        v->config.defaults = json_object();
        return v->config.defaults ? merge_options(v) : say_nomem();
    }
    r = readfile(v->o->config, CONFIG_MAX, &text, &len);
    if (r < 0)
        return say_error("topograph: cannot read %s: %s", v->o->config, strerror(-r));
    if (tgconfig_parse(text, len, &v->config, &err) < 0)
        return say_error("topograph: %s: %s", v->o->config, err.text);
    if (v->config.ignored[0])
        say("note: %s: %s has no effect: documents of clouds are read from files", v->o->config,
            v->config.ignored);
    if (v->o->has_delay)
        v->config.delay_us = (int64_t)v->o->delay_s * 1000000;
    (void)snprintf(v->listen, sizeof(v->listen), "127.0.0.1:%u", v->config.port);
    return set_environment(v->config.env) == STATUS_OK ? merge_options(v) : STATUS_FAILED;
}

/* ---- life ------------------------------------------------------------------------------------ */

static bool is_loopback(const char *address)
{
    static const char *const near[] = { "127.",        "localhost:",        "[::1]:",       "unix:",
                                        "http://127.", "http://localhost:", "http://[::1]:" };

    for (size_t i = 0; i < ARRAY_SIZE(near); i++)
        if (strncmp(address, near[i], strlen(near[i])) == 0)
            return true;
    return false;
}

static int wait_for_end(void)
{
    sigset_t ends;
    int sig;

    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigaddset(&ends, SIGINT);
    while (sigwait(&ends, &sig) != 0)
        ;
    return STATUS_OK;
}

static int serve_until_end(struct service *v, const char *address)
{
    _cleanup_free_ char *path = NULL;
    struct tgserve_config config = {
        .delay_us = v->config.delay_us,
        .defaults = v->config.defaults,
        .stranger = { v->o->data },
        .io = { tgload_input, tgload_partition, NULL },
        .deliver = deliver_result,
        .ctx = v,
        .version = PENSTOCK_VERSION,
    };
    struct tgserve *serve = NULL;
    struct err err = { .text = "" };
    int r;

    config.fd = restlisten(address, &path, &err);
    if (config.fd < 0)
        return say_error("topograph: %s", err.text);
    if (!is_loopback(address))
        say("note: %s: everybody who reaches this address may ask", address);
    r = tgserve_new(&config, &serve, &err);
    if (r == 0) {
        say("topograph serves at %s", address);
        r = wait_for_end();
    }
    tgserve_free(serve);
    if (path)
        (void)unlink(path); /* a stale one would be replaced */
    return r < 0 ? say_error("topograph: %s", err.text) : STATUS_OK;
}

int tgservice_run(const struct tgopts *o)
{
    struct service v = { .o = o, .listen = TGOPTS_LISTEN };
    sigset_t ends;
    int r;

    /* Before any thread is there: these end the service, and nothing in its middle. */
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigaddset(&ends, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &ends, NULL);
    r = tgapply_new(&v.apply) < 0 ? say_nomem() : read_config(&v);
    if (r == STATUS_OK)
        r = serve_until_end(&v, o->listen ? o->listen : v.listen);
    tgconfig_done(&v.config);
    tgapply_free(v.apply);
    return r;
}
