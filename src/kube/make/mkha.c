/* mkha.c - see mkha.h */
#include "kube/make/mkha.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"

#define ETCD "spec.ha.etcd"
#define URL_MOST 200u
#define PREFIX_MOST 200u
#define SEED_SIZE 32u
#define KEY_FILE "slurmctld.key"
#define IDENTITY_FOLDER "/etc/penstock/identity"
#define ETCD_FOLDER "/etc/penstock/etcd"
#define LEASE_MS 5000 /* three elections of etcd, and more */

bool mkha_in_etcd(const json_t *controller)
{
    return kubejson_true(controller, "spec.ha.enabled") &&
           json_is_object(kubejson_at(controller, ETCD));
}

/* ---- what is asked for ----------------------------------------------------------------------- */

/* http://HOST:PORT or https://HOST:PORT, of characters that JournalParameters can hold. */
static bool is_endpoint(const json_t *value)
{
    const char *text = json_string_value(value);
    size_t scheme = !text                               ? 0
                    : strncmp(text, "http://", 7) == 0  ? 7
                    : strncmp(text, "https://", 8) == 0 ? 8
                                                        : 0;

    return scheme && strlen(text) <= URL_MOST && text[scheme] &&
           text[mkbase_value_length(text)] == '\0' && !strpbrk(text + scheme, ",;/@?");
}

static bool is_prefix(const char *text)
{
    return strlen(text) <= PREFIX_MOST && *text != '/' &&
           !text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "_.-/")];
}

static int check_etcd(const json_t *o, struct err *err)
{
    const json_t *endpoints = kubejson_at(o, ETCD ".endpoints");
    const char *user = kubejson_text(o, ETCD ".user");
    size_t i;
    json_t *one;

    if (!json_array_size(endpoints))
        return err_set(err, -EINVAL, ETCD ".endpoints: required");
    json_array_foreach(endpoints, i, one)
    {
        if (!is_endpoint(one))
            return err_set(err, -EINVAL,
                           ETCD ".endpoints: '%.60s' is no http://HOST:PORT or https://HOST:PORT",
                           json_string_value(one) ? json_string_value(one) : "");
    }
    if (!is_prefix(kubejson_text(o, ETCD ".prefix")))
        return err_set(err, -EINVAL,
                       ETCD ".prefix: letters, digits, '_', '.', '-' and '/' alone, no '/' first");
    if (strpbrk(user, ",") || user[mkbase_value_length(user)])
        return err_set(err, -EINVAL, ETCD ".user: no blanks, ',', '#', '\"' and '\\'");
    if (*user && !*kubejson_text(o, ETCD ".secretRef.name"))
        return err_set(err, -EINVAL,
                       ETCD ".user: its password is wanted: the key password of the Secret that "
                            "secretRef names");
    if (*kubejson_text(o, "spec.persistence.existingClaim"))
        return err_set(err, -EINVAL,
                       "spec.persistence.existingClaim: with " ETCD
                       " each slurmctld has a folder of its own");
    return 0;
}

int mkha_check(const json_t *o, struct err *err)
{
    if (!kubejson_true(o, "spec.ha.enabled"))
        return 0;
    if (kubejson_true(o, "spec.external"))
        return err_set(err, -EINVAL, "spec.ha.enabled: not with external");
    if (kubejson_at(o, ETCD))
        return check_etcd(o, err);
    if (!kubejson_true(o, "spec.persistence.enabled") ||
        !*kubejson_text(o, "spec.persistence.existingClaim"))
        return err_set(err, -EINVAL,
                       "spec.ha.enabled: several slurmctld share a folder or their log is in etcd: "
                       "persistence.enabled and persistence.existingClaim are required, or " ETCD);
    return 0;
}

int mkha_check_change(const json_t *before, const json_t *now, struct err *err)
{
    bool was = mkha_in_etcd(before), is = mkha_in_etcd(now);

    if (was != is)
        return err_set(err, -EPERM,
                       ETCD ": a log cannot be moved into etcd, or out of it: make another "
                            "Controller");
    if (is && strcmp(kubejson_text(before, ETCD ".prefix"), kubejson_text(now, ETCD ".prefix")))
        return err_set(err, -EPERM, ETCD ".prefix: cannot be changed");
    return 0;
}

/* ---- secrets --------------------------------------------------------------------------------- */

const char *mkha_identity_name(const json_t *controller, char *buf)
{
    (void)snprintf(buf, 300, "%s-controller-identity", kubejson_name(controller));
    return buf;
}

