/* doctorreport.c - see doctorreport.h */
#include "kube/doctor/doctorreport.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/safetext.h"
#include "kube/api/kubejson.h"

static const char *const words[FINDINGS] = { "ok", "note", "warning", "failure" };

int doctorreport_init(struct doctorreport *r)
{
    *r = (struct doctorreport){ .list = json_array() };
    return r->list ? 0 : -ENOMEM;
}

void doctorreport_done(struct doctorreport *r)
{
    json_decref(r->list);
    r->list = NULL;
}

void doctorreport_add(struct doctorreport *r, enum finding what, const char *check, const char *fmt,
                      ...)
{
    char text[1000];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    safetext_clean(text);
    r->counts[what]++;
    if (json_array_append_new(r->list, json_pack("{s:s, s:s, s:s}", "check", check, "result",
                                                 words[what], "text", text)) < 0)
        (void)json_array_append_new(r->list, /* half a character was cut off */
                                    json_pack("{s:s, s:s, s:s}", "check", check, "result",
                                              words[what], "text", "(a text that is no UTF-8)"));
}

static enum finding find_worst(const struct doctorreport *r)
{
    for (int i = FINDING_FAIL; i > FINDING_NOTE; i--)
        if (r->counts[i])
            return (enum finding)i;
    return FINDING_OK;
}

static void write_json(const struct doctorreport *r, FILE *out)
{
    _cleanup_json_ json_t *all =
        json_pack("{s:O, s:s, s:{s:i, s:i, s:i, s:i}}", "checks", r->list, "result",
                  words[find_worst(r)], "counts", words[0], (int)r->counts[0], words[1],
                  (int)r->counts[1], words[2], (int)r->counts[2], words[3], (int)r->counts[3]);
    _cleanup_free_ char *text = json_dumps(all, JSON_INDENT(2));

    (void)fprintf(out, "%s\n", text ? text : "{}"); /* errors of stdout show at exit */
}

void doctorreport_write(const struct doctorreport *r, bool json, FILE *out)
{
    size_t i;
    json_t *one;

    if (json) {
        write_json(r, out);
        return;
    }
    json_array_foreach(r->list, i, one)(void)
        fprintf(out, "%-8s %-9s %s\n", kubejson_text(one, "result"), kubejson_text(one, "check"),
                kubejson_text(one, "text"));
    (void)fprintf(out, "%u ok, %u notes, %u warnings, %u failures\n", r->counts[FINDING_OK],
                  r->counts[FINDING_NOTE], r->counts[FINDING_WARN], r->counts[FINDING_FAIL]);
}

int doctorreport_status(const struct doctorreport *r)
{
    return r->counts[FINDING_FAIL] ? 1 : 0;
}
