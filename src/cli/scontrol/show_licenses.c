/* show_licenses.c - scontrol show licenses: text in the order of names, JSON in that of the
 * configuration */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/format/licenseuse.h"
#include "cli/scontrol/scontrol.h"

static int by_name(const void *a, const void *b)
{
    const struct license *x = a, *y = b;
    int r = strcmp(x->name, y->name);

    return r ? r : (x->at > y->at) - (x->at < y->at);
}

/* All of them, whatever name was asked for. */
static void print_json(struct scontrol *s, const struct licenses *l)
{
    _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT;
    const struct conf *conf = cli_conf(&s->cli);
    struct json js;

    json_begin_option(&js, &out, &s->json);
    json_list(&js, "licenses");
    for (size_t i = 0; i < l->n; i++)
        license_json(&js, &l->list[i]);
    json_list_end(&js);
    json_time(&js, "last_update", l->now_us);
    json_meta(&js, s->argc, s->argv, conf_str(conf, CONF_CLUSTER_NAME),
              conf_str(conf, CONF_ACCOUNTING_STORAGE_TYPE));
    json_end(&js);
    (void)fputs(strbuf_str(&out), stdout);
}

static void print_text(struct scontrol *s, struct licenses *l, const char *name)
{
    const char *next = s->show.oneliner ? " " : "\n    ";
    bool any = false;

    if (l->n)
        qsort(l->list, l->n, sizeof(*l->list), by_name);
    for (size_t i = 0; i < l->n; i++) {
        const struct license *lic = &l->list[i];

        if (name && strcmp(lic->name, name) != 0)
            continue;
        any = true;
        (void)printf("LicenseName=%s%sTotal=%llu Used=%llu Free=%llu Reserved=%llu Remote=%s",
                     lic->name, next, (unsigned long long)lic->total, (unsigned long long)lic->used,
                     (unsigned long long)license_free(lic), (unsigned long long)lic->reserved,
                     lic->remote ? "yes" : "no");
        if (lic->remote) {
            char when[64];

            time_fmt_stamp(lic->update_us, "Unknown", now_us(), when, sizeof(when));
            (void)printf("%sLastConsumed=%llu LastDeficit=%llu LastUpdate=%s", next,
                         (unsigned long long)lic->last_consumed, (unsigned long long)lic->deficit,
                         when);
        }
        if (lic->nodes)
            (void)printf("%sNodes=%s Mode=%u", next, lic->nodes, lic->mode);
        (void)printf("\n");
    }
    if (!any && name)
        scontrol_fail(s, "scontrol: error: query \"%s\" matched zero licenses.", name);
    else if (!any && !s->quiet)
        (void)printf("No licenses configured in Slurm.\n");
}

void scontrol_show_licenses(struct scontrol *s, const char *name)
{
    _cleanup_val_(licenses_done) struct licenses l = { 0 };
    int r = licenses_load(scontrol_client(s, "slurm_load_licenses"), cli_conf(&s->cli), &l);

    if (r < 0)
        scontrol_fail(s, "slurm_load_licenses error: %s", client_strerror(s->client, r));
    else if (s->json.wanted)
        print_json(s, &l);
    else
        print_text(s, &l, name);
}
