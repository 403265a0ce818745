/* resources.c - reading resources.yaml; see resources.h.
 *
 * The document is loaded as a tree and walked by tables of keys.  Aliases of YAML are nodes seen
 * twice; what a walk may cost is bounded by the limits on layers and their nodes.  Relations
 * between layers are checked in layertree.c. */
#include "conf/layers/resources.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/readfile.h"
#include "base/strbuf.h"
#include "base/yaml/yamlwalk.h"
#include "conf/conf.h"
#include "conf/layers/layertree.h"

struct reader {
    const struct conf *conf;
    struct resources *all;
    struct resources_fault *fault; /* may be NULL */
    size_t layers, members;        /* so far, of all resources */
};

static struct reader *reader_of(const struct yamlwalk *w)
{
    return w->context;
}

static int read_text(const struct yamlwalk *w, const yaml_node_t *v, char **ret)
{
    const char *s = yamlwalk_text(v);

    if (!s || !*s)
        return yamlwalk_wrong(w, v, "a text is expected here");
    *ret = strdup(s);
    return *ret ? 0 : -ENOMEM;
}

/* Names stand in requests, where these letters have a meaning. */
static int read_name(const struct yamlwalk *w, const yaml_node_t *v, const char *of, char **ret)
{
    const char *s = yamlwalk_text(v);
    size_t len = s ? strlen(s) : 0;

    if (!len || len > RESOURCES_MAX_NAME || strpbrk(s, ",;|:=@()[]\"'*\\ \t\r\n") || strchr(s, '/'))
        return err_set(w->err, -EINVAL,
                       "line %zu: \"%.64s\" cannot be the name of a %s: use up to %u letters, "
                       "digits, '_', '-' and '.'",
                       v->start_mark.line + 1, s ? s : "", of, RESOURCES_MAX_NAME);
    *ret = strdup(s);
    return *ret ? 0 : -ENOMEM;
}

static int read_number(const struct yamlwalk *w, const yaml_node_t *v, bool infinite, uint32_t *ret)
{
    const char *s = yamlwalk_text(v);
    uint64_t n = 0;
    size_t i = 0;

    if (infinite && s && strcmp(s, "-1") == 0) {
        *ret = RESOURCES_INFINITE;
        return 0;
    }
    for (; s && s[i] >= '0' && s[i] <= '9' && n < UINT32_MAX; i++)
        n = n * 10 + (uint64_t)(s[i] - '0');
    if (!i || s[i] || n >= UINT32_MAX)
        return err_set(w->err, -EINVAL, "line %zu: \"%.32s\" is not a number from 0 to %u%s",
                       v->start_mark.line + 1, s ? s : "", UINT32_MAX - 1,
                       infinite ? ", nor -1 (infinite)" : "");
    *ret = (uint32_t)n;
    return 0;
}

/* ---- {name, value} --------------------------------------------------------------------------- */

struct pair {
    char *name;
    uint32_t value;
    bool has_value;
    const char *of;
};

static int pair_name(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    struct pair *p = to;

    return read_name(w, v, p->of, &p->name);
}

static int pair_value(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    struct pair *p = to;

    p->has_value = true;
    return read_number(w, v, false, &p->value);
}

static int read_pair(struct yamlwalk *w, const yaml_node_t *v, struct pair *p)
{
    static const struct yamlwalk_key keys[] = { { "name", pair_name }, { "value", pair_value } };
    int r = yamlwalk_map(w, v, keys, ARRAY_SIZE(keys), p);

    if (r == 0 && (!p->name || !p->has_value))
        r = err_set(w->err, -EINVAL, "line %zu: a %s needs a name and a value",
                    v->start_mark.line + 1, p->of);
    return r;
}

/* ---- layers ---------------------------------------------------------------------------------- */

