/* nsyaml.c - see nsyaml.h
 *
 * The document is small: it is loaded as a tree and walked by tables of keys.  Options of a node
 * are those of `defaults`, then those of each entry of `node_confs` that lists it. */
#include "noded/plan/nsyaml.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mount.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "base/yaml/yamldoc.h"

#define DIRS_MAX 64u

struct reader {
    yaml_document_t *doc;
    const char *node;
    struct err *err;
    Pst__Namespace *ns;
    bool none; /* base_path: none */
};
typedef int key_fn(struct reader *rd, void *to, const yaml_node_t *value);
struct key {
    const char *name;
    key_fn *fn;
};

static int report_wrong(const struct reader *rd, const yaml_node_t *at, const char *what)
{
    return err_set(rd->err, -EINVAL, "line %zu: %s", at->start_mark.line + 1, what);
}

static const char *scalar_text(const yaml_node_t *n)
{
    return n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value : NULL;
}

static yaml_node_t *node_at(const struct reader *rd, int index)
{
    return yaml_document_get_node(rd->doc, index);
}

/* Call the function of each key of a mapping. */
static int walk_map(struct reader *rd, const yaml_node_t *map, const struct key *keys, size_t n,
                    void *to)
{
    if (map->type != YAML_MAPPING_NODE)
        return report_wrong(rd, map, "a mapping is expected here");
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
         p++) {
        const yaml_node_t *key = node_at(rd, p->key);
        const char *name = scalar_text(key);
        size_t i = 0;
        int r;

        while (name && i < n && strcmp(keys[i].name, name) != 0)
            i++;
        if (!name || i == n)
            return err_set(rd->err, -EINVAL, "line %zu: unknown key %.64s",
                           key->start_mark.line + 1, name ? name : "");
        r = keys[i].fn(rd, to, node_at(rd, p->value));
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_text(const struct reader *rd, const yaml_node_t *v, char **field)
{
    return scalar_text(v) ? pb_set_str(field, scalar_text(v))
                          : report_wrong(rd, v, "a text is expected here");
}

static int read_truth(const struct reader *rd, const yaml_node_t *v, protobuf_c_boolean *has,
                      protobuf_c_boolean *field)
{
    const char *s = scalar_text(v);
    bool yes = s && (strcasecmp(s, "true") == 0 || strcasecmp(s, "yes") == 0);

    if (!s || (!yes && strcasecmp(s, "false") != 0 && strcasecmp(s, "no") != 0))
        return report_wrong(rd, v, "true or false is expected here");
    *has = true;
    *field = yes;
    return 0;
}

static int read_seconds(const struct reader *rd, const yaml_node_t *v, protobuf_c_boolean *has,
                        uint32_t *field)
{
    const char *s = scalar_text(v);
    char *end = NULL;
    unsigned long n = s && *s >= '0' && *s <= '9' ? strtoul(s, &end, 10) : 0;

    if (!end || *end || n > 65533)
        return report_wrong(rd, v, "a number of seconds is expected here");
    *has = true;
    *field = (uint32_t)n;
    return 0;
}

static int read_path(const struct reader *rd, const yaml_node_t *v, char **field)
{
    if (!scalar_text(v) || scalar_text(v)[0] != '/')
        return report_wrong(rd, v, "an absolute path is expected here");
    return read_text(rd, v, field);
}

/* ---- folders --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    unsigned long flag;
} mount_words[] = {
    { "noatime", MS_NOATIME }, { "nodev", MS_NODEV },   { "nodiratime", MS_NODIRATIME },
    { "noexec", MS_NOEXEC },   { "nosuid", MS_NOSUID }, { "relatime", MS_RELATIME },
    { "ro", MS_RDONLY },
};

/* Words are flags of mount(2); what is none is data for a memory file system. */
static int dir_options(struct reader *rd, void *to, const yaml_node_t *v)
{
    Pst__NamespaceDir *d = to;
    _cleanup_val_(strbuf_done) struct strbuf data = STRBUF_INIT;

    if (!scalar_text(v))
        return report_wrong(rd, v, "a text is expected here");
    d->has_flags = true;
    d->flags = 0;
    for (const char *p = scalar_text(v); *p;) {
        size_t len = strcspn(p, ","), i = 0;

        while (i < ARRAY_SIZE(mount_words) &&
               (strlen(mount_words[i].name) != len || strncmp(mount_words[i].name, p, len) != 0))
            i++;
        if (i < ARRAY_SIZE(mount_words))
            d->flags |= mount_words[i].flag;
        else
            strbuf_addf(&data, "%s%.*s", data.len ? "," : "", (int)len, p);
        p += len + (p[len] == ',');
    }
    return data.failed ? -ENOMEM : pb_set_str(&d->data, data.len ? strbuf_str(&data) : NULL);
}

static int dir_path(struct reader *rd, void *to, const yaml_node_t *v)
{
    return read_path(rd, v, &((Pst__NamespaceDir *)to)->path);
}

static int dir_base(struct reader *rd, void *to, const yaml_node_t *v)
{
    return read_path(rd, v, &((Pst__NamespaceDir *)to)->base_path);
}

static int dir_tmpfs(struct reader *rd, void *to, const yaml_node_t *v)
{
    Pst__NamespaceDir *d = to;

    return read_truth(rd, v, &d->has_tmpfs, &d->tmpfs);
}

static int one_dir(struct reader *rd, const yaml_node_t *v)
{
    static const struct key keys[] = { { "path", dir_path },
                                       { "base_path", dir_base },
                                       { "options", dir_options },
                                       { "tmpfs", dir_tmpfs } };
    Pst__NamespaceDir *d = malloc(sizeof(*d)), **grown;
    int r;

    grown = d ? realloc(rd->ns->confs, (rd->ns->n_confs + 1) * sizeof(*grown)) : NULL;
    if (!grown) {
        free(d);
        return -ENOMEM;
    }
    pst__namespace_dir__init(d);
    rd->ns->confs = grown;
    grown[rd->ns->n_confs++] = d;
    r = walk_map(rd, v, keys, ARRAY_SIZE(keys), d);
    return r == 0 && !d->path ? report_wrong(rd, v, "an entry of dir_confs needs a path") : r;
}

static void drop_confs(Pst__Namespace *ns)
{
    for (size_t i = 0; i < ns->n_confs; i++)
        pst__namespace_dir__free_unpacked(ns->confs[i], NULL);
    ns->n_confs = 0;
}

static int opt_dir_confs(struct reader *rd, void *to, const yaml_node_t *v)
{
    int r = 0;

    (void)to;
    if (v->type != YAML_SEQUENCE_NODE)
        return report_wrong(rd, v, "a list is expected here");
    if (v->data.sequence.items.top - v->data.sequence.items.start > (long)DIRS_MAX)
        return report_wrong(rd, v, "too many folders");
    drop_confs(rd->ns);
    for (yaml_node_item_t *i = v->data.sequence.items.start;
         r == 0 && i < v->data.sequence.items.top; i++)
        r = one_dir(rd, node_at(rd, *i));
    return r;
}

static int opt_dirs(struct reader *rd, void *to, const yaml_node_t *v)
{
    Pst__Namespace *ns = rd->ns;

    (void)to;
    if (!scalar_text(v))
        return report_wrong(rd, v, "a text is expected here");
    for (size_t i = 0; i < ns->n_dirs; i++)
        free(ns->dirs[i]);
    ns->n_dirs = 0;
    for (const char *p = scalar_text(v); *p;) {
        size_t len = strcspn(p, ",");
        char **grown = realloc(ns->dirs, (ns->n_dirs + 1) * sizeof(*grown));

        if (grown)
            ns->dirs = grown;
        if (!grown)
            return -ENOMEM;
        if (*p != '/' || len < 2 || ns->n_dirs == DIRS_MAX)
            return report_wrong(rd, v, "dirs wants absolute paths of folders");
        grown[ns->n_dirs] = strndup(p, len);
        if (!grown[ns->n_dirs])
            return -ENOMEM;
        ns->n_dirs++;
        p += len + (p[len] == ',');
    }
    return 0;
}

/* ---- options --------------------------------------------------------------------------------- */

static int opt_base_path(struct reader *rd, void *to, const yaml_node_t *v)
{
    (void)to;
    rd->none = scalar_text(v) && strcasecmp(scalar_text(v), "none") == 0;
    return rd->none ? 0 : read_path(rd, v, &rd->ns->base_path);
}

static int opt_auto(struct reader *rd, void *to, const yaml_node_t *v)
{
    (void)to;
    return read_truth(rd, v, &rd->ns->has_auto_base_path, &rd->ns->auto_base_path);
}

static int opt_shared(struct reader *rd, void *to, const yaml_node_t *v)
{
    (void)to;
    return read_truth(rd, v, &rd->ns->has_shared, &rd->ns->shared);
}

static int opt_init(struct reader *rd, void *to, const yaml_node_t *v)
{
    (void)to;
    return read_path(rd, v, &rd->ns->init_script);
}

static int opt_clone(struct reader *rd, void *to, const yaml_node_t *v)
{
    (void)to;
    return read_path(rd, v, &rd->ns->clone_script);
}

static int opt_clone_wait(struct reader *rd, void *to, const yaml_node_t *v)
{
    (void)to;
    return read_seconds(rd, v, &rd->ns->has_clone_script_wait_s, &rd->ns->clone_script_wait_s);
}

static int opt_epilog(struct reader *rd, void *to, const yaml_node_t *v)
{
    (void)to;
    return read_path(rd, v, &rd->ns->clone_epilog);
}

static int opt_epilog_wait(struct reader *rd, void *to, const yaml_node_t *v)
{
    (void)to;
    return read_seconds(rd, v, &rd->ns->has_clone_epilog_wait_s, &rd->ns->clone_epilog_wait_s);
}

static int opt_flags(struct reader *rd, void *to, const yaml_node_t *v)
{
    (void)to;
    if (v->type != YAML_SEQUENCE_NODE)
        return report_wrong(rd, v, "a list is expected here");
    rd->ns->has_clone_flags = true;
    rd->ns->clone_flags = 0;
    for (yaml_node_item_t *i = v->data.sequence.items.start; i < v->data.sequence.items.top; i++) {
        const yaml_node_t *n = node_at(rd, *i);
        const char *word = scalar_text(n);

        if (!word || (strcmp(word, "CLONE_NEWNS") != 0 && strcmp(word, "CLONE_NEWPID") != 0 &&
                      strcmp(word, "CLONE_NEWUSER") != 0))
            return report_wrong(rd, n,
                                "clone_ns_flags knows CLONE_NEWNS, CLONE_NEWPID and CLONE_NEWUSER");
        if (strcmp(word, "CLONE_NEWNS") != 0)
            rd->ns->clone_flags |= strcmp(word, "CLONE_NEWPID") == 0 ? CLONE_NEWPID : CLONE_NEWUSER;
    }
    return 0;
}

static int opt_user_script(struct reader *rd, void *to, const yaml_node_t *v)
{
    (void)to;
    return read_path(rd, v, &rd->ns->user_ns_script);
}

static int read_options(struct reader *rd, void *to, const yaml_node_t *v)
{
    static const struct key keys[] = {
        { "auto_base_path", opt_auto },
        { "base_path", opt_base_path },
        { "clone_ns_epilog", opt_epilog },
        { "clone_ns_epilog_wait", opt_epilog_wait },
        { "clone_ns_flags", opt_flags },
        { "clone_ns_script", opt_clone },
        { "clone_ns_script_wait", opt_clone_wait },
        { "dir_confs", opt_dir_confs },
        { "dirs", opt_dirs },
        { "init_script", opt_init },
        { "shared", opt_shared },
        { "user_ns_script", opt_user_script },
    };

    return walk_map(rd, v, keys, ARRAY_SIZE(keys), to);
}

/* ---- the file -------------------------------------------------------------------------------- */

struct entry { /* of node_confs */
    const yaml_node_t *options;
    bool ours;
};

static int one_list(struct reader *rd, struct entry *e, const yaml_node_t *n)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    struct err err = { .text = "" };

    if (!scalar_text(n) || hostlist_parse(scalar_text(n), &hl, &err) < 0)
        return report_wrong(rd, n, scalar_text(n) ? err.text : "a host list is expected here");
    e->ours = e->ours || hostlist_find(hl, rd->node) >= 0;
    return 0;
}

