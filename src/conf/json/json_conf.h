/* json_conf.h - the configuration as JSON (scontrol show config --json, REST, HTTP of the daemons)
 *
 * The controller tells it as `scontrol show config` shows it, in texts; the table, which is made of
 * the REST API's schema, says what each key is. */
#pragma once

#include "api.pb-c.h"
#include "base/json/jsonout.h"

struct json_conf_key {
    const char *key; /* NULL: the end */
    /* s text, i number, b truth, n number that may be unset or infinite, l list, w list of some of
     * `words`, c controllers, j defaults of jobs, p range of ports */
    char kind;
    const char *words;
};

extern const struct json_conf_key json_conf_keys[];

/* "slurm_conf" and "slurm_conf_meta": objects. */
void json_conf(struct json *js, const Pst__ConfigReply *reply);
