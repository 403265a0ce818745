/* resources.h - resources.yaml: hierarchical resources
 *
 * A resource is a licence with layers: each layer is a set of nodes with a count.  The controller
 * alone reads the file, which lies beside slurm.conf.  A struct resources is immutable once made
 * and may be shared between threads.  This is a library of its own, because commands do without
 * libyaml. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/hostlist.h"

struct conf;

#define RESOURCES_FILE "resources.yaml"
#define RESOURCES_MAX_BYTES (4u << 20)
#define RESOURCES_MAX 64u                /* resources of a file */
#define RESOURCES_MAX_LAYERS 4096u       /* of all resources together */
#define RESOURCES_MAX_LEVELS 16u         /* of a tree of mode 3 */
#define RESOURCES_MAX_VALUES 256u        /* variables of a resource, base values of a layer */
#define RESOURCES_MAX_MEMBERS (4u << 20) /* nodes of all layers together */
#define RESOURCES_MAX_NAME 64u
#define RESOURCES_INFINITE UINT32_MAX /* a total that never runs out; shown as this number */
#define RESOURCES_NO_LAYER UINT32_MAX

struct resource_value { /* a variable */
    char *name;
    uint32_t value;
};

struct resource_layer {
    char *nodes; /* folded: the layer's name in "port(n[01-12])" */
    struct hostlist *names;
    unsigned line;   /* where it begins in the file */
    uint32_t count;  /* as configured; RESOURCES_INFINITE */
    uint64_t base;   /* static consumption: its own and, in mode 3, of all layers below */
    uint32_t total;  /* what jobs can have: count less base; RESOURCES_INFINITE */
    uint32_t parent; /* mode 3: place in layers, which is behind its own; RESOURCES_NO_LAYER */
};

struct resource {
    char *name;
    unsigned line;
    unsigned mode;  /* 1, 2, 3 */
    char *topology; /* NULL; of mode 3 alone */
    struct resource_value *variables;
    size_t nvariables;
    /* Modes 1 and 2: as the file lists them.  Mode 3: leaves first, the root last. */
    struct resource_layer *layers;
    size_t nlayers;
};

struct resources {
    struct resource *list; /* as the file lists them */
    size_t n;
};

/* What a word that is no flag looks like to programs that read the controller's log. */
struct resources_fault {
    char source[32]; /* "#/mode[0]/", "" when the mistake is another */
    char word[64];
};

/* Read the text.  Names of nodes and licences are compared with those of c.  On failure err has a
 * sentence that begins with "line N: "; fault may be NULL.  Errors: -EINVAL, -E2BIG, -ENOMEM. */
int resources_parse(const char *text, size_t len, const struct conf *c, struct resources **ret,
                    struct resources_fault *fault, struct err *err);
/* Read the file beside slurm.conf.  Without one *ret has no resource.  On failure err has a
 * sentence that begins with the path and the line. */
int resources_load(const struct conf *c, struct resources **ret, struct resources_fault *fault,
                   struct err *err);
struct resources *resources_free(struct resources *r); /* always NULL */
DEFINE_CLEANUP(struct resources *, resources_free)

/* NULL: there is none of this name, len bytes long. */
const struct resource *resources_find(const struct resources *r, const char *name, size_t len);
/* The most that one job, and in mode 3 one node, could ask for: of the first layer, or the root. */
uint32_t resource_most(const struct resource *r);
/* False: the resource has no such variable.  name is len bytes long. */
bool resource_variable(const struct resource *r, const char *name, size_t len, uint32_t *ret);