static int entry_nodes(struct reader *rd, void *to, const yaml_node_t *v)
{
    int r = 0;

    if (v->type != YAML_SEQUENCE_NODE)
        return one_list(rd, to, v);
    for (yaml_node_item_t *i = v->data.sequence.items.start;
         r == 0 && i < v->data.sequence.items.top; i++)
        r = one_list(rd, to, node_at(rd, *i));
    return r;
}

static int entry_options(struct reader *rd, void *to, const yaml_node_t *v)
{
    (void)rd;
    ((struct entry *)to)->options = v;
    return 0;
}

static int top_nodes(struct reader *rd, void *to, const yaml_node_t *v)
{
    static const struct key keys[] = { { "nodes", entry_nodes }, { "options", entry_options } };
    int r = 0;

    (void)to;
    if (v->type != YAML_SEQUENCE_NODE)
        return report_wrong(rd, v, "a list is expected here");
    for (yaml_node_item_t *i = v->data.sequence.items.start;
         r == 0 && i < v->data.sequence.items.top; i++) {
        struct entry e = { 0 };

        r = walk_map(rd, node_at(rd, *i), keys, ARRAY_SIZE(keys), &e);
        if (r == 0 && e.ours && e.options)
            r = read_options(rd, NULL, e.options);
    }
    return r;
}

