/* hw.h - this machine: its processors, memory and devices */
#pragma once

#include "noded/hw/hwmachine.h"
#include "noded/noded.h"

struct strbuf;

/* Print the hardware for slurmd -C.  conf says where to look for GPUs; NULL: on this machine. */
int hw_print(const struct conf *conf, enum machine_socket socket);
enum hw_put { /* what of a NodeName line */
              HW_PUT_GEOMETRY = 1,
              HW_PUT_MEMORY = 2,
};
/* Add what this machine has, as keys of a NodeName line with a blank before each; "gpu:a:2,gpu:b:1"
 * of these GPUs.  -EIO, -ENOMEM. */
int hw_put_machine(struct strbuf *sb, enum machine_socket socket, unsigned what);
void hw_put_gpus(const struct gpu_found *found, int n, struct strbuf *gres);
/* What this machine has, with the name of the host; the caller frees.  -EIO, -ENOMEM. */
int hw_claim_record(const char *host, enum machine_socket socket, Pst__NodeRecord **ret_record);
/* The folder that stands for "/" where devices are looked for: SlurmdParameters=devices_root.
 * Caller frees; NULL: no memory. */
char *hw_root(const struct conf *conf);
/* The devices of the node.  -ENOMEM. */
int hw_gres(const struct noded *d, struct gres_rows **ret);
int hw_record(struct noded *d, Pst__NodeRecord **ret_record);
/* Does a node of this line and record register as that one did?  Its features and
 * the time at which slurmd started do not count: they may differ at any time. */
bool hw_described_same(const struct conf_node *a, const struct conf_node *b);
bool hw_record_same(const Pst__NodeRecord *a, const Pst__NodeRecord *b);
/* Is the node described by its configuration, as one of several on this machine? */
bool hw_configured_only(const struct noded *d);
/* Does the configuration confine jobs to their CPUs? */
bool hw_confines_cores(const struct conf *conf);
/* The processors, for binding tasks and confining jobs.  NULL when neither is configured, or when
 * the node is only described by its configuration.  The caller frees them. */
Pst__Processors *hw_processors(const struct noded *d);
void hw_load(uint32_t *ret_load_centi, uint64_t *ret_free_mib);
