/* stepcreds.c - what a client needs to launch a step: addresses and a credential; see steps.h */
#include "ctld/step/steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "ctld/front/confserve.h"
#include "ctld/core/service.h"
#include "daemon/credlife.h"
#include "wire/auth/idkey.h"

/* The node's own launch key, where it can make one: who holds the cluster's key cannot. */
static void add_node_key(struct ctld *ctld, const struct node *n, const Pst__SignedCredential *cred,
                         Pst__NodeAddr *a)
{
    uint8_t key[AUTH_MAC_SIZE];

    if (!cred || services_launch_key(ctld, n, cred->mac.data, key) < 0)
        return; /* StepReply.launch_key is left */
    a->has_launch_key = true;
    a->launch_key.data = must(malloc(sizeof(key)));
    a->launch_key.len = sizeof(key);
    memcpy(a->launch_key.data, key, sizeof(key));
    explicit_bzero(key, sizeof(key));
}

size_t steps_node_addrs(struct ctld *ctld, const Pst__Alloc *alloc,
                        const Pst__SignedCredential *cred, Pst__NodeAddr ***ret)
{
    Pst__NodeAddr **list = must(calloc(alloc->n_node_ids ? alloc->n_node_ids : 1, sizeof(*list)));

    for (size_t i = 0; i < alloc->n_node_ids; i++) {
        const struct node *n = cluster_node(ctld->cluster, alloc->node_ids[i]);
        Pst__NodeAddr *a = must(malloc(sizeof(*a)));

        pst__node_addr__init(a);
        SET(a, node_id, alloc->node_ids[i]);
        SET(a, cpus, alloc_group(alloc, i)->cpus);
        if (n) {
            a->name = tx_strdup(n->rec->name);
            a->addr = tx_strdup(n->rec->addr ? n->rec->addr : n->rec->hostname);
            SET(a, port, n->rec->port);
            add_node_key(ctld, n, cred, a);
        }
        list[i] = a;
    }
    *ret = list;
    return alloc->n_node_ids;
}

/* What the cluster's key cannot say, since every node has that. */
static int sign_with_identity(const struct ctld *ctld, Pst__SignedCredential *out,
                              const uint8_t mac[AUTH_MAC_SIZE])
{
    out->signature.data = must(malloc(IDKEY_SIGNATURE_SIZE));
    out->signature.len = IDKEY_SIGNATURE_SIZE;
    out->has_signature = true;
    return idkey_sign(ctld->identity, IDKEY_FOR_CREDENTIAL, out->credential.data,
                      out->credential.len, mac, out->signature.data);
}

Pst__SignedCredential *steps_sign(struct ctld *ctld, const struct job *j, const struct step *s,
                                  Pst__CredPurpose purpose)
{
    Pst__StepCredential cred = PST__STEP_CREDENTIAL__INIT;
    Pst__StepRecord plain; /* shallow: nodes need no second copy of what they launch */
    Pst__SignedCredential *out = must(malloc(sizeof(*out)));
    uint8_t mac[AUTH_MAC_SIZE];
    const char *kid;

    pst__signed_credential__init(out);
    SET(&cred, job_id, j->rec->job_id);
    SET(&cred, run_id, j->rec->db_id);
    SET(&cred, uid, j->rec->uid);
    SET(&cred, gid, j->rec->gid);
    cred.user_name = j->rec->user_name;
    if (s) {
        plain = *s->rec;
        plain.has_async_launch = plain.has_async_spec = 0;
        cred.step = &plain;
        SET(&cred, step_id, s->rec->step_id);
    }
    if (purpose != PST__CRED_PURPOSE__CRED_LAUNCH)
        SET(&cred, purpose, purpose);
    cred.job = j->rec;
    SET(&cred, expires_us, core_now() + credlife_us(ctld->conf));
    if (cluster_step(j, STEP_EXTERN))
        SET(&cred, contain, true);
    confserve_fill(ctld, &cred);
    cred.cluster_name = ctld->cluster->rec->name;
    out->has_credential = 1;
    out->credential.len = pst__step_credential__get_packed_size(&cred);
    out->credential.data = must(malloc(out->credential.len));
    pst__step_credential__pack(&cred, out->credential.data);
    if (auth_sign(ctld->keys, out->credential.data, out->credential.len, mac, &kid) < 0) {
        pst__signed_credential__free_unpacked(out, NULL);
        return NULL;
    }
    if (ctld->identity && sign_with_identity(ctld, out, mac) < 0) {
        pst__signed_credential__free_unpacked(out, NULL);
        return NULL;
    }
    out->key_id = tx_strdup(kid);
    out->has_mac = 1;
    out->mac.len = sizeof(mac);
    out->mac.data = must(malloc(sizeof(mac)));
    memcpy(out->mac.data, mac, sizeof(mac));
    return out;
}

void steps_add_key(const struct ctld *ctld, Pst__StepReply *reply)
{
    const Pst__SignedCredential *cred = reply->credential;
    uint8_t *key = must(malloc(AUTH_MAC_SIZE));

    if (auth_derive(ctld->keys, cred->key_id, AUTH_FOR_LAUNCH, cred->mac.data, cred->mac.len, key,
                    NULL) < 0) {
        free(key); /* slurmd will say what is missing */
        return;
    }
    reply->has_launch_key = true;
    reply->launch_key = (ProtobufCBinaryData){ AUTH_MAC_SIZE, key };
}

/* How its tasks are bound unless srun was told: as the job says, else as all of its nodes, else as
 * the partition. */
static const char *default_binding(const struct ctld *ctld, const struct job *j,
                                   const Pst__Alloc *alloc)
{
    const struct partition *p =
        j->rec->partition ? cluster_partition(ctld->cluster, j->rec->partition) : NULL;
    const char *said = NULL;

    if (j->rec->cpu_bind && *j->rec->cpu_bind)
        return j->rec->cpu_bind;
    for (size_t i = 0; alloc && i < alloc->n_node_ids; i++) {
        const struct node *n = cluster_node(ctld->cluster, alloc->node_ids[i]);
        const char *own = n ? n->rec->cpu_bind : NULL;

        if (!own || !*own || (said && strcmp(said, own) != 0)) {
            said = NULL;
            break;
        }
        said = own;
    }
    return said ? said : p && p->rec->cpu_bind && *p->rec->cpu_bind ? p->rec->cpu_bind : NULL;
}

Pst__StepReply *steps_reply_new(struct ctld *ctld, const struct job *j, const struct step *s)
{
    Pst__StepReply *r = must(malloc(sizeof(*r)));
    ProtobufCMessage *copy;

    pst__step_reply__init(r);
    r->credential = steps_sign(ctld, j, s, PST__CRED_PURPOSE__CRED_LAUNCH);
    if (!r->credential) {
        steps_reply_free(r);
        return NULL;
    }
    steps_add_key(ctld, r);
    if (pb_dup(&s->rec->base, &copy) < 0)
        must(NULL);
    r->step = (Pst__StepRecord *)copy;
    if (pb_dup(&j->rec->base, &copy) < 0)
        must(NULL);
    r->job = (Pst__JobRecord *)copy;
    r->n_nodes = steps_node_addrs(ctld, s->rec->alloc, r->credential, &r->nodes);
    r->cpu_bind = tx_strdup(default_binding(ctld, j, s->rec->alloc));
    return r;
}

void steps_reply_free(Pst__StepReply *reply)
{
    if (reply)
        pst__step_reply__free_unpacked(reply, NULL);
}