static int ignore_value(struct reader *rd, void *to, const yaml_node_t *v)
{
    (void)rd;
    (void)to;
    (void)v;
    return 0;
}

static int bpf_token(struct reader *rd, void *to, const yaml_node_t *v)
{
    protobuf_c_boolean has, value; /* no token is needed: devices are denied from outside */

    (void)to;
    return read_truth(rd, v, &has, &value);
}

/* `defaults` holds before `node_confs`, wherever it stands. */
static int read_tree(struct reader *rd, const yaml_node_t *root)
{
    static const struct key first[] = { { "defaults", read_options },
                                        { "disable_bpf_token", bpf_token },
                                        { "node_confs", ignore_value } };
    static const struct key second[] = { { "defaults", ignore_value },
                                         { "disable_bpf_token", ignore_value },
                                         { "node_confs", top_nodes } };
    int r = walk_map(rd, root, first, ARRAY_SIZE(first), NULL);

    return r == 0 ? walk_map(rd, root, second, ARRAY_SIZE(second), NULL) : r;
}

static bool covers_dir(const Pst__Namespace *ns, const char *dir)
{
    for (size_t i = 0; i < ns->n_confs; i++)
        if (strcmp(ns->confs[i]->path, dir) == 0)
            return true;
    for (size_t i = 0; i < ns->n_dirs; i++)
        if (strcmp(ns->dirs[i], dir) == 0)
            return true;
    return false;
}

