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
#include "base/yaml/yamlwalk.h"

#define DIRS_MAX 64u

struct reader {
    const char *node;
    Pst__Namespace *ns;
    bool none; /* base_path: none */
};

static struct reader *reader_of(const struct yamlwalk *w)
{
    return w->context;
}

static int read_text(const struct yamlwalk *w, const yaml_node_t *v, char **field)
{
    return yamlwalk_text(v) ? pb_set_str(field, yamlwalk_text(v))
                            : yamlwalk_wrong(w, v, "a text is expected here");
}

static int read_truth(const struct yamlwalk *w, const yaml_node_t *v, protobuf_c_boolean *has,
                      protobuf_c_boolean *field)
{
    const char *s = yamlwalk_text(v);
    bool yes = s && (strcasecmp(s, "true") == 0 || strcasecmp(s, "yes") == 0);

    if (!s || (!yes && strcasecmp(s, "false") != 0 && strcasecmp(s, "no") != 0))
        return yamlwalk_wrong(w, v, "true or false is expected here");
    *has = true;
    *field = yes;
    return 0;
}

static int read_seconds(const struct yamlwalk *w, const yaml_node_t *v, protobuf_c_boolean *has,
                        uint32_t *field)
{
    const char *s = yamlwalk_text(v);
    char *end = NULL;
    unsigned long n = s && *s >= '0' && *s <= '9' ? strtoul(s, &end, 10) : 0;

    if (!end || *end || n > 65533)
        return yamlwalk_wrong(w, v, "a number of seconds is expected here");
    *has = true;
    *field = (uint32_t)n;
    return 0;
}

