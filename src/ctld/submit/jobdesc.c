/* jobdesc.c - see jobdesc.h
 *
 * Names and meanings are those of job_submit.lua of Slurm: minutes for limits, bit 63 of
 * pn_min_memory for "per CPU", 0x80000000 for a nice value of 0. */
#include "ctld/submit/jobdesc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare/order.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "model/account/assoc.h"
#include "fieldlists.h"

#define NO_VAL16 0xfffe
#define NO_VAL32 0xfffffffe
#define NO_VAL64 ((int64_t)UINT64_C(0xfffffffffffffffe))
#define INFINITE32 UINT32_MAX
#define MEM_PER_CPU INT64_MIN /* bit 63 */
#define NICE_OFFSET INT64_C(0x80000000)
#define NICE_MAX INT64_C(0x7ffffffc)

static Pst__JobRecord *job_of(ProtobufCMessage *msg)
{
    return (Pst__JobRecord *)msg;
}

static void push_text(lua_State *L, const char *text)
{
    if (text && *text)
        lua.pushtext(L, text);
    else
        lua.pushnil(L);
}

/* ---- limits of time, memory, nice, sharing --------------------------------------------------- */

static void get_time_limit(lua_State *L, ProtobufCMessage *msg, void *ctx)
{
    const Pst__JobRecord *r = job_of(msg);

    (void)ctx;
    lua.pushinteger(L, r->has_time_unlimited && r->time_unlimited ? INFINITE32
                       : r->has_time_limit_min                    ? r->time_limit_min
                                                                  : NO_VAL32);
}

static void set_time_limit(lua_State *L, int index, ProtobufCMessage *msg, void *ctx)
{
    Pst__JobRecord *r = job_of(msg);
    int64_t n;

    (void)ctx;
    r->has_time_limit_min = r->has_time_unlimited = false;
    if (!luarecord_number(L, index, "time_limit", LUA_NUM32, &n))
        return;
    if (n == INFINITE32)
        r->has_time_unlimited = r->time_unlimited = true;
    else if (n < 0 || n > INFINITE32)
        (void)lua.error(L, "time_limit is a number of minutes");
    else
        SET(r, time_limit_min, (uint32_t)n);
}

static void get_memory(lua_State *L, ProtobufCMessage *msg, void *ctx)
{
    const Pst__JobRecord *r = job_of(msg);

    (void)ctx;
    if (r->has_mem_per_node_mib)
        lua.pushinteger(L, (int64_t)r->mem_per_node_mib);
    else if (r->has_mem_per_cpu_mib)
        lua.pushinteger(L, (int64_t)r->mem_per_cpu_mib | MEM_PER_CPU);
    else
        lua.pushinteger(L, NO_VAL64);
}

static void set_memory(lua_State *L, int index, ProtobufCMessage *msg, void *ctx)
{
    Pst__JobRecord *r = job_of(msg);
    int64_t n;

    (void)ctx;
    r->has_mem_per_node_mib = r->has_mem_per_cpu_mib = r->has_mem_per_gpu_mib = false;
    if (!luarecord_number(L, index, "pn_min_memory", LUA_NUM64, &n))
        return;
    if (n & MEM_PER_CPU)
        SET(r, mem_per_cpu_mib, (uint64_t)(n & ~MEM_PER_CPU));
    else
        SET(r, mem_per_node_mib, (uint64_t)n);
}

static void get_nice(lua_State *L, ProtobufCMessage *msg, void *ctx)
{
    const Pst__JobRecord *r = job_of(msg);

    (void)ctx;
    lua.pushinteger(L, r->has_nice ? r->nice + NICE_OFFSET : NO_VAL32);
}

static void set_nice(lua_State *L, int index, ProtobufCMessage *msg, void *ctx)
{
    Pst__JobRecord *r = job_of(msg);
    int64_t n;

    (void)ctx;
    r->has_nice = false;
    if (!luarecord_number(L, index, "nice", LUA_NUM32, &n))
        return;
    n -= NICE_OFFSET;
    if (n < -NICE_MAX || n > NICE_MAX)
        (void)lua.error(
            L, "nice is slurm.NICE_OFFSET plus a number between -2147483644 and 2147483644");
    SET(r, nice, (int32_t)n);
}

/* 0 whole nodes, 1 shared, 2 with the same user, 3 with the same MCS label, 4 topo. */
static void get_shared(lua_State *L, ProtobufCMessage *msg, void *ctx)
{
    const Pst__JobRecord *r = job_of(msg);

    (void)ctx;
    if (r->has_exclusive && r->exclusive)
        lua.pushinteger(L, r->exclusive == 1 ? 0 : r->exclusive);
    else
        lua.pushinteger(L, r->has_oversubscribe && r->oversubscribe ? 1 : NO_VAL16);
}

