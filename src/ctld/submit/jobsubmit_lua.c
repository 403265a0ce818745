/* jobsubmit_lua.c - job_submit.lua beside slurm.conf; see jobsubmit.h
 *
 * One script and one state for as long as the configuration stands.  A script that is wrong refuses
 * the request it was asked about, with a sentence that does not show its inside; the log has the
 * rest. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "ctld/submit/jobdesc.h"
#include "model/account/assoc.h"
#include "model/kept.h"
#include "wire/errors.h"

/* What the controller holds: nothing yet while the configuration of its start is checked. */
static struct cluster *cluster_of(lua_State *L)
{
    const struct ctld *ctld = luascript_ctx(luascript_of(L));

    return ctld->cluster;
}

/* ---- the table slurm ------------------------------------------------------------------------- */

/* slurm.jobs[id], slurm.reservations[name]: looked up when asked for. */
static void make_lazy(lua_State *L, const char *name, const char *meta, lua_CFunction index,
                      lua_CFunction pairs)
{
    (void)lua.newuserdata(L, 0, 0);
    if (lua.newmetatable(L, meta)) {
        luascript_function(L, "__index", index);
        luascript_function(L, "__pairs", pairs);
    }
    lua_drop(L, 1);
    lua.setmetatable(L, meta);
    lua.setfield(L, -2, name);
}

static int job_by_id(lua_State *L)
{
    struct cluster *c = cluster_of(L);
    int is_number = 0;
    int64_t id = lua.to_integer(L, 2, &is_number);
    struct job *j =
        c && is_number && id > 0 && id <= UINT32_MAX ? cluster_job(c, (uint32_t)id) : NULL;

    if (j)
        luarecord_push(L, &jobrec_type, &j->rec->base, NULL, false);
    else
        lua.pushnil(L);
    return 1;
}

static struct kept *resv_named(const struct cluster *c, const char *name)
{
    size_t at = 0;
    struct kept *k;

    while (c && (k = idmap_next(&c->kept[KEPT_RESV], &at)))
        if (strcmp(((const Pst__ReservationRecord *)k->rec)->name, name) == 0)
            return k;
    return NULL;
}

static int resv_by_name(lua_State *L)
{
    struct kept *k = resv_named(cluster_of(L), lua.check_text(L, 2, NULL));

    if (k)
        luarecord_push(L, &resvrec_type, k->rec, NULL, false);
    else
        lua.pushnil(L);
    return 1;
}

static int next_of_table(lua_State *L)
{
    lua.settop(L, 2);
    if (lua.next(L, 1))
        return 2;
    lua.pushnil(L);
    return 1;
}

/* pairs() over a table made for it, which is on the stack. */
static int pairs_of_table(lua_State *L)
{
    lua.pushcclosure(L, next_of_table, 0);
    lua.rotate(L, -2, 1);
    lua.pushnil(L);
    return 3;
}

static int all_jobs(lua_State *L)
{
    const struct cluster *c = cluster_of(L);
    size_t at = 0;
    struct job *j;

    lua.newtable(L, 0, c ? (int)c->jobs.count : 0);
    while (c && (j = cluster_next_job(c, &at))) {
        luarecord_push(L, &jobrec_type, &j->rec->base, NULL, false);
        lua.seti(L, -2, j->rec->job_id);
    }
    return pairs_of_table(L);
}

static int all_resvs(lua_State *L)
{
    const struct cluster *c = cluster_of(L);
    size_t at = 0;
    struct kept *k;

    lua.newtable(L, 0, 8);
    while (c && (k = idmap_next(&c->kept[KEPT_RESV], &at))) {
        luarecord_push(L, &resvrec_type, k->rec, NULL, false);
        lua.setfield(L, -2, ((const Pst__ReservationRecord *)k->rec)->name);
    }
    return pairs_of_table(L);
}

static int qos_priority(lua_State *L)
{
    const struct cluster *c = cluster_of(L);
    const char *name = lua.check_text(L, 1, NULL);
    const Pst__QosRecord *q = c ? am_qos_named(c->am, name) : NULL;

    if (q)
        lua.pushinteger(L, q->priority);
    else
        lua.pushnil(L);
    return 1;
}

static void set_constants(lua_State *L, void *ctx)
{
    static const struct luascript_constant constants[] = {
#define CODE(symbol, number, text) { #symbol, number },
        SLURM_ERRORS(CODE)
#undef CODE
            { "NICE_OFFSET", INT64_C(0x80000000) },
        { "MEM_PER_CPU", INT64_MIN },
        { "SHARED_FORCE", 0x8000 },
        { "EXPEDITED_REQUEUE", JOBDESC_EXPEDITED_REQUEUE },
    };

    (void)ctx;
    luascript_constants(L, constants, ARRAY_SIZE(constants));
    make_lazy(L, "jobs", "penstock.jobs", job_by_id, all_jobs);
    make_lazy(L, "reservations", "penstock.reservations", resv_by_name, all_resvs);
    luascript_function(L, "get_qos_priority", qos_priority);
}

