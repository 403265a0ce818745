/* nodeshape.h - external nodes of Slurm, as labels of Kubernetes' nodes want them
 *
 * A node with the label BRIDGE_LABEL_EXTERNAL is wanted in Slurm; the annotation
 * BRIDGE_NOTE_PARTITIONS, names with commas, are its features.  One more feature,
 * NODESHAPE_MARK, says that the bridge made the node: no other node is ever changed or deleted.
 * Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"

#define NODESHAPE_MARK "penstock-bridge"
/* The mark of a bridge of a name; "": NODESHAPE_MARK itself. */
#define NODESHAPE_MARK_SIZE 64u
void nodeshape_write_mark(const char *bridge, char ret[static NODESHAPE_MARK_SIZE]);
#define NODESHAPE_OURS "slurm-bridge:" /* so begin the reasons of drains of ours */
#define NODESHAPE_REASON "slurm-bridge: the external node is to be removed"

struct nodeshape {
    int64_t cpus, memory_mib;
    int64_t threads;    /* of a core; 0: not known, taken for 1 */
    struct strbuf gres; /* "gpu:gpu.nvidia.com:8"; "": none, or no driver tells them now */
    bool cordoned;
    const char *topology;   /* of the node's annotation; "": none.  Borrowed from the node */
    const char *node;       /* of Kubernetes; borrowed */
    struct strbuf features; /* by commas, the mark first; nodeshape_done() */
};

#define NODESHAPE_INIT                                                                             \
    {                                                                                              \
        .features = STRBUF_INIT, .gres = STRBUF_INIT                                               \
    }

/* Can the text, of n bytes, stand in a NodeName line and in a path? */
bool nodeshape_is_word(const char *text, size_t n);
/* The node's name in Slurm: its label, or its own. */
const char *nodeshape_name(const json_t *node);
/* Does the node of Kubernetes want one in Slurm?  node NULL: there is none, so no. */
bool nodeshape_is_wanted(const json_t *node);
/* Has a change between two states of a node a meaning here?  Either may be NULL. */
bool nodeshape_changes(const json_t *before, const json_t *now);
/* What is wanted.  slices: the node's ResourceSlices; NULL: it has none.  Errors: -EINVAL (err: a
 * name or a size is none), -ENOMEM. */
int nodeshape_read(const json_t *node, const json_t *slices, const char *mark,
                   struct nodeshape *ret, struct err *err);
void nodeshape_done(struct nodeshape *s);

enum nodeshape_act {
    NODESHAPE_NOTHING,
    NODESHAPE_CREATE,
    NODESHAPE_CHANGE,   /* the features */
    NODESHAPE_TOPOLOGY, /* its place */
    NODESHAPE_RESUME,   /* it was to be removed or cordoned, and is not any more */
    NODESHAPE_CORDON,   /* drain: Kubernetes' node is cordoned */
    NODESHAPE_DRAIN,
    NODESHAPE_WAIT, /* jobs are there */
    NODESHAPE_DELETE,
};

/* want NULL: no such node is wanted.  have NULL: slurmrestd has answered, and not with the node. */
enum nodeshape_act nodeshape_decide(const struct nodeshape *want, const json_t *have,
                                    const char *mark);
/* The body that an action sends to slurmrestd; NULL: no memory, or the action has none. */
json_t *nodeshape_body(enum nodeshape_act act, const char *name, const struct nodeshape *want);
