/* conf_older.c - keys of earlier releases; see conf_older.h */
#include "conf/conf_older.h"

#include <string.h>
#include <strings.h>

#include "conf/conf_dbd.h"

enum older_kind {
    OLDER_GONE, /* passed over */
    OLDER_NAME, /* the same value under the key `now` */
    OLDER_LATE, /* kept in conf_loader.older, for conf_olderlate.c */
};

static const struct {
    enum conf_table_id table;
    const char *name;
    enum older_kind kind;
    int index;       /* NAME: the key; LATE: of conf_loader.older */
    const char *now; /* what says today what the key said; NULL: nothing does */
} olders[] = {
    { CONF_TBL_KEY, "AccountingStorageUser", OLDER_GONE, 0, NULL },
    { CONF_TBL_KEY, "AcctGatherInfinibandType", OLDER_GONE, 0, "AcctGatherInterconnectType" },
    { CONF_TBL_KEY, "BackupAddr", OLDER_LATE, CONF_OLDER_BACKUP_ADDR, "SlurmctldHost" },
    { CONF_TBL_KEY, "BackupController", OLDER_LATE, CONF_OLDER_BACKUP, "SlurmctldHost" },
    { CONF_TBL_KEY, "BurstBufferParameters", OLDER_GONE, 0, NULL },
    { CONF_TBL_KEY, "ControlAddr", OLDER_LATE, CONF_OLDER_CONTROL_ADDR, "SlurmctldHost" },
    { CONF_TBL_KEY, "ControlMachine", OLDER_LATE, CONF_OLDER_CONTROL, "SlurmctldHost" },
    { CONF_TBL_KEY, "CoreSpecPlugin", OLDER_GONE, 0, NULL },
    { CONF_TBL_KEY, "CryptoType", OLDER_GONE, 0, "CredType" },
    { CONF_TBL_KEY, "ExtSensorsFreq", OLDER_GONE, 0, NULL },
    { CONF_TBL_KEY, "ExtSensorsType", OLDER_GONE, 0, NULL },
    { CONF_TBL_KEY, "FastSchedule", OLDER_LATE, CONF_OLDER_FAST_SCHEDULE,
      "SlurmdParameters=config_overrides" },
    { CONF_TBL_KEY, "GetEnvTimeout", OLDER_GONE, 0, NULL },
    { CONF_TBL_KEY, "JobCredentialPrivateKey", OLDER_GONE, 0, "CredType" },
    { CONF_TBL_KEY, "JobCredentialPublicCertificate", OLDER_GONE, 0, "CredType" },
    { CONF_TBL_KEY, "KeepAliveTime", OLDER_LATE, CONF_OLDER_KEEP_ALIVE,
      "CommunicationParameters=keepalivetime" },
    { CONF_TBL_KEY, "LaunchType", OLDER_GONE, 0, NULL },
    { CONF_TBL_KEY, "PowerParameters", OLDER_GONE, 0, NULL },
    { CONF_TBL_KEY, "PowerPlugin", OLDER_GONE, 0, NULL },
    { CONF_TBL_KEY, "RoutePlugin", OLDER_GONE, 0, "TopologyParam" },
    { CONF_TBL_KEY, "SbcastParameters", OLDER_NAME, CONF_BCAST_PARAMETERS, "BcastParameters" },
    { CONF_TBL_KEY, "SchedulerAuth", OLDER_GONE, 0, NULL },
    { CONF_TBL_KEY, "SlurmctldPlugstack", OLDER_GONE, 0, NULL },
    { CONF_TBL_NODE, "TRESWeights", OLDER_GONE, 0, NULL },
    { CONF_TBL_CGROUP, "AllowedDevicesFile", OLDER_GONE, 0, NULL },
    { CONF_TBL_CGROUP, "AllowedKmemSpace", OLDER_GONE, 0, NULL },
    { CONF_TBL_CGROUP, "CgroupAutomount", OLDER_GONE, 0, NULL },
    { CONF_TBL_CGROUP, "CgroupReleaseAgentDir", OLDER_GONE, 0, NULL },
    { CONF_TBL_CGROUP, "ConstrainKmemSpace", OLDER_GONE, 0, NULL },
    { CONF_TBL_CGROUP, "MaxKmemPercent", OLDER_GONE, 0, NULL },
    { CONF_TBL_CGROUP, "MinKmemSpace", OLDER_GONE, 0, NULL },
    { CONF_TBL_DBD, "PurgeEventMonths", OLDER_NAME, (int)CONF_DBD_PURGE_EVENT_AFTER,
      "PurgeEventAfter" },
    { CONF_TBL_DBD, "PurgeJobMonths", OLDER_NAME, (int)CONF_DBD_PURGE_JOB_AFTER, "PurgeJobAfter" },
    { CONF_TBL_DBD, "PurgeStepMonths", OLDER_NAME, (int)CONF_DBD_PURGE_STEP_AFTER,
      "PurgeStepAfter" },
    { CONF_TBL_DBD, "PurgeSuspendMonths", OLDER_NAME, (int)CONF_DBD_PURGE_SUSPEND_AFTER,
      "PurgeSuspendAfter" },
    { CONF_TBL_DBD, "PurgeTXNMonths", OLDER_NAME, (int)CONF_DBD_PURGE_TXN_AFTER, "PurgeTXNAfter" },
    { CONF_TBL_DBD, "PurgeUsageMonths", OLDER_NAME, (int)CONF_DBD_PURGE_USAGE_AFTER,
      "PurgeUsageAfter" },
    { CONF_TBL_CGROUP, "TaskAffinity", OLDER_GONE, 0, "TaskPlugin=task/affinity" },
};

const char *conf_older_key(struct conf_loader *l, enum conf_table_id table,
                           const struct conf_row *row, const char *key, const char *value)
{
    size_t i = 0;

    while (i < ARRAY_SIZE(olders) &&
           (olders[i].table != table || strcasecmp(olders[i].name, key) != 0))
        i++;
    if (i == ARRAY_SIZE(olders))
        return key;
    if (olders[i].now)
        conf_warn(l, row->file, row->line, "%s is a key of earlier releases; use %s instead",
                  olders[i].name, olders[i].now);
    else
        conf_warn(l, row->file, row->line, "%s is a key of earlier releases without effect",
                  olders[i].name);
    if (olders[i].kind == OLDER_LATE)
        l->older[olders[i].index] =
            (struct conf_val){ .text = value, .file = row->file, .line = row->line, .set = true };
    return olders[i].kind == OLDER_NAME ? conf_tables[table].rows[olders[i].index].name : NULL;
}

const char *conf_older_value(struct conf_loader *l, enum conf_table_id table,
                             const struct conf_row *row, int key, const char *value)
{
    if (table != CONF_TBL_KEY || key != CONF_SELECT_TYPE ||
        strcasecmp(value, "select/cons_res") != 0)
        return value;
    conf_warn(l, row->file, row->line, "select/cons_res is select/cons_tres now");
    return "select/cons_tres";
}

bool conf_older_word(enum conf_table_id table, int key, const char *word, size_t len)
{
    static const char *const words[] = { "OTHER_CONS_RES", "OTHER_CONS_TRES" }; /* of Cray */

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (table == CONF_TBL_KEY && key == CONF_SELECT_TYPE_PARAMETERS &&
            len == strlen(words[i]) && strncasecmp(word, words[i], len) == 0)
            return true;
    return false;
}
