/* nodegres.h - the node's generic resources: gres.conf, and the GPUs that were found
 *
 * Where AutoDetect looks for GPUs, those found are the node's: lines of gres.conf and the node's
 * Gres= choose among them, and what they say must be so. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "conf/conf.h"
#include "node.pb-c.h"
#include "noded/hw/gpus.h"
#include "stepfile.pb-c.h"

struct gres_row { /* texts may be NULL */
    char *name, *type, *file, *cores, *links, *flags;
    char *uuids; /* of the files, in their order */
    uint64_t count;
    enum gpus_how how; /* found by; GPUS_OFF: configured */
};

struct gres_rows {
    struct gres_row *rows;
    size_t n;
    char *problem; /* why the node cannot be used as it is; NULL: it can */
};

/* The kernel's numbers of CPUs as allocations count them; os_ids NULL: the same. */
struct cpu_map {
    const uint32_t *os_ids;
    size_t n;
    uint32_t threads; /* of a core */
};

/* root: where /proc, /sys and /dev are.  -ENOMEM. */
int gres_rows_new(const struct conf *conf, const struct conf_node *node, enum gpus_how how,
                  const char *root, const struct cpu_map *map, struct gres_rows **ret);
struct gres_rows *gres_rows_free(struct gres_rows *g);

/* As the node registers it; configured: the node's Gres=, for a node without rows.  -ENOMEM. */
int gres_text(const struct gres_rows *rows, const char *configured, char **ret_text);
int gres_topo(const struct gres_rows *rows, Pst__NodeRecord *rec);
/* As step daemons need it. */
int gres_step_gpus(const struct gres_rows *rows, Pst__StepFile *sf);
/* Call fn for each device file of the node: its kind ("gpu") and its number among the devices of
 * that kind; those of MultipleFiles= have the number of the one device that they make up. */
typedef void gres_file_fn(void *ctx, const char *name, uint32_t index, const char *path);
void gres_files(const struct gres_rows *rows, gres_file_fn *fn, void *ctx);
/* How AutoDetect looks for GPUs of the node. */
enum gpus_how gres_how(const struct conf *conf, const char *node);
/* The same of a node that describes itself: where gres.conf says nothing of its GPUs, every way is
 * tried. */
enum gpus_how gres_how_dynamic(const struct conf *conf, const char *node);
void gres_print(FILE *f, const struct gres_rows *rows); /* slurmd -G */
