/* nodeconf.c - a node without files; see nodeconf.h */
#include "noded/link/nodeconf.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "configless/confbundle.h"
#include "configless/confcache.h"
#include "configless/conffetch.h"
#include "configless/conflink.h"
#include "noded/link/listen.h"
#include "noded/link/nodereport.h"
#include "wire/auth/auth.h"
#include "wire/errors.h"

#define CACHE_FOLDER "conf-cache" /* in SlurmdSpoolDir */
#define FETCH_TIMEOUT_MS 10000
#define BACKOFF_MIN_MS 500u
#define BACKOFF_MAX_MS 30000u
#define HOLD_MS                                                                                    \
    30000u /* the configuration follows at once, or the node is lost to the controller */

struct held { /* a step that needs a configuration which has not come */
    struct held *next;
    struct noded *d;
    Pst__LaunchStep *launch;
    Pst__StepCredential *cred;
    int srun_fd;
    uint32_t request_id;
    uv_timer_t timer;
};

struct nodeconf {
    struct confservers servers;
    struct hostfiles host;
    struct confcache cache;
    struct digest digest; /* of what the node runs with */
    int64_t since_us;     /* as the controller said */
    char *problem;
    struct held *held;
};

/* ---- the start ------------------------------------------------------------------------------- */

/* Which servers to ask, none: those of DNS; 0: the node has files of its own. */
static int find_servers(const struct noded *d, struct confservers *ret, struct err *err)
{
    const char *given = d->opt->conf_server;

    if (given) {
        int r = confserver_parse(given, ret, err);

        if (r < 0)
            err_prefix(err, "--conf-server");
        return r < 0 ? r : 1;
    }
    if (d->opt->common.conf_path || access(conf_own_path(), F_OK) == 0 || getenv("SLURM_CONF"))
        return 0;
    return 1; /* DNS is asked, with patience */
}

static int remember_bundle(struct nodeconf *nc, const Pst__ConfBundle *b)
{
    if (!digest_read(&nc->digest, b->digest.data, b->digest.len))
        return -EINVAL;
    nc->since_us = b->since_us;
    return 0;
}

/* SlurmdSpoolDir of this node, as the configuration has it. */
static int spool_of(const struct noded *d, const struct conf *conf, char **ret)
{
    const struct conf_node *node;
    char host[256] = "";
    const char *name = d->opt->node_name;

    (void)gethostname(host, sizeof(host) - 1); /* "": the NodeName of the option counts */
    host[strcspn(host, ".")] = '\0';
    node = name ? NULL : conf_node_for_host(conf, host);
    name = name ? name : node ? node->name : host;
    return conf_expand_path(conf_str(conf, CONF_SLURMD_SPOOL_DIR), name, host, ret);
}

static int open_cache(const struct noded *d, struct nodeconf *nc, const struct conf *conf,
                      struct err *err)
{
    _cleanup_free_ char *spool = NULL, *root = NULL;

    if (spool_of(d, conf, &spool) < 0 || asprintf(&root, "%s/" CACHE_FOLDER, spool) < 0)
        return err_nomem(err);
    return confcache_open(&nc->cache, root, &nc->host, err);
}

/* Write what was fetched and run with it. */
static int use_fetched(struct noded *d, struct nodeconf *nc, const Pst__ConfBundle *b,
                       struct err *err)
{
    _cleanup_(conf_free) struct conf *conf = NULL;
    int r = confbundle_load(b, CONF_FULL, &conf, err);

    if (r == 0)
        r = open_cache(d, nc, conf, err);
    if (r == 0)
        r = confcache_store(&nc->cache, b, &d->conf_file, err);
    if (r == 0)
        r = confcache_switch(&nc->cache, b, err);
    return r == 0 ? remember_bundle(nc, b) : r;
}

/* Where the cache is as long as no configuration says it: where the link in /run leads, else where
 * SlurmdSpoolDir is by default. */
static int open_known_cache(const struct noded *d, struct nodeconf *nc, struct err *err)
{
    static const struct conf_text none = { "slurm.conf", "", 0 };
    _cleanup_(conf_free) struct conf *conf = NULL;
    _cleanup_free_ char *root = NULL;
    int r = conflink_read(&root);

    if (r == 0)
        return confcache_open(&nc->cache, root, &nc->host, err);
    r = conf_load_text(&none, 1, CONF_CLIENT, &conf, NULL, err);
    return r == 0 ? open_cache(d, nc, conf, err) : r;
}

/* No controller answers: 0 when the cache has a configuration. */
static int use_cached(struct noded *d, struct nodeconf *nc, struct err *err)
{
    Pst__ConfBundle *b = NULL;
    int r = open_known_cache(d, nc, err);

    if (r == 0)
        r = confcache_current(&nc->cache, &b, &d->conf_file, err);
    if (r == 0)
        r = remember_bundle(nc, b);
    if (b)
        pst__conf_bundle__free_unpacked(b, NULL);
    if (r < 0)
        confcache_done(&nc->cache);
    return r;
}