static void set_shared(lua_State *L, int index, ProtobufCMessage *msg, void *ctx)
{
    Pst__JobRecord *r = job_of(msg);
    int64_t n;

    (void)ctx;
    r->has_exclusive = r->has_oversubscribe = false;
    if (!luarecord_number(L, index, "shared", LUA_NUM16, &n))
        return;
    if (n < 0 || n > 4)
        (void)lua.error(L, "shared is 0 (whole nodes), 1 (shared), 2 (user), 3 (mcs) or 4 (topo)");
    if (n == 1)
        SET(r, oversubscribe, true);
    else
        SET(r, exclusive, n ? (uint32_t)n : 1);
}

/* Of the flags of a job the one that a site has to gate: who may have nodes before all others. */
static void get_bitflags(lua_State *L, ProtobufCMessage *msg, void *ctx)
{
    const Pst__JobRecord *r = job_of(msg);

    (void)ctx;
    lua.pushinteger(L, r->has_expedited && r->expedited ? JOBDESC_EXPEDITED_REQUEUE : 0);
}

static void set_bitflags(lua_State *L, int index, ProtobufCMessage *msg, void *ctx)
{
    Pst__JobRecord *r = job_of(msg);
    int64_t n = 0;

    (void)ctx;
    (void)luarecord_number(L, index, "bitflags", LUA_NUM64, &n); /* nil: none of them */
    if (n & ~JOBDESC_EXPEDITED_REQUEUE)
        (void)lua.error(L, "bitflags is slurm.EXPEDITED_REQUEUE or 0");
    SET(r, expedited, n != 0);
    if (n)
        SET(r, requeue, true);
}

static void get_priority(lua_State *L, ProtobufCMessage *msg, void *ctx)
{
    const Pst__JobRecord *r = job_of(msg);
    const struct jobdesc *d = ctx;
    bool hold = d && d->request->hold && *d->request->hold;

    lua.pushinteger(L, hold ? 0 : r->has_priority ? r->priority : NO_VAL32);
}

static void set_priority(lua_State *L, int index, ProtobufCMessage *msg, void *ctx)
{
    Pst__JobRecord *r = job_of(msg);
    struct jobdesc *d = ctx;
    int64_t n;

    r->has_priority = false;
    if (d->request->hold)
        *d->request->hold = false;
    if (!luarecord_number(L, index, "priority", LUA_NUM32, &n))
        return;
    if (n < 0 || n > UINT32_MAX)
        (void)lua.error(L, "priority is a number from 0 to 4294967294");
    SET(r, priority, (uint32_t)n);
}

/* ---- what is not in the record --------------------------------------------------------------- */

static void get_script(lua_State *L, ProtobufCMessage *msg, void *ctx)
{
    const Pst__SubmitRequest *req = ((struct jobdesc *)ctx)->request->req;

    (void)msg;
    if (req && req->has_script)
        lua.pushbytes(L, (const char *)req->script.data, req->script.len);
    else
        lua.pushnil(L);
}

static void get_array(lua_State *L, ProtobufCMessage *msg, void *ctx)
{
    const Pst__SubmitRequest *req = ((struct jobdesc *)ctx)->request->req;

    (void)msg;
    push_text(L, req ? req->array : NULL);
}

static void set_array(lua_State *L, int index, ProtobufCMessage *msg, void *ctx)
{
    Pst__SubmitRequest *req = ((struct jobdesc *)ctx)->request->req;
    const char *text = lua.type(L, index) <= LUA_TNIL ? NULL : lua.check_text(L, index, NULL);

    (void)msg;
    if (!req)
        (void)lua.error(L, "array_inx cannot be changed any more");
    else if (pb_set_str(&req->array, text && *text ? text : NULL) < 0)
        (void)lua.error(L, ERR_NOMEM);
}

static void get_user_id(lua_State *L, ProtobufCMessage *msg, void *ctx)
{
    const struct jobsubmit_request *r = ((struct jobdesc *)ctx)->request;

    (void)msg;
    lua.pushinteger(L, r->job ? r->job->uid : r->cmd->uid);
}

static void get_group_id(lua_State *L, ProtobufCMessage *msg, void *ctx)
{
    const struct jobsubmit_request *r = ((struct jobdesc *)ctx)->request;

    (void)msg;
    lua.pushinteger(L, r->job ? r->job->gid : r->cmd->gid);
}

static const char *user_name(const struct jobsubmit_request *r)
{
    return r->job ? r->job->user_name : r->cmd->user_name;
}

