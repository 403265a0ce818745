/* kubeconfig.c - see kubeconfig.h */
#include "kube/api/kubeconfig.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pb/base64.h"
#include "base/cleanup.h"
#include "base/readfile.h"
#include "base/strbuf.h"
#include "kube/api/kubejson.h"
#include "base/yaml/yamljson.h"

#define ENTRY_DIR "penstock-dir" /* of an entry: where its relative paths begin */
#define IN_CLUSTER_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

void kubeconfig_done(struct kubeconfig *c)
{
    char *const secrets[] = { c->token, c->password, c->key_pem };
    char *const texts[] = { c->server,     c->ca_file,  c->ca_pem,   c->tls_name,   c->proxy,
                            c->cert_file,  c->key_file, c->cert_pem, c->key_pem,    c->token,
                            c->token_file, c->user,     c->password, c->namespace_, c->exec_dir };

    for (size_t i = 0; i < ARRAY_SIZE(secrets); i++)
        if (secrets[i])
            explicit_bzero(secrets[i], strlen(secrets[i]));
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        free(texts[i]);
    json_decref(c->exec);
    *c = (struct kubeconfig){ 0 };
}

int kubeconfig_base64(const char *text, char **ret, size_t *ret_len)
{
    _cleanup_free_ char *out = malloc(strlen(text) / 4 * 3 + 4);
    uint32_t bits = 0;
    unsigned n = 0;
    size_t len = 0;

    if (!out)
        return -ENOMEM;
    for (; *text && *text != '='; text++) {
        int v = base64_digit(*text);

        if (strchr("\n\r \t", *text))
            continue;
        if (v < 0)
            return -EINVAL;
        bits = bits << 6 | (uint32_t)v;
        if (++n % 4 == 0 || n % 4 == 2 || n % 4 == 3)
            out[len++] = (char)(bits >> (n % 4 == 2 ? 4 : n % 4 == 3 ? 2 : 0));
    }
    if (n % 4 == 1 || text[strspn(text, "=\n\r \t")])
        return -EINVAL;
    out[len] = '\0';
    *ret = TAKE_PTR(out);
    *ret_len = len;
    return 0;
}

/* ---- a kubeconfig ---------------------------------------------------------------------------- */

/* The entry of a list whose member `name` is name. */
static const json_t *find_named(const json_t *root, const char *list, const char *name)
{
    size_t i;
    json_t *one;

    json_array_foreach(json_object_get(root, list), i,
                       one) if (strcmp(kubejson_text(one, "name"), name) == 0) return one;
    return NULL;
}

struct reading {
    const char *dir;
    struct err *err;
    int r;
};

static void keep_text(struct reading *rd, const json_t *from, const char *key, char **ret)
{
    const char *text = kubejson_text(from, key);

    if (rd->r < 0 || !*text)
        return;
    *ret = strdup(text);
    if (!*ret)
        rd->r = err_nomem(rd->err);
}

static void keep_path(struct reading *rd, const json_t *from, const char *key, char **ret)
{
    const char *text = kubejson_text(from, key);
    struct strbuf path = STRBUF_INIT;

    if (rd->r < 0 || !*text)
        return;
    if (*text != '/')
        strbuf_addf(&path, "%s/", rd->dir);
    strbuf_add(&path, text);
    if (strbuf_detach(&path, ret) < 0)
        rd->r = err_nomem(rd->err);
}

static void keep_data(struct reading *rd, const json_t *from, const char *key, char **ret)
{
    const char *text = kubejson_text(from, key);
    size_t len = 0;

    if (rd->r < 0 || !*text)
        return;
    rd->r = kubeconfig_base64(text, ret, &len);
    if (rd->r == -EINVAL || (rd->r == 0 && strlen(*ret) != len))
        rd->r = err_set(rd->err, -EINVAL, "%s is no text in base64", key);
}