static void rest_until_next(unsigned *backoff_ms)
{
    uint32_t random = 0;

    (void)auth_random(&random, sizeof(random)); /* without it: no jitter */
    (void)usleep(1000 * (*backoff_ms / 2 + random % (*backoff_ms / 2 + 1)));
    *backoff_ms = MIN(2 * *backoff_ms, BACKOFF_MAX_MS);
}

static int ask_once(struct nodeconf *nc, struct conffetch *fetch, Pst__ConfBundle **ret,
                    struct err *err)
{
    int r = nc->servers.n ? 0 : confserver_from_dns(&nc->servers, err);

    if (r == 0)
        return conffetch_once(fetch, ret, err);
    err_prefix(err, "there is neither --conf-server nor %s", conf_own_path());
    return r;
}

/* Ask until a controller answers, or the cache does. */
static int get_conf(struct noded *d, struct nodeconf *nc, struct err *err)
{
    struct conffetch fetch = { .servers = &nc->servers,
                               .key_file = nc->host.path[HOSTFILE_KEY],
                               .use_munge = !nc->host.path[HOSTFILE_KEY],
                               .ca_file = nc->host.path[HOSTFILE_CA],
                               .program = "slurmd",
                               .node = true,
                               .timeout_ms = FETCH_TIMEOUT_MS };
    struct err said = { .text = "" }, cached = { .text = "" };
    unsigned backoff_ms = BACKOFF_MIN_MS;

    for (;;) {
        Pst__ConfBundle *b = NULL;
        int r = ask_once(nc, &fetch, &b, err);

        if (r == 0) {
            r = use_fetched(d, nc, b, err);
            pst__conf_bundle__free_unpacked(b, NULL);
            return r;
        }
        if (conffetch_is_final(r))
            return r;
        if (use_cached(d, nc, &cached) == 0) {
            log_info("%s; going on with %s", err->text, d->conf_file);
            err->text[0] = '\0';
            return 0;
        }
        if (d->opt->print || (r == -ENOENT && !nc->servers.n))
            return r; /* a person waits; or DNS knows no controller, and says so */
        if (strcmp(said.text, err->text) != 0)
            log_error("%s; %s; trying on", err->text, cached.text);
        said = *err;
        rest_until_next(&backoff_ms);
    }
}

int nodeconf_begin(struct noded *d, struct err *err)
{
    struct confservers servers = { .n = 0 };
    int r = find_servers(d, &servers, err);

    if (r <= 0)
        return r;
    d->nodeconf = calloc(1, sizeof(*d->nodeconf));
    if (!d->nodeconf)
        return err_nomem(err);
    d->nodeconf->servers = servers;
    r = hostfiles_find(d->opt->common.conf_path, NULL, d->opt->ca_file, &d->nodeconf->host, err);
    if (r < 0)
        return r;
    r = get_conf(d, d->nodeconf, err);
    if (r == 0)
        conflink_write(d->nodeconf->cache.root);
    return r;
}

const struct confservers *nodeconf_servers(const struct noded *d)
{
    return d->nodeconf ? &d->nodeconf->servers : NULL;
}

int nodeconf_set_key(const struct noded *d, struct conf *conf)
{
    const char *key = d->nodeconf ? d->nodeconf->host.path[HOSTFILE_KEY] : NULL;

    return key ? conf_use_key(conf, key) : 0;
}

/* ---- launches that came before their configuration ------------------------------------------- */

static void free_held(uv_handle_t *timer)
{
    free(timer->data);
}

static void unlink_held(struct nodeconf *nc, struct held *h)
{
    struct held **at = &nc->held;

    while (*at != h)
        at = &(*at)->next;
    *at = h->next;
    uv_close((uv_handle_t *)&h->timer, free_held);
}

static void refuse_held(struct held *h, const char *why)
{
    listen_refuse_fd(h->srun_fd, h->launch->stream_key, h->request_id, EPST_STALE_CONFIGURATION,
                     why);
    pst__launch_step__free_unpacked(h->launch, NULL);
    pst__step_credential__free_unpacked(h->cred, NULL);
    unlink_held(h->d->nodeconf, h);
}

static void on_held_too_long(uv_timer_t *timer)
{
    struct held *h = timer->data;

    log_error("step refused: the configuration that it needs did not come job=%u step=%u",
              h->cred->job_id, h->cred->step_id);
    refuse_held(h, "the node has not got the configuration in force");
}

