/* licensefeed.c - licences as text: slurm.conf, job requests, what a job holds; see
 * licensefeed.h. */
#include "feed/licensefeed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/gres/grestext.h"

/* "name", "name:2", "name=2"; word is changed. */
static bool parse_one(char *word, struct gres_text *ret)
{
    return gres_text_parse(word, ret) && !ret->type; /* none of them can be asked for, too */
}

int licenses_configure(struct sched *s, const char *text)
{
    _cleanup_free_ char *copy = strdup(text ? text : "");
    char *save = NULL;
    int r = copy ? 0 : -ENOMEM;

    sched_licenses_clear(s);
    for (char *w = copy ? strtok_r(copy, ",;", &save) : NULL; w && r == 0;
         w = strtok_r(NULL, ",;", &save)) {
        struct gres_text g;

        if (gres_text_parse(w, &g) && !g.type)
            r = sched_license_put(s, g.name, g.count);
    }
    return r;
}

bool licenses_parse(char *text, struct license_list *ret)
{
    bool any = strchr(text, '|') != NULL;
    char *save = NULL;
    size_t n = 1;

    *ret = (struct license_list){ .any = any };
    if (any && strpbrk(text, ",;"))
        return false;
    for (const char *p = text; *p; p++)
        n += strchr(",;|", *p) != NULL;
    if (n > LICENSES_MAX)
        return false;
    ret->items = calloc(n, sizeof(*ret->items));
    if (!ret->items)
        return false;
    for (char *w = strtok_r(text, ",;|", &save); w; w = strtok_r(NULL, ",;|", &save)) {
        struct gres_text g;

        if (!parse_one(w, &g)) {
            free(ret->items);
            *ret = (struct license_list){ 0 };
            return false;
        }
        ret->items[ret->n++] = (struct sched_lic_req){ .name = g.name, .count = g.count };
    }
    return true;
}

/* How many of a licence there are; false for an unknown name. */
static bool total_of(const char *all, const char *name, uint64_t *ret)
{
    _cleanup_free_ char *copy = all ? strdup(all) : NULL;
    char *save = NULL;

    for (char *w = copy ? strtok_r(copy, ",;", &save) : NULL; w; w = strtok_r(NULL, ",;", &save)) {
        struct gres_text g;

        if (gres_text_parse(w, &g) && strcmp(g.name, name) == 0) {
            *ret = g.count;
            return true;
        }
    }
    return false;
}

bool licenses_valid(const struct conf *conf, const char *all, const char *text)
{
    _cleanup_free_ char *copy = strdup(text);
    struct license_list list;
    bool zero = conf_option(conf, CONF_SCHEDULER_PARAMETERS, "allow_zero_lic", NULL, NULL), ok;

    if (!copy || !licenses_parse(copy, &list))
        return false;
    ok = true;
    for (size_t i = 0; ok && i < list.n; i++) {
        uint64_t total;

        ok = total_of(all, list.items[i].name, &total) && (zero || list.items[i].count <= total);
    }
    free(list.items);
    return ok;
}

char *licenses_text(const struct sched_lic_req *list, size_t n)
{
    struct strbuf sb = STRBUF_INIT;
    char *text = NULL;

    for (size_t i = 0; i < n; i++)
        if (list[i].count)
            strbuf_addf(&sb, "%s%s:%llu", sb.len ? ";" : "", list[i].name,
                        (unsigned long long)list[i].count);
    if (strbuf_detach(&sb, &text) < 0) {
        log_fatal("out of memory while starting a job");
        abort();
    }
    if (!*text) {
        free(text);
        return NULL;
    }
    return text;
}

char *licenses_granted(const char *request)
{
    _cleanup_free_ char *copy = strdup(request);
    struct license_list list;
    char *text;

    if (!copy || !licenses_parse(copy, &list))
        return NULL;
    text = licenses_text(list.items, list.any && list.n ? 1 : list.n);
    free(list.items);
    return text;
}
