/* selfline.c - how a dynamic node describes itself; see selfline.h */
#include "noded/hw/selfline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/safetext.h"
#include "base/strbuf.h"
#include "base/wordlist.h"
#include "conf/conf_nodeline.h"
#include "noded/hw/hw.h"

static bool names_any(const char *given, const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (conf_nodeline_names(given, keys[i]))
            return true;
    return false;
}

/* What belongs to somebody else. */
static int check_given(const char *given, struct err *err)
{
    if (!safetext_is_line(given) || strlen(given) > CONF_NODELINE_MAX / 2)
        return err_set(err, -EINVAL, "--conf is too long or has control characters");
    if (conf_nodeline_names(given, "NodeName"))
        return err_set(err, -EINVAL, "--conf cannot have NodeName: -N gives the node's name");
    if (conf_nodeline_names(given, "State"))
        return err_set(err, -EINVAL, "--conf cannot have State: a node that registers is up");
    return 0;
}

/* GPUs of this machine, unless gres.conf knows those of the node. */
static int add_gpus(const struct conf *conf, const char *name, struct strbuf *sb)
{
    _cleanup_free_ char *root = hw_root(conf);
    _cleanup_free_ struct gpu_found *found = NULL;
    enum gpus_how how = gres_how_dynamic(conf, name);
    int n;

    if (!root)
        return -ENOMEM;
    if (how == GPUS_OFF || !wordlist_has_nocase(conf_str(conf, CONF_GRES_TYPES), "gpu"))
        return 0;
    n = gpus_find(root, how, &found);
    if (n > 0) {
        strbuf_add(sb, " Gres=");
        hw_put_gpus(found, n, sb);
    }
    return 0;
}

int selfline_make(const struct conf *conf, const char *name, const char *host, const char *given,
                  char **ret_line, struct err *err)
{
    static const char *const geometry[] = {
        "CPUs", "Procs", "Boards", "SocketsPerBoard", "Sockets", "CoresPerSocket", "ThreadsPerCore"
    };
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    unsigned want = 0;
    int r;

    given = given ? given : "";
    r = check_given(given, err);
    if (r < 0)
        return r;
    strbuf_addf(&sb, "NodeName=%s", name);
    if (!conf_nodeline_names(given, "NodeHostname"))
        strbuf_addf(&sb, " NodeHostname=%s", host);
    if (!names_any(given, geometry, ARRAY_SIZE(geometry)))
        want |= HW_PUT_GEOMETRY;
    if (!conf_nodeline_names(given, "RealMemory"))
        want |= HW_PUT_MEMORY;
    if (want && hw_put_machine(&sb, machine_socket_of(conf, NULL), want) < 0)
        return err_set(err, -EIO, "cannot read the machine's topology");
    if (!conf_nodeline_names(given, "Gres"))
        r = add_gpus(conf, name, &sb);
    strbuf_addf(&sb, "%s%s", *given ? " " : "", given);
    *ret_line = r < 0 || sb.failed ? NULL : strdup(strbuf_str(&sb));
    return *ret_line ? 0 : err_nomem(err);
}

int selfline_check_static(const char *given, struct err *err)
{
    if (!safetext_is_line(given) || !conf_nodeline_only(given, "Topology"))
        return err_set(err, -EINVAL, "without -Z, --conf can have Topology= and nothing else");
    return 0;
}

char *selfline_place(const struct conf *conf, const char *name, const char *given)
{
    _cleanup_(conf_free) struct conf *own = NULL;
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    struct err err = { .text = "" };

    if (!given || !conf_nodeline_names(given, "Topology"))
        return NULL;
    strbuf_addf(&sb, "NodeName=%s %s", name, given);
    if (sb.failed || conf_parse_nodeline(conf, strbuf_str(&sb), &own, &err) < 0)
        return NULL; /* what it is said to have was refused before */
    return strdup(conf_node(own, 0)->topology ? conf_node(own, 0)->topology : "");
}
