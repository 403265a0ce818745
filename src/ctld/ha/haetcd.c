/* haetcd.c - see haetcd.h */
#include "ctld/ha/haetcd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text/hextext.h"
#include "base/log.h"
#include "etcd/etcdconf.h"
#include "etcd/etcdlog.h"
#include "etcd/etcdterm.h"
#include "etcd/mirror.h"
#include "wire/auth/idkey.h"

#define TRY_PART 6u /* of a lease, for one member of etcd */
#define TRY_MIN_MS 150u
#define TRY_MAX_MS 1000u
#define COPY_TRY_MS 1000u
#define WRITE_TRY_MS 1000u
#define PULLS 64 /* then the caller looks at the lease again */

int haetcd_begin(struct ha *ha, struct err *err)
{
    const struct conf *conf = ha->ctld->conf;
    unsigned try_ms = ha->view.lease_ms / TRY_PART;
    int r;

    ha->etcd = calloc(1, sizeof(*ha->etcd));
    if (!ha->etcd)
        return err_nomem(err);
    r = etcd_config_parse(conf_str(conf, CONF_JOURNAL_PARAMETERS),
                          conf_str(conf, CONF_CLUSTER_NAME), ha->etcd, err);
    if (r == 0)
        r = etcdterm_new(ha->etcd, MIN(MAX(try_ms, TRY_MIN_MS), TRY_MAX_MS), &ha->terms, err);
    if (r == 0)
        ha->store = etcdterm_store(ha->terms);
    return r;
}

static void tell_trouble(struct ha *ha, const struct err *err)
{
    if (strcmp(err->text, ha->why.text) != 0)
        log_error("standing by: %s", err->text);
    ha->why = *err;
}

bool haetcd_has_copy(struct ha *ha)
{
    const char *dir = conf_str(ha->ctld->conf, CONF_STATE_SAVE_LOCATION);
    struct err err = { .text = "" };

    if (!ha->mirror && mirror_open(dir, ha->etcd, COPY_TRY_MS, &ha->mirror, &err) < 0)
        tell_trouble(ha, &err);
    return ha->mirror != NULL;
}

uint64_t haetcd_pull(struct ha *ha)
{
    struct err err = { .text = "" };
    int r = 1;

    if (!haetcd_has_copy(ha))
        return 0;
    for (int i = 0; i < PULLS && r > 0; i++)
        r = mirror_pull(ha->mirror, &err);
    if (r < 0 && r != -EAGAIN)
        tell_trouble(ha, &err);
    return mirror_last(ha->mirror);
}

static int check_identity(struct ha *ha, struct err *err)
{
    char hex[IDKEY_TEXT];
    const uint8_t *key = ha->ctld->identity ? idkey_public(ha->ctld->identity) : NULL;

    if (!key)
        return 0;
    hextext_write(key, IDKEY_SIZE, hex);
    return etcdlog_check_identity(ha->ctld->etcdlog, hex, err);
}

int haetcd_take(struct ha *ha, struct err *err)
{
    int r = haetcd_has_copy(ha) ? 1 : -EAGAIN;

    while (r > 0)
        r = mirror_pull(ha->mirror, err);
    if (r == 0)
        r = etcdlog_new(ha->etcd, ha->ctld->term, WRITE_TRY_MS, &ha->ctld->etcdlog, err);
    if (r == 0)
        r = check_identity(ha, err);
    if (r == 0) {
        ha->mirror = mirror_close(ha->mirror);
        return 0;
    }
    ha->ctld->etcdlog = etcdlog_free(ha->ctld->etcdlog);
    if (r != -EHOSTUNREACH && r != -EAGAIN)
        return r;
    log_error("taking control: %s", err->text[0] ? err->text : ha->why.text);
    err->text[0] = '\0';
    return -EAGAIN;
}

void haetcd_end(struct ha *ha)
{
    ha->mirror = mirror_close(ha->mirror);
    ha->ctld->etcdlog = etcdlog_free(ha->ctld->etcdlog);
    ha->terms = etcdterm_free(ha->terms);
    free(TAKE_PTR(ha->etcd));
}