static int check_complete(struct reader *rd)
{
    Pst__Namespace *ns = rd->ns;
    int r = 0;

    if (!ns->base_path)
        return err_set(rd->err, -EINVAL, "there is no base_path for node %s", rd->node);
    if (ns->n_confs) { /* they win over dirs */
        for (size_t i = 0; i < ns->n_dirs; i++)
            free(ns->dirs[i]);
        ns->n_dirs = 0;
    } else if (!ns->n_dirs) {
        ns->dirs = calloc(2, sizeof(*ns->dirs));
        if (!ns->dirs)
            return -ENOMEM;
        r = pb_set_str(&ns->dirs[0], "/tmp") | pb_set_str(&ns->dirs[1], "/dev/shm");
        ns->n_dirs = 2;
    }
    if (r < 0)
        return -ENOMEM;
    return covers_dir(ns, ns->base_path)
               ? err_set(rd->err, -EINVAL, "base_path %s must not be one of the private folders",
                         ns->base_path)
               : 0;
}

/* The first document of the text; errors of syntax name their line. */
static int load_document(const char *data, size_t len, yaml_document_t *doc, struct err *err)
{
    struct yamldoc_fault fault;
    int r = yamldoc_load(data, len, doc, &fault);

    return r == -EINVAL ? err_set(err, r, "line %zu: %s", fault.line, fault.why) : r;
}

int nsyaml_parse(const char *data, size_t len, const char *node_name, Pst__Namespace **ret_ns,
                 struct err *err)
{
    struct reader rd = { .node = node_name, .err = err };
    const yaml_node_t *root;
    yaml_document_t doc;
    int r;

    if (len > NSYAML_MAX)
        return err_set(err, -EINVAL, "the file is larger than %u bytes", NSYAML_MAX);
    r = load_document(data, len, &doc, err);
    if (r < 0)
        return r;
    rd.doc = &doc;
    rd.ns = malloc(sizeof(*rd.ns));
    root = yaml_document_get_root_node(&doc);
    if (rd.ns) {
        pst__namespace__init(rd.ns);
        rd.ns->clone_script_wait_s = rd.ns->clone_epilog_wait_s = 10;
        rd.ns->has_clone_script_wait_s = rd.ns->has_clone_epilog_wait_s = true;
        r = root ? read_tree(&rd, root) : err_set(err, -EINVAL, "the file is empty");
    } else {
        r = -ENOMEM;
    }
    yaml_document_delete(&doc);
    if (r == 0 && !rd.none)
        r = check_complete(&rd);
    if ((r < 0 || rd.none) && rd.ns) {
        pst__namespace__free_unpacked(rd.ns, NULL);
        rd.ns = NULL;
    }
    if (r == 0)
        *ret_ns = rd.ns;
    return r;
}
