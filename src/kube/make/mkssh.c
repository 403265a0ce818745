/* mkssh.c - see mkssh.h */
#include "kube/make/mkssh.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"

static void add_lines(struct strbuf *out, const char *text)
{
    strbuf_add(out, text);
    if (*text && text[strlen(text) - 1] != '\n')
        strbuf_addc(out, '\n');
}

json_t *mkssh_config(const struct mkbase_facts *f, const char *name, const char *app,
                     const char *component, const char *extra, const char *allowed)
{
    _cleanup_val_(strbuf_done) struct strbuf conf = STRBUF_INIT, keys = STRBUF_INIT;
    json_t *map = mkbase_object(OPOWNED_CONFIGMAPS, mkbase_meta(f, name, app, component, NULL));
    json_t *data;

    strbuf_add(&conf, "Include /etc/ssh/sshd_config.d/*.conf\nUsePAM yes\nX11Forwarding yes\n"
                      "Subsystem sftp internal-sftp\n");
    add_lines(&conf, extra);
    add_lines(&keys, allowed ? allowed : "");
    data = conf.failed || keys.failed ? NULL : json_pack("{s:s}", "sshd_config", strbuf_str(&conf));
    if (map && json_object_set_new(map, "data", data) == 0 &&
        (!allowed ||
         json_object_set_new(data, "authorized_keys", json_string(strbuf_str(&keys))) == 0))
        return map;
    json_decref(map);
    return NULL;
}

int mkssh_mount(json_t *mounts, const char *volume, const char *folder, const char *file)
{
    char path[160];

    (void)snprintf(path, sizeof(path), "%s/%s", folder, file);
    return mkbase_push(mounts, json_pack("{s:s, s:s, s:s, s:b}", "name", volume, "mountPath", path,
                                         "subPath", file, "readOnly", 1));
}

bool mkssh_has_sssd(const struct mkbase_facts *f, const char *path)
{
    struct mkbase_ref sssd = mkbase_ref(f->cr, path, "", "");

    return !kubejson_true(kubejson_at(f->cr, path), "optional") ||
           json_object_get(json_object_get(mkbase_find(f, "Secret", sssd.name), "data"), sssd.key);
}

json_t *mkssh_sssd(const struct mkbase_facts *f, const char *path)
{
    struct mkbase_ref sssd = mkbase_ref(f->cr, path, "", "");

    return json_pack("{s:s, s:{s:s, s:i, s:[{s:s, s:s}]}}", "name", "sssd-conf", "secret",
                     "secretName", sssd.name, "defaultMode", 0600, "items", "key", sssd.key, "path",
                     "sssd.conf");
}