/* Is what the credential asks for later than what the node has? */
static bool needs_later(const struct nodeconf *nc, const Pst__StepCredential *cred)
{
    struct digest d;

    return cred->has_conf_since_us && cred->has_conf_digest &&
           digest_read(&d, cred->conf_digest.data, cred->conf_digest.len) &&
           !digest_equal(&d, &nc->digest) && cred->conf_since_us > nc->since_us;
}

bool nodeconf_ready(struct noded *d, Pst__LaunchStep *launch, Pst__StepCredential *cred,
                    int srun_fd, uint32_t request_id)
{
    struct held *h;

    if (!d->nodeconf || !needs_later(d->nodeconf, cred))
        return true;
    h = calloc(1, sizeof(*h));
    if (!h || uv_timer_init(&d->loop, &h->timer) < 0) {
        free(h);
        return true; /* out of memory: the launch will fail by itself */
    }
    *h = (struct held){ .next = d->nodeconf->held,
                        .d = d,
                        .launch = launch,
                        .cred = cred,
                        .srun_fd = srun_fd,
                        .request_id = request_id,
                        .timer = h->timer };
    h->timer.data = h;
    (void)uv_timer_start(&h->timer, on_held_too_long, HOLD_MS, 0); /* not closing */
    d->nodeconf->held = h;
    log_debug("a step waits for its configuration job=%u step=%u", cred->job_id, cred->step_id);
    return false;
}

/* In the order in which they came: the oldest is the last of the list. */
static void release_held(struct noded *d)
{
    struct held *list = TAKE_PTR(d->nodeconf->held), *h;

    while (list) {
        struct held **last = &list;

        while ((*last)->next)
            last = &(*last)->next;
        h = TAKE_PTR(*last);
        d->on->launch_step(d, h->launch, h->cred, h->srun_fd, h->request_id); /* takes them */
        uv_close((uv_handle_t *)&h->timer, free_held);
    }
}

void nodeconf_close(struct noded *d)
{
    while (d->nodeconf && d->nodeconf->held)
        refuse_held(d->nodeconf->held, "slurmd ends");
}

struct nodeconf *nodeconf_free(struct nodeconf *nc)
{
    if (!nc)
        return NULL;
    hostfiles_done(&nc->host);
    free(nc->problem);
    confcache_done(&nc->cache);
    free(nc);
    return NULL;
}

/* ---- the controller sends another configuration ---------------------------------------------- */

/* Run with what is on the disk now; on failure everything is as before. */
static int run_with(struct noded *d, const Pst__ConfBundle *b, char *conf_file, struct err *err)
{
    struct nodeconf *nc = d->nodeconf;
    char *before = d->conf_file;
    int r;

    d->conf_file = conf_file;
    r = d->on->reconfigure(d, err);
    if (r == -ENOENT) { /* no more jobs come: those that are here end as they began */
        d->conf_file = before;
        free(conf_file);
        (void)remember_bundle(nc, b); /* checked */
        return 0;
    }
    if (r < 0) {
        d->conf_file = before;
        free(conf_file);
        return r;
    }
    free(before);
    (void)remember_bundle(nc, b); /* checked */
    r = confcache_switch(&nc->cache, b, err);
    if (r < 0) /* the next start begins with the one before, and gets this one again */
        log_error("%s", err->text);
    return 0;
}

static int take_bundle(struct noded *d, const Pst__ConfBundle *b, struct err *err)
{
    char *conf_file = NULL;
    int r = confbundle_check(b, err);

    if (r == 0)
        r = confcache_store(&d->nodeconf->cache, b, &conf_file, err);
    return r == 0 ? run_with(d, b, conf_file, err) : r;
}

int nodeconf_take(struct noded *d, const Pst__ConfBundle *b, struct err *err)
{
    struct nodeconf *nc = d->nodeconf;
    int r = take_bundle(d, b, err);

    (void)pb_set_str(&nc->problem, r < 0 ? err->text : NULL); /* -ENOMEM: less is told */
    if (r < 0)
        return r;
    nodeconf_clean(d);
    release_held(d);
    return 0;
}

static void count_job(void *ctx, struct njob *job)
{
    size_t *n = ctx;

    (void)job;
    ++*n;
}

void nodeconf_clean(struct noded *d)
{
    size_t jobs = 0;

    if (!d->nodeconf)
        return;
    jobs_each(&d->jobs, count_job, &jobs);
    if (jobs == 0) /* else a step may have a script of an older one to run */
        confcache_clean(&d->nodeconf->cache);
}

bool nodeconf_digest(const struct noded *d, ProtobufCBinaryData *ret_digest,
                     const char **ret_problem)
{
    if (!d->nodeconf)
        return false;
    *ret_digest = (ProtobufCBinaryData){ DIGEST_SIZE, d->nodeconf->digest.bytes };
    *ret_problem = d->nodeconf->problem;
    return true;
}
