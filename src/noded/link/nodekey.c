/* nodekey.c - see nodekey.h */
#include "noded/link/nodekey.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/kiosk.h"
#include "stepd/shared/spool.h"
#include "wire/auth/idkey.h"

#define PUBLIC_NAME "slurmctld.pub"

/* Beside slurm.conf: what an administrator has put there. */
static void name_given(const struct noded *d, char *path, size_t size)
{
    const char *slash = strrchr(d->conf_file, '/');

    (void)snprintf(path, size, "%.*s%s", slash ? (int)(slash - d->conf_file + 1) : 0, d->conf_file,
                   PUBLIC_NAME);
}

/* In the spool: what the first controller told. */
static void name_learnt(const struct noded *d, char *path, size_t size)
{
    (void)snprintf(path, size, "%s/%s", d->spool, PUBLIC_NAME);
}

static int read_controller(struct noded *d, struct err *err)
{
    char path[SPOOL_PATH_MAX];
    int r;

    name_given(d, path, sizeof(path));
    r = idkey_read_public(path, d->controller_key, err);
    d->controller_given = r == 0;
    if (r == -ENOENT) {
        name_learnt(d, path, sizeof(path));
        r = idkey_read_public(path, d->controller_key, err);
    }
    d->has_controller_key = r == 0;
    if (r == -ENOENT)
        err->text[0] = '\0';
    return r == -ENOENT ? 0 : r;
}

int nodekey_load(struct noded *d, struct err *err)
{
    char path[SPOOL_PATH_MAX];
    struct err why = { .text = "" };

    /* A machine may be a copy of another's: the name tells the keys apart. */
    (void)snprintf(path, sizeof(path), "%s/node-%s.key", d->spool, d->name);
    if (idkey_open(path, geteuid(), &d->identity, &why) < 0) {
        log_error("this node has no key of its own: %s", why.text);
        d->identity = NULL;
    }
    return read_controller(d, err);
}

const uint8_t *nodekey_controller(const struct noded *d)
{
    return d->has_controller_key ? d->controller_key : NULL;
}

bool nodekey_may_relearn(const struct noded *d)
{
    return !d->controller_given && !conf_bool(d->conf, CONF_PIN_NODE_KEYS);
}

/* What the node vouches with where it has no key of the cluster. */
static void tell_kiosk(struct noded *d)
{
    if (d->kiosk && d->identity && d->has_controller_key &&
        kiosk_set_node(d->kiosk, d->identity, d->controller_key) < 0)
        log_error("the controller's key is of no use for vouching");
}

bool nodekey_learn(struct noded *d, const uint8_t *key, size_t len)
{
    char path[SPOOL_PATH_MAX], text[IDKEY_TEXT];
    struct err err = { .text = "" };

    if (len != IDKEY_SIZE || !d->identity)
        return false;
    if (d->has_controller_key &&
        (!nodekey_may_relearn(d) || memcmp(key, d->controller_key, IDKEY_SIZE) == 0))
        return false;
    name_learnt(d, path, sizeof(path));
    if (idkey_write_public(path, key, &err) < 0) {
        log_error("cannot keep the controller's key: %s", err.text);
        return false; /* the next registration tells it again */
    }
    memcpy(d->controller_key, key, IDKEY_SIZE);
    d->has_controller_key = true;
    tell_kiosk(d);
    idkey_text(key, text);
    log_info("this node knows the controller by the key %s from now on (%s)", text, path);
    return true;
}

void nodekey_vouch(struct noded *d)
{
    struct err err = { .text = "" };

    if (conf_use_munge(d->conf))
        return;
    if (kiosk_open("slurm", 0, &d->kiosk, &err) < 0) {
        log_info("this daemon vouches for no commands: %s", err.text);
        return;
    }
    kiosk_set_keys(d->kiosk, d->keys);
    tell_kiosk(d);
}

void nodekey_done(struct noded *d)
{
    d->identity = idkey_free(d->identity);
}