static void keep_server(struct reading *rd, const json_t *cluster, struct kubeconfig *c)
{
    keep_text(rd, cluster, "server", &c->server);
    if (rd->r < 0)
        return;
    if (!c->server ||
        (!kubejson_after(c->server, "https://") && !kubejson_after(c->server, "http://"))) {
        rd->r = err_set(rd->err, -EINVAL, "the cluster has no server that begins with https://");
        return;
    }
    while (c->server[strlen(c->server) - 1] == '/')
        c->server[strlen(c->server) - 1] = '\0';
    keep_path(rd, cluster, "certificate-authority", &c->ca_file);
    keep_data(rd, cluster, "certificate-authority-data", &c->ca_pem);
    keep_text(rd, cluster, "tls-server-name", &c->tls_name);
    keep_text(rd, cluster, "proxy-url", &c->proxy);
    c->insecure = kubejson_true(cluster, "insecure-skip-tls-verify");
}

static void keep_user(struct reading *rd, const json_t *user, struct kubeconfig *c)
{
    json_t *exec = json_object_get(user, "exec");

    keep_path(rd, user, "client-certificate", &c->cert_file);
    keep_path(rd, user, "client-key", &c->key_file);
    keep_data(rd, user, "client-certificate-data", &c->cert_pem);
    keep_data(rd, user, "client-key-data", &c->key_pem);
    keep_text(rd, user, "token", &c->token);
    keep_path(rd, user, "tokenFile", &c->token_file);
    keep_text(rd, user, "username", &c->user);
    keep_text(rd, user, "password", &c->password);
    if (rd->r < 0 || !json_is_object(exec))
        return;
    if (!*kubejson_text(exec, "command")) {
        rd->r = err_set(rd->err, -EINVAL, "the user's exec has no command");
        return;
    }
    c->exec = json_incref(exec);
    c->exec_dir = strdup(rd->dir);
    if (!c->exec_dir)
        rd->r = err_nomem(rd->err);
}

static int read_context(struct reading *rd, const json_t *root, const char *context,
                        struct kubeconfig *c)
{
    const json_t *named, *inner, *cluster, *user;

    if (!context || !*context)
        context = kubejson_text(root, "current-context");
    if (!*context)
        return err_set(rd->err, -EINVAL, "no context is chosen");
    named = find_named(root, "contexts", context);
    inner = json_object_get(named, "context");
    if (!inner)
        return err_set(rd->err, -EINVAL, "there is no context %.100s", context);
    cluster = find_named(root, "clusters", kubejson_text(inner, "cluster"));
    user = find_named(root, "users", kubejson_text(inner, "user"));
    if (!cluster)
        return err_set(rd->err, -EINVAL, "context %.100s: there is no cluster %.100s", context,
                       kubejson_text(inner, "cluster"));
    rd->dir = kubejson_text(cluster, ENTRY_DIR);
    keep_server(rd, json_object_get(cluster, "cluster"), c);
    keep_text(rd, inner, "namespace", &c->namespace_);
    rd->dir = kubejson_text(user, ENTRY_DIR);
    if (user)
        keep_user(rd, json_object_get(user, "user"), c);
    return rd->r;
}