static int add_nodes(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    struct resource_layer *l = to;
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    struct err err = { .text = "" };
    const char *s = yamlwalk_text(v);
    int r = s && *s ? hostlist_parse_most(s, HOSTLIST_MAX_NODES, &hl, &err) : -EINVAL;

    if (r == -ENOMEM)
        return r;
    if (r < 0)
        return err_set(w->err, -EINVAL, "line %zu: nodes: %s", v->start_mark.line + 1,
                       err.text[0] ? err.text : "a list of node names is expected here");
    reader_of(w)->members += hostlist_count(hl);
    if (reader_of(w)->members > RESOURCES_MAX_MEMBERS)
        return err_set(w->err, -E2BIG, "line %zu: the layers name more than %u nodes",
                       v->start_mark.line + 1, RESOURCES_MAX_MEMBERS);
    for (size_t i = 0; i < hostlist_count(hl); i++) {
        const char *name = hostlist_nth(hl, i);

        if (!conf_find_node(reader_of(w)->conf, name))
            return err_set(w->err, -EINVAL, "line %zu: no NodeName line of slurm.conf names %.64s",
                           v->start_mark.line + 1, name);
        r = hostlist_push(l->names, name);
        if (r < 0)
            return r;
    }
    return 0;
}

static int layer_nodes(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    struct resource_layer *l = to;
    int r = l->names ? 0 : hostlist_new(&l->names);

    if (r < 0)
        return r;
    r = v->type == YAML_SCALAR_NODE ? add_nodes(w, l, v)
                                    : yamlwalk_list(w, v, HOSTLIST_MAX_NODES, add_nodes, l);
    if (r < 0)
        return r;
    hostlist_uniq(l->names);
    if (!hostlist_count(l->names))
        return yamlwalk_wrong(w, v, "a layer needs at least one node");
    return hostlist_fold(l->names, &l->nodes);
}

static int layer_count(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    struct resource_layer *l = to;

    l->total = 0; /* it is given */
    return read_number(w, v, true, &l->count);
}

static int add_base(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    struct resource_layer *l = to;
    struct pair p = { .of = "base value" };
    int r = read_pair(w, v, &p);

    free(p.name);
    if (r == 0)
        l->base += p.value;
    return r;
}

static int layer_base(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    return yamlwalk_list(w, v, RESOURCES_MAX_VALUES, add_base, to);
}

