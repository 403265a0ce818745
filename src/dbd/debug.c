/* debug.c - the words of DebugFlags in slurmdbd.conf: of base/logflags.h those that slurmdbd has
 * lines of, and two more that Slurm takes. */
#include "dbd/debug.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

static const char *const flags[] = {
    /* of statements: acct/sql/sqllog.h */
    "DB_ARCHIVE", "DB_ASSOC", "DB_EVENT", "DB_JOB", "DB_QOS", "DB_QUERY", "DB_RESERVATION",
    "DB_RESOURCE", "DB_STEP", "DB_TRES", "DB_USAGE", "DB_WCKEY",
    /* of requests and connections */
    "AuditRPCs", "AuditTLS", "Network", "Protocol",
    /* of what there is nothing to log about here */
    "FEDERATION", "NetworkRaw"
};

static bool is_flag(const char *word, size_t len)
{
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
        if (strlen(flags[i]) == len && strncasecmp(flags[i], word, len) == 0)
            return true;
    return false;
}

int debug_check(const char *list, struct err *err)
{
    for (size_t len; list && *list; list += len + (list[len] == ',')) {
        len = strcspn(list, ",");
        if (!is_flag(list, len))
            return err_set(err, -EINVAL, "DebugFlags=%.*s is not a flag", (int)len, list);
    }
    return 0;
}
