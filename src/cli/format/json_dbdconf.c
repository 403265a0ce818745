/* json_dbdconf.c - slurmdbd.conf as JSON; see json_dbdconf.h */
#include "cli/format/json_dbdconf.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

enum form { TEXT, NUMBER, WORDS, YES_NO, PURGE };

static const struct {
    const char *key;
    enum form form;
    const char *archive; /* of PURGE: the key that says whether it is archived */
} conf_keys[] = {
    { "ArchiveDir", TEXT, NULL },
    { "ArchiveScript", TEXT, NULL },
    { "CommitDelay", NUMBER, NULL },
    { "DbdAddr", TEXT, NULL },
    { "DbdBackupHost", TEXT, NULL },
    { "DbdHost", TEXT, NULL },
    { "DbdPort", NUMBER, NULL },
    { "DebugLevel", TEXT, NULL },
    { "DefaultQOS", TEXT, NULL },
    { "Flags", WORDS, NULL },
    { "LogFile", TEXT, NULL },
    { "MaxPurgeLimit", NUMBER, NULL },
    { "MaxQueryTimeRange", TEXT, NULL },
    { "Parameters", WORDS, NULL },
    { "PersistConnFlags", WORDS, NULL },
    { "PidFile", TEXT, NULL },
    { "PurgeEventAfter", PURGE, "ArchiveEvents" },
    { "PurgeJobAfter", PURGE, "ArchiveJobs" },
    { "PurgeResvAfter", PURGE, "ArchiveResvs" },
    { "PurgeStepAfter", PURGE, "ArchiveSteps" },
    { "PurgeSuspendAfter", PURGE, "ArchiveSuspend" },
    { "PurgeTXNAfter", PURGE, "ArchiveTXN" },
    { "PurgeUsageAfter", PURGE, "ArchiveUsage" },
    { "PurgeJobScriptAfter", PURGE, "ArchiveJobScript" },
    { "PurgeJobEnvAfter", PURGE, "ArchiveJobEnv" },
    { "StorageLoc", TEXT, NULL },
    { "StoragePassScript", TEXT, NULL },
    { "StorageUser", TEXT, NULL },
    { "DebugLevelSyslog", TEXT, NULL },
    { "TrackWCKey", YES_NO, NULL },
    { "TrackSlurmctldDown", YES_NO, NULL },
};

static const char *entry_of(const Pst__ConfigReply *reply, const char *key)
{
    for (size_t i = 0; key && i < reply->n_entries; i++)
        if (reply->entries[i]->key && strcasecmp(reply->entries[i]->key, key) == 0)
            return reply->entries[i]->value;
    return NULL;
}

static bool is_yes(const char *value)
{
    return value && (strcasecmp(value, "yes") == 0 || strcasecmp(value, "true") == 0 ||
                     strcmp(value, "1") == 0);
}

void json_dbdconf_purge(struct json *js, const char *key, const char *value, bool archive)
{
    char *unit = NULL;
    unsigned long n = value ? strtoul(value, &unit, 10) : 0;
    bool set = n > 0 && n <= INT32_MAX && unit != value;
    bool hours = set && strncasecmp(unit, "hour", 4) == 0;
    bool days = set && strncasecmp(unit, "day", 3) == 0;

    json_map(js, key);
    json_bool(js, "set", set);
    json_int(js, "hours", hours ? (int64_t)n : 0);
    json_int(js, "days", days ? (int64_t)n : 0);
    json_int(js, "months", set && !hours && !days ? (int64_t)n : 0);
    json_bool(js, "archive", archive);
    json_map_end(js);
}

void json_dbdconf(struct json *js, const Pst__ConfigReply *reply)
{
    json_map(js, "slurmdbd_conf");
    for (size_t i = 0; i < ARRAY_SIZE(conf_keys); i++) {
        const char *key = conf_keys[i].key, *value = entry_of(reply, key);

        switch (conf_keys[i].form) {
        case NUMBER:
            json_int(js, key, value ? strtol(value, NULL, 10) : 0);
            break;
        case WORDS:
            json_words(js, key, value);
            break;
        case YES_NO:
            json_bool(js, key, is_yes(value));
            break;
        case PURGE:
            json_dbdconf_purge(js, key, value, is_yes(entry_of(reply, conf_keys[i].archive)));
            break;
        default:
            json_str(js, key, value);
        }
    }
    json_map_end(js);
}
