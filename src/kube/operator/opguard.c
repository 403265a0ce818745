/* opguard.c - see opguard.h */
#include "kube/operator/opguard.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"
#include "kube/make/opspec.h"

#define FIXED "operator.penstock/fixed" /* the fields, as JSON */

static const struct {
    enum opkind kind;
    const char *owned, *suffix; /* which object keeps them: its kind, and what follows the name;
                                 * NULL: any that is told to opguard_note() */
    const char *fields[6];      /* of spec: opspec_check_change() says what of them is fixed */
} keepers[] = {
    { OPKIND_CONTROLLER,
      "ConfigMap",
      "-config",
      { "clusterName", "slurmKeyRef", "jwtKeyRef", "jwtHs256KeyRef", "persistence", "ha" } },
    { OPKIND_ACCOUNTING, "Secret", "-accounting", { "jwtKeyRef", "jwtHs256KeyRef" } },
    { OPKIND_LOGINSET, "Deployment", "", { "controllerRef" } },
    { OPKIND_NODESET, "ControllerRevision", NULL, { "controllerRef", "volumeClaimTemplates" } },
    { OPKIND_TOKEN, "Secret", NULL, { "jwtKeyRef", "jwtHs256KeyRef" } },
};

static size_t find_keeper(const json_t *raw)
{
    enum opkind kind = opkinds_served(kubejson_text(raw, "kind"));
    size_t i = 0;

    while (i < ARRAY_SIZE(keepers) && keepers[i].kind != kind)
        i++;
    return i;
}

static void write_name(const json_t *raw, size_t i, char buf[static 300])
{
    (void)snprintf(buf, 300, "%s%s", kubejson_name(raw), keepers[i].suffix);
}

/* The resource with these fields alone. */
static json_t *take_fields(const json_t *raw, size_t i)
{
    json_t *spec = json_object();

    for (size_t k = 0; spec && k < ARRAY_SIZE(keepers[i].fields) && keepers[i].fields[k]; k++) {
        json_t *field = json_object_get(json_object_get(raw, "spec"), keepers[i].fields[k]);

        if (field && json_object_set(spec, keepers[i].fields[k], field) < 0) {
            json_decref(spec);
            return NULL;
        }
    }
    return spec ? json_pack("{s:s, s:s, s:o}", "kind", kubejson_text(raw, "kind"), "uid",
                            kubejson_uid(raw), "spec", spec)
                : NULL;
}

/* What was noted on the object, if it was of this resource: not of an earlier one of the name. */
static json_t *read_note(const json_t *object, const json_t *raw)
{
    const char *note = object ? kubejson_annotation(object, FIXED) : NULL;
    json_t *before = note ? json_loads(note, 0, NULL) : NULL;

    if (before && strcmp(kubejson_text(before, "uid"), kubejson_uid(raw)) == 0)
        return before;
    json_decref(before);
    return NULL;
}

struct search {
    const json_t *raw;
    json_t *before;
};

static void look_at_revision(void *ctx, const json_t *revision)
{
    struct search *s = ctx;
    const json_t *owner = kubejson_controller(revision);

    if (!s->before && owner && strcmp(kubejson_text(owner, "uid"), kubejson_uid(s->raw)) == 0)
        s->before = read_note(revision, s->raw);
}

bool opguard_refuses(const struct mkbase_facts *f, const json_t *raw,
                     const struct kubeinformer *revisions, struct err *err)
{
    size_t i = find_keeper(raw);
    char name[700];
    const json_t *have, *owner;
    struct search s = { raw, NULL };
    bool refused;

    if (i == ARRAY_SIZE(keepers) || kubejson_is_deleted(raw))
        return false;
    if (keepers[i].kind == OPKIND_NODESET) {
        if (revisions)
            kubeinformer_walk(revisions, look_at_revision, &s);
    } else if (keepers[i].kind == OPKIND_TOKEN) { /* its Secret is the key's */
        opguard_write_token(f->cr, name, sizeof(name));
        s.before = read_note(
            mkbase_find(f, "Secret", mkbase_ref(f->cr, "spec.secretRef", name, "").name), raw);
    } else {
        write_name(raw, i, name);
        have = mkbase_find(f, keepers[i].owned, name);
        owner = kubejson_controller(have);
        if (owner && strcmp(kubejson_text(owner, "uid"), kubejson_uid(raw)) == 0)
            s.before = read_note(have, raw);
    }
    refused = s.before && opspec_check_change(s.before, raw, err) == -EPERM;
    json_decref(s.before);
    return refused;
}

void opguard_write_token(const json_t *token, char *buf, size_t size)
{
    (void)snprintf(buf, size, "%s-jwt-%s", kubejson_name(token),
                   kubejson_text(token, "spec.username"));
}

int opguard_note(const struct opwork *w, json_t *object)
{
    size_t i = find_keeper(w->raw);
    char name[300];
    _cleanup_json_ json_t *fields = NULL;
    _cleanup_free_ char *text = NULL;

    if (i == ARRAY_SIZE(keepers))
        return 0;
    if (keepers[i].suffix)
        write_name(w->raw, i, name);
    if (strcmp(kubejson_text(object, "kind"), keepers[i].owned) != 0 ||
        (keepers[i].suffix && strcmp(kubejson_name(object), name) != 0))
        return 0;
    fields = take_fields(w->raw, i);
    text = fields ? json_dumps(fields, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    return text ? mkbase_note(json_object_get(object, "metadata"), FIXED, text) : -ENOMEM;
}
