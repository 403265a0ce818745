/* mklogin.c - see mklogin.h */
#include "kube/make/mklogin.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"
#include "kube/make/mkssh.h"
#include "kube/make/mkworkers.h"
#include "kube/make/opkeys.h"
#include "kube/make/sshkeys.h"

#define APP "login"
#define COMPONENT "login"
#define NAME_SIZE 300u
#define SSSD "spec.sssdConfRef"

void mklogin_names(const json_t *loginset, char config[static 300], char keys[static 300])
{
    (void)snprintf(config, NAME_SIZE, "%s-ssh-config", kubejson_name(loginset));
    (void)snprintf(keys, NAME_SIZE, "%s-ssh-host-keys", kubejson_name(loginset));
}

json_t *mklogin_keys(const struct mkbase_facts *f, json_t *data)
{
    char config[NAME_SIZE], keys[NAME_SIZE];
    json_t *secret;

    mklogin_names(f->cr, config, keys);
    secret = mkbase_object(OPOWNED_SECRETS, mkbase_meta(f, keys, APP, COMPONENT, NULL));
    if (json_object_set_new(secret, "data", data) == 0 && /* takes data in any case */
        json_object_set_new(secret, "immutable", json_true()) == 0)
        return secret;
    json_decref(secret);
    return NULL;
}

bool mklogin_keys_are_whole(const json_t *secret)
{
    const json_t *data = json_object_get(secret, "data");
    bool whole = true;

    for (size_t i = 0; i < SSHKEYS_TYPES; i++)
        whole = whole && json_object_get(data, sshkeys_file((enum sshkeys_type)i)) &&
                json_object_get(data, sshkeys_public_file((enum sshkeys_type)i));
    return whole;
}

/* ---- the pod --------------------------------------------------------------------------------- */

/* Has the user's container a port of the name?  Then it takes the place of the built one. */
static bool has_own_port(const struct mkbase_facts *f)
{
    size_t i;
    json_t *port;

    json_array_foreach(kubejson_at(f->cr, "spec.login.ports"), i, port)
    {
        if (strcmp(kubejson_text(port, "name"), APP) == 0)
            return true;
    }
    return false;
}

/* Files stand beside those of the image: each is mounted by itself. */
static json_t *make_mounts(const struct mkbase_facts *f)
{
    json_t *mounts = json_pack("[{s:s, s:s}, {s:s, s:s}]", "name", "slurm-etc", "mountPath",
                               "/etc/slurm", "name", "run-slurm", "mountPath", "/run/slurm");
    bool made = mounts && mkssh_mount(mounts, "ssh-config", "/etc/ssh", "sshd_config") == 0 &&
                mkssh_mount(mounts, "ssh-config", "/root/.ssh", "authorized_keys") == 0 &&
                (!mkssh_has_sssd(f, SSSD) ||
                 mkssh_mount(mounts, "sssd-conf", "/etc/sssd", "sssd.conf") == 0);

    for (size_t i = 0; made && i < SSHKEYS_TYPES; i++)
        made = mkssh_mount(mounts, "ssh-host-keys", "/etc/ssh",
                           sshkeys_file((enum sshkeys_type)i)) == 0 &&
               mkssh_mount(mounts, "ssh-host-keys", "/etc/ssh",
                           sshkeys_public_file((enum sshkeys_type)i)) == 0;
    if (made)
        return mounts;
    json_decref(mounts);
    return NULL;
}

static json_t *make_login(const struct mkbase_facts *f)
{
    char server[MKWORKERS_DOMAIN], options[MKWORKERS_DOMAIN + 20];
    json_t *built;

    mkworkers_server(f, server);
    (void)snprintf(options, sizeof(options), "--conf-server %s", server);
    built = json_pack("{s:s, s:[{s:s, s:s}], s:{s:{s:[s, s, s]}}, s:o}", "name", APP, "env", "name",
                      "SACKD_OPTIONS", "value", options, "readinessProbe", "exec", "command",
                      "test", "-S", "/run/slurm/sack.socket", "volumeMounts", make_mounts(f));
    if (built && !has_own_port(f))
        (void)json_object_set_new(built, "ports",
                                  json_pack("[{s:s, s:i, s:s}]", "name", APP, "containerPort",
                                            MKSSH_PORT, "protocol", "TCP"));
    return mkbase_container(f, "login", built);
}

/* Copies what a volume of the kubelet holds to where sackd, which is not root, may read it. */
static json_t *make_initconf(const struct mkbase_facts *f)
{
    static const char script[] =
        "set -e; mkdir -p /mnt/etc/slurm; "
        "for f in /mnt/slurm/*.conf /mnt/slurm/*.key; do "
        "[ -e \"$f\" ] || continue; to=/mnt/etc/slurm/${f##*/}; cp -L \"$f\" \"$to\"; "
        "chown 401:401 \"$to\"; "
        "case $to in *.key|*/slurmdbd.conf) chmod 600 \"$to\";; *) chmod 644 \"$to\";; esac; done";

    return mkbase_container(f, "initconf",
                            json_pack("{s:s, s:[s, s, s], s:[{s:s, s:s, s:b}, {s:s, s:s}]}", "name",
                                      "initconf", "command", "sh", "-c", script, "volumeMounts",
                                      "name", "slurm-key", "mountPath", "/mnt/slurm", "readOnly", 1,
                                      "name", "slurm-etc", "mountPath", "/mnt/etc/slurm"));
}