static void get_user_name(lua_State *L, ProtobufCMessage *msg, void *ctx)
{
    (void)msg;
    push_text(L, user_name(((struct jobdesc *)ctx)->request));
}

static const struct assoc *assoc_of(const struct jobsubmit_request *r)
{
    const char *user = user_name(r);

    return user ? am_find_job(r->ctld->cluster->am, conf_str(r->ctld->conf, CONF_CLUSTER_NAME),
                              user, r->desc->account, r->desc->partition)
                : NULL;
}

static void get_default_account(lua_State *L, ProtobufCMessage *msg, void *ctx)
{
    const struct jobsubmit_request *r = ((struct jobdesc *)ctx)->request;
    const char *user = user_name(r);

    (void)msg;
    push_text(L, user ? am_default_account(r->ctld->cluster->am,
                                           conf_str(r->ctld->conf, CONF_CLUSTER_NAME), user)
                      : NULL);
}

static void get_default_qos(lua_State *L, ProtobufCMessage *msg, void *ctx)
{
    const struct jobsubmit_request *r = ((struct jobdesc *)ctx)->request;
    struct assoc_mgr *am = r->ctld->cluster->am;
    const struct assoc *a = assoc_of(r);
    const Pst__QosRecord *q = a && am_default_qos(am, a) ? am_qos(am, am_default_qos(am, a)) : NULL;

    (void)msg;
    push_text(L, q ? q->name : NULL);
}

/* Names of the QOS that the job may have. */
static void get_assoc_qos(lua_State *L, ProtobufCMessage *msg, void *ctx)
{
    const struct jobsubmit_request *r = ((struct jobdesc *)ctx)->request;
    struct assoc_mgr *am = r->ctld->cluster->am;
    const struct assoc *a = assoc_of(r);
    struct strbuf list = STRBUF_INIT;
    const uint32_t *ids;
    size_t n = a ? am_qos_list(am, a, &ids) : 0;

    (void)msg;
    for (size_t i = 0; i < n; i++) {
        const Pst__QosRecord *q = am_qos(am, ids[i]);

        if (q)
            strbuf_addf(&list, "%s%s", list.len ? "," : "", q->name);
    }
    push_text(L, strbuf_str(&list));
    strbuf_done(&list);
}

/* ---- the environment ------------------------------------------------------------------------- */

static void get_environment(lua_State *L, ProtobufCMessage *msg, void *ctx)
{
    struct jobdesc *d = ctx;
    const Pst__SubmitRequest *req = d->request->req;
    size_t len;

    (void)msg;
    if (!req || !req->has_environment) {
        lua.pushnil(L);
        return;
    }
    if (d->environment != LUA_NOREF) {
        (void)lua.geti(L, LUA_REGISTRYINDEX, d->environment);
        return;
    }
    lua.newtable(L, 0, 64);
    for (size_t at = 0; at < req->environment.len; at += len + 1) {
        const char *entry = (const char *)req->environment.data + at, *is;

        len = strnlen(entry, req->environment.len - at);
        is = memchr(entry, '=', len);
        if (!is)
            continue;
        lua.pushbytes(L, entry, (size_t)(is - entry));
        lua.pushbytes(L, is + 1, len - (size_t)(is + 1 - entry));
        lua.settable(L, -3);
    }
    lua.pushvalue(L, -1);
    d->environment = lua.ref(L, LUA_REGISTRYINDEX);
}

static void set_environment(lua_State *L, int index, ProtobufCMessage *msg, void *ctx)
{
    struct jobdesc *d = ctx;

    (void)msg;
    if (lua.type(L, index) != LUA_TTABLE || !d->request->req || !d->request->req->has_environment)
        (void)lua.error(L, "environment takes a table, and is there for batch jobs");
    lua.pushvalue(L, index);
    lua.unref(L, LUA_REGISTRYINDEX, d->environment); /* nothing happens for LUA_NOREF */
    d->environment = lua.ref(L, LUA_REGISTRYINDEX);
}

/* What plugins of the submitting command have to say, their options among it. */
static void get_plugins(lua_State *L, ProtobufCMessage *msg, void *ctx)
{
    const Pst__JobRecord *r = job_of(msg);

    (void)ctx;
    lua.newtable(L, 0, (int)r->n_spank_job_env);
    for (size_t i = 0; i < r->n_spank_job_env; i++) {
        const char *entry = r->spank_job_env[i], *is = strchr(entry, '=');

        if (!is)
            continue;
        lua.pushbytes(L, entry, (size_t)(is - entry));
        lua.pushtext(L, is + 1);
        lua.settable(L, -3);
    }
}