static void to_log(int level, const char *text)
{
    log_write((enum log_level)level, "job_submit.lua: %s", text);
}

/* ---- a request ------------------------------------------------------------------------------- */

static void push_partitions(lua_State *L, const struct cluster *c)
{
    lua.newtable(L, 0, (int)c->nparts);
    for (size_t i = 0; i < c->nparts; i++) {
        luarecord_push(L, &partrec_type, &c->parts[i]->rec->base, NULL, false);
        lua.setfield(L, -2, c->parts[i]->rec->name);
    }
}

static int new_script(const struct conf *conf, struct ctld *ctld, struct luascript **ret,
                      struct err *err)
{
    const char *path = conf_path(conf), *slash = strrchr(path, '/');
    struct strbuf beside = STRBUF_INIT;
    int r;

    strbuf_addf(&beside, "%.*sjob_submit.lua", slash ? (int)(slash + 1 - path) : 0, path);
    r = beside.failed
            ? -ENOMEM
            : luascript_new(beside.buf, JOBSUBMIT_LIMIT_US, to_log, set_constants, ctld, ret, err);
    strbuf_done(&beside);
    return r;
}

void jobsubmit_lua_forget(struct ctld *ctld)
{
    ctld->submit_script = luascript_free(ctld->submit_script);
}

void jobsubmit_lua_drop(struct ctld *ctld)
{
    ctld->submit_checked = luascript_free(ctld->submit_checked);
}

int jobsubmit_lua_check(struct ctld *ctld, const struct conf *conf, struct err *err)
{
    lua_State *L;
    int r;

    jobsubmit_lua_drop(ctld);
    r = new_script(conf, ctld, &ctld->submit_checked, err);
    if (r == 0)
        r = luascript_begin(ctld->submit_checked, "slurm_job_submit", &L, err);
    if (r < 0)
        jobsubmit_lua_drop(ctld);
    return r;
}

/* The script of this configuration, with its function on the stack of L. */
static int begin_script(struct ctld *ctld, const char *function, lua_State **ret_L, struct err *err)
{
    int r = ctld->submit_script ? 0 : new_script(ctld->conf, ctld, &ctld->submit_script, err);

    return r < 0 ? r : luascript_begin(ctld->submit_script, function, ret_L, err);
}

void jobsubmit_lua_load(struct ctld *ctld)
{
    struct err err = { .text = "" };
    lua_State *L;

    if (ctld->submit_checked) {
        jobsubmit_lua_forget(ctld);
        ctld->submit_script = TAKE_PTR(ctld->submit_checked);
    }
    if (begin_script(ctld, "slurm_job_submit", &L, &err) < 0)
        log_error("%s", err.text); /* requests are refused until it loads */
}

static int call_script(struct jobsubmit_request *r, struct jobdesc *d, int64_t *ret,
                       struct err *err)
{
    lua_State *L = NULL;
    int n = 3,
        code = begin_script(r->ctld, r->job ? "slurm_job_modify" : "slurm_job_submit", &L, err);

    if (code < 0)
        return code;
    luarecord_push(L, &jobdesc_type, &r->desc->base, d, true);
    if (r->job) {
        luarecord_push(L, &jobrec_type, (ProtobufCMessage *)&r->job->base, NULL,
                       false); /* not written */
        n = 4;
    }
    push_partitions(L, r->ctld->cluster);
    lua.pushinteger(L, r->cmd->uid);
    code = luascript_run(r->ctld->submit_script, n, ret, err);
    if (code < 0)
        lua.unref(L, LUA_REGISTRYINDEX, d->environment);
    return code < 0 ? code : jobdesc_keep_environment(L, d);
}

int jobsubmit_lua(struct jobsubmit_request *r)
{
    struct jobdesc d = { .request = r, .environment = LUA_NOREF };
    struct err err = { .text = "" };
    int64_t answer = 0;
    const char *said;
    int code;

    code = call_script(r, &d, &answer, &err);
    if (code < 0) {
        log_error("%s", err_or_nomem(&err));
        strbuf_add(r->messages, "the site's job_submit.lua failed; its administrators find the "
                                "reason in the log of slurmctld");
        return SLURM_ERROR;
    }
    said = luascript_messages(r->ctld->submit_script);
    if (*said)
        strbuf_addf(r->messages, "%s%s", r->messages->len ? "\n" : "", said);
    return answer == 0 ? 0 : answer > 0 && answer < INT32_MAX ? (int)answer : SLURM_ERROR;
}
