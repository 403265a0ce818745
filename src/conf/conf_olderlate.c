/* conf_olderlate.c - keys of earlier releases, behind the last line; see conf_olderlate.h */
#include "conf/conf_olderlate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* One controller, as SlurmctldHost=HOST(ADDR) would name it. */
static int add_host(struct conf_loader *l, enum conf_older host, enum conf_older addr,
                    conf_host_fn *add)
{
    const struct conf_val *name = &l->older[host], *at = &l->older[addr];
    struct conf_row row = { .file = name->file, .line = name->line };
    _cleanup_free_ char *text = NULL;
    const char *kept;

    if (!name->set)
        return 0;
    if (asprintf(&text, at->set ? "%s(%s)" : "%s", name->text, at->text) < 0)
        return -ENOMEM;
    kept = conf_pool_strdup(&l->c->pool, text);
    return kept ? add(l, &row, kept) : -ENOMEM;
}

/* A file that was changed to SlurmctldHost may have kept the older lines: they say nothing then. */
static int finish_hosts(struct conf_loader *l, conf_host_fn *add)
{
    int r = 0;

    if (!l->c->vals[CONF_SLURMCTLD_HOST].set && l->older[CONF_OLDER_CONTROL].set) {
        r = add_host(l, CONF_OLDER_CONTROL, CONF_OLDER_CONTROL_ADDR, add);
        if (r == 0)
            r = add_host(l, CONF_OLDER_BACKUP, CONF_OLDER_BACKUP_ADDR, add);
    }
    return r;
}

static int finish_word(struct conf_loader *l, const struct conf_val *v, enum conf_key key,
                       const char *word)
{
    int r = conf_words_before(l->c, key, word);

    if (r == 0 && !l->c->vals[key].file) {
        l->c->vals[key].file = v->file;
        l->c->vals[key].line = v->line;
    }
    return r;
}

/* Words of SchedulerParameters that PreemptParameters has now, where both are right. */
static int finish_preempt(struct conf_loader *l)
{
    static const struct {
        const char *old, *now;
    } words[] = {
        { "preempt_reorder_count", "reorder_count" },
        { "preempt_strict_order", "strict_order" },
        { "preempt_youngest_first", "youngest_first" },
    };
    const struct conf_val *params = &l->c->vals[CONF_SCHEDULER_PARAMETERS];
    int r = 0;

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(words); i++) {
        _cleanup_free_ char *word = NULL;
        const char *value;
        size_t len;

        if (!conf_option(l->c, CONF_SCHEDULER_PARAMETERS, words[i].old, &value, &len) ||
            conf_option(l->c, CONF_PREEMPT_PARAMETERS, words[i].now, NULL, NULL))
            continue;
        if (asprintf(&word, len ? "%s=%.*s" : "%s", words[i].now, (int)len, value) < 0)
            return -ENOMEM;
        r = finish_word(l, params, CONF_PREEMPT_PARAMETERS, word);
    }
    return r;
}

int conf_olderlate(struct conf_loader *l, conf_host_fn *add)
{
    const struct conf_val *fast = &l->older[CONF_OLDER_FAST_SCHEDULE],
                          *alive = &l->older[CONF_OLDER_KEEP_ALIVE];
    int r = finish_hosts(l, add);

    /* 0 and 1: what a node says of itself is looked at, as it always is now */
    if (r == 0 && fast->set && strcmp(fast->text, "2") == 0)
        r = finish_word(l, fast, CONF_SLURMD_PARAMETERS, "config_overrides");
    if (r == 0 && alive->set) {
        _cleanup_free_ char *word = NULL;

        r = asprintf(&word, "keepalivetime=%s", alive->text) < 0 ? -ENOMEM : 0;
        if (r == 0)
            r = finish_word(l, alive, CONF_COMMUNICATION_PARAMETERS, word);
    }
    return r == 0 ? finish_preempt(l) : r;
}
