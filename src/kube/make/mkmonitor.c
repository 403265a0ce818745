/* mkmonitor.c - see mkmonitor.h */
#include "kube/make/mkmonitor.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"

#define APP "slurmctld"
#define SPEC "spec.metrics.serviceMonitor"
#define NAME_SIZE 300u

bool mkmonitor_is_wanted(const json_t *controller)
{
    return kubejson_true(controller, "spec.metrics.enabled") &&
           kubejson_true(controller, SPEC ".enabled") &&
           !kubejson_true(controller, "spec.external");
}

/* One to be scraped; its times are its own, or those of all. */
static json_t *make_endpoint(const json_t *monitor, const json_t *said, const char *path)
{
    static const char *const times[] = { "interval", "scrapeTimeout" };
    json_t *one = json_pack("{s:s, s:s}", "port", APP, "path", path);

    for (size_t i = 0; one && i < ARRAY_SIZE(times); i++) {
        const char *own = kubejson_text(said, times[i]);
        const char *text = *own ? own : kubejson_text(monitor, times[i]);

        if (*text && json_object_set_new(one, times[i], json_string(text)) < 0) {
            json_decref(one);
            return NULL;
        }
    }
    return one;
}

static json_t *make_endpoints(const json_t *monitor)
{
    static const char *const paths[] = { "/metrics/jobs", "/metrics/nodes", "/metrics/partitions",
                                         "/metrics/scheduler" };
    const json_t *said = json_object_get(monitor, "endpoints");
    json_t *list = json_array(), *one;
    size_t i;
    bool failed = !list;

    json_array_foreach(said, i, one)
    {
        failed = failed ||
                 mkbase_push(list, make_endpoint(monitor, one, kubejson_text(one, "path"))) < 0;
    }
    for (i = 0; !json_array_size(said) && i < ARRAY_SIZE(paths); i++)
        failed = failed || mkbase_push(list, make_endpoint(monitor, NULL, paths[i])) < 0;
    if (!failed)
        return list;
    json_decref(list);
    return NULL;
}

/* What the user says stands beside the standard labels, which select the object. */
static int add_words(json_t *meta, const json_t *monitor, const char *key)
{
    json_t *have = json_object_get(meta, key), *more = json_object_get(monitor, key);

    if (!json_is_object(more))
        return 0;
    return have ? json_object_update_missing(have, more) : json_object_set(meta, key, more);
}

json_t *mkmonitor_object(const struct mkbase_facts *f)
{
    const json_t *monitor = kubejson_at(f->cr, SPEC);
    json_t *selector = mkbase_selector(APP, kubejson_name(f->cr)), *meta, *object, *spec;
    char name[NAME_SIZE];

    (void)snprintf(name, sizeof(name), "%s-controller", kubejson_name(f->cr));
    meta = mkbase_meta(f, name, APP, "controller", NULL);
    if (!meta || add_words(meta, monitor, "labels") < 0 ||
        add_words(meta, monitor, "annotations") < 0 ||
        json_object_set_new(selector, MKMONITOR_LABEL, json_string("true")) < 0) {
        json_decref(meta);
        json_decref(selector);
        return NULL;
    }
    object = mkbase_object(OPOWNED_MONITORS, meta);
    spec = json_pack("{s:{s:o}, s:o}", "selector", "matchLabels", selector, "endpoints",
                     make_endpoints(monitor));
    if (object && json_object_set_new(object, "spec", spec) == 0)
        return object;
    json_decref(object);
    return NULL;
}
