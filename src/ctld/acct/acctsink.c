/* acctsink.c - the embedded store as a sink; see acctsink.h. */
#include "ctld/acct/acctsink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "acct/acct.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "conf/conf.h"

unsigned acctsink_keep(const struct conf *conf)
{
    static const struct {
        const char *word;
        unsigned keep;
    } flags[] = { { "job_comment", ACCT_COMMENT },
                  { "job_extra", ACCT_EXTRA },
                  { "job_script", ACCT_SCRIPT },
                  { "job_env", ACCT_ENV } };
    unsigned keep = ACCT_JOBS | ACCT_STEPS | ACCT_STDIO;

    for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
        if (conf_option(conf, CONF_ACCOUNTING_STORE_FLAGS, flags[i].word, NULL, NULL))
            keep |= flags[i].keep;
    if (conf_option(conf, CONF_ACCOUNTING_STORE_FLAGS, "no_stdio", NULL, NULL))
        keep &= ~(unsigned)ACCT_STDIO;
    if (conf_option(conf, CONF_ACCOUNTING_STORAGE_ENFORCE, "nosteps", NULL, NULL))
        keep &= ~(unsigned)ACCT_STEPS;
    if (conf_option(conf, CONF_ACCOUNTING_STORAGE_ENFORCE, "nojobs", NULL, NULL))
        keep &= ~(unsigned)(ACCT_JOBS | ACCT_STEPS);
    return keep;
}

uint32_t acctsink_most_steps(const struct conf *conf)
{
    uint64_t most = UINT32_MAX;

    (void)conf_option_u64(conf, CONF_ACCOUNTING_STORAGE_PARAMETERS, "max_step_records", &most);
    return (uint32_t)MIN(most, (uint64_t)UINT32_MAX);
}

struct embedded {
    struct acctsink base;
    char *path, *cluster;
    struct acct *acct;
};

static struct embedded *embedded_of(struct acctsink *s)
{
    return (struct embedded *)s;
}

static void embedded_close(struct acctsink *s)
{
    embedded_of(s)->acct = acct_close(embedded_of(s)->acct);
    s->open = false;
}

static int close_failed(struct acctsink *s, int r, struct err *err)
{
    struct embedded *e = embedded_of(s);

    err_set(err, r, "accounting: %s: %s", e->path, acct_error(e->acct));
    embedded_close(s); /* after any failure the store is opened again */
    return r;
}

static int embedded_open(struct acctsink *s, uint64_t journal_end, struct err *err)
{
    struct embedded *e = embedded_of(s);
    int r;

    if (s->open) {
        acct_keep(e->acct, s->keep);
        acct_most_steps(e->acct, s->most_steps);
        return 0;
    }
    r = acct_open(e->path, e->cluster, &e->acct, err);
    if (r < 0)
        return r;
    if (acct_cursor(e->acct) > journal_end) {
        log_error("accounting: %s is at record %llu and the journal ends at %llu: a repair cut it, "
                  "or it is a new one; going on from its end",
                  e->path, (unsigned long long)acct_cursor(e->acct),
                  (unsigned long long)journal_end);
        r = acct_rewind(e->acct, journal_end);
        if (r < 0)
            return close_failed(s, r, err);
    }
    acct_keep(e->acct, s->keep);
    acct_most_steps(e->acct, s->most_steps);
    s->cursor = acct_cursor(e->acct);
    s->open = true;
    return 0;
}

static int embedded_begin(struct acctsink *s, struct err *err)
{
    int r = acct_begin(embedded_of(s)->acct);

    return r < 0 ? close_failed(s, r, err) : 0;
}

static int embedded_add(struct acctsink *s, uint64_t lsn, const Pst__Transaction *tx,
                        struct err *err)
{
    return acct_apply(embedded_of(s)->acct, lsn, tx, err);
}

static bool embedded_full(const struct acctsink *s)
{
    (void)s; /* batches are small enough */
    return false;
}

static int embedded_commit(struct acctsink *s, int64_t fed_us, struct err *err)
{
    struct embedded *e = embedded_of(s);
    int r;

    acct_fed(e->acct, fed_us);
    r = acct_commit(e->acct);
    if (r < 0)
        return close_failed(s, r, err);
    s->cursor = acct_cursor(e->acct);
    return 0;
}

static void embedded_interrupt(struct acctsink *s)
{
    (void)s; /* nothing waits long */
}

static void embedded_free(struct acctsink *s)
{
    embedded_close(s);
    free(embedded_of(s)->path);
    free(embedded_of(s)->cluster);
    free(s);
}

static const struct acctsink_ops embedded_ops = {
    .open = embedded_open,
    .begin = embedded_begin,
    .add = embedded_add,
    .full = embedded_full,
    .commit = embedded_commit,
    .close = embedded_close,
    .interrupt = embedded_interrupt,
    .free = embedded_free,
};

int acctsink_embedded(const char *db_path, const char *cluster, struct acctsink **ret)
{
    struct embedded *e = calloc(1, sizeof(*e));

    if (!e)
        return -ENOMEM;
    e->base.ops = &embedded_ops;
    e->base.keep = ACCT_KEEP_ALL;
    e->base.most_steps = UINT32_MAX;
    e->path = strdup(db_path);
    e->cluster = cluster ? strdup(cluster) : NULL;
    if (!e->path || (cluster && !e->cluster)) {
        embedded_free(&e->base);
        return -ENOMEM;
    }
    *ret = &e->base;
    return 0;
}

uint64_t acctsink_most_waiting(const struct conf *conf)
{
    const char *action = NULL;
    size_t len = 0;

    if (!conf_option(conf, CONF_SLURMCTLD_PARAMETERS, "max_dbd_msg_action", &action, &len) ||
        !action || len != 4 || strncasecmp(action, "exit", 4) != 0)
        return 0;
    return conf_max_dbd_msgs(conf);
}