json_t *mkha_identity(const struct mkbase_facts *f)
{
    unsigned char seed[SEED_SIZE];
    char name[300], line[100];
    size_t n;
    json_t *meta, *secret;

    if (getrandom(seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
        return NULL;
    n = (size_t)snprintf(line, sizeof(line), "ed25519-seed:");
    for (size_t i = 0; i < sizeof(seed); i++)
        n += (size_t)snprintf(line + n, sizeof(line) - n, "%02x", seed[i]);
    explicit_bzero(seed, sizeof(seed));
    meta = mkbase_meta(f, mkha_identity_name(f->cr, name), "slurmctld", "controller", NULL);
    (void)json_object_del(meta, "ownerReferences"); /* nodes know it: it outlives the Controller */
    secret = mkbase_object(OPOWNED_SECRETS, meta);
    if (secret && (json_object_set_new(secret, "data",
                                       json_pack("{s:o}", KEY_FILE, mkbase_base64(line, n))) < 0 ||
                   json_object_set_new(secret, "immutable", json_true()) < 0)) {
        json_decref(secret);
        secret = NULL;
    }
    explicit_bzero(line, sizeof(line));
    return secret;
}

static const json_t *client_files(const struct mkbase_facts *f)
{
    const char *name = kubejson_text(f->cr, ETCD ".secretRef.name");

    return *name ? json_object_get(mkbase_find(f, "Secret", name), "data") : NULL;
}

const char *mkha_missing(const struct mkbase_facts *f)
{
    const json_t *files = client_files(f);

    if (!mkha_in_etcd(f->cr) || !*kubejson_text(f->cr, ETCD ".secretRef.name"))
        return NULL;
    if (!files)
        return ETCD ".secretRef: there is no such Secret";
    if (!json_object_get(files, "tls.crt") != !json_object_get(files, "tls.key"))
        return ETCD ".secretRef: tls.crt and tls.key go together";
    if (*kubejson_text(f->cr, ETCD ".user") && !json_object_get(files, "password"))
        return ETCD ".secretRef: there is no key password in that Secret";
    return NULL;
}

/* ---- what becomes of it ---------------------------------------------------------------------- */

void mkha_write_conf(const struct mkbase_facts *f, struct strbuf *out)
{
    static const struct {
        const char *file, *option;
    } options[] = { { "ca.crt", "cacert" }, { "tls.crt", "cert" }, { "tls.key", "key" } };
    const char *prefix = kubejson_text(f->cr, ETCD ".prefix");
    const char *user = kubejson_text(f->cr, ETCD ".user");
    const json_t *files = client_files(f);
    size_t i;
    json_t *one;

    if (!mkha_in_etcd(f->cr))
        return;
    strbuf_add(out, "JournalType=etcd\nJournalParameters=endpoints=");
    json_array_foreach(kubejson_at(f->cr, ETCD ".endpoints"), i, one)
        strbuf_addf(out, "%s%s", i ? ";" : "", json_string_value(one));
    if (*prefix)
        strbuf_addf(out, ",prefix=%s", prefix);
    else
        strbuf_addf(out, ",prefix=penstock/%s/%s", kubejson_namespace(f->cr), kubejson_name(f->cr));
    strbuf_add(out, ",identity=" IDENTITY_FOLDER "/" KEY_FILE);
    for (i = 0; i < ARRAY_SIZE(options); i++)
        if (json_object_get(files, options[i].file))
            strbuf_addf(out, ",%s=" ETCD_FOLDER "/%s", options[i].option, options[i].file);
    if (*user)
        strbuf_addf(out, ",user=%s,passwordfile=" ETCD_FOLDER "/password", user);
    strbuf_addf(out, "\nSlurmctldLease=%d\n", LEASE_MS);
}

static json_t *make_volume(const char *name, const char *secret)
{
    return json_pack("{s:s, s:{s:s, s:i}}", "name", name, "secret", "secretName", secret,
                     "defaultMode", 0400);
}

int mkha_add_volumes(const struct mkbase_facts *f, json_t *volumes)
{
    const char *client = kubejson_text(f->cr, ETCD ".secretRef.name");
    char name[300];

    if (!mkha_in_etcd(f->cr))
        return 0;
    if (mkbase_push(volumes, make_volume("identity", mkha_identity_name(f->cr, name))) < 0 ||
        (*client && mkbase_push(volumes, make_volume("etcd", client)) < 0))
        return -ENOMEM;
    return 0;
}

static json_t *make_mount(const char *name, const char *path)
{
    return json_pack("{s:s, s:s, s:b}", "name", name, "mountPath", path, "readOnly", 1);
}

int mkha_add_mounts(const struct mkbase_facts *f, json_t *container)
{
    json_t *mounts = json_object_get(container, "volumeMounts");

    if (!mkha_in_etcd(f->cr))
        return 0;
    if (mkbase_push(mounts, make_mount("identity", IDENTITY_FOLDER)) < 0 ||
        (*kubejson_text(f->cr, ETCD ".secretRef.name") &&
         mkbase_push(mounts, make_mount("etcd", ETCD_FOLDER)) < 0))
        return -ENOMEM;
    return 0;
}

json_t *mkha_budget(const struct mkbase_facts *f, const char *name)
{
    json_t *budget =
        mkbase_object(OPOWNED_BUDGETS, mkbase_meta(f, name, "slurmctld", "controller", NULL));
    json_t *spec = json_pack("{s:i, s:{s:o}}", "maxUnavailable", 1, "selector", "matchLabels",
                             mkbase_selector("slurmctld", kubejson_name(f->cr)));

    if (budget && json_object_set_new(budget, "spec", spec) == 0)
        return budget;
    json_decref(budget);
    return NULL;
}