static json_t *make_volumes(const struct mkbase_facts *f, const char *config, const char *host_keys)
{
    struct mkbase_keys keys;
    json_t *list;

    mkbase_keys(f->controller, &keys);
    list = json_pack("[{s:s, s:{s:i, s:[o]}}, {s:s, s:{}}, {s:s, s:{s:s}}, {s:s, s:{s:s, s:i}},"
                     " {s:s, s:{s:s, s:i}}]",
                     "name", "slurm-key", "projected", "defaultMode", 0600, "sources",
                     mkbase_source("Secret", &keys.slurm, "slurm.key"), "name", "slurm-etc",
                     "emptyDir", "name", "run-slurm", "emptyDir", "medium", "Memory", "name",
                     "ssh-config", "configMap", "name", config, "defaultMode", 0600, "name",
                     "ssh-host-keys", "secret", "secretName", host_keys, "defaultMode", 0600);
    if (mkssh_has_sssd(f, SSSD))
        (void)json_array_append_new(list, mkssh_sssd(f, SSSD));
    return list;
}

static json_t *make_pod_spec(const struct mkbase_facts *f, const char *config,
                             const char *host_keys)
{
    char search[MKWORKERS_DOMAIN];

    mkworkers_domain(f, search);
    return json_pack("{s:b, s:b, s:{s:[s]}, s:[o], s:[o], s:o}", "automountServiceAccountToken", 0,
                     "enableServiceLinks", 0, "dnsConfig", "searches", search, "initContainers",
                     make_initconf(f), "containers", make_login(f), "volumes",
                     make_volumes(f, config, host_keys));
}

/* What replaces the pods when it changes. */
static int note_hashes(const struct mkbase_facts *f, const json_t *config, const char *host_keys,
                       json_t *meta)
{
    struct mkbase_ref sssd = mkbase_ref(f->cr, SSSD, "", "");
    struct mkbase_keys keys;
    char hash[MKBASE_HASH];

    mkbase_keys(f->controller, &keys);
    mkbase_hash_of(f, "Secret", &keys.slurm, hash);
    if (mkbase_note(meta, OPKEY_SLURM_KEY_HASH, hash) < 0)
        return -ENOMEM;
    mkbase_hash_of(f, "Secret", &sssd, hash);
    if (mkbase_note(meta, OPKEY_SSSD_HASH, hash) < 0)
        return -ENOMEM;
    mkbase_hash(json_object_get(config, "data"), hash);
    if (mkbase_note(meta, OPKEY_SSHD_HASH, hash) < 0)
        return -ENOMEM;
    mkbase_hash_secret(json_object_get(mkbase_find(f, "Secret", host_keys), "data"), hash);
    if (mkbase_note(meta, OPKEY_HOSTKEYS_HASH, hash) < 0)
        return -ENOMEM;
    return mkbase_note(meta, OPKEY_MAIN_CONTAINER, APP);
}

static json_t *make_deployment(const struct mkbase_facts *f, const json_t *config,
                               const char *host_keys)
{
    const char *name = kubejson_name(f->cr);
    json_t *meta = mkbase_meta(f, NULL, APP, COMPONENT, "spec.template.metadata");
    json_t *object = mkbase_object(OPOWNED_DEPLOYMENTS, mkbase_meta(f, name, APP, COMPONENT, NULL));
    const json_t *strategy = kubejson_at(f->cr, "spec.strategy");
    json_t *spec = NULL;

    if (!meta || note_hashes(f, config, host_keys, meta) < 0) {
        json_decref(meta);
        json_decref(object);
        return NULL;
    }
    spec = json_pack("{s:I, s:i, s:{s:o}, s:o}", "replicas",
                     (json_int_t)kubejson_int(f->cr, "spec.replicas", 1), "revisionHistoryLimit", 0,
                     "selector", "matchLabels", mkbase_selector(APP, name), "template",
                     mkbase_template(f, meta, make_pod_spec(f, kubejson_name(config), host_keys)));
    if (spec && object &&
        (!json_object_size(strategy) ||
         json_object_set(spec, "strategy", (json_t *)(uintptr_t)strategy) == 0) &&
        json_object_set(object, "spec", spec) == 0) {
        json_decref(spec);
        return object;
    }
    json_decref(spec);
    json_decref(object);
    return NULL;
}

int mklogin_objects(const struct mkbase_facts *f, json_t **ret)
{
    char config[NAME_SIZE], host_keys[NAME_SIZE];
    _cleanup_json_ json_t *all = json_array();
    const char *name = kubejson_name(f->cr);

    mklogin_names(f->cr, config, host_keys);
    if (mkbase_push(all, mkssh_config(f, config, APP, COMPONENT,
                                      kubejson_text(f->cr, "spec.extraSshdConfig"),
                                      kubejson_text(f->cr, "spec.rootSshAuthorizedKeys"))) < 0 ||
        mkbase_push(all, mkbase_service(f, name, APP, COMPONENT, APP, MKSSH_PORT,
                                        mkbase_selector(APP, name))) < 0 ||
        mkbase_push(all, make_deployment(f, json_array_get(all, 0), host_keys)) < 0)
        return -ENOMEM;
    *ret = TAKE_PTR(all);
    return 0;
}
