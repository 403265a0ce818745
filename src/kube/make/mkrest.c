/* mkrest.c - see mkrest.h */
#include "kube/make/mkrest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"
#include "kube/make/opconf.h"
#include "kube/make/opkeys.h"

#define NAME_SIZE 300u
#define NOBODY 65534
#define SLURM_ID 401

static json_t *make_tcp_probe(const char *port)
{
    return json_pack("{s:{s:s}}", "tcpSocket", "port", port);
}

/* An object with a spec, which is taken. */
static json_t *make_with_spec(enum opowned kind, json_t *meta, json_t *spec)
{
    json_t *object = mkbase_object(kind, meta);

    if (object && json_object_set_new(object, "spec", spec) == 0)
        return object;
    json_decref(object);
    return NULL;
}

/* ---- slurmrestd ------------------------------------------------------------------------------ */

static json_t *make_slurmrestd(const struct mkbase_facts *f)
{
    char listen[32];
    json_t *built, *args;

    (void)snprintf(listen, sizeof(listen), "0.0.0.0:%d", OPCONF_REST_PORT);
    built = mkbase_container(
        f, "slurmrestd",
        json_pack("{s:s, s:[], s:[{s:s, s:i, s:s}], s:[{s:s, s:s}, {s:s, s:s}], s:o, s:o,"
                  " s:{s:b, s:i, s:i}, s:[{s:s, s:s, s:b}]}",
                  "name", "slurmrestd", "args", "ports", "name", "slurmrestd", "containerPort",
                  OPCONF_REST_PORT, "protocol", "TCP", "env", "name", "SLURM_JWT", "value",
                  "daemon", "name", "SLURMRESTD_SECURITY", "value",
                  "disable_unshare_files,disable_unshare_sysv", "livenessProbe",
                  make_tcp_probe("slurmrestd"), "readinessProbe", make_tcp_probe("slurmrestd"),
                  "securityContext", "runAsNonRoot", 1, "runAsUser", NOBODY, "runAsGroup", NOBODY,
                  "volumeMounts", "name", "slurm-etc", "mountPath", "/etc/slurm", "readOnly", 1));
    args = json_object_get(built, "args");
    if (!*kubejson_text(f->controller, "spec.accountingRef.name")) {
        (void)json_array_insert_new(args, 0, json_string("openapi/slurmctld"));
        (void)json_array_insert_new(args, 0, json_string("-s"));
    }
    (void)json_array_append_new(args, json_string(listen)); /* the last one */
    return built;
}

static json_t *make_rest_template(const struct mkbase_facts *f)
{
    struct mkbase_keys keys;
    char config[NAME_SIZE], hash[MKBASE_HASH];
    json_t *meta = mkbase_meta(f, NULL, "slurmrestd", "restapi", "spec.template.metadata");
    struct mkbase_ref conf = { config, "slurm.conf" };
    json_t *spec;

    mkbase_keys(f->controller, &keys);
    (void)snprintf(config, sizeof(config), "%s-config", kubejson_name(f->controller));
    mkbase_hash_of(f, "Secret", &keys.slurm, hash);
    if (!meta || mkbase_note(meta, OPKEY_SLURM_KEY_HASH, hash) < 0 ||
        mkbase_note(meta, OPKEY_MAIN_CONTAINER, "slurmrestd") < 0) {
        json_decref(meta);
        return NULL;
    }
    spec = json_pack("{s:b, s:b, s:{s:i}, s:[o], s:[{s:s, s:{s:i, s:[o, o]}}]}",
                     "automountServiceAccountToken", 0, "enableServiceLinks", 0, "securityContext",
                     "fsGroup", NOBODY, "containers", make_slurmrestd(f), "volumes", "name",
                     "slurm-etc", "projected", "defaultMode", 0640, "sources",
                     mkbase_source("ConfigMap", &conf, "slurm.conf"),
                     mkbase_source("Secret", &keys.slurm, "slurm.key"));
    return mkbase_template(f, meta, spec);
}

int mkrest_objects(const struct mkbase_facts *f, json_t **ret)
{
    char name[NAME_SIZE];
    _cleanup_json_ json_t *all = json_array();
    json_t *spec;

    (void)snprintf(name, sizeof(name), "%s-restapi", kubejson_name(f->cr));
    spec = json_pack("{s:I, s:i, s:{s:o}, s:o}", "replicas",
                     (json_int_t)kubejson_int(f->cr, "spec.replicas", 1), "revisionHistoryLimit", 0,
                     "selector", "matchLabels", mkbase_selector("slurmrestd", kubejson_name(f->cr)),
                     "template", make_rest_template(f));
    if (mkbase_push(all,
                    mkbase_service(f, name, "slurmrestd", "restapi", "slurmrestd", OPCONF_REST_PORT,
                                   mkbase_selector("slurmrestd", kubejson_name(f->cr)))) < 0 ||
        mkbase_push(all,
                    make_with_spec(OPOWNED_DEPLOYMENTS,
                                   mkbase_meta(f, name, "slurmrestd", "restapi", NULL), spec)) < 0)
        return -ENOMEM;
    *ret = TAKE_PTR(all);
    return 0;
}

