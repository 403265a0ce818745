/* webaccess.c - who may read the metrics */
#include "ctld/web/webaccess.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/wordlist.h"
#include "conf/conf.h"
#include "ctld/policy/policy.h"

struct webaccess {
    struct httpaccess *who;
    pthread_mutex_t lock; /* of what follows */
    bool on, hidden;      /* hidden: PrivateData, and it counts */
    char *users;          /* MetricsAuthUsers; NULL: not set */
};

int webaccess_new(struct webaccess **ret)
{
    struct webaccess *w = calloc(1, sizeof(*w));

    if (!w || httpaccess_new(&w->who) < 0) {
        free(w);
        return -ENOMEM;
    }
    pthread_mutex_init(&w->lock, NULL);
    *ret = w;
    return 0;
}

struct webaccess *webaccess_free(struct webaccess *w)
{
    if (!w)
        return NULL;
    w->who = httpaccess_free(w->who);
    pthread_mutex_destroy(&w->lock);
    free(w->users);
    free(w);
    return NULL;
}

static bool is_type_on(const char *type)
{
    static const struct {
        const char *type;
        bool on;
    } types[] = { { "metrics/none", false }, { "metrics/openmetrics", true } };

    for (size_t i = 0; type && i < ARRAY_SIZE(types); i++)
        if (strcmp(type, types[i].type) == 0)
            return types[i].on;
    return false;
}

void webaccess_configure(struct webaccess *w, const struct conf *conf, struct auth_tokens *tokens)
{
    const char *type = conf_str(conf, CONF_METRICS_TYPE);
    const char *users = conf_str(conf, CONF_METRICS_AUTH_USERS);
    bool ignore = conf_option(conf, CONF_METRICS_PARAMETERS, "ignore_private_data", NULL, NULL);
    /* Without memory for the list nobody of it may read: root and SlurmUser may. */
    char *copy = users && users[0] ? strdup(users) : NULL;

    httpaccess_set(w->who, conf_use_jwt(conf) ? tokens : NULL, conf_slurm_uid(conf));
    pthread_mutex_lock(&w->lock);
    w->on = is_type_on(type);
    w->hidden = (policy_private(conf) && !ignore) || (users && users[0] && !copy);
    free(w->users);
    w->users = copy;
    pthread_mutex_unlock(&w->lock);
}

bool webaccess_metrics_on(struct webaccess *w)
{
    bool on;

    pthread_mutex_lock(&w->lock);
    on = w->on;
    pthread_mutex_unlock(&w->lock);
    return on;
}

/* Is he one of MetricsAuthUsers? */
static bool is_listed(struct webaccess *w, const char *user)
{
    bool listed;

    pthread_mutex_lock(&w->lock);
    listed = w->users && wordlist_has(w->users, user);
    pthread_mutex_unlock(&w->lock);
    return listed;
}

unsigned webaccess_metrics(struct webaccess *w, const struct http_request *r, struct err *err)
{
    _cleanup_free_ char *user = NULL;
    unsigned refused;
    bool open;

    pthread_mutex_lock(&w->lock);
    open = !w->hidden && !w->users;
    pthread_mutex_unlock(&w->lock);
    if (open)
        return 0;
    refused = httpaccess_user(w->who, r, &user, err);
    if (refused)
        return refused;
    if (httpaccess_is_admin(w->who, user) || is_listed(w, user))
        return 0;
    (void)err_set(err, -EACCES, "The user may not read the metrics");
    return HTTP_FORBIDDEN;
}

unsigned webaccess_user(struct webaccess *w, const struct http_request *r, struct err *err)
{
    _cleanup_free_ char *user = NULL;

    return httpaccess_user(w->who, r, &user, err);
}

unsigned webaccess_admin(struct webaccess *w, const struct http_request *r, struct err *err)
{
    return httpaccess_admin(w->who, r, err);
}
