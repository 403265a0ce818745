/* admin_util.h - a store of accounting entities, requests to it as JSON, and what they give
 *
 * Needs acct_dep, model_dep and base_json_dep. */
#pragma once

#include "acct_util.h"
#include "json_util.h"

#include "acct/admin/admin.h"
#include "acct/sql/db.h"
#include "acctop.pb-c.h"
#include "base/strbuf.h"
#include "model/account/assoc.h"
#include "wire/errors.h"

struct office {
    struct world *w;
    struct sql *db;
    struct admin *admin;
    int64_t now_us;
    Pst__AcctAdminReply *reply; /* of the last request */
    Pst__AcctOpResult *res;     /* its one result */
};

static const struct admin_who root_user = { .user = "root", .root = true };
static const struct admin_who nobody = { .user = "nobody" };

/* Cluster demo with gres/gpu (1001) and license/matlab (1002). */
UTIL void open_office(struct office *o, struct world *w)
{
    struct err err = { .text = "" };
    Pst__AcctClusterRecord c = PST__ACCT_CLUSTER_RECORD__INIT;
    const char *tres[] = { "gres/gpu", "license/matlab" };

    *o = (struct office){ .w = w, .now_us = T0 + SEC };
    assert_int_equal(acct_db_open(w->db, &o->db, &err), 0);
    assert_int_equal(admin_new(o->db, T0, &o->admin, &err), 0);
    c.name = (char *)"demo"; /* copied, not changed */
    c.control_host = (char *)"127.0.0.1";
    assert_int_equal(admin_register(o->admin, &c, tres, 2, T0, &err), 0);
}

UTIL void drop_reply(struct office *o)
{
    if (o->reply)
        pst__acct_admin_reply__free_unpacked(o->reply, NULL);
    o->reply = NULL;
    o->res = NULL;
}

UTIL void close_office(struct office *o)
{
    drop_reply(o);
    admin_free(o->admin);
    sql_close(o->db);
}

/* The code of one operation, 0 = done.  body: "'where':{...},'set':{...}", either may be absent. */
UTIL int change_as(struct office *o, const struct admin_who *who, const char *verb,
                   const char *entity, const char *body)
{
    _cleanup_free_ char *json = NULL;
    Pst__AcctAdminRequest *req;
    struct err err = { .text = "" };

    assert_true(asprintf(&json, "{'ops':[{'verb':'ACCT_%s','entity':'ACCT_%s'%s%s}]}", verb, entity,
                         *body ? "," : "", body) > 0);
    req = (Pst__AcctAdminRequest *)from_json(&pst__acct_admin_request__descriptor, json);
    drop_reply(o);
    assert_int_equal(admin_run(o->admin, who, req, o->now_us, &o->reply, &err), 0);
    pst__acct_admin_request__free_unpacked(req, NULL);
    assert_int_equal(o->reply->n_results, 1);
    o->res = o->reply->results[0];
    if (o->res->has_code && getenv("PENSTOCK_TEST_VERBOSE"))
        print_message("# %s: %d %s\n", json, o->res->code, o->res->text ? o->res->text : "");
    return o->res->has_code ? o->res->code : 0;
}

UTIL int change(struct office *o, const char *verb, const char *entity, const char *body)
{
    return change_as(o, &root_user, verb, entity, body);
}

/* As change(), which must succeed. */
UTIL void must(struct office *o, const char *verb, const char *entity, const char *body)
{
    int code = change(o, verb, entity, body);

    if (code)
        print_error("# %s %s %s: %d %s\n", verb, entity, body, code,
                    o->res->text ? o->res->text : "");
    assert_int_equal(code, 0);
}

UTIL void join_word(struct strbuf *sb, const char *word)
{
    strbuf_addf(sb, "%s%s", sb->len ? " " : "", word);
}

/* The names that the last request told, with blanks between. */
UTIL void assert_named(struct office *o, const char *want)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    for (size_t i = 0; i < o->res->n_names; i++)
        join_word(&sb, o->res->names[i]);
    assert_string_equal(strbuf_str(&sb), want);
}

/* ---- lists ----------------------------------------------------------------------------------- */

struct looking {
    const char *field; /* of the records, "a.b" is no such thing; NULL: all as JSON */
    struct strbuf out;
    int stop; /* what the callback gives */
};

UTIL int look(void *ctx, const ProtobufCMessage *record)
{
    struct looking *l = ctx;
    const ProtobufCFieldDescriptor *f;
    const char *at;
    char number[32];

    if (!l->field) {
        _cleanup_free_ char *json = json_of(record);

        strbuf_addf(&l->out, "%s%s", l->out.len ? "\n" : "", json);
        return l->stop;
    }
    f = protobuf_c_message_descriptor_get_field_by_name(record->descriptor, l->field);
    assert_non_null(f);
    at = (const char *)record + f->offset;
    if (f->type == PROTOBUF_C_TYPE_STRING) {
        const char *text = *(const char *const *)at;

        join_word(&l->out, text ? text : "-");
    } else {
        (void)snprintf(number, sizeof(number), "%u", *(const uint32_t *)at);
        join_word(&l->out, number);
    }
    return l->stop;
}

UTIL int list_into(struct office *o, const struct admin_who *who, const char *entity,
                   const char *where, struct looking *l)
{
    _cleanup_free_ char *json = NULL;
    Pst__AcctListRequest *req;
    struct err err = { .text = "" };
    int r;

    assert_true(
        asprintf(&json, "{'entity':'ACCT_%s'%s%s}", entity, *where ? ",'where':" : "", where) > 0);
    req = (Pst__AcctListRequest *)from_json(&pst__acct_list_request__descriptor, json);
    r = admin_list(o->admin, who, req, look, l, &err);
    assert_int_equal(r < 0 && l->stop == 0, err.text[0] != '\0');
    pst__acct_list_request__free_unpacked(req, NULL);
    return r;
}

/* A field of all records listed, with blanks between; "-" is an absent text. */
UTIL void assert_list_as(struct office *o, const struct admin_who *who, const char *entity,
                         const char *where, const char *field, const char *want)
{
    struct looking l = { .field = field };

    assert_int_equal(list_into(o, who, entity, where, &l), 0);
    assert_string_equal(strbuf_str(&l.out), want);
    strbuf_done(&l.out);
}

UTIL void assert_list(struct office *o, const char *entity, const char *where, const char *field,
                      const char *want)
{
    assert_list_as(o, &root_user, entity, where, field, want);
}

/* Do the records listed, as JSON, contain this?  A leading '!' asks for the contrary. */
UTIL void assert_told(struct office *o, const char *entity, const char *where, const char *what)
{
    struct looking l = { 0 };
    bool no = *what == '!';
    _cleanup_free_ char *want = quoted(what + no);

    assert_int_equal(list_into(o, &root_user, entity, where, &l), 0);
    if ((strstr(strbuf_str(&l.out), want) != NULL) == no)
        print_error("# %s%s in %s\n", no ? "no " : "", want, strbuf_str(&l.out));
    assert_true((strstr(strbuf_str(&l.out), want) != NULL) != no);
    strbuf_done(&l.out);
}

/* science (carol) above physics (alice) in cluster demo. */
UTIL void plant_tree(struct office *o)
{
    must(o, "ADD", "ACCOUNT", "'where':{'names':['science']}");
    must(o, "ADD", "ACCOUNT", "'where':{'names':['physics']},'set':{'parent':'science'}");
    must(o, "ADD", "USER", "'where':{'names':['alice'],'accounts':['physics']}");
    must(o, "ADD", "USER", "'where':{'names':['carol'],'accounts':['science']}");
}