/* ---- slurmdbd -------------------------------------------------------------------------------- */

static json_t *make_dbd_config(const struct mkbase_facts *f, const char *name, const char *password)
{
    _cleanup_val_(strbuf_done) struct strbuf conf = STRBUF_INIT;
    json_t *secret =
        mkbase_object(OPOWNED_SECRETS, mkbase_meta(f, name, "slurmdbd", "accounting", NULL));

    opconf_write_dbd(f, password, &conf);
    if (secret && !conf.failed &&
        json_object_set_new(
            secret, "data",
            json_pack("{s:o}", "slurmdbd.conf", mkbase_base64(strbuf_str(&conf), conf.len))) == 0) {
        explicit_bzero(conf.buf, conf.len);
        return secret;
    }
    json_decref(secret);
    return NULL;
}

static json_t *make_dbd_spec(const struct mkbase_facts *f, const char *secret)
{
    struct mkbase_keys keys;
    struct mkbase_ref conf = { secret, "slurmdbd.conf" };
    json_t *spec, *sources;

    mkbase_keys(f->cr, &keys);
    sources = json_pack("[o, o, o]", mkbase_source("Secret", &conf, "slurmdbd.conf"),
                        mkbase_source("Secret", &keys.slurm, "slurm.key"),
                        mkbase_source("Secret", &keys.jwt, "jwt.key"));
    if (sources && *keys.jwks.name)
        (void)mkbase_push(sources, mkbase_source("ConfigMap", &keys.jwks, "jwks.json"));
    spec = json_pack(
        "{s:b, s:b, s:{s:b, s:i, s:i, s:i}, s:[o], s:[{s:s, s:{s:i, s:o}}, {s:s, s:{s:s}}]}",
        "automountServiceAccountToken", 0, "enableServiceLinks", 0, "securityContext",
        "runAsNonRoot", 1, "runAsUser", SLURM_ID, "runAsGroup", SLURM_ID, "fsGroup", SLURM_ID,
        "containers",
        mkbase_container(
            f, "slurmdbd",
            json_pack("{s:s, s:[{s:s, s:i, s:s}], s:o, s:[{s:s, s:s, s:b}, {s:s, s:s}]}", "name",
                      "slurmdbd", "ports", "name", "slurmdbd", "containerPort", OPCONF_DBD_PORT,
                      "protocol", "TCP", "readinessProbe", make_tcp_probe("slurmdbd"),
                      "volumeMounts", "name", "slurm-etc", "mountPath", "/etc/slurm", "readOnly", 1,
                      "name", "run", "mountPath", "/run")),
        "volumes", "name", "slurm-etc", "projected", "defaultMode", 0600, "sources", sources,
        "name", "run", "emptyDir", "medium", "Memory");
    return spec;
}

static json_t *make_dbd_template(const struct mkbase_facts *f, const char *name,
                                 const json_t *secret)
{
    json_t *meta = mkbase_meta(f, NULL, "slurmdbd", "accounting", NULL);
    struct mkbase_keys keys;
    char conf[MKBASE_HASH], slurm[MKBASE_HASH], jwt[MKBASE_HASH];

    mkbase_keys(f->cr, &keys);
    mkbase_hash_secret(json_object_get(secret, "data"), conf);
    mkbase_hash_of(f, "Secret", &keys.slurm, slurm);
    mkbase_hash_of(f, "Secret", &keys.jwt, jwt);
    if (!meta || mkbase_note(meta, OPKEY_DBD_HASH, conf) < 0 ||
        mkbase_note(meta, OPKEY_SLURM_KEY_HASH, slurm) < 0 ||
        mkbase_note(meta, OPKEY_JWT_KEY_HASH, jwt) < 0) {
        json_decref(meta);
        return NULL;
    }
    return mkbase_template(f, meta, make_dbd_spec(f, name));
}

int mkrest_accounting(const struct mkbase_facts *f, const char *password, json_t **ret)
{
    char name[NAME_SIZE];
    _cleanup_json_ json_t *all = json_array();
    const char *cr = kubejson_name(f->cr);
    json_t *spec;

    (void)snprintf(name, sizeof(name), "%s-accounting", cr);
    if (mkbase_push(all, make_dbd_config(f, name, password)) < 0)
        return -ENOMEM;
    spec = json_pack("{s:i, s:i, s:s, s:s, s:{s:o}, s:o}", "replicas", 1, "revisionHistoryLimit", 0,
                     "podManagementPolicy", "Parallel", "serviceName", name, "selector",
                     "matchLabels", mkbase_selector("slurmdbd", cr), "template",
                     make_dbd_template(f, name, json_array_get(all, 0)));
    if (mkbase_push(all, mkbase_service(f, name, "slurmdbd", "accounting", "slurmdbd",
                                        OPCONF_DBD_PORT, mkbase_selector("slurmdbd", cr))) < 0 ||
        mkbase_push(all,
                    make_with_spec(OPOWNED_STATEFULSETS,
                                   mkbase_meta(f, name, "slurmdbd", "accounting", NULL), spec)) < 0)
        return -ENOMEM;
    *ret = TAKE_PTR(all);
    return 0;
}