static int add_layer(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    static const struct yamlwalk_key keys[] = { { "base", layer_base },
                                                { "count", layer_count },
                                                { "nodes", layer_nodes } };
    struct resource *res = to;
    struct resource_layer *l, *grown;
    int r;

    if (++reader_of(w)->layers > RESOURCES_MAX_LAYERS)
        return err_set(w->err, -E2BIG, "line %zu: more than %u layers", v->start_mark.line + 1,
                       RESOURCES_MAX_LAYERS);
    grown = realloc(res->layers, (res->nlayers + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    res->layers = grown;
    l = &grown[res->nlayers++];
    *l = (struct resource_layer){ .line = (unsigned)v->start_mark.line + 1,
                                  .total = RESOURCES_INFINITE,
                                  .parent = RESOURCES_NO_LAYER };
    r = yamlwalk_map(w, v, keys, ARRAY_SIZE(keys), l);
    if (r == 0 && !l->nodes)
        r = yamlwalk_wrong(w, v, "a layer needs nodes: a list such as [\"n[01-12]\"]");
    if (r == 0 && l->total == RESOURCES_INFINITE)
        r = yamlwalk_wrong(w, v, "a layer needs a count");
    return r;
}

/* ---- resources ------------------------------------------------------------------------------- */

static int res_name(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    return read_name(w, v, "resource", &((struct resource *)to)->name);
}

static int res_mode(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    struct resource *res = to;
    const char *s = yamlwalk_text(v);

    if (s && strncmp(s, "MODE_", 5) == 0 && s[5] >= '1' && s[5] <= '3' && !s[6]) {
        res->mode = (unsigned)(s[5] - '0');
        return 0;
    }
    if (reader_of(w)->fault && s) {
        (void)snprintf(reader_of(w)->fault->source, sizeof(reader_of(w)->fault->source),
                       "#/mode[%zu]/", (size_t)(res - reader_of(w)->all->list));
        (void)snprintf(reader_of(w)->fault->word, sizeof(reader_of(w)->fault->word), "%.60s", s);
    }
    return err_set(w->err, -EINVAL, "line %zu: mode %.32s is none of MODE_1, MODE_2, MODE_3",
                   v->start_mark.line + 1, s ? s : "(no text)");
}

static int res_layers(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    return yamlwalk_list(w, v, RESOURCES_MAX_LAYERS, add_layer, to);
}

static int res_topology(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    return read_text(w, v, &((struct resource *)to)->topology);
}

static int add_variable(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    struct resource *res = to;
    struct pair p = { .of = "variable" };
    int r = read_pair(w, v, &p);
    uint32_t known;
    struct resource_value *grown = NULL;

    if (r == 0 && resource_variable(res, p.name, strlen(p.name), &known))
        r = err_set(w->err, -EINVAL, "line %zu: the variable %s stands twice",
                    v->start_mark.line + 1, p.name);
    if (r == 0 && p.name[0] >= '0' && p.name[0] <= '9')
        r = err_set(w->err, -EINVAL, "line %zu: the variable %s begins like a number",
                    v->start_mark.line + 1, p.name);
    if (r == 0) {
        grown = realloc(res->variables, (res->nvariables + 1) * sizeof(*grown));
        r = grown ? 0 : -ENOMEM;
    }
    if (r < 0) {
        free(p.name);
        return r;
    }
    res->variables = grown;
    grown[res->nvariables++] = (struct resource_value){ .name = p.name, .value = p.value };
    return 0;
}

static int res_variables(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    return yamlwalk_list(w, v, RESOURCES_MAX_VALUES, add_variable, to);
}

/* Is there a licence of this name in slurm.conf? */
static bool is_license(const struct conf *c, const char *name)
{
    size_t len = strlen(name);

    for (const char *p = conf_str(c, CONF_LICENSES); p && *p; p += *p != '\0') {
        size_t own = strcspn(p, ":=,;");

        if (own == len && strncmp(p, name, len) == 0)
            return true;
        p += strcspn(p, ",;");
    }
    return false;
}

/* What one resource has to have. */
static int check_resource(struct yamlwalk *w, const struct resource *res, const yaml_node_t *v)
{
    if (!res->name || !res->mode || !res->nlayers)
        return err_set(w->err, -EINVAL, "line %zu: a resource needs %s", v->start_mark.line + 1,
                       !res->name   ? "a name (resource: NAME)"
                       : !res->mode ? "a mode (MODE_1, MODE_2 or MODE_3)"
                                    : "layers");
    for (const struct resource *other = reader_of(w)->all->list; other < res; other++)
        if (strcmp(other->name, res->name) == 0)
            return err_set(w->err, -EINVAL,
                           "line %u: the resource %s is described in line %u already; list all of "
                           "its layers there",
                           res->line, res->name, other->line);
    if (is_license(reader_of(w)->conf, res->name))
        return err_set(w->err, -EINVAL,
                       "line %u: %s is a licence of slurm.conf (Licenses=); a resource needs "
                       "another name",
                       res->line, res->name);
    if (res->topology && res->mode != 3)
        return err_set(w->err, -EINVAL,
                       "line %u: topology is for resources of MODE_3; %s has MODE_%u", res->line,
                       res->name, res->mode);
    return 0;
}

static int add_resource(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    static const struct yamlwalk_key keys[] = {
        { "layers", res_layers },     { "mode", res_mode },           { "resource", res_name },
        { "topology", res_topology }, { "variables", res_variables },
    };
    struct resources *all = to;
    struct resource *res = &all->list[all->n++]; /* yamlwalk_list() counted them */
    int r;

    *res = (struct resource){ .line = (unsigned)v->start_mark.line + 1 };
    r = yamlwalk_map(w, v, keys, ARRAY_SIZE(keys), res);
    if (r == 0)
        r = check_resource(w, res, v);
    if (r == 0)
        r = layertree_settle(res, w->err);
    return r;
}

static int read_root(struct yamlwalk *w, const yaml_node_t *root)
{
    reader_of(w)->all->list = calloc(RESOURCES_MAX, sizeof(*reader_of(w)->all->list));
    if (!reader_of(w)->all->list)
        return -ENOMEM;
    if (yamlwalk_text(root) && !*yamlwalk_text(root))
        return 0; /* nothing but comments */
    return yamlwalk_list(w, root, RESOURCES_MAX, add_resource, reader_of(w)->all);
}

/* ---- the file -------------------------------------------------------------------------------- */

static int load_document(const char *text, size_t len, yaml_document_t *doc, struct err *err)
{
    struct yamldoc_fault fault;
    int r = yamldoc_load(text, len, doc, &fault);

    return r == -EINVAL ? err_set(err, r, "line %zu: this is not YAML: %s", fault.line, fault.why)
                        : r;
}

int resources_parse(const char *text, size_t len, const struct conf *c, struct resources **ret,
                    struct resources_fault *fault, struct err *err)
{
    _cleanup_(resources_free) struct resources *all = calloc(1, sizeof(*all));
    struct reader rd = { .conf = c, .all = all, .fault = fault };
    struct yamlwalk w = { .err = err, .context = &rd };
    const yaml_node_t *root;
    yaml_document_t doc;
    int r;

    if (fault)
        *fault = (struct resources_fault){ .source = "" };
    if (!all)
        return err_nomem(err);
    if (len > RESOURCES_MAX_BYTES)
        return err_set(err, -E2BIG, "line 1: the file is larger than %u bytes",
                       RESOURCES_MAX_BYTES);
    r = load_document(text, len, &doc, err);
    if (r == 0) {
        w.doc = &doc;
        root = yaml_document_get_root_node(&doc);
        r = root ? read_root(&w, root) : 0; /* an empty file is a file without resources */
        yaml_document_delete(&doc);
    }
    if (r == -ENOMEM)
        return err_nomem(err);
    if (r == 0)
        *ret = TAKE_PTR(all);
    return r;
}

static char *path_beside(const char *conf_file)
{
    const char *slash = strrchr(conf_file, '/');
    char *path = NULL;

    if (asprintf(&path, "%.*s%s", slash ? (int)(slash - conf_file + 1) : 0, conf_file,
                 RESOURCES_FILE) < 0)
        return NULL;
    return path;
}

int resources_load(const struct conf *c, struct resources **ret, struct resources_fault *fault,
                   struct err *err)
{
    _cleanup_free_ char *path = path_beside(conf_path(c)), *text = NULL;
    _cleanup_close_ int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : -1;
    size_t len = 0;
    int r;

    if (!path)
        return err_nomem(err);
    if (fd < 0 && errno == ENOENT)
        return resources_parse("", 0, c, ret, fault, err);
    r = fd < 0 ? -errno : readfile_fd(fd, RESOURCES_MAX_BYTES, &text, &len);
    if (r < 0)
        return err_set(err, r, "%s: cannot be read: %s", path, strerror(-r));
    r = resources_parse(text, len, c, ret, fault, err);
    if (r < 0 && r != -ENOMEM)
        err_prefix(err, "%s", path);
    return r;
}

/* ---- questions ------------------------------------------------------------------------------- */

static void layer_done(struct resource_layer *l)
{
    free(l->nodes);
    hostlist_free(l->names);
}

struct resources *resources_free(struct resources *r)
{
    for (size_t i = 0; r && r->list && i < r->n; i++) {
        struct resource *res = &r->list[i];

        for (size_t k = 0; k < res->nlayers; k++)
            layer_done(&res->layers[k]);
        for (size_t k = 0; k < res->nvariables; k++)
            free(res->variables[k].name);
        free(res->layers);
        free(res->variables);
        free(res->name);
        free(res->topology);
    }
    if (r)
        free(r->list);
    free(r);
    return NULL;
}

const struct resource *resources_find(const struct resources *r, const char *name, size_t len)
{
    for (size_t i = 0; r && i < r->n; i++)
        if (strlen(r->list[i].name) == len && strncmp(r->list[i].name, name, len) == 0)
            return &r->list[i];
    return NULL;
}

uint32_t resource_most(const struct resource *r)
{
    return r->layers[r->mode == 3 ? r->nlayers - 1 : 0].total;
}

bool resource_variable(const struct resource *r, const char *name, size_t len, uint32_t *ret)
{
    for (size_t i = 0; i < r->nvariables; i++)
        if (strlen(r->variables[i].name) == len && strncmp(r->variables[i].name, name, len) == 0) {
            *ret = r->variables[i].value;
            return true;
        }
    return false;
}