/* Entries of a list that `all` has not, by their names. */
static int add_entries(json_t *all, const json_t *root, const char *list, const char *dir)
{
    json_t *to = json_object_get(all, list), *one;
    size_t i;

    json_array_foreach(json_object_get(root, list), i, one)
    {
        if (!json_is_object(one) || find_named(all, list, kubejson_text(one, "name")))
            continue;
        if (json_object_set_new(one, ENTRY_DIR, json_string(dir)) < 0 ||
            json_array_append(to, one) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* A file's text beside those before it: what they say stays. */
static int add_text(json_t *all, const char *text, size_t len, const char *dir, struct err *err)
{
    static const char *const lists[] = { "clusters", "contexts", "users" };
    _cleanup_json_ json_t *root = NULL;
    int r = yamljson_parse(text, len, &root, err);

    if (r < 0)
        return r;
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        if (add_entries(all, root, lists[i], dir) < 0)
            return err_nomem(err);
    if (!*kubejson_text(all, "current-context") && *kubejson_text(root, "current-context") &&
        json_object_set(all, "current-context", json_object_get(root, "current-context")) < 0)
        return err_nomem(err);
    return 0;
}

static int add_file(json_t *all, const char *path, struct err *err)
{
    _cleanup_free_ char *text = NULL, *dir = NULL;
    const char *slash = strrchr(path, '/');
    size_t len;
    int r = readfile(path, KUBECONFIG_FILE_MAX, &text, &len);

    if (r < 0)
        return err_set(err, r, "%.200s: %s", path, strerror(-r));
    dir = slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
    r = dir ? add_text(all, text, len, dir, err) : err_nomem(err);
    explicit_bzero(text, len);
    if (r < 0)
        err_prefix(err, "%.200s: ", path);
    return r;
}

static json_t *make_root(void)
{
    return json_pack("{s:[], s:[], s:[]}", "clusters", "contexts", "users");
}

static int read_root(const json_t *all, const char *context, struct kubeconfig *ret,
                     struct err *err)
{
    struct reading rd = { .err = err };
    struct kubeconfig c = { 0 };
    int r = read_context(&rd, all, context, &c);

    if (r < 0)
        kubeconfig_done(&c);
    else
        *ret = c;
    return r;
}

int kubeconfig_parse(const char *text, size_t len, const char *dir, const char *context,
                     struct kubeconfig *ret, struct err *err)
{
    _cleanup_json_ json_t *all = make_root();
    int r = all ? add_text(all, text, len, dir, err) : err_nomem(err);

    return r < 0 ? r : read_root(all, context, ret, err);
}

int kubeconfig_load(const char *path, const char *context, struct kubeconfig *ret, struct err *err)
{
    _cleanup_json_ json_t *all = make_root();
    int r = all ? add_file(all, path, err) : err_nomem(err);

    if (r < 0)
        return r;
    r = read_root(all, context, ret, err);
    if (r < 0)
        err_prefix(err, "%.200s: ", path);
    return r;
}

int kubeconfig_load_list(const char *list, const char *context, struct kubeconfig *ret,
                         struct err *err)
{
    _cleanup_json_ json_t *all = make_root();
    unsigned found = 0;
    int r = all ? 0 : err_nomem(err);

    for (const char *p = list; r == 0 && *p; p += strcspn(p, ":"), p += *p == ':') {
        _cleanup_free_ char *path = strndup(p, strcspn(p, ":"));

        if (!path)
            return err_nomem(err);
        if (!*path)
            continue;
        r = add_file(all, path, err);
        found += r == 0;
        if (r == -ENOENT)
            r = 0; /* as kubectl: the others say it */
    }
    if (r < 0)
        return r;
    if (!found)
        return err_set(err, -ENOENT, "%.200s: no such file", list);
    r = read_root(all, context, ret, err);
    if (r < 0)
        err_prefix(err, "%.200s: ", list);
    return r;
}

/* ---- in a pod -------------------------------------------------------------------------------- */

int kubeconfig_in_cluster(const char *dir, const char *host, const char *port,
                          struct kubeconfig *ret, struct err *err)
{
    struct strbuf server = STRBUF_INIT, token = STRBUF_INIT, ca = STRBUF_INIT;
    struct kubeconfig c = { 0 };

    if (!host || !*host || !port || !*port)
        return err_set(err, -ENOENT,
                       "not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT "
                       "are not set");
    dir = dir ? dir : IN_CLUSTER_DIR;
    strbuf_addf(&server, strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s", host, port);
    strbuf_addf(&token, "%s/token", dir);
    strbuf_addf(&ca, "%s/ca.crt", dir);
    if (strbuf_detach(&server, &c.server) < 0 || strbuf_detach(&token, &c.token_file) < 0 ||
        strbuf_detach(&ca, &c.ca_file) < 0) {
        kubeconfig_done(&c);
        strbuf_done(&server);
        strbuf_done(&token);
        strbuf_done(&ca);
        return err_nomem(err);
    }
    *ret = c;
    return 0;
}
