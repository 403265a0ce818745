/* licenseuse.h - the licences of the cluster and who holds them: scontrol and REST
 *
 * Totals come from slurm.conf and, of licences that another server has, from the controller; what
 * is in use from the jobs that hold nodes: the sum of what they hold. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/format/json_out.h"
#include "wire/client.h"

struct conf;

struct license {
    char *name;
    char *nodes;   /* of a layer of a resource; NULL: it is none */
    unsigned mode; /* of that resource */
    char *key;     /* "matlab", "port(n[01-12])" */
    size_t at;     /* its place in the list */
    uint64_t total, used, reserved;
    bool remote;
    uint64_t last_consumed, deficit; /* of a remote one */
    int64_t update_us;
};

struct licenses {
    struct license *list; /* as configured; then resources, the last of the file first */
    size_t n;
    int64_t now_us;
};

/* Errors: as client_call(), -ENOMEM.  Zeroed before; done in every case. */
int licenses_load(struct client *c, const struct conf *conf, struct licenses *ret);
void licenses_done(struct licenses *l);

uint64_t license_free(const struct license *l); /* how many nobody has */
void license_json(struct json *js, const struct license *l);
