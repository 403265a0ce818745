/* restreply.c - the frame of every answer; see restreply.h
 *
 * Keys of the handler come first, then meta, errors and warnings.  An answer for which the handler
 * wrote no key has errors and warnings first, then meta, as the incumbent's. */
#include "rest/restreply.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "conf/conf.h"
#include "http/http.h"
#include "rest/restpath.h"
#include "version.h"
#include "wire/errors.h"

#define YEAR_9999_S UINT64_C(253402300799)

/* ---- the request's words --------------------------------------------------------------------- */

const char *rest_query(const struct rest_call *call, const char *name)
{
    for (size_t i = 0; i < call->n_query; i++)
        if (strcmp(call->query[i].name, name) == 0)
            return call->query[i].value;
    return NULL;
}

bool rest_query_flag(const struct rest_call *call, const char *name, const char *flag)
{
    for (size_t i = 0; i < call->n_query; i++)
        if (strcmp(call->query[i].name, name) == 0 && restpath_in_list(call->query[i].value, flag))
            return true;
    return false;
}

bool rest_query_true(const struct rest_call *call, const char *name)
{
    const char *value = rest_query(call, name);

    return value && (!value[0] || restpath_in_list("true,yes,1,on", value));
}

bool rest_query_time(struct rest_call *call, const char *name, int64_t *ret_us)
{
    const char *value = rest_query(call, name);
    uint64_t seconds = 0;

    if (value && value[0] && parse_u64(value, 0, YEAR_9999_S, &seconds) < 0) {
        rest_error(call, ESLURM_REST_INVALID_QUERY, name,
                   "%s=%.64s is no time in seconds since 1970", name, value);
        return false;
    }
    *ret_us = (int64_t)seconds * USEC_PER_SEC;
    return true;
}

bool rest_query_limit(struct rest_call *call, uint32_t *ret)
{
    const char *value = rest_query(call, "limit");
    uint64_t n = 0;

    if (value && parse_u64(value, 1, REST_LIMIT_MAX, &n) < 0) {
        rest_error(call, ESLURM_REST_INVALID_QUERY, "limit",
                   "limit=%.64s is no number from 1 to %u", value, REST_LIMIT_MAX);
        return false;
    }
    *ret = (uint32_t)n;
    return true;
}

const struct conf *rest_conf(const struct rest_call *call)
{
    return call->rest->config.conf;
}

/* ---- errors and warnings --------------------------------------------------------------------- */

static char *format_text(const char *fmt, va_list ap)
{
    char *text = NULL;

    return vasprintf(&text, fmt, ap) < 0 ? NULL : text;
}

/* Beyond the limit notes are dropped: the first ones tell what is wrong. */
static void add_note(struct rest_note *notes, size_t *n, struct rest_note note)
{
    if (*n < REST_NOTES_MAX) {
        notes[(*n)++] = note;
        return;
    }
    free(note.description);
    free(note.source);
    free(note.said);
}

static char *copy_text(const char *text)
{
    return text ? strdup(text) : NULL;
}

static void add_error(struct rest_call *call, int number, const char *said, const char *source,
                      char *description)
{
    const struct rest_note note = {
        .description = description,
        .source = copy_text(source),
        .said = copy_text(said),
        .number = number,
    };

    add_note(call->notes->errors, &call->notes->n_errors, note);
    if (call->status < 400)
        call->status = rest_status_of(number);
}

void rest_error(struct rest_call *call, int number, const char *source, const char *description,
                ...)
{
    va_list ap;

    va_start(ap, description);
    add_error(call, number, NULL, source, format_text(description, ap));
    va_end(ap);
}

void rest_error_said(struct rest_call *call, int number, const char *said, const char *source,
                     const char *description, ...)
{
    va_list ap;

    va_start(ap, description);
    add_error(call, number, said, source, format_text(description, ap));
    va_end(ap);
}

#define OWN_NUMBERS 19000 /* from here on: what the daemon says is all there is */

void rest_failed(struct rest_call *call, struct client *c, int r, const char *source,
                 const char *description, ...)
{
    const char *said = NULL;
    int number = r == -EREMOTEIO && c ? client_error(c, &said) : EPST_UNREACHABLE;
    va_list ap;

    if (number == EPST_AUTH || number == ESLURM_AUTH_CRED_INVALID || number == ESLURM_AUTH_EXPIRED)
        number = SLURM_PROTOCOL_AUTHENTICATION_ERROR; /* whatever was wrong with the token */
    if (number == EPST_UNREACHABLE && c)
        said = client_strerror(c, r);
    else if (number < OWN_NUMBERS)
        said = NULL;
    va_start(ap, description);
    add_error(call, number, said, source, format_text(description, ap));
    va_end(ap);
}

void rest_warning(struct rest_call *call, const char *source, const char *description, ...)
{
    struct rest_note note = { .source = copy_text(source) };
    va_list ap;

    va_start(ap, description);
    note.description = format_text(description, ap);
    va_end(ap);
    add_note(call->notes->warnings, &call->notes->n_warnings, note);
}

void rest_take_fault(struct rest_call *call, struct rest_fault *ret)
{
    struct rest_notes *n = call->notes;

    *ret = (struct rest_fault){ 0 };
    while (n->n_errors) {
        struct rest_note *e = &n->errors[--n->n_errors];

        rest_fault_done(ret);
        *ret = (struct rest_fault){ e->number, e->said, e->description, e->source };
        *e = (struct rest_note){ 0 };
    }
    call->status = HTTP_OK;
}

