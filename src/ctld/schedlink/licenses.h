/* licenses.h - the licences of this cluster: Licenses= of slurm.conf, and its share of the licences
 * that servers give to several clusters
 *
 * A resource of accounting (sacctmgr add resource) of which this cluster may use a part is a
 * licence too; its name here is name@server.  Resources with layers (resources.yaml) are asked for
 * and held like licences.  Core thread. */
#pragma once

#include "ctld/ctld.h"

/* The configuration or the accounting records changed: make the list anew, and tell the scheduler
 * if the list differs from the last one. */
void licenses_refresh(struct ctld *ctld);
/* Complete `set`, a patch of the running job r: from now on r holds the licences of `request`; NULL
 * or "": none. */
void licenses_hold(const struct ctld *ctld, Pst__Transaction *tx, const Pst__JobRecord *r,
                   const char *request, Pst__JobRecord *set);
/* May a job ask for these licences?  May a reservation keep them?  A reservation may name a layer
 * of a resource, a job may not. */
bool licenses_exist(const struct ctld *ctld, const char *text);
bool licenses_exist_resv(const struct ctld *ctld, const char *text);
/* LicenseParameters=RemoteFuzzyMatch: the request with "@server" put behind each name that exactly
 * one server gives to this cluster and that Licenses= does not have.  The caller frees; NULL: the
 * request stays as it is. */
char *licenses_complete(const struct ctld *ctld, const char *text);
/* The licence or the layer that an item of a reservation means: "matlab", "port(n[01-12])".  An
 * item that names a resource and no layer means the resource's default layer.  The caller frees. */
struct license_text;
char *licenses_layer(const struct ctld *ctld, const struct license_text *l);
/* How many there are of the licence or layer with this name; 0: there is no such name. */
uint64_t licenses_total(const struct ctld *ctld, const char *name);
void licenses_forget(struct ctld *ctld);
/* "matlab:10,ansys@lic1:4": what jobs can hold; borrowed until the next refresh. */
static inline const char *licenses_all(const struct ctld *ctld)
{
    return ctld->licenses ? ctld->licenses : "";
}

/* A licence of a server, as commands are told of it.  total: how many this cluster may use;
 * deficit: how many of these other clusters seem to use, by the server's last report. */
struct remote_license {
    char name[256];
    uint64_t total, deficit, last_consumed;
    int64_t update_us;
};
/* Walk over the licences of servers; false at the end.  Start with *pos = 0. */
bool licenses_next_remote(const struct ctld *ctld, size_t *pos, struct remote_license *ret);