static int read_path(const struct yamlwalk *w, const yaml_node_t *v, char **field)
{
    if (!yamlwalk_text(v) || yamlwalk_text(v)[0] != '/')
        return yamlwalk_wrong(w, v, "an absolute path is expected here");
    return read_text(w, v, field);
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
static int dir_options(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    Pst__NamespaceDir *d = to;
    _cleanup_val_(strbuf_done) struct strbuf data = STRBUF_INIT;

    if (!yamlwalk_text(v))
        return yamlwalk_wrong(w, v, "a text is expected here");
    d->has_flags = true;
    d->flags = 0;
    for (const char *p = yamlwalk_text(v); *p;) {
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

static int dir_path(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    return read_path(w, v, &((Pst__NamespaceDir *)to)->path);
}

static int dir_base(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    return read_path(w, v, &((Pst__NamespaceDir *)to)->base_path);
}

static int dir_tmpfs(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    Pst__NamespaceDir *d = to;

    return read_truth(w, v, &d->has_tmpfs, &d->tmpfs);
}

static int one_dir(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    static const struct yamlwalk_key keys[] = { { "path", dir_path },
                                                { "base_path", dir_base },
                                                { "options", dir_options },
                                                { "tmpfs", dir_tmpfs } };
    Pst__Namespace *ns = to;
    Pst__NamespaceDir *d = malloc(sizeof(*d)), **grown;
    int r;

    grown = d ? realloc(ns->confs, (ns->n_confs + 1) * sizeof(*grown)) : NULL;
    if (!grown) {
        free(d);
        return -ENOMEM;
    }
    pst__namespace_dir__init(d);
    ns->confs = grown;
    grown[ns->n_confs++] = d;
    r = yamlwalk_map(w, v, keys, ARRAY_SIZE(keys), d);
    return r == 0 && !d->path ? yamlwalk_wrong(w, v, "an entry of dir_confs needs a path") : r;
}

static void drop_confs(Pst__Namespace *ns)
{
    for (size_t i = 0; i < ns->n_confs; i++)
        pst__namespace_dir__free_unpacked(ns->confs[i], NULL);
    ns->n_confs = 0;
}

static int opt_dir_confs(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    drop_confs(to);
    return yamlwalk_list(w, v, DIRS_MAX, one_dir, to);
}

static int opt_dirs(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    Pst__Namespace *ns = to;

    if (!yamlwalk_text(v))
        return yamlwalk_wrong(w, v, "a text is expected here");
    for (size_t i = 0; i < ns->n_dirs; i++)
        free(ns->dirs[i]);
    ns->n_dirs = 0;
    for (const char *p = yamlwalk_text(v); *p;) {
        size_t len = strcspn(p, ",");
        char **grown = realloc(ns->dirs, (ns->n_dirs + 1) * sizeof(*grown));

        if (grown)
            ns->dirs = grown;
        if (!grown)
            return -ENOMEM;
        if (*p != '/' || len < 2 || ns->n_dirs == DIRS_MAX)
            return yamlwalk_wrong(w, v, "dirs wants absolute paths of folders");
        grown[ns->n_dirs] = strndup(p, len);
        if (!grown[ns->n_dirs])
            return -ENOMEM;
        ns->n_dirs++;
        p += len + (p[len] == ',');
    }
    return 0;
}

/* ---- options --------------------------------------------------------------------------------- */

static int opt_base_path(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    Pst__Namespace *ns = to;

    reader_of(w)->none = yamlwalk_text(v) && strcasecmp(yamlwalk_text(v), "none") == 0;
    return reader_of(w)->none ? 0 : read_path(w, v, &ns->base_path);
}

static int opt_auto(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    Pst__Namespace *ns = to;

    return read_truth(w, v, &ns->has_auto_base_path, &ns->auto_base_path);
}

static int opt_shared(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    Pst__Namespace *ns = to;

    return read_truth(w, v, &ns->has_shared, &ns->shared);
}

static int opt_init(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    Pst__Namespace *ns = to;

    return read_path(w, v, &ns->init_script);
}

static int opt_clone(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    Pst__Namespace *ns = to;

    return read_path(w, v, &ns->clone_script);
}

static int opt_clone_wait(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    Pst__Namespace *ns = to;

    return read_seconds(w, v, &ns->has_clone_script_wait_s, &ns->clone_script_wait_s);
}

static int opt_epilog(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    Pst__Namespace *ns = to;

    return read_path(w, v, &ns->clone_epilog);
}

static int opt_epilog_wait(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    Pst__Namespace *ns = to;

    return read_seconds(w, v, &ns->has_clone_epilog_wait_s, &ns->clone_epilog_wait_s);
}

static int opt_flags(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    Pst__Namespace *ns = to;

    if (v->type != YAML_SEQUENCE_NODE)
        return yamlwalk_wrong(w, v, "a list is expected here");
    ns->has_clone_flags = true;
    ns->clone_flags = 0;
    for (yaml_node_item_t *i = v->data.sequence.items.start; i < v->data.sequence.items.top; i++) {
        const yaml_node_t *n = yaml_document_get_node(w->doc, *i);
        const char *word = yamlwalk_text(n);

        if (!word || (strcmp(word, "CLONE_NEWNS") != 0 && strcmp(word, "CLONE_NEWPID") != 0 &&
                      strcmp(word, "CLONE_NEWUSER") != 0))
            return yamlwalk_wrong(
                w, n, "clone_ns_flags knows CLONE_NEWNS, CLONE_NEWPID and CLONE_NEWUSER");
        if (strcmp(word, "CLONE_NEWNS") != 0)
            ns->clone_flags |= strcmp(word, "CLONE_NEWPID") == 0 ? CLONE_NEWPID : CLONE_NEWUSER;
    }
    return 0;
}

static int opt_user_script(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    Pst__Namespace *ns = to;

    return read_path(w, v, &ns->user_ns_script);
}

static int read_options(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    static const struct yamlwalk_key keys[] = {
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

    return yamlwalk_map(w, v, keys, ARRAY_SIZE(keys), to);
}

/* ---- the file -------------------------------------------------------------------------------- */

struct entry { /* of node_confs */
    const yaml_node_t *options;
    bool ours;
};

static int one_list(struct yamlwalk *w, struct entry *e, const yaml_node_t *n)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    struct err err = { .text = "" };

    if (!yamlwalk_text(n) || hostlist_parse(yamlwalk_text(n), &hl, &err) < 0)
        return yamlwalk_wrong(w, n, yamlwalk_text(n) ? err.text : "a host list is expected here");
    e->ours = e->ours || hostlist_find(hl, reader_of(w)->node) >= 0;
    return 0;
}

static int entry_nodes(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    int r = 0;

    if (v->type != YAML_SEQUENCE_NODE)
        return one_list(w, to, v);
    for (yaml_node_item_t *i = v->data.sequence.items.start;
         r == 0 && i < v->data.sequence.items.top; i++)
        r = one_list(w, to, yaml_document_get_node(w->doc, *i));
    return r;
}

static int entry_options(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    (void)w;
    ((struct entry *)to)->options = v;
    return 0;
}

static int top_nodes(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    static const struct yamlwalk_key keys[] = { { "nodes", entry_nodes },
                                                { "options", entry_options } };
    int r = 0;

    (void)to;
    if (v->type != YAML_SEQUENCE_NODE)
        return yamlwalk_wrong(w, v, "a list is expected here");
    for (yaml_node_item_t *i = v->data.sequence.items.start;
         r == 0 && i < v->data.sequence.items.top; i++) {
        struct entry e = { 0 };

        r = yamlwalk_map(w, yaml_document_get_node(w->doc, *i), keys, ARRAY_SIZE(keys), &e);
        if (r == 0 && e.ours && e.options)
            r = read_options(w, reader_of(w)->ns, e.options);
    }
    return r;
}

static int ignore_value(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    (void)w;
    (void)to;
    (void)v;
    return 0;
}

static int bpf_token(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    protobuf_c_boolean has, value; /* no token is needed: devices are denied from outside */

    (void)to;
    return read_truth(w, v, &has, &value);
}

/* `defaults` holds before `node_confs`, wherever it stands. */
static int read_tree(struct yamlwalk *w, const yaml_node_t *root)
{
    static const struct yamlwalk_key first[] = { { "defaults", read_options },
                                                 { "disable_bpf_token", bpf_token },
                                                 { "node_confs", ignore_value } };
    static const struct yamlwalk_key second[] = { { "defaults", ignore_value },
                                                  { "disable_bpf_token", ignore_value },
                                                  { "node_confs", top_nodes } };
    int r = yamlwalk_map(w, root, first, ARRAY_SIZE(first), reader_of(w)->ns);

    return r == 0 ? yamlwalk_map(w, root, second, ARRAY_SIZE(second), NULL) : r;
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

static int check_complete(struct yamlwalk *w)
{
    Pst__Namespace *ns = reader_of(w)->ns;
    int r = 0;

    if (!ns->base_path)
        return err_set(w->err, -EINVAL, "there is no base_path for node %s", reader_of(w)->node);
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
               ? err_set(w->err, -EINVAL, "base_path %s must not be one of the private folders",
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
    struct reader rd = { .node = node_name };
    struct yamlwalk w = { .err = err, .context = &rd };
    const yaml_node_t *root;
    yaml_document_t doc;
    int r;

    if (len > NSYAML_MAX)
        return err_set(err, -EINVAL, "the file is larger than %u bytes", NSYAML_MAX);
    r = load_document(data, len, &doc, err);
    if (r < 0)
        return r;
    w.doc = &doc;
    rd.ns = malloc(sizeof(*rd.ns));
    root = yaml_document_get_root_node(&doc);
    if (rd.ns) {
        pst__namespace__init(rd.ns);
        rd.ns->clone_script_wait_s = rd.ns->clone_epilog_wait_s = 10;
        rd.ns->has_clone_script_wait_s = rd.ns->has_clone_epilog_wait_s = true;
        r = root ? read_tree(&w, root) : err_set(err, -EINVAL, "the file is empty");
    } else {
        r = -ENOMEM;
    }
    yaml_document_delete(&doc);
    if (r == 0 && !rd.none)
        r = check_complete(&w);
    if ((r < 0 || rd.none) && rd.ns) {
        pst__namespace__free_unpacked(rd.ns, NULL);
        rd.ns = NULL;
    }
    if (r == 0)
        *ret_ns = rd.ns;
    return r;
}