void rest_fault_done(struct rest_fault *fault)
{
    free(fault->said);
    free(fault->description);
    free(fault->source);
    *fault = (struct rest_fault){ 0 };
}

bool rest_has_error(const struct rest_call *call)
{
    return call->notes->n_errors > 0;
}

unsigned rest_status_of(int number)
{
    switch (number) {
    case 0:
        return HTTP_OK;
    case ESLURM_INVALID_JOB_ID:
    case ESLURM_REST_UNKNOWN_URL:
        return HTTP_NOT_FOUND;
    case ESLURM_REST_FAIL_PARSING:
        return HTTP_BAD_REQUEST;
    case SLURM_PROTOCOL_AUTHENTICATION_ERROR:
        return HTTP_NOT_BELIEVED;
    case ESLURM_REST_AUTH_FAIL:
        return HTTP_UNAUTHORIZED;
    case EPST_UNREACHABLE:
    case EPST_TIMEOUT:
    case EPST_BUSY:
    case EPST_SHUTTING_DOWN:
    case ESLURM_IN_STANDBY_MODE:
    case EPST_DISK_FULL:
        return HTTP_UNAVAILABLE;
    default:
        return HTTP_UNPROCESSABLE;
    }
}

void rest_unchanged(struct rest_call *call)
{
    call->status = HTTP_NOT_MODIFIED;
}

/* ---- the frame ------------------------------------------------------------------------------- */

void restreply_begin(struct rest_call *call, struct strbuf *sb, enum json_style style)
{
    json_begin(&call->js, sb, style);
    call->js.bare_end = true;
    call->js.version = call->version;
}

static void put_notes(struct rest_call *call)
{
    const struct rest_notes *n = call->notes;

    json_list(&call->js, "errors");
    for (size_t i = 0; i < n->n_errors; i++) {
        const struct rest_note *e = &n->errors[i];

        json_map(&call->js, NULL);
        json_str(&call->js, "description", e->description);
        json_int(&call->js, "error_number", e->number);
        json_str(&call->js, "error",
                 e->said     ? e->said
                 : e->number ? slurm_err_text(e->number)
                             : "No error");
        json_str(&call->js, "source", e->source);
        json_map_end(&call->js);
    }
    json_list_end(&call->js);
    json_list(&call->js, "warnings");
    for (size_t i = 0; i < n->n_warnings; i++) {
        json_map(&call->js, NULL);
        json_str(&call->js, "description", n->warnings[i].description);
        json_str(&call->js, "source", n->warnings[i].source);
        json_map_end(&call->js);
    }
    json_list_end(&call->js);
}

static const char *const plugin_types[] = { "openapi/slurmctld", "openapi/slurmdbd", "openapi/util",
                                            "penstock" };
static const char *const plugin_names[] = { "Slurm OpenAPI slurmctld", "Slurm OpenAPI slurmdbd",
                                            "Slurm OpenAPI util", "Penstock" };

static void put_version(struct json *js)
{
    char major[16] = "", minor[16] = "", micro[16] = "";

    (void)sscanf(SLURM_RELEASE, "%15[0-9].%15[0-9].%15[0-9]", major, minor, micro);
    json_map(js, "version");
    json_str(js, "major", major);
    json_str(js, "micro", micro);
    json_str(js, "minor", minor);
    json_map_end(js);
    json_str(js, "release", SLURM_RELEASE);
}

static void put_meta(struct rest_call *call)
{
    struct json *js = &call->js;
    const struct conf *conf = rest_conf(call);
    char parser[32];

    (void)snprintf(parser, sizeof(parser), "data_parser/v0.0.%u", call->version); /* fits */
    json_map(js, "meta");
    json_map(js, "plugin");
    json_str(js, "type", plugin_types[call->row->plugin]);
    json_str(js, "name", plugin_names[call->row->plugin]);
    json_str(js, "data_parser", parser);
    json_str(js, "accounting_storage", conf_str(conf, CONF_ACCOUNTING_STORAGE_TYPE));
    json_map_end(js);
    json_map(js, "client");
    json_str(js, "source", call->caller->source);
    json_str(js, "user", call->rest->user);
    json_str(js, "group", call->rest->group);
    json_map_end(js);
    json_list(js, "command");
    json_list_end(js);
    json_map(js, "slurm");
    put_version(js);
    json_str(js, "cluster", conf_str(conf, CONF_CLUSTER_NAME));
    json_map_end(js);
    json_map_end(js);
}

void restreply_end(struct rest_call *call)
{
    if (json_is_empty(&call->js)) {
        put_notes(call);
        put_meta(call);
    } else {
        put_meta(call);
        put_notes(call);
    }
    json_end(&call->js);
}

static void free_notes(struct rest_note *notes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(notes[i].description);
        free(notes[i].source);
        free(notes[i].said);
    }
}

void restreply_done(struct rest_call *call)
{
    if (call->notes) {
        free_notes(call->notes->errors, call->notes->n_errors);
        free_notes(call->notes->warnings, call->notes->n_warnings);
        free(call->notes);
    }
    for (size_t i = 0; i < call->n_query; i++) {
        free(call->query[i].name);
        free(call->query[i].value);
    }
    free(call->query);
    json_decref(call->body);
}
