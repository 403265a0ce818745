/* restjobsteps.c - what a body asks of the steps of its script; see restjobsteps.h
 *
 * A binding is a list of flags, and a text for those that need a list.  Both become the text of
 * --cpu-bind or --mem-bind, which its own parser checks. */
#include "rest/slurm/restjobsteps.h"

#include <stdio.h>
#include <string.h>

#include "base/bind/cpubind.h"
#include "base/bind/membind.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "wire/errors.h"

#define SOURCE "_parse_job"
#define PORTS_MAX 65535

struct bind_flag {
    const char *flag; /* of the schema */
    const char *word; /* of the option */
    bool has_list;    /* the text is its list */
};

struct binding {
    const char *text, *flags; /* fields of the schema */
    int (*check)(const char *text, struct err *err);
    const struct bind_flag *known; /* NULL ends it */
};

static int check_cpu_text(const char *text, struct err *err)
{
    struct cpubind b;
    int r = cpubind_parse(text, &b, err);

    if (r == 0)
        cpubind_done(&b);
    return r;
}

static int check_mem_text(const char *text, struct err *err)
{
    struct membind b;
    int r = membind_parse(text, &b, err);

    if (r == 0)
        membind_done(&b);
    return r;
}

static const struct bind_flag cpu_flags[] = {
    { "CPU_BIND_TO_THREADS", "threads", false },
    { "CPU_BIND_TO_CORES", "cores", false },
    { "CPU_BIND_TO_SOCKETS", "sockets", false },
    { "CPU_BIND_TO_LDOMS", "ldoms", false },
    { "CPU_BIND_NONE", "none", false },
    { "CPU_BIND_MAP", "map_cpu:", true },
    { "CPU_BIND_MASK", "mask_cpu:", true },
    { "CPU_BIND_LDRANK", "rank_ldom", false },
    { "CPU_BIND_LDMAP", "map_ldom:", true },
    { "CPU_BIND_LDMASK", "mask_ldom:", true },
    { "VERBOSE", "verbose", false },
    { 0 },
};

static const struct bind_flag mem_flags[] = {
    { "NONE", "none", false },     { "RANK", "rank", false },
    { "MAP", "map_mem:", true },   { "MASK", "mask_mem:", true },
    { "LOCAL", "local", false },   { "VERBOSE", "verbose", false },
    { "PREFER", "prefer", false }, { 0 },
};

static const struct binding cpu_binding = { "cpu_binding", "cpu_binding_flags", check_cpu_text,
                                            cpu_flags };
static const struct binding mem_binding = { "memory_binding", "memory_binding_type", check_mem_text,
                                            mem_flags };

static bool is_set(const struct strbuf *env, const char *name)
{
    size_t len = strlen(name);

    for (const char *p = env->len ? strbuf_str(env) : NULL; p && p < strbuf_str(env) + env->len;
         p += strlen(p) + 1)
        if (strncmp(p, name, len) == 0 && p[len] == '=')
            return true;
    return false;
}

static void add_variable(struct strbuf *env, const char *name, const char *value)
{
    if (is_set(env, name))
        return;
    strbuf_addf(env, "%s=%s", name, value);
    strbuf_addn(env, "", 1);
}

static bool refuse_field(struct rest_call *call, const char *place, const char *field,
                         const char *why)
{
    rest_error_said(call, ESLURM_REST_INVALID_QUERY, why && why[0] ? why : NULL, SOURCE,
                    "%s/%s/ cannot be taken", place, field);
    return false;
}

static const struct bind_flag *find_flag(const struct binding *b, const json_t *flag)
{
    const char *word = json_is_string(flag) ? json_string_value(flag) : "";

    for (const struct bind_flag *f = b->known; f->flag; f++)
        if (strcmp(f->flag, word) == 0)
            return f;
    return NULL;
}

/* The words of the flags; the list comes last, as its commas are its own. */
static void put_flags(struct rest_call *call, const struct binding *b, const json_t *flags,
                      struct strbuf *text, const struct bind_flag **ret_list)
{
    json_t *flag;
    size_t i;

    *ret_list = NULL;
    json_array_foreach(flags, i, flag)
    {
        const struct bind_flag *f = find_flag(b, flag);

        if (!f)
            rest_warning(call, b->flags, "%s/%zu: %.64s has no effect here", b->flags, i,
                         json_is_string(flag) ? json_string_value(flag) : "");
        else if (f->has_list)
            *ret_list = f;
        else
            strbuf_addf(text, "%s%s", text->len ? "," : "", f->word);
    }
}

static bool put_binding(struct rest_call *call, const json_t *desc, const char *place,
                        const struct binding *b, struct strbuf *text)
{
    const char *list = rest_text(desc, b->text);
    const struct bind_flag *with_list;
    struct err err = { .text = "" };

    put_flags(call, b, json_object_get(desc, b->flags), text, &with_list);
    if (with_list || (list && list[0]))
        strbuf_addf(text, "%s%s%s", text->len ? "," : "", with_list ? with_list->word : "",
                    list ? list : "");
    if (text->len && b->check(strbuf_str(text), &err) < 0)
        return refuse_field(call, place, b->text, err.text);
    return true;
}

bool restjobsteps_binding(struct rest_call *call, const json_t *desc, const char *place,
                          struct strbuf *text)
{
    return put_binding(call, desc, place, &cpu_binding, text);
}

/* 0: none. */
static bool add_ports(struct rest_call *call, const json_t *desc, const char *place,
                      struct strbuf *env)
{
    const json_t *value = json_object_get(desc, "reserve_ports");
    char text[24];

    if (!json_is_integer(value) || !json_integer_value(value))
        return true;
    if (json_integer_value(value) < 0 || json_integer_value(value) > PORTS_MAX)
        return refuse_field(call, place, "reserve_ports", "a number of ports is wanted");
    (void)snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(value)); /* it fits */
    add_variable(env, "SLURM_RESV_PORTS", text);
    return true;
}

bool restjobsteps_add(struct rest_call *call, const json_t *desc, const char *place,
                      struct strbuf *env)
{
    _cleanup_val_(strbuf_done) struct strbuf text = STRBUF_INIT;

    if (!put_binding(call, desc, place, &mem_binding, &text))
        return false;
    if (text.len)
        add_variable(env, "SLURM_MEM_BIND", strbuf_str(&text));
    return add_ports(call, desc, place, env);
}
