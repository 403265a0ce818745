/* json_dbdconf.h - what slurmdbd goes by as an object of the REST schema: of sacctmgr --json show
 * config and of /slurmdb/conf
 *
 * Pure. */
#pragma once

#include <stdbool.h>

#include "api.pb-c.h"
#include "cli/format/json_out.h"

/* "slurmdbd_conf", a member of the open object. */
void json_dbdconf(struct json *js, const Pst__ConfigReply *reply);
/* "12months", "30days", "6hours" or "6", which are months: "PurgeJobAfter" and its kin as an
 * object.  archive: are records of the kind archived before they go? */
void json_dbdconf_purge(struct json *js, const char *key, const char *value, bool archive);