/* The entries of the table on top as NAME=value, sorted, so that equal environments stay equal. */
static int collect_entries(lua_State *L, char ***ret, size_t *ret_n)
{
    char **list = NULL;
    size_t n = 0, cap = 0;
    int r = 0;

    lua.pushnil(L);
    while (r == 0 && lua.next(L, -2)) {
        int type = lua.type(L, -1);
        bool text = lua.type(L, -2) == LUA_TSTRING && (type == LUA_TSTRING || type == LUA_TNUMBER);
        char **more = n < cap ? list : realloc(list, (cap = cap ? 2 * cap : 64) * sizeof(*list));

        list = more ? more : list;
        if (!more)
            r = -ENOMEM;
        else if (text && asprintf(&list[n], "%s=%s", lua.to_text(L, -2, NULL),
                                  lua.to_text(L, -1, NULL)) < 0)
            r = -ENOMEM;
        else
            n += text;
        lua_drop(L, 1);
    }
    if (n)
        qsort(list, n, sizeof(*list), order_text);
    *ret = list;
    *ret_n = n;
    return r;
}

int jobdesc_keep_environment(lua_State *L, struct jobdesc *d)
{
    struct strbuf all = STRBUF_INIT;
    char **list = NULL;
    size_t n = 0;
    int r;

    if (d->environment == LUA_NOREF)
        return 0;
    (void)lua.geti(L, LUA_REGISTRYINDEX, d->environment);
    r = collect_entries(L, &list, &n);
    lua.settop(L, 0);
    lua.unref(L, LUA_REGISTRYINDEX, d->environment);
    for (size_t i = 0; i < n; i++) {
        strbuf_addn(&all, list[i], strlen(list[i]) + 1);
        free(list[i]);
    }
    free(list);
    if (r < 0 || all.failed) {
        strbuf_done(&all);
        return -ENOMEM;
    }
    free(d->request->req->environment.data);
    d->request->req->environment.len = all.len;
    return all.len ? strbuf_detach(&all, (char **)&d->request->req->environment.data)
                   : (d->request->req->environment.data = NULL, 0);
}

/* ---- the names ------------------------------------------------------------------------------- */

#define FIELD(n, k, f) { .name = n, .kind = k, .field = f },
#define FIXED(n, k, f) { .name = n, .kind = k, .field = f, .read_only = true },
/* What no single field holds. */
#define JOB_SPECIAL                                                                                \
    { .name = "time_limit", .kind = LUA_SPECIAL, .get = get_time_limit, .set = set_time_limit },   \
        { .name = "pn_min_memory", .kind = LUA_SPECIAL, .get = get_memory, .set = set_memory },    \
        { .name = "nice", .kind = LUA_SPECIAL, .get = get_nice, .set = set_nice },                 \
        { .name = "shared", .kind = LUA_SPECIAL, .get = get_shared, .set = set_shared },           \
        { .name = "bitflags", .kind = LUA_SPECIAL, .get = get_bitflags, .set = set_bitflags },     \
    {                                                                                              \
        .name = "priority", .kind = LUA_SPECIAL, .get = get_priority, .set = set_priority          \
    }

#define DERIVED(n, fn)                                                                             \
    {                                                                                              \
        .name = n, .kind = LUA_SPECIAL, .read_only = true, .get = fn                               \
    }
static const struct luarecord_row desc_rows[] = {
    JOB_LUA(FIELD) JOB_SPECIAL,
    { .name = "array_inx", .kind = LUA_SPECIAL, .get = get_array, .set = set_array },
    { .name = "environment", .kind = LUA_SPECIAL, .get = get_environment, .set = set_environment },
    DERIVED("assoc_qos", get_assoc_qos),
    DERIVED("default_account", get_default_account),
    DERIVED("default_qos", get_default_qos),
    DERIVED("group_id", get_group_id),
    DERIVED("script", get_script),
    DERIVED("spank_job_env", get_plugins),
    DERIVED("user_id", get_user_id),
    DERIVED("user_name", get_user_name),
};
const struct luarecord_type jobdesc_type = { "job_desc", desc_rows, ARRAY_SIZE(desc_rows) };

static const struct luarecord_row job_rows[] = { JOB_LUA(FIELD) JOB_LUA_READ(FIXED) JOB_SPECIAL };
const struct luarecord_type jobrec_type = { "job_rec", job_rows, ARRAY_SIZE(job_rows) };

static const struct luarecord_row part_rows[] = { PART_LUA_READ(FIXED) };
const struct luarecord_type partrec_type = { "partition", part_rows, ARRAY_SIZE(part_rows) };

static const struct luarecord_row resv_rows[] = { RESV_LUA_READ(FIXED) };
const struct luarecord_type resvrec_type = { "reservation", resv_rows, ARRAY_SIZE(resv_rows) };
