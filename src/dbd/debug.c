/* debug.c - DebugFlags: which statements are logged, beside the subjects of base/logflags.h
 *
 * A flag that names a kind of records stands for the table that holds them.  Users, accounts and
 * QOS share a table, so their flags mean the same. */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "acct/sql/sql.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/logflags.h"
#include "dbd/dbd.h"

static const struct flag {
    const char *name;
    const char *words[4]; /* of statements; "" all; none: no statement */
} flags[] = {
    { "DB_QUERY", { "" } },
    { "DB_ARCHIVE", { "DELETE FROM" } },
    { "DB_JOB", { "jobs", "contents", "suspensions" } },
    { "DB_STEP", { "steps" } },
    { "DB_EVENT", { "events", " nodes" } },
    { "DB_RESERVATION", { "reservations", "usage_resv" } },
    { "DB_USAGE", { "usage_" } },
    { "DB_TRES", { "usage_tres", "entities" } },
    { "DB_ASSOC", { "entities", "txns" } },
    { "DB_QOS", { "entities" } },
    { "DB_RESOURCE", { "entities" } },
    { "DB_WCKEY", { "entities" } },
    /* of requests and connections: base/logflags.h */
    { "AuditRPCs", { NULL } },
    { "AuditTLS", { NULL } },
    { "Network", { NULL } },
    { "Protocol", { NULL } },
    /* of what there is nothing to log about here */
    { "FEDERATION", { NULL } },
    { "NetworkRaw", { NULL } },
};

static int find_flag(const char *word, size_t len)
{
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
        if (strlen(flags[i].name) == len && strncasecmp(flags[i].name, word, len) == 0)
            return (int)i;
    return -1;
}

static void on_statement(const struct sql_trace *t, const char *text)
{
    const struct debug *d = container_of(t, const struct debug, trace);
    unsigned set = atomic_load_explicit(&d->on, memory_order_relaxed);

    for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
        for (size_t k = 0; set >> i & 1 && k < ARRAY_SIZE(flags[i].words) && flags[i].words[k]; k++)
            if (strstr(text, flags[i].words[k])) {
                log_info("%s: %s", flags[i].name, text);
                return; /* once */
            }
}

int debug_check(const struct conf_dbd *conf, struct err *err)
{
    const char *list = conf_dbd_str(conf, CONF_DBD_DEBUG_FLAGS);

    for (size_t len; list && *list; list += len + (list[len] == ',')) {
        len = strcspn(list, ",");
        if (find_flag(list, len) < 0)
            return err_set(err, -EINVAL, "DebugFlags=%.*s is not a flag", (int)len, list);
    }
    return 0;
}

void debug_set(struct debug *d, const struct conf_dbd *conf)
{
    const char *list = conf_dbd_str(conf, CONF_DBD_DEBUG_FLAGS);
    unsigned set = 0;
    int row;

    logflags_set(list);
    for (size_t len; list && *list; list += len + (list[len] == ',')) {
        len = strcspn(list, ",");
        row = find_flag(list, len); /* checked at load */
        set |= flags[row].words[0] ? 1u << row : 0;
    }
    atomic_store(&d->on, set);
    if (!d->trace.tell) /* other threads read it from then on */
        d->trace.tell = on_statement;
    sql_set_trace(set ? &d->trace : NULL);
}

void debug_end(void)
{
    sql_set_trace(NULL);
}
