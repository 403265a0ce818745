/* opconf.h - the configuration files that the operator writes: slurm.conf, slurmdbd.conf
 *
 * Pure: the same facts give the same bytes. */
#pragma once

#include "kube/make/mkbase.h"

#define OPCONF_CTLD_PORT 6817
#define OPCONF_NODE_PORT 6818
#define OPCONF_DBD_PORT 6819
#define OPCONF_REST_PORT 6820

/* Of a Controller, in f->cr. */
void opconf_write_slurm(const struct mkbase_facts *f, struct strbuf *out);
/* Can the text be a password in slurmdbd.conf?  A line that starts with '"', or has one beside
 * blanks or a last '\\', cannot. */
bool opconf_is_password(const char *text);
/* Of an Accounting, in f->cr; the password, of those that can be one, is the storage's. */
void opconf_write_dbd(const struct mkbase_facts *f, const char *password, struct strbuf *out);
/* spec.clusterName, or NAMESPACE_NAME, 40 characters of it at most. */
void opconf_cluster_name(const json_t *controller, char *buf, size_t size);
/* Replicas of slurmctld. */
int opconf_replicas(const json_t *controller);
/* What a NodeSet is called in Slurm; buf has 64 bytes. */
const char *opconf_nodeset_name(const json_t *nodeset, char *buf);

/* Lines of text that set a key, in any case, with lines that go on behind a backslash: the options
 * of all of them, joined by commas. */
void opconf_find_options(const char *text, const char *key, struct strbuf *out);
/* The options of `have`, then those of `more` (both by commas) whose name, before '=', `have` does
 * not set; lower case, each once, sorted. */
void opconf_merge_options(const char *have, const char *more, struct strbuf *out);
