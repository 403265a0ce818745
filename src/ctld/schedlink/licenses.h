/* licenses.h - the licences of this cluster: Licenses= of slurm.conf, and its part of what others
 * serve
 *
 * A resource of accounting (sacctmgr add resource) of which this cluster may use a part is a
 * licence too; its name here is name@server.  Resources with layers (resources.yaml) are asked for
 * and held like licences.  Core thread. */
#pragma once

#include "ctld/ctld.h"

/* Make the list anew and tell the scheduler when it is another one: the configuration or the
 * accounting records changed. */
void licenses_refresh(struct ctld *ctld);
/* Complete set, a patch of job r that runs: it holds what it now requests, NULL or "" for
 * nothing. */
void licenses_hold(const struct ctld *ctld, Pst__Transaction *tx, const Pst__JobRecord *r,
                   const char *request, Pst__JobRecord *set);
/* May jobs ask for this, and reservations, which may name layers, keep it? */
bool licenses_exist(const struct ctld *ctld, const char *text);
bool licenses_exist_resv(const struct ctld *ctld, const char *text);
/* LicenseParameters=RemoteFuzzyMatch: the request with "@server" put behind names that this cluster
 * has of one server alone, where it has no licence of its own of that name.  The caller frees;
 * NULL: it is as it was. */
char *licenses_complete(const struct ctld *ctld, const char *text);
/* The licence, or layer, that an item of a reservation is about: "matlab", "port(n[01-12])"; of a
 * resource without a layer the first one.  The caller frees. */
struct license_text;
char *licenses_layer(const struct ctld *ctld, const struct license_text *l);
/* How many there are of such a one; 0: none. */
uint64_t licenses_total(const struct ctld *ctld, const char *name);
void licenses_forget(struct ctld *ctld);
/* "matlab:10,ansys@lic1:4": what jobs can hold; borrowed until the next refresh. */
static inline const char *licenses_all(const struct ctld *ctld)
{
    return ctld->licenses ? ctld->licenses : "";
}

/* One that another server has, as told to commands.  total: what this cluster may use; deficit:
 * what others seem to use of that, by the last word of the server. */
struct remote_license {
    char name[256];
    uint64_t total, deficit, last_consumed;
    int64_t update_us;
};
/* The next of them; false at the end.  Start with *pos = 0. */
bool licenses_next_remote(const struct ctld *ctld, size_t *pos, struct remote_license *ret);
