/* test_kubeguard.c - fields that may not change, as the operator guards them */
#include "kube_util.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "kube/operator/opguard.h"

static const json_t *find_object(void *ctx, const struct mkbase_facts *f, const char *kind,
                                 const char *name)
{
    const json_t *one = ctx;

    (void)f;
    return strcmp(kubejson_text(one, "kind"), kind) == 0 && strcmp(kubejson_name(one), name) == 0
               ? one
               : NULL;
}

static json_t *make_resource(const char *kind, const char *spec)
{
    return json_pack("{s:s, s:s, s:{s:s, s:s}, s:o}", "apiVersion", "operator.penstock/v1beta1",
                     "kind", kind, "metadata", "name", "r", "uid", "u", "spec", read_text(spec));
}

static void test_changes_refused(void **state)
{
    static const struct {
        const char *kind, *owned, *name, *before, *now, *why;
    } cases[] = {
        { "Controller", "ConfigMap", "r-config", "{\"clusterName\":\"a\"}",
          "{\"clusterName\":\"a\",\"extraConf\":\"x\"}", "" },
        { "Controller", "ConfigMap", "r-config", "{\"clusterName\":\"a\"}",
          "{\"clusterName\":\"b\"}", "spec.clusterName: cannot be changed" },
        { "Controller", "ConfigMap", "r-config", "{}", "{\"jwtKeyRef\":{\"name\":\"k\"}}",
          "spec.jwtKeyRef: cannot be changed" },
        { "Controller", "ConfigMap", "r-else", "{\"clusterName\":\"a\"}", "{\"clusterName\":\"b\"}",
          "" }, /* not the object that keeps them */
        { "Accounting", "Secret", "r-accounting", "{\"jwtKeyRef\":{\"name\":\"k\"}}",
          "{\"jwtKeyRef\":{\"name\":\"l\"}}", "spec.jwtKeyRef: cannot be changed" },
        { "LoginSet", "Deployment", "r", "{\"controllerRef\":{\"name\":\"c\"}}",
          "{\"controllerRef\":{\"name\":\"d\"}}", "spec.controllerRef: cannot be changed" },
        { "Token", "Secret", "r-jwt-x", "{\"username\":\"x\",\"jwtKeyRef\":{\"name\":\"k\"}}",
          "{\"username\":\"x\",\"jwtKeyRef\":{\"name\":\"l\"}}",
          "spec.jwtKeyRef: cannot be changed" },
        { "Token", "Secret", "mine", "{\"secretRef\":{\"name\":\"mine\"}}",
          "{\"secretRef\":{\"name\":\"mine\"},\"jwtHs256KeyRef\":{\"name\":\"l\"}}",
          "spec.jwtHs256KeyRef: cannot be changed" },
        { "RestApi", "Deployment", "r-restapi", "{\"controllerRef\":{\"name\":\"c\"}}",
          "{\"controllerRef\":{\"name\":\"d\"}}", "" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *before = make_resource(cases[i].kind, cases[i].before);
        _cleanup_json_ json_t *now = make_resource(cases[i].kind, cases[i].now);
        _cleanup_json_ json_t *owned =
            json_pack("{s:s, s:{s:s, s:[{s:b, s:s}]}}", "kind", cases[i].owned, "metadata", "name",
                      cases[i].name, "ownerReferences", "controller", 1, "uid", "u");
        struct opwork *w = calloc(1, sizeof(*w) + 2);
        const struct mkbase_facts f = { .cr = now, .find = find_object, .ctx = owned };
        struct err err = { .text = "" };

        assert_non_null(w);
        w->raw = before;
        assert_false(opguard_refuses(&f, now, NULL, &err)); /* nothing is noted yet */
        assert_int_equal(opguard_note(w, owned), 0);
        assert_false(opguard_refuses(&f, before, NULL, &err));
        assert_int_equal(opguard_refuses(&f, now, NULL, &err), *cases[i].why != '\0');
        assert_string_equal(err.text, cases[i].why);
        free(w);
        (void)json_object_set_new(json_object_get(now, "metadata"), "uid", json_string("v"));
        assert_false(opguard_refuses(&f, now, NULL, &err)); /* another resource of the name */
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
