/* tgconfig.h - the configuration of the service, YAML
 *
 * | key | |
 * | http.port, http.ssl | ssl must be false |
 * | provider, providerParams, engine, engineParams | what requests leave out |
 * | requestAggregationDelay | a duration: 15s, 500ms, 2m |
 * | env | variables of programs that runs start; PATH is appended to |
 * | pageSize, credentialsPath, ssl | of the clouds' interfaces, which are not asked: noted only |
 *
 * Pure. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct tgconfig {
    uint16_t port;
    int64_t delay_us;
    json_t *defaults; /* a request */
    json_t *env;      /* object of texts */
    char ignored[96]; /* a key that has no effect, "" none */
};

/* Errors: -EINVAL (err says where), -ENOMEM. */
int tgconfig_parse(const char *text, size_t len, struct tgconfig *ret, struct err *err);
void tgconfig_done(struct tgconfig *c);
/* "15s", "1m30s", "500ms", "0".  -EINVAL. */
int tgconfig_duration(const char *text, int64_t *ret_us);
