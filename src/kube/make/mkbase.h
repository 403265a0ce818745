/* mkbase.h - what the makers of objects share: metadata, merging of what users add, hashes
 *
 * A maker maps a custom resource, and what it refers to, to the objects that should be.  Makers are
 * pure: the same facts give the same bytes.  All json_t * results are the caller's; NULL: no
 * memory. */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"
#include "kube/make/opkinds.h"

struct mkbase_facts;

/* The object of a kind and name in the custom resource's namespace, and group if it is a kind that
 * is served; NULL: there is none.  Borrowed. */
typedef const json_t *mkbase_find_fn(void *ctx, const struct mkbase_facts *f, const char *kind,
                                     const char *name);

struct mkbase_facts {
    const struct opgroup *group;
    const json_t *cr;         /* with its defaults, and valid (opspec.h) */
    const json_t *controller; /* the one that cr refers to, or cr itself; NULL: not there */
    const json_t *nodesets;   /* of a Controller: an array in order of names */
    const char *image;        /* of containers that name none; NULL: none */
    mkbase_find_fn *find;
    void *ctx;
};

const json_t *mkbase_find(const struct mkbase_facts *f, const char *kind, const char *name);
/* An owner reference to an object that is served. */
json_t *mkbase_owner(const json_t *cr, bool controller);
/* name and instance: what selectors use. */
json_t *mkbase_selector(const char *app, const char *instance);
/* metadata of an object that cr owns: its labels and annotations, template.metadata, the standard
 * labels.  name NULL: of a pod template, without name, namespace and owner. */
json_t *mkbase_meta(const struct mkbase_facts *f, const char *name, const char *app,
                    const char *component, const char *template_path);
/* An object, whose kind is one of opowned_kinds.  Takes meta. */
json_t *mkbase_object(enum opowned kind, json_t *meta);
/* What a user gives is merged over what is built: members of objects one by one; lists by the key
 * of their items (name, mountPath, containerPort); args are appended; other lists are replaced. */
json_t *mkbase_merge(const json_t *built, const json_t *user);
/* The pod template of a workload.  Takes meta and spec (NULL: no memory). Containers and init
 * containers of the user's template are appended. */
json_t *mkbase_template(const struct mkbase_facts *f, json_t *meta, json_t *spec);
/* A container, merged with the user's at spec.KEY. */
json_t *mkbase_container(const struct mkbase_facts *f, const char *key, json_t *built);
/* The side container that copies a pipe to standard output. */
json_t *mkbase_logfile(const struct mkbase_facts *f, const char *path);
/* A Service at spec.service; port of that name; selector is taken. */
json_t *mkbase_service(const struct mkbase_facts *f, const char *name, const char *app,
                       const char *component, const char *port, int number, json_t *selector);
/* The reference at spec.PATH: name and key, with their defaults where the spec has none. */
struct mkbase_ref {
    const char *name, *key;
};
struct mkbase_ref mkbase_ref(const json_t *cr, const char *path, const char *name, const char *key);
/* The keys of a Controller or Accounting; the names are kept in buf. */
struct mkbase_keys {
    struct mkbase_ref slurm, jwt, jwks; /* name "": none */
    char slurm_name[300], jwt_name[300];
};
void mkbase_keys(const json_t *cr, struct mkbase_keys *ret);
/* The SHA-256 in hex of the values of an object, in order of keys; "": no memory. */
#define MKBASE_HASH 65u
void mkbase_hash(const json_t *map, char ret[static MKBASE_HASH]);
/* Likewise of the data of a Secret: of its bytes, as other operators take them. */
void mkbase_hash_secret(const json_t *data, char ret[static MKBASE_HASH]);
/* The hash of a key of a Secret, or ConfigMap; "" when it is not there. */
void mkbase_hash_of(const struct mkbase_facts *f, const char *kind, const struct mkbase_ref *ref,
                    char ret[static MKBASE_HASH]);
/* Add to annotations. */
int mkbase_note(json_t *meta, const char *key, const char *value);
/* Bytes as base64, as Secrets have them. */
json_t *mkbase_base64(const void *data, size_t len);
/* A projected volume's source: a key of a Secret or ConfigMap at path. */
json_t *mkbase_source(const char *kind, const struct mkbase_ref *ref, const char *path);
/* Append, or free: 0 or -ENOMEM (item NULL, too). */
int mkbase_push(json_t *array, json_t *item);
/* How many characters, from the first, can be a value of slurm.conf without quotes: none is blank,
 * control character, '#', '"' or '\\'. */
size_t mkbase_value_length(const char *text);
