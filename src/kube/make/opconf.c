/* opconf.c - see opconf.h */
#include "kube/make/opconf.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/compare/order.h"
#include "kube/api/kubejson.h"
#include "kube/make/mkha.h"

#define OPTIONS_MAX 256u

void opconf_cluster_name(const json_t *controller, char *buf, size_t size)
{
    const char *name = kubejson_text(controller, "spec.clusterName");

    if (*name)
        (void)snprintf(buf, size, "%s", name);
    else
        (void)snprintf(buf, MIN(size, 41u), "%s_%s", kubejson_namespace(controller),
                       kubejson_name(controller));
}

int opconf_replicas(const json_t *controller)
{
    return kubejson_true(controller, "spec.ha.enabled")
               ? 1 + (int)kubejson_int(controller, "spec.ha.backups", 1)
               : 1;
}

const char *opconf_nodeset_name(const json_t *nodeset, char *buf)
{
    const char *host = kubejson_text(nodeset, "spec.template.spec.hostname");
    size_t n;

    host += strspn(host, "-");
    n = strlen(host);
    while (n && host[n - 1] == '-')
        n--;
    if (!n)
        return kubejson_name(nodeset);
    (void)snprintf(buf, 64, "%.*s", (int)n, host);
    return buf;
}

/* ---- options --------------------------------------------------------------------------------- */

/* The next line of a configuration's text, with those that it goes on in; false: the end. */
static bool take_line(const char **text, struct strbuf *line)
{
    strbuf_reset(line);
    if (!**text)
        return false;
    for (;;) {
        size_t n = strcspn(*text, "\n");
        bool more = n && (*text)[n - 1] == '\\' && (*text)[n];

        strbuf_addn(line, *text, more ? n - 1 : n);
        *text += n + ((*text)[n] == '\n');
        if (!more)
            return true;
    }
}

void opconf_find_options(const char *text, const char *key, struct strbuf *out)
{
    _cleanup_val_(strbuf_done) struct strbuf line = STRBUF_INIT;
    size_t n = strlen(key);

    while (take_line(&text, &line)) {
        const char *at = strbuf_str(&line);
        size_t len;

        at += strspn(at, " \t");
        if (strncasecmp(at, key, n) != 0)
            continue;
        at += n + strspn(at + n, " \t");
        if (*at++ != '=')
            continue;
        at += strspn(at, " \t");
        len = strcspn(at, "#");
        while (len && isspace((unsigned char)at[len - 1]))
            len--;
        if (len && out->len)
            strbuf_addc(out, ',');
        strbuf_addn(out, at, len);
    }
}

static bool sets_same(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");

    return n == strcspn(b, "=") && strncasecmp(a, b, n) == 0;
}

/* Add the options of a text that is cut into pieces; those whose name stands already among the
 * first `fixed` are left out. */
static size_t add_options(char *text, char **list, size_t n, size_t fixed)
{
    char *next;

    for (; text && n < OPTIONS_MAX; text = next) {
        bool have = false;

        next = strchr(text, ',');
        if (next)
            *next++ = '\0';
        for (size_t i = 0; i < n && !have; i++)
            have = (i < fixed && sets_same(list[i], text)) || strcasecmp(list[i], text) == 0;
        if (*text && !have)
            list[n++] = text;
    }
    return n;
}

void opconf_merge_options(const char *have, const char *more, struct strbuf *out)
{
    _cleanup_free_ char *a = strdup(have), *b = strdup(more);
    char *list[OPTIONS_MAX];
    size_t n, fixed;

    if (!a || !b) {
        out->failed = true;
        return;
    }
    for (char *p = a; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    for (char *p = b; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    fixed = add_options(a, list, 0, 0);
    n = add_options(b, list, fixed, fixed);
    qsort(list, n, sizeof(*list), order_text);
    for (size_t i = 0; i < n; i++)
        strbuf_addf(out, "%s%s", i ? "," : "", list[i]);
}

/* The key again, when extraConf sets it: the last line counts. */
static void write_override(const char *extra, const char *key, const char *required,
                           struct strbuf *out)
{
    _cleanup_val_(strbuf_done) struct strbuf more = STRBUF_INIT;

    opconf_find_options(extra, key, &more);
    if (!more.len)
        return;
    strbuf_addf(out, "%s=", key);
    opconf_merge_options(required, strbuf_str(&more), out);
    strbuf_addc(out, '\n');
}

/* ---- slurm.conf ------------------------------------------------------------------------------ */

static const char *jwt_options(const json_t *cr)
{
    struct mkbase_keys keys;

    mkbase_keys(cr, &keys);
    return *keys.jwks.name ? "jwt_key=/etc/slurm/jwt.key,jwks=/etc/slurm/jwks.json"
                           : "jwt_key=/etc/slurm/jwt.key";
}

static void write_auth(const json_t *cr, struct strbuf *out)
{
    strbuf_addf(out,
                "AuthType=auth/slurm\nCredType=cred/slurm\nAuthAltTypes=auth/jwt\n"
                "AuthAltParameters=%s\nAuthInfo=use_client_ids\n",
                jwt_options(cr));
}

/* A host of an object that another one wrote: no more of it than one value. */
static void write_host(const json_t *cr, const char *key, struct strbuf *out)
{
    const char *host = kubejson_text(cr, "spec.externalConfig.host");

    strbuf_addf(out, "%s=", key);
    strbuf_addn(out, host, mkbase_value_length(host));
    strbuf_addc(out, '\n');
}

/* A user's lines, whose last one does not go on in what follows. */
static void write_lines(const char *text, struct strbuf *out)
{
    size_t n = strlen(text);
    bool ends = n && text[n - 1] == '\n';

    strbuf_addn(out, text, n);
    if (n && !ends)
        strbuf_addc(out, '\n');
    n -= ends;
    while (n && (text[n - 1] == ' ' || text[n - 1] == '\t'))
        n--;
    if (n && text[n - 1] == '\\')
        strbuf_addc(out, '\n');
}

static void write_accounting(const struct mkbase_facts *f, struct strbuf *out)
{
    const char *name = kubejson_text(f->cr, "spec.accountingRef.name");
    const json_t *a = mkbase_find(f, "Accounting", name);

    if (!a)
        strbuf_add(out, "AccountingStorageType=accounting_storage/none\n");
    else if (kubejson_true(a, "spec.external")) {
        strbuf_add(out, "AccountingStorageType=accounting_storage/slurmdbd\n");
        write_host(a, "AccountingStorageHost", out);
        strbuf_addf(out, "AccountingStoragePort=%d\n",
                    (int)kubejson_int(a, "spec.externalConfig.port", OPCONF_DBD_PORT));
    } else
        strbuf_addf(out,
                    "AccountingStorageType=accounting_storage/slurmdbd\n"
                    "AccountingStorageHost=%s-accounting\nAccountingStoragePort=%d\n",
                    name, OPCONF_DBD_PORT);
}

static void write_hosts(const struct mkbase_facts *f, struct strbuf *out)
{
    const char *name = kubejson_name(f->cr), *ns = kubejson_namespace(f->cr);

    for (int i = 0; i < opconf_replicas(f->cr); i++)
        strbuf_addf(out,
                    "SlurmctldHost=%s-controller-%d(%s-controller-%d.%s-controller-internal.%s)\n",
                    name, i, name, i, name, ns);
    strbuf_addf(out, "SlurmctldPort=%d\nSlurmctldAddr=%s-controller.%s\n", OPCONF_CTLD_PORT, name,
                ns);
}

/* One line for each file of the ConfigMaps at the path, in order of names. */
static void write_scripts(const struct mkbase_facts *f, const char *path, const char *key,
                          const char *folder, struct strbuf *out)
{
    const char *names[OPTIONS_MAX];
    size_t n = 0, i;
    json_t *ref, *value;

    json_array_foreach(kubejson_at(f->cr, path), i, ref)
    {
        const json_t *map = mkbase_find(f, "ConfigMap", kubejson_text(ref, "name"));
        const char *file;

        json_object_foreach(json_object_get(map, "data"), file, value)
        {
            if (n < OPTIONS_MAX)
                names[n++] = file;
        }
    }
    qsort(names, n, sizeof(*names), order_text);
    for (i = 0; i < n; i++)
        strbuf_addf(out, "%s=%s%s\n", key, folder, names[i]);
}

static void write_nodesets(const struct mkbase_facts *f, struct strbuf *out)
{
    size_t i;
    json_t *one;

    json_array_foreach(f->nodesets, i, one)
    {
        char buf[64];
        const char *name = opconf_nodeset_name(one, buf);
        const char *more = kubejson_text(one, "spec.partition.config");

        strbuf_addf(out, "NodeSet=%s Feature=%s\n", name, name);
        if (kubejson_true(one, "spec.partition.enabled"))
            strbuf_addf(out, "PartitionName=%s Nodes=%s%s%s\n", name, name, *more ? " " : "", more);
    }
}

static void write_external(const struct mkbase_facts *f, const char *cluster, struct strbuf *out)
{
    strbuf_addf(out, "ClusterName=%s\nSlurmUser=slurm\n", cluster);
    write_host(f->cr, "SlurmctldHost", out);
    strbuf_addf(out, "SlurmctldPort=%d\n",
                (int)kubejson_int(f->cr, "spec.externalConfig.port", OPCONF_CTLD_PORT));
    write_auth(f->cr, out);
    write_accounting(f, out);
}

static void write_extra(const struct mkbase_facts *f, struct strbuf *out)
{
    const char *extra = kubejson_text(f->cr, "spec.extraConf");

    write_lines(extra, out);
    write_override(extra, "SlurmctldParameters", "enable_configless,reconfig_on_restart", out);
    write_override(extra, "AuthInfo", "use_client_ids", out);
    write_override(extra, "AuthAltParameters", jwt_options(f->cr), out);
}

void opconf_write_slurm(const struct mkbase_facts *f, struct strbuf *out)
{
    char cluster[64];

    opconf_cluster_name(f->cr, cluster, sizeof(cluster));
    if (kubejson_true(f->cr, "spec.external")) {
        write_external(f, cluster, out);
        return;
    }
    strbuf_addf(out, "ClusterName=%s\nSlurmUser=slurm\n", cluster);
    write_hosts(f, out);
    strbuf_addf(out,
                "StateSaveLocation=/var/spool/slurmctld/%s\nSlurmdUser=root\nSlurmdPort=%d\n"
                "SlurmdSpoolDir=/var/spool/slurmd\nMaxNodeCount=1024\n"
                "SlurmctldLogFile=/var/log/slurm/slurmctld.log\n"
                "SlurmSchedLogFile=/var/log/slurm/slurmctld.log\n"
                "SlurmdLogFile=/var/log/slurm/slurmd.log\n",
                cluster, OPCONF_NODE_PORT);
    write_auth(f->cr, out);
    strbuf_add(out, "SlurmctldParameters=enable_configless,reconfig_on_restart\n");
    mkha_write_conf(f, out);
    if (kubejson_true(f->cr, "spec.metrics.enabled"))
        strbuf_add(out, "MetricsType=metrics/openmetrics\n");
    write_accounting(f, out);
    write_scripts(f, "spec.prologSlurmctldScriptRefs", "PrologSlurmctld", "/etc/slurm/", out);
    write_scripts(f, "spec.epilogSlurmctldScriptRefs", "EpilogSlurmctld", "/etc/slurm/", out);
    write_scripts(f, "spec.prologScriptRefs", "Prolog", "", out);
    write_scripts(f, "spec.epilogScriptRefs", "Epilog", "", out);
    write_nodesets(f, out);
    write_extra(f, out);
}

bool opconf_is_password(const char *text)
{
    bool blank = false, quote = false;

    for (const char *p = text; *p; p++) {
        blank = blank || *p == ' ' || *p == '\t';
        quote = quote || *p == '"';
        if (((unsigned char)*p < ' ' && *p != '\t') || *p == 0x7f)
            return false;
    }
    return *text != '"' && !(quote && (blank || text[strlen(text) - 1] == '\\'));
}

/* What would be a comment, the end of the value or the next line is quoted. */
static void write_password(const char *text, struct strbuf *out)
{
    bool quoted = strpbrk(text, " \t") || (*text && text[strlen(text) - 1] == '\\');

    strbuf_add(out, quoted ? "StoragePass=\"" : "StoragePass=");
    for (; *text; text++) {
        if (*text == '#')
            strbuf_addc(out, '\\');
        strbuf_addc(out, *text);
    }
    strbuf_add(out, quoted ? "\"\n" : "\n");
}

void opconf_write_dbd(const struct mkbase_facts *f, const char *password, struct strbuf *out)
{
    const json_t *storage = kubejson_at(f->cr, "spec.storageConfig");
    const char *extra = kubejson_text(f->cr, "spec.extraConf");
    const char *user = kubejson_text(storage, "username");

    strbuf_addf(out,
                "DbdHost=%s-accounting-0\nDbdPort=%d\nSlurmUser=slurm\nAuthType=auth/slurm\n"
                "AuthAltTypes=auth/jwt\nAuthAltParameters=%s\nAuthInfo=use_client_ids\n"
                "StorageType=accounting_storage/mysql\nStorageHost=%s\nStoragePort=%d\n",
                kubejson_name(f->cr), OPCONF_DBD_PORT, jwt_options(f->cr),
                kubejson_text(storage, "host"), (int)kubejson_int(storage, "port", 3306));
    if (*user)
        strbuf_addf(out, "StorageUser=%s\n", user);
    strbuf_addf(out, "StorageLoc=%s\n", kubejson_text(storage, "database"));
    write_password(password, out);
    strbuf_add(out, "LogFile=/dev/null\n");
    write_lines(extra, out);
    write_override(extra, "AuthInfo", "use_client_ids", out);
    write_override(extra, "AuthAltParameters", jwt_options(f->cr), out);
}
